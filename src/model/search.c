/* search.c - whether a text has what is searched for. */
#include "model/search.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "base/words.h"

/* ---- units ---- */

struct unit_list {
	struct search_unit *v;
	size_t n, room;
};

static bool add_unit(struct unit_list *l, const struct word *w, struct arena *a)
{
	struct weft_str text = arena_str(a, w->text);

	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 32;
		struct search_unit *v = arena_alloc(a, room * sizeof(*v));

		if (!v)
			return false;
		if (l->n)
			memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
		l->room = room;
	}
	l->v[l->n++] = (struct search_unit){ text, w->from, w->to, w->is_sign };
	return text.ptr != NULL;
}

static int read_units(struct weft_str text, struct arena *a,
		      struct unit_list *ret, struct weft_error *err)
{
	struct word_reader r;
	struct word w;

	*ret = (struct unit_list){ 0 };
	words_begin(&r, text);
	while (words_next(&r, &w)) {
		if (!add_unit(ret, &w, a))
			return arena_error(a, err);
	}
	return WEFT_OK;
}

/* ---- queries ---- */

struct parser {
	struct weft_str rest;
	struct arena *arena;
	struct search_query *query;
	bool wanted; /* there is a term that must be there */
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Cut the next term off: its text, and whether it goes on anyhow. */
static int cut_term(struct parser *p, struct weft_str *ret, bool *ret_prefix,
		    struct weft_error *err)
{
	bool quoted = p->rest.len && p->rest.ptr[0] == '"';
	size_t n = quoted, end;

	while (n < p->rest.len &&
	       (quoted ? p->rest.ptr[n] != '"' : !is_blank(p->rest.ptr[n])))
		n++;
	if (quoted && n == p->rest.len)
		return fail(err, WEFT_INVALID,
			    "query: the quote in front of '%.*s' has no end",
			    STR_ARG(text_cut(str_skip(p->rest, 1), 20)));
	*ret = (struct weft_str){ p->rest.ptr + quoted, n - quoted };
	end = n + quoted;
	*ret_prefix = quoted ? end < p->rest.len && p->rest.ptr[end] == '*' :
			       n > 0 && p->rest.ptr[n - 1] == '*';
	p->rest = str_skip(p->rest, end + (quoted && *ret_prefix));
	return WEFT_OK;
}

/* A star belongs to the word that it stands behind, without anything between. */
static bool ends_with_word(struct weft_str text, const struct unit_list *units)
{
	size_t end = text.len;

	while (end && text.ptr[end - 1] == '*')
		end--;
	return units->n && units->v[units->n - 1].to == end;
}

static int add_term(struct parser *p, struct weft_str text, bool prefix,
		    bool without, struct weft_error *err)
{
	struct search_query *q = p->query;
	struct unit_list units;
	int r = read_units(text, p->arena, &units, err);

	/* What has nothing to be found in it asks for nothing. */
	if (r < 0 || !units.n)
		return r;
	if (q->n == SEARCH_TERMS_MAX)
		return fail(err, WEFT_LIMIT, "query: more than %d words",
			    SEARCH_TERMS_MAX);
	q->v[q->n++] = (struct search_term){
		.v = units.v,
		.n = units.n,
		.prefix = prefix && ends_with_word(text, &units) &&
			  !units.v[units.n - 1].is_sign,
		.without = without,
	};
	p->wanted = p->wanted || !without;
	return WEFT_OK;
}

int search_parse(struct weft_str text, struct arena *a,
		 struct search_query *ret, struct weft_error *err)
{
	struct parser p = { .rest = text, .arena = a, .query = ret };
	int r = WEFT_OK;

	if (text.len > SEARCH_QUERY_MAX)
		return fail(err, WEFT_LIMIT,
			    "query: %zu bytes, the limit is %zu", text.len,
			    SEARCH_QUERY_MAX);
	*ret = (struct search_query){ 0 };
	ret->v = ARENA_ARRAY(a, struct search_term, SEARCH_TERMS_MAX);
	if (!ret->v)
		return arena_error(a, err);
	while (r == WEFT_OK && p.rest.len) {
		struct weft_str term = { NULL, 0 };
		bool prefix = false, without = p.rest.ptr[0] == '-';

		if (is_blank(p.rest.ptr[0])) {
			p.rest = str_skip(p.rest, 1);
			continue;
		}
		p.rest = str_skip(p.rest, without);
		r = cut_term(&p, &term, &prefix, err);
		if (r == WEFT_OK)
			r = add_term(&p, term, prefix, without, err);
	}
	if (r == WEFT_OK && !p.wanted)
		r = fail(err, WEFT_INVALID,
			 ret->n ? "query: expected a word to look for, found "
				  "only what must not be there" :
				  "query: expected letters or digits to look "
				  "for, found none");
	return r;
}

/* ---- tokens ---- */

/* Of one event; three times that is what a database takes. */
#define TOKEN_BYTES_MAX KIB(320)

/* Each once, by a table of places in `v`. */
struct token_set {
	struct weft_str *v;
	size_t n, room; /* room: half of the slots */
	size_t bytes;
	uint32_t *slots;
	struct arena *arena;
};

static bool set_grow(struct token_set *s)
{
	size_t room = s->room ? 2 * s->room : 64, mask = 2 * room - 1;
	struct weft_str *v = arena_alloc(s->arena, room * sizeof(*v));
	uint32_t *slots = ARENA_ARRAY(s->arena, uint32_t, 2 * room);

	if (!v || !slots)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		size_t at = hash_bytes(s->v[i].ptr, s->v[i].len) & mask;

		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = (uint32_t)i + 1;
		v[i] = s->v[i];
	}
	s->v = v;
	s->slots = slots;
	s->room = room;
	return true;
}

/* False without memory. */
static bool set_add(struct token_set *s, struct weft_str token)
{
	size_t mask, at;

	if (s->n == s->room && !set_grow(s))
		return false;
	mask = 2 * s->room - 1;
	at = hash_bytes(token.ptr, token.len) & mask;
	for (; s->slots[at]; at = (at + 1) & mask) {
		if (str_eq(s->v[s->slots[at] - 1], token))
			return true;
	}
	/* What is beyond that is not found by words alone. */
	if (token.len > TOKEN_BYTES_MAX - s->bytes)
		return true;
	s->bytes += token.len;
	token = arena_str(s->arena, token);
	if (!token.ptr)
		return false;
	s->v[s->n++] = token;
	s->slots[at] = (uint32_t)s->n;
	return true;
}

/* Two signs that follow one another; a sign has at most four bytes. */
static struct weft_str pair_of(struct weft_str a, struct weft_str b,
			       char out[2 * WORD_BYTES_MAX])
{
	memcpy(out, a.ptr, a.len);
	memcpy(out + a.len, b.ptr, b.len);
	return (struct weft_str){ out, a.len + b.len };
}

static bool add_text_tokens(struct token_set *s, struct weft_str text)
{
	char before[WORD_BYTES_MAX], pair[2 * WORD_BYTES_MAX];
	struct weft_str last = { before, 0 };
	struct word_reader r;
	struct word w;
	bool good = true;

	words_begin(&r, text);
	while (good && words_next(&r, &w)) {
		good = set_add(s, w.text);
		if (good && w.is_sign && last.len)
			good = set_add(s, pair_of(last, w.text, pair));
		last.len = w.is_sign ? w.text.len : 0;
		memcpy(before, w.text.ptr, last.len);
	}
	return good;
}

int search_doc_tokens(const struct search_doc *d, struct arena *scratch,
		      struct buf *b, struct weft_error *err)
{
	struct token_set set = { .arena = scratch };

	for (size_t i = 0; i < d->n; i++) {
		if (!add_text_tokens(&set, d->texts[i]))
			return arena_error(scratch, err);
	}
	for (size_t i = 0; i < set.n; i++) {
		if (i > 0)
			buf_add_c(b, ' ');
		buf_add_str(b, set.v[i]);
	}
	return buf_error(b, err);
}

static bool set_has(const struct token_set *s, const struct word_term *t)
{
	for (size_t i = 0; i < s->n; i++) {
		if (t->prefix ? str_starts(s->v[i], t->word) :
				str_eq(s->v[i], t->word))
			return true;
	}
	return false;
}

int search_doc_has(const struct search_doc *d, const struct word_term *terms,
		   size_t n, struct arena *scratch, bool *ret,
		   struct weft_error *err)
{
	struct token_set set = { .arena = scratch };

	for (size_t i = 0; i < d->n; i++) {
		if (!add_text_tokens(&set, d->texts[i]))
			return arena_error(scratch, err);
	}
	*ret = set.n > 0;
	for (size_t i = 0; i < n && *ret; i++)
		*ret = set_has(&set, &terms[i]);
	return WEFT_OK;
}

/* Of a term: its words, its pairs of signs, and signs that stand alone. */
static size_t add_term_tokens(const struct search_term *t, struct arena *a,
			      struct word_term *out)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct search_unit *u = &t->v[i];
		bool next = i + 1 < t->n && t->v[i + 1].is_sign;
		char pair[2 * WORD_BYTES_MAX];

		if (u->is_sign && next)
			out[n++].word = arena_str(
				a, pair_of(u->text, t->v[i + 1].text, pair));
		else if (!u->is_sign || i == 0 || !t->v[i - 1].is_sign)
			out[n++] = (struct word_term){
				u->text, t->prefix && i + 1 == t->n
			};
	}
	return n;
}

int search_query_tokens(const struct search_query *q, struct arena *a,
			struct word_term **ret, size_t *ret_n,
			struct weft_error *err)
{
	struct word_term *v;
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		n += q->v[i].without ? 0 : q->v[i].n;
	v = ARENA_ARRAY(a, struct word_term, n);
	if (!v)
		return arena_error(a, err);
	n = 0;
	for (size_t i = 0; i < q->n; i++) {
		if (!q->v[i].without)
			n += add_term_tokens(&q->v[i], a, v + n);
	}
	*ret = v;
	*ret_n = n;
	return a->failed ? arena_error(a, err) : WEFT_OK;
}

/* ---- matching ---- */

static bool is_at(const struct search_term *t, const struct search_unit *v)
{
	for (size_t i = 0; i < t->n; i++) {
		bool begins = t->prefix && i + 1 == t->n;

		if (begins ? !str_starts(v[i].text, t->v[i].text) :
			     !str_eq(v[i].text, t->v[i].text))
			return false;
	}
	return true;
}

/* Where a term is first; false if nowhere. */
static bool find_term(const struct search_term *t, const struct unit_list *text,
		      size_t *ret)
{
	for (size_t i = 0; i + t->n <= text->n; i++) {
		if (is_at(t, text->v + i)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* The first term that is wanted is what is shown. */
static void note(struct search_match *m, size_t text,
		 const struct unit_list *units, const struct search_term *t,
		 size_t at)
{
	if (!units->v)
		return;
	m->text = text;
	m->from = units->v[at].from;
	m->to = units->v[at + t->n - 1].to;
}

int search_match(const struct search_query *q, const struct search_doc *d,
		 struct arena *scratch, struct search_match *ret,
		 struct weft_error *err)
{
	struct unit_list *texts = ARENA_ARRAY(scratch, struct unit_list, d->n);
	bool noted = false;
	int r = WEFT_OK;

	*ret = (struct search_match){ .found = true };
	if (!texts)
		return arena_error(scratch, err);
	for (size_t i = 0; i < d->n && r == WEFT_OK; i++)
		r = read_units(d->texts[i], scratch, &texts[i], err);
	for (size_t t = 0; t < q->n && r == WEFT_OK && ret->found; t++) {
		size_t i = 0, at = 0;

		while (i < d->n && !find_term(&q->v[t], &texts[i], &at))
			i++;
		ret->found = (i < d->n) != q->v[t].without;
		if (i < d->n && !q->v[t].without && !noted) {
			note(ret, i, &texts[i], &q->v[t], at);
			noted = true;
		}
	}
	return r;
}

/* ---- snippets ---- */

#define SNIPPET_BEFORE 60  /* bytes, about */
#define SNIPPET_CHARS  160 /* as readers count them */

/* The beginning of a character at `at` or a little before it. */
static size_t char_start(struct weft_str s, size_t at)
{
	while (at > 0 && at < s.len &&
	       ((unsigned char)s.ptr[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* Where to begin: a little before the match, at the beginning of a word if
 * there is one near. */
static size_t snippet_start(struct weft_str text, size_t match)
{
	size_t at = match > SNIPPET_BEFORE ? match - SNIPPET_BEFORE : 0;

	if (at == 0)
		return 0;
	for (size_t i = at; i < match && i < at + SNIPPET_BEFORE / 2; i++) {
		if (is_blank(text.ptr[i]))
			return i + 1;
	}
	return char_start(text, at);
}

void search_snippet(struct buf *b, struct weft_str text,
		    const struct search_match *m)
{
	size_t start = snippet_start(text, m->from);
	struct weft_str cut = text_cut(str_skip(text, start), SNIPPET_CHARS);
	bool blank = false;

	if (start > 0)
		buf_add_lit(b, "...");
	for (size_t i = 0; i < cut.len; i++) {
		unsigned char c = (unsigned char)cut.ptr[i];

		if (c <= ' ' || c == 0x7f) {
			blank = true;
			continue;
		}
		if (blank && i > 0)
			buf_add_c(b, ' ');
		blank = false;
		buf_add_c(b, (char)c);
	}
	if (start + cut.len < text.len)
		buf_add_lit(b, "...");
}
