/* public_route.c - every message finds its session, and only its own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "conformance/public.h"

static void a_message_finds_its_session_again(void **state)
{
	struct desk *d = *state;
	struct weft_route_options alice = desk_from("telegram", "5");
	struct weft_route_options bob = desk_from("telegram", "6");
	struct weft_routed first = desk_route(d, &alice), again, other;
	const char *shown;

	assert_int_equal(first.created, 1);
	assert_string_equal(first.agent, "main");
	again = desk_route(d, &alice);
	assert_int_equal(again.created, 0);
	assert_string_equal(first.session, again.session);
	other = desk_route(d, &bob);
	assert_int_equal(other.created, 1);
	assert_string_not_equal(first.session, other.session);

	/* What is known of it is written down. */
	shown = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
			  first.session);
	assert_non_null(strstr(shown, "\"user\":\"telegram:5\""));
	assert_non_null(strstr(shown, "\"channel\":\"telegram\""));
	assert_non_null(strstr(shown, "\"scope\":{\"version\":1,"
				      "\"agent_id\":\"main\""));
	/* It is still found when the store is opened again. */
	if (is_place(d->url)) {
		desk_reopen(d, NULL);
		again = desk_route(d, &alice);
		assert_int_equal(again.created, 0);
		assert_string_equal(first.session, again.session);
	}
}

static void a_dry_run_makes_nothing(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "5");
	struct weft_routed r;

	o.flags = WEFT_ROUTE_DRY_RUN;
	r = desk_route(d, &o);
	assert_string_equal(r.session, "");
	assert_int_equal(r.created, 0);
	r = desk_route(d, &o);
	assert_string_equal(r.session, "");
}

static void derived_aliases_are_taken_only_if_they_are_free(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "5");
	const char *holder =
		desk_new(d, "\"aliases\":[\"agent:main:direct:5\"]");
	struct weft_routed r = desk_route(d, &o);
	const char *shown;

	assert_int_equal(r.created, 1);
	assert_string_not_equal(holder, r.session);
	shown = desk_call(d, "{\"method\":\"show\",\"session\":"
			     "\"agent:main:direct:5\"}");
	assert_non_null(strstr(shown, holder));
	shown = desk_call(d, "{\"method\":\"show\",\"session\":"
			     "\"agent:main:telegram:direct:5\"}");
	assert_non_null(strstr(shown, r.session));
	/* The agent's own conversation is nobody's direct message. */
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"show\",\"session\":"
				    "\"agent:main:main\"}"),
		   WEFT_NOT_FOUND, "");
}

/* A key that two scopes share: the second is refused, the first left alone. */
static void another_scope_under_the_same_key_is_refused(void **state)
{
	struct desk *d = *state;
	struct weft_route_options honest = desk_from("irc", "b");
	struct weft_route_options forged = desk_from("irc", "x");
	struct weft_routed r;

	desk_configure(d,
		       "{\"session\":{\"dimensions\":[\"chat\",\"sender\"]}}");
	honest.chat_id = STR("a");
	r = desk_route(d, &honest);
	assert_int_equal(r.created, 1);
	desk_configure(d, "{\"session\":{\"dimensions\":[\"chat\"]}}");
	forged.chat_id = STR("a|sender=b");
	desk_fails(d, weft_route(d->store, &forged, NULL, &d->err),
		   WEFT_CONFLICT, "of another conversation");
	forged.flags = WEFT_ROUTE_DRY_RUN;
	desk_fails(d, weft_route(d->store, &forged, NULL, &d->err),
		   WEFT_CONFLICT, r.session);
	/* A session without a scope was named by hand. */
	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel\"}}");
	(void)desk_new(d, "\"key\":\"web:7\"");
	honest = desk_from("web", "7");
	assert_int_equal(desk_route(d, &honest).created, 0);
}

/* All 25 code points, line breaks among them. */
static void white_space_around_what_a_channel_gives_does_not_count(void **state)
{
	static const char *const white[] = {
		"\t",           "\n",           "\v",
		"\f",           "\r",           " ",
		"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
		"\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82",
		"\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85",
		"\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
		"\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
		"\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
		"\xe3\x80\x80",
	};
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "5");
	struct weft_routed plain = desk_route(d, &o);

	for (size_t i = 0; i < ARRAY_LEN(white); i++) {
		const char *w = white[i];
		struct weft_str id =
			arena_printf(&d->arena, "%s5%s%s", w, w, w);

		o.channel = arena_printf(&d->arena, "%sTelegram%s", w, w);
		o.account = o.topic_id = o.space_id = o.agent = str_of(w);
		o.chat_type = arena_printf(&d->arena, "Direct%s", w);
		o.chat_id = o.sender_id = id;
		assert_string_equal(desk_route(d, &o).session, plain.session);
	}
}

/* The names of a session, key first; "" where it has none. */
static const char *names_of(struct desk *d, const char *session)
{
	const char *shown = desk_call(
		d, "{\"method\":\"show\",\"session\":\"%s\"}", session);
	const char *from = strstr(shown, "\"key\":");
	const char *to = strstr(shown, ",\"previous\"");

	assert_non_null(from);
	assert_non_null(to);
	return arena_str(&d->arena,
			 (struct weft_str){ from, (size_t)(to - from) })
		.ptr;
}

#define OLDER "agent:main:telegram:direct:5"

/* Dimensions gave a conversation the names of older programs; then dm_scope is
 * configured, whose keys are such names. */
static void a_key_goes_before_an_alias_that_was_only_given(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "5");
	struct weft_routed old = desk_route(d, &o), fresh;
	const char *answer;

	(void)desk_say(d, OLDER, "by dimensions");
	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel-peer\"}}");
	answer = desk_call(d, "{\"method\":\"route\",\"channel\":\"telegram\","
			      "\"chat_type\":\"direct\",\"chat_id\":\"5\","
			      "\"sender_id\":\"5\",\"dry_run\":true}");
	assert_non_null(strstr(answer, "\"session\":null"));
	assert_non_null(strstr(answer, "this one would begin anew"));
	assert_non_null(strstr(names_of(d, old.session), "\"" OLDER "\""));

	fresh = desk_route(d, &o);
	assert_int_equal(fresh.created, 1);
	assert_int_equal(fresh.warnings, 1);
	assert_string_not_equal(fresh.session, old.session);
	assert_non_null(
		strstr(names_of(d, fresh.session), "\"key\":\"" OLDER "\""));
	/* The old one has lost this name, and nothing else. */
	assert_null(strstr(names_of(d, old.session), "\"" OLDER "\""));
	assert_non_null(
		strstr(names_of(d, old.session), "\"agent:main:direct:5\""));
	assert_string_equal(desk_texts(d, old.session), "by dimensions");
	assert_string_equal(desk_texts(d, OLDER), "");
	/* Once; and for good. */
	fresh = desk_route(d, &o);
	assert_int_equal(fresh.created, 0);
	assert_int_equal(fresh.warnings, 0);
	if (is_place(d->url))
		desk_reopen(d, NULL);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel-peer\"}}");
	assert_string_equal(desk_route(d, &o).session, fresh.session);
	/* Whoever goes back finds what there was. */
	desk_configure(d, "{}");
	assert_string_equal(desk_route(d, &o).session, old.session);
}

static void a_key_is_not_taken_from_anybody(void **state)
{
	struct desk *d = *state;
	struct weft_route_options user = desk_from("direct", "group:7");
	struct weft_route_options chat = desk_from("direct", "8");
	struct weft_routed r;

	/* Two keys of older programs that are the same text. */
	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-peer\"}}");
	r = desk_route(d, &user);
	chat.chat_type = STR("group");
	chat.chat_id = STR("7");
	desk_fails(d, weft_route(d->store, &chat, NULL, &d->err), WEFT_CONFLICT,
		   r.session);
	/* What a person called so is meant, whatever its scope is. */
	(void)desk_new(d, "\"aliases\":[\"agent:main:direct:9\"]");
	user = desk_from("telegram", "9");
	assert_int_equal(desk_route(d, &user).created, 0);
}

#define LINKED                                                          \
	"{\"session\":{\"dimensions\":[\"sender\"],\"identity_links\":" \
	"{\"john\":[\"telegram:5\",\"discord:7\",\"anywhere\"]}}}"

static void a_linked_person_has_one_session(void **state)
{
	struct desk *d = *state;
	struct weft_route_options telegram = desk_from("telegram", "5");
	struct weft_route_options discord = desk_from("discord", "7");
	struct weft_route_options irc = desk_from("irc", "anywhere");
	struct weft_route_options stranger = desk_from("telegram", "8");
	struct weft_routed first, r;

	desk_configure(d, LINKED);
	telegram.account = STR("bot-a");
	first = desk_route(d, &telegram);
	r = desk_route(d, &discord);
	assert_int_equal(r.created, 0);
	assert_string_equal(r.session, first.session);
	/* A channel that no id names, and another account. */
	irc.flags = WEFT_ROUTE_DRY_RUN;
	assert_string_equal(desk_route(d, &irc).session, first.session);
	irc.flags = 0;
	assert_string_equal(desk_route(d, &irc).session, first.session);
	assert_string_equal(desk_route(d, &irc).session, first.session);
	telegram.account = STR("bot-b");
	assert_string_equal(desk_route(d, &telegram).session, first.session);
	/* Nobody else does. */
	r = desk_route(d, &stranger);
	assert_string_not_equal(r.session, first.session);
}

static void a_namesake_is_kept_out(void **state)
{
	struct desk *d = *state;
	struct weft_route_options john = desk_from("discord", "7");
	struct weft_route_options namesake = desk_from("discord", "JOHN");
	struct weft_route_options elsewhere = desk_from("telegram", "john");

	desk_configure(d, LINKED);
	(void)desk_route(d, &john);
	desk_fails(d, weft_route(d->store, &namesake, NULL, &d->err),
		   WEFT_CONFLICT, "another conversation");
	desk_fails(d, weft_route(d->store, &elsewhere, NULL, &d->err),
		   WEFT_CONFLICT, "another conversation");
}

static const char *ask_route(struct desk *d, const char *sender)
{
	return desk_call(d,
			 "{\"method\":\"route\",\"channel\":\"telegram\","
			 "\"chat_type\":\"direct\",\"sender_id\":\"%s\"}",
			 sender);
}

static void people_who_share_are_told(void **state)
{
	struct desk *d = *state;
	const char *answer;

	desk_configure(d, "{\"session\":{\"dm_scope\":\"main\"}}");
	answer = ask_route(d, "5");
	assert_non_null(strstr(answer, "\"created\":true"));
	assert_null(strstr(answer, "more than one person"));
	answer = ask_route(d, "6");
	assert_non_null(strstr(answer, "\"key\":\"main\""));
	assert_non_null(strstr(answer, "more than one person speaks here: "
				       "'telegram:5' began it, this is "
				       "'telegram:6'"));
}

static void keys_of_the_callers_own(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "5");
	struct weft_route_options cron = desk_from("cron", "job");
	struct weft_routed r, again;

	o.session_key = STR("agent:main:Nightly");
	r = desk_route(d, &o);
	assert_int_equal(r.created, 1);
	/* Whoever names it means it, whatever else is known. */
	cron.session_key = o.session_key;
	again = desk_route(d, &cron);
	assert_string_equal(r.session, again.session);
	/* An alias of an older program leads to what it names. */
	o.session_key = STR("");
	r = desk_route(d, &o);
	cron.session_key = STR("agent:main:telegram:direct:5");
	again = desk_route(d, &cron);
	assert_int_equal(again.created, 0);
	assert_string_equal(r.session, again.session);
}

static void a_deleted_session_is_not_found_again(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "5");
	struct weft_routed first = desk_route(d, &o), second;

	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}",
			first.session);
	second = desk_route(d, &o);
	assert_int_equal(second.created, 1);
	assert_string_not_equal(first.session, second.session);
}

static void input_that_is_none_is_refused(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "5");
	char *huge = test_malloc(5000);

	desk_fails(d, weft_route(d->store, NULL, NULL, &d->err), WEFT_INVALID,
		   "no message");
	desk_fails(d, weft_route(NULL, &o, NULL, &d->err), WEFT_INVALID,
		   "no store");
	o.flags = 2;
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_INVALID,
		   "flags");
	o.flags = 0;
	o.sender_id = STR("a\nb");
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_INVALID,
		   "sender_id has a control character");
	o.sender_id = STR("\xff");
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_INVALID,
		   "sender_id is not UTF-8");
	memset(huge, 'x', 5000);
	o.sender_id = (struct weft_str){ huge, 5000 };
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_LIMIT,
		   "sender_id has 5000 bytes");
	/* A readable key that is too long for a name; a hash never is. */
	o.sender_id.len = 1000;
	assert_int_equal(desk_route(d, &o).created, 1);
	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel\"}}");
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_LIMIT,
		   "key has 1009 bytes");
	o.sender_id = (struct weft_str){ NULL, 3 };
	desk_fails(d, weft_route(d->store, &o, NULL, &d->err), WEFT_INVALID,
		   "sender_id: not a text");
	test_free(huge);

	desk_fails(d, weft_configure(d->store, NULL, 0, &d->err), WEFT_INVALID,
		   "configuration");
	desk_fails(d, weft_configure(d->store, "[]", 2, &d->err), WEFT_INVALID,
		   "line 1: expected an object");
}

/* A bad configuration leaves the one that counts. */
static void a_bad_configuration_changes_nothing(void **state)
{
	static const char bad[] = "{\"session\":{\"dm_scope\":\"none\"}}";
	struct desk *d = *state;

	desk_configure(d, "{\"agents\":{\"list\":[{\"id\":\"nikki\"}]}}");
	desk_fails(d, weft_configure(d->store, bad, strlen(bad), &d->err),
		   WEFT_INVALID, "line 1: session.dm_scope: expected one of");
	assert_string_equal(
		desk_route(d,
			   &(struct weft_route_options){
				   .size = sizeof(struct weft_route_options) })
			.agent,
		"nikki");
}

static void more_names_than_a_session_may_have(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o;
	struct weft_routed r;

	desk_reopen(d, "names=2");
	desk_configure(d, LINKED);
	o = desk_from("telegram", "5");
	r = desk_route(d, &o);
	assert_int_equal(r.created, 1);
	/* There was room for the name that proves who it is. */
	o = desk_from("discord", "7");
	assert_string_equal(desk_route(d, &o).session, r.session);
	assert_string_equal(desk_route(d, &o).session, r.session);
}

/* ---- many at once ---- */

#define THREADS 64
#define ROUTES  20

struct runner {
	pthread_t thread;
	struct weft_store *store;
	atomic_uint *created;
	pthread_barrier_t *together;
	struct weft_routed found[ROUTES];
	int r;
};

static void *run(void *ctx)
{
	struct runner *x = ctx;

	for (int i = 0; i < ROUTES; i++) {
		char chat[16];
		struct weft_route_options o;

		(void)snprintf(chat, sizeof(chat), "chat-%d", i);
		o = desk_from("telegram", chat);
		(void)pthread_barrier_wait(x->together);
		if (x->r == WEFT_OK)
			x->r = weft_route(x->store, &o, &x->found[i], NULL);
		(void)atomic_fetch_add(x->created, x->found[i].created);
	}
	return NULL;
}

static void many_threads_make_each_session_once(void **state)
{
	static struct runner v[THREADS];
	struct desk *d = *state;
	pthread_barrier_t together;
	atomic_uint created = 0;

	assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++) {
		v[i] = (struct runner){ .store = d->store,
					.created = &created,
					.together = &together };
		assert_int_equal(pthread_create(&v[i].thread, NULL, run, &v[i]),
				 0);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(v[i].thread, NULL), 0);
	(void)pthread_barrier_destroy(&together);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(v[i].r, WEFT_OK);
		for (int k = 0; k < ROUTES; k++)
			assert_string_equal(v[i].found[k].session,
					    v[0].found[k].session);
	}
	assert_int_equal(created, ROUTES);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_message_finds_its_session_again),
	PUBLIC_TEST(a_dry_run_makes_nothing),
	PUBLIC_TEST(derived_aliases_are_taken_only_if_they_are_free),
	PUBLIC_TEST(another_scope_under_the_same_key_is_refused),
	PUBLIC_TEST(a_key_goes_before_an_alias_that_was_only_given),
	PUBLIC_TEST(a_key_is_not_taken_from_anybody),
	PUBLIC_TEST(white_space_around_what_a_channel_gives_does_not_count),
	PUBLIC_TEST(a_linked_person_has_one_session),
	PUBLIC_TEST(a_namesake_is_kept_out),
	PUBLIC_TEST(people_who_share_are_told),
	PUBLIC_TEST(keys_of_the_callers_own),
	PUBLIC_TEST(a_deleted_session_is_not_found_again),
	PUBLIC_TEST(input_that_is_none_is_refused),
	PUBLIC_TEST(a_bad_configuration_changes_nothing),
	PUBLIC_TEST(more_names_than_a_session_may_have),
	PUBLIC_TEST(many_threads_make_each_session_once),
};

const struct suite public_route_suite = { tests, ARRAY_LEN(tests) };
