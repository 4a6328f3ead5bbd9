/*
 * wait.c - waiting until some node has committed.
 *
 * Every node tells the others with NOTIFY, on a connection of its own and
 * after the commit: inside it, all commits of all nodes would queue up for one
 * lock.  That is a hint and may be lost, so now and then we look at what
 * others have committed.  Of those who wait in a process one listens; the
 * others wait for it.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "store/pg/pg.h"

#define LOOK_MS 2000

static int64_t now_ms(void)
{
	return clock_mono_us() / 1000;
}

/* Under `bell`: something is new, or may be. */
static void ring(struct pg_store *s)
{
	uint64_t one = 1;

	s->stamp++;
	(void)pthread_cond_broadcast(&s->rung);
	(void)!write(s->wake_fd, &one, sizeof(one));
}

/* ---- telling others ---- */

/* Take what has come back of the last one; false if it is still under way. */
static bool is_free(struct pg_conn *k)
{
	if (PQconsumeInput(k->pg) == 0)
		k->broken = true;
	while (!k->broken && !PQisBusy(k->pg)) {
		PGresult *res = PQgetResult(k->pg);

		if (!res)
			return true;
		PQclear(res);
	}
	return k->broken;
}

static void notify(struct pg_store *s)
{
	struct pg_conn *k = s->notifier;
	char sql[128];

	/* One under way comes after this commit or tells of it later. */
	if (!k || !is_free(k))
		return;
	if (k->broken && pg_mend(k, NULL) < 0)
		return;
	(void)snprintf(sql, sizeof(sql), "NOTIFY %s", s->channel);
	if (PQsendQuery(k->pg, sql) == 0)
		k->broken = true;
	(void)PQflush(k->pg);
	(void)pthread_mutex_lock(&s->bell);
	s->notifier_pid = PQbackendPID(k->pg);
	(void)pthread_mutex_unlock(&s->bell);
}

void pg_committed(struct sql_store *sql)
{
	struct pg_store *s = pg_of(sql);

	(void)pthread_mutex_lock(&s->bell);
	ring(s);
	(void)pthread_mutex_unlock(&s->bell);
	notify(s);
}

/* ---- listening ---- */

static int take_number(void *ctx, const struct sql_value *row,
		       struct weft_error *err)
{
	(void)err;
	*(int64_t *)ctx = row[0].n;
	return SQL_ENOUGH;
}

/* A connection that is told what others commit. */
static int start_listening(struct pg_store *s, struct pg_conn *k,
			   struct weft_error *err)
{
	char sql[128];

	(void)snprintf(sql, sizeof(sql), "LISTEN %s", s->channel);
	return pg_exec(k, sql, NULL, err);
}

/* Asking may have connected again, and then nobody listens any more. */
static int look_at_others(struct pg_store *s, struct pg_conn *k, int64_t *ret,
			  struct weft_error *err)
{
	int pid = PQbackendPID(k->pg);
	int r = sql_run(&k->base, PG_OTHERS, SQL_ROW(sql_id(&s->node)),
			take_number, ret, err);

	if (r == WEFT_OK && PQbackendPID(k->pg) != pid) {
		*ret = -1;
		r = start_listening(s, k, err);
	}
	return r;
}

static int get_listener(struct pg_store *s, bool *fresh, struct weft_error *err)
{
	struct pg_conn *k = s->listener;
	int r = WEFT_OK;

	*fresh = false;
	if (k && !k->broken && PQstatus(k->pg) == CONNECTION_OK)
		return WEFT_OK;
	*fresh = true;
	if (k)
		r = pg_mend(k, err);
	else
		r = pg_connect(s, SQL_FOR_READING, &s->listener, err);
	return r < 0 ? r : start_listening(s, s->listener, err);
}

/* Read what the server has told us; true if others have news. */
static bool take_notifications(struct pg_store *s, int own_pid)
{
	struct pg_conn *k = s->listener;
	bool news = false;
	PGnotify *n;

	if (PQconsumeInput(k->pg) == 0)
		k->broken = true;
	while ((n = PQnotifies(k->pg))) {
		news |= n->be_pid != own_pid;
		PQfreemem(n);
	}
	return news;
}

static void drain(int fd)
{
	uint64_t n;

	while (read(fd, &n, sizeof(n)) > 0 || errno == EINTR)
		;
}

static void sleep_on(struct pg_store *s, int64_t ms)
{
	struct pollfd fds[2] = {
		{ .fd = s->wake_fd, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};

	if (s->listener && !s->listener->broken)
		fds[1].fd = PQsocket(s->listener->pg);
	(void)poll(fds, 2, (int)ms);
	drain(s->wake_fd);
}

/*
 * For all who wait, without `bell`: sleep until something may have happened.
 * A server that is away is no failure: it is asked again later.
 */
static void listen_once(struct pg_store *s, int64_t ms, int own_pid,
			bool *ret_news)
{
	int64_t others = s->others;
	bool fresh;

	*ret_news = false;
	if (get_listener(s, &fresh, NULL) < 0)
		s->next_look_ms = now_ms() + LOOK_MS;
	else if (!fresh) {
		/* Some may have come with the last answer. */
		*ret_news = take_notifications(s, own_pid);
		if (!*ret_news)
			sleep_on(s, ms);
	}
	if (!s->listener || s->listener->broken) {
		sleep_on(s, ms);
		return;
	}
	*ret_news |= take_notifications(s, own_pid);
	if (!fresh && !*ret_news && now_ms() < s->next_look_ms)
		return;
	s->next_look_ms = now_ms() + LOOK_MS;
	if (look_at_others(s, s->listener, &others, NULL) == WEFT_OK) {
		*ret_news |= others != s->others;
		s->others = others;
	}
}

static int64_t shorter(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void wait_for_listener(struct pg_store *s, int64_t ms)
{
	int64_t until = now_ms() + ms;
	struct timespec t = { .tv_sec = (time_t)(until / 1000),
			      .tv_nsec = (long)(until % 1000) * 1000000 };

	(void)pthread_cond_timedwait(&s->rung, &s->bell, &t);
}

/* Under `bell`, which is let go meanwhile. */
static void wait_a_while(struct pg_store *s, int64_t ms)
{
	int own_pid = s->notifier_pid;
	bool news;

	if (s->listening) {
		wait_for_listener(s, ms);
		return;
	}
	s->listening = true;
	(void)pthread_mutex_unlock(&s->bell);
	listen_once(s, ms, own_pid, &news);
	(void)pthread_mutex_lock(&s->bell);
	s->listening = false;
	if (news)
		ring(s);
	(void)pthread_cond_broadcast(&s->rung);
}

int pg_wait(struct store *store, uint64_t *stamp, int64_t timeout_ms,
	    struct weft_error *err)
{
	struct pg_store *s = pg_of(sql_of(store));
	int64_t end = now_ms() + timeout_ms;
	uint64_t wakes;
	int r = sql_check(&s->sql, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&s->bell);
	wakes = s->wakes - s->wake_unseen;
	while (s->stamp == *stamp && s->wakes == wakes) {
		int64_t left = timeout_ms < 0 ? LOOK_MS : end - now_ms();

		if (left <= 0)
			break;
		wait_a_while(s, shorter(left, LOOK_MS));
	}
	if (s->wakes != wakes)
		s->wake_unseen = false;
	r = s->stamp != *stamp;
	*stamp = s->stamp;
	(void)pthread_mutex_unlock(&s->bell);
	return r;
}

void pg_wake(struct store *store)
{
	struct pg_store *s = pg_of(sql_of(store));
	uint64_t one = 1;

	if (s->sql.process != process_generation())
		return;
	(void)pthread_mutex_lock(&s->bell);
	s->wakes++;
	s->wake_unseen = true;
	(void)pthread_cond_broadcast(&s->rung);
	(void)!write(s->wake_fd, &one, sizeof(one));
	(void)pthread_mutex_unlock(&s->bell);
}

void pg_wait_done(struct pg_store *s)
{
	pg_disconnect(s->listener);
	pg_disconnect(s->notifier);
	if (s->wake_fd >= 0)
		(void)close(s->wake_fd);
	(void)pthread_mutex_destroy(&s->bell);
	(void)pthread_cond_destroy(&s->rung);
}
