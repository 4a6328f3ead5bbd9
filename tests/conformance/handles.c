/*
 * handles.c - opening: again, twice, for reading only, and after fork().
 *
 * Where a test needs a store that is still there after closing, others pass
 * it by having nothing to show.
 */
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "conformance/conformance.h"

static void what_was_written_is_there_after_reopening(void **state)
{
	struct fixture *f = *state;
	struct weft_id s;
	const char *before;

	if (!is_persistent(f))
		return;
	s = begin_with(f, &(struct session_rec){ .key = STR("key") });
	for (int i = 0; i < 30; i++)
		say(f, &s, "hello");
	hide(f, &s, 5, true);
	name(f, &s, "alias", 4);
	before = dump(f, f->store);
	for (int i = 0; i < 3; i++) {
		reopen_with(f, NULL);
		assert_string_equal(dump(f, f->store), before);
	}
	assert_int_equal(say(f, &s, "on"), 34);
	assert_int_equal(find_name(f, "alias")->ver, 4);
}

static void an_empty_store_can_be_reopened(void **state)
{
	struct fixture *f = *state;

	reopen_with(f, NULL);
	reopen_with(f, NULL);
	assert_string_equal(dump(f, f->store), "");
}

static void a_store_that_is_not_there_is_made_only_if_asked(void **state)
{
	struct fixture *f = *state;
	struct store *s = NULL;

	if (is_persistent(f))
		f->url[strlen(f->url) - 1] = '2';
	assert_code(f, open_again(f, NULL, 0, &s), WEFT_NOT_FOUND);
	assert_code(f, open_again(f, "create=0", STORE_CREATE, &s),
		    WEFT_NOT_FOUND);
	assert_null(s);
	assert_ok(f, open_again(f, "create=1", 0, &s));
	close_store(f, s);
}

static void a_second_handle_sees_every_write_at_once(void **state)
{
	struct fixture *f = *state;
	struct store *other, *first = f->store;
	struct weft_id s;

	if (!is_persistent(f))
		return;
	s = begin(f);
	assert_ok(f, open_again(f, NULL, 0, &other));
	for (uint64_t i = 2; i < 20; i++) {
		/* Written through one, read through the other, in turns. */
		f->store = i % 2 ? first : other;
		assert_int_equal(say(f, &s, "turn"), i);
		f->store = i % 2 ? other : first;
		assert_int_equal(head(f, &s), i);
		assert_int_equal(read_all(f, &s).n, i);
	}
	f->store = first;
	name(f, &s, "shared", 1);
	f->store = other;
	assert_id_equal(&find_name(f, "shared")->session, &s);
	hide(f, &s, 3, true);
	assert_string_equal(dump(f, first), dump(f, other));
	f->store = first;
	close_store(f, other);
	assert_int_equal(say(f, &s, "alone"), 22);
}

static void a_new_session_is_known_to_both_handles(void **state)
{
	struct fixture *f = *state;
	struct store *other, *first = f->store;
	struct list_query q = { 0 };
	struct session_page page;

	if (!is_persistent(f))
		return;
	assert_ok(f, open_again(f, NULL, 0, &other));
	for (unsigned i = 1; i < 10; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "key-%u", i);
		f->store = i % 2 ? first : other;
		(void)begin_with(f,
				 &(struct session_rec){ .key = str_of(key) });
		f->store = i % 2 ? other : first;
		assert_int_equal(find_name(f, key)->ver, 1);
		assert_ok(f, f->store->ops->list(f->store, &q, &f->arena, &page,
						 &f->err));
		assert_int_equal(page.n, i);
	}
	f->store = first;
	close_store(f, other);
}

static void checkpoint(struct fixture *f)
{
	struct store_report report = { .arena = &f->arena };

	assert_ok(f, f->store->ops->maintain(f->store, TASK_CHECKPOINT, &report,
					     &f->err));
}

/* Who has looked up a name may have come by the session; that does not make it
 * older. */
static void a_name_leads_to_what_was_written_since_it_was_found(void **state)
{
	struct fixture *f = *state;
	struct store *other, *first;
	struct weft_id s[4];
	char key[16];

	if (!is_persistent(f))
		return;
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		(void)snprintf(key, sizeof(key), "key-%zu", i);
		s[i] = begin_with(f,
				  &(struct session_rec){ .key = str_of(key) });
	}
	reopen_with(f, "active_sessions=1");
	first = f->store;
	assert_ok(f, open_again(f, NULL, 0, &other));
	for (size_t i = 0; i < 3 * ARRAY_LEN(s); i++) {
		const struct weft_id *at = &s[i % ARRAY_LEN(s)];
		uint64_t before = 1 + 2 * (i / ARRAY_LEN(s));

		(void)snprintf(key, sizeof(key), "key-%zu", i % ARRAY_LEN(s));
		assert_id_equal(&find_name(f, key)->session, at);
		f->store = other;
		assert_int_equal(say(f, at, "through the other"), before + 1);
		f->store = first;
		assert_int_equal(head(f, at), before + 1);
		/* And not in memory only, nor in what is let go of. */
		checkpoint(f);
		assert_id_equal(&find_name(f, key)->session, at);
		assert_int_equal(say(f, at, "through this one"), before + 2);
		checkpoint(f);
		(void)record(f, &s[(i + 1) % ARRAY_LEN(s)]);
		assert_int_equal(head(f, at), before + 2);
	}
	close_store(f, other);
}

/* Somebody who wants to write, through a handle of its own. */
struct rival {
	pthread_t thread;
	struct store *store;
	struct weft_id session;
	unsigned planned;
	int r;
	int64_t took_ms;
};

static int plan_nothing(void *ctx, struct store_view *view, struct op_list *out,
			struct weft_error *err)
{
	struct rival *x = ctx;

	(void)view;
	(void)out;
	(void)err;
	x->planned++;
	return WEFT_OK;
}

static void *try_to_write(void *ctx)
{
	struct rival *x = ctx;
	/* Some stores lock what is wanted, and no more. */
	struct store_want want = { .sessions = &x->session, .n_sessions = 1 };
	int64_t from = clock_mono_us();

	x->r = x->store->ops->write(x->store, &want, plan_nothing, x, NULL);
	x->took_ms = (clock_mono_us() - from) / 1000;
	return NULL;
}

/* Inside a write, with the store's lock: the others have to wait. */
static void keep_them_waiting(struct draft *d, struct store_view *v, void *ctx)
{
	struct rival *rivals = ctx;
	uint32_t hidden;

	(void)d;
	/* Who is asked for something new has locked by then. */
	assert_int_equal(
		v->ops->is_hidden(v, &rivals[0].session, 1, &hidden, NULL),
		WEFT_OK);
	(void)try_to_write(&rivals[0]);
	assert_int_equal(pthread_create(&rivals[1].thread, NULL, try_to_write,
					&rivals[1]),
			 0);
	(void)usleep(150000);
}

static void who_has_to_wait_does_so_for_busy_ms(void **state)
{
	struct fixture *f = *state;
	struct rival rivals[2] = { { .r = 1 }, { .r = 1 } };
	struct draft *d;

	if (!is_persistent(f))
		return;
	rivals[0].session = rivals[1].session = begin(f);
	d = draft_new(f);
	(void)draft_say(d, &rivals[0].session, "a");
	assert_ok(f, open_again(f, "busy_ms=60", 0, &rivals[0].store));
	assert_ok(f, open_again(f, "busy_ms=60000", 0, &rivals[1].store));
	draft_look(d, keep_them_waiting, rivals);
	must_write(d);
	assert_int_equal(pthread_join(rivals[1].thread, NULL), 0);
	/* One gave up when its time was over, and not much later. */
	assert_int_equal(rivals[0].r, WEFT_BUSY);
	assert_int_equal(rivals[0].planned, 0);
	assert_in_range(rivals[0].took_ms, 59, 5000);
	/* The other had time, and used what it needed of it. */
	assert_int_equal(rivals[1].r, WEFT_OK);
	assert_int_equal(rivals[1].planned, 1);
	assert_in_range(rivals[1].took_ms, 0, 30000);
	/* Who gave up can try again. */
	(void)try_to_write(&rivals[0]);
	assert_int_equal(rivals[0].r, WEFT_OK);
	close_store(f, rivals[0].store);
	close_store(f, rivals[1].store);
}

/* Every way to change a store fails with `code`. */
static void expect_no_changes(struct fixture *f, struct store *s, int code)
{
	struct store_report report = { .arena = &f->arena };
	struct draft *d = draft_new(f);
	struct blob_ref ref;

	(void)draft_begin(d, &(struct session_rec){ 0 });
	assert_code(f, draft_write_to(d, s), code);
	assert_int_equal(d->planned, 0);
	assert_code(f, s->ops->put_blob(s, STR("x"), &ref, &f->err), code);
	assert_code(f, s->ops->maintain(s, TASK_REINDEX, &report, &f->err),
		    code);
	assert_code(f, s->ops->maintain(s, TASK_REPAIR, &report, &f->err),
		    code);
	assert_code(f, s->ops->maintain(s, TASK_BLOBS, &report, &f->err), code);
}

static void a_store_opened_for_reading_takes_no_writes(void **state)
{
	struct fixture *f = *state;
	struct store_health health;
	struct store *s;
	struct weft_id a = begin(f);
	const char *before;

	say(f, &a, "hello");
	before = is_persistent(f) ? dump(f, f->store) : "";
	assert_ok(f, open_again(f, "read_only=1", STORE_CREATE, &s));
	expect_no_changes(f, s, WEFT_READ_ONLY);
	assert_string_equal(dump(f, s), before);
	assert_int_equal(s->ops->health(s, &health), WEFT_OK);
	assert_false(health.writable);
	assert_false(health.failed);
	assert_true(health.reason[0] != '\0');
	close_store(f, s);
	assert_ok(f, open_again(f, NULL, STORE_READ_ONLY | STORE_CREATE, &s));
	expect_no_changes(f, s, WEFT_READ_ONLY);
	close_store(f, s);
}

static void a_reader_sees_what_is_written_after_it_opened(void **state)
{
	struct fixture *f = *state;
	struct store *reader;
	struct weft_id s;

	if (!is_persistent(f))
		return;
	s = begin(f);
	say(f, &s, "before");
	assert_ok(f, open_again(f, NULL, STORE_READ_ONLY, &reader));
	say(f, &s, "after");
	assert_string_equal(dump(f, reader), dump(f, f->store));
	close_store(f, reader);
}

/* ---- fork() ---- */

static bool says_fork(int r, struct weft_error *err)
{
	bool said = r == WEFT_IO && err->code == WEFT_IO &&
		    strstr(err->message, "fork()");

	*err = (struct weft_error){ 0 };
	return said;
}

/* In the child: 0 if every slot refuses, else which did not. */
static int call_everything(void *ctx)
{
	struct fixture *f = ctx;
	const struct weft_id *id = &(struct weft_id){ { 7 } };
	const struct store_ops *ops = f->store->ops;
	struct store *s = f->store;
	struct arena *a = &f->arena;
	struct store_report report = { .arena = a };
	struct weft_str name = STR("x"), text;
	struct draft *d = draft_new(f);
	struct weft_error *err = &f->err;
	struct event_range range = { *id, 1, 9, 0, 0, 0, 0 };
	struct event_page page;
	struct session_page sessions;
	struct session_rec rec;
	struct session_names name_list;
	struct name_rec names;
	struct weft_id *ids;
	struct blob_ref ref = { 0 };
	struct store_health health;
	struct behind_page behind;
	struct word_page words;
	uint64_t stamp = 0, *seq_list;
	size_t n;

	*err = (struct weft_error){ 0 };
	(void)draft_begin(d, &(struct session_rec){ 0 });
	const bool refused[] = {
		says_fork(draft_write(d), err),
		says_fork(ops->get_sessions(s, id, 1, a, &rec, err), err),
		says_fork(ops->get_names(s, &name, 1, a, &names, err), err),
		says_fork(ops->get_names_of(s, id, 1, a, &name_list, err), err),
		says_fork(ops->read_events(s, &range, a, &page, err), err),
		says_fork(ops->get_hidden(s, id, 1, 9, a, &seq_list, &n, err),
			  err),
		says_fork(ops->list(s, &(struct list_query){ 0 }, a, &sessions,
				    err),
			  err),
		says_fork(
			ops->find_tag(s, id_session_tag(id), a, &ids, &n, err),
			err),
		says_fork(ops->where(s, id, a, &text, err), err),
		says_fork(ops->put_blob(s, name, &ref, err), err),
		says_fork(ops->get_blob(s, &ref, a, &text, err), err),
		says_fork(ops->get_behind(s, 1, 1, a, &behind, err), err),
		says_fork(ops->put_words(s, 0, NULL, 0, err), err),
		says_fork(ops->find_words(s, &(struct word_query){ 0 }, a,
					  &words, err),
			  err),
		says_fork(ops->drop_words(s, id, 1, err), err),
		says_fork(ops->wait(s, &stamp, -1, err), err),
		says_fork(ops->maintain(s, TASK_VERIFY, &report, err), err),
		says_fork(ops->maintain(s, TASK_CHECKPOINT, &report, err), err),
		ops->health(s, &health) == WEFT_IO,
	};

	ops->wake(s);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (!refused[i])
			return (int)i + 1;
	}
	(void)store_close(s, NULL);
	return 0;
}

static void a_store_does_not_survive_fork(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);

	say(f, &s, "before");
	assert_int_equal(call_in_child(call_everything, f), 0);
	/* The parent goes on as if nothing had happened. */
	assert_int_equal(say(f, &s, "after"), 3);
	expect_texts(f, &s, "session before after");
	if (is_persistent(f)) {
		reopen_with(f, NULL);
		expect_texts(f, &s, "session before after");
	}
}

static void where_names_a_file_or_nothing(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct weft_str path;

	assert_ok(f, f->store->ops->where(f->store, &s, &f->arena, &path,
					  &f->err));
	if (path.len > 0)
		assert_int_equal(access(path.ptr, R_OK), 0);
	else /* in a database no session has a file of its own */
		assert_true(strncmp(f->url, "jsonl:", 6) != 0);
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(what_was_written_is_there_after_reopening),
	STORE_TEST(an_empty_store_can_be_reopened),
	STORE_TEST(a_store_that_is_not_there_is_made_only_if_asked),
	STORE_TEST(a_second_handle_sees_every_write_at_once),
	STORE_TEST(a_name_leads_to_what_was_written_since_it_was_found),
	STORE_TEST(a_new_session_is_known_to_both_handles),
	STORE_TEST(who_has_to_wait_does_so_for_busy_ms),
	STORE_TEST(a_store_opened_for_reading_takes_no_writes),
	STORE_TEST(a_reader_sees_what_is_written_after_it_opened),
	STORE_TEST(a_store_does_not_survive_fork),
	STORE_TEST(where_names_a_file_or_nothing),
};

const struct suite handle_suite = { tests, ARRAY_LEN(tests) };
