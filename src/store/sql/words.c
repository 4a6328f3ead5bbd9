/*
 * words.c - the index for search in a store in SQL.
 *
 * A session's row says up to which event its words are in the index; an index
 * of the rows finds those that are behind.  Whoever rewrites a session notes in
 * the same transaction that its words have to go (apply.c).
 */
#include "base/error.h"
#include "store/match.h"
#include "store/sql/columns.h"
#include "store/sql/sql.h"

struct behind {
	struct behind_page page;
	size_t max;
};

static int take_behind(void *ctx, const struct sql_value *row,
		       struct weft_error *err)
{
	struct behind *b = ctx;
	struct word_behind *to = &b->page.v[b->page.n];

	if (b->page.n == b->max)
		return SQL_ENOUGH;
	if (!sql_to_id(&row[0], &to->session))
		return sql_fail_row("sessions", err);
	to->from = (uint64_t)row[1].n;
	to->to = (uint64_t)row[2].n;
	b->page.n++;
	return WEFT_OK;
}

int sql_store_get_behind(struct store *store, uint32_t make, size_t max,
			 struct arena *a, struct behind_page *ret,
			 struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	struct behind b = { .max = max };
	int64_t events = 0, some = 0, epoch = 0, doomed = 0;
	int r = sql_reader(sql_of(store), &c, err);

	if (r == WEFT_OK && !make)
		r = sql_number(c, Q_HAS_WORDS, NULL, &some, err);
	if (r < 0)
		return r;
	if (!make && !some) {
		*ret = (struct behind_page){ .none = 1 };
		return WEFT_OK;
	}
	b.page.v = ARENA_ARRAY(a, struct word_behind, max);
	if (!b.page.v)
		return arena_error(a, err);
	/* First: what is dropped from here on is noticed. */
	r = sql_number(c, Q_EPOCH, NULL, &epoch, err);
	if (r == WEFT_OK)
		r = sql_run(c, Q_BEHIND, SQL_ROW(sql_u64(max)), take_behind, &b,
			    err);
	if (r == WEFT_OK && b.page.n)
		r = sql_number(c, Q_BEHIND_EVENTS, NULL, &events, err);
	if (r == WEFT_OK)
		r = sql_number(c, Q_HAS_DOOMED, NULL, &doomed, err);
	if (r < 0)
		return r;
	b.page.events = (uint64_t)events;
	b.page.epoch = (uint64_t)epoch;
	b.page.doomed = doomed != 0;
	*ret = b.page;
	return WEFT_OK;
}

static int put_batch(struct sql_conn *c, const struct word_batch *b,
		     struct weft_error *err)
{
	uint64_t changed = 0;
	int r = c->store->driver->run(
		c, Q_MARK,
		SQL_ROW(sql_id(&b->session), sql_u64(b->from), sql_u64(b->to)),
		NULL, NULL, &changed, err);

	/* Somebody else has been there. */
	if (r < 0 || !changed)
		return r;
	return b->n ? c->store->driver->put_words(c, b, err) : WEFT_OK;
}

struct putting {
	uint64_t epoch;
	const struct word_batch *v;
	size_t n;
};

static int put_batches(struct sql_conn *c, void *ctx, struct weft_error *err)
{
	const struct putting *p = ctx;
	int64_t now = 0;
	int r = sql_number(c, Q_HOLD_EPOCH, NULL, &now, err);
	size_t n = (uint64_t)now == p->epoch ? p->n : 0;

	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = put_batch(c, &p->v[i], err);
	return r;
}

int sql_store_put_words(struct store *store, uint64_t epoch,
			const struct word_batch *v, size_t n,
			struct weft_error *err)
{
	struct putting p = { epoch, v, n };

	return sql_transaction(sql_of(store), put_batches, &p, err);
}

int sql_store_find_words(struct store *store, const struct word_query *q,
			 struct arena *a, struct word_page *ret,
			 struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	int r = sql_reader(sql_of(store), &c, err);

	if (r < 0)
		return r;
	return c->store->driver->find_words(
		c, q, match_hit_limit(q, &store->limits), a, ret, err);
}

int sql_clear_words(struct sql_conn *c, struct weft_error *err)
{
	int r = sql_run(c, Q_NEXT_EPOCH, NULL, NULL, NULL, err);

	if (r == WEFT_OK)
		r = c->store->driver->clear_words(c, err);
	return r == WEFT_OK ? sql_run(c, Q_UNMARK_ALL, NULL, NULL, NULL, err) :
			      r;
}

struct dropping {
	const struct weft_id *sessions;
	size_t n;
	struct arena arena;
	struct weft_id *doomed;
	size_t n_doomed, room;
};

static int take_doomed(void *ctx, const struct sql_value *row,
		       struct weft_error *err)
{
	struct dropping *d = ctx;

	if (d->n_doomed == d->room) {
		size_t room = d->room ? 2 * d->room : 64;
		struct weft_id *v =
			ARENA_ARRAY(&d->arena, struct weft_id, room);

		if (!v)
			return arena_error(&d->arena, err);
		if (d->n_doomed)
			memcpy(v, d->doomed, d->n_doomed * sizeof(*v));
		d->doomed = v;
		d->room = room;
	}
	return sql_to_id(&row[0], &d->doomed[d->n_doomed++]) ?
		       WEFT_OK :
		       sql_fail_row("search_doomed", err);
}

/* Rows are locked in the order of their ids; the notes last, since whoever
 * rewrites a session has its row first. */
static int drop_all(struct sql_conn *c, const struct weft_id *v, size_t n,
		    struct weft_error *err)
{
	int r = c->store->driver->drop_words(c, v, n, err);

	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = sql_run(c, Q_UNMARK, SQL_ROW(sql_id(&v[i])), NULL, NULL,
			    err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = sql_run(c, Q_SPARE, SQL_ROW(sql_id(&v[i])), NULL, NULL,
			    err);
	return r;
}

static int drop_words(struct sql_conn *c, void *ctx, struct weft_error *err)
{
	struct dropping *d = ctx;
	const struct weft_id *all = NULL;
	int r = sql_run(c, Q_NEXT_EPOCH, NULL, NULL, NULL, err);

	d->n_doomed = 0;
	if (r == WEFT_OK)
		r = sql_run(c, Q_DOOMED, NULL, take_doomed, d, err);
	if (r == WEFT_OK)
		r = match_join_sessions(d->sessions, d->n, d->doomed,
					d->n_doomed, &d->arena, &all, err);
	return r > 0 ? drop_all(c, all, (size_t)r, err) : r;
}

int sql_store_drop_words(struct store *store, const struct weft_id *sessions,
			 size_t n, struct weft_error *err)
{
	struct dropping d = { .sessions = sessions, .n = n };
	int r;

	arena_init(&d.arena, 0);
	r = sql_transaction(sql_of(store), drop_words, &d, err);
	arena_done(&d.arena);
	return r;
}
