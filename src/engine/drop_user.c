/*
 * drop_user.c - messages where they were said, and all that is of one person.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "engine/drop.h"

/* ---- erase ---- */

/* A message, by who has its line. */
struct owned {
	struct weft_id owner;
	uint64_t seq;
};

static int find_owner(struct dropping *d, const struct weft_id *session,
		      uint64_t seq, struct owned *ret)
{
	const struct event_range range = {
		.session = *session,
		.first = seq,
		.last = seq,
		.max_events = 1,
	};
	struct seen_page page = { .n = 0 };
	int r = read_seen(d->engine, &range, true, d->arena, &page, d->err);

	if (r < 0)
		return r;
	if (page.n == 0 || page.v[0].type != EVENT_MESSAGE ||
	    page.v[0].state == STATE_DAMAGED)
		return fail(d->err, WEFT_NOT_FOUND,
			    page.n && page.v[0].type == EVENT_GONE ?
				    "message %llu is gone already" :
				    "event %llu is not a message",
			    (unsigned long long)seq);
	*ret = (struct owned){ page.v[0].session, seq };
	return WEFT_OK;
}

static int by_owner(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;
	int order = id_cmp(&x->owner, &y->owner);

	if (order)
		return order;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Erase v[0..n), session by session; a message may be named twice. */
static int erase_owned(struct dropping *d, const struct weft_id *session,
		       struct owned *v, size_t n)
{
	uint64_t *seqs = ARENA_ARRAY(d->arena, uint64_t, n);
	uint64_t token = d->token;
	int r = WEFT_OK;

	if (!seqs)
		return arena_error(d->arena, d->err);
	SORT(v, n, by_owner);
	for (size_t i = 0; i < n && r == WEFT_OK;) {
		struct weft_id owner = v[i].owner;
		size_t k = 0;

		for (; i < n && id_eq(&v[i].owner, &owner); i++) {
			if (k == 0 || seqs[k - 1] != v[i].seq)
				seqs[k++] = v[i].seq;
		}
		/* The token is of the session that was named. */
		d->token = id_eq(&owner, session) ? token : 0;
		r = dropping_erase(d, &owner, seqs, k);
	}
	return r;
}

int engine_erase(struct engine *e, const struct weft_id *session,
		 const uint64_t *targets, size_t n, uint64_t token,
		 struct arena *a, struct drop_report *ret,
		 struct weft_error *err)
{
	struct owned *v = ARENA_ARRAY(a, struct owned, n);
	struct dropping d;
	int r = WEFT_OK;

	dropping_init(&d, e, a, ret, err);
	d.token = token;
	if (!v)
		return arena_error(a, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = find_owner(&d, session, targets[i], &v[i]);
	if (r == WEFT_OK)
		r = erase_owned(&d, session, v, n);
	if (r < 0 && d.changed) {
		/* Somebody has a lease on one of the sessions: of what went
		 * before that nothing may be left either. */
		d.err = NULL;
		(void)dropping_end(&d);
		return r;
	}
	return r == WEFT_OK ? dropping_end(&d) : r;
}

/* ---- a person ---- */

/* A session, and what channel its bare ids are of. */
struct place {
	struct weft_id id;
	struct weft_str channel;
};

/* A person, and all sessions: also what was said in those that are theirs may
 * be kept, for forks of others. */
struct leaving {
	struct person whom;
	struct place *all;
	struct weft_id *theirs;
	size_t n_all, room_all, n_theirs, room_theirs;
};

static int add_place(struct dropping *d, struct leaving *l,
		     const struct session_rec *rec)
{
	struct weft_str channel = STR("");
	struct place *v =
		dropping_grow(d, l->all, l->n_all, &l->room_all, sizeof(*v));

	if (!v)
		return arena_error(d->arena, d->err);
	/* Channels are few, and neighbours mostly of the same. */
	if (l->n_all && str_eq(v[l->n_all - 1].channel, rec->channel))
		channel = v[l->n_all - 1].channel;
	else if (rec->channel.len)
		channel = arena_str(d->arena, rec->channel);
	l->all = v;
	v[l->n_all++] = (struct place){ rec->id, channel };
	return WEFT_OK;
}

static int note_session(struct dropping *d, const struct session_rec *rec,
			void *arg)
{
	struct leaving *l = arg;
	CLEANUP(arena_done) struct arena a;
	struct weft_id *v;
	int r = add_place(d, l, rec);

	arena_init(&a, MIB(1));
	if (r < 0 || !whom_owns(&l->whom, rec, &a))
		return r;
	v = dropping_grow(d, l->theirs, l->n_theirs, &l->room_theirs,
			  sizeof(*v));
	if (!v)
		return arena_error(d->arena, d->err);
	l->theirs = v;
	v[l->n_theirs++] = rec->id;
	return whom_note(d, person_shown(&l->whom, rec->user, rec->channel, &a),
			 1, 0);
}

/* Purge one session; what is refused alone is told of. */
static int purge_theirs(struct dropping *d, const struct weft_id *id)
{
	struct weft_error *err = d->err, why = { 0 };
	int r;

	d->err = &why;
	r = dropping_purge(d, id);
	d->err = err;
	if (r == WEFT_LEASED)
		return dropping_refuse(d, id, &why);
	if (r < 0 && err)
		*err = why;
	return r;
}

static int purge_all(struct dropping *d, const struct leaving *l)
{
	int r = dropping_sort(d, l->theirs, l->n_theirs, true);

	for (size_t i = 0; i < l->n_theirs && r == WEFT_OK; i++)
		r = purge_theirs(d, &l->theirs[i]);
	return r;
}

/* What belongs to the person and not to a conversation. */
static int take_book(struct dropping *d, struct weft_str user)
{
	struct weft_str key =
		arena_printf(d->arena, "book:user:%.*s", STR_ARG(user));
	struct store *s = d->engine->store;
	struct name_rec name = { 0 };
	int r;

	if (!key.ptr)
		return arena_error(d->arena, d->err);
	r = s->ops->get_names(s, &key, 1, d->arena, &name, d->err);
	if (r < 0 || id_is_zero(&name.session))
		return r;
	return purge_theirs(d, &name.session);
}

/* One for each name that they have, or had before they were linked. */
static int take_books(struct dropping *d, const struct person *p)
{
	int r = take_book(d, p->name);

	for (size_t i = 0; i < p->ids.n && r == WEFT_OK; i++)
		r = take_book(d, p->ids.v[i]);
	return r;
}

/* What they said in one session of others, by its numbers. */
struct said {
	const struct person *whom;
	struct weft_str channel;
	uint64_t *v;
	size_t n, room;
	uint64_t last; /* what is behind it goes anyway */
};

static int note_said(struct dropping *d, uint64_t seq, struct weft_str from,
		     struct arena *a, void *arg)
{
	struct said *s = arg;
	uint64_t *v;

	if (seq > s->last || !person_sent(s->whom, from, s->channel, a))
		return WEFT_OK;
	v = dropping_grow(d, s->v, s->n, &s->room, sizeof(*v));
	if (!v)
		return arena_error(d->arena, d->err);
	s->v = v;
	v[s->n++] = seq;
	return whom_note(d, person_id(s->channel, from, a), 0, 1);
}

/* Whether the report has it as refused. */
static bool is_refused(const struct dropping *d, const struct weft_id *id)
{
	for (size_t i = 0; i < d->ret->n_refused; i++) {
		if (id_eq(&d->ret->refused[i].session, id))
			return true;
	}
	return false;
}

/* Erase it, so many at once as a request may name. */
static int erase_said(struct dropping *d, const struct place *place,
		      const struct person *whom)
{
	uint64_t max = engine_limits(d->engine)->batch_messages;
	struct said said = {
		.whom = whom,
		.channel = place->channel,
		.last = dropping_last(d, &place->id),
	};
	struct weft_error *err = d->err, why = { 0 };
	int r = WEFT_OK;

	if (said.last)
		r = whom_each_message(d, &place->id, note_said, &said);
	d->err = &why;
	for (size_t i = 0; i < said.n && r == WEFT_OK; i += (size_t)max)
		r = dropping_erase(d, &place->id, said.v + i,
				   (size_t)u64_min(max, said.n - i));
	d->err = err;
	if (r == WEFT_LEASED)
		return dropping_refuse(d, &place->id, &why);
	if (r < 0 && err && why.code)
		*err = why;
	return r;
}

int engine_purge_user(struct engine *e, struct weft_str user, bool dry,
		      struct arena *a, struct drop_report *ret,
		      struct weft_error *err)
{
	struct leaving l = { .n_all = 0 };
	struct dropping d;
	int r;

	dropping_init(&d, e, a, ret, err);
	d.dry = dry;
	r = whom_find(&d, user, &l.whom);
	if (r == WEFT_OK)
		r = dropping_each(&d, note_session, &l);
	if (r == WEFT_OK)
		r = purge_all(&d, &l);
	if (r == WEFT_OK)
		r = take_books(&d, &l.whom);
	if (r == WEFT_OK)
		r = dropping_sweep(&d);
	for (size_t i = 0; i < l.n_all && r == WEFT_OK; i++) {
		if (!is_refused(&d, &l.all[i].id))
			r = erase_said(&d, &l.all[i], &l.whom);
	}
	return r == WEFT_OK ? dropping_end(&d) : r;
}
