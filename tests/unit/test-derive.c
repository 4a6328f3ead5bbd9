/* test-derive.c - what each event means for its session's record. */
#include "model.h"

#include "base/buf.h"
#include "base/mem.h"
#include "model/body.h"
#include "model/derive.h"
#include "model/event.h"
#include "model/record.h"

#define SESSION "01JCQ5Z8G0ABCDEFGHJKMNPQRA"
#define PARENT  "01JCQ5Z8G0ABCDEFGHJKMNPQRB"

/* A session, one event after the other. */
struct lab {
	struct arena a;
	struct buf b;
	struct session_rec rec;
	struct op_list ops; /* of the last event */
	struct weft_error err;
	struct weft_id session;
	uint64_t seq;
	int64_t now;
	bool background;
	uint32_t state;
};

static int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	arena_init(&lab->a, 0);
	buf_init(&lab->b, MIB(1));
	lab->session = test_id(SESSION);
	lab->now = TEST_TIME;
	*state = lab;
	return 0;
}

static int tear_down(void **state)
{
	struct lab *lab = *state;

	arena_done(&lab->a);
	buf_done(&lab->b);
	test_free(lab);
	return 0;
}

static int try_event(struct lab *lab, uint32_t type, struct weft_str body)
{
	struct store_event e = {
		.session = lab->session,
		.seq = ++lab->seq,
		.last = lab->seq,
		.ts_ms = ++lab->now,
		.type = type,
		.state = lab->state,
		.background = lab->background,
		.body = arena_str(&lab->a, body),
	};

	lab->ops = (struct op_list){ .arena = &lab->a };
	lab->err.code = 77;
	return derive_event(&lab->rec, &e, NULL, &lab->ops, &lab->err);
}

static void event(struct lab *lab, uint32_t type, const char *body)
{
	assert_int_equal(try_event(lab, type, str_of(body)), WEFT_OK);
	assert_int_equal(lab->err.code, 77); /* untouched on success */
	assert_int_equal(lab->rec.head_seq, lab->seq);
}

static void event_of_buf(struct lab *lab, uint32_t type)
{
	buf_add_c(&lab->b, '\0');
	event(lab, type, lab->b.ptr);
	buf_reset(&lab->b);
}

static void say(struct lab *lab, const char *role, const char *text)
{
	event(lab, EVENT_MESSAGE,
	      arena_printf(&lab->a,
			   "\"role\":\"%s\",\"parts\":[{\"type\":\"text\","
			   "\"text\":\"%s\"}]",
			   role, text)
		      .ptr);
}

static void spend(struct lab *lab, const char *usage)
{
	event(lab, EVENT_MESSAGE,
	      arena_printf(&lab->a,
			   "\"role\":\"assistant\",\"parts\":[],\"usage\":%s",
			   usage)
		      .ptr);
}

static const struct name_rec *named(const struct lab *lab, size_t i)
{
	assert_true(i < lab->ops.n);
	assert_int_equal(lab->ops.v[i].kind, OP_NAME);
	return lab->ops.v[i].u.name;
}

/* ---- beginnings ---- */

static void a_session_begins(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;
	struct session_rec expected;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	expected = (struct session_rec){
		.id = lab->session,
		.kind = KIND_PRIMARY,
		.root = lab->session,
		.head_seq = 1,
		.created_at = TEST_TIME + 1,
		.updated_at = TEST_TIME + 1,
		.last_interaction_at = TEST_TIME + 1,
	};
	assert_true(record_eq(rec, &expected));
	assert_int_equal(lab->ops.n, 0);
}

static void what_a_session_begins_with_is_found_in_its_record(void **state)
{
	struct lab *lab = *state;
	struct session_rec rec = {
		.id = lab->session,
		.kind = KIND_SUBAGENT,
		.parent = test_id(PARENT),
		.forked_from = test_id("01JCQ5Z8G0ABCDEFGHJKMNPQRC"),
		.root = test_id("01JCQ5Z8G0ABCDEFGHJKMNPQRD"),
		.previous = test_id("01JCQ5Z8G0ABCDEFGHJKMNPQRE"),
		.fork_seq = 12,
		.key = STR("k\"\n\xc3\xa9"),
		.parent_tool_use_id = STR("t"),
		.agent = STR("a"),
		.slug = STR("s\\"),
		.project_dir = STR("/p"),
		.model_provider = STR("mp"),
		.model_name = STR("mn"),
		.user = STR("u"),
		.channel = STR("c"),
		.user_role = STR("r"),
		.scope = STR("{ \"version\":1}"),
		.tools = STR("[]"),
		.metadata = STR("{\"a\":1e999}"),
		.window_seq = 5,
		.inherited_count = 9,
		.expires_at = TEST_TIME + 5000,
	};

	lab->seq = 12;
	body_session(&lab->b, &rec, 4);
	event_of_buf(lab, EVENT_SESSION);
	rec.head_seq = 13;
	rec.content_seq = 12;
	rec.created_at = rec.updated_at = rec.last_interaction_at =
		TEST_TIME + 1;
	assert_true(record_eq(&lab->rec, &rec));

	/* Its key is a name. */
	assert_int_equal(lab->ops.n, 1);
	expect_str(named(lab, 0)->name, "k\"\n\xc3\xa9");
	assert_int_equal(named(lab, 0)->ver, 4);
	assert_int_equal(named(lab, 0)->kind, NAME_KEY);
	assert_memory_equal(&named(lab, 0)->session, &lab->session, 16);
}

static void the_operation_that_made_it_is_in_the_record(void **state)
{
	struct lab *lab = *state;
	struct store_event e = { .session = lab->session,
				 .seq = 1,
				 .type = EVENT_SESSION,
				 .op = STR("op-1"),
				 .body = STR("\"kind\":\"book\"") };

	lab->ops.arena = &lab->a;
	assert_int_equal(derive_event(&lab->rec, &e, NULL, &lab->ops, NULL),
			 WEFT_OK);
	expect_str(lab->rec.op, "op-1");
	assert_int_equal(lab->rec.kind, KIND_BOOK);
}

static void only_the_first_event_says_what_a_session_is(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"book\"");
	event(lab, EVENT_SESSION, "\"kind\":\"subagent\",\"key\":\"k\"");
	assert_int_equal(lab->rec.kind, KIND_BOOK);
	assert_int_equal(lab->rec.created_at, TEST_TIME + 1);
	assert_int_equal(lab->ops.n, 0);
}

static void a_session_without_its_first_event_is_still_one(void **state)
{
	struct lab *lab = *state;

	lab->state = STATE_DAMAGED;
	event(lab, EVENT_OTHER, "");
	assert_memory_equal(&lab->rec.id, &lab->session, 16);
	assert_memory_equal(&lab->rec.root, &lab->session, 16);
	assert_int_equal(lab->rec.kind, KIND_PRIMARY);
	assert_int_equal(lab->rec.created_at, id_time_ms(&lab->session));
	assert_int_equal(lab->rec.updated_at, 0);
	lab->state = STATE_OK;
	say(lab, "user", "hello");
	assert_int_equal(lab->rec.message_count, 1);
	expect_str(lab->rec.first_user, "hello");
}

/* ---- messages ---- */

static void messages_are_counted(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "system", "s");
	say(lab, "user", "u");
	say(lab, "assistant", "a");
	event(lab, EVENT_MESSAGE,
	      "\"role\":\"user\",\"parts\":[{\"type\":\"tool_result\","
	      "\"tool_use_id\":\"i\",\"content\":\"\"}]");
	say(lab, "tool", "t");
	assert_int_equal(rec->message_count, 5);
	assert_int_equal(rec->turn_count, 1);
	assert_int_equal(rec->content_seq, 6);
	assert_int_equal(rec->updated_at, lab->now);
	assert_int_equal(rec->last_interaction_at, lab->now);
	assert_int_equal(rec->created_at, TEST_TIME + 1);
	assert_int_equal(lab->ops.n, 0);
}

static void what_is_said_in_the_background_is_no_interaction(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	lab->background = true;
	say(lab, "user", "u");
	assert_int_equal(lab->rec.updated_at, TEST_TIME + 2);
	assert_int_equal(lab->rec.last_interaction_at, TEST_TIME + 1);
	assert_int_equal(lab->rec.message_count, 1);
}

static void previews_are_the_first_and_the_last(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;
	char text[301];

	memset(text, 'x', 300);
	text[300] = '\0';
	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "");
	assert_int_equal(rec->first_user_seq, 0);
	say(lab, "user", text);
	assert_int_equal(rec->first_user.len, 256);
	assert_int_equal(rec->last_user.len, 160);
	assert_int_equal(rec->first_user_seq, 3);
	assert_int_equal(rec->last_user_seq, 3);
	say(lab, "user", "last");
	say(lab, "user", "");
	say(lab, "system", "not this");
	say(lab, "tool", "nor this");
	assert_int_equal(rec->first_user.len, 256);
	expect_str(rec->last_user, "last");
	assert_int_equal(rec->last_user_seq, 4);
	expect_str(rec->last_agent, "");
	say(lab, "assistant", text);
	say(lab, "assistant", "\\u00e9");
	expect_str(rec->last_agent, "\xc3\xa9");
	assert_int_equal(rec->last_agent_seq, 9);
}

static void facts_that_are_given_are_used(void **state)
{
	struct lab *lab = *state;
	struct message_facts facts = { .role = ROLE_USER,
				       .starts_turn = 1,
				       .has_usage = 1,
				       .usage = { .input_tokens = 5 },
				       .text = STR("from facts") };
	struct store_event e = { .session = lab->session,
				 .seq = 2,
				 .ts_ms = TEST_TIME,
				 .type = EVENT_MESSAGE,
				 .body = STR("not looked at") };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	assert_int_equal(derive_event(&lab->rec, &e, &facts, &lab->ops, NULL),
			 WEFT_OK);
	expect_str(lab->rec.last_user, "from facts");
	assert_int_equal(lab->rec.turn_count, 1);
	assert_int_equal(lab->rec.own.input_tokens, 5);
}

/* ---- money ---- */

static void spending_adds_up_exactly(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	spend(lab, "{\"cost_usd\":0.1,\"input_tokens\":1,\"output_tokens\":2}");
	spend(lab, "{\"cost_usd\":0.2,\"cache_read_tokens\":3,"
		   "\"cache_write_tokens\":4,\"input_tokens\":10}");
	spend(lab, "{\"cost_usd\":1e-9}");
	spend(lab, "{\"cost_usd\":0.0000000005}");
	spend(lab, "{\"cost_usd\":null}");
	spend(lab, "{}");
	assert_int_equal(rec->own.cost_nano, 300000002);
	assert_int_equal(rec->own.input_tokens, 11);
	assert_int_equal(rec->own.output_tokens, 2);
	assert_int_equal(rec->own.cache_read_tokens, 3);
	assert_int_equal(rec->own.cache_write_tokens, 4);
	assert_int_equal(rec->own.unpriced, 2);
	assert_memory_equal(&rec->own, &rec->total, sizeof(rec->own));
	assert_int_equal(lab->ops.n, 0);
}

static void a_subagents_parent_pays(void **state)
{
	struct lab *lab = *state;
	struct weft_id parent = test_id(PARENT);
	const struct store_op *op = NULL;

	event(lab, EVENT_SESSION,
	      "\"kind\":\"subagent\",\"parent\":\"" PARENT "\"");
	say(lab, "user", "nothing spent");
	assert_int_equal(lab->ops.n, 0);
	spend(lab, "{\"cost_usd\":0,\"input_tokens\":0}");
	assert_int_equal(lab->ops.n, 0);
	spend(lab, "{\"cost_usd\":0.5,\"input_tokens\":7}");
	assert_int_equal(lab->ops.n, 1);
	op = lab->ops.v;
	assert_int_equal(op->kind, OP_ADD);
	assert_memory_equal(&op->session, &parent, 16);
	assert_int_equal(op->u.add->cost_nano, 500000000);
	assert_int_equal(op->u.add->input_tokens, 7);
	assert_int_equal(op->u.add->unpriced, 0);
	assert_int_equal(lab->rec.own.cost_nano, 500000000);

	/* Without a price it is the count that climbs. */
	spend(lab, "{}");
	assert_int_equal(lab->ops.v[0].u.add->unpriced, 1);
}

static void nobody_pays_for_a_fork(void **state)
{
	struct lab *lab = *state;

	lab->seq = 3;
	event(lab, EVENT_SESSION,
	      "\"kind\":\"primary\",\"parent\":\"" PARENT "\",\"fork_seq\":3");
	spend(lab, "{\"cost_usd\":0.5}");
	assert_int_equal(lab->ops.n, 0);
	lab->rec.kind = KIND_SUBAGENT;
	spend(lab, "{\"cost_usd\":0.5}");
	assert_int_equal(lab->ops.n, 0);
	assert_int_equal(lab->rec.total.cost_nano, 1000000000);
}

static void what_descendants_spend_climbs(void **state)
{
	struct lab *lab = *state;
	const struct totals spent = { .input_tokens = 3, .unpriced = 1 };
	struct session_rec rec = { .kind = KIND_SUBAGENT,
				   .parent = test_id(PARENT) };

	lab->ops.arena = &lab->a;
	derive_add(&rec, &spent, &lab->ops);
	derive_add(&rec, &spent, &lab->ops);
	assert_int_equal(rec.total.input_tokens, 6);
	assert_int_equal(rec.own.input_tokens, 0);
	assert_int_equal(lab->ops.n, 2);
	assert_memory_equal(&lab->ops.v[1].session, &rec.parent, 16);
	assert_memory_equal(lab->ops.v[1].u.add, &spent, sizeof(spent));

	rec.kind = KIND_PRIMARY;
	derive_add(&rec, &spent, &lab->ops);
	assert_int_equal(rec.total.unpriced, 3);
	assert_int_equal(lab->ops.n, 2);
}

static void what_a_purged_child_spent_is_not_forgotten(void **state)
{
	struct lab *lab = *state;
	const struct totals spent = { 1, 2, 3, 4, INT64_MAX, 6 };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	body_usage(&lab->b, &spent);
	event_of_buf(lab, EVENT_USAGE);
	assert_memory_equal(&lab->rec.total, &spent, sizeof(spent));
	assert_int_equal(lab->rec.own.input_tokens, 0);
}

/* ---- names ---- */

static void names_come_and_go(void **state)
{
	struct lab *lab = *state;
	struct name_rec name = { .name = STR("a\"b"),
				 .ver = 3,
				 .kind = NAME_ALIAS };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\",\"key\":\"k\"");
	assert_int_equal(named(lab, 0)->ver, 1);
	body_name(&lab->b, &name, false);
	event_of_buf(lab, EVENT_NAME);
	assert_int_equal(lab->ops.n, 1);
	expect_str(named(lab, 0)->name, "a\"b");
	assert_int_equal(named(lab, 0)->ver, 3);
	assert_int_equal(named(lab, 0)->kind, NAME_ALIAS);
	assert_memory_equal(&named(lab, 0)->session, &lab->session, 16);
	expect_str(lab->rec.key, "k");

	body_name(&lab->b, &name, true);
	event_of_buf(lab, EVENT_NAME);
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

	/* What comes later is not the first. */
	say(lab, "user", "later");
	expect_str(rec->first_user, "");
	expect_str(rec->last_user, "later");

	redact(lab, (struct redact){ .target = 3,
				     .hidden = true,
				     .role = ROLE_ASSISTANT,
				     .own = true });
	expect_str(rec->last_agent, "");
	assert_int_equal(rec->turn_count, 2);
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

/* ---- the rest ---- */

static void markers_move_the_window(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "a");
	event(lab, EVENT_MARKER, "\"first_kept\":2,\"summary\":\"s\"");
	assert_int_equal(lab->rec.window_seq, 3);
	assert_int_equal(lab->rec.content_seq, 3);
	assert_int_equal(lab->rec.message_count, 1);
}

static void a_purge_is_noted(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	event(lab, EVENT_PURGE, "");
	assert_int_equal(lab->rec.purged_at, lab->now);
}

static void what_is_damaged_or_gone_moves_only_the_head(void **state)
{
	struct lab *lab = *state;
	struct session_rec before;
	struct store_event e = { .session = lab->session,
				 .seq = 3,
				 .last = 900,
				 .ts_ms = TEST_TIME + 50,
				 .type = EVENT_GONE,
				 .state = STATE_GONE,
				 .body = STR("\"to\":900") };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	before = lab->rec;
	lab->state = STATE_DAMAGED;
	say(lab, "user", "unreadable");
	before.head_seq = 2;
	assert_true(record_eq(&lab->rec, &before));

	assert_int_equal(derive_event(&lab->rec, &e, NULL, &lab->ops, NULL),
			 WEFT_OK);
	before.head_seq = 900;
	assert_true(record_eq(&lab->rec, &before));
	e.state = STATE_ALTERED;
	e.last = 901;
	assert_int_equal(derive_event(&lab->rec, &e, NULL, &lab->ops, NULL),
			 WEFT_OK);
	before.head_seq = 901;
	assert_true(record_eq(&lab->rec, &before));
}

static void unknown_types_move_head_and_time(void **state)
{
	static const uint32_t types[] = { EVENT_OTHER,  EVENT_MEMORY,
					  EVENT_FORGET, EVENT_TODOS,
					  EVENT_LEASE,  EVENT_TURN,
					  EVENT_TYPES };
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct session_rec before = lab->rec;

		event(lab, types[i], "\"slug\":\"x\",\"role\":\"user\"");
		before.head_seq++;
		before.updated_at = lab->now;
		assert_true(record_eq(&lab->rec, &before));
		assert_int_equal(lab->ops.n, 0);
	}
}

static void nonsense_means_nothing_and_stops_nothing(void **state)
{
	static const char *const bodies[] = {
		"",
		"{",
		"}",
		"\"a\":",
		"\xff",
		"\"kind\":7,\"key\":[],\"key_ver\":-1,\"parent\":{},\"model\":"
		"3,"
		"\"fork_seq\":\"x\",\"scope\":4,\"metadata\":5,\"tools\":6,"
		"\"pinned\":{},\"expires_at\":{},\"slug\":{}",
		"\"name\":7,\"ver\":\"x\"",
		"\"name\":\"n\",\"ver\":1.5,\"kind\":{}",
		"\"target\":\"x\",\"hidden\":7",
		"\"names\":7",
		"\"names\":[7,null,{},{\"name\":\"\",\"ver\":1}]",
		"\"spent\":[]",
		"\"role\":{},\"parts\":7,\"usage\":8",
	};
	struct lab *lab = *state;

	for (uint32_t type = 0; type < EVENT_TYPES; type++) {
		for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
			for (lab->seq = 0; lab->seq < 2;) {
				if (lab->seq == 0)
					lab->rec = (struct session_rec){
						.kind = 0
					};
				assert_int_equal(
					try_event(lab, type, str_of(bodies[i])),
					WEFT_OK);
				assert_int_equal(lab->err.code, 77);
			}
			assert_int_equal(lab->rec.message_count, 0);
		}
	}
}

static void the_same_events_give_the_same_record(void **state)
{
	struct session_rec first;
	struct lab *lab = *state;

	for (int round = 0; round < 2; round++) {
		lab->rec = (struct session_rec){ .kind = 0 };
		lab->seq = 0;
		lab->now = TEST_TIME;
		event(lab, EVENT_SESSION, "\"kind\":\"book\",\"key\":\"k\"");
		say(lab, "user", "u");
		spend(lab, "{\"cost_usd\":0.1}");
		event(lab, EVENT_PATCH, "\"slug\":\"s\"");
		if (round == 0)
			first = lab->rec;
	}
	assert_true(record_eq(&lab->rec, &first));
}

static void lists_of_ops_grow(void **state)
{
	struct lab *lab = *state;

	lab->ops.arena = &lab->a;
	for (uint32_t i = 0; i < 1000; i++)
		assert_non_null(op_list_add(&lab->ops, i, &lab->session));
	assert_int_equal(lab->ops.n, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(lab->ops.v[i].kind, i);
}

static void want_of_memory_is_told(void **state)
{
	static const struct {
		uint32_t type;
		const char *body;
	} events[] = {
		{ EVENT_SESSION, "\"kind\":\"primary\",\"key\":\"k\"" },
		{ EVENT_MESSAGE, "\"role\":\"user\",\"parts\":[{\"type\":"
				 "\"text\",\"text\":\"hi\"}],\"usage\":{}" },
		{ EVENT_PATCH, "\"slug\":\"s\"" },
		{ EVENT_REDACT, "\"target\":1" },
		{ EVENT_DELETE, "\"names\":[{\"name\":\"n\",\"ver\":1}]" },
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		int r = WEFT_NO_MEMORY;

		for (int n = 0; r != WEFT_OK; n++) {
			struct arena a;
			struct op_list ops = { .arena = &a };
			struct session_rec rec = { .kind = 0 };
			struct store_event e = { .session = lab->session,
						 .seq = 1,
						 .type = events[i].type,
						 .body = str_of(
							 events[i].body) };

			arena_init(&a, 0);
			mem_fault(n, 0);
			r = derive_event(&rec, &e, NULL, &ops, &lab->err);
			mem_fault(-1, 0);
			arena_done(&a);
			assert_true(r == WEFT_OK || r == WEFT_NO_MEMORY);
			assert_true(n < 50);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_begins),
		TEST(what_a_session_begins_with_is_found_in_its_record),
		TEST(the_operation_that_made_it_is_in_the_record),
		TEST(only_the_first_event_says_what_a_session_is),
		TEST(a_session_without_its_first_event_is_still_one),
		TEST(messages_are_counted),
		TEST(what_is_said_in_the_background_is_no_interaction),
		TEST(previews_are_the_first_and_the_last),
		TEST(facts_that_are_given_are_used),
		TEST(spending_adds_up_exactly),
		TEST(a_subagents_parent_pays),
		TEST(nobody_pays_for_a_fork),
		TEST(what_descendants_spend_climbs),
		TEST(what_a_purged_child_spent_is_not_forgotten),
		TEST(names_come_and_go),
		TEST(a_deleted_session_frees_its_names),
		TEST(a_redaction_hides_and_shows),
		TEST(hiding_what_was_inherited_changes_no_count),
		TEST(counts_do_not_go_below_zero),
		TEST(patches_set_and_clear),
		TEST(a_patch_means_what_was_checked),
		TEST(markers_move_the_window),
		TEST(a_purge_is_noted),
		TEST(what_is_damaged_or_gone_moves_only_the_head),
		TEST(unknown_types_move_head_and_time),
		TEST(nonsense_means_nothing_and_stops_nothing),
		TEST(the_same_events_give_the_same_record),
		TEST(lists_of_ops_grow),
		TEST(want_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("derive", tests, NULL, NULL);
}
