/*
 * read.c - events as a session sees them.
 *
 * DESIGN
 *
 * A fork has no copy of its past: events up to its fork point are its
 * parent's, and numbering goes on behind them.  So a range splits at fork
 * points and nowhere else.  The way from a session up through its parents is
 * walked only as far as the range reaches; reading backwards, only as far as
 * the page reaches.
 *
 * A message is hidden from a session if any session on the way from it to the
 * message's owner has hidden it.
 *
 * A page that comes from one session, of which nothing is hidden, is what the
 * store returned: nothing is copied.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"

/* A session on the way, and the part of the range that is its own. */
struct step {
	struct step *newer; /* towards the reader, NULL: it is the reader's */
	struct weft_id session;
	uint64_t first, last; /* nothing if first > last */
	uint64_t fork_seq;    /* up to here its past is its parents' */
	/* What it has hidden of that; read when it is first asked for. */
	bool knows_inherited;
	uint64_t *inherited;
	size_t n_inherited;
};

/* The way up, one session after the other. */
struct walk {
	struct engine *engine;
	struct arena *arena;
	struct step *step;   /* the last one made */
	struct weft_id next; /* the session after it; zero: none is needed */
	uint64_t first;      /* of the whole range */
	uint64_t last;       /* of what is left of it */
	uint64_t depth;
};

/* A page under construction. */
struct draft {
	struct engine *engine;
	struct arena *arena;
	const struct event_range *range;
	bool keep_hidden;
	size_t max_events, max_bytes;

	struct store_event *v;
	unsigned char *redacted; /* NULL as long as there is none */
	size_t n, room;
	size_t bytes; /* of all before the last stretch that was read */
	bool full;
};

/* ---- the way ---- */

/* Whoever asks did not ask for the parent. */
static int fail_orphan(const struct weft_id *fork, const struct weft_id *parent,
		       struct weft_error *err)
{
	char child[WEFT_ID_CHARS + 1], from[WEFT_ID_CHARS + 1];

	id_format(fork, child);
	id_format(parent, from);
	return fail(err, WEFT_CORRUPT,
		    "session %s, from which %s was forked, is missing: restore "
		    "it, then run 'weft reindex'",
		    from, child);
}

/* Make the next step; false at the end of the way. */
static int walk_on(struct walk *w, bool *ret, struct weft_error *err)
{
	struct session_rec rec;
	struct step *step;
	int r;

	*ret = false;
	if (id_is_zero(&w->next))
		return WEFT_OK;
	if (w->depth++ > engine_limits(w->engine)->fork_depth)
		return fail(err, WEFT_LIMIT,
			    "more than %llu forks deep (limit fork_depth)",
			    (unsigned long long)engine_limits(w->engine)
				    ->fork_depth);
	r = w->step ? engine_record(w->engine, &w->next, w->arena, &rec, err) :
		      engine_session(w->engine, &w->next, w->arena, &rec, err);
	if (r == WEFT_NOT_FOUND && w->step)
		return fail_orphan(&w->step->session, &w->next, err);
	if (r < 0)
		return r;
	step = ARENA_NEW(w->arena, struct step);
	if (!step)
		return arena_error(w->arena, err);
	*step = (struct step){
		.newer = w->step,
		.session = rec.id,
		.first = u64_max(w->first, rec.fork_seq + 1),
		.last = w->last,
		.fork_seq = rec.fork_seq,
	};
	w->step = step;
	w->last = u64_min(w->last, rec.fork_seq);
	if (rec.fork_seq > 0 && w->first <= w->last)
		w->next = rec.parent;
	else
		w->next = (struct weft_id){ { 0 } };
	*ret = true;
	return WEFT_OK;
}

/* ---- hidden messages ---- */

/* The index of the event with this number, or n. */
static size_t find_seq(const struct event_page *page, bool backwards,
		       uint64_t seq)
{
	size_t low = 0, high = page->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t at = page->v[middle].seq;

		if (at == seq)
			return middle;
		if ((at < seq) == !backwards)
			low = middle + 1;
		else
			high = middle;
	}
	return page->n;
}

/* Mark those of the page that are among `hidden`. */
static int mark(struct draft *d, const struct event_page *page,
		const uint64_t *hidden, size_t n, unsigned char **marks,
		struct weft_error *err)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = find_seq(page, d->range->backwards, hidden[i]);

		if (at == page->n)
			continue;
		if (!*marks)
			*marks = ARENA_ARRAY(d->arena, unsigned char, page->n);
		if (!*marks)
			return arena_error(d->arena, err);
		(*marks)[at] = 1;
	}
	return WEFT_OK;
}

/* Forks seldom hide what they inherited: once asked, all of it is known, and
 * a page that comes from many sessions does not ask each for each. */
static int know_inherited(struct draft *d, struct step *step,
			  struct weft_error *err)
{
	struct store *store = d->engine->store;
	int r;

	if (step->knows_inherited)
		return WEFT_OK;
	r = store->ops->get_hidden(store, &step->session,
				   u64_max(d->range->first, 1), step->fork_seq,
				   d->arena, &step->inherited,
				   &step->n_inherited, err);
	step->knows_inherited = r == WEFT_OK;
	return r;
}

/* Mark what the sessions from `step` to the reader have hidden.  *ret is NULL
 * if that is nothing. */
static int mark_hidden(struct draft *d, struct step *step,
		       const struct event_page *page, unsigned char **ret,
		       struct weft_error *err)
{
	struct store *store = d->engine->store;
	bool backwards = d->range->backwards;
	uint64_t low = page->v[backwards ? page->n - 1 : 0].seq;
	uint64_t high = page->v[backwards ? 0 : page->n - 1].seq;
	uint64_t *hidden = NULL;
	size_t n = 0;
	int r = store->ops->get_hidden(store, &step->session, low, high,
				       d->arena, &hidden, &n, err);

	*ret = NULL;
	if (r == WEFT_OK)
		r = mark(d, page, hidden, n, ret, err);
	for (step = step->newer; step && r == WEFT_OK; step = step->newer) {
		r = know_inherited(d, step, err);
		if (r == WEFT_OK)
			r = mark(d, page, step->inherited, step->n_inherited,
				 ret, err);
	}
	return r;
}

static void drop_hidden(struct event_page *page, const unsigned char *hidden)
{
	size_t kept = 0;

	for (size_t i = 0; i < page->n; i++) {
		if (!hidden[i])
			page->v[kept++] = page->v[i];
	}
	page->n = kept;
}

/* ---- putting a page together ---- */

static int make_room(struct draft *d, size_t more, struct weft_error *err)
{
	size_t room = (d->n + more) * 2;
	struct store_event *v;

	if (d->n + more <= d->room)
		return WEFT_OK;
	v = arena_alloc(d->arena, room * sizeof(*v));
	if (!v)
		return arena_error(d->arena, err);
	memcpy(v, d->v, d->n * sizeof(*v));
	if (d->redacted) {
		unsigned char *flags =
			ARENA_ARRAY(d->arena, unsigned char, room);

		if (!flags)
			return arena_error(d->arena, err);
		memcpy(flags, d->redacted, d->n);
		d->redacted = flags;
	}
	d->v = v;
	d->room = room;
	return WEFT_OK;
}

/* Put a page of the store behind what is there. */
static int add_page(struct draft *d, const struct event_page *page,
		    unsigned char *hidden, struct weft_error *err)
{
	int r;

	if (d->n == 0) {
		d->v = page->v;
		d->n = page->n;
		d->room = page->n;
		d->redacted = hidden;
		return WEFT_OK;
	}
	r = make_room(d, page->n, err);
	if (r < 0)
		return r;
	memcpy(d->v + d->n, page->v, page->n * sizeof(*d->v));
	if (hidden && !d->redacted) {
		d->redacted = ARENA_ARRAY(d->arena, unsigned char, d->room);
		if (!d->redacted)
			return arena_error(d->arena, err);
	}
	if (hidden)
		memcpy(d->redacted + d->n, hidden, page->n);
	d->n += page->n;
	return WEFT_OK;
}

static void count_bytes(struct draft *d, const struct event_page *page)
{
	for (size_t i = 0; i < page->n; i++)
		d->bytes += page->v[i].bytes.len;
}

/* Go behind what was read. */
static void advance(struct event_range *range, const struct event_page *page)
{
	const struct store_event *last = &page->v[page->n - 1];

	if (range->backwards)
		range->last = last->seq - 1;
	else
		range->first = last->last + 1;
}

/* Read the part of the range that belongs to one session. */
static int read_step(struct draft *d, struct step *step, struct weft_error *err)
{
	struct store *store = d->engine->store;
	struct event_range range = *d->range;

	range.session = step->session;
	range.first = step->first;
	range.last = step->last;
	while (!d->full && range.first <= range.last) {
		struct event_page page = { 0 };
		unsigned char *hidden = NULL;
		int r;

		range.max_events = (uint32_t)(d->max_events - d->n);
		range.max_bytes = d->max_bytes - d->bytes;
		r = store->ops->read_events(store, &range, d->arena, &page,
					    err);
		if (r == WEFT_OK && page.n)
			r = mark_hidden(d, step, &page, &hidden, err);
		if (r < 0)
			return r;
		if (!page.n)
			return WEFT_OK;
		advance(&range, &page);
		if (hidden && !d->keep_hidden) {
			drop_hidden(&page, hidden);
			hidden = NULL;
		}
		r = add_page(d, &page, hidden, err);
		if (r < 0)
			return r;
		if (page.done)
			return WEFT_OK;
		/* If all of it was hidden, go on: a page is not empty. */
		d->full = d->n > 0;
	}
	return WEFT_OK;
}

/* One session's part is read, others follow: is there room for them? */
static void check_room(struct draft *d)
{
	struct event_page all = { .v = d->v, .n = d->n };

	d->bytes = 0;
	count_bytes(d, &all);
	if (d->n >= d->max_events || d->bytes >= d->max_bytes)
		d->full = true;
}

/* Oldest first: the whole way must be known before the first event. */
static int read_forwards(struct draft *d, struct walk *w, bool *ret_done,
			 struct weft_error *err)
{
	struct step *step;
	bool more = true;
	int r = WEFT_OK;

	while (more && r == WEFT_OK)
		r = walk_on(w, &more, err);
	for (step = w->step; step && r == WEFT_OK && !d->full;
	     step = step->newer) {
		r = read_step(d, step, err);
		if (step->newer)
			check_room(d);
	}
	/* What is behind a full page may be nothing: that is found out when
	 * somebody asks. */
	*ret_done = !d->full;
	return r;
}

static int read_backwards(struct draft *d, struct walk *w, bool *ret_done,
			  struct weft_error *err)
{
	bool more = true;
	int r = walk_on(w, &more, err);

	while (more && r == WEFT_OK && !d->full) {
		r = read_step(d, w->step, err);
		if (r < 0)
			break;
		if (!id_is_zero(&w->next))
			check_room(d);
		if (!d->full)
			r = walk_on(w, &more, err);
	}
	*ret_done = !d->full;
	return r;
}

int read_seen(struct engine *e, const struct event_range *range, bool redacted,
	      struct arena *a, struct seen_page *ret, struct weft_error *err)
{
	uint64_t page_max = engine_limits(e)->page;
	struct draft d = {
		.engine = e,
		.arena = a,
		.range = range,
		.keep_hidden = redacted,
		.max_events = (size_t)page_max,
		.max_bytes =
			range->max_bytes ? range->max_bytes : READ_PAGE_BYTES,
	};
	struct walk w = {
		.engine = e,
		.arena = a,
		.next = range->session,
		.first = u64_max(range->first, 1),
		.last = range->last,
	};
	bool done;
	int r;

	if (range->max_events)
		d.max_events = (size_t)u64_min(range->max_events, page_max);
	if (range->backwards)
		r = read_backwards(&d, &w, &done, err);
	else
		r = read_forwards(&d, &w, &done, err);
	if (r < 0)
		return r;
	*ret = (struct seen_page){
		.v = d.v,
		.n = d.n,
		.done = done,
		.redacted = d.redacted,
	};
	return WEFT_OK;
}

int engine_read(struct engine *e, const struct event_range *r, bool redacted,
		struct arena *a, struct view_page *ret, struct weft_error *err)
{
	struct seen_page seen;
	struct view_event *v;
	int code = read_whole(e, r, redacted, a, &seen, err);

	if (code < 0)
		return code;
	v = arena_alloc(a, seen.n * sizeof(*v));
	if (!v)
		return arena_error(a, err);
	for (size_t i = 0; i < seen.n; i++) {
		v[i].event = seen.v[i];
		v[i].redacted = seen.redacted && seen.redacted[i];
	}
	*ret = (struct view_page){ .v = v, .n = seen.n, .done = seen.done };
	return WEFT_OK;
}
