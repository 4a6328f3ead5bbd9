/*
 * search.h - what is searched, what for, and whether it is there.
 *
 * DESIGN
 *
 * A query is a list of terms, a term a row of units (base/words.h) that must
 * follow one another: a word, a phrase, a name such as foo_bar, a word of
 * Chinese.  Whether a text has a term is decided here, by reading the text, the
 * same on every store.
 *
 * An index only makes that cheap: it knows which events have which tokens, and
 * so names those that may match.  The tokens of a text are its words, its signs
 * and its pairs of signs; those of a query are chosen such that every text that
 * has all terms has all tokens.
 */
#ifndef MODEL_SEARCH_H
#define MODEL_SEARCH_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/blob.h"
#include "weft/store.h"

#define SEARCH_TEXT_MAX  KIB(256) /* of an event that is searched */
#define SEARCH_QUERY_MAX KIB(4)
#define SEARCH_TERMS_MAX 64

/* Events that have anything to be found, as a bit set. */
#define SEARCH_TYPES                                                  \
	(UINT64_C(1) << EVENT_MESSAGE | UINT64_C(1) << EVENT_MEMORY | \
	 UINT64_C(1) << EVENT_SESSION | UINT64_C(1) << EVENT_PATCH)

/* ---- what for ---- */

struct search_unit {
	struct weft_str text;
	size_t from, to; /* where it stands */
	bool is_sign;
};

struct search_term {
	struct search_unit *v;
	size_t n;
	bool prefix;  /* the last one only begins like this */
	bool without; /* it must not be there */
};

struct search_query {
	struct search_term *v;
	size_t n;
};

/*
 * Read what a person typed: words, all of which must be there; "a phrase";
 * begin* for what begins a word; -word for what must not be there.  INVALID if
 * a quote does not end or there is no word to look for.
 */
int search_parse(struct weft_str text, struct arena *a,
		 struct search_query *ret, struct weft_error *err);

/* The tokens that everything that matches has. */
int search_query_tokens(const struct search_query *q, struct arena *a,
			struct word_term **ret, size_t *ret_n,
			struct weft_error *err);

/* ---- what is searched ---- */

enum search_kind {
	SEARCH_NOTHING,
	SEARCH_MESSAGE,
	SEARCH_TITLE,
	SEARCH_MEMORY
};

/*
 * What of an event can be found: of a message its texts, the names and
 * arguments of its tool calls and their results (not what a model thought,
 * no images, no opaque parts), of a memory title and content, of a session and
 * its changes the title.  No phrase goes from one text to the next.
 */
struct search_doc {
	uint32_t kind;        /* enum search_kind */
	struct weft_str role; /* of a message */
	struct weft_str *texts;
	size_t n;
};

/*
 * What cannot be read has nothing in it, nor what is not there: text that is
 * kept apart comes from `blobs`.  Fails for want of memory, or as a blob does.
 */
int search_doc_read(const struct store_event *e, const struct blob_place *blobs,
		    struct arena *a, struct search_doc *ret,
		    struct weft_error *err);

/* When something was said, as far as search goes by it: within the years 1900
 * to 2170, so that every index can hold it. */
int64_t search_time(const struct store_event *e);

/* Append the tokens of all texts, each once, with spaces between them. */
int search_doc_tokens(const struct search_doc *d, struct arena *scratch,
		      struct buf *b, struct weft_error *err);

/* Whether the texts have all these tokens; what an index answers. */
int search_doc_has(const struct search_doc *d, const struct word_term *terms,
		   size_t n, struct arena *scratch, bool *ret,
		   struct weft_error *err);

/* ---- whether it is there ---- */

struct search_match {
	bool found;
	size_t text;     /* which one has the first term */
	size_t from, to; /* and where */
};

int search_match(const struct search_query *q, const struct search_doc *d,
		 struct arena *scratch, struct search_match *ret,
		 struct weft_error *err);

/* Append what is around a match, on one line, cut at characters, with "..."
 * where it was cut. */
void search_snippet(struct buf *b, struct weft_str text,
		    const struct search_match *m);

#endif
