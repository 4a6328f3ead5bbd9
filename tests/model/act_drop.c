/* act_drop.c - acts that drop events for good. */
#include <stdio.h>

#include "base/id.h"
#include "model/world.h"

static void same(struct world *w, const char *act, const char *what,
		 uint64_t is, int expected)
{
	if (is != (uint64_t)expected)
		world_wrong(w, "%s: %s is %llu, expected %d", act, what,
			    (unsigned long long)is, expected);
}

/* How many events all the forks together hold. */
static uint64_t held_by(yyjson_val *forks)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(forks);
	yyjson_val *fork;
	uint64_t n = 0;

	while ((fork = yyjson_arr_iter_next(&it)))
		n += yyjson_get_uint(yyjson_obj_get(fork, "events"));
	return n;
}

static void compare_report(struct world *w, const char *act, yyjson_val *is,
			   const struct oracle_report *o)
{
	yyjson_val *forks = yyjson_obj_get(is, "forks");

	same(w, act, "sessions",
	     yyjson_get_uint(yyjson_obj_get(is, "sessions")), o->sessions);
	same(w, act, "events", yyjson_get_uint(yyjson_obj_get(is, "events")),
	     o->events);
	same(w, act, "blobs", yyjson_get_uint(yyjson_obj_get(is, "blobs")),
	     o->blobs);
	same(w, act, "forks", yyjson_arr_size(forks), o->forks);
	same(w, act, "held", held_by(forks), o->held);
	same(w, act, "refused", yyjson_arr_size(yyjson_obj_get(is, "refused")),
	     o->refused);
}

/* Mostly messages that the session shows. */
static int target_of(const struct world *w, int session, uint32_t r)
{
	const struct oracle_session *s = oracle_session(w->oracle, session);
	int at;

	if (!s)
		return 1;
	at = (int)(r / 8 % (uint32_t)s->n) + 1;
	while (r % 8 && at > 1 && s->events[at - 1].type != 'M')
		at--;
	return at;
}

void act_erase(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]), n = (int)(r[1] % 3) + 1, v[3];
	int token = world_token(w, session, r[5]), code, expected;
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_id id = world_id(w, session);
	struct oracle_report report;
	char text[WEFT_ID_CHARS + 1], list[64], shown[32] = "";
	size_t len = 0;

	id_format(&id, text);
	for (int i = 0; i < n; i++) {
		v[i] = target_of(w, session, r[2 + i]);
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%d",
					i ? "," : "", v[i]);
	}
	if (token)
		(void)snprintf(shown, sizeof(shown), ",\"token\":%d", token);
	world_say(w, "erase %d: %s%s", session, list, shown);
	doc = world_call(w, &code,
			 "{\"method\":\"erase\",\"session\":\"%s\","
			 "\"messages\":[%s]%s}",
			 text, list, shown);
	expected = oracle_erase(w->oracle, session, v, n, token, w->now_ms,
				&report);
	if (!world_agree(w, "erase", code, expected) || !doc)
		return;
	same(w, "erase", "erased",
	     yyjson_get_uint(yyjson_obj_get(doc->root, "erased")),
	     report.events);
	same(w, "erase", "blobs",
	     yyjson_get_uint(yyjson_obj_get(doc->root, "blobs")), report.blobs);
}

/* What a dry run says is what would happen to a copy. */
static struct oracle *begin_dry(struct world *w, bool dry)
{
	struct oracle *kept = w->oracle;

	if (dry)
		w->oracle = oracle_copy(kept);
	return kept;
}

static void end_dry(struct world *w, struct oracle *kept)
{
	if (w->oracle == kept)
		return;
	oracle_free(w->oracle);
	w->oracle = kept;
}

/* Reclaim or purge a session. */
static void drop(struct world *w, const char *act,
		 int (*ask)(struct oracle *o, int session, int token,
			    int64_t now, struct oracle_report *ret),
		 const uint32_t *r)
{
	int session = world_pick(w, r[0]), code, expected;
	int token = world_token(w, session, r[1]);
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_id id = world_id(w, session);
	bool dry = r[2] % 3 == 0;
	struct oracle *kept = begin_dry(w, dry);
	struct oracle_report report;
	char text[WEFT_ID_CHARS + 1], shown[32] = "";

	id_format(&id, text);
	if (token)
		(void)snprintf(shown, sizeof(shown), ",\"token\":%d", token);
	world_say(w, "%s %d%s%s", act, session, shown, dry ? " dry" : "");
	doc = world_call(w, &code,
			 "{\"method\":\"%s\",\"session\":\"%s\","
			 "\"dry_run\":%s%s}",
			 act, text, dry ? "true" : "false", shown);
	expected = ask(w->oracle, session, token, w->now_ms, &report);
	if (world_agree(w, act, code, expected) && doc)
		compare_report(w, act, doc->root, &report);
	end_dry(w, kept);
}

void act_reclaim(struct world *w, const uint32_t *r)
{
	drop(w, "reclaim", oracle_reclaim, r);
}

void act_purge(struct world *w, const uint32_t *r)
{
	drop(w, "purge", oracle_purge, r);
}

void act_purge_user(struct world *w, const uint32_t *r)
{
	const char *user = world_values[1 + r[0] % (n_world_values - 1)];
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	bool dry = r[2] % 3 == 0;
	struct oracle *kept = begin_dry(w, dry);
	struct oracle_report report;
	int code, expected;
	CLEANUP(buf_done) struct buf b;

	buf_init(&b, KIB(4));
	buf_add_json(&b, str_of(user));
	world_say(w, "purge user %s%s", buf_cstr(&b), dry ? " dry" : "");
	doc = world_call(w, &code,
			 "{\"method\":\"purge\",\"user\":%s,\"dry_run\":%s}",
			 buf_cstr(&b), dry ? "true" : "false");
	expected = oracle_purge_user(w->oracle, user, w->now_ms, &report);
	if (world_agree(w, "purge user", code, expected) && doc)
		compare_report(w, "purge user", doc->root, &report);
	end_dry(w, kept);
}
