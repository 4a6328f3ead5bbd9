/* match.c - which records a list query asks for, and in which order. */
#include "store/match.h"

#include "base/id.h"
#include "base/text.h"

/* Never part of UTF-8. */
#define BETWEEN_TEXTS '\xff'

int64_t match_time(uint32_t sort, const struct session_rec *rec)
{
	return sort == LIST_BY_CREATION ? rec->created_at :
					  rec->last_interaction_at;
}

/* < 0 if (a_ms, a_id) is newer than (b_ms, b_id). */
static int newest_first(int64_t a_ms, const struct weft_id *a_id, int64_t b_ms,
			const struct weft_id *b_id)
{
	if (a_ms != b_ms)
		return a_ms > b_ms ? -1 : 1;
	return id_cmp(b_id, a_id);
}

int match_order(uint32_t sort, const struct session_rec *a,
		const struct session_rec *b)
{
	return newest_first(match_time(sort, a), &a->id, match_time(sort, b),
			    &b->id);
}

bool match_cursor(const struct list_query *q, const struct session_rec *rec)
{
	int order;

	if (id_is_zero(&q->cursor_id))
		return !q->backwards;
	order = newest_first(match_time(q->sort, rec), &rec->id, q->cursor_ms,
			     &q->cursor_id);
	return q->backwards ? order < 0 : order > 0;
}

static bool is_or_any(struct weft_str wanted, struct weft_str value)
{
	return wanted.len == 0 || str_eq(wanted, value);
}

static bool in_id_range(const struct list_query *q, const struct weft_id *id)
{
	if (id_is_zero(&q->id_low) && id_is_zero(&q->id_high))
		return true;
	return id_cmp(id, &q->id_low) >= 0 && id_cmp(id, &q->id_high) <= 0;
}

bool match_fields(const struct list_query *q, const struct session_rec *rec)
{
	if (q->deleted != LIST_WITH_PURGED && rec->purged_at != 0)
		return false;
	if (q->deleted == LIST_LIVE && rec->deleted_at != 0)
		return false;
	if (q->kinds != 0 && !(rec->kind < 64 && (q->kinds >> rec->kind & 1)))
		return false;
	if (!id_is_zero(&q->parent) && !id_eq(&q->parent, &rec->parent))
		return false;
	return in_id_range(q, &rec->id) &&
	       is_or_any(q->project_dir, rec->project_dir) &&
	       is_or_any(q->agent, rec->agent) &&
	       is_or_any(q->channel, rec->channel) &&
	       is_or_any(q->user, rec->user) && is_or_any(q->slug, rec->slug);
}

int match_text(const struct session_rec *rec, struct arena *a,
	       struct weft_str *ret, struct weft_error *err)
{
	const struct weft_str from[] = { rec->slug, rec->project_dir,
					 rec->first_user };
	struct weft_str folded[ARRAY_LEN(from)];
	size_t len = ARRAY_LEN(from) - 1, at = 0;
	char *text;

	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		int r = text_fold(from[i], a, &folded[i], err);

		if (r < 0)
			return r;
		len += folded[i].len;
	}
	text = arena_alloc(a, len);
	if (!text)
		return arena_error(a, err);
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		if (i > 0)
			text[at++] = BETWEEN_TEXTS;
		if (folded[i].len > 0)
			memcpy(text + at, folded[i].ptr, folded[i].len);
		at += folded[i].len;
	}
	*ret = (struct weft_str){ text, len };
	return WEFT_OK;
}

int match_record(const struct list_query *q, const struct session_rec *rec,
		 struct arena *scratch, bool *ret, struct weft_error *err)
{
	struct weft_str text = STR("");
	int r;

	if (!match_fields(q, rec)) {
		*ret = false;
		return WEFT_OK;
	}
	if (q->folded.len == 0) {
		*ret = true;
		return WEFT_OK;
	}
	r = match_text(rec, scratch, &text, err);
	if (r < 0)
		return r;
	*ret = memmem(text.ptr, text.len, q->folded.ptr, q->folded.len) != NULL;
	return WEFT_OK;
}

size_t match_limit(const struct list_query *q, const struct store_limits *l)
{
	return (size_t)(q->limit == 0 ? l->page : u64_min(q->limit, l->page));
}

bool match_name_wins(const struct name_rec *next, const struct name_rec *old)
{
	if (next->ver != old->ver)
		return next->ver > old->ver;
	return id_cmp(&next->session, &old->session) > 0;
}

int match_name_order(const struct name_rec *a, const struct name_rec *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return str_cmp(a->name, b->name);
}

int match_hit_order(const struct word_hit *a, const struct word_hit *b)
{
	int r;

	if (a->at_ms != b->at_ms)
		return a->at_ms > b->at_ms ? -1 : 1;
	r = id_cmp(&b->session, &a->session);
	if (r || a->seq == b->seq)
		return r;
	return a->seq > b->seq ? -1 : 1;
}

int match_hit_compare(const void *a, const void *b)
{
	return match_hit_order(a, b);
}

size_t match_hit_limit(const struct word_query *q, const struct store_limits *l)
{
	return (size_t)(q->limit && q->limit < l->page ? q->limit : l->page);
}

bool match_hit_session(const struct word_query *q, const struct weft_id *id)
{
	for (size_t i = 0; i < q->n_sessions; i++) {
		if (id_eq(&q->sessions[i], id))
			return true;
	}
	return q->n_sessions == 0;
}

static int compare_sessions(const void *a, const void *b)
{
	return id_cmp(a, b);
}

int match_join_sessions(const struct weft_id *a, size_t n_a,
			const struct weft_id *b, size_t n_b,
			struct arena *arena, const struct weft_id **ret,
			struct weft_error *err)
{
	struct weft_id *v = ARENA_ARRAY(arena, struct weft_id, n_a + n_b);
	size_t n = 0;

	if (!v)
		return arena_error(arena, err);
	if (n_a)
		memcpy(v, a, n_a * sizeof(*v));
	if (n_b)
		memcpy(v + n_a, b, n_b * sizeof(*v));
	SORT(v, n_a + n_b, compare_sessions);
	for (size_t i = 0; i < n_a + n_b; i++) {
		if (n == 0 || !id_eq(&v[n - 1], &v[i]))
			v[n++] = v[i];
	}
	*ret = v;
	return (int)n;
}
