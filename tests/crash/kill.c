/*
 * kill.c - real processes, really killed.
 *
 * Four clients write to the same directory, each in a process of its own.
 * Client c sends messages 1, 2, 3, ... to one of a few sessions each, with an
 * operation id and up to sixteen in flight, and tells the parent through a
 * pipe what was acknowledged.  The parent kills processes at random moments;
 * whoever takes a killed client's place sends everything again that was not
 * acknowledged, with the same operation ids.  In the end each session must
 * have every message of every client once, in order, without a gap.
 *
 * usage: kill [SCHEME]
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "crash/place.h"

#define CLIENTS   4
#define SESSIONS  3
#define IN_FLIGHT 16
#define TEXT_MAX  20000
/* Small segments: a checkpoint every few dozen messages. */
#define OPTIONS "segment_bytes=65536&segment_bytes_max=131072"

/* What a child tells its parent; shorter than PIPE_BUF. */
struct ack {
	uint32_t client, n;
	uint64_t seq;
	int32_t code;
	char message[504];
};

struct client {
	const struct place *place;
	uint32_t no;
	uint32_t acked; /* all up to this one */
	int to_parent, from_child;
	pid_t pid;      /* 0: not running */
	uint64_t *seqs; /* of the acknowledged messages, by number */
	size_t room;
};

struct ticket {
	struct client *client;
	uint32_t n;
};

static atomic_uint in_flight;

/* Message n of a client is always the same, whoever sends it. */
static void text_of(uint32_t client, uint32_t n, char out[TEXT_MAX + 1])
{
	uint32_t mixed = (n * 2654435761u) ^ (client * 40503u);
	size_t pad = n % 31 == 0 ? 16000 : mixed % 1500;
	int len = snprintf(out, 64, "c%u-%u|", client, n);

	memset(out + len, 'a' + (int)(mixed % 26), pad);
	out[(size_t)len + pad] = '\0';
}

static void session_of(uint32_t client, uint32_t n, char out[16])
{
	(void)snprintf(out, 16, "s%u", (client + n) % SESSIONS);
}

static void tell_parent(const struct client *c, uint32_t n, uint64_t seq,
			int code, const struct weft_error *err)
{
	struct ack a = { .client = c->no, .n = n, .seq = seq, .code = code };

	if (err && code < 0)
		memcpy(a.message, err->message, sizeof(a.message));
	must(write(c->to_parent, &a, sizeof(a)) == (ssize_t)sizeof(a));
}

static void on_done(void *ctx, int code, const struct weft_receipt *receipt,
		    const struct weft_error *err)
{
	struct ticket *t = ctx;

	tell_parent(t->client, t->n, code < 0 ? 0 : receipt->seq, code, err);
	free(t);
	(void)atomic_fetch_sub(&in_flight, 1);
}

static void send_message(struct weft_store *s, struct client *c, uint32_t n)
{
	static char text[TEXT_MAX + 1], json[TEXT_MAX + 128];
	struct ticket *t = malloc(sizeof(*t));
	struct weft_append_options o;
	struct weft_error err;
	char session[16], op[32];
	int len, r;

	must(t != NULL);
	*t = (struct ticket){ c, n };
	text_of(c->no, n, text);
	session_of(c->no, n, session);
	len = snprintf(json, sizeof(json),
		       "{\"role\":\"user\",\"parts\":[{\"type\":\"text\","
		       "\"text\":\"%s\"}]}",
		       text);
	(void)snprintf(op, sizeof(op), "c%u-%u", c->no, n);
	weft_append_options_init(&o, sizeof(o));
	o.op = op;
	o.op_len = strlen(op);
	while (atomic_load(&in_flight) >= IN_FLIGHT)
		sleep_ms(1);
	(void)atomic_fetch_add(&in_flight, 1);
	r = weft_submit(s, session, strlen(session), json, (size_t)len, &o,
			on_done, t, &err);
	if (r < 0)
		(void)fprintf(stderr, "# submit: %s\n", err.message);
	must(r == WEFT_OK);
}

/* The life of a client's process: until it is killed. */
static void client_main(void *ctx)
{
	struct client *c = ctx;
	struct weft_store *s = open_place(c->place, OPTIONS, 0);

	for (uint32_t n = c->acked + 1;; n++)
		send_message(s, c, n);
}

static void start_client(struct client *c)
{
	int ends[2];

	must(pipe(ends) == 0);
	must(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	c->from_child = ends[0];
	c->to_parent = ends[1];
	c->pid = start_child(client_main, c);
	(void)close(ends[1]);
}

static void note_ack(struct client *c, const struct ack *a)
{
	if (a->code < 0)
		(void)fprintf(stderr, "# client %u, message %u: %s\n", c->no,
			      a->n, a->message);
	must(a->code == WEFT_OK);
	must(a->client == c->no);
	if (a->n >= c->room) {
		c->room = (size_t)a->n * 2 + 64;
		c->seqs = realloc(c->seqs, c->room * sizeof(*c->seqs));
		must(c->seqs != NULL);
	}
	/* In the order in which they were sent. */
	must(a->n == c->acked + 1);
	c->seqs[a->n] = a->seq;
	c->acked = a->n;
}

/* Take in what has been acknowledged so far. */
static void drain(struct client *c)
{
	struct ack a;
	ssize_t n;

	while ((n = read(c->from_child, &a, sizeof(a))) == (ssize_t)sizeof(a))
		note_ack(c, &a);
	must(n == 0 || (n < 0 && errno == EAGAIN));
}

/* Acknowledged is what was written into the pipe, also just before. */
static void kill_client(struct client *c)
{
	kill_child(c->pid);
	c->pid = 0;
	drain(c);
	(void)close(c->from_child);
}

/* ---- what must be there afterwards ---- */

struct check {
	struct client *clients;
	uint32_t last[CLIENTS]; /* number of the last message seen */
	uint64_t next_seq;
	uint32_t session;
};

static void check_event(struct check *k, const struct weft_event *e)
{
	static char text[TEXT_MAX + 1];
	const char *at;
	unsigned client = CLIENTS, n = 0;

	must(e->seq == k->next_seq && e->last == e->seq);
	must(strcmp(e->state, "ok") == 0);
	k->next_seq++;
	if (strcmp(e->type, "message") != 0)
		return;
	at = memmem(e->body, e->body_len, "\"text\":\"c", 9);
	must(at && sscanf(at + 8, "c%u-%u|", &client, &n) == 2);
	must(client < CLIENTS);
	/* Each once, in order: those of this session are SESSIONS apart. */
	must((client + n) % SESSIONS == k->session);
	if (k->last[client] && n != k->last[client] + SESSIONS)
		(void)fprintf(stderr, "# s%u: client %u: %u after %u\n",
			      k->session, client, n, k->last[client]);
	must(n == (k->last[client] ? k->last[client] + SESSIONS :
				     (k->session + SESSIONS * CLIENTS - client -
				      1) % SESSIONS +
					     1));
	k->last[client] = n;
	text_of(client, n, text);
	must(memmem(e->body, e->body_len, text, strlen(text)) != NULL);
	if (n <= k->clients[client].acked)
		must(k->clients[client].seqs[n] == e->seq);
}

static void check_session(struct weft_store *s, struct check *k)
{
	struct weft_read_options o;
	struct weft_error err = { 0 };
	char name[16];
	bool done = false;

	(void)snprintf(name, sizeof(name), "s%u", k->session);
	weft_read_options_init(&o, sizeof(o));
	while (!done) {
		struct weft_page *page = NULL;
		struct weft_event e;
		int r = weft_read(s, name, strlen(name), &o, &page, &err);

		if (r < 0)
			(void)fprintf(stderr, "# read: %s\n", err.message);
		must(r == WEFT_OK);
		for (size_t i = 0; weft_page_event(page, i, &e); i++)
			check_event(k, &e);
		o.first = k->next_seq;
		done = weft_page_done(page);
		weft_page_free(page);
	}
	/* Everything acknowledged was among it. */
	for (uint32_t c = 0; c < CLIENTS; c++) {
		uint32_t acked = k->clients[c].acked;

		while (acked && (c + acked) % SESSIONS != k->session)
			acked--;
		must(k->last[c] >= acked);
	}
}

static void check_all(const struct place *p, struct client *clients)
{
	struct weft_store *s = open_place(p, OPTIONS, 0);

	for (uint32_t i = 0; i < SESSIONS; i++) {
		struct check k = { clients, .next_seq = 1, .session = i };

		check_session(s, &k);
	}
	must(is_clean(s, true));
	close_place(s);
}

static void make_sessions(const struct place *p)
{
	struct weft_store *s = open_place(p, OPTIONS, 0);

	for (int i = 0; i < SESSIONS; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "s%d", i);
		begin_session(s, name);
	}
	close_place(s);
}

/* ---- the tests ---- */

static unsigned kills;

/* One killed after the other, sometimes several at once or all of them. */
static void kill_some(struct client *clients, unsigned moments)
{
	for (unsigned m = 0; m < moments; m++) {
		uint32_t together = random_below(8);

		sleep_ms(random_below(50));
		for (uint32_t i = 0; i < CLIENTS; i++) {
			struct client *c = &clients[i];

			if (!c->pid) {
				start_client(c);
				continue;
			}
			drain(c);
			/* All, about half of them, or one. */
			if (together == 0 ||
			    (together == 1 && random_below(2)) ||
			    random_below(CLIENTS) == 0) {
				kill_client(c);
				kills++;
			}
		}
	}
	for (uint32_t i = 0; i < CLIENTS; i++) {
		if (clients[i].pid) {
			kill_client(&clients[i]);
			kills++;
		}
	}
}

static void what_was_acknowledged_survives_every_kill(void **state)
{
	const struct place *p = *state;
	struct client clients[CLIENTS] = { 0 };
	uint64_t messages = 0;

	make_sessions(p);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i].place = p;
		clients[i].no = i;
	}
	kills = 0;
	while (kills < scaled(300)) {
		for (uint32_t i = 0; i < CLIENTS; i++)
			start_client(&clients[i]);
		kill_some(clients, 30);
		check_all(p, clients);
	}
	for (uint32_t i = 0; i < CLIENTS; i++) {
		messages += clients[i].acked;
		free(clients[i].seqs);
	}
	(void)printf("# %u kills, %llu messages\n", kills,
		     (unsigned long long)messages);
	assert_true(messages > kills);
}

/* ---- killed between commit and reply ---- */

struct withheld {
	const struct place *place;
	int fd;
	uint32_t n;
};

static void withhold(void *ctx, int code, const struct weft_receipt *receipt,
		     const struct weft_error *err)
{
	struct withheld *w = ctx;

	(void)err;
	must(code == WEFT_OK && !receipt->replayed);
	must(write(w->fd, &receipt->seq, sizeof(receipt->seq)) == 8);
	for (;;)
		(void)pause(); /* the answer never gets out */
}

static void write_and_withhold(void *ctx)
{
	struct withheld *w = ctx;
	struct weft_store *s = open_place(w->place, OPTIONS, 0);
	struct weft_append_options o;
	struct weft_error err;
	char json[128], op[32];
	int len = snprintf(json, sizeof(json),
			   "{\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			   "\"text\":\"withheld %u\"}]}",
			   w->n);

	(void)snprintf(op, sizeof(op), "op-%u", w->n);
	weft_append_options_init(&o, sizeof(o));
	o.op = op;
	o.op_len = strlen(op);
	must(weft_submit(s, "w", 1, json, (size_t)len, &o, withhold, w, &err) ==
	     WEFT_OK);
	for (;;)
		(void)pause();
}

static void send_again(void *ctx)
{
	struct withheld *w = ctx;
	struct weft_store *s = open_place(w->place, OPTIONS, 0);
	struct weft_receipt receipt = { 0 };
	struct weft_error err = { 0 };
	char text[32], op[32];
	uint64_t seq;

	(void)snprintf(text, sizeof(text), "withheld %u", w->n);
	(void)snprintf(op, sizeof(op), "op-%u", w->n);
	must(read(w->fd, &seq, sizeof(seq)) == 8);
	must(try_say(s, "w", text, op, &receipt, &err) == WEFT_OK);
	must(receipt.replayed == 1);
	must(receipt.seq == seq);
	must(count_said(s, "w", text) == 1);
	close_place(s);
}

/* `other`: somebody else has the store open meanwhile, so that nobody
 * recovers it. */
static void kill_before_the_reply(const struct place *p, uint32_t n, bool other)
{
	struct weft_store *s = NULL;
	struct pollfd poll_for;
	struct withheld w;
	int ends[2], again[2];
	uint64_t seq;
	pid_t pid;

	must(pipe(ends) == 0 && pipe(again) == 0);
	w = (struct withheld){ p, ends[1], n };
	pid = start_child(write_and_withhold, &w);
	poll_for = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	must(poll(&poll_for, 1, 60000) == 1);
	must(read(ends[0], &seq, sizeof(seq)) == 8);
	if (other)
		s = open_place(p, OPTIONS, 0);
	kill_child(pid);
	must(write(again[1], &seq, sizeof(seq)) == 8);
	w.fd = again[0];
	join_child(start_child(send_again, &w));
	if (s)
		close_place(s);
	for (int i = 0; i < 2; i++) {
		(void)close(ends[i]);
		(void)close(again[i]);
	}
}

static void one_event_whoever_asks_again(void **state)
{
	const struct place *p = *state;
	struct weft_store *s = open_place(p, OPTIONS, 0);

	begin_session(s, "w");
	close_place(s);
	for (uint32_t n = 1; n <= scaled(30); n++)
		kill_before_the_reply(p, n, n % 2);
	s = open_place(p, OPTIONS, 0);
	must(is_clean(s, true));
	close_place(s);
}

/* ---- killed while sessions are made ---- */

static void make_keys(void *ctx)
{
	struct withheld *w = ctx;
	struct weft_store *s = open_place(w->place, OPTIONS, 0);

	for (uint32_t n = w->n;; n++) {
		char key[32];

		(void)snprintf(key, sizeof(key), "key-%u", n);
		begin_session(s, key);
		must(write(w->fd, &n, sizeof(n)) == sizeof(n));
	}
}

/* As files where there are files. */
static size_t count_sessions(const struct place *p, struct weft_store *s)
{
	char sessions[512], first[256];
	uint32_t n;
	char *answer;

	if (strcmp(place_scheme, "jsonl") == 0) {
		join_path(sessions, p->store, "sessions");
		return count_files(sessions, first);
	}
	answer = ask(s, "{'method':'stats'}");
	must(sscanf(strstr(answer, "\"sessions\":"), "\"sessions\":%u", &n) ==
	     1);
	free(answer);
	return n;
}

/* Each key once, in the list and on the disk. */
static void check_keys(const struct place *p, uint32_t acked)
{
	struct weft_store *s = open_place(p, OPTIONS, 0);

	for (uint32_t n = 1; n <= acked; n++) {
		char *answer =
			ask(s, "{'method':'show','session':'key-%u'}", n);

		free(answer);
	}
	must(is_clean(s, true));
	/* At most one more was made than told. */
	must(count_sessions(p, s) - acked <= 2);
	close_place(s);
}

static void a_key_belongs_to_one_session(void **state)
{
	struct place *p = *state;
	uint32_t acked = 0;

	place_clear(p);
	for (unsigned round = 0; round < scaled(30); round++) {
		struct withheld w = { .place = p, .n = acked + 1 };
		int64_t until = now_us() + random_below(60) * 1000;
		int one[2];
		uint32_t n;
		pid_t pids[2];

		must(pipe(one) == 0);
		must(fcntl(one[0], F_SETFL, O_NONBLOCK) == 0);
		w.fd = one[1];
		/* Two at once make the same keys. */
		pids[0] = start_child(make_keys, &w);
		pids[1] = start_child(make_keys, &w);
		while (now_us() < until)
			sleep_ms(1);
		kill_child(pids[0]);
		sleep_ms(random_below(10));
		kill_child(pids[1]);
		while (read(one[0], &n, sizeof(n)) == sizeof(n))
			acked = n > acked ? n : acked;
		(void)close(one[0]);
		(void)close(one[1]);
		check_keys(p, acked);
	}
	(void)printf("# %u keys\n", acked);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_acknowledged_survives_every_kill),
		cmocka_unit_test(one_event_whoever_asks_again),
		cmocka_unit_test(a_key_belongs_to_one_session),
	};

	if (argc > 1)
		place_scheme = argv[1];
	random_seed();
	return cmocka_run_group_tests(tests, place_setup, place_teardown);
}
