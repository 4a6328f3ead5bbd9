/*
 * drop_whom.c - what of a store is a person's, by every id that they have.
 *
 * A purge cannot be undone, so an id alone is not enough: 42 on Telegram is not
 * 42 on Discord.  Where only an id was given, the store is asked on which
 * channels it is known, and if these are several, the caller has to say which.
 */
#include "base/error.h"
#include "base/text.h"
#include "engine/drop.h"

/* ---- what is theirs ---- */

bool whom_owns(const struct person *p, const struct session_rec *rec,
	       struct arena *a)
{
	return !rec->purged_at && !str_eq(rec->user, STR(PERSON_SEVERAL)) &&
	       person_is_user(p, rec->user, rec->channel, rec->scope.len > 0,
			      a) &&
	       /* Older ones of groups have the user who spoke first. */
	       !scope_text_is_shared(rec->scope, a);
}

int whom_note(struct dropping *d, struct weft_str id, uint64_t sessions,
	      uint64_t messages)
{
	struct drop_report *to = d->ret;
	struct drop_identity *v;

	for (size_t i = 0; i < to->n_identities; i++) {
		v = &to->identities[i];
		if (!str_eq(v->id, id))
			continue;
		v->sessions += sessions;
		v->messages += messages;
		return WEFT_OK;
	}
	v = dropping_grow(d, to->identities, to->n_identities,
			  &to->room_identities, sizeof(*v));
	if (!v)
		return arena_error(d->arena, d->err);
	to->identities = v;
	v[to->n_identities++] = (struct drop_identity){
		.id = arena_str(d->arena, id),
		.sessions = sessions,
		.messages = messages,
	};
	return WEFT_OK;
}

/* ---- who said what ---- */

int whom_each_message(struct dropping *d, const struct weft_id *session,
		      whom_visit *visit, void *arg)
{
	struct event_range range = {
		.session = *session,
		.first = 1,
		.last = UINT64_MAX,
		.types = UINT64_C(1) << EVENT_MESSAGE,
	};
	struct store *s = d->engine->store;
	struct event_page page = { .done = 0 };
	CLEANUP(arena_done) struct arena a;
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
			const struct store_event *e = &page.v[i];
			struct weft_str from = STR("");

			if (e->type != EVENT_MESSAGE ||
			    e->state == STATE_DAMAGED)
				continue;
			r = message_sender(e->body, &a, &from, d->err);
			if (r == WEFT_OK && from.len)
				r = visit(d, e->seq, from, &a, arg);
		}
		range.first = page.v[page.n - 1].last + 1;
	}
	return r;
}

/* ---- whom an id alone means ---- */

/* Where an id is known. */
struct sightings {
	struct weft_str id;
	bool named;              /* a program calls somebody so */
	struct name_list all;    /* "telegram:42", ... */
	struct weft_str channel; /* of the session that is looked at */
};

/* Whether "telegram:42" ends with the id. */
static bool is_of(struct weft_str full, struct weft_str id)
{
	const char *colon = full.len ? memchr(full.ptr, ':', full.len) : NULL;

	return colon &&
	       str_eq(str_skip(full, (size_t)(colon - full.ptr) + 1), id);
}

static void sight(struct sightings *s, struct weft_str id,
		  struct weft_str channel, struct arena *a, struct arena *keep)
{
	struct weft_str full = person_id(channel, id, a);

	if (is_of(full, s->id))
		name_list_add(&s->all, arena_str(keep, full), keep);
}

static int sight_sender(struct dropping *d, uint64_t seq, struct weft_str from,
			struct arena *a, void *arg)
{
	struct sightings *s = arg;

	(void)seq;
	sight(s, from, s->channel, a, d->arena);
	return WEFT_OK;
}

static int sight_session(struct dropping *d, const struct session_rec *rec,
			 void *arg)
{
	const struct person called = { .name = ((struct sightings *)arg)->id,
				       .bare = true };
	struct sightings *s = arg;
	CLEANUP(arena_done) struct arena a;

	arena_init(&a, MIB(1));
	if (rec->purged_at)
		return WEFT_OK;
	if (rec->scope.len == 0 &&
	    person_is_user(&called, rec->user, STR(""), false, &a)) {
		/* On the channels where a program calls them so, they are. */
		if (!s->named)
			s->all.n = 0;
		s->named = true;
		sight(s, rec->user, rec->channel, &a, d->arena);
	}
	if (s->named)
		return WEFT_OK;
	sight(s, rec->user, rec->channel, &a, d->arena);
	s->channel = rec->channel;
	return whom_each_message(d, &rec->id, sight_sender, s);
}

static int fail_several(const struct sightings *s, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_init(&b, KIB(64));
	for (size_t i = 0; i < s->all.n && b.len < KIB(1); i++)
		buf_printf(&b, "%s%.*s", i ? ", " : "",
			   STR_ARG(text_cut(s->all.v[i], 64)));
	return fail(err, WEFT_AMBIGUOUS,
		    "user: '%.*s' is an id on several channels: say which of "
		    "%.*s",
		    STR_ARG(text_cut(s->id, 64)), STR_ARG(buf_str(&b)));
}

int whom_find(struct dropping *d, struct weft_str user, struct person *ret)
{
	struct sightings s = { .named = false };
	int r;

	*ret = routing_person(d->engine, user, d->arena);
	if (ret->name.len == 0)
		return fail(d->err, WEFT_INVALID, "user: may not be empty");
	if (str_eq(ret->name, STR(PERSON_SEVERAL)))
		return fail(d->err, WEFT_INVALID,
			    "user: '*' stands for several people");
	if (!ret->bare)
		return WEFT_OK;
	s.id = ret->name;
	r = dropping_each(d, sight_session, &s);
	if (r == WEFT_OK && d->arena->failed)
		r = arena_error(d->arena, d->err);
	if (r != WEFT_OK)
		return r;
	ret->ids = s.all;
	if (s.named)
		return WEFT_OK;
	return s.all.n > 1 ? fail_several(&s, d->err) : WEFT_OK;
}
