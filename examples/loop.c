/*
 * loop.c - many appends in flight, answered in an event loop.
 *
 *     cc -o loop loop.c $(pkg-config --cflags --libs weft)
 *     ./loop jsonl:/tmp/weft-example 1000
 *
 * weft_submit does not wait for the disk: what is in flight shares one flush.
 * Finished appends come back as tickets from a queue whose descriptor is
 * polled like any other.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/weft.h>

#define IN_FLIGHT 64

struct loop {
	struct weft_store *store;
	struct weft_queue *queue;
	struct weft_ticket tickets[IN_FLIGHT];
	unsigned long sent, answered, wanted;
	int failed; /* the first code that was not WEFT_OK */
	struct weft_error err;
};

static void note_failure(struct loop *l, int code, const struct weft_error *err)
{
	if (l->failed == WEFT_OK) {
		l->failed = code;
		l->err = *err;
	}
}

/* Send one more message with this ticket, which must be free. */
static void send_one(struct loop *l, struct weft_ticket *t)
{
	struct weft_error err;
	char message[128];
	int r;

	if (l->failed != WEFT_OK || l->sent == l->wanted)
		return;
	/* The message is copied before weft_submit returns. */
	snprintf(message, sizeof(message),
		 "{\"role\":\"user\",\"content\":\"message %lu\"}", l->sent);
	t->queue = l->queue;
	r = weft_submit(l->store, "loop", 4, message, strlen(message), NULL,
			weft_queue_done, t, &err);
	if (r < 0)
		note_failure(l, r, &err);
	else
		l->sent++;
}

static void take_answers(struct loop *l)
{
	struct weft_ticket *t;

	while ((t = weft_queue_next(l->queue)) != NULL) {
		l->answered++;
		if (t->code != WEFT_OK)
			note_failure(l, t->code, &t->error);
		send_one(l, t);
	}
}

static int run(struct loop *l)
{
	struct pollfd fds[1]; /* and your sockets */
	int i;

	for (i = 0; i < IN_FLIGHT; i++)
		send_one(l, &l->tickets[i]);
	fds[0].fd = weft_queue_fd(l->queue);
	fds[0].events = POLLIN;
	/* Every ticket that was sent comes back, also after a failure. */
	while (l->answered < l->sent) {
		if (poll(fds, 1, -1) < 0 && errno != EINTR) {
			perror("poll");
			return 1;
		}
		take_answers(l);
	}
	printf("%lu messages are durable\n", l->answered);
	return 0;
}

static int open_loop(struct loop *l, const char *url)
{
	const char *request = "{\"method\":\"new\",\"key\":\"loop\"}";
	struct weft_answer *answer;
	int r = weft_open(url, NULL, &l->store, &l->err);

	if (r == WEFT_OK)
		r = weft_queue_new(&l->queue, &l->err);
	if (r < 0)
		return r;
	r = weft_call(l->store, request, strlen(request), &answer, &l->err);
	if (r == WEFT_OK)
		weft_answer_free(answer);
	return r;
}

int main(int argc, char **argv)
{
	static struct loop l;
	int status = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: loop URL COUNT\n");
		return 2;
	}
	l.wanted = strtoul(argv[2], NULL, 10);
	l.failed = open_loop(&l, argv[1]);
	if (l.failed == WEFT_OK)
		status = run(&l);
	if (l.failed != WEFT_OK) {
		fprintf(stderr, "loop: %s\n", l.err.message);
		status = weft_code_exit_status(l.failed);
	}
	/* The store first: it answers what is still in flight. */
	weft_close(l.store, NULL);
	weft_queue_free(l.queue);
	return status;
}
