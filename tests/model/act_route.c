/*
 * act_route.c - conversations under a key: acts.
 *
 * Which key and which older names belong to a chat is taken from the store: that
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

	q->token = (uint64_t)token;
	world_say(w, "reset %d token %d", session, token);
	code = engine_run(w->engine, q, &w->err);
	expected = oracle_reset(w->oracle, session, token, w->now_ms, &answer);
	if (w->oracle->n > before)
		world_note_id(w, &q->ret_session);
	(void)world_agree(w, "reset", code, expected);
	request_free(q);
}

static yyjson_doc *call_route(struct world *w, const char *chat, bool dry)
{
	yyjson_doc *doc;
	int code;

	doc = world_call(w, &code,
			 "{\"method\":\"route\",\"channel\":\"telegram\","
			 "\"chat_type\":\"direct\",\"chat_id\":\"%s\","
			 "\"sender_id\":\"%s\",\"dry_run\":%s}",
			 chat, chat, dry ? "true" : "false");
	(void)world_agree(w, "route", code, ORACLE_OK);
	return doc;
}

static void take_name(char to[96], struct weft_str name)
{
	size_t n = name.len < 96 ? name.len : 95;

	if (n)
		memcpy(to, name.ptr, n);
	to[n] = '\0';
}

static struct oracle_route route_of(yyjson_val *answer)
{
	yyjson_arr_iter it =
		yyjson_arr_iter_with(yyjson_obj_get(answer, "aliases"));
	struct oracle_route x = { .n_aliases = 0 };
	yyjson_val *v;

	take_name(x.key, json_str(yyjson_obj_get(answer, "key")));
	while ((v = yyjson_arr_iter_next(&it))) {
		struct weft_str name = json_str(v);

		/* The main conversation of an agent is nobody's older name. */
		if (name.len > 5 &&
		    memcmp(name.ptr + name.len - 5, ":main", 5) == 0)
			continue;
		take_name(x.aliases[x.n_aliases++], name);
	}
	return x;
}

/* Who speaks where, and by which agent it is answered, is routing's matter. */
static void take_settings(struct world *w, int session)
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
	(void)snprintf(s->settings[SETTING_CHANNEL], 64, "%.*s",
		       STR_ARG(rec.channel));
	(void)snprintf(s->settings[SETTING_USER], 64, "%.*s",
		       STR_ARG(rec.user));
}

void act_route(struct world *w, const uint32_t *r)
{
	const char *chat = chats[r[0] % ARRAY_LEN(chats)];
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = call_route(w, chat, false);
	struct oracle_answer answer = { 0 };
	struct oracle_route x;
	struct weft_id id, expected;
	int before = w->oracle->n;

	if (!doc)
		return;
	x = route_of(doc->root);
	world_say(w, "route chat %s", chat);
	(void)oracle_route(w->oracle, &x, w->now_ms, &answer);
	if (!id_parse(json_str(yyjson_obj_get(doc->root, "session")), &id)) {
		world_wrong(w, "route: no session");
		return;
	}
	if (w->oracle->n > before) {
		world_note_id(w, &id);
		take_settings(w, answer.session);
	}
	expected = world_id(w, answer.session);
	if (!id_eq(&id, &expected) ||
	    yyjson_is_true(yyjson_obj_get(doc->root, "created")) !=
		    answer.created)
		world_wrong(w, "route: another session than %d, created %d",
			    answer.session, answer.created);
}

/* A conversation that an older program has begun, under one of its names. */
void act_legacy(struct world *w, const uint32_t *r)
{
	const char *chat = chats[r[0] % ARRAY_LEN(chats)];
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = call_route(w, chat, true);
	struct request *q = request_new(REQUEST_CREATE, &w->err);
	struct oracle_start start = { .parent = -1 };
	struct oracle_answer answer = { 0 };
	int before = w->oracle->n, code;
	struct oracle_route x;

	x = doc ? route_of(doc->root) : (struct oracle_route){ .n_aliases = 0 };
	if (x.n_aliases > 0) {
		(void)snprintf(start.key, sizeof(start.key), "%s",
			       x.aliases[r[1] % (uint32_t)x.n_aliases]);
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
