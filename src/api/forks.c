/* forks.c - methods about how sessions come from one another. */
#include "api/api.h"

#include "base/error.h"
#include "base/id.h"
#include "base/table.h"

/* ---- fork ---- */

static int fork_fill(struct call *c, const struct session_rec *rec,
		     struct request *q)
{
	struct weft_str provider, name, op = call_str(c, "op");
	uint64_t at = 0;
	int r = WEFT_OK;

	q->session = rec->id;
	if (op.len)
		q->op = arena_str(&q->arena, op);
	if (call_str(c, "slug").len)
		q->create.slug = arena_str(&q->arena, call_str(c, "slug"));
	call_model(c, "model", &provider, &name);
	if (name.len) {
		q->create.model_provider = arena_str(&q->arena, provider);
		q->create.model_name = arena_str(&q->arena, name);
	}
	if (call_has(c, "at"))
		r = call_ref(c, rec, call_val(c, "at"), &at);
	return r == WEFT_OK ? engine_fork_at(c->engine, rec, at, q, c->err) : r;
}

static int method_fork(struct call *c)
{
	struct session_rec rec;
	struct request *q;
	struct weft_id id;
	bool replayed;
	int r = call_session(c, &rec);

	if (r != WEFT_OK)
		return r;
	q = request_new(REQUEST_FORK, c->err);
	if (!q)
		return WEFT_NO_MEMORY;
	r = fork_fill(c, &rec, q);
	if (r != WEFT_OK) {
		request_free(q);
		return r;
	}
	r = call_run(c, q);
	if (r != WEFT_OK)
		return r;
	id = q->ret_session;
	replayed = q->ret_replayed != 0;
	request_free(q);
	r = call_answer_session(c, &id);
	if (r == WEFT_OK && replayed) {
		c->out.len--; /* the closing brace */
		buf_add_lit(&c->out, ",\"replayed\":true}");
	}
	return r;
}

/* ---- tree ---- */

/* A session of a family. */
struct member {
	struct table_node node;
	struct member *next; /* in the order of finding */
	struct session_rec rec;
	struct member *children, **last_child, *sibling;
};

struct family {
	struct table table;
	struct member *first, **last;
};

static struct member *find_member(const struct family *f,
				  const struct weft_id *id)
{
	struct table_node *n = table_first(&f->table, id_hash(id));

	for (; n; n = table_next(n)) {
		struct member *m = TABLE_ENTRY(n, struct member, node);

		if (id_eq(&m->rec.id, id))
			return m;
	}
	return NULL;
}

static int add_member(struct call *c, struct family *f,
		      const struct session_rec *rec)
{
	struct member *m = ARENA_NEW(&c->arena, struct member);

	if (!m)
		return arena_error(&c->arena, c->err);
	if (table_add(&f->table, &m->node, id_hash(&rec->id)) < 0)
		return fail_no_memory(c->err);
	m->rec = *rec;
	m->last_child = &m->children;
	*f->last = m;
	f->last = &m->next;
	return WEFT_OK;
}

/* All whose parent it is, oldest last. */
static int add_children(struct call *c, struct family *f,
			const struct weft_id *parent)
{
	struct list_query q = {
		.parent = *parent,
		.sort = LIST_BY_CREATION,
		.deleted =
			call_bool(c, "deleted") ? LIST_WITH_DELETED : LIST_LIVE,
	};
	struct session_page page;

	do {
		int r = c->store->ops->list(c->store, &q, &c->arena, &page,
					    c->err);

		for (size_t i = 0; r == WEFT_OK && i < page.n; i++) {
			if (!find_member(f, &page.v[i].id))
				r = add_member(c, f, &page.v[i]);
		}
		if (r != WEFT_OK)
			return r;
		if (page.n) {
			q.cursor_id = page.v[page.n - 1].id;
			q.cursor_ms = page.v[page.n - 1].created_at;
		}
	} while (page.more && page.n);
	return WEFT_OK;
}

/* Everybody who descends from the first member; then each under the one it
 * was forked from, or works for. */
static int gather(struct call *c, struct family *f)
{
	for (struct member *m = f->first; m; m = m->next) {
		int r = add_children(c, f, &m->rec.id);

		if (r != WEFT_OK)
			return r;
	}
	for (struct member *m = f->first; m; m = m->next) {
		struct member *above = find_member(f, &m->rec.forked_from);

		if (!above)
			above = find_member(f, &m->rec.parent);
		if (!above || above == m)
			continue;
		*above->last_child = m;
		above->last_child = &m->sibling;
	}
	return WEFT_OK;
}

/* Depth first without recursion: a family may be thousands deep. */
static int encode_tree(struct call *c, struct member *top)
{
	struct member **way;
	size_t depth = 0, room = 0;

	for (struct member *m = top; m; m = m->next)
		room++;
	way = ARENA_ARRAY(&c->arena, struct member *, room + 2);
	if (!way)
		return arena_error(&c->arena, c->err);
	for (struct member *m = top; m;) {
		int r;

		buf_add_lit(&c->out, "{\"session\":");
		r = encode_session(c, &m->rec);
		if (r != WEFT_OK)
			return r;
		buf_add_lit(&c->out, ",\"children\":[");
		if (m->children) {
			way[depth++] = m;
			m = m->children;
			continue;
		}
		buf_add_lit(&c->out, "]}");
		while (depth && !m->sibling) {
			m = way[--depth];
			buf_add_lit(&c->out, "]}");
		}
		if (!depth)
			break;
		buf_add_c(&c->out, ',');
		m = m->sibling;
	}
	return WEFT_OK;
}

static int method_tree(struct call *c)
{
	struct family f = { .last = &f.first };
	struct session_rec rec, root;
	int r = call_session(c, &rec);

	if (r != WEFT_OK)
		return r;
	/* From the root: what was forked from an inherited message has that
	 * message's session for its parent. */
	r = engine_session(c->engine, &rec.root, &c->arena, &root, c->err);
	r = add_member(c, &f, r == WEFT_OK ? &root : &rec);
	if (r == WEFT_OK)
		r = gather(c, &f);
	if (r == WEFT_OK && !find_member(&f, &rec.id))
		r = add_member(c, &f, &rec); /* deleted, and asked for by id */
	if (r == WEFT_OK)
		r = encode_tree(c, find_member(&f, &rec.id));
	table_done(&f.table);
	return r;
}

/* ---- the rows of the table ---- */

static const struct field fields_fork[] = {
	FIELD_SESSION,
	{ .name = "at",
	  .about = "the last message that the fork has; default the last",
	  .type = TYPE_REF },
	{ .name = "slug",
	  .about = "a title for people",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(slug_bytes) },
	{ .name = "model",
	  .about = "the model it is held with; default that of the session",
	  .type = TYPE_MODEL,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "op",
	  .about = "operation id: the same one again is the same fork",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(op_bytes) },
};

static const struct field fields_tree[] = {
	FIELD_SESSION,
	{ .name = "deleted",
	  .about = "also those that were deleted",
	  .type = TYPE_BOOLEAN },
};

static const struct method rows[] = {
	{ .name = "fork",
	  .about = "Begin a session that goes on where another one was; "
		   "nothing is copied.",
	  .answer = "the new session",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_fork),
	  .run = method_fork },
	{ .name = "tree",
	  .about = "Show a session with its forks and subagents.",
	  .answer = "`{\"session\":{...},\"children\":[...]}`, each child "
		    "alike, newest first",
	  .right = RIGHT_READ,
	  FIELDS(fields_tree),
	  .run = method_tree },
};

const struct method_group methods_forks = METHOD_GROUP(rows);
