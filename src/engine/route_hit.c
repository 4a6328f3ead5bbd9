/*
 * route_hit.c - a session that routing has found: is it the one that is meant,
 * whose is it, and what is not known of it yet.
 */
#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "engine/internal.h"

static int fail_other(const struct route *r, const struct session_rec *rec,
		      const struct scope *stored, struct arena *a,
		      struct weft_error *err)
{
	struct weft_str found = scope_signature(stored, a);
	struct weft_str asked = scope_signature(&r->scope, a);
	char id[WEFT_ID_CHARS + 1];

	id_format(&rec->id, id);
	return fail(err, WEFT_CONFLICT,
		    "'%.*s' is session %s of another conversation: it is of "
		    "'%.*s', this is '%.*s'",
		    STR_ARG(text_cut(r->key, 80)), id,
		    STR_ARG(text_cut(found, 120)),
		    STR_ARG(text_cut(asked, 120)));
}

int route_check_hit(const struct route *r, const struct session_rec *rec,
		    bool holds_person, struct arena *a, struct weft_error *err)
{
	struct scope stored;
	int e;

	/* Somebody gave it this key by hand: there is nothing to compare but
	 * whose it is. */
	if (rec->scope.len == 0)
		return route_check_owner(r, rec, a, err);
	e = scope_parse(rec->scope, a, &stored, err);
	if (e != WEFT_OK)
		return e;
	return route_fits(r, &stored, holds_person) ?
		       WEFT_OK :
		       fail_other(r, rec, &stored, a, err);
}

/* ---- whose is it? ---- */

struct weft_str route_owner(const struct route *r)
{
	return r->group ? STR("") : r->who.name;
}

static bool is_user(const struct route *r, const struct session_rec *rec,
		    struct arena *a)
{
	struct weft_str channel = rec->channel.len ? rec->channel : r->channel;

	/* Who is called like a link is not taken for that person. */
	if (r->namesake)
		return str_eq(rec->user, r->who.name);
	return person_is_user(&r->who, rec->user, channel, rec->scope.len > 0,
			      a);
}

int route_check_owner(const struct route *r, const struct session_rec *rec,
		      struct arena *a, struct weft_error *err)
{
	char id[WEFT_ID_CHARS + 1];

	/* The configuration, or the caller, says that they may. */
	if (r->own_key || r->shared || rec->user.len == 0)
		return WEFT_OK;
	if (!r->group && (r->who.name.len == 0 || is_user(r, rec, a)))
		return WEFT_OK;
	id_format(&rec->id, id);
	return fail(
		err, WEFT_CONFLICT,
		"'%.*s' is session %s of user '%.*s', this is a message "
		"%s '%.*s': if it is theirs too, say so ('weft set %s "
		"user=', or an identity link), otherwise give the session "
		"another key",
		STR_ARG(text_cut(r->key, 80)), id,
		STR_ARG(text_cut(rec->user, 64)),
		r->group ? "of the group" : "of",
		STR_ARG(text_cut(r->group ? r->signature : r->who.name, 120)),
		id);
}

/* ---- what is not known yet ---- */

/* Who it is of from now on, in the place of rec->user. */
static struct weft_str user_now(const struct route *r,
				const struct session_rec *rec, struct arena *a)
{
	struct weft_str user = route_owner(r);

	if (user.len == 0 || str_eq(rec->user, STR(PERSON_SEVERAL)))
		return rec->user;
	if (rec->user.len == 0 || is_user(r, rec, a))
		return user;
	return STR(PERSON_SEVERAL);
}

void route_find_lacks(const struct route *r, const struct session_rec *rec,
		      struct arena *a, struct route_lacks *ret)
{
	struct routed_patch *p = &ret->patch;
	struct weft_str user;

	*ret = (struct route_lacks){ .several = false };
	/* Whoever names a session, or gives it a name by hand, means it as it
	 * is. */
	if (r->own_key || (rec->scope.len == 0 && !str_eq(rec->key, r->key)))
		return;
	user = user_now(r, rec, a);
	ret->scope = rec->scope.len == 0;
	ret->several = !r->group && str_eq(user, STR(PERSON_SEVERAL));
	if (!str_eq(user, rec->user))
		p->user = user;
	if (rec->channel.len == 0 && r->channel.len)
		p->channel = r->channel;
	if (r->role.len && str_eq(user, r->who.name) && !r->group &&
	    !str_eq(rec->user_role, r->role))
		p->user_role = r->role;
}
