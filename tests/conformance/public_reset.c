/* public_reset.c - a new conversation under the same key. */
#include <pthread.h>
#include <stdio.h>

#include "base/json.h"
#include "conformance/public.h"

#define MINUTE INT64_C(60000)

static const char *reset(struct desk *d, const char *session)
{
	return desk_call(d, "{\"method\":\"reset\",\"session\":\"%s\"}",
			 session);
}

/* The ids of a list, with a space between them. */
static const char *chain(struct desk *d, const char *members)
{
	const char *json = desk_call(d, "{\"method\":\"list\",%s}", members);
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_str ids = STR("");
	yyjson_arr_iter it;
	yyjson_val *v;

	desk_ok(d, json_parse(str_of(json), NULL, &doc, &d->err));
	yyjson_arr_iter_init(
		yyjson_obj_get(yyjson_doc_get_root(doc), "sessions"), &it);
	while ((v = yyjson_arr_iter_next(&it)))
		ids = arena_printf(&d->arena, "%.*s%s%s", STR_ARG(ids),
				   ids.len ? " " : "",
				   yyjson_get_str(yyjson_obj_get(v, "id")));
	return ids.ptr;
}

static const char *reset_once(struct desk *d, const char *session,
			      const char *op)
{
	return desk_member(d,
			   desk_call(d,
				     "{\"method\":\"reset\",\"session\":"
				     "\"%s\",\"op\":\"%s\"}",
				     session, op),
			   "id");
}

/* An answer was lost, and the question asked again. */
static void the_same_operation_begins_anew_once(void **state)
{
	struct desk *d = *state;
	const char *old = desk_new(d, "\"key\":\"k\",\"op\":\"made\"");
	const char *other = desk_new(d, "\"key\":\"other\"");
	const char *fresh = reset_once(d, "k", "one"), *next;

	assert_string_not_equal(fresh, old);
	assert_string_equal(reset_once(d, "k", "one"), fresh);
	assert_string_equal(reset_once(d, old, "one"), fresh);
	assert_string_equal(reset_once(d, fresh, "one"), fresh);
	next = reset_once(d, "k", "two");
	assert_string_not_equal(next, fresh);
	/* However late. */
	if (d->dir[0])
		desk_reopen(d, NULL);
	assert_string_equal(reset_once(d, "k", "one"), fresh);
	assert_string_equal(reset_once(d, "k", "two"), next);
	assert_string_equal(
		chain(d, "\"key\":\"k\",\"chain\":true"),
		arena_printf(&d->arena, "%s %s %s", next, fresh, old).ptr);
	/* What is another operation is not done. */
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"reset\",\"session\":\"%s\","
				 "\"op\":\"one\"}",
				 other),
		   WEFT_OP_MISMATCH, "one");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"reset\",\"session\":"
				    "\"k\",\"op\":\"made\"}"),
		   WEFT_OP_MISMATCH, "made");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"new\",\"key\":\"k\","
				    "\"op\":\"one\"}"),
		   WEFT_OP_MISMATCH, "one");
}

/* Who comes back without a name is told who has it. */
static void a_name_that_was_taken_meanwhile_is_lost(void **state)
{
	struct desk *d = *state;
	const char *old = desk_new(d, "\"key\":\"k\",\"aliases\":[\"a\"]");
	const char *taker, *answer;

	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"k\"}");
	taker = desk_new(d, "\"key\":\"k\"");
	answer = desk_call(d, "{\"method\":\"restore\",\"session\":\"%s\"}",
			   old);
	assert_non_null(
		strstr(answer, arena_printf(&d->arena,
					    "\"lost\":[{\"name\":\"k\","
					    "\"kind\":\"key\",\"session\":"
					    "\"%s\"}]",
					    taker)
				       .ptr));
	assert_non_null(strstr(answer, "\"aliases\":[\"a\"]"));
}

static void names_go_to_the_new_session(void **state)
{
	struct desk *d = *state;
	const char *old = desk_new(d, "\"key\":\"k\",\"aliases\":[\"a\",\"b\"],"
				      "\"slug\":\"title\",\"agent\":\"nikki\","
				      "\"user\":\"u\",\"metadata\":{\"x\":1}");
	const char *answer, *fresh;

	(void)desk_say(d, "k", "before");
	answer = reset(d, "a");
	fresh = desk_member(d, answer, "id");
	assert_string_not_equal(fresh, old);
	assert_string_equal(desk_member(d, answer, "key"), "k");
	assert_string_equal(desk_member(d, answer, "previous"), old);
	assert_string_equal(desk_member(d, answer, "slug"), "");
	assert_string_equal(desk_member(d, answer, "agent"), "nikki");
	assert_string_equal(desk_member(d, answer, "user"), "u");
	assert_non_null(strstr(answer, "\"metadata\":{\"x\":1}"));
	assert_non_null(strstr(answer, "\"aliases\":[\"a\",\"b\"]"));
	(void)desk_say(d, "b", "after");
	assert_string_equal(desk_texts(d, "k"), "after");

	/* The old one is whole, and has no names. */
	assert_string_equal(desk_texts(d, old), "before");
	answer = desk_show(d, old);
	assert_non_null(strstr(answer, "\"key\":null"));
	assert_non_null(strstr(answer, "\"aliases\":[]"));
	assert_non_null(strstr(answer, "\"slug\":\"title\""));
	(void)desk_say(d, old, "still");
	assert_string_equal(desk_texts(d, old), "before still");
	if (d->dir[0])
		desk_reopen(d, NULL);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(desk_member(d, desk_show(d, "k"), "id"), fresh);
	assert_string_equal(desk_member(d, desk_show(d, "b"), "id"), fresh);
}

static void a_key_has_a_chain(void **state)
{
	struct desk *d = *state;
	const char *a = desk_new(d, "\"key\":\"k\"");
	const char *b = desk_member(d, reset(d, "k"), "id");
	const char *c = desk_member(d, reset(d, "k"), "id");
	char expected[100];

	assert_string_equal(chain(d, "\"key\":\"k\""), c);
	(void)snprintf(expected, sizeof(expected), "%s %s %s", c, b, a);
	assert_string_equal(chain(d, "\"key\":\"k\",\"chain\":true"), expected);
	/* In pages. */
	(void)snprintf(expected, sizeof(expected), "%s %s", c, b);
	assert_string_equal(
		chain(d, "\"key\":\"k\",\"chain\":true,\"limit\":2"), expected);
	(void)snprintf(expected, sizeof(expected),
		       "\"key\":\"k\",\"chain\":true,\"cursor\":\"k.%s\"", a);
	assert_string_equal(chain(d, expected), a);
	/* A title is no key. */
	(void)desk_call(d, "{\"method\":\"rename\",\"session\":\"k\","
			   "\"slug\":\"a title\"}");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"list\",\"key\":"
				    "\"a title\",\"chain\":true}"),
		   WEFT_NOT_FOUND, "a title");
	/* What was deleted is passed over. */
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", b);
	(void)snprintf(expected, sizeof(expected), "%s %s", c, a);
	assert_string_equal(chain(d, "\"key\":\"k\",\"chain\":true"), expected);

	desk_fails(d, desk_try_call(d, "{\"method\":\"list\",\"chain\":true}"),
		   WEFT_INVALID, "needs the key");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"list\",\"key\":\"k\","
				    "\"cursor\":\"x\"}"),
		   WEFT_INVALID, "cursor");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"list\",\"key\":\"k\","
				    "\"limit\":0}"),
		   WEFT_INVALID, "limit");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"list\",\"key\":\"none\"}"),
		   WEFT_NOT_FOUND, "none");
}

/* What a chat program does with "/new": the rest is said in the new one. */
static void a_message_may_ask_for_it(void **state)
{
	static const char text[] = " /New  what now? ", newer[] = "/newer";
	struct desk *d = *state;
	struct weft_str rest = STR("");

	(void)desk_new(d, "\"key\":\"k\"");
	(void)desk_say(d, "k", "before");
	assert_int_equal(weft_asks_reset(newer, strlen(newer), &rest), 0);
	assert_int_equal(weft_asks_reset(NULL, 0, &rest), 0);
	assert_int_equal(weft_asks_reset(text, strlen(text), NULL), 1);
	assert_int_equal(weft_asks_reset(text, strlen(text), &rest), 1);
	(void)reset(d, "k");
	(void)desk_say(d, "k", arena_str(&d->arena, rest).ptr);
	assert_string_equal(desk_texts(d, "k"), "what now?");
}

static void what_cannot_begin_anew(void **state)
{
	struct desk *d = *state;
	const char *gone = desk_new(d, "\"key\":\"gone\"");
	char request[200];

	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"reset\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_CONFLICT, "no key");
	(void)snprintf(request, sizeof(request),
		       "\"key\":\"sub\",\"kind\":\"subagent\",\"parent\":"
		       "\"%s\"",
		       d->id);
	(void)desk_new(d, request);
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"reset\",\"session\":"
				    "\"sub\"}"),
		   WEFT_CONFLICT, "only a conversation");
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"gone\"}");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"reset\",\"session\":\"%s\"}",
				 gone),
		   WEFT_DELETED, "deleted");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"reset\",\"session\":"
				    "\"k\",\"token\":1}"),
		   WEFT_NOT_FOUND, "k");
	(void)desk_new(d, "\"key\":\"k\"");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"reset\",\"session\":"
				    "\"k\",\"token\":1}"),
		   WEFT_STALE, "token");
}

/* ---- by itself ---- */

static const char idle[] = "{\"lifecycle\":{\"reset\":{\"mode\":\"idle\","
			   "\"idle_minutes\":30}}}";

static const char *route(struct desk *d, const char *more)
{
	return desk_call(d,
			 "{\"method\":\"route\",\"channel\":\"telegram\","
			 "\"chat_type\":\"direct\",\"chat_id\":\"5\","
			 "\"sender_id\":\"5\"%s}",
			 more);
}

static void a_pause_begins_a_new_session(void **state)
{
	struct desk *d = *state;
	const char *first, *answer;

	desk_ok(d, weft_configure(d->store, idle, strlen(idle), &d->err));
	first = desk_member(d, route(d, ""), "session");
	(void)desk_say(d, first, "hello");
	d->now_ms += 30 * MINUTE;
	answer = route(d, "");
	assert_string_equal(desk_member(d, answer, "session"), first);
	assert_non_null(strstr(answer, "unless somebody speaks before"));
	/* What is written in the background keeps nothing alive. */
	desk_ok(d, desk_try(d, first,
			    "{\"role\":\"user\",\"content\":\"tick\","
			    "\"background\":true}",
			    NULL, NULL));
	d->now_ms += 1;
	answer = route(d, ",\"dry_run\":true");
	assert_string_equal(desk_member(d, answer, "session"), first);
	assert_non_null(strstr(answer, "is over: the reset policy says so"));
	answer = route(d, "");
	assert_non_null(strstr(answer, "\"created\":true"));
	assert_string_not_equal(desk_member(d, answer, "session"), first);
	answer = desk_show(d, "agent:main:telegram:direct:5");
	assert_string_equal(desk_member(d, answer, "previous"), first);
	assert_non_null(strstr(answer, "\"scope\":{\"version\":1"));
	/* A message of the user does keep it. */
	answer = desk_member(d, answer, "id");
	d->now_ms += 20 * MINUTE;
	(void)desk_say(d, answer, "again");
	d->now_ms += 20 * MINUTE;
	assert_string_equal(desk_member(d, route(d, ""), "session"), answer);
}

static void an_expired_session_is_followed_by_another(void **state)
{
	struct desk *d = *state;
	const char *first = desk_member(d, route(d, ""), "session"), *answer;

	(void)desk_call(d,
			"{\"method\":\"set\",\"session\":\"%s\",\"changes\":"
			"{\"expires_at\":\"2099-01-01T00:00:00Z\"}}",
			first);
	assert_string_equal(desk_member(d, route(d, ""), "session"), first);
	d->now_ms = INT64_C(4070908800000); /* that very moment */
	answer = route(d, "");
	assert_string_not_equal(desk_member(d, answer, "session"), first);
	assert_non_null(strstr(answer, "it has expired"));
}

/* While somebody holds a lease a turn is running: it is not cut in two. */
static void a_leased_session_is_left_alone(void **state)
{
	struct desk *d = *state;
	const char *first;

	desk_ok(d, weft_configure(d->store, idle, strlen(idle), &d->err));
	first = desk_member(d, route(d, ""), "session");
	d->now_ms += 31 * MINUTE;
	(void)desk_call(d,
			"{\"method\":\"lease\",\"how\":\"acquire\","
			"\"session\":\"%s\",\"owner\":\"o\"}",
			first);
	assert_string_equal(desk_member(d, route(d, ""), "session"), first);
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"reset\",\"session\":\"%s\"}",
				 first),
		   WEFT_LEASED, "'o'");
	d->now_ms += 2 * MINUTE;
	assert_string_not_equal(desk_member(d, route(d, ""), "session"), first);
}

/* ---- many at once ---- */

#define THREADS 64

struct runner {
	pthread_t thread;
	pthread_barrier_t *together;
	struct weft_store *store;
	struct weft_routed found;
	int r;
};

static void *run(void *ctx)
{
	struct runner *x = ctx;
	struct weft_route_options o;

	weft_route_options_init(&o, sizeof(o));
	o.channel = STR("telegram");
	o.chat_type = STR("direct");
	o.chat_id = o.sender_id = STR("5");
	(void)pthread_barrier_wait(x->together);
	x->r = weft_route(x->store, &o, &x->found, NULL);
	return NULL;
}

static void many_messages_after_a_pause_begin_one_session(void **state)
{
	static struct runner v[THREADS];
	struct desk *d = *state;
	pthread_barrier_t together;
	unsigned created = 0;

	desk_ok(d, weft_configure(d->store, idle, strlen(idle), &d->err));
	(void)route(d, "");
	d->now_ms += 31 * MINUTE;
	assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++) {
		v[i] = (struct runner){ .together = &together,
					.store = d->store };
		assert_int_equal(pthread_create(&v[i].thread, NULL, run, &v[i]),
				 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(v[i].thread, NULL), 0);
		assert_int_equal(v[i].r, WEFT_OK);
		created += v[i].found.created;
	}
	(void)pthread_barrier_destroy(&together);
	assert_int_equal(created, 1);
	for (int i = 1; i < THREADS; i++)
		assert_string_equal(v[i].found.session, v[0].found.session);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(names_go_to_the_new_session),
	PUBLIC_TEST(a_name_that_was_taken_meanwhile_is_lost),
	PUBLIC_TEST(the_same_operation_begins_anew_once),
	PUBLIC_TEST(a_key_has_a_chain),
	PUBLIC_TEST(a_message_may_ask_for_it),
	PUBLIC_TEST(what_cannot_begin_anew),
	PUBLIC_TEST(a_pause_begins_a_new_session),
	PUBLIC_TEST(a_leased_session_is_left_alone),
	PUBLIC_TEST(an_expired_session_is_followed_by_another),
	PUBLIC_TEST(many_messages_after_a_pause_begin_one_session),
};

const struct suite public_reset_suite = { tests, ARRAY_LEN(tests) };
