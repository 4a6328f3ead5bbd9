/*
 * match.h - which records a list query asks for, and in which order.
 *
 * The one place that says so: a store that finds records by other means (SQL)
 * must come to the same answer.
 */
#ifndef STORE_MATCH_H
#define STORE_MATCH_H

#include "base/arena.h"
#include "weft/store.h"

/* The time by which `sort` orders. */
int64_t match_time(uint32_t sort, const struct session_rec *rec);

/*
 * < 0 if `a` stands before `b` in a list: newest first by (time, id), so that
 * of two with the same time the larger id comes first.
 */
int match_order(uint32_t sort, const struct session_rec *a,
		const struct session_rec *b);

/*
 * Does `rec` lie beyond the cursor in the direction of reading?  Forwards that
 * is what stands after the cursor, backwards what stands before it.  Without a
 * cursor everything lies after the top and nothing before it.
 */
bool match_cursor(const struct list_query *q, const struct session_rec *rec);

/* Every filter but the text and the cursor.  Purged sessions never match. */
bool match_fields(const struct list_query *q, const struct session_rec *rec);

/*
 * What the text filter looks into: slug, project and first user message, each
 * folded, with a byte between them that is in no text.  A record matches if
 * q->folded is part of it.
 */
int match_text(const struct session_rec *rec, struct arena *a,
	       struct weft_str *ret, struct weft_error *err);

/* Every filter but the cursor; `scratch` is for folding. */
int match_record(const struct list_query *q, const struct session_rec *rec,
		 struct arena *scratch, bool *ret, struct weft_error *err);

/* How many records a page of `q` holds: 0 and more than the store's page
 * limit both mean that limit. */
size_t match_limit(const struct list_query *q, const struct store_limits *l);

/*
 * Does `next` replace `old`, which may never have been used?  The highest
 * version wins; of two with the same version the one that somebody holds, and
 * then the larger session id, so that the order of arrival never matters.
 */
bool match_name_wins(const struct name_rec *next, const struct name_rec *old);

/* < 0 if `a` stands before `b` among what search finds: newest first. */
int match_hit_order(const struct word_hit *a, const struct word_hit *b);
/* The same for SORT(). */
int match_hit_compare(const void *a, const void *b);

/* How many hits a page of `q` holds, as match_limit. */
size_t match_hit_limit(const struct word_query *q,
		       const struct store_limits *l);

/* Whether the query is about this session. */
bool match_hit_session(const struct word_query *q, const struct weft_id *id);

/* The sessions of two lists, each once, by rising id; their number, or a negative
 * code. */
int match_join_sessions(const struct weft_id *a, size_t n_a,
			const struct weft_id *b, size_t n_b,
			struct arena *arena, const struct weft_id **ret,
			struct weft_error *err);

/* Order of the names of one session: the key first, then by bytes. */
int match_name_order(const struct name_rec *a, const struct name_rec *b);

#endif
