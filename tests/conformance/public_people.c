/*
 * public_people.c - whose a conversation is: what is of one person, of a group,
 * of several, and that nobody is taken for somebody else.
 */
#include <stdio.h>

#include "conformance/public.h"
#include "weft/compat.h"

/* ---- helpers ---- */

static void has(const char *answer, const char *part)
{
	if (!strstr(answer, part))
		print_error("no %s in %s\n", part, answer);
	assert_non_null(strstr(answer, part));
}

/* A message that says whom it is from. */
static void say_as(struct desk *d, const char *session, const char *id,
		   const char *text)
{
	struct weft_str json = arena_printf(
		&d->arena,
		"{\"role\":\"user\",\"content\":\"%s\",\"from\":{\"id\":\"%s\","
		"\"name\":\"\"}}",
		text, id);

	desk_ok(d, desk_try(d, session, json.ptr, NULL, NULL));
}

static struct weft_route_options in_group(const char *channel, const char *chat,
					  const char *sender)
{
	struct weft_route_options o = desk_from(channel, sender);

	o.chat_type = STR("group");
	o.chat_id = str_of(chat);
	return o;
}

/* Route, and keep the id. */
static const char *routed(struct desk *d, const struct weft_route_options *o)
{
	struct weft_routed r = desk_route(d, o);

	return arena_str(&d->arena, str_of(r.session)).ptr;
}

/* Purge a person; the dry run before it must have said the same. */
static const char *purge(struct desk *d, const char *user)
{
	const char *dry = desk_call(d,
				    "{\"method\":\"purge\",\"user\":\"%s\","
				    "\"dry_run\":true}",
				    user);
	const char *after =
		desk_call(d, "{\"method\":\"purge\",\"user\":\"%s\"}", user);

	assert_string_equal(strstr(dry, "\"sessions\""),
			    strstr(after, "\"sessions\""));
	return after;
}

static bool exists(struct desk *d, const char *session)
{
	return desk_try_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
			     session) == WEFT_OK;
}

static int load_last(struct desk *d, const char *user, const char *channel,
		     const char **ret)
{
	struct weft_answer *answer = NULL;
	int r = weft_chat_load_last_session(d->store, user, strlen(user),
					    channel, strlen(channel), &answer,
					    &d->err);

	*ret = "";
	if (r == WEFT_OK)
		*ret = arena_str(&d->arena,
				 str_of(weft_answer_text(answer, NULL)))
			       .ptr;
	weft_answer_free(answer);
	return r;
}

/* ---- groups ---- */

static void a_group_is_nobodys_own(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = in_group("telegram", "g1", "42");
	struct weft_route_options dm = desk_from("telegram", "42");
	const char *group, *mine, *report, *last;

	desk_configure(d, "{\"session\":{\"roles\":{\"Admin\":[\"42\"]}}}");
	group = routed(d, &o);
	assert_string_equal(desk_member(d, desk_show(d, group), "user"), "");
	assert_string_equal(desk_member(d, desk_show(d, group), "user_role"),
			    "");
	say_as(d, group, "42", "zanzibar");
	say_as(d, group, "77", "b");
	say_as(d, group, "77", "c");
	desk_fails(d, load_last(d, "42", "telegram", &last), WEFT_NOT_FOUND,
		   "");
	mine = routed(d, &dm);
	(void)desk_say(d, mine, "pemba");
	say_as(d, group, "77", "d");
	desk_ok(d, load_last(d, "42", "telegram", &last));
	has(last, mine);
	desk_ok(d, load_last(d, "telegram:42", "telegram", &last));
	has(last, mine);
	report = purge(d, "telegram:42");
	has(report, "\"sessions\":1,");
	has(report, "\"identities\":[{\"id\":\"telegram:42\",\"sessions\":1,"
		    "\"messages\":1}]");
	assert_string_equal(desk_texts(d, group), "b c d");
	assert_false(exists(d, mine));
}

/* Older versions wrote the user who spoke first into the record. */
static void a_group_with_a_user_is_judged_by_its_scope(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = in_group("telegram", "g1", "42");
	const char *group = routed(d, &o), *last;

	(void)desk_call(d,
			"{\"method\":\"set\",\"session\":\"%s\",\"changes\":"
			"{\"user\":\"telegram:42\"}}",
			group);
	say_as(d, group, "42", "a");
	say_as(d, group, "77", "b");
	desk_fails(d, load_last(d, "42", "telegram", &last), WEFT_NOT_FOUND,
		   "");
	has(purge(d, "telegram:42"), "\"sessions\":0,\"events\":1,");
	assert_string_equal(desk_texts(d, group), "b");
	/* Who speaks there next makes no difference to that. */
	o.sender_id = STR("77");
	assert_int_equal(desk_route(d, &o).warnings, 0);
}

/* ---- who is who ---- */

#define ALICE                                                           \
	"{\"session\":{\"identity_links\":{\"alice\":[\"telegram:42\"," \
	"\"discord:7\"]}}}"

static void the_same_id_elsewhere_is_somebody_else(void **state)
{
	struct desk *d = *state;
	struct weft_route_options telegram = desk_from("telegram", "42");
	struct weft_route_options discord = desk_from("discord", "42");
	struct weft_route_options group = in_group("discord", "g", "9");
	const char *t = routed(d, &telegram), *c = routed(d, &discord);
	const char *g = routed(d, &group);

	say_as(d, g, "42", "of discord");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"purge\",\"user\":\"42\"}"),
		   WEFT_AMBIGUOUS, "discord:42");
	has(purge(d, "telegram:42"), "\"sessions\":1,\"events\":");
	assert_false(exists(d, t));
	assert_true(exists(d, c));
	assert_string_equal(desk_texts(d, g), "of discord");
	/* Now it is known on one channel alone. */
	has(purge(d, "42"), "{\"id\":\"discord:42\",\"sessions\":1,"
			    "\"messages\":1}");
	assert_false(exists(d, c));
	assert_string_equal(desk_texts(d, g), "");
	desk_fails(d, desk_try_call(d, "{\"method\":\"purge\",\"user\":\"*\"}"),
		   WEFT_INVALID, "several");
}

static void links_lead_to_all_that_a_person_said(void **state)
{
	struct desk *d = *state;
	struct weft_route_options group = in_group("telegram", "g", "1");
	struct weft_route_options slack = in_group("slack", "s", "1");
	struct weft_route_options dm = desk_from("discord", "7");
	struct weft_route_options stranger = desk_from("slack", "alice");
	const char *g, *s, *mine, *theirs, *report;

	/* Said before she was linked. */
	mine = routed(d, &dm);
	desk_configure(d, ALICE);
	g = routed(d, &group);
	s = routed(d, &slack);
	theirs = routed(d, &stranger);
	assert_string_equal(desk_member(d, desk_show(d, theirs), "user"),
			    "slack:alice");
	say_as(d, g, "42", "a");
	say_as(d, g, "telegram:42", "b");
	say_as(d, g, "7", "not hers");
	say_as(d, s, "42", "nor this");
	say_as(d, s, "alice", "nor that");
	report = purge(d, "Alice");
	has(report, "{\"id\":\"discord:7\",\"sessions\":1,\"messages\":0}");
	has(report, "{\"id\":\"telegram:42\",\"sessions\":0,\"messages\":2}");
	assert_false(exists(d, mine));
	assert_string_equal(desk_texts(d, g), "not hers");
	assert_string_equal(desk_texts(d, s), "nor this nor that");
	assert_true(exists(d, theirs));
	/* Any of the ids means the person. */
	say_as(d, g, "42", "c");
	has(purge(d, "discord:7"), "{\"id\":\"telegram:42\"");
	assert_string_equal(desk_texts(d, g), "not hers");
}

/* Channel and user of a program's own are what it says that they are. */
static void users_of_programs_keep_their_names(void **state)
{
	struct desk *d = *state;
	const char *a = desk_new(d, "\"user\":\"dan\",\"channel\":\"irc\"");
	const char *b = desk_new(d, "\"user\":\"dan\",\"channel\":\"web\"");
	struct weft_route_options o = desk_from("telegram", "dan");
	struct weft_route_options group = in_group("irc", "g", "1");
	const char *other = routed(d, &o), *g = routed(d, &group), *last;

	say_as(d, g, "dan", "his");
	say_as(d, other, "dan", "of another");
	desk_ok(d, load_last(d, "dan", "irc", &last));
	has(last, a);
	desk_ok(d, load_last(d, "dan", "telegram", &last));
	has(last, other);
	has(purge(d, "dan"), "{\"id\":\"dan\",\"sessions\":2,\"messages\":0}");
	assert_false(exists(d, a));
	assert_false(exists(d, b));
	assert_string_equal(desk_texts(d, g), "");
	assert_string_equal(desk_texts(d, other), "of another");
}

/* ---- what was there before routing ---- */

static void what_a_session_lacks_is_written_once(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("web", "7");
	const char *id, *shown;
	uint64_t head;

	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel\","
			  "\"roles\":{\"Guest\":[\"web:7\"]}}}");
	id = desk_new(d, "\"key\":\"web:7\"");
	(void)desk_new(d, "\"aliases\":[\"agent:main:direct:7\"]");
	assert_string_equal(routed(d, &o), id);
	shown = desk_show(d, id);
	has(shown, "\"scope\":{\"version\":1");
	has(shown, "\"user\":\"web:7\",\"channel\":\"web\",\"user_role\":"
		   "\"Guest\"");
	/* What is another's stays so. */
	has(shown, "\"agent:main:web:direct:7\"");
	assert_null(strstr(shown, "\"agent:main:direct:7\""));
	head = desk_head(d, id);
	assert_string_equal(routed(d, &o), id);
	assert_int_equal(desk_head(d, id), head);
	if (d->dir[0])
		desk_reopen(d, NULL);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	has(desk_show(d, id), "\"scope\":{\"version\":1");
}

static void a_dry_run_adds_nothing_to_a_session(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("web", "7");
	const char *id;

	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel\"}}");
	id = desk_new(d, "\"key\":\"web:7\"");
	o.flags = WEFT_ROUTE_DRY_RUN;
	assert_string_equal(routed(d, &o), id);
	assert_int_equal(desk_head(d, id), 1);
}

static void a_session_of_another_user_is_refused(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("web", "7");
	struct weft_route_options group = in_group("web", "g", "7");
	struct weft_route_options older = desk_from("telegram", "5");
	const char *id;

	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel\"}}");
	id = desk_new(d, "\"key\":\"web:7\",\"user\":\"dan\"");
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_CONFLICT,
		   "of user 'dan', this is a message of 'web:7'");
	assert_int_equal(desk_head(d, id), 1);
	o.flags = WEFT_ROUTE_DRY_RUN;
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_CONFLICT,
		   "weft set");
	o.flags = 0;
	/* What to do: say that it is theirs; a bare id is one of the channel. */
	(void)desk_call(d,
			"{\"method\":\"set\",\"session\":\"%s\",\"changes\":"
			"{\"user\":\"7\"}}",
			id);
	assert_string_equal(routed(d, &o), id);
	assert_string_equal(desk_member(d, desk_show(d, id), "user"), "web:7");
	/* Nobody's own becomes a group's. */
	(void)desk_new(d, "\"key\":\"web:group:g\",\"user\":\"web:7\"");
	desk_fails(d, weft_route(d->store, &group, NULL, &d->err),
		   WEFT_CONFLICT, "group");
	/* Nor is it taken over under an older name. */
	desk_configure(d, "{}");
	id = desk_new(d, "\"key\":\"agent:main:telegram:direct:5\",\"user\":"
			 "\"dan\"");
	(void)desk_say(d, id, "secret");
	desk_fails(d, weft_route(d->store, &older, NULL, &d->err),
		   WEFT_CONFLICT, "dan");
	older.flags = WEFT_ROUTE_DRY_RUN;
	desk_fails(d, weft_route(d->store, &older, NULL, &d->err),
		   WEFT_CONFLICT, "dan");
}

static void who_is_called_like_a_link_is_not_taken_for_them(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("slack", "alice");

	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel-peer\","
			  "\"identity_links\":{\"alice\":[\"telegram:42\"]}}}");
	(void)desk_new(d, "\"key\":\"agent:main:slack:direct:alice\","
			  "\"user\":\"alice\",\"channel\":\"slack\"");
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_CONFLICT,
		   "slack:alice");
}

/* Who was linked later is who they are from then on. */
static void the_user_is_what_it_is_now(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "42");
	const char *id = routed(d, &o);
	uint64_t head;

	desk_configure(d, ALICE);
	assert_int_equal(desk_route(d, &o).warnings, 0);
	assert_string_equal(desk_member(d, desk_show(d, id), "user"), "alice");
	head = desk_head(d, id);
	assert_string_equal(routed(d, &o), id);
	assert_int_equal(desk_head(d, id), head);
}

/* ---- several people ---- */

static void who_shares_is_told_whoever_came_first(void **state)
{
	static const char *const senders[] = { "", "1", "2", "3", "1", "" };
	static const unsigned told[] = { 0, 0, 1, 1, 1, 1 };
	struct desk *d = *state;
	const char *id = "", *last;
	uint64_t head;

	desk_configure(d, "{\"session\":{\"dm_scope\":\"main\"}}");
	for (size_t i = 0; i < ARRAY_LEN(senders); i++) {
		struct weft_route_options o = desk_from("cli", senders[i]);
		struct weft_routed r;

		o.chat_id = STR("");
		r = desk_route(d, &o);
		assert_int_equal(r.warnings, told[i]);
		id = arena_str(&d->arena, str_of(r.session)).ptr;
	}
	assert_string_equal(desk_member(d, desk_show(d, id), "user"), "*");
	head = desk_head(d, id);
	if (d->dir[0])
		desk_reopen(d, NULL);
	desk_configure(d, "{\"session\":{\"dm_scope\":\"main\"}}");
	{
		struct weft_route_options o = desk_from("cli", "1");

		assert_int_equal(desk_route(d, &o).warnings, 1);
	}
	assert_int_equal(desk_head(d, id), head);
	/* It is nobody's own any more. */
	say_as(d, id, "1", "a");
	say_as(d, id, "2", "b");
	desk_fails(d, load_last(d, "1", "cli", &last), WEFT_NOT_FOUND, "");
	(void)purge(d, "cli:1");
	assert_string_equal(desk_texts(d, id), "b");
}

static void what_one_person_alone_has_is_theirs(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("cli", "1");
	const char *id;

	desk_configure(d, "{\"session\":{\"dm_scope\":\"main\"}}");
	id = routed(d, &o);
	(void)desk_say(d, id, "a");
	assert_int_equal(desk_route(d, &o).warnings, 0);
	has(purge(d, "cli:1"), "\"sessions\":1,");
	assert_false(exists(d, id));
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_group_is_nobodys_own),
	PUBLIC_TEST(a_group_with_a_user_is_judged_by_its_scope),
	PUBLIC_TEST(the_same_id_elsewhere_is_somebody_else),
	PUBLIC_TEST(links_lead_to_all_that_a_person_said),
	PUBLIC_TEST(users_of_programs_keep_their_names),
	PUBLIC_TEST(what_a_session_lacks_is_written_once),
	PUBLIC_TEST(a_dry_run_adds_nothing_to_a_session),
	PUBLIC_TEST(a_session_of_another_user_is_refused),
	PUBLIC_TEST(who_is_called_like_a_link_is_not_taken_for_them),
	PUBLIC_TEST(the_user_is_what_it_is_now),
	PUBLIC_TEST(who_shares_is_told_whoever_came_first),
	PUBLIC_TEST(what_one_person_alone_has_is_theirs),
};

const struct suite public_people_suite = { tests, ARRAY_LEN(tests) };
