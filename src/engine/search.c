/*
 * search.c - find what was said.
 *
 * DESIGN
 *
 * The index names events that may match, newest first (model/search.h says
 * why only "may").  Each is read, as whoever searches would see it: what is
 * redacted, forgotten or deleted by now is not there, and nothing needs to be
 * done to the index when that happens or is undone.
 *
 * What the index lacks is put into it first, if that is much; a little is read
 * directly, and takes its place among the rest.  Both have a bound, and the
 * answer says how many events are beyond it.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"
#include "store/match.h"

#define INDEX_EVENTS   20000 /* that a search adds to the index */
#define SCAN_EVENTS    256   /* that it reads instead */
#define SCAN_READ_ONLY 20000 /* where it cannot add */
#define SCAN_SESSIONS  4096
#define CANDIDATES_MAX 5000 /* that a search looks at */
#define PAGE_MIN       64
#define RETRIES        3 /* somebody has removed the index meanwhile */

/* A session that may be searched, up to one of its events. */
struct span {
	struct weft_id session;
	uint64_t last;
};

/* The memories of a session that are not forgotten; kept while searching. */
struct kept {
	struct kept *next;
	struct weft_id session;
	struct memory_list list;
};

struct search {
	struct engine *engine;
	const struct search_ask *ask;
	struct arena *arena;  /* of the answer */
	struct arena scratch; /* of one event */
	struct word_term *terms;
	size_t n_terms;
	struct span *spans; /* the session asked for and its parents */
	struct weft_id *sessions;
	size_t n_spans;

	/* What the index lacks and matches, newest first. */
	struct word_hit *extra;
	size_t n_extra, extra_room, extra_at;

	/* What the index found; `page_after` is where its next page begins. */
	bool no_index;
	struct word_page page;
	size_t page_at;
	struct word_hit page_after;
	bool has_after;

	struct kept *kept;
	struct session_rec *rec; /* of the last event that was looked at */
	struct search_page *out;
	struct blob_place blobs;
};

/* ---- which sessions ---- */

static bool add_span(struct search *s, size_t *room, const struct weft_id *id,
		     uint64_t last)
{
	if (s->n_spans == *room) {
		size_t more = *room ? 2 * *room : 8;
		struct span *spans = ARENA_ARRAY(s->arena, struct span, more);
		struct weft_id *ids =
			ARENA_ARRAY(s->arena, struct weft_id, more);

		if (!spans || !ids)
			return false;
		if (s->n_spans) {
			memcpy(spans, s->spans, s->n_spans * sizeof(*spans));
			memcpy(ids, s->sessions, s->n_spans * sizeof(*ids));
		}
		s->spans = spans;
		s->sessions = ids;
		*room = more;
	}
	s->spans[s->n_spans] = (struct span){ *id, last };
	s->sessions[s->n_spans++] = *id;
	return true;
}

/* The session asked for, and those whose past it shares. */
static int find_spans(struct search *s, struct weft_error *err)
{
	uint64_t depth = engine_limits(s->engine)->fork_depth;
	struct weft_id id = s->ask->session;
	uint64_t last = UINT64_MAX;
	size_t room = 0;

	while (!id_is_zero(&id) && s->n_spans <= depth) {
		struct session_rec rec;
		int r;

		arena_reset(&s->scratch);
		r = engine_session(s->engine, &id, &s->scratch, &rec, err);
		if (r < 0)
			return r;
		if (!add_span(s, &room, &id, last))
			return arena_error(s->arena, err);
		last = u64_min(last, rec.fork_seq);
		id = rec.fork_seq ? rec.parent : (struct weft_id){ { 0 } };
	}
	return WEFT_OK;
}

static bool is_in_span(const struct search *s, const struct word_hit *h)
{
	for (size_t i = 0; i < s->n_spans; i++) {
		if (id_eq(&s->spans[i].session, &h->session))
			return h->seq <= s->spans[i].last;
	}
	return s->n_spans == 0;
}

/* ---- what the index lacks ---- */

static int add_extra(struct search *s, const struct word_hit *h,
		     struct weft_error *err)
{
	if (s->n_extra == s->extra_room) {
		size_t room = s->extra_room ? 2 * s->extra_room : 32;
		struct word_hit *v = arena_alloc(s->arena, room * sizeof(*v));

		if (!v)
			return arena_error(s->arena, err);
		if (s->n_extra)
			memcpy(v, s->extra, s->n_extra * sizeof(*v));
		s->extra = v;
		s->extra_room = room;
	}
	s->extra[s->n_extra++] = *h;
	return WEFT_OK;
}

static int scan_event(struct search *s, const struct store_event *e,
		      struct weft_error *err)
{
	struct word_hit hit = { search_time(e), e->session, e->seq };
	CLEANUP(arena_done) struct arena own;
	struct search_match match;
	struct search_doc doc;
	int r;

	arena_init(&own, 0);
	if (!is_in_span(s, &hit) ||
	    (s->ask->after && match_hit_order(s->ask->after, &hit) >= 0))
		return WEFT_OK;
	r = search_doc_read(e, &s->blobs, &own, &doc, err);
	if (r < 0 || doc.kind == SEARCH_NOTHING)
		return r;
	r = search_match(&s->ask->query, &doc, &own, &match, err);
	return r == WEFT_OK && match.found ? add_extra(s, &hit, err) : r;
}

/* Read what a session has that is not in the index. */
static int scan_session(struct search *s, const struct weft_id *session,
			uint64_t first, uint64_t last, struct weft_error *err)
{
	struct store *store = engine_store(s->engine);
	struct event_range range = { .session = *session,
				     .first = first,
				     .last = last,
				     .types = SEARCH_TYPES };
	struct event_page page = { .done = 0 };
	int r = WEFT_OK;

	if (first > last ||
	    !is_in_span(s, &(struct word_hit){ .session = *session }))
		return WEFT_OK;
	while (!page.done && r == WEFT_OK) {
		arena_reset(&s->scratch);
		r = store->ops->read_events(store, &range, &s->scratch, &page,
					    err);
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++)
			r = scan_event(s, &page.v[i], err);
		if (page.n == 0)
			break;
		range.first = page.v[page.n - 1].last + 1;
	}
	return r;
}

/* Read what is missing, as much as may be; `behind` is then the rest. */
static int scan(struct search *s, uint64_t max, struct weft_error *err)
{
	struct store *store = engine_store(s->engine);
	struct behind_page behind;
	int r = store->ops->get_behind(store, true, SCAN_SESSIONS, s->arena,
				       &behind, err);

	if (r < 0)
		return r;
	s->no_index = behind.none;
	s->out->behind = behind.events;
	for (size_t i = 0; i < behind.n && r == WEFT_OK; i++) {
		const struct word_behind *b = &behind.v[i];
		uint64_t n = u64_min(b->to - b->from, max);

		/* Of what is too much the newest. */
		r = scan_session(s, &b->session, b->to - n + 1, b->to, err);
		max -= n;
		s->out->behind -= u64_min(n, s->out->behind);
	}
	SORT(s->extra, s->n_extra, match_hit_compare);
	return r;
}

static int catch_up(struct search *s, struct weft_error *err)
{
	struct engine *e = s->engine;
	uint64_t behind = 0;
	int r;

	if (e->read_only)
		return scan(s, SCAN_READ_ONLY, err);
	r = engine_index(e, true, 0, &behind, err);
	if (r == WEFT_OK && (behind > SCAN_EVENTS || s->ask->wait))
		r = engine_index(e, true,
				 s->ask->wait ? UINT64_MAX : INDEX_EVENTS,
				 &behind, err);
	/* The store may know better than we do. */
	if (r == WEFT_READ_ONLY)
		return scan(s, SCAN_READ_ONLY, err);
	return r == WEFT_OK ? scan(s, SCAN_EVENTS, err) : r;
}

/* ---- candidates ---- */

static int fill_page(struct search *s, struct weft_error *err)
{
	struct store *store = engine_store(s->engine);
	const struct word_query q = {
		.terms = s->terms,
		.n_terms = s->n_terms,
		.sessions = s->sessions,
		.n_sessions = s->n_spans,
		.after = s->has_after ? &s->page_after : NULL,
		.limit = (uint32_t)u64_max(s->ask->limit + 1, PAGE_MIN),
	};
	int r = store->ops->find_words(store, &q, s->arena, &s->page, err);

	s->page_at = 0;
	if (r == WEFT_OK && s->page.n) {
		s->page_after = s->page.v[s->page.n - 1];
		s->has_after = true;
	}
	return r;
}

/* The next event that may match, from the index or from what it lacks. */
static int next_candidate(struct search *s, struct word_hit *ret, bool *ret_end,
			  struct weft_error *err)
{
	const struct word_hit *found = NULL, *extra = NULL;
	int order;

	while (s->page_at == s->page.n && s->page.more) {
		int r = fill_page(s, err);

		if (r < 0)
			return r;
	}
	if (s->page_at < s->page.n)
		found = &s->page.v[s->page_at];
	if (s->extra_at < s->n_extra)
		extra = &s->extra[s->extra_at];
	*ret_end = !found && !extra;
	if (*ret_end)
		return WEFT_OK;
	order = !found ? 1 : !extra ? -1 : match_hit_order(found, extra);
	*ret = order <= 0 ? *found : *extra;
	/* What was indexed meanwhile comes both ways. */
	s->page_at += order <= 0;
	s->extra_at += order >= 0;
	return WEFT_OK;
}

/* ---- looking at one ---- */

static int load_record(struct search *s, const struct weft_id *id,
		       struct weft_error *err)
{
	struct store *store = engine_store(s->engine);
	struct session_rec *rec;

	if (s->rec && id_eq(&s->rec->id, id))
		return WEFT_OK;
	rec = ARENA_NEW(s->arena, struct session_rec);
	if (!rec)
		return arena_error(s->arena, err);
	s->rec = rec;
	return store->ops->get_sessions(store, id, 1, s->arena, rec, err);
}

/* Whether the session lets itself be searched. */
static bool may_look(const struct search *s, const struct word_hit *h)
{
	const struct search_ask *ask = s->ask;
	const struct session_rec *rec = s->rec;

	if (id_is_zero(&rec->id) || rec->purged_at || !is_in_span(s, h))
		return false;
	/* Who names a deleted session means it. */
	if (rec->deleted_at && !s->n_spans)
		return false;
	return (!ask->user.len || str_eq(ask->user, rec->user)) &&
	       (!ask->project_dir.len ||
		str_eq(ask->project_dir, rec->project_dir));
}

static int load_memories(struct search *s, struct kept **ret,
			 struct weft_error *err)
{
	struct kept *k = s->kept;
	int r;

	while (k && !id_eq(&k->session, &s->rec->id))
		k = k->next;
	if (!k) {
		k = ARENA_NEW(s->arena, struct kept);
		if (!k)
			return arena_error(s->arena, err);
		k->session = s->rec->id;
		r = engine_memories(s->engine, s->rec, s->arena, &k->list, err);
		if (r < 0)
			return r;
		k->next = s->kept;
		s->kept = k;
	}
	*ret = k;
	return WEFT_OK;
}

static int is_remembered(struct search *s, uint64_t seq, bool *ret,
			 struct weft_error *err)
{
	struct kept *k = NULL;
	int r = load_memories(s, &k, err);

	*ret = false;
	for (size_t i = 0; k && r == WEFT_OK && i < k->list.n; i++) {
		if (k->list.v[i].seq == seq)
			*ret = k->list.v[i].deleted_at == 0;
	}
	return r;
}

/* A title that was given twice counts once, and only while it holds. */
static bool is_title(const struct search *s, const struct search_doc *doc)
{
	for (size_t i = 0; i < s->out->n; i++) {
		if (s->out->v[i].kind == SEARCH_TITLE &&
		    id_eq(&s->out->v[i].place.session, &s->rec->id))
			return false;
	}
	return str_eq(doc->texts[0], s->rec->slug);
}

/* Whether this is something to be found now. */
static int is_current(struct search *s, const struct word_hit *h,
		      const struct search_doc *doc, bool *ret,
		      struct weft_error *err)
{
	/* What a session has for itself its forks do not inherit. */
	bool own = !s->n_spans || id_eq(&h->session, &s->ask->session);

	*ret = !s->ask->kinds || (s->ask->kinds >> doc->kind & 1);
	if (!*ret || doc->kind == SEARCH_MESSAGE)
		return WEFT_OK;
	*ret = own;
	if (own && doc->kind == SEARCH_TITLE)
		*ret = is_title(s, doc);
	else if (own)
		return is_remembered(s, h->seq, ret, err);
	return WEFT_OK;
}

static int add_hit(struct search *s, const struct word_hit *h,
		   const struct store_event *e, const struct search_doc *doc,
		   const struct search_match *m, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf b;
	struct search_hit *hit = &s->out->v[s->out->n];

	buf_init(&b, 0);
	search_snippet(&b, doc->texts[m->text], m);
	if (b.error)
		return buf_error(&b, err);
	*hit = (struct search_hit){
		.place = *h,
		.id = e->id,
		.kind = doc->kind,
		.role = arena_str(s->arena, doc->role),
		.rec = s->rec,
		.snippet = arena_str(s->arena, buf_str(&b)),
	};
	s->out->n++;
	return s->arena->failed ? arena_error(s->arena, err) : WEFT_OK;
}

/* Read a candidate as whoever searches sees it, and take it if it matches. */
static int look_at(struct search *s, const struct word_hit *h,
		   struct weft_error *err)
{
	const struct event_range range = {
		.session = s->n_spans ? s->ask->session : h->session,
		.first = h->seq,
		.last = h->seq,
		.max_events = 1,
	};
	struct search_match match;
	struct search_doc doc;
	struct seen_page page;
	bool good = false;
	int r = load_record(s, &h->session, err);

	if (r < 0 || !may_look(s, h))
		return r;
	arena_reset(&s->scratch);
	r = read_seen(s->engine, &range, false, &s->scratch, &page, err);
	if (r < 0 || page.n == 0 || !id_eq(&page.v[0].session, &h->session))
		return r;
	r = search_doc_read(&page.v[0], &s->blobs, &s->scratch, &doc, err);
	if (r < 0 || doc.kind == SEARCH_NOTHING)
		return r;
	r = is_current(s, h, &doc, &good, err);
	if (r < 0 || !good)
		return r;
	r = search_match(&s->ask->query, &doc, &s->scratch, &match, err);
	if (r < 0 || !match.found)
		return r;
	return add_hit(s, h, &page.v[0], &doc, &match, err);
}

/* ---- the whole ---- */

/* One more than is asked for: that one tells that there is more. */
static int collect(struct search *s, struct weft_error *err)
{
	struct search_page *out = s->out;
	size_t looked = 0;
	int r = WEFT_OK;

	while (r == WEFT_OK && out->n <= s->ask->limit) {
		struct word_hit h;
		bool end = false;

		r = next_candidate(s, &h, &end, err);
		if (r < 0 || end)
			return r;
		if (looked && match_hit_order(&h, &out->last) == 0)
			continue; /* indexed twice, between a drop and a crash */
		if (looked++ == CANDIDATES_MAX) {
			out->more = true;
			return WEFT_OK;
		}
		r = look_at(s, &h, err);
		out->last = h;
	}
	if (r < 0)
		return r;
	out->n--;
	out->more = true;
	out->last = out->v[out->n - 1].place;
	return WEFT_OK;
}

static int search_once(struct search *s, struct weft_error *err)
{
	int r;

	*s->out = (struct search_page){ 0 };
	s->out->v = ARENA_ARRAY(s->arena, struct search_hit, s->ask->limit + 1);
	if (!s->out->v)
		return arena_error(s->arena, err);
	s->n_extra = s->extra_at = s->page_at = 0;
	s->page = (struct word_page){ 0 };
	s->has_after = s->ask->after != NULL;
	if (s->has_after)
		s->page_after = *s->ask->after;
	r = catch_up(s, err);
	s->page.more = !s->no_index;
	return r == WEFT_OK ? collect(s, err) : r;
}

int engine_search(struct engine *e, const struct search_ask *ask,
		  struct arena *a, struct search_page *ret,
		  struct weft_error *err)
{
	struct search s = { .engine = e,
			    .ask = ask,
			    .arena = a,
			    .out = ret,
			    .blobs = engine_blobs(e) };
	int r = engine_check_process(e, err);

	if (r < 0)
		return r;
	arena_init(&s.scratch, 0);
	r = search_query_tokens(&ask->query, a, &s.terms, &s.n_terms, err);
	if (r == WEFT_OK && !id_is_zero(&ask->session))
		r = find_spans(&s, err);
	if (r == WEFT_OK) {
		/* CORRUPT: the index is gone, and there is a new one now. */
		for (int i = 0; i < RETRIES; i++) {
			r = search_once(&s, err);
			if (r != WEFT_CORRUPT)
				break;
		}
	}
	arena_done(&s.scratch);
	if (r == WEFT_OK && ret->behind)
		indexer_note(e);
	return r;
}
