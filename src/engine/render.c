/*
 * render.c - a session as a model's provider wants it.
 *
 * Reads what is needed and hands it to model/render.h.  With a budget, or when
 * only the last messages are wanted, it reads backwards and stops as soon as
 * nothing older can matter but what the system said at the very beginning: a
 * model without its instructions is another one.
 */
#include "base/error.h"
#include "engine/internal.h"

/* Of what is read and of what is made of it; the text itself is the caller's
 * to limit. */
#define RENDER_BYTES_MAX MIB(1024)

/* At the beginning so many messages are looked at, a few at a time. */
#define HEAD_MESSAGES 64
#define HEAD_PAGE     4

/* One session being read. */
struct reading {
	struct engine *engine;
	struct event_range range;
	struct arena arena;
	struct render render;
	uint64_t left;   /* messages still wanted */
	uint64_t oldest; /* what was looked at reaches down to here */
	bool redacted;
	bool at_head; /* all that is left is wanted */
	bool done;
};

static void reading_done(struct reading *d)
{
	render_done(&d->render);
	arena_done(&d->arena);
}

static bool is_gap(const struct store_event *e)
{
	return e->state == STATE_DAMAGED || e->state == STATE_GONE;
}

static int add_page(struct reading *d, const struct seen_page *page,
		    struct weft_error *err)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < page->n && !d->done && r == WEFT_OK; i++) {
		const struct store_event *e = &page->v[i];

		d->oldest = e->seq;
		if (is_gap(e))
			continue;
		r = render_add(&d->render, e->seq, e->body, err);
		d->done = !d->at_head &&
			  (--d->left == 0 || render_enough(&d->render));
	}
	return r;
}

static int read_all(struct reading *d, struct weft_error *err)
{
	int r = WEFT_OK;

	while (!d->done && r == WEFT_OK) {
		struct seen_page page = { 0 };

		if (d->left < engine_limits(d->engine)->page)
			d->range.max_events = (uint32_t)d->left;
		r = read_whole(d->engine, &d->range, d->redacted, &d->arena,
			       &page, err);
		if (r == WEFT_OK)
			r = add_page(d, &page, err);
		if (r < 0 || page.n == 0 || page.done)
			break;
		if (d->range.backwards)
			d->range.last = page.v[page.n - 1].seq - 1;
		else
			d->range.first = page.v[page.n - 1].last + 1;
	}
	return r;
}

/* ---- the beginning, if only the end is wanted ---- */

/* Find the last of the system messages that the range begins with; 0: it begins
 * with none. */
static int find_head(struct reading *d, struct event_range range, uint64_t *ret,
		     struct weft_error *err)
{
	struct seen_page page = { 0 };

	*ret = 0;
	range.max_events = HEAD_PAGE;
	for (size_t n = 0; n < HEAD_MESSAGES && !page.done; n += page.n) {
		int r = read_seen(d->engine, &range, d->redacted, &d->arena,
				  &page, err);

		if (r < 0 || page.n == 0)
			return r;
		for (size_t i = 0; i < page.n; i++) {
			const struct store_event *e = &page.v[i];
			struct message_facts facts = { 0 };

			if (is_gap(e))
				continue;
			r = message_facts_read(e->body, &d->arena, &facts, err);
			if (r == WEFT_NO_MEMORY)
				return r;
			if (facts.role != ROLE_SYSTEM)
				return WEFT_OK;
			*ret = e->seq;
		}
		range.first = page.v[page.n - 1].last + 1;
	}
	return WEFT_OK;
}

/* Add them, the newest first as all others. */
static int read_head(struct reading *d, uint64_t first, struct weft_error *err)
{
	uint64_t last;
	int r;

	d->range.backwards = 0;
	d->range.first = first;
	d->range.last = d->oldest - 1;
	if (d->range.first > d->range.last)
		return WEFT_OK;
	r = find_head(d, d->range, &last, err);
	if (r < 0 || last == 0)
		return r;
	d->range.backwards = 1;
	d->range.last = last;
	d->range.max_events = 0;
	d->left = UINT64_MAX;
	d->done = false;
	d->at_head = true;
	return read_all(d, err);
}

/* Read all that a query needs; `d` is done with also if this fails. */
static int reading_run(struct reading *d, struct engine *e,
		       const struct render_query *q, struct weft_error *err)
{
	struct render_options o = q->options;
	int r;

	*d = (struct reading){
		.engine = e,
		.left = q->messages_max,
		.oldest = q->last,
		.redacted = q->redacted,
		.done = q->messages_max == 0,
		.range = {
			.session = q->session,
			.first = q->first,
			.last = q->last,
			.types = UINT64_C(1) << EVENT_MESSAGE,
		},
	};
	o.newest_first = o.tokens > 0 || q->messages_max < UINT64_MAX;
	d->range.backwards = o.newest_first;
	arena_init(&d->arena, RENDER_BYTES_MAX);
	render_init(&d->render, &o, &d->arena);
	r = read_all(d, err);
	return r == WEFT_OK && d->done ? read_head(d, q->first, err) : r;
}

int engine_render(struct engine *e, const struct render_query *q,
		  struct buf *out, struct weft_error *err)
{
	CLEANUP(reading_done) struct reading d = { 0 };
	int r = reading_run(&d, e, q, err);

	if (r == WEFT_OK)
		r = render_write(&d.render, q->summary, out, err);
	return r;
}

int engine_first_kept(struct engine *e, const struct render_query *q,
		      uint64_t *ret, struct weft_error *err)
{
	CLEANUP(reading_done) struct reading d = { 0 };
	int r = reading_run(&d, e, q, err);

	if (r == WEFT_OK)
		r = render_first_kept(&d.render, q->summary, ret, err);
	return r;
}
