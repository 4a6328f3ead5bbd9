/*
 * memories.c - methods about what is to be remembered.
 *
 * A memory of a session is an event of that session.  Those of a project and
 * of the whole store are events of books, which are made when something is
 * first put into them, and found by their keys.
 */
#include "model/memory.h"
#include "model/search.h"

#include "api/api.h"
#include "base/error.h"
#include "base/id.h"
#include "base/text.h"

#define KEY_GLOBAL  "book:global"
#define KEY_PROJECT "book:project:"

#define PATH_BYTES  4096 /* what the system takes */
#define TITLE_CHARS 72   /* of a title that is made from the content */

enum memory_scope { SCOPE_NONE, SCOPE_GLOBAL, SCOPE_PROJECT, SCOPE_SESSION };

static const char *const scope_names[] = {
	[SCOPE_NONE] = "",
	[SCOPE_GLOBAL] = "global",
	[SCOPE_PROJECT] = "project",
	[SCOPE_SESSION] = "session",
};

/* Where memories are. */
struct place {
	enum memory_scope scope;
	struct weft_str project_dir; /* SCOPE_PROJECT */
	struct weft_str key;         /* of the book */
	bool there;                  /* there is a session, whose record is */
	struct session_rec rec;
};

/* ---- places ---- */

static enum memory_scope scope_asked_for(const struct call *c)
{
	struct weft_str s = call_str(c, "scope");

	for (enum memory_scope i = SCOPE_GLOBAL; i <= SCOPE_SESSION; i++) {
		if (str_eq(s, str_of(scope_names[i])))
			return i;
	}
	return SCOPE_NONE;
}

/* The directory that is meant: "/srv/x/" is "/srv/x". */
static struct weft_str without_slash(struct weft_str dir)
{
	while (dir.len > 1 && dir.ptr[dir.len - 1] == '/')
		dir.len--;
	return dir;
}

static int find_session(struct call *c, struct place *p)
{
	int r;

	if (!call_has(c, "session"))
		return fail(c->err, WEFT_INVALID,
			    "session: needed for memories of a session");
	r = call_session(c, &p->rec);
	p->there = r == WEFT_OK;
	return r;
}

static int find_book(struct call *c, struct place *p)
{
	struct name_rec name;
	int r = c->store->ops->get_names(c->store, &p->key, 1, &c->arena, &name,
					 c->err);

	if (r != WEFT_OK || id_is_zero(&name.session))
		return r;
	r = engine_session(c->engine, &name.session, &c->arena, &p->rec,
			   c->err);
	if (r == WEFT_OK && p->rec.kind != KIND_BOOK)
		r = fail(c->err, WEFT_CONFLICT,
			 "'%.*s' is the name of a session that is no book",
			 STR_ARG(p->key));
	p->there = r == WEFT_OK;
	return r;
}

/* How long a directory may be to be part of a book's key. */
static size_t project_room(const struct call *c)
{
	size_t before = sizeof(KEY_PROJECT) - 1;
	size_t all = (size_t)u64_min(c->limits->name_bytes, PATH_BYTES);

	return all > before ? all - before : 0;
}

/* The project that is named, or that of the session that is named. */
static int find_project(struct call *c, struct place *p)
{
	size_t room = project_room(c);
	struct session_rec rec = { 0 };
	int r = WEFT_OK;

	p->project_dir = call_str(c, "project_dir");
	if (!call_has(c, "project_dir") && call_has(c, "session")) {
		r = call_session(c, &rec);
		p->project_dir = rec.project_dir;
	}
	if (r != WEFT_OK)
		return r;
	p->project_dir = without_slash(p->project_dir);
	if (!p->project_dir.len)
		return fail(c->err, WEFT_INVALID,
			    "project_dir: needed for memories of a project");
	if (p->project_dir.len > room)
		return fail(c->err, WEFT_LIMIT,
			    "project_dir: %zu bytes, the limit is %zu (limit "
			    "name_bytes)",
			    p->project_dir.len, room);
	p->key = arena_printf(&c->arena, KEY_PROJECT "%.*s",
			      STR_ARG(p->project_dir));
	if (!p->key.ptr)
		return arena_error(&c->arena, c->err);
	return find_book(c, p);
}

static int find_place(struct call *c, enum memory_scope scope,
		      struct place *ret)
{
	*ret = (struct place){ .scope = scope };
	switch (scope) {
	case SCOPE_SESSION:
		return find_session(c, ret);
	case SCOPE_PROJECT:
		return find_project(c, ret);
	default:
		ret->key = STR(KEY_GLOBAL);
		return find_book(c, ret);
	}
}

static int make_book(struct call *c, struct place *p)
{
	struct request *q = request_new(REQUEST_CREATE, c->err);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	q->create.kind = KIND_BOOK;
	q->create.key = arena_str(&q->arena, p->key);
	q->create.project_dir = p->project_dir.len ?
					arena_str(&q->arena, p->project_dir) :
					STR("");
	r = call_run(c, q);
	if (r != WEFT_OK)
		return r;
	p->rec.id = q->ret_session;
	request_free(q);
	return WEFT_OK;
}

/* ---- shape ---- */

/* What a memory without a title is called: its first line. */
static struct weft_str title_of(const struct memory *m)
{
	const char *end;

	if (m->title.len)
		return m->title;
	end = m->content.len ? memchr(m->content.ptr, '\n', m->content.len) :
			       NULL;
	return text_cut(
		(struct weft_str){ m->content.ptr,
				   end ? (size_t)(end - m->content.ptr) :
					 m->content.len },
		TITLE_CHARS);
}

static void encode_memory(struct buf *b, const struct place *p,
			  const struct memory_rec *m)
{
	static const struct weft_id none;
	bool in_session = p->scope == SCOPE_SESSION;

	buf_add_lit(b, "{\"id\":");
	encode_id(b, &m->id);
	buf_printf(b, ",\"scope\":\"%s\",\"session\":", scope_names[p->scope]);
	encode_id(b, in_session ? &p->rec.id : &none);
	buf_add_lit(b, ",\"project_dir\":");
	encode_text_or_null(b, p->project_dir);
	buf_add_lit(b, ",\"title\":");
	buf_add_json(b, title_of(&m->memory));
	buf_add_lit(b, ",\"content\":");
	buf_add_json(b, m->memory.content);
	buf_add_lit(b, ",\"source\":");
	encode_text_or_null(b, m->memory.source);
	buf_add_lit(b, ",\"created_at\":");
	encode_time(b, m->created_at);
	buf_add_lit(b, ",\"updated_at\":");
	encode_time(b, m->deleted_at ? m->deleted_at : m->created_at);
	buf_add_lit(b, ",\"deleted_at\":");
	encode_time(b, m->deleted_at);
	buf_add_c(b, '}');
}

static int answer_one(struct call *c, const struct place *p,
		      const struct memory_rec *m)
{
	buf_add_lit(&c->out, "{\"memories\":[");
	encode_memory(&c->out, p, m);
	buf_add_lit(&c->out, "],\"more\":false}");
	return WEFT_OK;
}

/* ---- add ---- */

static enum memory_scope scope_to_add(const struct call *c)
{
	enum memory_scope scope = scope_asked_for(c);

	if (scope != SCOPE_NONE)
		return scope;
	if (call_has(c, "session"))
		return SCOPE_SESSION;
	return call_has(c, "project_dir") ? SCOPE_PROJECT : SCOPE_GLOBAL;
}

static int write_memory(struct call *c, const struct place *p,
			const struct memory *m, struct weft_id *ret)
{
	CLEANUP(buf_done) struct buf body = { 0 };
	struct request *q = NULL;
	int r;

	buf_init(&body, SIZE_MAX);
	memory_body(&body, m);
	r = buf_error(&body, c->err);
	if (r == WEFT_OK)
		r = call_plain(c, &p->rec.id, EVENT_MEMORY, buf_str(&body), &q);
	if (r != WEFT_OK)
		return r;
	*ret = q->ret_id;
	request_free(q);
	return WEFT_OK;
}

static int method_memory_add(struct call *c)
{
	struct memory_rec m = {
		.memory = {
			.title = call_str(c, "title"),
			.content = call_str(c, "content"),
			.source = call_str(c, "source"),
		},
	};
	struct place p;
	int r = memory_check(&m.memory, c->limits, c->err);

	if (r == WEFT_OK)
		r = find_place(c, scope_to_add(c), &p);
	if (r == WEFT_OK && !p.there)
		r = make_book(c, &p);
	if (r == WEFT_OK)
		r = write_memory(c, &p, &m.memory, &m.id);
	if (r != WEFT_OK)
		return r;
	m.created_at = id_time_ms(&m.id);
	return answer_one(c, &p, &m);
}

/* ---- list and search ---- */

/* What is looked for, and how much of it there may be. */
struct search {
	struct search_query query; /* no terms: everything */
	bool deleted;
	bool behind;           /* only those older than this one */
	struct weft_id before; /* a memory, met yet or not */
	bool met;
	size_t limit;
	bool first; /* nothing was answered yet */
	bool more;
};

static int is_match(struct call *c, const struct search *s,
		    const struct memory *m, bool *ret)
{
	struct weft_str texts[] = { m->title, m->content };
	const struct search_doc doc = {
		.kind = SEARCH_MEMORY,
		.texts = texts,
		.n = ARRAY_LEN(texts),
	};
	struct search_match match;
	int r = search_match(&s->query, &doc, &c->arena, &match, c->err);

	*ret = match.found;
	return r;
}

/* Whether a memory is among those that may be answered; they come newest
 * first. */
static bool is_asked_for(struct search *s, const struct memory_rec *m,
			 bool *seen)
{
	if (s->behind && !*seen) {
		*seen = id_eq(&m->id, &s->before);
		s->met = s->met || *seen;
		return false;
	}
	return !m->deleted_at || s->deleted;
}

/* Answer with what is in one place, oldest first. */
static int list_place(struct call *c, struct search *s, const struct place *p)
{
	struct memory_list list = { 0 };
	bool seen = false;
	size_t n = 0;
	int r = WEFT_OK;

	if (p->there)
		r = engine_memories(c->engine, &p->rec, &c->arena, &list,
				    c->err);
	for (size_t i = 0; i < list.n && r == WEFT_OK; i++) {
		bool wanted = false;

		if (is_asked_for(s, &list.v[i], &seen))
			r = is_match(c, s, &list.v[i].memory, &wanted);
		if (wanted && n == s->limit)
			s->more = true;
		else if (wanted)
			list.v[n++] = list.v[i];
	}
	for (size_t i = n; i > 0 && r == WEFT_OK; i--) {
		if (!s->first)
			buf_add_c(&c->out, ',');
		s->first = false;
		encode_memory(&c->out, p, &list.v[i - 1]);
	}
	return r;
}

/* Without a scope: everything that a turn in the session would be told. */
static bool is_wanted(const struct call *c, enum memory_scope scope,
		      struct weft_str project_dir)
{
	enum memory_scope asked = scope_asked_for(c);

	if (asked != SCOPE_NONE)
		return asked == scope;
	switch (scope) {
	case SCOPE_SESSION:
		return call_has(c, "session");
	case SCOPE_PROJECT:
		return project_dir.len > 0;
	default:
		return true;
	}
}

static int search_begin(struct call *c, struct search *s,
			struct weft_str *ret_project)
{
	struct session_rec rec = { 0 };
	int r = WEFT_OK;

	*s = (struct search){
		.deleted = call_bool(c, "deleted"),
		.limit = (size_t)u64_min(call_u64(c, "limit", UINT64_MAX),
					 c->limits->page),
		.first = true,
	};
	if (s->limit == 0)
		return fail(c->err, WEFT_INVALID,
			    "limit: expected 1 or more, found 0");
	s->behind = call_has(c, "before");
	if (s->behind && !id_parse(call_str(c, "before"), &s->before))
		return fail(c->err, WEFT_MEMORY_NOT_FOUND, "no memory %.*s",
			    STR_ARG(text_cut(call_str(c, "before"), 64)));
	if (call_has(c, "session"))
		r = call_session(c, &rec);
	*ret_project = call_has(c, "project_dir") ? call_str(c, "project_dir") :
						    rec.project_dir;
	if (r == WEFT_OK && call_str(c, "query").len)
		r = search_parse(call_str(c, "query"), &c->arena, &s->query,
				 c->err);
	return r;
}

static int method_memories(struct call *c)
{
	struct weft_str project_dir = STR("");
	struct search s;
	int r = search_begin(c, &s, &project_dir);

	if (r != WEFT_OK)
		return r;
	buf_add_lit(&c->out, "{\"memories\":[");
	for (enum memory_scope i = SCOPE_GLOBAL; i <= SCOPE_SESSION; i++) {
		struct place p;

		if (!is_wanted(c, i, project_dir))
			continue;
		r = find_place(c, i, &p);
		if (r == WEFT_OK)
			r = list_place(c, &s, &p);
		if (r != WEFT_OK)
			return r;
	}
	if (s.behind && !s.met)
		return fail(c->err, WEFT_MEMORY_NOT_FOUND, "no memory %.*s",
			    STR_ARG(text_cut(call_str(c, "before"), 64)));
	buf_add_str(&c->out, s.more ? STR("],\"more\":true}") :
				      STR("],\"more\":false}"));
	return WEFT_OK;
}

/* ---- forget ---- */

static int fail_memory(struct call *c)
{
	return fail(c->err, WEFT_MEMORY_NOT_FOUND, "no memory %.*s",
		    STR_ARG(text_cut(call_str(c, "memory"), WEFT_ID_CHARS)));
}

/* The event with this id in one session, if it is a memory. */
static int read_memory(struct call *c, const struct weft_id *session,
		       const struct weft_id *id, struct memory_rec *ret)
{
	const struct event_range range = {
		.session = *session,
		.first = id_event_seq(id),
		.last = id_event_seq(id),
		.max_events = 1,
	};
	struct event_page page = { 0 };
	int r = c->store->ops->read_events(c->store, &range, &c->arena, &page,
					   c->err);

	if (r != WEFT_OK)
		return r;
	if (page.n == 0 || page.v[0].type != EVENT_MEMORY ||
	    !id_eq(&page.v[0].id, id))
		return WEFT_MEMORY_NOT_FOUND;
	ret->id = *id;
	ret->seq = page.v[0].seq;
	ret->created_at = page.v[0].ts_ms;
	return memory_read(page.v[0].body, &c->arena, &ret->memory, c->err);
}

/* The id of a memory says in which session to look. */
static int find_memory(struct call *c, struct place *p, struct memory_rec *ret)
{
	struct weft_id *sessions, id;
	size_t n;
	int r;

	if (!id_parse(call_str(c, "memory"), &id) || id_event_seq(&id) == 0)
		return fail_memory(c);
	r = c->store->ops->find_tag(c->store, id_event_tag(&id), &c->arena,
				    &sessions, &n, c->err);
	if (r != WEFT_OK)
		return r;
	for (size_t i = 0; i < n; i++) {
		r = read_memory(c, &sessions[i], &id, ret);
		if (r == WEFT_OK)
			return engine_session(c->engine, &sessions[i],
					      &c->arena, &p->rec, c->err);
		if (r != WEFT_MEMORY_NOT_FOUND)
			return r;
	}
	return fail_memory(c);
}

/* Which place a session is. */
static void name_place(struct place *p)
{
	p->there = true;
	if (p->rec.kind != KIND_BOOK) {
		p->scope = SCOPE_SESSION;
		return;
	}
	p->project_dir = p->rec.project_dir;
	p->scope = p->project_dir.len ? SCOPE_PROJECT : SCOPE_GLOBAL;
}

/* Who says where it is must be right: it could be another's. */
static int check_place(struct call *c, const struct place *p)
{
	enum memory_scope asked = scope_asked_for(c);
	struct weft_id session;
	int r = WEFT_OK;

	if (asked != SCOPE_NONE && asked != p->scope)
		return fail_memory(c);
	if (call_has(c, "project_dir") &&
	    !str_eq(without_slash(call_str(c, "project_dir")), p->project_dir))
		return fail_memory(c);
	if (call_has(c, "session"))
		r = call_session_id(c, &session);
	if (r == WEFT_OK && call_has(c, "session") &&
	    !id_eq(&session, &p->rec.id))
		return fail_memory(c);
	return r;
}

static int forget(struct call *c, const struct place *p, struct memory_rec *m)
{
	struct request *q = request_new(REQUEST_PLAIN, c->err);
	struct buf body;
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	buf_init(&body, 0);
	memory_body_forget(&body, m->seq);
	q->session = p->rec.id;
	q->event_type = EVENT_FORGET;
	q->target = m->seq;
	q->body = arena_str(&q->arena, buf_str(&body));
	buf_done(&body);
	r = call_run(c, q);
	if (r == WEFT_MEMORY_NOT_FOUND)
		return fail_memory(c);
	if (r != WEFT_OK)
		return r;
	m->deleted_at = id_time_ms(&q->ret_id);
	request_free(q);
	return WEFT_OK;
}

static int method_memory_forget(struct call *c)
{
	struct place p = { .scope = SCOPE_NONE };
	struct memory_rec m = { .seq = 0 };
	int r = find_memory(c, &p, &m);

	if (r != WEFT_OK)
		return r;
	name_place(&p);
	r = check_place(c, &p);
	if (r == WEFT_OK)
		r = forget(c, &p, &m);
	return r == WEFT_OK ? answer_one(c, &p, &m) : r;
}

/* ---- the rows of the table ---- */

#define FIELD_SCOPE                                                      \
	{                                                                \
		.name = "scope", .about = "whose memories they are",     \
		.type = TYPE_CHOICE, .values = "session|project|global", \
	}

#define FIELD_MEMORY_SESSION                                        \
	{                                                           \
		.name = "session",                                  \
		.about = "the session; its project is the project", \
		.type = TYPE_LINE,                                  \
	}

#define FIELD_MEMORY_PROJECT                                               \
	{                                                                  \
		.name = "project_dir", .about = "the project's directory", \
		.type = TYPE_LINE,                                         \
	}

static const struct field fields_memory_add[] = {
	FIELD_SCOPE,
	FIELD_MEMORY_SESSION,
	FIELD_MEMORY_PROJECT,
	{ .name = "content",
	  .about = "what to remember; trimmed, not blank",
	  .type = TYPE_TEXT,
	  .required = 1,
	  FIELD_LIMIT(memory_bytes) },
	{ .name = "title",
	  .about = "default the first line of the content",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(slug_bytes) },
	{ .name = "source",
	  .about = "where it comes from",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	FIELD_OP,
};

static const struct field fields_memories[] = {
	FIELD_SCOPE,
	FIELD_MEMORY_SESSION,
	FIELD_MEMORY_PROJECT,
	{ .name = "query",
	  .about = "only those that a search for this would find; empty: all",
	  .type = TYPE_LINE },
	{ .name = "deleted",
	  .about = "also those that were forgotten",
	  .type = TYPE_BOOLEAN },
	{ .name = "limit",
	  .about = "at most so many of each scope, the newest; default and "
		   "maximum: page",
	  .type = TYPE_INTEGER },
	{ .name = "before",
	  .about = "the id of a memory: only older ones, of its scope",
	  .type = TYPE_LINE },
};

static const struct field fields_memory_forget[] = {
	{ .name = "memory",
	  .about = "its id",
	  .type = TYPE_LINE,
	  .required = 1 },
	FIELD_SCOPE,
	FIELD_MEMORY_SESSION,
	FIELD_MEMORY_PROJECT,
};

#define ANSWER_MEMORIES                                                  \
	"`{\"memories\":[{\"id\",\"scope\",\"session\",\"project_dir\"," \
	"\"title\",\"content\",\"source\",\"created_at\","               \
	"\"updated_at\",\"deleted_at\"}],\"more\"}`"

static const struct method rows[] = {
	{ .name = "memory_add",
	  .about = "Remember something: in the scope given, else for the "
		   "session, the project or the whole store, whichever is "
		   "named.",
	  .answer = ANSWER_MEMORIES ", with the new one",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_memory_add),
	  .run = method_memory_add },
	{ .name = "memories",
	  .about = "List or search memories: those of the scope given, else "
		   "the global ones, then the project's, then the session's.",
	  .answer = ANSWER_MEMORIES
	  "; more says whether older ones were left out: ask "
	  "again with before",
	  .right = RIGHT_READ,
	  FIELDS(fields_memories),
	  .run = method_memories },
	{ .name = "memory_forget",
	  .about = "Forget a memory; it stays in the log. Scope, session and "
		   "project_dir, if given, must be its own.",
	  .answer = ANSWER_MEMORIES ", with the one that was forgotten",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_memory_forget),
	  .run = method_memory_forget },
};

const struct method_group methods_memories = METHOD_GROUP(rows);
