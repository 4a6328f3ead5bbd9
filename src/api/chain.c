/*
 * chain.c - the sessions that a key has had, newest first.
 *
 * Each names the one before it, so that a page is as many reads.  A cursor is
 * "k." and the id of the session that the next page begins with.
 */
#include "api/api.h"

#include "base/error.h"
#include "base/id.h"

#define CHAIN_DEFAULT 50

/* The session that has the key now.  What people type for a session may also
 * be a title or part of an id; a key is a key. */
static int find_keyed(struct call *c, struct weft_id *ret)
{
	struct weft_str key = call_str(c, "key");
	struct name_rec name = { .session = { { 0 } } };
	int r = c->store->ops->get_names(c->store, &key, 1, &c->arena, &name,
					 c->err);

	if (r == WEFT_OK && id_is_zero(&name.session))
		r = fail(c->err, WEFT_NOT_FOUND,
			 "no session has the key '%.*s'", STR_ARG(key));
	*ret = name.session;
	return r;
}

/* Where the page begins. */
static int chain_begin(struct call *c, struct weft_id *ret)
{
	struct weft_str cursor = call_str(c, "cursor");

	if (!cursor.len)
		return find_keyed(c, ret);
	if (cursor.len != 2 + WEFT_ID_CHARS || !str_starts(cursor, STR("k.")) ||
	    !id_parse(str_skip(cursor, 2), ret))
		return fail(c->err, WEFT_INVALID,
			    "cursor: not from a list of a key");
	return WEFT_OK;
}

static int add_session(struct call *c, const struct session_rec *rec,
		       uint64_t *n)
{
	if (rec->deleted_at && !call_bool(c, "deleted"))
		return WEFT_OK;
	if ((*n)++)
		buf_add_c(&c->out, ',');
	return encode_session(c, rec);
}

static void add_cursor(struct call *c, const struct weft_id *next)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(next, id);
	buf_add_lit(&c->out, "],\"next\":");
	if (id_is_zero(next) || !call_bool(c, "chain"))
		buf_add_lit(&c->out, "null");
	else
		buf_printf(&c->out, "\"k.%s\"", id);
	buf_add_lit(&c->out, ",\"prev\":null}");
}

int list_chain(struct call *c)
{
	uint64_t limit = call_u64(c, "limit", CHAIN_DEFAULT), n = 0;
	struct session_rec rec;
	struct weft_id id;
	int r = chain_begin(c, &id);

	if (r != WEFT_OK)
		return r;
	if (limit == 0 || limit > c->limits->page)
		return fail(c->err, limit ? WEFT_LIMIT : WEFT_INVALID,
			    "limit: expected 1 to %llu (page), found %llu",
			    (unsigned long long)c->limits->page,
			    (unsigned long long)limit);
	buf_add_lit(&c->out, "{\"sessions\":[");
	/* A page is bounded also where nothing of it is shown. */
	for (uint64_t i = 0; i < limit && !id_is_zero(&id); i++) {
		r = engine_session(c->engine, &id, &c->arena, &rec, c->err);
		/* One that was purged ends the chain. */
		if (r == WEFT_NOT_FOUND && i > 0) {
			id = (struct weft_id){ { 0 } };
			break;
		}
		if (r == WEFT_OK)
			r = add_session(c, &rec, &n);
		if (r != WEFT_OK)
			return r;
		id = rec.previous;
		if (!call_bool(c, "chain"))
			break;
	}
	add_cursor(c, &id);
	return WEFT_OK;
}
