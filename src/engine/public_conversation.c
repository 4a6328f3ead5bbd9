/* public_conversation.c - routing in steps, as programs call it. */
#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "engine/internal.h"

#define CONVERSATION_BYTES_MAX MIB(64)

struct weft_conversation {
	struct arena arena; /* of everything in it */
	struct route_request request;
	struct route route;
	bool allocated; /* it is known which conversation it is */
};

void weft_conversation_free(struct weft_conversation *c)
{
	if (!c)
		return;
	arena_done(&c->arena);
	mem_free(c);
}

/* The caller's texts live only as long as the call. */
static int keep_request(struct weft_conversation *c, struct weft_error *err)
{
	struct route_request *q = &c->request;
	struct weft_str *v[] = {
		&q->context.channel,
		&q->context.account,
		&q->context.chat_type,
		&q->context.chat_id,
		&q->context.topic_id,
		&q->context.space_type,
		&q->context.space_id,
		&q->context.sender_id,
		&q->agent,
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		if (v[i]->len && !v[i]->ptr)
			return fail(err, WEFT_INVALID,
				    "a text without a place is given");
		*v[i] = arena_str(&c->arena, *v[i]);
	}
	q->session_key = STR("");
	return c->arena.failed ? arena_error(&c->arena, err) : WEFT_OK;
}

int weft_resolve_route(struct weft_store *store,
		       const struct weft_route_options *options,
		       struct weft_conversation **ret, struct weft_error *err)
{
	struct weft_conversation *c;
	struct engine *e;
	int r = handle_engine(store, &e, err);

	if (r != WEFT_OK)
		return r;
	if (!ret)
		return fail(err, WEFT_INVALID, "no place for the answer given");
	c = mem_zero(1, sizeof(*c));
	if (!c)
		return fail_no_memory(err);
	arena_init(&c->arena, CONVERSATION_BYTES_MAX);
	r = route_options_take(options, &c->request, NULL, err);
	if (r == WEFT_OK)
		r = keep_request(c, err);
	if (r == WEFT_OK)
		r = engine_choose(e, &c->request, &c->arena, &c->route, err);
	if (r != WEFT_OK)
		weft_conversation_free(c);
	else
		*ret = c;
	return r;
}

int weft_allocate_session(struct weft_store *store, struct weft_conversation *c,
			  struct weft_error *err)
{
	struct engine *e;
	int r = handle_engine(store, &e, err);

	if (r != WEFT_OK)
		return r;
	if (!c)
		return fail(err, WEFT_INVALID, "no conversation given");
	if (c->allocated)
		return WEFT_OK;
	r = engine_allocate(e, &c->request, &c->arena, &c->route, err);
	c->allocated = r == WEFT_OK;
	return r;
}

static int check_allocated(const struct weft_conversation *c,
			   struct weft_error *err)
{
	if (!c)
		return fail(err, WEFT_INVALID, "no conversation given");
	return c->allocated ? WEFT_OK :
			      fail(err, WEFT_INVALID,
				   "it is not known yet which conversation it "
				   "is: call weft_allocate_session");
}

int weft_resolve_key(struct weft_conversation *c, const char *key,
		     size_t key_len, struct weft_error *err)
{
	int r = check_allocated(c, err);

	if (r != WEFT_OK)
		return r;
	if (key_len && (!key || key_len > ROUTE_TEXT_MAX))
		return fail(err, WEFT_INVALID, "session_key: not a key");
	c->request.session_key =
		arena_str(&c->arena, (struct weft_str){ key, key_len });
	return route_take_key(&c->request, &c->arena, &c->route, err);
}

int weft_ensure_session(struct weft_store *store, struct weft_conversation *c,
			struct weft_routed *ret, struct weft_error *err)
{
	struct route_end end;
	struct engine *e;
	int r = handle_engine(store, &e, err);

	if (r == WEFT_OK)
		r = check_allocated(c, err);
	if (r == WEFT_OK)
		r = engine_route(e, &c->route, false, &c->arena, &end, err);
	if (r == WEFT_OK && ret)
		routed_fill(&c->route, &end, ret);
	return r;
}

/* ---- texts ---- */

static void add_names(struct buf *b, const struct name_list *l)
{
	buf_add_c(b, '[');
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			buf_add_c(b, ',');
		buf_add_json(b, l->v[i]);
	}
	buf_add_c(b, ']');
}

static const char *keep_text(struct weft_conversation *c, struct weft_str s,
			     size_t *ret_len)
{
	s = arena_str(&c->arena, s);
	if (s.ptr && ret_len)
		*ret_len = s.len;
	return s.ptr;
}

/* What is more than one text is made when it is asked for. */
static const char *made_text(struct weft_conversation *c, const char *name,
			     size_t *ret_len)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	const struct route *r = &c->route;

	buf_init(&b, CONVERSATION_BYTES_MAX);
	if (strcmp(name, "why") == 0)
		add_names(&b, &r->why);
	else if (strcmp(name, "warnings") == 0)
		add_names(&b, &r->warnings);
	else if (c->allocated && strcmp(name, "scope") == 0)
		scope_encode(&b, &r->scope);
	else if (c->allocated && strcmp(name, "aliases") == 0)
		add_names(&b, &r->aliases);
	else if (c->allocated && strcmp(name, "main_aliases") == 0)
		add_names(&b, &r->main_aliases);
	else
		return NULL;
	return b.error ? NULL : keep_text(c, buf_str(&b), ret_len);
}

const char *weft_conversation_text(struct weft_conversation *c,
				   const char *name, size_t *ret_len)
{
	const struct {
		const char *name;
		const struct weft_str *text;
		bool early; /* known before it is allocated */
	} v[] = {
		{ "agent", c ? &c->route.agent : NULL, true },
		{ "matched_by", c ? &c->route.matched_by : NULL, true },
		{ "signature", c ? &c->route.signature : NULL, false },
		{ "key", c ? &c->route.key : NULL, false },
		{ "main_key", c ? &c->route.main_key : NULL, false },
	};

	if (!c || !name)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		if (strcmp(name, v[i].name) == 0)
			return c->allocated || v[i].early ?
				       keep_text(c, *v[i].text, ret_len) :
				       NULL;
	}
	return made_text(c, name, ret_len);
}
