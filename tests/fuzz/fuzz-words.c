/*
 * A query, and after a NUL a text.
 *
 * Units are bounded, in order, and the same when folded again.  Whatever a
 * query is found in has all tokens of the query; a text finds itself.
 */
#include "fuzz.h"

#include <assert.h>

#include "base/text.h"
#include "base/words.h"
#include "model/search.h"

static void check_units(struct weft_str text)
{
	struct word_reader r, again;
	struct word w, same;
	size_t at = 0;

	words_begin(&r, text);
	while (words_next(&r, &w)) {
		assert(w.text.len > 0 && w.text.len <= WORD_BYTES_MAX);
		assert(text_is_utf8(w.text));
		assert(w.from >= at && w.to > w.from && w.to <= text.len);
		at = w.is_sign ? w.from : w.to;
		words_begin(&again, w.text);
		assert(words_next(&again, &same));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	const char *nul = size ? memchr(bytes, '\0', size) : NULL;
	size_t n = nul ? (size_t)(nul - bytes) : size;
	struct weft_str query = { bytes, n };
	struct weft_str text = { nul ? nul + 1 : bytes,
				 nul ? size - n - 1 : n };
	const struct search_doc doc = { SEARCH_MESSAGE, { NULL, 0 }, &text, 1 };
	CLEANUP(arena_done) struct arena a;
	struct search_match match;
	struct search_query q;
	struct word_term *terms;
	size_t n_terms;
	bool has = false;

	arena_init(&a, MIB(256));
	check_units(text);
	if (search_parse(query, &a, &q, NULL) != WEFT_OK)
		return 0;
	assert(search_query_tokens(&q, &a, &terms, &n_terms, NULL) == WEFT_OK);
	assert(n_terms > 0);
	assert(search_match(&q, &doc, &a, &match, NULL) == WEFT_OK);
	assert(search_doc_has(&doc, terms, n_terms, &a, &has, NULL) == WEFT_OK);
	assert(has || !match.found);
	if (match.found) {
		CLEANUP(buf_done) struct buf b;

		buf_init(&b, 0);
		assert(match.to <= text.len && match.from < match.to);
		search_snippet(&b, text, &match);
		assert(!text_is_utf8(text) || text_is_utf8(buf_str(&b)));
	}
	return 0;
}
