/* test-public.c - what the functions of weft.h take, refuse and give back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "engine/engine.h"

#define HELLO "{\"role\":\"user\",\"content\":\"hello\"}"

struct bench {
	struct weft_store *store;
	char id[WEFT_ID_CHARS + 1];
};

static void begin(struct bench *b, const char *key)
{
	struct request *q = request_new(REQUEST_CREATE, NULL);

	q->create.key = str_of(key);
	assert_int_equal(engine_run(weft_store_engine(b->store), q, NULL),
			 WEFT_OK);
	id_format(&q->ret_session, b->id);
	request_free(q);
}

static struct bench bench_open(const char *url)
{
	struct bench b = { 0 };

	assert_int_equal(weft_open(url, NULL, &b.store, NULL), WEFT_OK);
	begin(&b, "k");
	return b;
}

static void bench_close(struct bench *b)
{
	assert_int_equal(weft_close(b->store, NULL), WEFT_OK);
}

static void expect(struct bench *b, const char *session, const char *json,
		   int code, const char *part)
{
	struct weft_error err = { 0 };
	struct weft_receipt r = { .seq = 99 };

	assert_int_equal(weft_append(b->store, session, strlen(session), json,
				     strlen(json), NULL, &r, &err),
			 code);
	if (part && !strstr(err.message, part))
		fail_msg("'%s' has no '%s'", err.message, part);
	if (code < 0)
		assert_int_equal(r.seq, 99);
	assert_int_equal(err.code, code);
}

static void opening_takes_what_it_knows(void **state)
{
	struct {
		struct weft_open_options known;
		char more[16];
	} later;
	struct weft_open_options o;
	struct weft_error err = { 0 };
	struct weft_store *s = NULL;

	(void)state;
	assert_int_equal(weft_open(NULL, NULL, &s, &err), WEFT_INVALID);
	assert_int_equal(weft_open("memory:", NULL, NULL, &err), WEFT_INVALID);
	assert_int_equal(weft_open("nothing:", NULL, &s, &err), WEFT_INVALID);
	assert_int_equal(weft_open("memory:?queue=x", NULL, &s, &err),
			 WEFT_INVALID);
	weft_open_options_init(&o, sizeof(o));
	o.flags = 1u << 31;
	assert_int_equal(weft_open("memory:", &o, &s, &err), WEFT_INVALID);
	o.flags = WEFT_OPEN_NO_CREATE;
	assert_int_equal(weft_open("memory:", &o, &s, &err), WEFT_NOT_FOUND);
	o = (struct weft_open_options){ .size = 0 };
	assert_int_equal(weft_open("memory:", &o, &s, &err), WEFT_INVALID);
	assert_null(s);

	/* Of a later version, whose new fields are not used. */
	weft_open_options_init(&later.known, sizeof(later));
	assert_int_equal(weft_open("memory:", &later.known, &s, &err), WEFT_OK);
	assert_int_equal(weft_close(s, &err), WEFT_OK);
	later.more[9] = 1;
	assert_int_equal(weft_open("memory:", &later.known, &s, &err),
			 WEFT_INVALID);
	assert_int_equal(weft_close(NULL, &err), WEFT_OK);
	assert_string_equal(weft_version(), WEFT_BUILD_VERSION);
}

static void bad_arguments_are_refused(void **state)
{
	struct bench b = bench_open("memory:");
	struct weft_append_options o;
	struct weft_page *page;

	(void)state;
	assert_int_equal(weft_append(NULL, "k", 1, HELLO, 5, NULL, NULL, NULL),
			 WEFT_INVALID);
	assert_int_equal(weft_append(b.store, NULL, 1, HELLO, sizeof(HELLO) - 1,
				     NULL, NULL, NULL),
			 WEFT_INVALID);
	assert_int_equal(
		weft_append(b.store, "k", 1, NULL, 1, NULL, NULL, NULL),
		WEFT_INVALID);
	assert_int_equal(
		weft_append(b.store, "k", 1, HELLO, SIZE_MAX, NULL, NULL, NULL),
		WEFT_INVALID);
	assert_int_equal(weft_append(b.store, "k", SIZE_MAX - 5, HELLO, 5, NULL,
				     NULL, NULL),
			 WEFT_INVALID);
	weft_append_options_init(&o, sizeof(o));
	o.op_len = 5;
	assert_int_equal(weft_append(b.store, "k", 1, HELLO, sizeof(HELLO) - 1,
				     &o, NULL, NULL),
			 WEFT_INVALID);
	o.op = "a\nb";
	o.op_len = 3;
	assert_int_equal(weft_append(b.store, "k", 1, HELLO, sizeof(HELLO) - 1,
				     &o, NULL, NULL),
			 WEFT_INVALID);
	o.size = 8;
	assert_int_equal(weft_append(b.store, "k", 1, HELLO, sizeof(HELLO) - 1,
				     &o, NULL, NULL),
			 WEFT_INVALID);
	assert_int_equal(weft_submit(b.store, "k", 1, HELLO, sizeof(HELLO) - 1,
				     NULL, NULL, NULL, NULL),
			 WEFT_INVALID);
	assert_int_equal(weft_read(b.store, NULL, 0, NULL, &page, NULL),
			 WEFT_INVALID);
	assert_int_equal(weft_read(b.store, "k", 1, NULL, NULL, NULL),
			 WEFT_INVALID);
	assert_int_equal(weft_wait(NULL, "k", 1, 0, 0, NULL, NULL),
			 WEFT_INVALID);
	expect(&b, b.id, "", WEFT_INVALID, NULL);
	expect(&b, b.id, "nonsense", WEFT_INVALID, NULL);
	expect(&b, b.id, "\"text\"", WEFT_INVALID, NULL);
	bench_close(&b);
}

static void several_messages_are_one_append(void **state)
{
	struct bench b = bench_open("memory:?batch_messages=3");
	struct weft_receipt r;
	const char three[] = " [" HELLO "," HELLO ",\n" HELLO "]";

	(void)state;
	assert_int_equal(weft_append(b.store, "k", 1, three, strlen(three),
				     NULL, &r, NULL),
			 WEFT_OK);
	assert_int_equal(r.seq, 2);
	assert_int_equal(r.count, 3);
	assert_string_equal(r.session, b.id);
	expect(&b, "k", "[]", WEFT_INVALID, "no messages");
	expect(&b, "k", "[" HELLO "," HELLO "," HELLO "," HELLO "]", WEFT_LIMIT,
	       "batch_messages");
	expect(&b, "k", "[" HELLO ",{\"role\":\"king\"}]", WEFT_INVALID,
	       "message 2");
	expect(&b, "k", "[" HELLO "", WEFT_INVALID, NULL);
	expect(&b, "k", "[1]", WEFT_INVALID, "message 1");
	bench_close(&b);
}

#define WITH(members) "{\"role\":\"user\",\"content\":\"hello\"," members "}"

static void a_message_may_bring_its_own_options(void **state)
{
	struct bench b = bench_open("memory:");
	struct weft_append_options o;
	struct weft_receipt r;
	const char with_op[] = WITH("\"op\":\"x\"");

	(void)state;
	expect(&b, "k", WITH("\"expect\":7"), WEFT_STALE, "7");
	expect(&b, "k", WITH("\"expect\":0"), WEFT_OK, NULL);
	expect(&b, "k", with_op, WEFT_OK, NULL);
	assert_int_equal(weft_append(b.store, "k", 1, with_op, strlen(with_op),
				     NULL, &r, NULL),
			 WEFT_OK);
	assert_int_equal(r.replayed, 1);
	assert_int_equal(r.seq, 3);
	/* The options may say the same, but nothing else. */
	weft_append_options_init(&o, sizeof(o));
	o.op = "x";
	o.op_len = 1;
	assert_int_equal(weft_append(b.store, "k", 1, with_op, strlen(with_op),
				     &o, &r, NULL),
			 WEFT_OK);
	assert_int_equal(r.replayed, 1);
	o.op = "y";
	assert_int_equal(weft_append(b.store, "k", 1, with_op, strlen(with_op),
				     &o, &r, NULL),
			 WEFT_INVALID);
	expect(&b, "k", "[" WITH("\"op\":\"z\"") "," HELLO "]", WEFT_OK, NULL);
	/* Not the first of the two any more. */
	expect(&b, "k", "[" HELLO "," WITH("\"op\":\"z\"") "]",
	       WEFT_OP_MISMATCH, "'z'");
	expect(&b, "k", "[" HELLO "," WITH("\"op\":\"w\"") "]", WEFT_OK, NULL);
	expect(&b, "k", "[" HELLO "," WITH("\"expect\":1") "]", WEFT_STALE,
	       "8");
	expect(&b, "k", "[" HELLO "," WITH("\"expect\":8") "]", WEFT_OK, NULL);
	bench_close(&b);
}

static void a_message_may_name_its_session(void **state)
{
	struct bench b = bench_open("memory:");
	char json[128];

	(void)state;
	expect(&b, "", HELLO, WEFT_INVALID, "session: missing");
	expect(&b, "", WITH("\"session\":\"k\""), WEFT_OK, NULL);
	expect(&b, "k", WITH("\"session\":\"k\""), WEFT_OK, NULL);
	(void)snprintf(json, sizeof(json), WITH("\"session\":\"%s\""), b.id);
	expect(&b, "k", json, WEFT_OK, NULL);
	begin(&b, "other");
	expect(&b, "other", json, WEFT_INVALID, "session");
	expect(&b, "", "[" WITH("\"session\":\"k\"") "," HELLO "]", WEFT_OK,
	       NULL);
	expect(&b, "",
	       "[" WITH("\"session\":\"k\"") "," WITH("\"session\":"
						      "\"other\"") "]",
	       WEFT_INVALID, "message 2: session: the message is for 'other'");
	expect(&b, "k", "[" HELLO "," WITH("\"session\":\"nobody\"") "]",
	       WEFT_NOT_FOUND, "message 2: ");
	bench_close(&b);
}

static void a_page_shows_its_events(void **state)
{
	struct bench b = bench_open("memory:");
	struct weft_read_options o;
	struct weft_event e;
	struct weft_page *page;

	(void)state;
	expect(&b, "k",
	       WITH("\"at\":\"2020-01-02T03:04:05Z\",\"background\":true"),
	       WEFT_OK, NULL);
	expect(&b, "k", HELLO, WEFT_OK, NULL);
	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES | WEFT_READ_BACKWARDS;
	assert_int_equal(weft_read(b.store, "k", 1, &o, &page, NULL), WEFT_OK);
	assert_int_equal(weft_page_count(page), 2);
	assert_int_equal(weft_page_done(page), 1);
	assert_int_equal(weft_page_event(page, 1, &e), 1);
	assert_int_equal(e.seq, 2);
	assert_int_equal(e.last, 2);
	assert_int_equal(e.at_ms, INT64_C(1577934245000));
	assert_true(e.ts_ms > e.at_ms);
	assert_string_equal(e.type, "message");
	assert_string_equal(e.state, "ok");
	assert_int_equal(e.background, 1);
	assert_int_equal(e.redacted, 0);
	assert_int_equal(strlen(e.id), WEFT_ID_CHARS);
	assert_memory_equal(e.body, "\"role\":\"user\"", 13);
	assert_memory_equal(e.line, "{\"seq\":2,", 9);
	assert_int_equal(e.line[e.line_len - 1], '}');
	assert_int_equal(weft_page_event(page, 0, &e), 1);
	assert_int_equal(e.at_ms, e.ts_ms);
	assert_int_equal(weft_page_event(page, 2, &e), 0);
	weft_page_free(page);
	weft_page_free(NULL);
	assert_int_equal(weft_page_count(NULL), 0);

	o.flags = 0;
	o.first = 2;
	o.max = 1;
	assert_int_equal(weft_read(b.store, "k", 1, &o, &page, NULL), WEFT_OK);
	assert_int_equal(weft_page_count(page), 1);
	assert_int_equal(weft_page_done(page), 0);
	weft_page_free(page);
	o.flags = 1u << 20;
	assert_int_equal(weft_read(b.store, "k", 1, &o, &page, NULL),
			 WEFT_INVALID);
	assert_int_equal(weft_read(b.store, "nobody", 6, NULL, &page, NULL),
			 WEFT_NOT_FOUND);
	bench_close(&b);
}

static void names_are_checked(void **state)
{
	const char *const bad[] = { "a\nb", "\xff",
				    "01ARZ3NDEKTSV4RRFFQ69G5FAV", "123456789" };
	struct weft_store *s;

	(void)state;
	assert_int_equal(weft_open("memory:?name_bytes=26", NULL, &s, NULL),
			 WEFT_OK);
	for (size_t i = 0; i < 4; i++) {
		const int code = i == 3 ? WEFT_OK : WEFT_INVALID;
		struct weft_str name = str_of(bad[i]);
		struct request *q = request_new(REQUEST_CREATE, NULL);

		q->create.key = name;
		assert_int_equal(engine_run(weft_store_engine(s), q, NULL),
				 code);
		q->create.key = STR("");
		q->aliases = &name;
		q->n_aliases = 1;
		assert_int_equal(engine_run(weft_store_engine(s), q, NULL),
				 code ? code : WEFT_EXISTS);
		request_free(q);
	}
	assert_int_equal(weft_close(s, NULL), WEFT_OK);
}

static int create(struct weft_store *s, struct session_rec rec,
		  struct weft_error *err)
{
	struct request *q = request_new(REQUEST_CREATE, NULL);
	int r;

	q->create = rec;
	r = engine_run(weft_store_engine(s), q, err);
	request_free(q);
	return r;
}

static void a_session_begins_with_sense(void **state)
{
	struct bench b = bench_open("memory:?slug_bytes=4&metadata_bytes=9");
	struct session_rec rec = { .slug = STR("abcd") };
	struct weft_id id;

	(void)state;
	assert_true(id_parse(str_of(b.id), &id));
	assert_int_equal(create(b.store, rec, NULL), WEFT_OK);
	rec.slug = STR("abcde");
	assert_true(create(b.store, rec, NULL) < 0);
	rec = (struct session_rec){ .metadata = STR("{\"a\":100}") };
	assert_int_equal(create(b.store, rec, NULL), WEFT_OK);
	rec.metadata = STR("{\"a\":1000}");
	assert_true(create(b.store, rec, NULL) < 0);
	rec.metadata = STR("{");
	assert_int_equal(create(b.store, rec, NULL), WEFT_INVALID);
	rec = (struct session_rec){ .kind = KIND_SUBAGENT };
	assert_int_equal(create(b.store, rec, NULL), WEFT_INVALID);
	rec.parent = id;
	assert_int_equal(create(b.store, rec, NULL), WEFT_OK);
	rec.kind = KIND_PRIMARY;
	assert_int_equal(create(b.store, rec, NULL), WEFT_INVALID);
	rec = (struct session_rec){ .parent_tool_use_id = STR("t") };
	assert_int_equal(create(b.store, rec, NULL), WEFT_INVALID);
	rec = (struct session_rec){ .kind = 9 };
	assert_int_equal(create(b.store, rec, NULL), WEFT_INVALID);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening_takes_what_it_knows),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(several_messages_are_one_append),
		cmocka_unit_test(a_message_may_bring_its_own_options),
		cmocka_unit_test(a_message_may_name_its_session),
		cmocka_unit_test(a_page_shows_its_events),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(a_session_begins_with_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
