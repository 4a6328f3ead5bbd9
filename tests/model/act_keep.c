/* act_keep.c - what time does to sessions: acts. */
#include <stdio.h>

#include "base/clock.h"
#include "base/id.h"
#include "model/world.h"

/* The same twice: for the store, and for the oracle. */
static const struct {
	const char *text;
	struct oracle_policy policy;
} policies[] = {
	{ "{}", { .trash_days = 30 } },
	{ "{\"lifecycle\":{\"reset\":{\"mode\":\"daily\",\"at_hour\":4}},"
	  "\"retention\":{\"trash_days\":2,\"rules\":[{\"channel\":\"alpha\"},"
	  "{\"kind\":\"subagent\",\"idle_days\":1},"
	  "{\"idle_days\":3,\"max_sessions\":6}]}}",
	  { .daily = true,
	    .at_hour = 4,
	    .trash_days = 2,
	    .rules = { { .channel = "alpha" },
		       { .kind = 's', .idle_days = 1 },
		       { .idle_days = 3, .max_sessions = 6 } },
	    .n_rules = 3 } },
	{ "{\"lifecycle\":{\"reset\":{\"mode\":\"idle\",\"idle_minutes\":45}},"
	  "\"retention\":{\"trash_days\":1,\"rules\":["
	  "{\"agent\":\"beta\",\"idle_days\":2},"
	  "{\"kind\":\"book\",\"idle_days\":1},"
	  "{\"kind\":\"primary\",\"max_sessions\":3}]}}",
	  { .idle_minutes = 45,
	    .trash_days = 1,
	    .rules = { { .agent = "beta", .idle_days = 2 },
		       { .kind = 'b', .idle_days = 1 },
		       { .kind = 'p', .max_sessions = 3 } },
	    .n_rules = 3 } },
	{ "{\"lifecycle\":{\"reset\":{\"mode\":\"idle\",\"idle_minutes\":1},"
	  "\"reset_by_type\":{\"direct\":{\"mode\":\"daily\",\"at_hour\":11,"
	  "\"idle_minutes\":300}}},"
	  "\"retention\":{\"trash_days\":1,\"rules\":[{\"max_sessions\":2}]}}",
	  { .daily = true,
	    .at_hour = 11,
	    .idle_minutes = 300,
	    .trash_days = 1,
	    .rules = { { .max_sessions = 2 } },
	    .n_rules = 1 } },
};

/* A store forgets what it was told when it is closed. */
void world_configure(struct world *w)
{
	const char *text = policies[w->policy].text;

	if (weft_configure(w->store, text, strlen(text), &w->err) < 0)
		world_wrong(w, "configure: %s", w->err.message);
	oracle_set_policy(w->oracle, &policies[w->policy].policy);
}

void act_configure(struct world *w, const uint32_t *r)
{
	w->policy = r[0] % ARRAY_LEN(policies);
	world_say(w, "configure %u", w->policy);
	world_configure(w);
}

void act_expire(struct world *w, const uint32_t *r)
{
	static const int64_t later[] = { 500, 1000, 3600000, 86400000, -1000 };
	int session = world_pick(w, r[0]), expected;
	struct request *q = world_request(w, REQUEST_PATCH, session);
	int64_t at = r[1] % 6 ? w->now_ms + later[r[1] / 6 % 5] : 0;
	struct oracle_answer answer = { 0 };
	char text[TIME_CHARS + 1], patch[128] = "{\"expires_at\":null}";

	time_format(at, text);
	if (at)
		(void)snprintf(patch, sizeof(patch), "{\"expires_at\":\"%s\"}",
			       text);
	q->patch = world_keep(q, patch);
	world_say(w, "patch %d %s", session, patch);
	expected = oracle_expire(w->oracle, session, at, w->now_ms, &answer);
	world_request_run(w, "expire", q, expected, &answer);
}

/* Its key may be nobody's yet. */
static void note_book(struct world *w, int before)
{
	struct store *s = engine_store(w->engine);
	const struct weft_str key = STR("book:maintenance");
	struct name_rec name;

	if (w->oracle->n == before)
		return;
	if (s->ops->get_names(s, &key, 1, &w->arena, &name, &w->err) < 0)
		world_wrong(w, "book: %s", w->err.message);
	world_note_id(w, &name.session);
}

static void same(struct world *w, const char *what, uint64_t is, int expected)
{
	if (is != (uint64_t)expected)
		world_wrong(w, "maintain: %s is %llu, expected %d", what,
			    (unsigned long long)is, expected);
}

static uint64_t count_of(yyjson_val *answer, const char *list)
{
	return yyjson_get_uint(
		yyjson_obj_get(yyjson_obj_get(answer, list), "count"));
}

/* By hand, through the door. */
static void clean_up(struct world *w, bool if_due, bool dry,
		     struct weft_maintenance *ret)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	int code;

	*ret = (struct weft_maintenance){ 0 };
	doc = world_call(w, &code,
			 "{\"method\":\"cleanup\",\"if_due\":%s,"
			 "\"dry_run\":%s}",
			 if_due ? "true" : "false", dry ? "true" : "false");
	if (!world_agree(w, "cleanup", code, ORACLE_OK) || !doc)
		return;
	ret->ran = yyjson_is_true(yyjson_obj_get(doc->root, "ran"));
	ret->looked = yyjson_get_uint(yyjson_obj_get(doc->root, "looked"));
	ret->removed = count_of(doc->root, "removed");
	ret->purged = count_of(doc->root, "purged");
	ret->spared = count_of(doc->root, "spared");
	(void)time_parse_rfc3339(
		json_str(yyjson_obj_get(doc->root, "last_run_at")),
		&ret->last_run_ms);
}

void act_maintain(struct world *w, const uint32_t *r)
{
	bool by_program = r[0] % 3 == 0, dry = !by_program && r[0] % 3 == 1;
	bool if_due = by_program || r[1] % 3 == 0;
	struct weft_maintenance is = { 0 };
	struct oracle_upkeep expected;
	int before = w->oracle->n;

	world_say(w, "maintain%s%s%s", by_program ? " by program" : "",
		  if_due ? " if due" : "", dry ? " dry" : "");
	if (!by_program)
		clean_up(w, if_due, dry, &is);
	else if (weft_maintain(w->store, 0, &is, &w->err) < 0)
		world_wrong(w, "maintain: %s", w->err.message);
	oracle_maintain(w->oracle, if_due, dry, w->now_ms, &expected);
	note_book(w, before);
	same(w, "ran", is.ran, expected.ran);
	same(w, "looked", is.looked, expected.looked);
	same(w, "removed", is.removed, expected.removed);
	same(w, "purged", is.purged, expected.purged);
	same(w, "spared", is.spared, expected.spared);
	if (is.last_run_ms != expected.last_run)
		world_wrong(w, "maintain: last ran at %lld, expected %lld",
			    (long long)is.last_run_ms,
			    (long long)expected.last_run);
}
