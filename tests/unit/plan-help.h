/*
 * plan-help.h - for tests: requests put into one batch by hand, on a memory
 * store.
 */
#ifndef UNIT_PLAN_HELP_H
#define UNIT_PLAN_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/id.h"
#include "engine/internal.h"

#define REQUESTS_MAX 96

/* A request, and the one whose session it is for. */
struct entry {
	struct request *request;
	struct request *of;
};

struct bench {
	struct engine *engine;
	struct store *store;
	struct plan plan;
	struct entry entries[REQUESTS_MAX];
	size_t n, done; /* entries[done..n) are the next batch */
	bool twice;     /* plan as if the store had to start over */
	size_t n_ops;   /* of the last plan */
	int64_t now_ms;
	struct arena arena; /* what record() returned */
};

static inline int64_t tell_time(void *ctx)
{
	return ((struct bench *)ctx)->now_ms;
}

static inline struct bench *bench_open(const char *url)
{
	static struct bench bench;
	struct bench *b = &bench;
	struct weft_open_options o;
	struct weft_error err;

	*b = (struct bench){ .now_ms = INT64_C(1800000000000) };
	weft_open_options_init(&o, sizeof(o));
	o.now_ms = tell_time;
	o.now_ctx = b;
	assert_int_equal(engine_open(url, &o, &b->engine, &err), WEFT_OK);
	b->store = engine_store(b->engine);
	plan_init(&b->plan, b->engine);
	return b;
}

static inline void bench_close(struct bench *b)
{
	for (size_t i = 0; i < b->n; i++)
		request_free(b->entries[i].request);
	plan_done(&b->plan);
	arena_done(&b->arena);
	assert_int_equal(engine_close(b->engine, NULL), WEFT_OK);
}

/* ---- requests ---- */

static inline struct request *add(struct bench *b, uint32_t kind,
				  struct request *of)
{
	struct request *q = request_new(kind, NULL);

	assert_non_null(q);
	assert_true(b->n < REQUESTS_MAX);
	b->entries[b->n++] = (struct entry){ .request = q, .of = of };
	return q;
}

static inline struct request *creates(struct bench *b, const char *key)
{
	struct request *q = add(b, REQUEST_CREATE, NULL);

	q->create.key = str_of(key);
	q->create.kind = KIND_PRIMARY;
	return q;
}

static inline struct request *creates_named(struct bench *b, const char *key,
					    const char *alias)
{
	struct request *q = creates(b, key);
	struct weft_str *v = ARENA_NEW(&q->arena, struct weft_str);

	*v = str_of(alias);
	q->aliases = v;
	q->n_aliases = 1;
	return q;
}

static inline struct request *spawns(struct bench *b, struct request *parent)
{
	struct request *q = add(b, REQUEST_CREATE, parent);

	q->create.kind = KIND_SUBAGENT;
	return q;
}

/* One message for each text; NULL ends them. */
static inline struct request *says_all(struct bench *b, struct request *of,
				       const char *op, const char *const *texts)
{
	struct request *q = add(b, REQUEST_APPEND, of);
	size_t n = 0;

	while (texts[n])
		n++;
	q->op = str_of(op);
	q->messages = ARENA_ARRAY(&q->arena, struct message, n);
	q->n_messages = n;
	for (size_t i = 0; i < n; i++) {
		struct weft_str json = arena_printf(
			&q->arena, "{\"role\":\"user\",\"content\":\"%s\"}",
			texts[i]);

		assert_int_equal(message_check(json, engine_limits(b->engine),
					       &q->arena, &q->messages[i],
					       NULL),
				 WEFT_OK);
	}
	return q;
}

static inline struct request *says_once(struct bench *b, struct request *of,
					const char *op, const char *text)
{
	return says_all(b, of, op, (const char *const[]){ text, NULL });
}

static inline struct request *says(struct bench *b, struct request *of,
				   const char *text)
{
	return says_once(b, of, NULL, text);
}

static inline struct request *names(struct bench *b, struct request *of,
				    uint32_t how, const char *name)
{
	struct request *q = add(b, REQUEST_NAME, of);

	q->name = str_of(name);
	q->name_how = how;
	return q;
}

static inline struct request *redacts(struct bench *b, struct request *of,
				      uint64_t seq, uint32_t undo)
{
	struct request *q = add(b, REQUEST_REDACT, of);
	uint64_t *v = ARENA_NEW(&q->arena, uint64_t);

	*v = seq;
	q->targets = v;
	q->n_targets = 1;
	q->undo = undo;
	return q;
}

static inline struct request *patches(struct bench *b, struct request *of,
				      const char *json)
{
	struct request *q = add(b, REQUEST_PATCH, of);

	q->patch = str_of(json);
	return q;
}

/* ---- planning ---- */

static inline int plan_entries(struct bench *b, struct store_view *view,
			       struct op_list *out, struct weft_error *err)
{
	struct plan *p = &b->plan;
	int r = plan_begin(p, view, out, err);

	assert_int_equal(r, WEFT_OK);
	for (size_t i = b->done; i < b->n; i++) {
		struct request *q = b->entries[i].request;
		struct request *of = b->entries[i].of;

		if (of && q->kind == REQUEST_CREATE)
			q->create.parent = of->ret_session;
		else if (of)
			q->session = of->ret_session;
		q->status = plan_one(p, q);
		assert_false(p->broken);
	}
	return plan_end(p, err);
}

static inline int plan_by_hand(void *ctx, struct store_view *view,
			       struct op_list *out, struct weft_error *err)
{
	struct bench *b = ctx;
	int r;

	if (b->twice) {
		r = plan_entries(b, view, out, err);
		assert_int_equal(r, WEFT_OK);
		out->n = 0;
	}
	r = plan_entries(b, view, out, err);
	b->n_ops = out->n;
	return r;
}

/* Write everything that was added since the last time, as one batch. */
static inline void run(struct bench *b)
{
	struct store_want want = { 0 };
	struct weft_error err = { 0 };

	b->now_ms += 1000;
	if (b->store->ops->write(b->store, &want, plan_by_hand, b, &err) < 0)
		fail_msg("%s", err.message);
	b->done = b->n;
}

static inline void expect_ok(const struct request *q)
{
	if (q->status < 0)
		fail_msg("refused: %s", q->err.message);
}

static inline void expect_refused(const struct request *q, int code,
				  const char *part)
{
	assert_int_equal(q->status, code);
	assert_int_equal(q->err.code, code);
	if (!strstr(q->err.message, part))
		fail_msg("'%s' has no '%s'", q->err.message, part);
}

static inline struct session_rec record(struct bench *b,
					const struct request *q)
{
	struct session_rec rec = { 0 };
	struct weft_error err;

	if (engine_session(b->engine, &q->ret_session, &b->arena, &rec, &err) <
	    0)
		fail_msg("%s", err.message);
	return rec;
}

static inline struct weft_id holder(struct bench *b, const char *name)
{
	struct weft_str text = str_of(name);
	struct name_rec rec = { 0 };

	assert_int_equal(b->store->ops->get_names(b->store, &text, 1, &b->arena,
						  &rec, NULL),
			 WEFT_OK);
	return rec.session;
}

static inline bool holds(struct bench *b, const struct request *q,
			 const char *name)
{
	struct weft_id id = holder(b, name);

	return id_eq(&id, &q->ret_session);
}

static inline size_t events_of(struct bench *b, const struct request *q)
{
	return (size_t)record(b, q).head_seq;
}

#endif
