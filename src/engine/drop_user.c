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

/* A person, and all sessions: also what was said in those that are theirs may
 * be kept, for forks of others. */
struct person {
	struct weft_str user;
	struct weft_id *all, *theirs;
	size_t n_all, room_all, n_theirs, room_theirs;
};

static int add_to(struct dropping *d, struct weft_id **v, size_t *n,
		  size_t *room, const struct weft_id *id)
{
	*v = dropping_grow(d, *v, *n, room, sizeof(**v));
	if (!*v)
		return arena_error(d->arena, d->err);
	(*v)[(*n)++] = *id;
	return WEFT_OK;
}

static int note_session(struct dropping *d, const struct session_rec *rec,
			void *arg)
{
	struct person *p = arg;
	int r = add_to(d, &p->all, &p->n_all, &p->room_all, &rec->id);

	if (r < 0 || rec->purged_at || !str_eq(rec->user, p->user))
		return r;
	return add_to(d, &p->theirs, &p->n_theirs, &p->room_theirs, &rec->id);
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

static int purge_all(struct dropping *d, const struct person *p)
{
	int r = dropping_sort(d, p->theirs, p->n_theirs, true);

	for (size_t i = 0; i < p->n_theirs && r == WEFT_OK; i++)
		r = purge_theirs(d, &p->theirs[i]);
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

/* Whether a message says that this person sent it. */
static int is_from(const struct store_event *e, struct weft_str user,
		   struct arena *a, bool *ret, struct weft_error *err)
{
	struct weft_str sender;
	int r;

	*ret = false;
	if (e->type != EVENT_MESSAGE || e->state == STATE_DAMAGED)
		return WEFT_OK;
	r = message_sender(e->body, a, &sender, err);
	*ret = r == WEFT_OK && str_eq(sender, user);
	return r;
}

/* What they said in one session of others: *ret are its numbers. */
static int find_said(struct dropping *d, const struct weft_id *id,
		     struct weft_str user, uint64_t **ret, size_t *ret_n)
{
	struct event_range range = {
		.session = *id,
		.first = 1,
		.last = UINT64_MAX,
		.types = UINT64_C(1) << EVENT_MESSAGE,
	};
	struct store *s = d->engine->store;
	struct event_page page = { .done = 0 };
	CLEANUP(arena_done) struct arena a;
	size_t room = 0;
	int r = WEFT_OK;

	arena_init(&a, 0);
	while (r == WEFT_OK && !page.done) {
		arena_reset(&a);
		r = s->ops->read_events(s, &range, &a, &page, d->err);
		/* Purged by somebody else, with nothing left. */
		if (r == WEFT_NOT_FOUND)
			return WEFT_OK;
		if (r < 0 || page.n == 0)
			break;
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++) {
			bool theirs;

			r = is_from(&page.v[i], user, &a, &theirs, d->err);
			if (r < 0 || !theirs)
				continue;
			if (*ret_n == room) {
				uint64_t *v;

				room = room ? 2 * room : 16;
				v = ARENA_ARRAY(d->arena, uint64_t, room);
				if (!v)
					return arena_error(d->arena, d->err);
				if (*ret_n)
					memcpy(v, *ret, *ret_n * sizeof(*v));
				*ret = v;
			}
			(*ret)[(*ret_n)++] = page.v[i].seq;
		}
		range.first = page.v[page.n - 1].last + 1;
	}
	return r;
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
static int erase_said(struct dropping *d, const struct weft_id *id,
		      struct weft_str user)
{
	uint64_t max = engine_limits(d->engine)->batch_messages;
	struct weft_error *err = d->err, why = { 0 };
	uint64_t *seqs = NULL;
	uint64_t last = dropping_last(d, id);
	size_t n = 0;
	int r = last ? find_said(d, id, user, &seqs, &n) : WEFT_OK;

	while (n && seqs[n - 1] > last)
		n--;
	d->err = &why;
	for (size_t i = 0; i < n && r == WEFT_OK; i += (size_t)max)
		r = dropping_erase(d, id, seqs + i,
				   (size_t)u64_min(max, n - i));
	d->err = err;
	if (r == WEFT_LEASED)
		return dropping_refuse(d, id, &why);
	if (r < 0 && err && why.code)
		*err = why;
	return r;
}

int engine_purge_user(struct engine *e, struct weft_str user, bool dry,
		      struct arena *a, struct drop_report *ret,
		      struct weft_error *err)
{
	struct person person = { .user = user };
	struct dropping d;
	int r;

	dropping_init(&d, e, a, ret, err);
	d.dry = dry;
	if (!user.len)
		return fail(err, WEFT_INVALID, "user: may not be empty");
	r = dropping_each(&d, note_session, &person);
	if (r == WEFT_OK)
		r = purge_all(&d, &person);
	if (r == WEFT_OK)
		r = take_book(&d, user);
	if (r == WEFT_OK)
		r = dropping_sweep(&d);
	for (size_t i = 0; i < person.n_all && r == WEFT_OK; i++) {
		if (!is_refused(&d, &person.all[i]))
			r = erase_said(&d, &person.all[i], user);
	}
	return r == WEFT_OK ? dropping_end(&d) : r;
}
