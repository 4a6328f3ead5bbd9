/*
 * cmd_tail.c - weft tail
 *
 * With -f the main thread waits inside the library, for ever and without
 * waking up for nothing.  A second thread waits for what may end that: a
 * signal, or the reader of our output going away.  It ends the process; all
 * that was printed has been flushed, and a reader leaves nothing behind in a
 * store.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/id.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_FOLLOW, OPT_AFTER, OPT_REDACTED };

static const struct opt opts[] = {
	[OPT_FOLLOW] = { .name = "follow",
			 .letter = 'f',
			 .about = "go on with events as they come, until "
				  "interrupted" },
	[OPT_AFTER] = { .name = "after",
			.takes = "SEQ",
			.kind = OPT_NUMBER,
			.about = "only events with a higher number" },
	[OPT_REDACTED] = { .name = "redacted",
			   .about = "also what was redacted" },
};

static const struct arg args[] = {
	ARG_SESSION,
};

/* Held while something is printed: nobody ends the process in between. */
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

#define PRINTING_SECONDS_MAX 1

static void *end_thread(void *ctx)
{
	struct pollfd fds[2] = {
		{ .fd = *(int *)ctx, .events = POLLIN },
		/* Nothing is asked for: only the closed end is reported. */
		{ .fd = STDOUT_FILENO, .events = 0 },
	};
	struct timespec until;

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	/* A reader that takes nothing holds up the lock for ever. */
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PRINTING_SECONDS_MAX;
	(void)pthread_mutex_timedlock(&printing, &until);
	_exit(0);
}

/* End the process on SIGINT, SIGTERM, SIGHUP and a closed pipe. */
static int watch_for_end(struct cli *c, int *fd)
{
	pthread_t thread;
	sigset_t set;
	int r;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	*fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (*fd < 0)
		return fail_errno(c->err, errno, "signalfd");
	r = pthread_create(&thread, NULL, end_thread, fd);
	if (r != 0)
		return fail_errno(c->err, r, "cannot start a thread");
	(void)pthread_detach(thread);
	return WEFT_OK;
}

/* The number of the last event of a page. */
static void note_last(struct weft_str event, uint64_t *after)
{
	struct weft_str to = raw_member(event, "to");
	struct weft_str last = to.len ? to : raw_member(event, "seq");

	(void)str_to_u64(last, UINT64_MAX, after);
}

/* Print the events after *after, up to what is there now. */
static int print_events(struct cli *c, uint64_t *after)
{
	uint64_t next;
	bool more;

	do {
		CLEANUP(req_done) struct req q = { 0 };
		CLEANUP(answer_done) struct answer a = { 0 };
		struct weft_str events, event;
		size_t pos = 0;
		int r;

		req_init(&q, c, "events");
		req_session(&q, 0);
		req_u64(&q, "after", *after);
		req_switch(&q, "redacted", OPT_REDACTED);
		r = req_call(&q, &a);
		if (r != WEFT_OK)
			return r;
		events = raw_member(a.text, "events");
		pthread_mutex_lock(&printing);
		while (json_next_element(events, &pos, &event)) {
			out_json(&c->out, event);
			note_last(event, after);
		}
		r = out_flush(&c->out, c->err);
		pthread_mutex_unlock(&printing);
		if (r != WEFT_OK)
			return r;
		more = str_to_u64(raw_member(a.text, "next"), UINT64_MAX,
				  &next);
	} while (more && !out_closed(&c->out));
	return WEFT_OK;
}

static int run(struct cli *c)
{
	uint64_t after = cli_number(c, OPT_AFTER, 0), head;
	bool follow = cli_has(c, OPT_FOLLOW);
	/* By its id: its names may move while we follow it. */
	int fd = -1, r = cli_resolve(c, &c->line.args[0]);

	if (r == WEFT_OK && follow)
		r = watch_for_end(c, &fd);
	if (r == WEFT_OK)
		r = print_events(c, &after);
	while (r == WEFT_OK && follow && !out_closed(&c->out)) {
		const char *id = c->line.args[0];

		r = weft_wait(c->store, id, strlen(id), after, -1, &head,
			      c->err);
		if (r == WEFT_OK)
			r = print_events(c, &after);
		/* What is redacted is not printed, but it is over. */
		if (r == WEFT_OK && head > after)
			after = head;
	}
	return r;
}

const struct command cmd_tail = {
	.name = "tail",
	.summary = "print the events of a session",
	.about = "Prints the events of a session as JSON, one a line: not only "
		 "messages, but all that ever happened to it. With -f it goes "
		 "on as they come, also from other processes.",
	.example = "weft tail work --after 100\nweft tail -f work",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_READ,
	.run = run,
};
