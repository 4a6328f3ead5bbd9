/* names.c - names, and what a session has hidden. */
#include "base/id.h"
#include "conformance/conformance.h"

static void expect_holder(struct fixture *f, const char *text,
			  const struct weft_id *holder, uint64_t ver)
{
	const struct name_rec *found = find_name(f, text);

	assert_str_is(found->name, text);
	assert_int_equal(found->ver, ver);
	if (holder)
		assert_id_equal(&found->session, holder);
	else
		assert_true(id_is_zero(&found->session));
}

/* The names a session holds, in the order they come: "key a b". */
static void expect_names(struct fixture *f, const struct weft_id *s,
			 const char *expected)
{
	struct session_names names;
	struct buf b;

	assert_ok(f, f->store->ops->get_names_of(f->store, s, 1, &f->arena,
						 &names, &f->err));
	buf_init(&b, MIB(1));
	for (size_t i = 0; i < names.n; i++) {
		assert_id_equal(&names.v[i].session, s);
		buf_printf(&b, "%s%.*s", i ? " " : "",
			   STR_ARG(names.v[i].name));
	}
	assert_string_equal(buf_cstr(&b), expected);
	buf_done(&b);
}

static void names_of_several_sessions_are_told_at_once(void **state)
{
	struct fixture *f = *state;
	const struct weft_id ids[] = {
		begin_with(f, &(struct session_rec){ .key = STR("one") }),
		begin_with(f, &(struct session_rec){ .key = STR("") }),
		begin_with(f, &(struct session_rec){ .key = STR("three") }),
	};
	const struct weft_id asked[] = { ids[2], ids[1], ids[0] };
	static const char *const keys[] = { "three", NULL, "one" };
	struct session_names out[ARRAY_LEN(asked)];

	assert_ok(f,
		  f->store->ops->get_names_of(f->store, asked, ARRAY_LEN(asked),
					      &f->arena, out, &f->err));
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		assert_int_equal(out[i].n, keys[i] ? 1 : 0);
		if (keys[i])
			assert_str_is(out[i].v[0].name, keys[i]);
	}
	/* Nobody's are none. */
	assert_ok(f, f->store->ops->get_names_of(f->store, asked, 0, &f->arena,
						 out, &f->err));
}

static void a_name_never_used_has_version_zero(void **state)
{
	struct fixture *f = *state;

	expect_holder(f, "nobody", NULL, 0);
	(void)begin_with(f, &(struct session_rec){ .key = STR("nobodi") });
	expect_holder(f, "nobody", NULL, 0);
	expect_holder(f, "", NULL, 0);
}

static void a_key_is_a_name_of_its_session(void **state)
{
	struct fixture *f = *state;
	struct weft_id s =
		begin_with(f, &(struct session_rec){ .key = STR("my key") });

	expect_holder(f, "my key", &s, 1);
	assert_int_equal(find_name(f, "my key")->kind, NAME_KEY);
	expect_names(f, &s, "my key");
}

static void the_key_comes_first_then_names_by_their_bytes(void **state)
{
	struct fixture *f = *state;
	struct weft_id s =
		begin_with(f, &(struct session_rec){ .key = STR("key") });

	name(f, &s, "zebra", 1);
	name(f, &s, "ant", 1);
	name(f, &s, "Zoo", 1);
	name(f, &s, "mouse", 1);
	expect_names(f, &s, "key Zoo ant mouse zebra");
	assert_int_equal(find_name(f, "ant")->kind, NAME_ALIAS);
}

static void the_highest_version_of_a_name_wins(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f);

	name(f, &a, "x", 5);
	name(f, &b, "x", 3);
	expect_holder(f, "x", &a, 5);
	expect_names(f, &a, "x");
	expect_names(f, &b, "");
	name(f, &b, "x", 6);
	expect_holder(f, "x", &b, 6);
	expect_names(f, &a, "");
	expect_names(f, &b, "x");
}

static void a_name_moves_in_one_write(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f);
	struct draft *d = draft_new(f);

	name(f, &a, "x", 1);
	name(f, &a, "stays", 1);
	draft_name(d, &a, "x", 2, true);
	draft_name(d, &b, "x", 3, false);
	must_write(d);
	expect_holder(f, "x", &b, 3);
	expect_names(f, &a, "stays");
	expect_names(f, &b, "x");
}

static void a_name_that_nobody_holds_keeps_its_version(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f);
	struct draft *d = draft_new(f);

	name(f, &a, "x", 7);
	draft_name(d, &a, "x", 8, true);
	must_write(d);
	expect_holder(f, "x", NULL, 8);
	expect_names(f, &a, "");
	/* An older claim does not bring it back. */
	name(f, &b, "x", 7);
	expect_holder(f, "x", NULL, 8);
	name(f, &b, "x", 9);
	expect_holder(f, "x", &b, 9);
}

static void names_are_bytes(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f);
	char longest[513];

	memset(longest, 'n', 512);
	longest[512] = '\0';
	name(f, &a, "n\xc3\xa9", 1);
	name(f, &b, "N\xc3\xa9", 1);
	name(f, &a, longest, 1);
	name(f, &b, "100%_\\'\"", 1);
	expect_holder(f, "n\xc3\xa9", &a, 1);
	expect_holder(f, "N\xc3\xa9", &b, 1);
	expect_holder(f, "ne", NULL, 0);
	expect_holder(f, longest, &a, 1);
	expect_holder(f, "100%_\\'\"", &b, 1);
	longest[511] = '\0';
	expect_holder(f, longest, NULL, 0);
}

static void many_names_are_found_in_one_call(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f);
	const struct weft_str asked[] = { STR("b"), STR("none"), STR("a"),
					  STR("b") };
	struct name_rec out[ARRAY_LEN(asked)];

	name(f, &a, "a", 1);
	name(f, &b, "b", 1);
	assert_ok(f, f->store->ops->get_names(f->store, asked, 4, &f->arena,
					      out, &f->err));
	assert_id_equal(&out[0].session, &b);
	assert_int_equal(out[1].ver, 0);
	assert_id_equal(&out[2].session, &a);
	assert_id_equal(&out[3].session, &b);
}

/* ---- hidden events ---- */

static const char *hidden(struct fixture *f, const struct weft_id *s,
			  uint64_t first, uint64_t last)
{
	struct weft_str text;
	struct buf b;
	uint64_t *v;
	size_t n;

	assert_ok(f, f->store->ops->get_hidden(f->store, s, first, last,
					       &f->arena, &v, &n, &f->err));
	buf_init(&b, MIB(1));
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%llu", i ? " " : "",
			   (unsigned long long)v[i]);
	text = arena_str(&f->arena, buf_str(&b));
	buf_done(&b);
	return text.ptr;
}

static void hidden_events_are_listed_rising(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f);

	for (int i = 0; i < 8; i++) {
		say(f, &a, "a");
		say(f, &b, "b");
	}
	hide(f, &a, 7, true);
	hide(f, &a, 3, true);
	hide(f, &a, 9, true);
	assert_string_equal(hidden(f, &a, 1, UINT64_MAX), "3 7 9");
	assert_string_equal(hidden(f, &a, 3, 7), "3 7");
	assert_string_equal(hidden(f, &a, 4, 8), "7");
	assert_string_equal(hidden(f, &a, 4, 6), "");
	assert_string_equal(hidden(f, &b, 1, UINT64_MAX), "");
}

static void look_at_marks(struct draft *d, struct store_view *v, void *ctx)
{
	uint32_t first = 9, second = 9;

	assert_ok(d->f, v->ops->is_hidden(v, ctx, 2, &first, &d->f->err));
	assert_ok(d->f, v->ops->is_hidden(v, ctx, 3, &second, &d->f->err));
	assert_int_equal(first, 0);
	assert_true(second != 0);
}

static void what_was_hidden_can_be_shown_again(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);

	say(f, &s, "a");
	say(f, &s, "b");
	hide(f, &s, 2, true);
	hide(f, &s, 3, true);
	hide(f, &s, 2, false);
	assert_string_equal(hidden(f, &s, 1, UINT64_MAX), "3");
	draft_look(d, look_at_marks, &s);
	must_write(d);
	hide(f, &s, 2, true);
	assert_string_equal(hidden(f, &s, 1, UINT64_MAX), "2 3");
	/* The event itself is as it was. */
	expect_texts(f, &s, "session a b redact redact redact redact");
}

static void a_fork_may_hide_what_it_inherits(void **state)
{
	struct fixture *f = *state;
	struct weft_id parent = begin(f), fork;

	say(f, &parent, "a");
	say(f, &parent, "b");
	fork = begin_with(f, &(struct session_rec){ .parent = parent,
						    .forked_from = parent,
						    .fork_seq = 3 });
	hide(f, &fork, 2, true);
	assert_string_equal(hidden(f, &fork, 1, UINT64_MAX), "2");
	assert_string_equal(hidden(f, &parent, 1, UINT64_MAX), "");
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(names_of_several_sessions_are_told_at_once),
	STORE_TEST(a_name_never_used_has_version_zero),
	STORE_TEST(a_key_is_a_name_of_its_session),
	STORE_TEST(the_key_comes_first_then_names_by_their_bytes),
	STORE_TEST(the_highest_version_of_a_name_wins),
	STORE_TEST(a_name_moves_in_one_write),
	STORE_TEST(a_name_that_nobody_holds_keeps_its_version),
	STORE_TEST(names_are_bytes),
	STORE_TEST(many_names_are_found_in_one_call),
	STORE_TEST(hidden_events_are_listed_rising),
	STORE_TEST(what_was_hidden_can_be_shown_again),
	STORE_TEST(a_fork_may_hide_what_it_inherits),
};

const struct suite name_suite = { tests, ARRAY_LEN(tests) };
