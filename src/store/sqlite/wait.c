/*
 * wait.c - waiting until somebody, in this process or another, has committed.
 *
 * SQLite counts for a connection what others have committed.  inotify on the
 * log says when to look; but the log is written before it is flushed, and what
 * was committed is seen only then.  So after a wake-up we look again soon, and
 * then ever less often.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "store/sqlite/sqlite.h"

/* In case a wake-up never comes. */
#define SLOW_MS 2000

static struct sqlite_store *store_of(struct store *s)
{
	return sqlite_of(sql_of(s));
}

/* Under `bell`.  What to sleep on: the log, or where there is none the file
 * itself. */
static int get_watch(struct sqlite_store *s, struct weft_error *err)
{
	char path[4096];
	int n, r;

	if (s->watch)
		return WEFT_OK;
	n = snprintf(path, sizeof(path), "%s-wal", s->path);
	if (n < 0 || (size_t)n >= sizeof(path))
		return fail(err, WEFT_LIMIT, "%s: the path is too long",
			    s->path);
	r = watch_open(s->fs, path, &s->watch);
	if (r < 0)
		r = watch_open(s->fs, s->path, &s->watch);
	return r < 0 ? fail_errno(err, -r, "watch %s", s->path) : WEFT_OK;
}

/* Under `bell`.  A number that changes with every commit. */
static int count(struct sqlite_store *s, uint64_t *ret, struct weft_error *err)
{
	struct sql_conn *c = NULL;
	int64_t version = 0;
	int r = WEFT_OK;

	if (s->single || s->immutable) {
		*ret = 1 + atomic_load(&s->sql.writes);
		return WEFT_OK;
	}
	if (!s->counter) {
		r = s->sql.driver->conn_open(&s->sql, SQL_FOR_READING, &c, err);
		if (r < 0)
			return r;
		s->counter = (struct sqlite_conn *)(void *)c;
	}
	r = sqlite_ask(s->counter, "PRAGMA data_version", &version, err);
	if (r == WEFT_OK)
		*ret = 1 + (uint64_t)version;
	return r;
}

/* Under `bell`: 1 news, 0 none, 2 woken. */
static int look(struct sqlite_store *s, uint64_t *stamp, uint64_t wakes,
		struct weft_error *err)
{
	uint64_t now = 0;
	int r = count(s, &now, err);

	if (r < 0)
		return r;
	if (now != *stamp) {
		*stamp = now;
		return 1;
	}
	return s->wakes != wakes ? 2 : 0;
}

static int64_t shorter(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int sqlite_wait(struct store *store, uint64_t *stamp, int64_t timeout_ms,
		struct weft_error *err)
{
	struct sqlite_store *s = store_of(store);
	int64_t end = clock_mono_us() / 1000 + timeout_ms, nap = SLOW_MS;
	uint64_t wakes;
	int r = sql_check(&s->sql, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&s->bell);
	wakes = s->wakes - s->wake_unseen;
	r = get_watch(s, err);
	if (r == WEFT_OK)
		r = look(s, stamp, wakes, err);
	while (r == 0) {
		int64_t left = end - clock_mono_us() / 1000;
		int rang;

		if (timeout_ms >= 0 && left <= 0)
			break;
		if (timeout_ms >= 0)
			nap = shorter(nap, left);
		(void)pthread_mutex_unlock(&s->bell);
		rang = watch_wait(s->watch, nap);
		(void)pthread_mutex_lock(&s->bell);
		nap = rang == 1 ? 1 : shorter(2 * nap, SLOW_MS);
		r = look(s, stamp, wakes, err);
	}
	if (s->wakes != wakes)
		s->wake_unseen = false;
	(void)pthread_mutex_unlock(&s->bell);
	return r == 2 ? 0 : r;
}

void sqlite_ring(struct sql_store *sql)
{
	struct sqlite_store *s = sqlite_of(sql);

	(void)pthread_mutex_lock(&s->bell);
	if (s->watch)
		watch_wake(s->watch);
	(void)pthread_mutex_unlock(&s->bell);
}

void sqlite_wake(struct store *store)
{
	struct sqlite_store *s = store_of(store);

	if (s->sql.process != process_generation())
		return;
	(void)pthread_mutex_lock(&s->bell);
	s->wakes++;
	s->wake_unseen = true;
	if (s->watch)
		watch_wake(s->watch);
	(void)pthread_mutex_unlock(&s->bell);
}
