/* test-derive-changes.c - names, redactions and patches in the record. */
#include "derive-lab.h"

/* ---- names ---- */

static void names_come_and_go(void **state)
{
	struct lab *lab = *state;
	struct name_rec name = { .name = STR("a\"b"),
				 .ver = 3,
				 .kind = NAME_ALIAS };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\",\"key\":\"k\"");
	assert_int_equal(named(lab, 0)->ver, 1);
	assert_false(lab->rec.aliased);
	body_name(&lab->b, &name, true);
	event_of_buf(lab, EVENT_NAME);
	assert_false(lab->rec.aliased);
	body_name(&lab->b, &name, false);
	event_of_buf(lab, EVENT_NAME);
	assert_int_equal(lab->ops.n, 1);
	expect_str(named(lab, 0)->name, "a\"b");
	assert_int_equal(named(lab, 0)->ver, 3);
	assert_int_equal(named(lab, 0)->kind, NAME_ALIAS);
	assert_memory_equal(&named(lab, 0)->session, &lab->session, 16);
	expect_str(lab->rec.key, "k");
	assert_true(lab->rec.aliased);

	/* From its own events alone nobody can tell who has it later. */
	body_name(&lab->b, &name, true);
	event_of_buf(lab, EVENT_NAME);
	assert_true(lab->rec.aliased);
	assert_true(id_is_zero(&named(lab, 0)->session));
	expect_str(lab->rec.key, "k");

	/* A key that is lost is no longer this session's. */
	name = (struct name_rec){ .name = STR("k"),
				  .ver = 2,
				  .kind = NAME_KEY };
	body_name(&lab->b, &name, true);
	event_of_buf(lab, EVENT_NAME);
	expect_str(lab->rec.key, "");
	body_name(&lab->b, &name, false);
	event_of_buf(lab, EVENT_NAME);
	expect_str(lab->rec.key, "k");
	assert_int_equal(lab->rec.content_seq, 0);
}

static void a_deleted_session_frees_its_names(void **state)
{
	struct lab *lab = *state;
	struct name_rec names[] = {
		{ .name = STR("k"), .ver = 5, .kind = NAME_KEY },
		{ .name = STR("a"), .ver = 6, .kind = NAME_ALIAS },
	};

	event(lab, EVENT_SESSION, "\"kind\":\"primary\",\"key\":\"k\"");
	body_names(&lab->b, names, 2);
	event_of_buf(lab, EVENT_DELETE);
	assert_int_equal(lab->rec.deleted_at, lab->now);
	assert_int_equal(lab->ops.n, 2);
	assert_true(id_is_zero(&named(lab, 0)->session));
	assert_int_equal(named(lab, 0)->ver, 5);
	assert_true(id_is_zero(&named(lab, 1)->session));
	expect_str(named(lab, 1)->name, "a");
	expect_str(lab->rec.key, "k");

	names[0].ver++;
	body_names(&lab->b, names, 1);
	event_of_buf(lab, EVENT_RESTORE);
	assert_int_equal(lab->rec.deleted_at, 0);
	assert_int_equal(lab->ops.n, 1);
	assert_int_equal(named(lab, 0)->ver, 6);
	assert_memory_equal(&named(lab, 0)->session, &lab->session, 16);
	expect_str(lab->rec.key, "k");
	assert_int_equal(lab->rec.updated_at, lab->now);

	/* Somebody else has the key meanwhile. */
	event(lab, EVENT_DELETE, "\"names\":[]");
	event(lab, EVENT_RESTORE, "\"names\":[]");
	expect_str(lab->rec.key, "");
}

/* ---- redaction ---- */

static void redact(struct lab *lab, struct redact r)
{
	body_redact(&lab->b, &r);
	event_of_buf(lab, EVENT_REDACT);
}

static void a_redaction_hides_and_shows(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;
	struct redact r = { .target = 2,
			    .hidden = true,
			    .role = ROLE_USER,
			    .own = true,
			    .starts_turn = true };
	const struct store_op *op;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "secret");
	say(lab, "assistant", "answer");
	redact(lab, r);
	assert_int_equal(rec->content_seq, 4);
	assert_int_equal(rec->message_count, 1);
	assert_int_equal(rec->turn_count, 0);
	expect_str(rec->first_user, "");
	expect_str(rec->last_user, "");
	expect_str(rec->last_agent, "answer");
	assert_int_equal(lab->ops.n, 1);
	op = lab->ops.v;
	assert_int_equal(op->kind, OP_HIDE);
	assert_memory_equal(&op->session, &lab->session, 16);
	assert_int_equal(op->u.hide->target, 2);
	assert_int_equal(op->u.hide->hidden, 1);
	assert_int_equal(op->u.hide->by, 4);

	r.hidden = false;
	redact(lab, r);
	assert_int_equal(rec->message_count, 2);
	assert_int_equal(rec->turn_count, 1);
	assert_int_equal(lab->ops.v[0].u.hide->hidden, 0);
	assert_int_equal(lab->ops.v[0].u.hide->by, 5);
	expect_str(rec->first_user, "secret");
	expect_str(rec->last_user, "secret");

	/* What comes later is not the first. */
	r.hidden = true;
	redact(lab, r);
	say(lab, "user", "later");
	expect_str(rec->first_user, "");
	expect_str(rec->last_user, "later");
	/* Nor does what comes back become the last. */
	r.hidden = false;
	redact(lab, r);
	expect_str(rec->first_user, "secret");
	expect_str(rec->last_user, "later");

	redact(lab, (struct redact){ .target = 3,
				     .hidden = true,
				     .role = ROLE_ASSISTANT,
				     .own = true });
	expect_str(rec->last_agent, "");
	assert_int_equal(rec->turn_count, 2);
	expect_str(rec->hidden_last_agent, "answer");
	say(lab, "assistant", "another");
	/* Nobody can get it back from here: it is not kept. */
	expect_str(rec->hidden_last_agent, "");
	redact(lab, (struct redact){
			    .target = 3, .role = ROLE_ASSISTANT, .own = true });
	expect_str(rec->last_agent, "another");
}

static void hiding_what_was_inherited_changes_no_count(void **state)
{
	struct lab *lab = *state;

	lab->seq = 5;
	event(lab, EVENT_SESSION,
	      "\"kind\":\"primary\",\"parent\":\"" PARENT
	      "\",\"fork_seq\":5,\"inherited_count\":4");
	say(lab, "user", "own");
	redact(lab, (struct redact){ .target = 2,
				     .hidden = true,
				     .role = ROLE_USER,
				     .starts_turn = true });
	assert_int_equal(lab->ops.n, 1);
	assert_int_equal(lab->rec.message_count, 1);
	assert_int_equal(lab->rec.turn_count, 1);
	assert_int_equal(lab->rec.inherited_count, 4);
	expect_str(lab->rec.first_user, "own");
}

static void counts_do_not_go_below_zero(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	redact(lab, (struct redact){ .target = 1,
				     .hidden = true,
				     .role = ROLE_USER,
				     .own = true,
				     .starts_turn = true });
	assert_int_equal(lab->rec.message_count, 0);
	assert_int_equal(lab->rec.turn_count, 0);

	/* What is no message was never counted. */
	say(lab, "user", "a");
	redact(lab,
	       (struct redact){ .target = 1, .hidden = true, .own = true });
	assert_int_equal(lab->rec.message_count, 1);
}

/* ---- patches ---- */

static void patches_set_and_clear(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\",\"slug\":\"old\"");
	event(lab, EVENT_PATCH,
	      "\"slug\":\"n\\u0065w\",\"agent\":\"a\",\"model\":{\"provider\":"
	      "\"p\",\"name\":\"n\"},\"project_dir\":\"/d\",\"user\":\"u\","
	      "\"channel\":\"c\",\"user_role\":\"r\",\"metadata\":{\"a\": 1e5},"
	      "\"tools\":[],\"pinned\":true,\"expires_at\":"
	      "\"2026-11-15T10:00:00.000Z\",\"key\":\"no\",\"id\":\"no\"");
	expect_str(rec->slug, "new");
	expect_str(rec->agent, "a");
	expect_str(rec->model_provider, "p");
	expect_str(rec->model_name, "n");
	expect_str(rec->project_dir, "/d");
	expect_str(rec->user, "u");
	expect_str(rec->channel, "c");
	expect_str(rec->user_role, "r");
	expect_str(rec->metadata, "{\"a\": 1e5}");
	expect_str(rec->tools, "[]");
	assert_int_equal(rec->pinned, 1);
	assert_int_equal(rec->expires_at, TEST_TIME);
	expect_str(rec->key, "");
	assert_int_equal(rec->content_seq, 0);
	assert_int_equal(rec->updated_at, lab->now);
	assert_int_equal(rec->last_interaction_at, TEST_TIME + 1);

	event(lab, EVENT_PATCH, "\"pinned\":false");
	assert_int_equal(rec->pinned, 0);
	expect_str(rec->slug, "new");
	event(lab, EVENT_PATCH,
	      "\"slug\":null,\"agent\":\"\",\"model\":null,\"metadata\":{},"
	      "\"tools\":null,\"expires_at\":null");
	expect_str(rec->slug, "");
	expect_str(rec->agent, "");
	expect_str(rec->model_provider, "");
	expect_str(rec->model_name, "");
	expect_str(rec->metadata, "");
	expect_str(rec->tools, "");
	assert_int_equal(rec->expires_at, 0);
	expect_str(rec->user, "u");

	/* What is not of its type is not taken. */
	event(lab, EVENT_PATCH,
	      "\"user\":7,\"metadata\":7,\"tools\":{\"a\":1},\"pinned\":1,"
	      "\"model\":\"m\",\"expires_at\":5");
	expect_str(rec->user, "u");
	expect_str(rec->metadata, "");
	expect_str(rec->tools, "");
	assert_int_equal(rec->pinned, 0);
}

static void a_patch_means_what_was_checked(void **state)
{
	struct lab *lab = *state;
	const char *change = "{\"slug\":\"a\\\"\",\"metadata\":{\"x\":[1]},"
			     "\"tools\":[{}],\"pinned\":true,\"expires_at\":"
			     "\"2027-01-01T00:00:00Z\",\"model\":{\"name\":"
			     "\"m\"},\"user\":\"u\"}";

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	assert_int_equal(body_patch(str_of(change), &lab->rec, &default_limits,
				    &lab->b, &lab->a, &lab->err),
			 WEFT_OK);
	event_of_buf(lab, EVENT_PATCH);
	expect_str(lab->rec.slug, "a\"");

	/* Asked for again, there is nothing left to change. */
	assert_int_equal(body_patch(str_of(change), &lab->rec, &default_limits,
				    &lab->b, &lab->a, &lab->err),
			 WEFT_OK);
	assert_int_equal(lab->b.len, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_come_and_go),
		TEST(a_deleted_session_frees_its_names),
		TEST(a_redaction_hides_and_shows),
		TEST(hiding_what_was_inherited_changes_no_count),
		TEST(counts_do_not_go_below_zero),
		TEST(patches_set_and_clear),
		TEST(a_patch_means_what_was_checked),
	};

	return cmocka_run_group_tests_name("derive-changes", tests, NULL, NULL);
}
