/*
 * agents.c - who answers a person where no rule says so.
 *
 * With agents.sticky it is the agent that the person talks to already in this
 * place: whichever of the agents' conversations was spoken in last.  Only where
 * a new conversation begins, the agent that the person used last counts; it is
 * kept in the person's book, outside of all conversations, so that it outlives
 * them.
 */
#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "engine/internal.h"
#include "route/norm.h"

#define AGENTS_MAX 64

/* ---- the book of a user ---- */

/* `name`: of the person, see route/person.h. */
static int book_key(struct engine *e, struct weft_str name, struct arena *a,
		    struct weft_str *ret, struct weft_error *err)
{
	if (name.len == 0)
		return fail(err, WEFT_INVALID, "user: must not be empty");
	*ret = NORM_JOIN(a, STR("book:user:"), name);
	if (!ret->ptr || a->failed)
		return arena_error(a, err);
	return request_check_name(*ret, "user", engine_limits(e), err);
}

/* The book; with an id of zero if there is none. */
static int read_book(struct engine *e, struct weft_str key, struct arena *a,
		     struct session_rec *ret, struct weft_error *err)
{
	struct name_rec name;
	int r = e->store->ops->get_names(e->store, &key, 1, a, &name, err);

	*ret = (struct session_rec){ .kind = 0 };
	if (r < 0 || id_is_zero(&name.session))
		return r;
	return engine_session(e, &name.session, a, ret, err);
}

static int agent_in_book(struct engine *e, struct weft_str name,
			 struct arena *a, struct weft_str *ret,
			 struct weft_error *err)
{
	struct session_rec book;
	struct weft_str key;
	int r = book_key(e, name, a, &key, err);

	if (r == WEFT_OK)
		r = read_book(e, key, a, &book, err);
	if (r == WEFT_OK)
		*ret = id_is_zero(&book.id) ? STR("") : book.agent;
	return r;
}

int engine_user_agent(struct engine *e, struct weft_str user, struct arena *a,
		      struct weft_str *ret, struct weft_error *err)
{
	return agent_in_book(e, routing_person(e, user, a).name, a, ret, err);
}

static int make_book(struct engine *e, struct weft_str key,
		     struct weft_str user, struct weft_str agent,
		     struct session_rec *ret, struct weft_error *err)
{
	struct request *q = request_new(REQUEST_CREATE, err);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	q->create.kind = KIND_BOOK;
	q->create.key = key;
	q->create.user = user;
	q->create.agent = agent;
	r = engine_run(e, q, err);
	ret->id = q->ret_session;
	ret->agent = q->ret_created ? agent : STR("");
	request_free(q);
	return r;
}

static int write_agent(struct engine *e, const struct weft_id *book,
		       struct weft_str agent, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf patch = { 0 };
	struct request *q = request_new(REQUEST_PATCH, err);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	buf_init(&patch, KIB(64));
	buf_add_lit(&patch, "{\"agent\":");
	buf_add_json(&patch, agent);
	buf_add_c(&patch, '}');
	q->session = *book;
	q->patch = buf_str(&patch);
	r = buf_error(&patch, err);
	if (r == WEFT_OK)
		r = engine_run(e, q, err);
	request_free(q);
	return r;
}

int engine_set_user_agent(struct engine *e, struct weft_str user,
			  struct weft_str agent, struct arena *a,
			  struct weft_error *err)
{
	struct weft_str name = routing_person(e, user, a).name, key;
	struct session_rec book;
	int r = book_key(e, name, a, &key, err);

	if (r == WEFT_OK)
		r = text_check_line(agent, engine_limits(e)->name_bytes,
				    "agent", err);
	if (r == WEFT_OK)
		r = read_book(e, key, a, &book, err);
	if (r != WEFT_OK)
		return r;
	if (id_is_zero(&book.id) && agent.len)
		r = make_book(e, key, name, agent, &book, err);
	/* Nothing to forget, or it is so already. */
	if (r != WEFT_OK || str_eq(book.agent, agent))
		return r;
	return write_agent(e, &book.id, agent, err);
}

/* ---- choosing ---- */

/* The conversation that a person would have with one agent here. */
struct choice {
	struct route route;
	struct session_rec rec; /* id zero: there is none that goes on */
};

static int look_at(struct engine *e, struct choice *x, struct arena *a,
		   struct weft_error *err)
{
	const struct weft_str names[] = { x->route.key, x->route.person };
	size_t n = x->route.linked ? 2 : 1;
	struct name_rec found[2] = { 0 };
	const struct weft_id *id = &found[0].session;
	struct session_rec rec;
	int r = e->store->ops->get_names(e->store, names, n, a, found, err);

	if (r < 0)
		return r;
	if (id_is_zero(id))
		id = &found[1].session;
	if (id_is_zero(id))
		return WEFT_OK;
	r = engine_session(e, id, a, &rec, err);
	if (r != WEFT_OK)
		return r == WEFT_NOT_FOUND ? WEFT_OK : r;
	/* Another one's is refused when it is asked for; it is not this one. */
	if (!rec.deleted_at &&
	    route_check_hit(&x->route, &rec, id_eq(id, &found[1].session), a,
			    NULL) == WEFT_OK &&
	    !route_is_over(&x->route, &rec, engine_now_ms(e)))
		x->rec = rec;
	return WEFT_OK;
}

/* The agent whose conversation here was spoken in last; empty if none was. */
static int find_running(struct engine *e, const struct config *c,
			const struct route_request *q,
			const struct name_list *agents, const struct route *r,
			struct arena *a, struct weft_str *ret,
			struct weft_error *err)
{
	int64_t newest = INT64_MIN;

	*ret = STR("");
	for (size_t i = 0; i < agents->n && i < AGENTS_MAX; i++) {
		struct choice x = { .route = *r };
		int s;

		x.route.agent = agents->v[i];
		x.route.why = (struct name_list){ 0 };
		s = route_allocate(c, q, a, &x.route, err);
		if (s == WEFT_OK)
			s = look_at(e, &x, a, err);
		if (s != WEFT_OK)
			return s;
		if (!id_is_zero(&x.rec.id) &&
		    x.rec.last_interaction_at > newest) {
			newest = x.rec.last_interaction_at;
			*ret = agents->v[i];
		}
	}
	return WEFT_OK;
}

static bool has(const struct name_list *l, struct weft_str name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_eq(l->v[i], name))
			return true;
	}
	return false;
}

/* What the person used last, if there is such an agent; empty otherwise. */
static int last_used(struct engine *e, const struct config *c,
		     struct name_list *agents, const struct route *r,
		     struct arena *a, struct weft_str *ret,
		     struct weft_error *err)
{
	struct weft_str agent = STR("");
	int s = agent_in_book(e, r->who.name, a, &agent, err);

	*ret = STR("");
	/* An id that is too long for a book has none. */
	if (s != WEFT_OK)
		return s == WEFT_LIMIT || s == WEFT_INVALID ? WEFT_OK : s;
	if (norm_trim(agent).len == 0)
		return WEFT_OK;
	agent = route_agent_name(agent, a);
	if (c->agents.n == 0)
		name_list_add(agents, agent, a);
	if (has(agents, agent))
		*ret = agent;
	return WEFT_OK;
}

int agents_choose(struct engine *e, const struct config *c,
		  const struct route_request *q, struct arena *a,
		  struct route *r, struct weft_error *err)
{
	struct name_list agents = route_agents(c, a);
	struct weft_str used, running;
	int s;

	if (c->sticky_agent != CONFIG_TRUE || r->sender.len == 0)
		return WEFT_OK;
	r->notes_agent = str_eq(r->matched_by, STR("agent"));
	if (!route_by_default(r))
		return WEFT_OK;
	s = last_used(e, c, &agents, r, a, &used, err);
	if (s == WEFT_OK)
		s = find_running(e, c, q, &agents, r, a, &running, err);
	if (s != WEFT_OK || (!running.len && !used.len))
		return s;
	if (running.len)
		route_say(r, a, "sticky: '%.*s' talks to agent '%.*s' here",
			  STR_ARG(text_cut(r->sender, 64)), STR_ARG(running));
	else
		route_say(r, a, "sticky: '%.*s' used agent '%.*s' last",
			  STR_ARG(text_cut(r->sender, 64)), STR_ARG(used));
	r->agent = running.len ? running : used;
	r->matched_by = STR("sticky");
	return WEFT_OK;
}
