/*
 * route.c - from a message to its session.
 *
 * Most messages belong to a session that is there: it is found by reading
 * alone.  Only what is not found goes through the queue, where it is looked
 * for once more under the lock (plan_route.c).
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/internal.h"
#include "model/lease.h"
#include "model/turn.h"
#include "route/lifecycle.h"

/* ---- the configuration ---- */

struct routing_config {
	struct arena arena;
	struct config config;
};

void routing_init(struct routing *r)
{
	(void)pthread_rwlock_init(&r->lock, NULL);
}

static void free_config(struct routing_config *c)
{
	if (!c)
		return;
	arena_done(&c->arena);
	mem_free(c);
}

void routing_done(struct routing *r)
{
	free_config(r->config);
	(void)pthread_rwlock_destroy(&r->lock);
}

/* The default leaves it to the store, whose URL may say otherwise. */
static void set_suspension(struct engine *e, uint64_t minutes)
{
	uint64_t ms = minutes == SUSPEND_MINUTES ? 0 : minutes * 60 * 1000;

	atomic_store(&e->routing.suspend_ms, ms);
	queue_set_idle(&e->queue,
		       (int64_t)(ms ? ms : e->store->limits.idle_ms) * 1000);
}

int engine_configure(struct engine *e, struct weft_str text,
		     struct weft_error *err)
{
	struct routing_config *c = mem_zero(1, sizeof(*c)), *old;
	struct config_input in = { .text = text };
	int r = engine_check_process(e, err);

	if (!c)
		return fail_no_memory(err);
	arena_init(&c->arena, MIB(64));
	if (r == WEFT_OK)
		r = config_read(&c->config, &in, &c->arena, err);
	if (r != WEFT_OK) {
		free_config(c);
		return r;
	}
	(void)pthread_rwlock_wrlock(&e->routing.lock);
	old = e->routing.config;
	e->routing.config = c;
	set_suspension(e, c->config.lifecycle.suspend_minutes);
	(void)pthread_rwlock_unlock(&e->routing.lock);
	free_config(old);
	return WEFT_OK;
}

static int copy_upkeep(const struct config *c, struct arena *a,
		       struct upkeep *ret, struct weft_error *err)
{
	size_t n = c->retention.rules.n;
	struct config_retention_rule *v =
		ARENA_ARRAY(a, struct config_retention_rule, n + 1);

	if (!v)
		return arena_error(a, err);
	if (n)
		memcpy(v, c->retention.rules.v, n * sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		v[i].agent = arena_str(a, v[i].agent);
		v[i].channel = arena_str(a, v[i].channel);
		v[i].account = arena_str(a, v[i].account);
		v[i].chat_type = arena_str(a, v[i].chat_type);
	}
	*ret = (struct upkeep){
		.hour = (unsigned)c->lifecycle.maintenance_hour,
		.retention = c->retention,
	};
	ret->retention.rules.v = v;
	return a->failed ? arena_error(a, err) : WEFT_OK;
}

struct person routing_person(struct engine *e, struct weft_str text,
			     struct arena *a)
{
	static const struct identity_links nobody;
	struct person p;

	(void)pthread_rwlock_rdlock(&e->routing.lock);
	p = person_of_text(
		e->routing.config ? &e->routing.config->config.links : &nobody,
		text, a);
	(void)pthread_rwlock_unlock(&e->routing.lock);
	return p;
}

struct person routing_sender(struct engine *e, struct weft_str channel,
			     struct weft_str id, struct arena *a)
{
	static const struct identity_links nobody;
	struct identity who;
	struct person p;

	(void)pthread_rwlock_rdlock(&e->routing.lock);
	who = identity_of(e->routing.config ? &e->routing.config->config.links :
					      &nobody,
			  channel, id, true, a);
	p = person_of_sender(&who, channel, a);
	(void)pthread_rwlock_unlock(&e->routing.lock);
	return p;
}

int routing_upkeep(struct engine *e, struct arena *a, struct upkeep *ret,
		   struct weft_error *err)
{
	struct config nothing;
	int r;

	(void)pthread_rwlock_rdlock(&e->routing.lock);
	if (e->routing.config) {
		r = copy_upkeep(&e->routing.config->config, a, ret, err);
	} else {
		r = config_read(&nothing, &(struct config_input){ 0 }, a, err);
		if (r == WEFT_OK)
			r = copy_upkeep(&nothing, a, ret, err);
	}
	(void)pthread_rwlock_unlock(&e->routing.lock);
	return r;
}

/* A name: short, and of one line. */
static int check_text(struct weft_str text, const char *field,
		      struct weft_error *err)
{
	if (!text.ptr && text.len)
		return fail(err, WEFT_INVALID, "%s: not a text", field);
	return text_check_line(text, ROUTE_TEXT_MAX, field, err);
}

/* White space around what a channel gives does not count, not even a line
 * break; a key of the caller's own is taken as it is. */
static int check_texts(const struct route_request *q, struct weft_error *err)
{
	const struct route_context *c = &q->context;
	const struct {
		struct weft_str text;
		const char *name;
	} v[] = {
		{ c->channel, "channel" },     { c->account, "account" },
		{ c->chat_type, "chat_type" }, { c->chat_id, "chat_id" },
		{ c->topic_id, "topic_id" },   { c->space_type, "space_type" },
		{ c->space_id, "space_id" },   { c->sender_id, "sender_id" },
		{ q->agent, "agent" },
	};
	int r = check_text(q->session_key, "session_key", err);

	for (size_t i = 0; i < ARRAY_LEN(v) && r == WEFT_OK; i++)
		r = check_text(v[i].text.ptr ? text_trim(v[i].text) : v[i].text,
			       v[i].name, err);
	return r;
}

/* One step of routing, by the configuration that counts now. */
typedef int route_step(struct engine *e, const struct config *c,
		       const struct route_request *q, struct arena *a,
		       struct route *r, struct weft_error *err);

static int with_config(struct engine *e, route_step *step,
		       const struct route_request *q, struct arena *a,
		       struct route *r, struct weft_error *err)
{
	struct config nothing;
	int s;

	(void)pthread_rwlock_rdlock(&e->routing.lock);
	if (e->routing.config) {
		s = step(e, &e->routing.config->config, q, a, r, err);
	} else {
		s = config_read(&nothing, &(struct config_input){ 0 }, a, err);
		if (s == WEFT_OK)
			s = step(e, &nothing, q, a, r, err);
	}
	(void)pthread_rwlock_unlock(&e->routing.lock);
	return s;
}

static int choose(struct engine *e, const struct config *c,
		  const struct route_request *q, struct arena *a,
		  struct route *r, struct weft_error *err)
{
	int s = route_choose(c, q, a, r, err);

	return s == WEFT_OK ? agents_choose(e, c, q, a, r, err) : s;
}

static int allocate(struct engine *e, const struct config *c,
		    const struct route_request *q, struct arena *a,
		    struct route *r, struct weft_error *err)
{
	(void)e;
	return route_allocate(c, q, a, r, err);
}

/* What a session is listed by has a limit; what is too long is not known. */
static void forget_long_texts(struct engine *e, struct route *r)
{
	uint64_t max = engine_limits(e)->name_bytes;

	if (r->who.name.len > max)
		r->who = (struct person){ .bare = false };
	if (r->channel.len > max)
		r->channel = STR("");
	if (r->role.len > max)
		r->role = STR("");
}

int engine_choose(struct engine *e, const struct route_request *q,
		  struct arena *a, struct route *ret, struct weft_error *err)
{
	int s = engine_check_process(e, err);

	if (s == WEFT_OK)
		s = check_texts(q, err);
	if (s == WEFT_OK)
		s = with_config(e, choose, q, a, ret, err);
	if (s == WEFT_OK)
		forget_long_texts(e, ret);
	return s;
}

int engine_allocate(struct engine *e, const struct route_request *q,
		    struct arena *a, struct route *r, struct weft_error *err)
{
	int s = engine_check_process(e, err);

	return s == WEFT_OK ? with_config(e, allocate, q, a, r, err) : s;
}

int engine_resolve_route(struct engine *e, const struct route_request *q,
			 struct arena *a, struct route *ret,
			 struct weft_error *err)
{
	int s = engine_choose(e, q, a, ret, err);

	if (s == WEFT_OK)
		s = engine_allocate(e, q, a, ret, err);
	if (s == WEFT_OK)
		s = route_take_key(q, a, ret, err);
	return s == WEFT_OK && a->failed ? arena_error(a, err) : s;
}

/* ---- is it the one? ---- */

int route_displaces(const struct route *r, const struct name_rec *name,
		    const struct session_rec *rec, struct arena *a, bool *ret,
		    struct weft_error *err)
{
	struct scope stored;
	int e;

	*ret = false;
	/* A key, and a session that was named by hand, are left alone. */
	if (name->kind != NAME_ALIAS || rec->scope.len == 0)
		return WEFT_OK;
	e = scope_parse(rec->scope, a, &stored, err);
	if (e == WEFT_OK)
		*ret = route_outranks(r, &stored);
	return e;
}

bool route_may_promote(const struct name_rec *name,
		       const struct session_rec *rec)
{
	return name->kind == NAME_KEY && rec->kind == KIND_PRIMARY &&
	       rec->scope.len == 0 && !rec->deleted_at &&
	       (rec->message_count || rec->inherited_count || rec->window_seq);
}

bool session_is_over(const struct session_rec *rec,
		     const struct config_reset *policy, int64_t now_ms)
{
	/* Nobody's turn is cut in two. */
	if (lease_in_force(rec, now_ms) || turn_is_running(rec, now_ms))
		return false;
	return lifecycle_is_expired(rec->expires_at, now_ms) ||
	       lifecycle_is_stale(policy, rec->last_interaction_at, now_ms,
				  lifecycle_local_offset);
}

bool route_is_over(const struct route *r, const struct session_rec *rec,
		   int64_t now_ms)
{
	/* A caller's own key is the caller's. */
	return !r->own_key && rec->key.len &&
	       session_is_over(rec, &r->reset, now_ms);
}

struct config_reset routing_policy(struct engine *e, struct weft_str channel)
{
	const struct route_context direct = { .channel = channel };
	CLEANUP(arena_done) struct arena a;
	struct config_reset policy = { .mode = RESET_UNSET };

	arena_init(&a, MIB(1));
	(void)pthread_rwlock_rdlock(&e->routing.lock);
	if (e->routing.config)
		policy = lifecycle_policy(&e->routing.config->config, &direct,
					  &a);
	(void)pthread_rwlock_unlock(&e->routing.lock);
	return policy;
}

/* Whom people share a conversation with, they should know. */
static void say_several(struct route *r, struct weft_str before,
			struct arena *a)
{
	if (before.len == 0 || str_eq(before, STR(PERSON_SEVERAL)))
		route_warn(r, a,
			   "more than one person speaks here, and all of them "
			   "read everything");
	else
		route_warn(r, a,
			   "more than one person speaks here: '%.*s' began it, "
			   "this is '%.*s', and both read everything",
			   STR_ARG(text_cut(before, 64)),
			   STR_ARG(text_cut(r->who.name, 64)));
}

static void say_over(struct route *r, const struct session_rec *rec,
		     int64_t now_ms, struct arena *a)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(&rec->id, id);
	route_say(r, a, "session %s is over: %s", id,
		  lifecycle_is_expired(rec->expires_at, now_ms) ?
			  "it has expired" :
			  "the reset policy says so");
}

/* When it will be over, so that nobody is surprised. */
static void say_end(struct route *r, const struct session_rec *rec,
		    struct arena *a)
{
	int64_t end = lifecycle_stale_at(&r->reset, rec->last_interaction_at,
					 lifecycle_local_offset);
	char text[TIME_CHARS + 1];

	if (rec->expires_at && (!end || rec->expires_at < end))
		end = rec->expires_at;
	if (!end || r->own_key || rec->key.len == 0)
		return;
	time_format(end, text);
	route_say(r, a,
		  "unless somebody speaks before, a message from %s on begins "
		  "a new session",
		  text);
}

/* ---- what came before it ---- */

static void say_promoted(struct route *r, const struct weft_id *from, bool dry,
			 struct arena *a)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(from, id);
	route_say(r, a,
		  "session %s has an older name of this conversation: the new "
		  "one %s on from there and take%s its names",
		  id, dry ? "would go" : "goes", dry ? "" : "s");
}

static void say_displaced(struct route *r, const struct weft_id *from, bool dry,
			  struct arena *a)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(from, id);
	route_warn(r, a,
		   "'%.*s' %s an older name of session %s, which is of another "
		   "conversation: the key goes before, and this one %s anew",
		   STR_ARG(text_cut(r->key, 80)), dry ? "is" : "was", id,
		   dry ? "would begin" : "begins");
}

/* Somebody may still write to the session that this one goes on from. */
static int say_diverged(struct engine *e, struct route *r,
			const struct session_rec *rec, struct arena *a,
			struct weft_error *err)
{
	char id[WEFT_ID_CHARS + 1];
	struct session_rec old;
	int s;

	if (id_is_zero(&rec->forked_from))
		return WEFT_OK;
	s = engine_session(e, &rec->forked_from, a, &old, err);
	if (s != WEFT_OK)
		return s == WEFT_NOT_FOUND ? WEFT_OK : s;
	if (old.content_seq <= rec->fork_seq)
		return WEFT_OK;
	id_format(&old.id, id);
	route_warn(r, a,
		   "it goes on from session %s at %llu, to which somebody has "
		   "written since: that is not seen here",
		   id, (unsigned long long)rec->fork_seq);
	return WEFT_OK;
}

/* The session that a new one would go on from (plan_route.c decides). */
static int look_for_older(struct engine *e, const struct route *r,
			  struct arena *a, struct weft_id *ret,
			  struct weft_error *err)
{
	for (size_t i = 0; i < r->aliases.n; i++) {
		struct session_rec rec = { .kind = 0 };
		struct name_rec name;
		int s;

		if (!route_may_claim(r, r->aliases.v[i]))
			continue;
		s = e->store->ops->get_names(e->store, &r->aliases.v[i], 1, a,
					     &name, err);
		if (s == WEFT_OK && !id_is_zero(&name.session))
			s = engine_session(e, &name.session, a, &rec, err);
		if (s < 0 && s != WEFT_NOT_FOUND)
			return s;
		if (s == WEFT_OK && !id_is_zero(&name.session) &&
		    route_may_promote(&name, &rec)) {
			*ret = rec.id;
			return route_check_owner(r, &rec, a, err);
		}
	}
	return WEFT_OK;
}

/* ---- finding it ---- */

/* Who holds the names of a route, and what is known of that session. */
struct held {
	struct name_rec names[2]; /* its key, and its person */
	struct session_rec rec;
	bool by_person; /* the key of this channel is nobody's */
};

static int read_held(struct engine *e, const struct route *r, struct arena *a,
		     struct held *h, struct weft_error *err)
{
	const struct weft_str names[] = { r->key, r->person };
	size_t n = r->person.len ? 2 : 1;
	const struct weft_id *id;
	int s;

	*h = (struct held){ 0 };
	s = e->store->ops->get_names(e->store, names, n, a, h->names, err);
	if (s < 0)
		return s;
	h->by_person = id_is_zero(&h->names[0].session) && r->linked;
	id = &h->names[h->by_person].session;
	return id_is_zero(id) ? WEFT_OK :
				engine_session(e, id, a, &h->rec, err);
}

/*
 * Between the look at a name and the look at its session both may have
 * changed: what does not fit together is looked at again under the lock.
 */
static int is_settled(struct engine *e, const struct route *r, struct arena *a,
		      const struct held *h, bool *ret, struct weft_error *err)
{
	struct held again;
	int s;

	*ret = !h->by_person && !h->rec.deleted_at &&
	       str_eq(h->rec.key, r->key);
	if (*ret || id_is_zero(&h->rec.id))
		return WEFT_OK;
	s = read_held(e, r, a, &again, err);
	*ret = s == WEFT_OK && id_eq(&again.rec.id, &h->rec.id) &&
	       !again.rec.deleted_at && again.by_person == h->by_person;
	return s;
}

/*
 * Look without writing; ret->session stays zero if there is none.
 * *ret_by_person: found, but not by the key of this channel.
 */
static int find_by_reading(struct engine *e, struct route *r, struct arena *a,
			   struct route_end *ret, bool *ret_by_person,
			   struct weft_error *err)
{
	bool settled = false, displaces = false;
	struct route_lacks lacks;
	struct held h;
	int s = read_held(e, r, a, &h, err);

	if (s == WEFT_OK)
		s = is_settled(e, r, a, &h, &settled, err);
	if (s == WEFT_OK && settled)
		s = route_displaces(r, &h.names[0], &h.rec, a, &displaces, err);
	if (displaces)
		ret->displaced = h.rec.id;
	if (s != WEFT_OK || !settled || displaces)
		return s;
	s = route_check_hit(r, &h.rec, id_eq(&h.rec.id, &h.names[1].session), a,
			    err);
	if (s != WEFT_OK)
		return s;
	*ret_by_person = h.by_person;
	ret->session = h.rec.id;
	route_find_lacks(r, &h.rec, a, &lacks);
	ret->lacks = lacks.scope || !routed_patch_is_empty(&lacks.patch);
	ret->several = lacks.several;
	if (lacks.several)
		say_several(r, h.rec.user, a);
	s = say_diverged(e, r, &h.rec, a, err);
	if (s != WEFT_OK)
		return s;
	ret->over = route_is_over(r, &h.rec, engine_now_ms(e));
	if (ret->over)
		say_over(r, &h.rec, engine_now_ms(e), a);
	else
		say_end(r, &h.rec, a);
	return WEFT_OK;
}

static bool is_name(struct engine *e, struct weft_str name)
{
	return request_check_name(name, "alias", engine_limits(e), NULL) ==
	       WEFT_OK;
}

/* Every name that the session may have, person first: it proves most. */
static int take_names(struct engine *e, struct request *q,
		      const struct route *r, struct weft_error *err)
{
	const struct name_list *lists[] = { &r->other_keys, &r->aliases };
	size_t room = 1 + r->other_keys.n + r->aliases.n;
	struct weft_str *v = ARENA_ARRAY(&q->arena, struct weft_str, room);

	if (!v)
		return arena_error(&q->arena, err);
	q->aliases = v;
	if (r->linked)
		v[q->n_aliases++] = r->person;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		for (size_t k = 0; k < lists[i]->n; k++) {
			struct weft_str name = lists[i]->v[k];

			if (q->n_aliases + 1 < engine_limits(e)->names &&
			    route_may_claim(r, name) && is_name(e, name))
				v[q->n_aliases++] = name;
		}
	}
	return WEFT_OK;
}

/* What the session begins with; all of it outlives the request. */
static int fill_request(struct engine *e, struct request *q,
			const struct route *r, struct arena *a,
			struct weft_error *err)
{
	CLEANUP(buf_done) struct buf scope = { 0 };
	int s;

	q->route = r;
	q->create = (struct session_rec){
		.kind = KIND_PRIMARY,
		.key = r->key,
		.agent = r->agent,
		.user = route_owner(r),
		.channel = r->channel,
	};
	if (q->create.user.len)
		q->create.user_role = r->role;
	s = take_names(e, q, r, err);
	if (s != WEFT_OK || r->own_key)
		return s;
	buf_init(&scope, MIB(1));
	scope_encode(&scope, &r->scope);
	s = buf_error(&scope, err);
	if (s != WEFT_OK)
		return s;
	q->create.scope = arena_str(a, buf_str(&scope));
	return q->create.scope.ptr ? WEFT_OK : arena_error(a, err);
}

static int run_request(struct engine *e, struct route *r, struct arena *a,
		       struct route_end *ret, struct weft_error *err)
{
	struct request *q = request_new(REQUEST_ROUTE, err);
	int s;

	if (!q)
		return WEFT_NO_MEMORY;
	s = fill_request(e, q, r, a, err);
	if (s == WEFT_OK)
		s = engine_run(e, q, err);
	if (s == WEFT_OK) {
		ret->session = q->ret_session;
		ret->created = q->ret_created != 0;
		ret->promoted = q->ret_promoted;
		ret->displaced = q->ret_displaced;
		/* Somebody else was heard between the look and the write. */
		if (q->ret_several && !ret->several)
			say_several(r, STR(""), a);
	}
	request_free(q);
	return s;
}

/* What would be made: there is no such session. */
static int foresee(struct engine *e, struct route *r, struct arena *a,
		   struct route_end *ret, struct weft_error *err)
{
	int s = look_for_older(e, r, a, &ret->promoted, err);

	if (s != WEFT_OK)
		return s;
	if (!id_is_zero(&ret->displaced))
		say_displaced(r, &ret->displaced, true, a);
	if (!id_is_zero(&ret->promoted))
		say_promoted(r, &ret->promoted, true, a);
	return WEFT_OK;
}

/* Which agent a person has asked for outlives the conversation. */
static int take_notes(struct engine *e, const struct route *r, struct arena *a,
		      struct weft_error *err)
{
	int s;

	if (e->read_only || !r->notes_agent)
		return WEFT_OK;
	s = engine_set_user_agent(e, r->who.name, r->agent, a, err);
	/* An id that is too long for a book has none. */
	return s == WEFT_LIMIT || s == WEFT_INVALID ? WEFT_OK : s;
}

int engine_route(struct engine *e, struct route *r, bool dry, struct arena *a,
		 struct route_end *ret, struct weft_error *err)
{
	bool by_person = false;
	int s;

	*ret = (struct route_end){ 0 };
	s = request_check_name(r->key, "key", engine_limits(e), err);
	if (s == WEFT_OK)
		s = find_by_reading(e, r, a, ret, &by_person, err);
	if (s != WEFT_OK)
		return s;
	if (dry)
		return id_is_zero(&ret->session) ? foresee(e, r, a, ret, err) :
						   WEFT_OK;
	/* The key of this channel becomes one of the person's names. */
	if (!id_is_zero(&ret->session) && !ret->over &&
	    ((!by_person && !ret->lacks) || e->read_only))
		return take_notes(e, r, a, err);
	s = run_request(e, r, a, ret, err);
	if (s == WEFT_OK && !id_is_zero(&ret->displaced))
		say_displaced(r, &ret->displaced, false, a);
	if (s == WEFT_OK && !id_is_zero(&ret->promoted))
		say_promoted(r, &ret->promoted, false, a);
	return s == WEFT_OK ? take_notes(e, r, a, err) : s;
}
