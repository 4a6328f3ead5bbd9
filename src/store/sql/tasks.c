/* tasks.c - looking after a store in SQL: verify, reindex, blobs. */
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "model/event.h"
#include "store/blob_refs.h"
#include "store/rebuild.h"
#include "store/sql/columns.h"
#include "store/sql/sql.h"

/* One walk over all events. */
struct walk {
	struct sql_conn *c;
	struct store_report *report;
	struct arena scratch; /* of one page */
	uint64_t total;       /* sessions, about */
	int (*each)(struct walk *w, const struct store_event *e);
	int (*after)(struct walk *w, const struct weft_id *id); /* or NULL */
	struct rebuild *fresh; /* reindex: what is being built */
	uint64_t next, line;   /* verify: what number should come */
	struct sql_refs refs;  /* reindex: of one session */
	struct arena refs_arena;
	uint64_t refs_changed;
	struct weft_error *err;
};

static int take_id(void *ctx, const struct sql_value *row,
		   struct weft_error *err)
{
	return sql_to_id(&row[0], ctx) ? SQL_ENOUGH :
					 sql_fail_row("events", err);
}

static int walk_session(struct walk *w, const struct weft_id *id)
{
	struct event_range range = { .session = *id,
				     .first = 1,
				     .last = UINT64_MAX };
	struct event_page page = { .done = 0 };

	w->next = w->line = 0;
	w->refs = (struct sql_refs){ 0 };
	arena_reset(&w->refs_arena);
	while (!page.done) {
		int r;

		arena_reset(&w->scratch);
		r = sql_read_events(w->c, &range, &w->scratch, &page, w->err);
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++) {
			const struct store_event *e = &page.v[i];

			w->report->events++;
			w->report->bytes += e->bytes.len + 1;
			r = w->each(w, e);
			range.first = e->last + 1;
		}
		if (r < 0)
			return r;
		if (page.n == 0)
			break;
	}
	return w->after ? w->after(w, id) : WEFT_OK;
}

static int walk_all(struct walk *w)
{
	struct store_report *report = w->report;
	struct weft_id id = { .b = { 0 } };
	int64_t total = 0;
	int r = sql_number(w->c, Q_COUNT_SESSIONS, NULL, &total, w->err);

	while (r == WEFT_OK) {
		struct weft_id next = { .b = { 0 } };

		r = sql_run(w->c, Q_NEXT_SESSION, SQL_ROW(sql_id(&id)), take_id,
			    &next, w->err);
		if (r < 0 || id_is_zero(&next))
			break;
		id = next;
		r = walk_session(w, &id);
		report->sessions++;
		if (report->progress)
			report->progress(
				report->progress_ctx, report->sessions,
				u64_max(report->sessions, (uint64_t)total));
	}
	return r;
}

/* Walk over all events with a connection; `w` has the rest. */
static int walk_with(struct walk *w, struct sql_conn *c)
{
	int r;

	w->c = c;
	arena_init(&w->scratch, 0);
	arena_init(&w->refs_arena, 0);
	r = walk_all(w);
	arena_done(&w->refs_arena);
	arena_done(&w->scratch);
	return r;
}

/* ---- verify ---- */

/* A message must have all that it refers to. */
static int verify_refs(struct walk *w, const struct store_event *e)
{
	int r;

	w->refs.n = 0;
	r = sql_refs_add(&w->refs, e, &w->refs_arena, w->err);
	for (size_t i = 0; i < w->refs.n && r == WEFT_OK; i++) {
		const struct blob_ref *ref = &w->refs.v[i];
		int64_t found = 0;

		r = sql_number(w->c, Q_HAS_BLOB,
			       SQL_ROW(sql_bytes(ref->sha256, SHA256_BYTES)),
			       &found, w->err);
		if (r == WEFT_OK && !found)
			r = report_lost_blob(w->report, &e->session, NULL,
					     w->line, 0, ref, w->err);
	}
	return r;
}

static int look_for_lost(struct walk *w, const struct store_event *e)
{
	w->line++;
	return verify_refs(w, e);
}

static const char *wrong_with(const struct store_event *kept,
			      const struct store_event *read)
{
	if (read->state == STATE_DAMAGED)
		return "the line cannot be read";
	if (read->state != STATE_OK && read->state != STATE_GONE)
		return "the checksum is wrong";
	if (read->seq != kept->seq || !id_eq(&read->id, &kept->id) ||
	    read->type != kept->type || !str_eq(read->op, kept->op) ||
	    read->last != kept->last || !str_eq(read->body, kept->body))
		return "the line says other than what was written";
	return NULL;
}

static int verify_event(struct walk *w, const struct store_event *e)
{
	CLEANUP(arena_done) struct arena own;
	struct store_event again;
	const char *wrong;
	int r = WEFT_OK;

	arena_init(&own, 0);
	event_read(&e->session, e->bytes, &own, &again);
	if (own.failed)
		return arena_error(&own, w->err);
	wrong = wrong_with(e, &again);
	if (!wrong && w->next > 0 && e->seq != w->next)
		wrong = "the number is not the next one";
	w->next = e->last + 1;
	w->line++;
	if (wrong)
		r = report_problem(w->report, &e->session, NULL, w->line, 0,
				   w->err, "%s", wrong);
	return r == WEFT_OK ? verify_refs(w, e) : r;
}

struct blob_check {
	struct store_report *report;
	unsigned char key[SHA256_BYTES];
	bool found;
};

static int verify_blob(void *ctx, const struct sql_value *row,
		       struct weft_error *err)
{
	struct blob_check *b = ctx;
	unsigned char actual[SHA256_BYTES];
	int r;

	if (row[0].kind != SQL_BYTES || row[0].s.len != SHA256_BYTES)
		return sql_fail_row("blobs", err);
	memcpy(b->key, row[0].s.ptr, SHA256_BYTES);
	b->found = true;
	b->report->blobs++;
	r = sha256(row[2].s, actual, err);
	if (r == WEFT_OK && (memcmp(actual, b->key, SHA256_BYTES) != 0 ||
			     row[2].s.len != (uint64_t)row[1].n))
		r = report_problem(b->report, NULL, NULL, 0, 0, err,
				   "a blob has another hash");
	return r < 0 ? r : SQL_ENOUGH;
}

static int verify_blobs(struct walk *w)
{
	struct blob_check b = { .report = w->report, .found = true };
	size_t n = 0; /* the first one comes after nothing at all */
	int r = WEFT_OK;

	while (r == WEFT_OK && b.found) {
		unsigned char after[SHA256_BYTES];

		memcpy(after, b.key, sizeof(after));
		b.found = false;
		r = sql_run(w->c, Q_NEXT_BLOB, SQL_ROW(sql_bytes(after, n)),
			    verify_blob, &b, w->err);
		n = SHA256_BYTES;
	}
	return r;
}

static int verify(struct sql_store *s, struct store_report *report,
		  struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	struct walk w = { .report = report, .each = verify_event, .err = err };
	int r = sql_reader(s, &c, err);

	if (r == WEFT_OK)
		r = s->driver->begin(c, SQL_FOR_READING, err);
	if (r < 0)
		return r;
	r = s->driver->check(c, report, err);
	if (r == WEFT_OK)
		r = walk_with(&w, c);
	if (r == WEFT_OK)
		r = verify_blobs(&w);
	s->driver->rollback(c);
	return r;
}

/* ---- reindex ---- */

static int derive_again(struct walk *w, const struct store_event *e)
{
	int r = rebuild_event(w->fresh, e, w->err);

	return r == WEFT_OK ?
		       sql_refs_add(&w->refs, e, &w->refs_arena, w->err) :
		       r;
}

/* All events of a session were seen: so much for its references. */
static int settle_refs(struct walk *w, const struct weft_id *id)
{
	uint64_t changed = 0;
	int r = sql_refs_settle(w->c, id, &w->refs, &w->refs_arena, &changed,
				w->err);

	w->refs_changed += changed;
	return r;
}

/* What is in the tables against what should be. */
struct comparison {
	struct walk *w;
	uint64_t records, names, marks, differences;
	int status;
};

static void compare_session(void *ctx, struct table_node *node)
{
	struct comparison *c = ctx;
	const struct index_session *s =
		TABLE_ENTRY(node, struct index_session, node);
	struct session_rec rec;
	uint64_t *hidden = NULL;
	size_t n = 0, should = 0;

	if (c->status < 0)
		return;
	arena_reset(&c->w->scratch);
	c->status = sql_get_sessions(c->w->c, Q_GET_SESSIONS, &s->id, 1,
				     &c->w->scratch, &rec, c->w->err);
	if (c->status == WEFT_OK)
		c->status =
			sql_get_hidden(c->w->c, &s->id, 0, UINT64_MAX,
				       &c->w->scratch, &hidden, &n, c->w->err);
	if (c->status < 0)
		return;
	if (!id_is_zero(&s->own.rec.id)) {
		c->records++;
		c->differences += !record_eq(&s->own.rec, &rec);
	}
	c->marks += s->n_hidden;
	for (size_t i = 0; i < s->n_hidden; i++) {
		if (!s->hidden[i].hidden)
			continue;
		if (should >= n || hidden[should] != s->hidden[i].target)
			c->differences++;
		should++;
	}
	c->differences += should < n;
}

static void compare_name(void *ctx, struct table_node *node)
{
	struct comparison *c = ctx;
	const struct name_rec *name =
		&TABLE_ENTRY(node, struct index_name, node)->rec;
	struct name_rec found;

	if (c->status < 0)
		return;
	arena_reset(&c->w->scratch);
	c->status = sql_get_names(c->w->c, &name->name, 1, &c->w->scratch,
				  &found, c->w->err);
	if (c->status < 0)
		return;
	c->names++;
	if (found.ver != name->ver || found.kind != name->kind ||
	    !id_eq(&found.session, &name->session))
		c->differences++;
}

static int count_more(struct comparison *c, uint32_t key, uint64_t should)
{
	int64_t n = 0;
	int r = sql_number(c->w->c, key, NULL, &n, c->w->err);

	if (r == WEFT_OK && (uint64_t)n > should)
		c->differences += (uint64_t)n - should;
	return r;
}

static int compare(struct walk *w, uint64_t *ret)
{
	struct comparison c = { .w = w };
	int r;

	table_each(&w->fresh->index.sessions, compare_session, &c);
	table_each(&w->fresh->index.names, compare_name, &c);
	r = c.status;
	if (r == WEFT_OK)
		r = count_more(&c, Q_COUNT_SESSIONS, c.records);
	if (r == WEFT_OK)
		r = count_more(&c, Q_COUNT_NAMES, c.names);
	if (r == WEFT_OK)
		r = count_more(&c, Q_COUNT_HIDDEN, c.marks);
	*ret = c.differences;
	return r;
}

static void put_session(void *ctx, struct table_node *node)
{
	struct comparison *c = ctx;
	const struct index_session *s =
		TABLE_ENTRY(node, struct index_session, node);
	const struct session_rec *rec = &s->own.rec;

	if (c->status < 0)
		return;
	arena_reset(&c->w->scratch);
	if (!id_is_zero(&rec->id))
		c->status = sql_put_records(c->w->c, &rec, 1, false,
					    &c->w->scratch, c->w->err);
	for (size_t i = 0; i < s->n_hidden && c->status == WEFT_OK; i++) {
		const struct store_hide *h = &s->hidden[i];

		c->status = sql_run(c->w->c, Q_PUT_HIDDEN,
				    SQL_ROW(sql_id(&s->id), sql_u64(h->target),
					    sql_int(h->hidden != 0),
					    sql_u64(h->by)),
				    NULL, NULL, c->w->err);
	}
}

static void put_name(void *ctx, struct table_node *node)
{
	struct comparison *c = ctx;
	const struct name_rec *name =
		&TABLE_ENTRY(node, struct index_name, node)->rec;

	if (c->status < 0)
		return;
	c->status =
		sql_run(c->w->c, Q_PUT_NAMES,
			SQL_ROW(sql_text(name->name), sql_id(&name->session),
				sql_u64(name->ver), sql_u64(name->kind)),
			NULL, NULL, c->w->err);
}

static int put_all(struct walk *w)
{
	static const uint32_t clear[] = { Q_CLEAR_SESSIONS, Q_CLEAR_NAMES,
					  Q_CLEAR_HIDDEN };
	struct comparison c = { .w = w };

	for (size_t i = 0; i < ARRAY_LEN(clear) && c.status == WEFT_OK; i++)
		c.status = sql_run(w->c, clear[i], NULL, NULL, NULL, w->err);
	table_each(&w->fresh->index.sessions, put_session, &c);
	table_each(&w->fresh->index.names, put_name, &c);
	return c.status;
}

static int rebuild_all(struct walk *w)
{
	uint64_t differences = 0, lone = 0;
	int r = walk_with(w, w->c);

	arena_init(&w->scratch, 0);
	if (r == WEFT_OK)
		r = w->c->store->driver->run(w->c, Q_CLEAR_LONE_REFS, NULL,
					     NULL, NULL, &lone, w->err);
	if (r == WEFT_OK)
		r = rebuild_settle(w->fresh, w->err);
	if (r == WEFT_OK)
		r = compare(w, &differences);
	if (r == WEFT_OK && differences > 0)
		r = put_all(w);
	/* The words follow again, when somebody searches. */
	if (r == WEFT_OK)
		r = sql_clear_words(w->c, w->err);
	if (r == WEFT_OK)
		w->report->changed = differences + w->refs_changed + lone;
	arena_done(&w->scratch);
	return r;
}

/* In a transaction: derive everything again. */
static int rebuild_in(struct sql_conn *c, struct store_report *report,
		      struct weft_error *err)
{
	CLEANUP(rebuild_done) struct rebuild fresh;
	struct walk w = { .c = c,
			  .report = report,
			  .each = derive_again,
			  .after = settle_refs,
			  .fresh = &fresh,
			  .err = err };
	int r;

	rebuild_init(&fresh);
	/* On other machines they may be writing. */
	r = sql_run(c, Q_LOCK_ALL, NULL, NULL, NULL, err);
	return r < 0 ? r : rebuild_all(&w);
}

int sql_rebuild(struct sql_conn *c, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena arena;
	struct store_report report = { .arena = &arena };

	arena_init(&arena, 0);
	return rebuild_in(c, &report, err);
}

static int reindex_in(struct sql_conn *c, void *ctx, struct weft_error *err)
{
	struct store_report *report = ctx;

	report->sessions = report->events = report->bytes = 0;
	return rebuild_in(c, report, err);
}

static int reindex(struct sql_store *s, struct store_report *report,
		   struct weft_error *err)
{
	int r = sql_transaction(s, reindex_in, report, err);

	sql_forget_records(s);
	return r;
}

/* ---- the rest ---- */

/* What is derived is made anew; what is lost nobody can mend. */
static int repair(struct sql_store *s, struct store_report *report,
		  struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	struct store_report found = { .arena = report->arena };
	struct walk w = { .report = &found, .each = look_for_lost, .err = err };
	int r = reindex(s, report, err);

	if (r == WEFT_OK)
		r = sql_reader(s, &c, err);
	if (r == WEFT_OK)
		r = s->driver->begin(c, SQL_FOR_READING, err);
	if (r < 0)
		return r;
	r = walk_with(&w, c);
	s->driver->rollback(c);
	report->problems = found.problems;
	report->n_problems = found.n_problems;
	report->room = found.room;
	return r;
}

/* These and no others: whoever is about to refer to one waits for its row, or
 * has it and is waited for. */
static int drop_only(struct sql_conn *c, struct store_report *report,
		     struct weft_error *err)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < report->n_only && r == WEFT_OK; i++) {
		const struct sql_rows *row = SQL_ROW(
			sql_bytes(report->only[i].sha256, SHA256_BYTES));
		uint64_t n = 0;
		int64_t found;

		r = sql_number(c, Q_LOCK_BLOB, row, &found, err);
		if (r == WEFT_OK)
			r = c->store->driver->run(c, Q_DROP_BLOB, row, NULL,
						  NULL, &n, err);
		report->changed += n;
	}
	return r;
}

static int drop_blobs_in(struct sql_conn *c, void *ctx, struct weft_error *err)
{
	int64_t left = 0, now = clock_now_ms(&c->store->clock);
	struct store_report *report = ctx;
	int r;

	report->changed = 0;
	if (report->only)
		r = drop_only(c, report, err);
	else
		r = c->store->driver->run(
			c, Q_DROP_BLOBS,
			SQL_ROW(sql_int(now - STORE_BLOB_REST_MS)), NULL, NULL,
			&report->changed, err);
	if (r == WEFT_OK)
		r = sql_number(c, Q_COUNT_BLOBS, NULL, &left, err);
	report->blobs = (uint64_t)left;
	return r;
}

int sql_store_maintain(struct store *store, uint32_t task,
		       struct store_report *report, struct weft_error *err)
{
	struct sql_store *s = sql_of(store);
	bool changes = task == TASK_REPAIR || task == TASK_REINDEX ||
		       task == TASK_BLOBS || task == TASK_FORGET;
	int r = changes ? sql_check_writable(s, err) : sql_check(s, err);

	if (r < 0)
		return r;
	switch ((enum store_task)task) {
	case TASK_CHECKPOINT:
		return WEFT_OK;
	case TASK_SUSPEND:
		sql_forget_records(s);
		return WEFT_OK;
	case TASK_VERIFY:
		return verify(s, report, err);
	case TASK_REPAIR: /* the database mends itself */
		return repair(s, report, err);
	case TASK_REINDEX:
		return reindex(s, report, err);
	case TASK_BLOBS:
		return sql_transaction(s, drop_blobs_in, report, err);
	case TASK_FORGET:
		return s->driver->forget(s, err);
	case TASK_BACKUP:
		return s->driver->backup(s, report, err);
	}
	return fail(err, WEFT_INVALID, "unknown task %u", task);
}
