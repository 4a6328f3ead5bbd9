/* public_drop.c - erase, reclaim, purge: what goes, and what nothing can take
 * away. */
#include <ftw.h>
#include <stdio.h>

#include "base/mem.h"
#include "conformance/public.h"

/* ---- helpers ---- */

static void has(const char *answer, const char *part)
{
	if (!strstr(answer, part))
		print_error("no %s in %s\n", part, answer);
	assert_non_null(strstr(answer, part));
}

static const char *show(struct desk *d, const char *session)
{
	return desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
			 session);
}

static const char *fork_at(struct desk *d, const char *session, int at)
{
	const char *answer = desk_call(d,
				       "{\"method\":\"fork\",\"session\":\"%s\""
				       ",\"at\":%d}",
				       session, at);
	const char *id = strstr(answer, "\"id\":\"");

	assert_non_null(id);
	return arena_str(&d->arena, (struct weft_str){ id + 6, WEFT_ID_CHARS })
		.ptr;
}

static const char *call_on(struct desk *d, const char *method,
			   const char *session, const char *members)
{
	return desk_call(d, "{\"method\":\"%s\",\"session\":\"%s\"%s%s}",
			 method, session, *members ? "," : "", members);
}

static int try_on(struct desk *d, const char *method, const char *session,
		  const char *members)
{
	return desk_try_call(d, "{\"method\":\"%s\",\"session\":\"%s\"%s%s}",
			     method, session, *members ? "," : "", members);
}

/* By an index: small stores are searched without one. */
static const char *search(struct desk *d, const char *word)
{
	return desk_call(d,
			 "{\"method\":\"search\",\"query\":\"%s\",\"wait\":"
			 "true}",
			 word);
}

/* What is derived is what it should be, and every line is right. */
static void is_sound(struct desk *d)
{
	has(desk_call(d, "{\"method\":\"verify\"}"), "\"ok\":true");
	if (strncmp(d->url, "jsonl:", 6) != 0)
		has(desk_call(d, "{\"method\":\"reindex\"}"), "\"changed\":0");
}

/* A message with its price. */
static void pay(struct desk *d, const char *session, const char *role,
		const char *text, int tokens)
{
	char *json;

	assert_true(asprintf(&json,
			     "{\"role\":\"%s\",\"content\":\"%s\",\"usage\":"
			     "{\"input_tokens\":%d,\"cost_usd\":0.25}}",
			     role, text, tokens) >= 0);
	desk_ok(d, desk_try(d, session, json, NULL, NULL));
	free(json);
}

static const char *sought;
static bool found;

static int look_into(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	size_t n = (size_t)st->st_size;
	char *bytes;
	FILE *f;

	(void)ftw;
	if (type != FTW_F || n == 0)
		return 0;
	f = fopen(path, "r");
	assert_non_null(f);
	bytes = malloc(n);
	assert_non_null(bytes);
	n = fread(bytes, 1, n, f);
	if (memmem(bytes, n, sought, strlen(sought))) {
		print_message("# %s is in %s\n", sought, path);
		found = true;
	}
	free(bytes);
	(void)fclose(f);
	return 0;
}

/* Whether any file of the store has this word. */
static bool is_on_disk(struct desk *d, const char *word)
{
	sought = word;
	found = false;
	if (d->dir[0])
		assert_int_equal(nftw(d->dir, look_into, 16, FTW_PHYS), 0);
	return found;
}

/* ---- erase ---- */

static void an_erased_message_is_gone_for_all(void **state)
{
	struct desk *d = *state;
	const char *f, *g, *events;

	(void)desk_say(d, d->id, "a");
	(void)desk_say(d, d->id, "zanzibar");
	f = desk_fork(d, d->id);
	(void)desk_say(d, d->id, "c");
	g = fork_at(d, f, 2);
	has(search(d, "zanzibar"), "\"seq\":3");
	has(call_on(d, "erase", d->id, "\"messages\":[3]"), "\"erased\":1");
	assert_string_equal(desk_texts(d, d->id), "a c");
	assert_string_equal(desk_texts(d, f), "a");
	assert_string_equal(desk_texts(d, g), "a");
	assert_false(is_on_disk(d, "zanzibar"));
	/* Its number and what it was stay, and count for nothing. */
	events = call_on(d, "events", d->id, "\"redacted\":true");
	has(events, "\"was\":\"message\",\"role\":\"user\"");
	has(show(d, d->id), "\"message_count\":2");
	has(show(d, d->id), "\"turn_count\":2");
	/* Nothing brings it back. */
	desk_fails(d,
		   try_on(d, "redact", d->id, "\"messages\":[3],\"undo\":true"),
		   WEFT_NOT_FOUND, "3");
	desk_fails(d, try_on(d, "erase", d->id, "\"messages\":[3]"),
		   WEFT_NOT_FOUND, "3");
	assert_int_equal(desk_say(d, d->id, "d"), 6);
	is_sound(d);
}

static void a_fork_erases_where_it_was_said(void **state)
{
	struct desk *d = *state;
	const char *f;

	(void)desk_say(d, d->id, "a");
	(void)desk_say(d, d->id, "b");
	f = desk_fork(d, d->id);
	(void)desk_say(d, f, "c");
	has(call_on(d, "erase", f, "\"messages\":[2,5,5]"), "\"erased\":2");
	assert_string_equal(desk_texts(d, f), "b");
	assert_string_equal(desk_texts(d, d->id), "b");
	is_sound(d);
}

/* What is refused for one session is done for the others. */
static void what_went_before_a_refusal_is_gone_as_well(void **state)
{
	struct desk *d = *state;
	const char *f;

	(void)desk_say(d, d->id, "lamu");
	f = desk_fork(d, d->id);
	(void)desk_say(d, f, "pate");
	(void)search(d, "lamu");
	(void)call_on(d, "lease", f, "\"how\":\"acquire\",\"owner\":\"me\"");
	desk_fails(d, try_on(d, "erase", f, "\"messages\":[2,4]"), WEFT_LEASED,
		   "me");
	assert_string_equal(desk_texts(d, f), "pate");
	assert_false(is_on_disk(d, "lamu"));
	is_sound(d);
}

/* Who sends the message again must not bring it back. */
static void the_operation_of_an_erased_message_stays_known(void **state)
{
	static const char said[] = "{\"role\":\"user\",\"content\":\"x\"}";
	struct weft_append_options o;
	struct desk *d = *state;

	weft_append_options_init(&o, sizeof(o));
	o.op = "op-1";
	o.op_len = 4;
	desk_ok(d, desk_try(d, d->id, said, &o, NULL));
	(void)call_on(d, "erase", d->id, "\"messages\":[2]");
	desk_fails(d, desk_try(d, d->id, said, &o, NULL), WEFT_DELETED, "op-1");
	assert_string_equal(desk_texts(d, d->id), "");
}

static void previews_do_not_show_what_was_erased(void **state)
{
	struct desk *d = *state;

	(void)desk_say(d, d->id, "first");
	(void)desk_say(d, d->id, "bagamoyo");
	(void)call_on(d, "redact", d->id, "\"messages\":[2]");
	(void)call_on(d, "erase", d->id, "\"messages\":[3]");
	has(show(d, d->id), "\"first_user\":\"\",\"last_user\":\"\"");
	(void)call_on(d, "redact", d->id, "\"messages\":[2],\"undo\":true");
	has(show(d, d->id), "\"first_user\":\"first\",\"last_user\":\"\"");
	has(show(d, d->id), "\"message_count\":1");
	assert_false(is_on_disk(d, "bagamoyo"));
	is_sound(d);
}

static void a_lease_keeps_others_from_dropping(void **state)
{
	struct desk *d = *state;
	const char *answer;
	char token[64];

	(void)desk_say(d, d->id, "a");
	(void)call_on(d, "clear", d->id, "");
	answer = call_on(d, "lease", d->id,
			 "\"how\":\"acquire\",\"owner\":\"me\"");
	desk_fails(d, try_on(d, "erase", d->id, "\"messages\":[2]"),
		   WEFT_LEASED, "me");
	desk_fails(d, try_on(d, "reclaim", d->id, ""), WEFT_LEASED, "me");
	desk_fails(d, try_on(d, "purge", d->id, ""), WEFT_LEASED, "me");
	assert_string_equal(desk_texts(d, d->id), "a");
	answer = strstr(answer, "\"token\":");
	assert_non_null(answer);
	(void)snprintf(token, sizeof(token), "%.*s", (int)strcspn(answer, ",}"),
		       answer);
	has(call_on(d, "reclaim", d->id, token), "\"events\":1");
	has(call_on(d, "purge", d->id, token), "\"sessions\":1");
}

/* ---- reclaim ---- */

static void reclaim_changes_nothing_but_the_past(void **state)
{
	struct desk *d = *state;
	const char *before, *dry, *after;

	pay(d, d->id, "user", "one", 1);
	pay(d, d->id, "assistant", "two", 2);
	(void)call_on(d, "todos_set", d->id,
		      "\"todos\":[{\"content\":\"x\",\"status\":\"pending\"}]");
	pay(d, d->id, "user", "three", 4);
	(void)call_on(d, "redact", d->id, "\"messages\":[2]");
	pay(d, d->id, "assistant", "four", 8);
	(void)call_on(d, "rename", d->id, "\"slug\":\"title\"");
	pay(d, d->id, "user", "five", 16);
	(void)call_on(d, "compact", d->id, "\"keep\":1,\"summary\":\"s\"");
	before = show(d, d->id);
	dry = call_on(d, "reclaim", d->id, "\"dry_run\":true");
	assert_string_equal(show(d, d->id), before);
	assert_string_equal(desk_texts(d, d->id), "two three four five");
	after = call_on(d, "reclaim", d->id, "");
	has(after, "\"events\":4,");
	/* The same numbers as before. */
	assert_string_equal(strstr(dry, "\"sessions\""),
			    strstr(after, "\"sessions\""));
	assert_string_equal(show(d, d->id), before);
	assert_string_equal(desk_texts(d, d->id), "five");
	has(call_on(d, "todos", d->id, ""), "\"content\":\"x\"");
	is_sound(d);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(show(d, d->id), before);
	/* What is gone once is not dropped again. */
	has(call_on(d, "reclaim", d->id, ""), "\"events\":0,\"bytes\":0");
	/* Undo reaches what is left; a fork begins there or not at all. */
	(void)call_on(d, "undo", d->id, "");
	assert_string_equal(desk_texts(d, d->id), "five");
	desk_fails(d, try_on(d, "fork", d->id, "\"at\":3"), WEFT_NOT_FOUND,
		   "3");
	has(call_on(d, "fork", d->id, ""), "\"inherited_count\":4");
}

static void what_forks_have_is_not_reclaimed(void **state)
{
	struct desk *d = *state;
	const char *f, *answer;

	for (int i = 0; i < 6; i++)
		(void)desk_say(d, d->id, "m");
	f = fork_at(d, d->id, 3);
	(void)call_on(d, "truncate", d->id, "\"keep\":1");
	answer = call_on(d, "reclaim", d->id, "");
	has(answer, "\"events\":3,");
	has(answer, f);
	assert_string_equal(desk_texts(d, f), "m m");
	assert_string_equal(desk_texts(d, d->id), "m m m");
	/* When the fork is gone, so is its claim. */
	(void)call_on(d, "purge", f, "");
	has(call_on(d, "reclaim", d->id, ""), "\"events\":2,");
	assert_string_equal(desk_texts(d, d->id), "m");
	is_sound(d);
}

/* ---- purge ---- */

static void nothing_is_left_of_a_purged_session(void **state)
{
	struct desk *d = *state;
	const char *id = desk_new(d, "\"key\":\"kilimanjaro\",\"slug\":"
				     "\"okavango\",\"user\":\"limpopo\"");
	const char *dry, *after;

	(void)desk_say(d, id, "zambezi");
	(void)call_on(d, "alias", id, "\"alias\":\"serengeti\"");
	(void)call_on(d, "memory_add", id,
		      "\"scope\":\"session\",\"content\":\"ngorongoro\"");
	(void)desk_say(d, d->id, "stays");
	has(search(d, "zambezi"), id);
	dry = call_on(d, "purge", "kilimanjaro", "\"dry_run\":true");
	assert_string_equal(desk_texts(d, id), "zambezi");
	after = call_on(d, "purge", "serengeti", "");
	assert_string_equal(strstr(dry, "\"sessions\""),
			    strstr(after, "\"sessions\""));
	has(after, "\"sessions\":1,");
	desk_fails(d, try_on(d, "show", id, ""), WEFT_NOT_FOUND, "no session");
	desk_fails(d, try_on(d, "restore", id, ""), WEFT_NOT_FOUND,
		   "no session");
	desk_fails(d, try_on(d, "show", "kilimanjaro", ""), WEFT_NOT_FOUND,
		   "no session");
	assert_null(strstr(desk_call(d, "{\"method\":\"list\",\"deleted\":true,"
					"\"kind\":\"all\"}"),
			   "okavango"));
	assert_false(is_on_disk(d, "kilimanjaro"));
	assert_false(is_on_disk(d, "okavango"));
	assert_false(is_on_disk(d, "limpopo"));
	assert_false(is_on_disk(d, "zambezi"));
	assert_false(is_on_disk(d, "serengeti"));
	assert_false(is_on_disk(d, "ngorongoro"));
	is_sound(d);
	/* Its names are free, as if never used. */
	id = desk_new(d, "\"key\":\"kilimanjaro\"");
	(void)desk_say(d, "kilimanjaro", "new");
	assert_string_equal(desk_texts(d, id), "new");
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(desk_texts(d, "kilimanjaro"), "new");
	assert_string_equal(desk_texts(d, d->id), "stays");
}

/* A name that has been another one's, too, stays what it is. */
static void names_that_moved_survive_a_purge(void **state)
{
	struct desk *d = *state;
	const char *a = desk_new(d, "\"key\":\"first\"");
	const char *b;

	(void)call_on(d, "alias", a, "\"alias\":\"nick\"");
	b = desk_new(d, "\"key\":\"second\"");
	(void)call_on(d, "alias", b, "\"alias\":\"nick\",\"how\":\"move\"");
	(void)call_on(d, "purge", a, "");
	has(show(d, "nick"), b);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	has(show(d, "nick"), b);
	(void)call_on(d, "purge", b, "");
	is_sound(d);
	assert_false(is_on_disk(d, "nick"));
	(void)desk_new(d, "\"key\":\"nick\"");
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	(void)show(d, "nick");
}

/* What is nobody's now was somebody's: whoever takes it next must win. */
static void a_name_that_others_speak_of_keeps_its_version(void **state)
{
	struct desk *d = *state;
	const char *a = desk_new(d, ""), *b = desk_new(d, "");
	const char *c = desk_new(d, "");

	(void)call_on(d, "alias", a, "\"alias\":\"nick\"");
	(void)call_on(d, "alias", b, "\"alias\":\"nick\",\"how\":\"move\"");
	(void)call_on(d, "alias", b, "\"alias\":\"nick\",\"how\":\"remove\"");
	(void)call_on(d, "purge", a, "");
	(void)call_on(d, "alias", c, "\"alias\":\"nick\"");
	has(show(d, "nick"), c);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	has(show(d, "nick"), c);
}

static void forks_see_what_they_saw(void **state)
{
	struct desk *d = *state;
	const char *f, *g, *answer, *before;

	(void)desk_say(d, d->id, "a");
	(void)desk_say(d, d->id, "b");
	(void)call_on(d, "compact", d->id, "\"keep\":1,\"summary\":\"s\"");
	(void)desk_say(d, d->id, "c");
	(void)desk_say(d, d->id, "tanganyika");
	f = fork_at(d, d->id, 5);
	g = fork_at(d, f, 3);
	(void)desk_say(d, f, "own");
	(void)call_on(d, "redact", d->id, "\"messages\":[2]");
	before = show(d, f);
	answer = call_on(d, "purge", d->id, "");
	has(answer, "\"sessions\":0,");
	has(answer, f);
	has(answer, g);
	assert_string_equal(desk_texts(d, f), "b c own");
	assert_string_equal(desk_texts(d, g), "b");
	assert_string_equal(show(d, f), before);
	has(call_on(d, "history", f, "\"view\":\"window\""),
	    "\"summary\":\"s\"");
	assert_false(is_on_disk(d, "tanganyika"));
	desk_fails(d, try_on(d, "show", d->id, ""), WEFT_NOT_FOUND, "");
	desk_fails(d, try_on(d, "fork", d->id, ""), WEFT_NOT_FOUND, "");
	desk_fails(d,
		   try_on(d, "append", d->id,
			  "\"message\":{\"role\":\"user\",\"content\":"
			  "\"x\"}"),
		   WEFT_NOT_FOUND, "");
	is_sound(d);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(desk_texts(d, f), "b c own");
	/* What a fork has inherited can be erased through it. */
	has(call_on(d, "erase", f, "\"messages\":[5]"), "\"erased\":1");
	assert_string_equal(desk_texts(d, f), "b own");
	/* With the last fork goes what it held. */
	has(call_on(d, "purge", f, ""), "\"sessions\":1,");
	has(call_on(d, "purge", g, ""), "\"sessions\":2,");
	is_sound(d);
}

/* The last thing that a fork has inherited is gone, and what came after it in
 * the parent: the fork's own numbers go on in between. */
static void what_is_gone_ends_where_a_fork_begins(void **state)
{
	struct desk *d = *state;
	const char *f, *page;

	(void)desk_say(d, d->id, "a");
	(void)desk_say(d, d->id, "b");
	f = desk_fork(d, d->id);
	(void)desk_say(d, d->id, "c");
	(void)desk_say(d, d->id, "d");
	(void)call_on(d, "erase", d->id, "\"messages\":[3]");
	(void)desk_say(d, f, "own");
	(void)call_on(d, "purge", d->id, "");
	assert_string_equal(desk_texts(d, f), "a own");
	page = call_on(d, "events", f, "\"after\":2,\"redacted\":true");
	has(page, "\"own\"");
	/* Who goes on behind it must not leave out what is the fork's. */
	assert_null(strstr(page, "\"to\":"));
	is_sound(d);
}

/* What was appended together is there whole or not at all; but what a fork
 * does not need of it was taken away on purpose. */
static void a_fork_inside_a_batch_outlives_the_rest_of_it(void **state)
{
	static const char batch[] = "[{\"role\":\"user\",\"content\":\"b1\"},"
				    "{\"role\":\"user\",\"content\":\"b2\"},"
				    "{\"role\":\"user\",\"content\":\"b3\"},"
				    "{\"role\":\"user\",\"content\":\"b4\"}]";
	struct desk *d = *state;
	const char *f;

	(void)desk_say(d, d->id, "a");
	assert_int_equal(weft_append(d->store, d->id, WEFT_ID_CHARS, batch,
				     strlen(batch), NULL, NULL, &d->err),
			 WEFT_OK);
	f = fork_at(d, d->id, 3);
	assert_string_equal(desk_texts(d, f), "a b1");
	(void)call_on(d, "purge", d->id, "");
	assert_string_equal(desk_texts(d, f), "a b1");
	has(call_on(d, "events", f, "\"after\":2,\"limit\":1"), "\"b1\"");
	is_sound(d);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	has(call_on(d, "events", f, "\"after\":2,\"limit\":1"), "\"b1\"");
}

/* After the clock was set back, a fork is older than its parent. */
static void clocks_do_not_say_who_inherits_from_whom(void **state)
{
	struct desk *d = *state;
	const char *mine = desk_new(d, "\"user\":\"zawia\"");
	const char *f, *dry, *after;

	(void)desk_say(d, mine, "a");
	d->now_ms -= 3600 * 1000;
	f = desk_fork(d, mine);
	(void)desk_say(d, f, "b");
	dry = desk_call(d, "{\"method\":\"purge\",\"user\":\"zawia\","
			   "\"dry_run\":true}");
	after = desk_call(d, "{\"method\":\"purge\",\"user\":\"zawia\"}");
	has(after, "\"sessions\":2,");
	has(after, "\"forks\":[]");
	assert_string_equal(strstr(dry, "\"sessions\""),
			    strstr(after, "\"sessions\""));
	is_sound(d);
}

/* What was kept for a fork alone goes with it, to the last byte. */
static void the_last_fork_takes_with_it_what_it_held(void **state)
{
	struct desk *d = *state;
	const char *mine = desk_new(d, ""), *f, *g;

	(void)desk_say(d, mine, "malindi");
	(void)desk_say(d, mine, "mombasa");
	f = fork_at(d, mine, 3);
	g = fork_at(d, mine, 2);
	(void)call_on(d, "purge", mine, "");
	has(search(d, "malindi"), "\"hits\":[]");
	/* It is less now that is needed. */
	has(call_on(d, "purge", f, ""), g);
	assert_false(is_on_disk(d, "mombasa"));
	assert_string_equal(desk_texts(d, g), "malindi");
	has(call_on(d, "purge", g, ""), "\"sessions\":2,");
	assert_false(is_on_disk(d, "malindi"));
	is_sound(d);
}

/* An id is all that somebody may have kept of a message. */
static void a_message_is_found_by_its_id_where_a_fork_shows_it(void **state)
{
	struct desk *d = *state;
	const char *id, *f, *g, *answer;

	(void)desk_say(d, d->id, "a");
	id = strstr(call_on(d, "history", d->id, ""), "\"id\":\"");
	assert_non_null(id);
	id = arena_str(&d->arena, (struct weft_str){ id + 6, WEFT_ID_CHARS })
		     .ptr;
	f = desk_fork(d, d->id);
	(void)desk_say(d, f, "b");
	g = desk_fork(d, f);
	(void)call_on(d, "purge", d->id, "");
	answer =
		desk_call(d, "{\"method\":\"message\",\"message\":\"%s\"}", id);
	has(answer, "\"text\":\"a\"");
	(void)call_on(d, "purge", f, "");
	answer =
		desk_call(d, "{\"method\":\"message\",\"message\":\"%s\"}", id);
	has(answer, "\"text\":\"a\"");
	(void)call_on(d, "purge", g, "");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"message\",\"message\":"
				 "\"%s\"}",
				 id),
		   WEFT_NOT_FOUND, "no message");
}

static void a_purge_takes_subagents_but_no_money(void **state)
{
	struct desk *d = *state;
	const char *sub, *below, *before;
	char members[128];

	(void)snprintf(members, sizeof(members),
		       "\"kind\":\"subagent\",\"parent\":\"%s\"", d->id);
	sub = desk_new(d, members);
	(void)snprintf(members, sizeof(members),
		       "\"kind\":\"subagent\",\"parent\":\"%s\"", sub);
	below = desk_new(d, members);
	pay(d, d->id, "user", "a", 1);
	pay(d, sub, "user", "b", 10);
	pay(d, below, "user", "c", 100);
	before = call_on(d, "usage", d->id, "");
	has(before, "\"input_tokens\":111");
	has(call_on(d, "purge", sub, ""), "\"sessions\":2,");
	desk_fails(d, try_on(d, "show", below, ""), WEFT_NOT_FOUND, "");
	assert_string_equal(call_on(d, "usage", d->id, ""), before);
	is_sound(d);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(call_on(d, "usage", d->id, ""), before);
}

static void a_person_is_purged_everywhere(void **state)
{
	struct desk *d = *state;
	const char *mine = desk_new(d, "\"user\":\"kilwa\",\"key\":\"mine\"");
	const char *dry, *after;

	(void)desk_say(d, mine, "madagascar");
	(void)desk_new(d, "\"kind\":\"book\",\"key\":\"book:user:kilwa\"");
	desk_ok(d, desk_try(d, d->id,
			    "{\"role\":\"user\",\"content\":\"mauritius\","
			    "\"from\":{\"id\":\"kilwa\",\"name\":\"Kil Wa\"}}",
			    NULL, NULL));
	desk_ok(d, desk_try(d, d->id,
			    "{\"role\":\"user\",\"content\":\"hi\",\"from\":{"
			    "\"id\":\"other\",\"name\":\"O\"}}",
			    NULL, NULL));
	dry = desk_call(d, "{\"method\":\"purge\",\"user\":\"kilwa\","
			   "\"dry_run\":true}");
	assert_string_equal(desk_texts(d, d->id), "mauritius hi");
	after = desk_call(d, "{\"method\":\"purge\",\"user\":\"kilwa\"}");
	assert_string_equal(strstr(dry, "\"sessions\""),
			    strstr(after, "\"sessions\""));
	has(after, "\"sessions\":2,");
	assert_string_equal(desk_texts(d, d->id), "hi");
	assert_false(is_on_disk(d, "madagascar"));
	assert_false(is_on_disk(d, "mauritius"));
	assert_false(is_on_disk(d, "kilwa"));
	assert_false(is_on_disk(d, "Kil Wa"));
	is_sound(d);
	desk_fails(d, desk_try_call(d, "{\"method\":\"purge\"}"), WEFT_INVALID,
		   "session");
}

/* An image that nothing else refers to goes with its message. */
static void attachments_go_with_what_referred_to_them(void **state)
{
	static const char image[] =
		"{\"role\":\"user\",\"parts\":[{\"type\":\"image\","
		"\"image_mime_type\":\"image/png\",\"image_base64\":"
		"\"c3dhaGlsaWNvYXN0\"}]}";
	struct desk *d = *state;
	const char *other = desk_new(d, "");
	const char *dry;

	desk_ok(d, desk_try(d, d->id, image, NULL, NULL));
	desk_ok(d, desk_try(d, other, image, NULL, NULL));
	dry = call_on(d, "purge", other, "\"dry_run\":true");
	has(dry, "\"blobs\":0");
	has(call_on(d, "erase", d->id, "\"messages\":[2]"), "\"blobs\":0");
	dry = call_on(d, "purge", other, "\"dry_run\":true");
	has(dry, "\"blobs\":1");
	has(call_on(d, "purge", other, ""), "\"blobs\":1");
	assert_false(is_on_disk(d, "swahilicoast"));
	is_sound(d);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(an_erased_message_is_gone_for_all),
	PUBLIC_TEST(a_fork_erases_where_it_was_said),
	PUBLIC_TEST(what_went_before_a_refusal_is_gone_as_well),
	PUBLIC_TEST(the_operation_of_an_erased_message_stays_known),
	PUBLIC_TEST(previews_do_not_show_what_was_erased),
	PUBLIC_TEST(a_lease_keeps_others_from_dropping),
	PUBLIC_TEST(reclaim_changes_nothing_but_the_past),
	PUBLIC_TEST(what_forks_have_is_not_reclaimed),
	PUBLIC_TEST(nothing_is_left_of_a_purged_session),
	PUBLIC_TEST(names_that_moved_survive_a_purge),
	PUBLIC_TEST(a_name_that_others_speak_of_keeps_its_version),
	PUBLIC_TEST(forks_see_what_they_saw),
	PUBLIC_TEST(what_is_gone_ends_where_a_fork_begins),
	PUBLIC_TEST(a_fork_inside_a_batch_outlives_the_rest_of_it),
	PUBLIC_TEST(clocks_do_not_say_who_inherits_from_whom),
	PUBLIC_TEST(the_last_fork_takes_with_it_what_it_held),
	PUBLIC_TEST(a_message_is_found_by_its_id_where_a_fork_shows_it),
	PUBLIC_TEST(a_purge_takes_subagents_but_no_money),
	PUBLIC_TEST(a_person_is_purged_everywhere),
	PUBLIC_TEST(attachments_go_with_what_referred_to_them),
};

const struct suite public_drop_suite = { tests, ARRAY_LEN(tests) };
