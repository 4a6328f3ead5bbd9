/*
 * act_route.c - conversations under a key: acts.
 *
 * Which key and which older names belong to a chat is taken from routing: that
 * they are the right ones is for the tests of routing.  What becomes of them is
 * the oracle's.
 */
#include <stdio.h>

#include "base/id.h"
#include "model/world.h"

/* Few, so that they meet. */
static const char *const chats[] = { "100", "200", "300" };

void act_reset(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]), before = w->oracle->n, code;
	struct request *q = world_request(w, REQUEST_RESET, session);
	int token = world_token(w, session, r[1]), expected;
	struct oracle_answer answer = { 0 };
	char op[40] = "";

	/* Some are also those of other creations. */
	if (r[2] % 3 == 0)
		(void)snprintf(op, sizeof(op), "op-%u", r[2] / 3 % 12);
	q->token = (uint64_t)token;
	q->op = world_keep(q, op);
	world_say(w, "reset %d token %d %s", session, token, op);
	code = engine_run(w->engine, q, &w->err);
	expected =
		oracle_reset(w->oracle, session, token, op, w->now_ms, &answer);
	if (w->oracle->n > before)
		world_note_id(w, &q->ret_session);
	if (world_agree(w, "reset", code, expected)) {
		struct weft_id id = world_id(w, answer.session);

		if (!id_eq(&id, &q->ret_session))
			world_wrong(w, "reset: another session than %d",
				    answer.session);
	}
	request_free(q);
}

/* The direct messages of one person. */
static yyjson_doc *call_route(struct world *w, const char *chat, int *ret_code)
{
	return world_call(w, ret_code,
			  "{\"method\":\"route\",\"channel\":\"telegram\","
			  "\"chat_type\":\"direct\",\"chat_id\":\"%s\","
			  "\"sender_id\":\"%s\"}",
			  chat, chat);
}

static void take_name(char to[96], struct weft_str name)
{
	size_t n = name.len < 96 ? name.len : 95;

	if (n)
		memcpy(to, name.ptr, n);
	to[n] = '\0';
}

/* What such a message is called; nothing is looked for. */
static struct oracle_route route_of(struct world *w, const char *chat)
{
	const struct route_request q = {
		.context = { .channel = STR("telegram"),
			     .chat_type = STR("direct"),
			     .chat_id = str_of(chat),
			     .sender_id = str_of(chat) },
	};
	struct oracle_route x = { .channel = "telegram" };
	struct route route;

	if (engine_resolve_route(w->engine, &q, &w->arena, &route, &w->err) !=
	    WEFT_OK) {
		world_wrong(w, "route: %s", w->err.message);
		return x;
	}
	(void)snprintf(x.user, sizeof(x.user), "telegram:%s", chat);
	take_name(x.key, route.key);
	for (size_t i = 0; i < route.aliases.n; i++) {
		struct weft_str name = route.aliases.v[i];

		/* The main conversation of an agent is nobody's older name. */
		if (name.len > 5 &&
		    memcmp(name.ptr + name.len - 5, ":main", 5) == 0)
			continue;
		take_name(x.aliases[x.n_aliases++], name);
	}
	return x;
}

/* By which agent it is answered is routing's matter. */
static void take_agent(struct world *w, int session)
{
	struct oracle_session *s = &w->oracle->sessions[session];
	struct session_rec rec;

	if (engine_session(w->engine, &w->ids[session], &w->arena, &rec,
			   &w->err) < 0) {
		world_wrong(w, "routed session: %s", w->err.message);
		return;
	}
	(void)snprintf(s->settings[SETTING_AGENT], 64, "%.*s",
		       STR_ARG(rec.agent));
}

void act_route(struct world *w, const uint32_t *r)
{
	const char *chat = chats[r[0] % ARRAY_LEN(chats)];
	struct oracle_route x = route_of(w, chat);
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct oracle_answer answer = { 0 };
	struct weft_id id, expected;
	int before = w->oracle->n, code;

	world_say(w, "route chat %s", chat);
	doc = call_route(w, chat, &code);
	if (!world_agree(w, "route", code,
			 oracle_route(w->oracle, &x, w->now_ms, &answer)) ||
	    !doc)
		return;
	if (!id_parse(json_str(yyjson_obj_get(doc->root, "session")), &id)) {
		world_wrong(w, "route: no session");
		return;
	}
	if (w->oracle->n > before) {
		world_note_id(w, &id);
		take_agent(w, answer.session);
	}
	expected = world_id(w, answer.session);
	if (!id_eq(&id, &expected) ||
	    yyjson_is_true(yyjson_obj_get(doc->root, "created")) !=
		    answer.created)
		world_wrong(w, "route: another session than %d, created %d",
			    answer.session, answer.created);
}

/* A conversation that an older program has begun, under one of its names, or
 * that somebody has begun by hand, under its key. */
void act_legacy(struct world *w, const uint32_t *r)
{
	const char *chat = chats[r[0] % ARRAY_LEN(chats)];
	struct oracle_route x = route_of(w, chat);
	struct request *q = request_new(REQUEST_CREATE, &w->err);
	struct oracle_start start = { .parent = -1 };
	struct oracle_answer answer = { 0 };
	int before = w->oracle->n, code;
	uint32_t older = r[1] % ((uint32_t)x.n_aliases + 1);

	if (x.n_aliases > 0) {
		(void)snprintf(start.key, sizeof(start.key), "%s",
			       older ? x.aliases[older - 1] : x.key);
		(void)snprintf(start.settings[SETTING_SLUG], 64, "%s",
			       world_values[r[2] % n_world_values]);
		q->create.kind = KIND_PRIMARY;
		q->create.slug = world_keep(q, start.settings[SETTING_SLUG]);
		q->create.key = world_keep(q, start.key);
		world_say(w, "legacy %s", start.key);
		code = engine_run(w->engine, q, &w->err);
		(void)world_agree(
			w, "legacy", code,
			oracle_create(w->oracle, &start, w->now_ms, &answer));
		if (w->oracle->n > before)
			world_note_id(w, &q->ret_session);
	}
	request_free(q);
}
