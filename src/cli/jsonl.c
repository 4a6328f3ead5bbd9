/*
 * jsonl.c - append messages from standard input, many in flight.
 *
 * DESIGN
 *
 * A ring of slots, one for each line that was read and not yet answered on
 * standard output, in order.  Lines are submitted as they come; completions
 * arrive in any order across sessions; the slots at the front of the ring that
 * are answered are printed and flushed at once.  The ring bounds the lines, and
 * a limit bounds their bytes; when either is full nothing more is read.  A
 * reader that does not take our output blocks us in write(), and so our input.
 */
#include "cli/jsonl.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/lines.h"

#define SLOTS         1024u
#define FLIGHT_BYTES  MIB(64)
#define READ_BYTES    KIB(64)
#define BUSY_PAUSE_MS 2
#define LINE_SPARE    MIB(1)

struct slot {
	struct weft_ticket ticket;
	uint64_t line;
	size_t bytes;
	bool answered;
};

struct pump {
	struct cli *cli;
	const struct jsonl *what;
	struct lines lines;
	struct weft_queue *queue;
	struct slot *slots; /* SLOTS of them */
	size_t first, n;    /* those in use */
	size_t waiting;     /* those of them that are not answered */
	size_t bytes;       /* of the lines in flight */
	struct line held;   /* read, but the queue was full */
	bool is_held;
	bool ended; /* standard input */
};

/* ---- output ---- */

void jsonl_print_receipt(struct cli *c, uint64_t seq, const char *id,
			 const char *session, bool replayed)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_init(&b, KIB(4));
	buf_add_lit(&b, "{\"seq\":");
	buf_add_u64(&b, seq);
	buf_printf(&b, ",\"id\":\"%s\"", id);
	if (session)
		buf_printf(&b, ",\"session\":\"%s\"", session);
	if (replayed)
		buf_add_lit(&b, ",\"replayed\":true");
	buf_add_c(&b, '}');
	out_json(&c->out, buf_str(&b));
}

void jsonl_print_error(struct cli *c, const struct weft_error *err,
		       uint64_t line)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_init(&b, KIB(16));
	buf_printf(&b, "{\"error\":{\"code\":\"%s\",\"message\":",
		   weft_code_name(err->code));
	buf_add_json(&b, str_of(err->message));
	buf_add_lit(&b, "},\"line\":");
	buf_add_u64(&b, line);
	buf_add_c(&b, '}');
	out_json(&c->out, buf_str(&b));
	if (c->exit_status == 0)
		c->exit_status = weft_code_exit_status(err->code);
}

static void print_slot(struct pump *p, const struct slot *s)
{
	const struct weft_ticket *t = &s->ticket;

	if (t->code != WEFT_OK)
		jsonl_print_error(p->cli, &t->error, s->line);
	else
		jsonl_print_receipt(p->cli, t->receipt.seq, t->receipt.id,
				    p->what->session ? NULL :
						       t->receipt.session,
				    t->receipt.replayed != 0);
}

/* Print what is answered, up to the first that is not. */
static int print_answered(struct pump *p)
{
	size_t before = p->n;

	while (p->n > 0 && p->slots[p->first].answered) {
		print_slot(p, &p->slots[p->first]);
		p->first = (p->first + 1) % SLOTS;
		p->n--;
	}
	return p->n < before ? out_flush(&p->cli->out, p->cli->err) : WEFT_OK;
}

/* ---- input ---- */

int jsonl_line_max(struct cli *c, size_t *ret)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *root;
	int r;

	req_init(&q, c, "limits");
	r = req_call(&q, &a);
	if (r != WEFT_OK)
		return r;
	root = answer_parse(c, &a);
	if (!root)
		return WEFT_NO_MEMORY;
	*ret = (size_t)val_u64(yyjson_obj_get(root, "limits"),
			       "message_bytes") +
	       LINE_SPARE;
	return WEFT_OK;
}

static int submit(struct pump *p, struct slot *s, struct weft_str line)
{
	struct weft_str session = str_of(p->what->session);
	struct weft_append_options options;

	weft_append_options_init(&options, sizeof(options));
	options.token = p->what->token;
	s->ticket.queue = p->queue;
	s->ticket.user = s;
	return weft_submit(p->cli->store, session.ptr, session.len, line.ptr,
			   line.len, &options, weft_queue_done, &s->ticket,
			   &s->ticket.error);
}

/* The library takes an array for several messages; a line is one. */
static bool is_array(struct weft_str line)
{
	while (line.len > 0 && (line.ptr[0] == ' ' || line.ptr[0] == '\t' ||
				line.ptr[0] == '\r'))
		line = str_skip(line, 1);
	return line.len > 0 && line.ptr[0] == '[';
}

/* Take a line into the ring; false if it must be tried again later. */
static bool take_line(struct pump *p, const struct line *line)
{
	struct slot *s = &p->slots[(p->first + p->n) % SLOTS];
	int r;

	*s = (struct slot){ .line = line->number, .bytes = line->text.len };
	if (line->too_long)
		r = fail(&s->ticket.error, WEFT_LIMIT,
			 "a line of %llu bytes is longer than any message",
			 (unsigned long long)line->too_long);
	else if (is_array(line->text))
		r = fail(&s->ticket.error, WEFT_INVALID,
			 "a message is an object, not array");
	else
		r = submit(p, s, line->text);
	if (r == WEFT_BUSY)
		return false;
	p->n++;
	if (r == WEFT_OK) {
		p->waiting++;
		p->bytes += s->bytes;
	} else {
		s->ticket.code = r;
		s->answered = true;
	}
	return true;
}

static bool has_room(const struct pump *p)
{
	return p->n < SLOTS && (p->bytes < FLIGHT_BYTES || p->waiting == 0);
}

/* False if it stopped for lack of room. */
static bool take_lines(struct pump *p)
{
	while (has_room(p)) {
		if (!p->is_held && !lines_next(&p->lines, &p->held))
			return true;
		p->is_held = !take_line(p, &p->held);
		if (p->is_held)
			return true;
	}
	return false;
}

static void take_completions(struct pump *p)
{
	struct weft_ticket *t;

	while ((t = weft_queue_next(p->queue))) {
		struct slot *s = t->user;

		s->answered = true;
		p->waiting--;
		p->bytes -= s->bytes;
	}
}

static int read_some(struct pump *p)
{
	char *to = lines_room(&p->lines, READ_BYTES);
	ssize_t n;

	if (!to)
		return fail_no_memory(p->cli->err);
	n = read(STDIN_FILENO, to, READ_BYTES);
	if (n > 0) {
		lines_came(&p->lines, (size_t)n);
	} else if (n == 0) {
		lines_end(&p->lines);
		p->ended = true;
	} else if (errno != EINTR && errno != EAGAIN) {
		return fail_errno(p->cli->err, errno, "standard input");
	}
	return WEFT_OK;
}

/* Sleep until there is something to do. */
static int wait_for_work(struct pump *p)
{
	bool reading = !p->ended && !p->is_held && has_room(p);
	struct pollfd fds[2] = {
		{ .fd = weft_queue_fd(p->queue), .events = POLLIN },
		{ .fd = reading ? STDIN_FILENO : -1, .events = POLLIN },
	};
	/* A full queue that none of ours is in: others will empty it. */
	int timeout = p->is_held && p->waiting == 0 ? BUSY_PAUSE_MS : -1;

	if (poll(fds, 2, timeout) < 0 && errno != EINTR)
		return fail_errno(p->cli->err, errno, "poll");
	return fds[1].revents ? read_some(p) : WEFT_OK;
}

static int pump_run(struct pump *p)
{
	for (;;) {
		bool all;
		int r;

		take_completions(p);
		all = take_lines(p);
		r = print_answered(p);
		if (r != WEFT_OK)
			return r;
		if (all && p->ended && !p->is_held && p->n == 0)
			return WEFT_OK;
		/* What was printed has made room for lines that are here. */
		if (!all && has_room(p))
			continue;
		r = wait_for_work(p);
		if (r != WEFT_OK)
			return r;
	}
}

/* The tickets are ours: wait until the library has let go of all of them. */
static void pump_drain(struct pump *p)
{
	while (p->waiting > 0) {
		struct pollfd fd = { .fd = weft_queue_fd(p->queue),
				     .events = POLLIN };

		(void)poll(&fd, 1, -1);
		take_completions(p);
	}
}

static void pump_done(struct pump *p)
{
	weft_queue_free(p->queue);
	lines_done(&p->lines);
	mem_free(p->slots);
}

int jsonl_each(struct cli *c, const struct jsonl *j)
{
	CLEANUP(pump_done) struct pump p = { .cli = c, .what = j };
	size_t line_max;
	int r = jsonl_line_max(c, &line_max);

	if (r != WEFT_OK)
		return r;
	lines_init(&p.lines, line_max);
	p.slots = mem_zero(SLOTS, sizeof(*p.slots));
	if (!p.slots)
		return fail_no_memory(c->err);
	r = weft_queue_new(&p.queue, c->err);
	if (r != WEFT_OK)
		return r;
	c->out.must_arrive = true;
	r = pump_run(&p);
	pump_drain(&p);
	return r;
}
