/* resolve.c - find a session as people name it. */
#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "engine/internal.h"

#define PREFIX_MIN 6

/* The largest that the limits name_bytes and slug_bytes may be. */
#define NAMING_BYTES_MAX KIB(64)

/* How many of the sessions that match are named in the error. */
#define LISTED_MAX 5

#define ARENA_BYTES MIB(16)

static int ambiguous(struct weft_str name, const struct session_page *page,
		     struct weft_error *err)
{
	char list[LISTED_MAX * (WEFT_ID_CHARS + 2) + 1];
	size_t n = page->n < LISTED_MAX ? page->n : LISTED_MAX;
	char *p = list;

	for (size_t i = 0; i < n; i++) {
		if (i) {
			*p++ = ',';
			*p++ = ' ';
		}
		id_format(&page->v[i].id, p);
		p += WEFT_ID_CHARS;
	}
	*p = '\0';
	return fail(err, WEFT_AMBIGUOUS,
		    "'%.*s' could be %s%s: say which by its id", STR_ARG(name),
		    list, page->n > n || page->more ? " and others" : "");
}

/* 1 and the only session that matches, 0 if there is none. */
static int find_only(struct engine *e, struct weft_str name,
		     const struct list_query *q, struct arena *a,
		     struct weft_id *ret, struct weft_error *err)
{
	struct session_page page = { 0 };
	int r = e->store->ops->list(e->store, q, a, &page, err);

	if (r < 0)
		return r;
	if (page.n > 1)
		return ambiguous(name, &page, err);
	if (page.n == 0)
		return 0;
	*ret = page.v[0].id;
	return 1;
}

static int find_name(struct engine *e, struct weft_str name, struct arena *a,
		     struct weft_id *ret, struct weft_error *err)
{
	struct name_rec rec = { 0 };
	int r = e->store->ops->get_names(e->store, &name, 1, a, &rec, err);

	if (r < 0)
		return r;
	if (rec.ver == 0 || id_is_zero(&rec.session))
		return 0;
	*ret = rec.session;
	return 1;
}

static int find_slug(struct engine *e, struct weft_str name, struct arena *a,
		     struct weft_id *ret, struct weft_error *err)
{
	const struct list_query q = {
		.slug = name,
		.deleted = LIST_LIVE,
		.limit = LISTED_MAX + 1,
	};

	if (name.len > engine_limits(e)->slug_bytes)
		return 0;
	return find_only(e, name, &q, a, ret, err);
}

static int find_prefix(struct engine *e, struct weft_str name, struct arena *a,
		       struct weft_id *ret, struct weft_error *err)
{
	struct list_query q = {
		.deleted = LIST_LIVE,
		.limit = LISTED_MAX + 1,
	};

	if (name.len < PREFIX_MIN || name.len > WEFT_ID_CHARS ||
	    !id_prefix_range(name, &q.id_low, &q.id_high))
		return 0;
	return find_only(e, name, &q, a, ret, err);
}

static int fail_unknown(struct weft_str name, struct weft_error *err)
{
	struct weft_id low, high;
	/* All ids of these centuries begin with it. */
	bool too_short = name.len < PREFIX_MIN && name.ptr[0] == '0' &&
			 id_prefix_range(name, &low, &high);

	if (too_short)
		return fail(err, WEFT_NOT_FOUND,
			    "no session '%.*s'; the beginning of an id needs "
			    "%d characters or more",
			    STR_ARG(name), PREFIX_MIN);
	return fail(err, WEFT_NOT_FOUND, "no session '%.*s'",
		    STR_ARG(text_cut(name, 64)));
}

int resolve_quickly(struct engine *e, struct weft_str name, struct weft_id *ret,
		    struct weft_error *err)
{
	CLEANUP(arena_done) struct arena arena;
	struct weft_id id;
	int r = engine_check_process(e, err);

	arena_init(&arena, ARENA_BYTES);
	if (r < 0)
		return r;
	/* A name never looks like an id: nothing is hidden by this. */
	if (id_parse(name, ret))
		return WEFT_OK;
	if (!name.len)
		return fail(err, WEFT_INVALID,
			    "session: missing; give an id, key, "
			    "alias or title");
	/* Not a byte of it need be there. */
	if (name.len > NAMING_BYTES_MAX)
		return fail(err, WEFT_NOT_FOUND,
			    "no session: nothing is named with %zu bytes",
			    name.len);
	r = text_check_line(name, NAMING_BYTES_MAX, "session", err);
	if (r < 0)
		return r;
	r = find_name(e, name, &arena, &id, err);
	if (r == 0)
		r = find_slug(e, name, &arena, &id, err);
	if (r == 0)
		r = find_prefix(e, name, &arena, &id, err);
	if (r < 0)
		return r;
	if (r == 0)
		return fail_unknown(name, err);
	*ret = id;
	return WEFT_OK;
}

int engine_resolve(struct engine *e, struct weft_str name, struct weft_id *ret,
		   struct weft_error *err)
{
	CLEANUP(arena_done) struct arena arena;
	struct session_rec rec;
	struct weft_id id;
	int r = resolve_quickly(e, name, &id, err);

	arena_init(&arena, ARENA_BYTES);
	if (r < 0)
		return r;
	r = engine_session(e, &id, &arena, &rec, err);
	if (r == WEFT_OK)
		*ret = id;
	return r;
}
