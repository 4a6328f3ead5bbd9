/* compat_hygge_basics.c - hygge's cases 001 to 029: parts, ids, roots,
 * opening. */
#include <pthread.h>
#include <stdio.h>

#include "conformance/compat_hygge.h"

/* ---- 001 to 013: parts ---- */

static const char *marshal(struct desk *d, const char *json)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_marshal_parts(json, json ? strlen(json) : 0,
					     &answer, &d->err));
}

static const char *unmarshal(struct desk *d, const char *json)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_unmarshal_parts(T(json), &answer, &d->err));
}

static void refuses_part(struct desk *d, const char *json, int code,
			 const char *part)
{
	struct weft_answer *answer = NULL;

	desk_fails(d, weft_hygge_unmarshal_parts(T(json), &answer, &d->err),
		   code, part);
	assert_null(answer);
}

static void h001(void **state)
{
	struct desk *d = *state;

	assert_string_equal(marshal(d, NULL), "[]");
	assert_string_equal(marshal(d, "null"), "[]");
}

static void h002(void **state)
{
	struct desk *d = *state;

	assert_string_equal(marshal(d, "[]"), "[]");
}

#define FIVE                                                              \
	"[{\"type\":\"text\",\"text\":\"hi\"},"                           \
	"{\"type\":\"thinking\",\"text\":\"hm\"},"                        \
	"{\"type\":\"tool_use\",\"id\":\"call_1\",\"name\":\"bash\","     \
	"\"input\":{\"cmd\":\"ls\"}},"                                    \
	"{\"type\":\"tool_result\",\"tool_use_id\":\"call_1\","           \
	"\"content\":\"a\\nb\"},{\"type\":\"image\",\"image_mime_type\":" \
	"\"image/png\",\"image_base64\":\"AAAA\"}]"

static void h003(void **state)
{
	struct desk *d = *state;
	const char *parts = unmarshal(d, marshal(d, FIVE));

	assert_string_equal(each(d, parts, "", "type"),
			    "text thinking tool_use tool_result image");
	assert_string_equal(at(d, parts, "2.input"), "{\"cmd\":\"ls\"}");
}

static void h004(void **state)
{
	struct desk *d = *state;

	assert_string_equal(marshal(d, "[{\"type\":\"text\",\"text\":\"hi\"}]"),
			    "[{\"type\":\"text\",\"text\":\"hi\"}]");
}

static void h005(void **state)
{
	refuses_part(*state, "[{\"type\":\"video\"}]", WEFT_UNKNOWN_PART_KIND,
		     "video");
}

static void h006(void **state)
{
	refuses_part(*state, "[{\"text\":\"x\"}]", WEFT_INVALID_PART, "type");
}

static void h007(void **state)
{
	refuses_part(*state,
		     "[{\"type\":\"tool_use\",\"name\":\"f\",\"input\":{}}]",
		     WEFT_INVALID_PART, "id");
}

static void h008(void **state)
{
	refuses_part(*state,
		     "[{\"type\":\"tool_use\",\"id\":\"c\",\"input\":{}}]",
		     WEFT_INVALID_PART, "name");
}

static void h009(void **state)
{
	refuses_part(*state, "[{\"type\":\"tool_result\",\"content\":\"x\"}]",
		     WEFT_INVALID_PART, "tool_use_id");
}

static void h010(void **state)
{
	refuses_part(*state, "[{\"type\":\"image\",\"image_base64\":\"AAAA\"}]",
		     WEFT_INVALID_PART, "image_mime_type");
}

static void h011(void **state)
{
	refuses_part(*state,
		     "[{\"type\":\"image\",\"image_mime_type\":\"image/png\"}]",
		     WEFT_INVALID_PART, "image_base64");
}

static void h012(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	refuses_part(d, "", WEFT_INVALID_PART, "JSON");
	desk_fails(d, weft_hygge_unmarshal_parts(NULL, 0, &answer, &d->err),
		   WEFT_INVALID_PART, "parts");
}

static void h013(void **state)
{
	refuses_part(*state, "not json", WEFT_INVALID_PART, "JSON");
	refuses_part(*state, "{}", WEFT_INVALID_PART, "parts");
}

/* ---- 014 to 016: ids ---- */

static void h014(void **state)
{
	struct desk *d = *state;
	char id[WEFT_ID_CHARS + 2];

	desk_ok(d, weft_hygge_new_id(id, &d->err));
	assert_int_equal(strlen(id), 26);
	assert_int_equal(strspn(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
	desk_fails(d, weft_hygge_new_id(NULL, &d->err), WEFT_INVALID, "place");
}

static void h015(void **state)
{
	struct desk *d = *state;
	char before[WEFT_ID_CHARS + 2] = "", id[WEFT_ID_CHARS + 2];

	for (int i = 0; i < 5000; i++) {
		desk_ok(d, weft_hygge_new_id(id, &d->err));
		assert_true(strcmp(id, before) > 0);
		memcpy(before, id, sizeof(before));
	}
}

#define ID_THREADS 32
#define ID_EACH    200

static void *make_ids(void *ctx)
{
	char(*ids)[WEFT_ID_CHARS + 2] = ctx;

	for (int i = 0; i < ID_EACH; i++) {
		if (weft_hygge_new_id(ids[i], NULL) < 0)
			return ctx;
	}
	return NULL;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void h016(void **state)
{
	static char ids[ID_THREADS * ID_EACH][WEFT_ID_CHARS + 2];
	pthread_t threads[ID_THREADS];
	void *failed;

	(void)state;
	for (size_t i = 0; i < ID_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_ids,
						ids[i * ID_EACH]),
				 0);
	for (size_t i = 0; i < ID_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	qsort(ids, ARRAY_LEN(ids), sizeof(ids[0]), by_text);
	for (size_t i = 1; i < ARRAY_LEN(ids); i++)
		assert_string_not_equal(ids[i - 1], ids[i]);
}

/* ---- 017 to 021: roots ---- */

static const char *root_of(struct desk *d, const char *session)
{
	char *root = arena_zero(&d->arena, 1, WEFT_ID_CHARS + 2);

	assert_non_null(root);
	desk_ok(d, weft_hygge_resolve_root_session_id(d->store, T(session),
						      root, &d->err));
	return root;
}

static void h017(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/017");

	assert_string_equal(root_of(d, s), s);
}

static void h018(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/018");

	assert_string_equal(root_of(d, hygge_subagent(d, s)), s);
}

static void h019(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/019");
	const char *child = hygge_subagent(d, s);

	assert_string_equal(root_of(d, hygge_subagent(d, child)), s);
	/* Through a fork as well. */
	assert_string_equal(root_of(d, hygge_fork(d, s, hygge_say(d, s, "a"))),
			    s);
}

static void h020(void **state)
{
	struct desk *d = *state;
	char root[WEFT_ID_CHARS + 2];

	desk_fails(d,
		   weft_hygge_resolve_root_session_id(d->store, T(""), root,
						      &d->err),
		   WEFT_INVALID, "id");
	desk_fails(d,
		   weft_hygge_resolve_root_session_id(d->store, T(NOBODY), root,
						      &d->err),
		   WEFT_NOT_FOUND, NOBODY);
	desk_fails(d,
		   weft_hygge_resolve_root_session_id(d->store, T(NOBODY), NULL,
						      &d->err),
		   WEFT_INVALID, "place");
}

/* There every session on the way is read.  Here a session knows its root: a
 * parent that cannot be read, or is deleted, is in nobody's way. */
static void h021(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/021");
	const char *child = hygge_subagent(d, s);

	hygge_delete(d, s);
	assert_string_equal(root_of(d, child), s);
}

/* ---- 022 to 029: opening ---- */

/* There are no versions of tables to count: a fresh store is empty and sound. */
static void h022(void **state)
{
	struct desk *d = *state;
	struct weft_store *store = NULL;
	struct weft_answer *answer;

	desk_ok(d, weft_open("memory:", NULL, &store, &d->err));
	assert_string_equal(
		at(d,
		   CALL(d, answer,
			weft_call(store, T("{\"method\":\"verify\"}"), &answer,
				  &d->err)),
		   "sessions"),
		"0");
	desk_ok(d, weft_close(store, &d->err));
}

/* Opened again, it is what it was. */
static void h023(void **state)
{
	struct desk *d = *state;
	struct weft_store *again = NULL;
	struct weft_answer *answer;
	const char *before;

	if (!is_place(d->url))
		return; /* it is gone when it is closed */
	before = desk_call(d, "{\"method\":\"stats\"}");
	desk_ok(d, desk_open_again(d, NULL, 0, &again));
	assert_string_equal(
		at(d,
		   CALL(d, answer,
			weft_call(again, T("{\"method\":\"stats\"}"), &answer,
				  &d->err)),
		   "events"),
		at(d, before, "events"));
	desk_ok(d, weft_close(again, &d->err));
}

static void h024(void **state)
{
	struct desk *d = *state;
	struct weft_store *store = NULL;

	desk_fails(d, weft_open("", NULL, &store, &d->err), WEFT_INVALID, "");
	assert_null(store);
}

static void h025(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/025");
	struct weft_store *store = NULL;
	struct weft_answer *answer;

	desk_ok(d, weft_open("memory:", NULL, &store, &d->err));
	assert_int_equal(strlen(at(d,
				   CALL(d, answer,
					weft_hygge_create_session(
						store, &o, &answer, &d->err)),
				   "id")),
			 26);
	desk_ok(d, weft_close(store, &d->err));
}

static void h026(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/026"), *before = hygge_get(d, s);
	struct weft_store *again = NULL;
	struct weft_answer *answer;

	if (!is_place(d->url))
		return;
	desk_ok(d, desk_open_again(d, NULL, 0, &again));
	assert_string_equal(
		CALL(d, answer,
		     weft_hygge_get_session(again, T(s), &answer, &d->err)),
		before);
	desk_ok(d, weft_close(again, &d->err));
}

#define OPENERS 8

static void *open_and_create(void *ctx)
{
	struct weft_hygge_new_options o = hygge_options("/h/027");
	struct weft_answer *answer = NULL;
	int r = weft_hygge_create_session(ctx, &o, &answer, NULL);

	weft_answer_free(answer);
	return r < 0 ? ctx : NULL;
}

static void h027(void **state)
{
	struct desk *d = *state;
	struct weft_store *stores[OPENERS] = { NULL };
	pthread_t threads[OPENERS];
	void *failed = NULL;

	for (size_t i = 0; i < OPENERS; i++) {
		stores[i] = d->store;
		if (is_place(d->url))
			desk_ok(d, desk_open_again(d, NULL, 0, &stores[i]));
	}
	for (size_t i = 0; i < OPENERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						open_and_create, stores[i]),
				 0);
	for (size_t i = 0; i < OPENERS; i++) {
		void *one;

		assert_int_equal(pthread_join(threads[i], &one), 0);
		failed = one ? one : failed;
		if (stores[i] != d->store)
			desk_ok(d, weft_close(stores[i], &d->err));
	}
	assert_null(failed);
	assert_int_equal(strlen(hygge_list(d, hygge_all(), "/h/027")),
			 OPENERS * (WEFT_ID_CHARS + 1) - 1);
}

/* How a store makes things durable is its own affair; what it says of itself
 * is that it is well. */
static void h028(void **state)
{
	struct desk *d = *state;

	assert_string_equal(
		at(d, desk_call(d, "{\"method\":\"verify\"}"), "ok"), "true");
}

static void h029(void **state)
{
	struct desk *d = *state;
	struct weft_store *store = NULL;

	desk_ok(d, weft_open("memory:", NULL, &store, &d->err));
	desk_ok(d, weft_close(store, &d->err));
	desk_ok(d, weft_close(store, &d->err));
}

static const struct CMUnitTest tests[] = {
	CASE("hygge 001 no parts", h001),
	CASE("hygge 002 an empty list of parts", h002),
	CASE("hygge 003 five kinds of parts", h003),
	CASE("hygge 004 a text has nothing of an image", h004),
	CASE("hygge 005 an unknown kind of part", h005),
	CASE("hygge 006 a part without a type", h006),
	CASE("hygge 007 a call without an id", h007),
	CASE("hygge 008 a call without a name", h008),
	CASE("hygge 009 a result without its call", h009),
	CASE("hygge 010 an image without a type", h010),
	CASE("hygge 011 an image without bytes", h011),
	CASE("hygge 012 no text is no part", h012),
	CASE("hygge 013 parts that are no JSON", h013),
	CASE("hygge 014 an id is 26 characters", h014),
	CASE("hygge 015 ids rise", h015),
	CASE("hygge 016 ids of 32 threads differ", h016),
	CASE("hygge 017 the root of a root", h017),
	CASE("hygge 018 the root of a child", h018),
	CASE("hygge 019 the root of a grandchild", h019),
	CASE("hygge 020 the root of nobody", h020),
	CASE("hygge 021 a root needs no parents (differs)", h021),
	CASE("hygge 022 a fresh store (differs)", h022),
	CASE("hygge 023 a store opened again (differs)", h023),
	CASE("hygge 024 a store without a place", h024),
	CASE("hygge 025 a store in memory", h025),
	CASE("hygge 026 a session after opening again", h026),
	CASE("hygge 027 eight openers create at once", h027),
	CASE("hygge 028 a store is well (differs)", h028),
	CASE("hygge 029 closing twice", h029),
};

const struct suite compat_hygge_basic_suite = { tests, ARRAY_LEN(tests) };
