/*
 * list.c - pages of sessions, newest first, with cursors both ways.
 *
 * A cursor is text that means nothing to its holder: "n" or "p" (the page
 * after or before it), "i" or "c" (the order it belongs to), and the time and
 * id of the session it stands at.
 */
#include "api/api.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "model/record.h"

#define LIST_DEFAULT 50

static int64_t sort_ms(const struct list_query *q,
		       const struct session_rec *rec)
{
	return q->sort == LIST_BY_CREATION ? rec->created_at :
					     rec->last_interaction_at;
}

static char sort_letter(const struct list_query *q)
{
	return q->sort == LIST_BY_CREATION ? 'c' : 'i';
}

static void encode_cursor(struct buf *b, const struct list_query *q,
			  const struct session_rec *rec, char direction)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(&rec->id, id);
	buf_printf(b, "\"%c%c.%" PRId64 ".%s\"", direction, sort_letter(q),
		   sort_ms(q, rec), id);
}

/* "ni.1763200800000.01J..." */
static bool cursor_parse(struct weft_str s, struct list_query *q)
{
	struct weft_str id, ms;
	uint64_t n;

	if (s.len < 3 + 1 + 1 + WEFT_ID_CHARS || s.ptr[2] != '.' ||
	    (s.ptr[0] != 'n' && s.ptr[0] != 'p') || s.ptr[1] != sort_letter(q))
		return false;
	id = str_skip(s, s.len - WEFT_ID_CHARS);
	ms = (struct weft_str){ s.ptr + 3, s.len - 3 - 1 - WEFT_ID_CHARS };
	if (ms.ptr[ms.len] != '.' || !id_parse(id, &q->cursor_id) ||
	    id_is_zero(&q->cursor_id) || !str_to_u64(ms, INT64_MAX, &n))
		return false;
	q->cursor_ms = (int64_t)n;
	q->backwards = s.ptr[0] == 'p';
	return true;
}

static int query_kinds(struct call *c, struct list_query *q)
{
	struct weft_str kind = call_str(c, "kind");
	uint64_t k = KIND_PRIMARY;

	if (str_eq(kind, STR("all")))
		return WEFT_OK;
	if (str_eq(kind, STR("conversation"))) {
		q->kinds = UINT64_C(1) << KIND_PRIMARY |
			   UINT64_C(1) << KIND_SUBAGENT;
		return WEFT_OK;
	}
	if (kind.len)
		(void)session_kind_parse(kind, &k);
	/* The children of a session are asked for whatever they are. */
	if (kind.len || !call_has(c, "parent"))
		q->kinds = UINT64_C(1) << k;
	return WEFT_OK;
}

static int query_text(struct call *c, struct list_query *q)
{
	q->project_dir = call_str(c, "project_dir");
	q->agent = call_str(c, "agent");
	q->channel = call_str(c, "channel");
	q->user = call_str(c, "user");
	return text_fold(call_str(c, "query"), &c->arena, &q->folded, c->err);
}

static int query_fill(struct call *c, struct list_query *q)
{
	uint64_t limit = call_u64(c, "limit", LIST_DEFAULT);
	struct weft_str cursor = call_str(c, "cursor");
	int r;

	if (limit == 0 || limit > c->limits->page)
		return fail(c->err, limit ? WEFT_LIMIT : WEFT_INVALID,
			    "limit: expected 1 to %llu (page), found %llu",
			    (unsigned long long)c->limits->page,
			    (unsigned long long)limit);
	q->limit = (uint32_t)limit;
	q->sort = str_eq(call_str(c, "sort"), STR("created")) ?
			  LIST_BY_CREATION :
			  LIST_BY_INTERACTION;
	q->deleted = call_bool(c, "deleted") ? LIST_WITH_DELETED : LIST_LIVE;
	if (cursor.len && !cursor_parse(cursor, q))
		return fail(c->err, WEFT_INVALID,
			    "cursor: not from a list in this order");
	r = query_kinds(c, q);
	if (r == WEFT_OK && call_has(c, "parent"))
		r = engine_resolve(c->engine, call_str(c, "parent"), &q->parent,
				   c->err);
	if (r == WEFT_OK)
		r = query_text(c, q);
	return r;
}

/* A page that was reached by a cursor has a neighbour on that side. */
static void list_cursors(struct call *c, const struct list_query *q,
			 const struct session_page *p)
{
	bool came_back = q->backwards != 0;
	bool by_cursor = !id_is_zero(&q->cursor_id);
	bool next = came_back || p->more;
	bool prev = came_back ? p->more != 0 : by_cursor;

	buf_add_lit(&c->out, "],\"next\":");
	if (p->n > 0 && next)
		encode_cursor(&c->out, q, &p->v[p->n - 1], 'n');
	else
		buf_add_lit(&c->out, "null");
	buf_add_lit(&c->out, ",\"prev\":");
	if (p->n > 0 && prev)
		encode_cursor(&c->out, q, &p->v[0], 'p');
	else
		buf_add_lit(&c->out, "null");
	buf_add_c(&c->out, '}');
}

static int method_list(struct call *c)
{
	struct list_query q = { 0 };
	struct session_page page;
	int r;

	if (call_has(c, "key"))
		return list_chain(c);
	if (call_bool(c, "chain"))
		return fail(c->err, WEFT_INVALID,
			    "chain: needs the key that it is of");
	r = query_fill(c, &q);
	if (r != WEFT_OK)
		return r;
	r = c->store->ops->list(c->store, &q, &c->arena, &page, c->err);
	if (r != WEFT_OK)
		return r;
	buf_add_lit(&c->out, "{\"sessions\":[");
	r = encode_sessions(c, page.v, page.n);
	if (r != WEFT_OK)
		return r;
	list_cursors(c, &q, &page);
	return WEFT_OK;
}

/* ---- the rows of the table ---- */

static const struct field fields_list[] = {
	{ .name = "query",
	  .about = "text in title, project or first message of the user; "
		   "case and accents do not count",
	  .type = TYPE_LINE },
	{ .name = "kind",
	  .about = "conversation: primary and subagent; default primary, "
		   "with parent all",
	  .type = TYPE_CHOICE,
	  .values = "primary|subagent|conversation|book|all" },
	{ .name = "parent",
	  .about = "only forks and subagents of this session",
	  .type = TYPE_LINE },
	{ .name = "project_dir",
	  .about = "only those about this directory",
	  .type = TYPE_LINE },
	{ .name = "agent",
	  .about = "only those of this agent",
	  .type = TYPE_LINE },
	{ .name = "channel",
	  .about = "only those on this channel",
	  .type = TYPE_LINE },
	{ .name = "user",
	  .about = "only those of this user",
	  .type = TYPE_LINE },
	{ .name = "key",
	  .about = "only the session that has this key; only chain, deleted, "
		   "limit and cursor count besides",
	  .type = TYPE_LINE },
	{ .name = "chain",
	  .about = "with key: also those that had it before, newest first",
	  .type = TYPE_BOOLEAN },
	{ .name = "deleted",
	  .about = "also those that were deleted",
	  .type = TYPE_BOOLEAN },
	{ .name = "sort",
	  .about = "by the last interaction or by creation, newest first; "
		   "default interaction",
	  .type = TYPE_CHOICE,
	  .values = "interaction|created" },
	{ .name = "limit",
	  .about = "at most so many; default 50, maximum: page",
	  .type = TYPE_INTEGER },
	{ .name = "cursor",
	  .about = "next or prev of another page of the same list",
	  .type = TYPE_LINE },
};

static const struct method rows[] = {
	{ .name = "list",
	  .about = "List sessions, newest first.",
	  .answer = "`{\"sessions\":[...],\"next\",\"prev\"}`; next and prev "
		    "are cursors, or null",
	  .right = RIGHT_READ,
	  FIELDS(fields_list),
	  .run = method_list },
};

const struct method_group methods_list = METHOD_GROUP(rows);
