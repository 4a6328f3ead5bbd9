/*
 * conformance.h - what the tests of stores share.
 *
 * Every test gets a fresh store of the kind that the program was called for.
 * Writes are made by a small planner that puts steps together into one write,
 * with the model's own functions, and checks nothing: what a store refuses, it
 * must refuse by itself.
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "store/store.h"

/* 2026-11-15T10:00:00.000Z */
#define TEST_BEGIN_MS INT64_C(1794736800000)

/* A store under test, and what a test needs around it. */
struct fixture {
	char dir[256]; /* made for this test, or empty */
	char url[512]; /* without options */
	struct store *store;
	struct arena arena; /* for whatever a test reads */
	struct weft_error err;
	int64_t now_ms; /* every step of a write takes a second */
	struct clock_source clock;
	bool silent_blobs; /* a write does not say which blobs it refers to */
	bool writing; /* a test that failed inside a write leaves this set */
};

/* The store that was asked for on the command line. */
extern const char *conformance_url;

/* Where a new store may be made: a directory, empty if none is needed, and
 * the URL. */
void make_place(char dir[256], char url[512]);
/* The same before there is a test that could fail; false with errno. */
bool try_place(char dir[256], char url[512]);
int remove_place(const char *dir);
/* False for the URL of a store that is gone when it is closed. */
bool is_place(const char *url);
/* Add options to a URL that may have some; they may be NULL. */
void add_options(char *url, size_t size, const char *options);

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* False for a store that is gone when it is closed. */
bool is_persistent(const struct fixture *f);

/* Open the fixture's store once more; `options` as in a URL, or NULL. */
int open_again(struct fixture *f, const char *options, uint32_t flags,
	       struct store **ret);
/* Close the fixture's store and open it with options: a persistent one keeps
 * what it holds, another one is a new one. */
void reopen_with(struct fixture *f, const char *options);
void close_store(struct fixture *f, struct store *s);

/* What `call` returns in a child of fork(), 0 to 127; -1 if it did not come
 * to its end within 20 seconds. */
int call_in_child(int (*call)(void *ctx), void *ctx);

/* ---- writing ---- */

enum step_kind {
	STEP_EVENT,  /* an event with this body */
	STEP_BEGIN,  /* the first event of a session */
	STEP_REFER,  /* OP_BLOB */
	STEP_ADD,    /* OP_ADD */
	STEP_REFUSE, /* the plan fails here */
	STEP_LOOK    /* call back with the view */
};

struct draft;
typedef void look_fn(struct draft *d, struct store_view *v, void *ctx);

struct step {
	enum step_kind kind;
	struct weft_id session;
	struct store_event event; /* type, op, more, at_ms, background, body */
	uint64_t seq;             /* 0: the next */
	struct blob_ref blob;
	struct totals add;
	int code;
	look_fn *look;
	void *ctx;
};

#define STEPS_MAX 64

/* A write being put together. */
struct draft {
	struct fixture *f;
	struct step steps[STEPS_MAX];
	size_t n;
	unsigned planned; /* how often the store has asked for the plan */
};

struct draft *draft_new(struct fixture *f);

/* A new session that begins with what `start` says; its id is made here. */
struct weft_id draft_begin(struct draft *d, const struct session_rec *start);
struct step *draft_event(struct draft *d, const struct weft_id *s,
			 uint32_t type, const char *body_format, ...)
	__attribute__((format(printf, 4, 5)));
struct step *draft_say(struct draft *d, const struct weft_id *s,
		       const char *text);
void draft_name(struct draft *d, const struct weft_id *s, const char *name,
		uint64_t ver, bool gone);
void draft_hide(struct draft *d, const struct weft_id *s, uint64_t target,
		bool hidden);
void draft_refer(struct draft *d, const struct blob_ref *blob);
void draft_add(struct draft *d, const struct weft_id *s, uint64_t tokens);
void draft_refuse(struct draft *d, int code);
void draft_look(struct draft *d, look_fn *look, void *ctx);

/* Write the draft to `s`; the error is in f->err. */
int draft_write_to(struct draft *d, struct store *s);
int draft_write(struct draft *d);
void must_write(struct draft *d);

/* One write of one step each, which must succeed. */
struct weft_id begin(struct fixture *f);
struct weft_id begin_with(struct fixture *f, const struct session_rec *start);
uint64_t say(struct fixture *f, const struct weft_id *s, const char *text);
uint64_t say_op(struct fixture *f, const struct weft_id *s, const char *text,
		const char *op);
void name(struct fixture *f, const struct weft_id *s, const char *name,
	  uint64_t ver);
void hide(struct fixture *f, const struct weft_id *s, uint64_t target,
	  bool hidden);

/* ---- reading ---- */

/* A session without a record has a zero id. */
const struct session_rec *record(struct fixture *f, const struct weft_id *s);
const struct name_rec *find_name(struct fixture *f, const char *name);
struct event_page read_range(struct fixture *f, const struct event_range *r);
struct event_page read_all(struct fixture *f, const struct weft_id *s);
uint64_t head(struct fixture *f, const struct weft_id *s);

/* The numbers of a page: "1 2 3", ranges that are gone as "4-7". */
const char *seqs(struct fixture *f, const struct event_page *page);
/* What a page says: "session one two", messages by their text. */
const char *texts(struct fixture *f, const struct event_page *page);
void expect_texts(struct fixture *f, const struct weft_id *s, const char *said);

/* Everything a store answers with, as text, to compare. */
const char *dump(struct fixture *f, struct store *s);

void assert_ok_(struct fixture *f, int r, const char *file, int line);
#define assert_ok(f, call) assert_ok_((f), (call), __FILE__, __LINE__)

void assert_code_(struct fixture *f, int r, int code, const char *file,
		  int line);
#define assert_code(f, call, code) \
	assert_code_((f), (call), (code), __FILE__, __LINE__)

#define assert_id_equal(a, b) assert_memory_equal((a), (b), 16)
#define assert_str_is(s, text)                                      \
	do {                                                        \
		assert_int_equal((s).len, strlen(text));            \
		assert_memory_equal((s).ptr, (text), strlen(text)); \
	} while (0)

#define STORE_TEST(test) \
	cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

/* A file of tests: its list. */
struct suite {
	const struct CMUnitTest *tests;
	size_t n;
};

extern const struct suite event_suite, write_suite, name_suite, list_suite,
	blob_suite, wait_suite, task_suite, handle_suite, thread_suite,
	public_open_suite, public_append_suite, public_op_suite,
	public_render_suite, public_input_suite, public_limit_suite,
	public_submit_suite, public_load_suite, public_read_suite,
	public_hostile_suite, public_usage_suite, public_route_suite,
	public_fork_suite, public_marker_suite, public_reset_suite,
	public_lease_suite, fence_suite, public_todo_suite, public_memory_suite,
	public_turn_suite, public_promote_suite, public_cleanup_suite,
	public_agents_suite, public_people_suite, public_pains_suite,
	compat_pico_suite, compat_claw_suite, public_blob_suite,
	compat_hygge_session_suite, compat_hygge_total_suite,
	compat_hygge_note_suite, compat_hygge_basic_suite,
	compat_hygge_fork_suite, compat_hygge_rest_suite,
	compat_pico_subturn_suite, compat_pico_turn_suite;
extern const struct suite rewrite_suite, word_suite, public_search_suite,
	public_drop_suite, public_drop_random_suite, drop_race_suite;

#endif
