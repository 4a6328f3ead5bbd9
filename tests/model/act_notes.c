/* act_notes.c - leases, todos and memories: acts, and a look at them. */
#include <stdio.h>

#include "base/id.h"
#include "model/world.h"

static void format_id(const struct world *w, int session,
		      char out[WEFT_ID_CHARS + 1])
{
	struct weft_id id = world_id(w, session);

	id_format(&id, out);
}

/* ---- leases ---- */

void act_lease(struct world *w, const uint32_t *r)
{
	static const uint32_t hows[] = { LEASE_ACQUIRE, LEASE_RENEW,
					 LEASE_RELEASE, LEASE_TAKEOVER };
	static const char *const owners[] = { "me", "you" };
	int session = world_pick(w, r[0]), expected;
	struct request *q = world_request(w, REQUEST_LEASE, session);
	const char *owner = owners[r[2] % 2];
	struct oracle_answer answer = { 0 };
	char how = "ANRT"[r[1] % 4];
	int token = 0;

	if (how == 'N' || how == 'R')
		token = world_token(w, session, r[3]);
	/* Whoever shows a token need not say who it is. */
	if (token && r[2] / 2 % 3 == 0)
		owner = "";
	q->lease.how = hows[r[1] % 4];
	q->lease.owner = world_keep(q, owner);
	q->lease_ms = 5000 + (int64_t)(r[4] % 20) * 1000;
	q->token = (uint64_t)token;
	world_say(w, "lease %d %c '%s' token %d for %lld ms", session, how,
		  owner, token, (long long)q->lease_ms);
	expected = oracle_lease(w->oracle, session, how, owner, token,
				q->lease_ms, w->now_ms, &answer);
	world_request_run(w, "lease", q, expected, &answer);
}

/* ---- todos ---- */

static const char *status_name(char letter)
{
	return letter == 'p' ? "pending" :
	       letter == 'i' ? "in_progress" :
	       letter == 'c' ? "completed" :
			       "cancelled";
}

void act_todos(struct world *w, const uint32_t *r)
{
	static const char *const lists[] = { "", "p", "ip", "cip", "xc" };
	const char *list = lists[r[1] % ARRAY_LEN(lists)];
	int session = world_pick(w, r[0]), code, expected;
	int token = world_token(w, session, r[2]);
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct oracle_answer answer = { 0 };
	char id[WEFT_ID_CHARS + 1], shown[32] = "", items[512] = "";
	size_t n = 0;

	format_id(w, session, id);
	if (token)
		(void)snprintf(shown, sizeof(shown), ",\"token\":%d", token);
	for (const char *p = list; *p; p++)
		n += (size_t)snprintf(items + n, sizeof(items) - n,
				      "%s{\"content\":\"do %d\",\"status\":"
				      "\"%s\"}",
				      n ? "," : "", (int)(p - list),
				      status_name(*p));
	world_say(w, "todos %d '%s' token %d", session, list, token);
	doc = world_call(w, &code,
			 "{\"method\":\"todos_set\",\"session\":\"%s\","
			 "\"todos\":[%s]%s}",
			 id, items, shown);
	expected = oracle_set_todos(w->oracle, session, list, token, w->now_ms,
				    &answer);
	(void)world_agree(w, "todos_set", code, expected);
}

static void compare_todos(struct world *w, int session)
{
	const char *list = w->oracle->sessions[session].todos;
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	char id[WEFT_ID_CHARS + 1];
	yyjson_arr_iter it;
	yyjson_val *item;
	size_t n = 0;
	int code;

	format_id(w, session, id);
	doc = world_call(w, &code, "{\"method\":\"todos\",\"session\":\"%s\"}",
			 id);
	if (!world_agree(w, "todos", code, ORACLE_OK) || !doc)
		return;
	it = yyjson_arr_iter_with(yyjson_obj_get(doc->root, "todos"));
	while ((item = yyjson_arr_iter_next(&it))) {
		if (n >= strlen(list) ||
		    !yyjson_equals_str(yyjson_obj_get(item, "status"),
				       status_name(list[n])))
			world_wrong(w, "todos of %d: item %zu", session, n);
		n++;
	}
	if (n != strlen(list))
		world_wrong(w, "todos of %d: %zu, expected '%s'", session, n,
			    list);
}

/* ---- memories ---- */

/* Where memories are kept: of a session, of a project, or of all. */
struct place {
	char scope; /* s(ession) p(roject) g(lobal) */
	int session;
	const char *project;
	char key[64];    /* of a book */
	char where[192]; /* as members of a request */
};

static struct place place_of(const struct world *w, uint32_t a, uint32_t b)
{
	struct place p = { .scope = "sspg"[a % 4],
			   .session = -1,
			   .project = "" };
	char id[WEFT_ID_CHARS + 1];
	struct buf text;

	if (p.scope == 's') {
		p.session = world_pick(w, b);
		format_id(w, p.session, id);
		(void)snprintf(p.where, sizeof(p.where),
			       "\"scope\":\"session\",\"session\":\"%s\"", id);
	} else if (p.scope == 'p') {
		p.project = world_values[1 + b % (n_world_values - 1)];
		(void)snprintf(p.key, sizeof(p.key), "book:project:%s",
			       p.project);
		buf_init(&text, KIB(4));
		buf_add_json(&text, str_of(p.project));
		(void)snprintf(p.where, sizeof(p.where),
			       "\"scope\":\"project\",\"project_dir\":%s",
			       buf_cstr(&text));
		buf_done(&text);
	} else {
		(void)snprintf(p.key, sizeof(p.key), "book:global");
		(void)snprintf(p.where, sizeof(p.where),
			       "\"scope\":\"global\"");
	}
	if (p.scope != 's')
		p.session = oracle_holder(w->oracle, p.key);
	return p;
}

void act_remember(struct world *w, const uint32_t *r)
{
	struct place p = place_of(w, r[0], r[1]);
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct oracle_answer answer = { 0 };
	struct oracle_session *s;
	yyjson_val *made;
	struct weft_id id;
	char text[64];
	int code, expected, before = w->oracle->n;

	(void)snprintf(text, sizeof(text), "memory %u", r[2] % 100);
	world_say(w, "remember in %s: %s", p.where, text);
	doc = world_call(w, &code,
			 "{\"method\":\"memory_add\",%s,\"content\":\"%s\"}",
			 p.where, text);
	if (p.scope != 's')
		p.session = oracle_book(w->oracle, p.key, p.project, w->now_ms);
	if (w->oracle->n > before &&
	    engine_resolve(w->engine, str_of(p.key), &id, &w->err) < 0) {
		world_wrong(w, "book: %s", w->err.message);
		return;
	}
	if (w->oracle->n > before)
		world_note_id(w, &id);
	expected =
		oracle_remember(w->oracle, p.session, text, w->now_ms, &answer);
	if (!world_agree(w, "memory_add", code, expected) || !doc)
		return;
	made = yyjson_arr_get_first(yyjson_obj_get(doc->root, "memories"));
	s = &w->oracle->sessions[p.session];
	(void)snprintf(s->events[answer.first - 1].note_id, 32, "%s",
		       yyjson_get_str(yyjson_obj_get(made, "id")));
}

/* The number of the last memory of a session that is not after `from`. */
static int memory_before(const struct oracle_session *s, int from)
{
	for (int k = from; k > s->base; k--) {
		if (*s->events[k - 1].note_id)
			return k;
	}
	return 0;
}

void act_forget(struct world *w, const uint32_t *r)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct oracle_answer answer = { 0 };
	const struct oracle_session *s;
	int session, number, code, expected;
	char id[32];

	if (w->oracle->n == 0)
		return;
	session = (int)(r[0] % (uint32_t)w->oracle->n);
	s = &w->oracle->sessions[session];
	number = memory_before(
		s, s->base + 1 + (int)(r[1] % (uint32_t)(s->n - s->base)));
	if (!number)
		return;
	(void)snprintf(id, sizeof(id), "%s", s->events[number - 1].note_id);
	world_say(w, "forget %d of %d", number, session);
	doc = world_call(w, &code,
			 "{\"method\":\"memory_forget\",\"memory\":\"%s\"}",
			 id);
	expected =
		oracle_forget(w->oracle, session, number, w->now_ms, &answer);
	(void)world_agree(w, "memory_forget", code, expected);
}

/* The memories that one session or book has, oldest first. */
static void compare_memories(struct world *w, const struct place *p)
{
	const struct oracle_session *s = oracle_session(w->oracle, p->session);
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	yyjson_arr_iter it;
	yyjson_val *found;
	int code, at;

	doc = world_call(w, &code,
			 "{\"method\":\"memories\",%s,\"deleted\":true}",
			 p->where);
	if (!world_agree(w, "memories", code, ORACLE_OK) || !doc)
		return;
	it = yyjson_arr_iter_with(yyjson_obj_get(doc->root, "memories"));
	at = s ? s->base : 0;
	for (; s && at < s->n && !w->why[0]; at++) {
		const struct oracle_event *e = &s->events[at];

		if (e->type != 'm')
			continue;
		found = yyjson_arr_iter_next(&it);
		if (!yyjson_equals_str(yyjson_obj_get(found, "id"),
				       e->note_id) ||
		    !yyjson_equals_str(yyjson_obj_get(found, "content"),
				       e->note) ||
		    yyjson_is_null(yyjson_obj_get(found, "deleted_at")) !=
			    !e->forgotten)
			world_wrong(w, "memories in %s: another than %s at %d",
				    p->where, e->note, at + 1);
	}
	if (yyjson_arr_iter_next(&it))
		world_wrong(w, "memories in %s: more than there are", p->where);
}

void look_notes(struct world *w, const uint32_t *r)
{
	(void)r;
	world_say(w, "notes");
	for (int i = 0; i < w->oracle->n && !w->why[0]; i++) {
		struct place p = { .scope = 's', .session = i };
		char id[WEFT_ID_CHARS + 1];

		if (!oracle_session(w->oracle, i))
			continue;
		format_id(w, i, id);
		(void)snprintf(p.where, sizeof(p.where),
			       "\"scope\":\"session\",\"session\":\"%s\"", id);
		compare_todos(w, i);
		compare_memories(w, &p);
	}
	for (uint32_t i = 0; i < n_world_values && !w->why[0]; i++) {
		struct place p = place_of(w, i ? 2 : 3, i ? i - 1 : 0);

		compare_memories(w, &p);
	}
}
