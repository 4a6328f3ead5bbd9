/* pages.c - pages of events and pages of sessions. */
#include "base/error.h"
#include "base/id.h"
#include "model/event.h"
#include "store/match.h"
#include "store/sql/columns.h"
#include "store/sql/list.h"
#include "store/sql/sql.h"

#define PAGE_BYTES MIB(16)

/* ---- events ---- */

/* A page being filled.  The array grows: nobody has a million for nothing. */
struct filling {
	struct sql_conn *c;
	const struct event_range *range;
	struct arena *arena;
	struct event_page page;
	size_t room, max, bytes, max_bytes;
};

/* The columns of a page. */
enum { P_SEQ, P_STATE, P_BYTES };

/* The columns of one event. */
enum {
	C_SESSION,
	C_SEQ,
	C_LAST,
	C_ID,
	C_TS,
	C_AT,
	C_MARKER,
	C_SAID,
	C_TYPE,
	C_STATE,
	C_MORE,
	C_BACKGROUND,
	C_OP,
	C_BODY_AT,
	C_BODY_LEN,
	C_BYTES
};

static bool grow(struct filling *f)
{
	size_t room = f->room ? 2 * f->room : 16;
	struct store_event *v = arena_alloc(f->arena, room * sizeof(*v));

	if (!v)
		return false;
	if (f->page.n > 0)
		memcpy(v, f->page.v, f->page.n * sizeof(*v));
	f->page.v = v;
	f->room = room;
	return true;
}

static bool decode_event(const struct sql_value *row, struct store_event *e)
{
	uint64_t at = (uint64_t)row[C_BODY_AT].n;
	uint64_t len = (uint64_t)row[C_BODY_LEN].n;

	*e = (struct store_event){
		.seq = (uint64_t)row[C_SEQ].n,
		.last = (uint64_t)row[C_LAST].n,
		.ts_ms = row[C_TS].n,
		.at_ms = row[C_AT].n,
		.marker = (uint64_t)row[C_MARKER].n,
		.said = (uint64_t)row[C_SAID].n,
		.type = (uint32_t)row[C_TYPE].n,
		.state = (uint32_t)row[C_STATE].n,
		.more = (uint32_t)row[C_MORE].n,
		.background = (uint32_t)row[C_BACKGROUND].n,
		.op = row[C_OP].s,
		.bytes = row[C_BYTES].s,
	};
	if (!sql_to_id(&row[C_SESSION], &e->session) ||
	    !sql_to_id(&row[C_ID], &e->id))
		return false;
	if (at > e->bytes.len || len > e->bytes.len - at)
		return false;
	e->body = (struct weft_str){ e->bytes.ptr + at, (size_t)len };
	return true;
}

/* The event with its text in the arena: one copy for line and op. */
static bool keep_event(struct store_event *e, struct arena *a)
{
	size_t n = e->bytes.len, at = (size_t)(e->body.ptr - e->bytes.ptr);
	char *p = arena_alloc(a, n + 1 + e->op.len + 1);

	if (!p)
		return false;
	memcpy(p, e->bytes.ptr, n);
	p[n] = '\0';
	if (e->op.len > 0)
		memcpy(p + n + 1, e->op.ptr, e->op.len);
	p[n + 1 + e->op.len] = '\0';
	e->bytes.ptr = p;
	e->op.ptr = p + n + 1;
	e->body.ptr = p + at;
	return true;
}

/* A statement may return more than is asked for. */
static bool is_wanted(const struct filling *f, const struct store_event *e)
{
	uint64_t types = f->range->types;

	return e->last >= f->range->first &&
	       (types == 0 || e->state >= STATE_DAMAGED ||
		types >> (e->type & 63) & 1);
}

/* Where the next event goes; there is room. */
static struct store_event *next_event(const struct filling *f)
{
	return &f->page.v[f->page.n];
}

/* Keep the event that is in the next place, and whose text is still the row's,
 * if it is wanted. */
static int put_event(struct filling *f, struct weft_error *err)
{
	struct store_event *e = next_event(f);
	size_t n = e->bytes.len;

	if (!is_wanted(f, e))
		return WEFT_OK;
	if (f->page.n == f->max ||
	    (f->page.n > 0 && n > f->max_bytes - f->bytes)) {
		f->page.done = 0;
		return SQL_ENOUGH;
	}
	if (!keep_event(e, f->arena))
		return arena_error(f->arena, err);
	f->page.n++;
	f->bytes += (size_t)u64_min(n, f->max_bytes - f->bytes);
	return WEFT_OK;
}

/* A row of one event, and what putting it said. */
struct whole {
	struct filling *f;
	int put;
};

static int take_whole(void *ctx, const struct sql_value *row,
		      struct weft_error *err)
{
	struct whole *w = ctx;

	if (!decode_event(row, next_event(w->f)))
		return sql_fail_row("events", err);
	w->put = put_event(w->f, err);
	return w->put < 0 ? w->put : SQL_ENOUGH;
}

/* From its line; one that does not say it all, from its columns. */
static int take_event(void *ctx, const struct sql_value *row,
		      struct weft_error *err)
{
	struct filling *f = ctx;
	const struct weft_id *session = &f->range->session;
	uint64_t seq = (uint64_t)row[P_SEQ].n;
	struct whole whole = { .f = f };
	int r;

	if (f->page.n == f->room && !grow(f))
		return arena_error(f->arena, err);
	if (row[P_STATE].n == STATE_OK) {
		struct store_event *e = next_event(f);

		event_read_again(session, row[P_BYTES].s, f->arena, e);
		if (f->arena->failed)
			return arena_error(f->arena, err);
		if (e->state == STATE_OK && e->seq == seq)
			return put_event(f, err);
	}
	r = sql_run(f->c, Q_EVENT, SQL_ROW(sql_id(session), sql_u64(seq)),
		    take_whole, &whole, err);
	return r < 0 ? r : whole.put;
}

/*
 * Where rows come one by one, messages are looked for among all: nearly all
 * are messages, and their lines say so.  What is rare is looked for by the
 * database.
 */
static uint32_t statement_of(const struct sql_conn *c,
			     const struct event_range *r)
{
	const uint64_t messages = UINT64_C(1) << EVENT_MESSAGE;

	if (r->types == 0 || (c->store->driver->streams && r->types & messages))
		return r->backwards ? Q_EVENTS_BACKWARDS : Q_EVENTS;
	return r->backwards ? Q_EVENTS_OF_BACKWARDS : Q_EVENTS_OF;
}

int sql_read_events(struct sql_conn *c, const struct event_range *r,
		    struct arena *a, struct event_page *ret,
		    struct weft_error *err)
{
	uint64_t max = c->store->store.limits.page;
	struct filling f = {
		.c = c, .range = r, .arena = a, .page = { .done = 1 }
	};
	int status;

	if (r->max_events > 0)
		max = u64_min(max, r->max_events);
	f.max = (size_t)max;
	f.max_bytes = r->max_bytes ? r->max_bytes : PAGE_BYTES;
	if (r->first > r->last) {
		*ret = f.page;
		return WEFT_OK;
	}
	/* One more than fits tells whether there is more. */
	status = sql_run(c, statement_of(c, r),
			 SQL_ROW(sql_id(&r->session), sql_u64(r->first),
				 sql_u64(r->last), sql_u64(max + 1),
				 sql_u64(f.max_bytes),
				 sql_int((int64_t)r->types)),
			 take_event, &f, err);
	if (status < 0)
		return status;
	*ret = f.page;
	return WEFT_OK;
}

int sql_store_read_events(struct store *s, const struct event_range *r,
			  struct arena *a, struct event_page *ret,
			  struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	int status = sql_reader(sql_of(s), &c, err);

	return status < 0 ? status : sql_read_events(c, r, a, ret, err);
}

/* ---- lists ---- */

struct listing {
	struct arena *arena;
	struct session_page page;
	size_t limit;
};

static int take_session(void *ctx, const struct sql_value *row,
			struct weft_error *err)
{
	struct listing *l = ctx;
	struct session_rec rec = { 0 };
	int r;

	if (l->page.n == l->limit) {
		l->page.more = 1;
		return SQL_ENOUGH;
	}
	for (size_t i = 0; i < record_n_fields; i++) {
		if (!sql_to_field(&rec, &record_fields[i], &row[i]))
			return sql_fail_row("sessions", err);
	}
	r = record_copy(&l->page.v[l->page.n], &rec, l->arena, err);
	if (r == WEFT_OK)
		l->page.n++;
	return r;
}

/* Read backwards the one next to the cursor came first. */
static void turn_round(struct session_page *page)
{
	for (size_t i = 0; i < page->n / 2; i++) {
		struct session_rec rec = page->v[i];

		page->v[i] = page->v[page->n - 1 - i];
		page->v[page->n - 1 - i] = rec;
	}
}

/* Go by the first filter that few match, if there is one and the database does
 * not choose by itself. */
static int choose_filter(struct sql_conn *c, const struct list_query *q,
			 uint32_t *shape, struct weft_error *err)
{
	struct sql_value v[LIST_PARAMETERS];
	int64_t few = 0;
	int r = WEFT_OK;

	if (c->store->driver->dialect != SQL_SQLITE)
		return WEFT_OK;
	list_parameters(q, *shape, v);
	for (uint32_t i = 0; i < LIST_FILTERS && r == WEFT_OK && !few; i++) {
		if (!list_has_filter(*shape, i))
			continue;
		r = sql_number(c, Q_FEW + i,
			       SQL_ROW(v[list_filter_parameter(i) - 1]), &few,
			       err);
		if (r == WEFT_OK && few)
			*shape = list_shape_by(*shape, i);
	}
	return r;
}

int sql_store_list(struct store *s, const struct list_query *q, struct arena *a,
		   struct session_page *ret, struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	struct listing l = { .arena = a, .limit = match_limit(q, &s->limits) };
	struct sql_value v[LIST_PARAMETERS + 1];
	uint32_t shape = list_shape(q);
	int r = sql_reader(sql_of(s), &c, err);

	if (r == WEFT_OK)
		r = choose_filter(c, q, &shape, err);
	if (r < 0)
		return r;
	l.page.v = ARENA_ARRAY(a, struct session_rec, l.limit);
	if (!l.page.v)
		return arena_error(a, err);
	list_parameters(q, shape, v);
	v[LIST_PARAMETERS] = sql_u64(l.limit + 1);
	if (!list_shape_is_empty(shape))
		r = sql_run(c, Q_LIST + shape,
			    &(struct sql_rows){ v, 1, LIST_PARAMETERS + 1 },
			    take_session, &l, err);
	if (r < 0)
		return r;
	if (q->backwards)
		turn_round(&l.page);
	*ret = l.page;
	return WEFT_OK;
}
