/* store.c - connections of a store in SQL, who holds them, and health. */
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "store/sql/sql.h"

int sql_check(const struct sql_store *s, struct weft_error *err)
{
	if (s->process != process_generation())
		return fail(err, WEFT_IO,
			    "the store was opened before fork(): open it again "
			    "in this process");
	return WEFT_OK;
}

int sql_check_writable(const struct sql_store *s, struct weft_error *err)
{
	int r = sql_check(s, err);

	if (r < 0)
		return r;
	if (s->read_only)
		return fail(err, WEFT_READ_ONLY,
			    "the store was opened for reading only");
	return WEFT_OK;
}

int sql_check_stopped(const struct sql_store *s, struct weft_error *err)
{
	return s->stopped ? fail(err, WEFT_IO, "the store has stopped: %s",
				 s->reason) :
			    WEFT_OK;
}

int sql_init(struct sql_store *s, const struct store_open *o,
	     const struct store_ops *ops, const struct sql_driver *driver,
	     struct weft_error *err)
{
	int r;

	s->store.ops = ops;
	s->store.limits = o->limits;
	s->driver = driver;
	if (o->clock)
		s->clock = *o->clock;
	s->process = process_generation();
	s->read_only = o->flags & STORE_READ_ONLY;
	(void)pthread_mutex_init(&s->writer, NULL);
	(void)pthread_mutex_init(&s->pool, NULL);
	(void)pthread_cond_init(&s->freed, NULL);
	r = store_limits_fill(&s->store.limits, err);
	s->cache.max = (size_t)s->store.limits.active_sessions;
	return r;
}

void sql_done(struct sql_store *s)
{
	/* In a child of fork() the connections are the parent's. */
	if (s->process != process_generation())
		return;
	for (size_t i = 0; i < SQL_READERS; i++) {
		if (s->readers[i])
			s->driver->conn_close(s->readers[i]);
	}
	if (s->write_conn)
		s->driver->conn_close(s->write_conn);
	sql_cache_clear(&s->cache);
	(void)pthread_mutex_destroy(&s->writer);
	(void)pthread_mutex_destroy(&s->pool);
	(void)pthread_cond_destroy(&s->freed);
}

/* A reader that nobody uses, or the place for a new one; under `pool`. */
static struct sql_conn **find_reader(struct sql_store *s)
{
	for (size_t i = 0; i < SQL_READERS; i++) {
		if (!s->readers[i] || !s->readers[i]->busy)
			return &s->readers[i];
	}
	return NULL;
}

int sql_reader(struct sql_store *s, struct sql_conn **ret,
	       struct weft_error *err)
{
	struct sql_conn **found;
	int r = sql_check(s, err);

	if (r < 0)
		return r;
	if (s->one_conn) {
		(void)pthread_mutex_lock(&s->writer);
		*ret = s->write_conn;
		return WEFT_OK;
	}
	(void)pthread_mutex_lock(&s->pool);
	while (!(found = find_reader(s)))
		(void)pthread_cond_wait(&s->freed, &s->pool);
	if (!*found)
		r = s->driver->conn_open(s, SQL_FOR_READING, found, err);
	if (r == WEFT_OK) {
		(*found)->busy = true;
		*ret = *found;
	}
	(void)pthread_mutex_unlock(&s->pool);
	return r;
}

void sql_release(struct sql_conn **c)
{
	struct sql_store *s;

	if (!*c)
		return;
	s = (*c)->store;
	if (s->one_conn) {
		(void)pthread_mutex_unlock(&s->writer);
		return;
	}
	(void)pthread_mutex_lock(&s->pool);
	(*c)->busy = false;
	(void)pthread_cond_signal(&s->freed);
	(void)pthread_mutex_unlock(&s->pool);
}

static int try_act(struct sql_store *s, sql_act *act, void *ctx,
		   struct weft_error *err)
{
	struct sql_conn *c = s->write_conn;
	int r;

	c->replan = false;
	r = s->driver->begin(c, SQL_FOR_WRITING, err);
	if (r == WEFT_OK)
		r = act(c, ctx, err);
	if (r == WEFT_OK)
		r = s->driver->commit(c, err);
	if (r < 0)
		s->driver->rollback(c);
	return r;
}

int sql_transaction(struct sql_store *s, sql_act *act, void *ctx,
		    struct weft_error *err)
{
	int64_t end = clock_mono_us() + (int64_t)s->store.limits.busy_ms * 1000;
	int r = sql_check_writable(s, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&s->writer);
	r = sql_check_stopped(s, err);
	if (r == WEFT_OK) {
		do
			r = try_act(s, act, ctx, err);
		while (r < 0 && s->write_conn->replan && clock_mono_us() < end);
	}
	(void)pthread_mutex_unlock(&s->writer);
	return r;
}

void sql_forget_records(struct sql_store *s)
{
	(void)pthread_mutex_lock(&s->writer);
	sql_cache_clear(&s->cache);
	(void)pthread_mutex_unlock(&s->writer);
}

int sql_health(struct sql_store *s, struct store_health *ret)
{
	struct store_health health = { .complete = 1 };
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	int64_t sessions = 0;
	int r = sql_check(s, NULL);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&s->writer);
	health.failed = s->stopped;
	health.writable = !s->read_only && !s->stopped;
	(void)snprintf(health.reason, sizeof(health.reason), "%s",
		       s->read_only ? "opened for reading only" : s->reason);
	(void)pthread_mutex_unlock(&s->writer);
	health.frames = health.flushes = atomic_load(&s->writes);
	r = sql_reader(s, &c, NULL);
	if (r == WEFT_OK)
		r = sql_number(c, Q_COUNT_SOME, NULL, &sessions, NULL);
	health.active = (uint64_t)sessions;
	*ret = health;
	return r;
}
