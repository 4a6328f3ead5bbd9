/* tasks.c - looking after a store: what tasks find, change and leave alone. */
#include "base/id.h"
#include "conformance/conformance.h"

/* A store with something of everything in it. */
static void fill(struct fixture *f)
{
	struct weft_id a =
		begin_with(f, &(struct session_rec){ .key = STR("key a"),
						     .slug = STR("a"),
						     .op = STR("make a") });
	struct weft_id b =
		begin_with(f, &(struct session_rec){ .key = STR("key b"),
						     .kind = KIND_SUBAGENT,
						     .parent = a,
						     .root = a });
	struct weft_id c = begin(f), below;
	struct draft *d = draft_new(f);
	struct blob_ref blob;

	assert_ok(f, f->store->ops->put_blob(f->store, STR("blob"), &blob,
					     &f->err));
	below = begin_with(f, &(struct session_rec){ .kind = KIND_SUBAGENT,
						     .parent = b,
						     .root = a });
	for (int i = 0; i < 20; i++) {
		say_op(f, &a, "in a", i == 7 ? "seven" : "");
		say(f, &c, "in c");
	}
	name(f, &a, "moving", 1);
	draft_name(d, &a, "moving", 2, true);
	draft_name(d, &b, "moving", 3, false);
	(void)draft_event(d, &below, EVENT_MESSAGE,
			  "\"role\":\"assistant\",\"parts\":[{\"type\":"
			  "\"text\",\"text\":\"x\"}],\"usage\":{"
			  "\"input_tokens\":11,\"output_tokens\":5}");
	(void)draft_event(d, &a, EVENT_PATCH, "\"slug\":\"renamed\"");
	draft_hide(d, &a, 3, true);
	draft_hide(d, &a, 4, true);
	draft_hide(d, &a, 3, false);
	draft_refer(d, &blob);
	must_write(d);
	d = draft_new(f);
	(void)draft_event(d, &c, EVENT_DELETE, "\"names\":[]");
	must_write(d);
}

static struct store_report run(struct fixture *f, uint32_t task)
{
	struct store_report report = { .arena = &f->arena };

	assert_ok(f, f->store->ops->maintain(f->store, task, &report, &f->err));
	for (size_t i = 0; i < report.n_problems; i++)
		print_error("%.*s: %.*s\n", STR_ARG(report.problems[i].file),
			    STR_ARG(report.problems[i].reason));
	return report;
}

static void verify_finds_nothing_wrong(void **state)
{
	struct fixture *f = *state;
	struct store_report report;

	fill(f);
	report = run(f, TASK_VERIFY);
	assert_int_equal(report.n_problems, 0);
	assert_int_equal(report.sessions, 4);
	assert_int_equal(report.events, 4 + 40 + 1 + 7 + 1);
	assert_int_equal(report.blobs, 1);
	assert_true(report.bytes > 1000);
	assert_int_equal(report.changed, 0);
}

static void no_task_changes_what_a_store_says(void **state)
{
	struct fixture *f = *state;
	const uint32_t tasks[] = { TASK_VERIFY,  TASK_CHECKPOINT, TASK_SUSPEND,
				   TASK_REINDEX, TASK_REPAIR,     TASK_BLOBS,
				   TASK_VERIFY };
	const char *before;

	fill(f);
	before = dump(f, f->store);
	for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
		struct store_report report = run(f, tasks[i]);

		assert_int_equal(report.n_problems, 0);
		assert_string_equal(dump(f, f->store), before);
	}
}

static void reindexing_gives_the_same_again(void **state)
{
	struct fixture *f = *state;
	const char *before;
	struct weft_id s;
	uint64_t end;

	fill(f);
	before = dump(f, f->store);
	assert_int_equal(run(f, TASK_REINDEX).events, 53);
	assert_string_equal(dump(f, f->store), before);
	/* And goes on from there. */
	s = find_name(f, "key a")->session;
	end = head(f, &s);
	assert_int_equal(say(f, &s, "more"), end + 1);
	assert_int_equal(find_name(f, "moving")->ver, 3);
	assert_int_equal(run(f, TASK_REINDEX).n_problems, 0);
}

static void look_for_seven(struct draft *d, struct store_view *v, void *ctx)
{
	struct op_hit hit;

	assert_ok(d->f,
		  v->ops->find_op(v, ctx, STR("seven"), &hit, &d->f->err));
	assert_int_equal(hit.seq, 9);
	assert_ok(d->f,
		  v->ops->find_op(v, NULL, STR("make a"), &hit, &d->f->err));
	assert_id_equal(&hit.session, ctx);
}

static void operation_ids_survive_reindexing(void **state)
{
	struct fixture *f = *state;
	struct draft *d = draft_new(f);
	struct weft_id a;

	fill(f);
	a = find_name(f, "key a")->session;
	(void)run(f, TASK_REINDEX);
	draft_look(d, look_for_seven, &a);
	must_write(d);
}

static void repairing_twice_mends_nothing_more(void **state)
{
	struct fixture *f = *state;

	fill(f);
	(void)run(f, TASK_REPAIR);
	assert_int_equal(run(f, TASK_REPAIR).changed, 0);
	assert_int_equal(run(f, TASK_VERIFY).n_problems, 0);
}

struct progress {
	uint64_t calls, done, total;
	bool backwards;
};

static void note_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct progress *p = ctx;

	p->calls++;
	p->backwards |= done < p->done || done > total;
	p->done = done;
	p->total = total;
}

static void progress_only_goes_forwards(void **state)
{
	struct fixture *f = *state;
	struct progress p = { 0 };
	struct store_report report = { .arena = &f->arena,
				       .progress = note_progress,
				       .progress_ctx = &p };

	fill(f);
	assert_ok(f, f->store->ops->maintain(f->store, TASK_VERIFY, &report,
					     &f->err));
	assert_false(p.backwards);
}

static void an_unknown_task_is_refused(void **state)
{
	struct fixture *f = *state;
	struct store_report report = { .arena = &f->arena };

	assert_code(f, f->store->ops->maintain(f->store, 99, &report, &f->err),
		    WEFT_INVALID);
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(verify_finds_nothing_wrong),
	STORE_TEST(no_task_changes_what_a_store_says),
	STORE_TEST(reindexing_gives_the_same_again),
	STORE_TEST(operation_ids_survive_reindexing),
	STORE_TEST(repairing_twice_mends_nothing_more),
	STORE_TEST(progress_only_goes_forwards),
	STORE_TEST(an_unknown_task_is_refused),
};

const struct suite task_suite = { tests, ARRAY_LEN(tests) };
