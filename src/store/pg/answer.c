/*
 * answer.c - waiting for what the server says, and not for ever.
 *
 * libpq waits as long as a connection is there, and it is there for as long as
 * some process holds it: one that hangs never lets go.  So we send and wait
 * ourselves, and who has not answered in time is left alone.
 */
#include <libpq-fe.h>
#include <poll.h>

#include "base/clock.h"
#include "store/pg/pg.h"

/* A statement may wait for locks first, and gives up by itself. */
static int64_t end_of_patience(const struct pg_conn *k)
{
	const struct pg_store *s = pg_of(k->base.store);
	uint64_t ms = s->answer_ms + s->sql.store.limits.busy_ms;

	return k->slow || k->at_leisure || s->answer_ms == 0 ?
		       INT64_MAX :
		       clock_mono_us() + (int64_t)ms * 1000;
}

/* Until there is something to read or, if there is something to send, room for
 * it; false: not in time. */
static bool wait_until(struct pg_conn *k, bool sending, int64_t end)
{
	struct pollfd fd = { .fd = PQsocket(k->pg),
			     .events = (short)(POLLIN |
					       (sending ? POLLOUT : 0)) };

	for (;;) {
		int64_t left_ms = (end - clock_mono_us() + 999) / 1000;
		int ms = end == INT64_MAX    ? -1 :
			 left_ms > INT32_MAX ? INT32_MAX :
			 left_ms < 0         ? 0 :
					       (int)left_ms;

		/* A signal is no answer. */
		if (poll(&fd, 1, ms) > 0)
			return true;
		if (clock_mono_us() >= end)
			return false;
	}
}

void *pg_next_answer(struct pg_conn *k)
{
	int64_t end = end_of_patience(k);

	while (!k->late) {
		bool sending = PQflush(k->pg) > 0;

		if (!PQisBusy(k->pg) || PQsocket(k->pg) < 0)
			return PQgetResult(k->pg);
		if (!wait_until(k, sending, end))
			k->late = true;
		else if (!PQconsumeInput(k->pg))
			return PQgetResult(k->pg);
	}
	return NULL;
}

void *pg_last_answer(struct pg_conn *k, int sent)
{
	PGresult *last = NULL, *next;

	while (sent && (next = pg_next_answer(k))) {
		PQclear(last);
		last = next;
		if (PQstatus(k->pg) != CONNECTION_OK)
			break;
	}
	k->slow = false;
	if (!k->late)
		return last;
	PQclear(last);
	return NULL;
}
