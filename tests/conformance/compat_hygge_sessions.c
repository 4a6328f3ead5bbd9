/* compat_hygge_sessions.c - hygge's cases 001 to 062: parts, ids, roots,
 * opening, sessions. */
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

/* ---- 030 to 062: sessions ---- */

static void h030(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/projects/foo");
	const char *s = hygge_create(d, &o);

	assert_int_equal(strlen(at(d, s, "id")), 26);
	assert_string_equal(at(d, s, "project_dir"), "/projects/foo");
	assert_string_equal(at(d, s, "parent"), "null");
	assert_string_equal(at(d, s, "fork_seq"), "null");
	assert_string_equal(at(d, s, "deleted_at"), "null");
	assert_string_equal(at(d, s, "metadata"), "{}");
}

static void h031(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("");

	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "project_dir");
}

static void h032(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/032");

	o.model.len = 0;
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "model");
	o = hygge_options("/h/032");
	o.provider.len = 0;
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "provider");
}

static void h033(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/033");

	o.parent_id = S(hygge_new(d, "/h/033"));
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "fork_message_id");
}

static void h034(void **state)
{
	struct desk *d = *state;
	const char *parent = hygge_new(d, "/h/034");
	const char *s = hygge_subagent(d, parent);

	assert_string_equal(hygge_is(d, s, "parent"), parent);
	assert_string_equal(hygge_is(d, s, "fork_seq"), "null");
	assert_string_equal(hygge_is(d, s, "kind"), "subagent");
}

static void h035(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/035");
	const char *s;

	o.kind = S("subagent");
	o.parent_id = S(hygge_new(d, "/h/035"));
	o.parent_tool_use_id = S("toolu_123");
	s = hygge_create(d, &o);
	assert_string_equal(at(d, s, "parent_tool_use_id"), "toolu_123");
	assert_string_equal(hygge_is(d, at(d, s, "id"), "parent_tool_use_id"),
			    "toolu_123");
}

static void h036(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/036");

	o.kind = S("bogus");
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "kind");
	o.kind = S("book"); /* is no conversation */
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "kind");
}

static void h037(void **state)
{
	struct desk *d = *state;

	assert_string_equal(hygge_is(d, hygge_new(d, "/h/037"), "kind"),
			    "primary");
}

static void h038(void **state)
{
	struct desk *d = *state;

	assert_string_equal(hygge_is(d, hygge_new(d, "/h/038"), "deleted_at"),
			    "null");
}

static void h039(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	desk_fails(
		d,
		weft_hygge_get_session(d->store, T(NOBODY), &answer, &d->err),
		WEFT_NOT_FOUND, NOBODY);
	/* Only whole ids. */
	desk_fails(d,
		   weft_hygge_get_session(d->store, T("01ABCDEF"), &answer,
					  &d->err),
		   WEFT_NOT_FOUND, "01ABCDEF");
	desk_fails(d, weft_hygge_get_session(d->store, T(""), &answer, &d->err),
		   WEFT_INVALID, "id");
}

static void h040(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_list_options o = hygge_all();

	for (int i = 0; i < 5; i++) {
		d->now_ms += 2;
		(void)hygge_new(d, i < 3 ? "/h/040/a" : "/h/040/b");
	}
	o.query = S("/h/040/");
	assert_int_equal(strlen(hygge_list(d, o, "")), 5 * 27 - 1);
	assert_int_equal(strlen(hygge_list(d, hygge_all(), "/h/040/a")),
			 3 * 27 - 1);
	o.limit = 2;
	assert_int_equal(strlen(hygge_list(d, o, "")), 2 * 27 - 1);
}

static void h041(void **state)
{
	struct desk *d = *state;
	const char *kept = hygge_new(d, "/h/041");
	struct weft_hygge_list_options o = hygge_all();

	hygge_delete(d, hygge_new(d, "/h/041"));
	assert_string_equal(hygge_list(d, o, "/h/041"), kept);
	o.include_deleted = 1;
	assert_int_equal(strlen(hygge_list(d, o, "/h/041")), 2 * 27 - 1);
}

static void h042(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/042");

	hygge_delete(d, s);
	assert_string_not_equal(hygge_is(d, s, "deleted_at"), "null");
}

/* The second is no act: nothing is written. */
static void h043(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/043"), *once;

	hygge_delete(d, s);
	once = hygge_get(d, s);
	d->now_ms += 2;
	hygge_delete(d, s);
	assert_string_equal(hygge_get(d, s), once);
}

static void h044(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   weft_hygge_soft_delete_session(d->store, T(NOBODY), &d->err),
		   WEFT_NOT_FOUND, NOBODY);
}

static void h045(void **state)
{
	struct desk *d = *state;
	const char *first = hygge_new(d, "/h/045"), *second;
	char both[64];

	d->now_ms += 2;
	second = hygge_new(d, "/h/045");
	(void)snprintf(both, sizeof(both), "%s %s", second, first);
	assert_string_equal(hygge_list(d, hygge_all(), "/h/045"), both);
	/* By creation, not by what was said last. */
	d->now_ms += 2;
	(void)hygge_say(d, first, "newer");
	assert_string_equal(hygge_list(d, hygge_all(), "/h/045"), both);
}

static void h046(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options n = hygge_options("/h/046");
	struct weft_hygge_list_options o = hygge_all();
	const char *parent = hygge_new(d, "/h/046"), *child;

	n.kind = S("subagent");
	n.parent_id = S(parent);
	child = at(d, hygge_create(d, &n), "id");
	o.kind = S("primary");
	assert_string_equal(hygge_list(d, o, "/h/046"), parent);
	o.kind = S("subagent");
	assert_string_equal(hygge_list(d, o, "/h/046"), child);
	assert_int_equal(strlen(hygge_list(d, hygge_all(), "/h/046")),
			 2 * 27 - 1);
	/* Books are no conversations, and in no list. */
	(void)desk_call(d, "{\"method\":\"new\",\"kind\":\"book\","
			   "\"project_dir\":\"/h/046\"}");
	assert_int_equal(strlen(hygge_list(d, hygge_all(), "/h/046")),
			 2 * 27 - 1);
	o.kind = S("book");
	o.project_dir = S("/h/046");
	{
		struct weft_answer *answer = NULL;

		desk_fails(d,
			   weft_hygge_list_sessions(d->store, &o, &answer,
						    &d->err),
			   WEFT_INVALID, "kind");
	}
}

static void h047(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_list_options o = hygge_all();
	const char *p = hygge_new(d, "/h/047"), *q = hygge_new(d, "/h/047");
	const char *a = hygge_subagent(d, p), *b;
	char both[64];

	d->now_ms += 2;
	b = hygge_subagent(d, p);
	(void)hygge_subagent(d, q);
	o.parent_id = S(p);
	(void)snprintf(both, sizeof(both), "%s %s", b, a);
	assert_string_equal(hygge_list(d, o, ""), both);
}

static void with_slug(struct desk *d, const char *id, const char *slug)
{
	desk_ok(d,
		weft_hygge_rename_session(d->store, T(id), T(slug), &d->err));
}

static const char *asked(struct desk *d, const char *project, const char *query)
{
	struct weft_hygge_list_options o = hygge_all();

	o.query = S(query);
	return hygge_list(d, o, project);
}

static void h048(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/048");

	with_slug(d, s, "investigation-bug");
	with_slug(d, hygge_new(d, "/h/048"), "something-else");
	assert_string_equal(asked(d, "/h/048", "invest"), s);
}

static void h049(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/049/frontend");

	(void)hygge_new(d, "/h/049/backend");
	assert_string_equal(asked(d, "", "049/frontend"), s);
}

static void h050(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/050");

	(void)hygge_say(d, s, "please refactor this");
	(void)hygge_say(d, hygge_new(d, "/h/050"), "hello");
	assert_string_equal(asked(d, "/h/050", "refactor"), s);
}

static void h051(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/051");

	with_slug(d, s, "MyProject");
	assert_string_equal(asked(d, "/h/051", "myproject"), s);
	assert_string_equal(asked(d, "/h/051", "MYPROJECT"), s);
	assert_string_equal(asked(d, "/h/051", "MyPrOjEcT"), s);
}

static void h052(void **state)
{
	struct desk *d = *state;

	for (int i = 0; i < 3; i++)
		(void)hygge_new(d, "/h/052");
	assert_int_equal(strlen(asked(d, "/h/052", "")), 3 * 27 - 1);
}

static void h053(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/053");

	(void)hygge_say(d, s, "u1");
	(void)hygge_say_as(d, s, "assistant", "a1");
	(void)hygge_say(d, s, "u2");
	(void)hygge_say_as(d, s, "assistant", "a2");
	assert_string_equal(hygge_is(d, s, "last_user"), "u2");
	assert_string_equal(hygge_is(d, s, "last_agent"), "a2");
}

static void h054(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/054");
	const char *before = hygge_is(d, s, "updated_at");

	d->now_ms += 2;
	with_slug(d, s, "new-slug");
	assert_string_equal(hygge_is(d, s, "slug"), "new-slug");
	assert_true(strcmp(hygge_is(d, s, "updated_at"), before) > 0);
}

static void h055(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/055");

	with_slug(d, s, "x");
	with_slug(d, s, "");
	assert_string_equal(hygge_is(d, s, "slug"), "");
}

static void h056(void **state)
{
	struct desk *d = *state;

	desk_fails(
		d,
		weft_hygge_rename_session(d->store, T(NOBODY), T("x"), &d->err),
		WEFT_NOT_FOUND, NOBODY);
	desk_fails(d,
		   weft_hygge_rename_session(d->store, T(""), T("x"), &d->err),
		   WEFT_INVALID, "id");
}

static void h057(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/057"), *before;

	with_slug(d, s, "same");
	before = hygge_get(d, s);
	d->now_ms += 2;
	with_slug(d, s, "same");
	assert_string_equal(hygge_get(d, s), before);
}

static void h058(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/058");

	(void)hygge_say(d, s, "first words");
	assert_string_equal(hygge_is(d, s, "first_user"), "first words");
}

static void h059(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/059");

	(void)hygge_say(d, s, "one");
	(void)hygge_say(d, s, "two");
	assert_string_equal(hygge_is(d, s, "first_user"), "one");
}

static void h060(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/060");

	(void)hygge_say_as(d, s, "assistant", "hello");
	assert_string_equal(hygge_is(d, s, "first_user"), "");
}

static const char *latest_user(struct desk *d, const char *session)
{
	char *id = arena_zero(&d->arena, 1, WEFT_ID_CHARS + 2);

	assert_non_null(id);
	desk_ok(d, weft_hygge_latest_user_message_id(d->store, T(session), id,
						     &d->err));
	return id;
}

static void h061(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/061"), *second, *fork;
	char id[WEFT_ID_CHARS + 2];

	assert_string_equal(latest_user(d, s), "");
	(void)hygge_say_as(d, s, "assistant", "a");
	assert_string_equal(latest_user(d, s), "");
	(void)hygge_say(d, s, "b");
	second = hygge_say(d, s, "c");
	(void)hygge_say_as(d, s, "assistant", "d");
	assert_string_equal(latest_user(d, s), second);
	/* Inherited messages do not count, hidden ones neither. */
	fork = hygge_fork(d, s, second);
	assert_string_equal(latest_user(d, fork), "");
	hygge_hide(d, s, second);
	assert_string_not_equal(latest_user(d, s), second);
	desk_fails(
		d,
		weft_hygge_latest_user_message_id(d->store, T(""), id, &d->err),
		WEFT_INVALID, "session");
	/* There: nothing.  Here nobody is told that a session is empty which
	 * is not there. */
	desk_fails(d,
		   weft_hygge_latest_user_message_id(d->store, T(NOBODY), id,
						     &d->err),
		   WEFT_NOT_FOUND, NOBODY);
}

/* There, a parent that is deleted for good leaves a child without a past.  Here
 * a fork keeps what it has: a deleted parent is still its parent, and what it
 * inherits stays. */
static void h062(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/062");
	const char *fork = hygge_fork(d, s, hygge_say(d, s, "a"));

	hygge_delete(d, s);
	assert_string_equal(hygge_is(d, fork, "parent"), s);
	assert_string_equal(hygge_texts(d, fork), "a");
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
	CASE("hygge 030 a new session", h030),
	CASE("hygge 031 a session without a project", h031),
	CASE("hygge 032 a session without a model", h032),
	CASE("hygge 033 a parent without a fork message", h033),
	CASE("hygge 034 a subagent needs no fork message", h034),
	CASE("hygge 035 the tool call of a subagent", h035),
	CASE("hygge 036 an unknown kind of session", h036),
	CASE("hygge 037 the default kind", h037),
	CASE("hygge 038 a session is not deleted", h038),
	CASE("hygge 039 an unknown session", h039),
	CASE("hygge 040 lists by project and limit", h040),
	CASE("hygge 041 lists with and without the deleted", h041),
	CASE("hygge 042 a deleted session is found", h042),
	CASE("hygge 043 deleting twice is once", h043),
	CASE("hygge 044 deleting an unknown session", h044),
	CASE("hygge 045 lists begin with the newest", h045),
	CASE("hygge 046 lists by kind", h046),
	CASE("hygge 047 lists by parent", h047),
	CASE("hygge 048 a query in the title", h048),
	CASE("hygge 049 a query in the project", h049),
	CASE("hygge 050 a query in the first message", h050),
	CASE("hygge 051 a query in any case", h051),
	CASE("hygge 052 an empty query", h052),
	CASE("hygge 053 the last of the user and of the agent", h053),
	CASE("hygge 054 renaming moves updated_at", h054),
	CASE("hygge 055 an empty slug clears", h055),
	CASE("hygge 056 renaming an unknown session", h056),
	CASE("hygge 057 rename to the same slug is no act", h057),
	CASE("hygge 058 the first message is the preview", h058),
	CASE("hygge 059 the preview stays the first", h059),
	CASE("hygge 060 an assistant's message is no preview", h060),
	CASE("hygge 061 the latest message of the user", h061),
	CASE("hygge 062 a fork outlives its parent (differs)", h062),
};

const struct suite compat_hygge_session_suite = { tests, ARRAY_LEN(tests) };
