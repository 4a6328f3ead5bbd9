/*
 * nth_door.c - let the n-th allocation fail, through the door.
 *
 * A story that goes through every part of the session model is told once to
 * count, then again with a failure at another place each time: of our own
 * allocations, yyjson's among them, and in sqlite: of SQLite's.  A call that
 * fails for want of memory has done nothing, also in the eyes of somebody who
 * opens the file after a crash: made again it succeeds, and in the end the
 * store is as if nothing had failed.  If only the answer could not be made, it
 * says that it may have been done.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "crash/lab.h"
#include "crash/sqlmem.h"
#include "weft/weft.h"

#define S       "\"session\":\"one\""
#define SAY(of) "{\"role\":\"user\",\"content\":\"" of "\"}"
#define FEW     SAY("a") "," SAY("b") "," SAY("c") "," SAY("d") "," SAY("e")
#define MANY    FEW "," FEW "," FEW "," FEW "," FEW "," FEW
#define IMAGE                                                                  \
	"{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"look at " \
	"this long text\"},{\"type\":\"image\",\"image_mime_type\":\"i/p\","   \
	"\"image_base64\":\"iVBORw0K\"}]}"

static const char *const story[] = {
	"\"new\",\"key\":\"one\",\"aliases\":[\"uno\"],\"project_dir\":\"/p\"",
	"\"append\"," S ",\"op\":\"o1\",\"message\":" SAY("hello"),
	"\"append\"," S ",\"messages\":[" IMAGE "," SAY("b") "]",
	"\"append\"," S ",\"op\":\"o1\",\"message\":" SAY("hello"),
	"\"lease\"," S ",\"how\":\"acquire\",\"owner\":\"me\"",
	"\"lease\"," S ",\"how\":\"renew\",\"owner\":\"me\"",
	"\"lease\"," S ",\"how\":\"takeover\",\"owner\":\"you\"",
	"\"lease\"," S ",\"how\":\"release\",\"owner\":\"you\"",
	"\"fork\"," S ",\"slug\":\"fork\",\"op\":\"o2\"",
	"\"append\",\"session\":\"fork\",\"message\":" IMAGE,
	"\"fork\",\"session\":\"fork\",\"at\":3,\"slug\":\"deep\"",
	"\"compact\"," S ",\"keep\":1,\"summary\":\"what was\"",
	"\"truncate\",\"session\":\"fork\",\"keep\":1",
	/* More than there is room for without asking for more. */
	"\"set_history\"," S ",\"messages\":[" IMAGE "," MANY "]",
	"\"undo\"," S,
	"\"redo\"," S,
	"\"markers\"," S,
	"\"clear\",\"session\":\"deep\"",
	"\"todos_set\"," S
	",\"todos\":[{\"content\":\"a\",\"status\":\"pending\"}]",
	"\"todos\"," S,
	"\"memory_add\",\"scope\":\"session\"," S ",\"content\":\"a memory\"",
	"\"memory_add\",\"scope\":\"project\"," S ",\"content\":\"another\"",
	"\"memory_add\",\"scope\":\"global\",\"content\":\"a third\"",
	"\"memories\",\"scope\":\"session\"," S,
	"\"usage_add\"," S ",\"usage\":{\"input_tokens\":3}",
	"\"redact\"," S ",\"messages\":[3]",
	"\"history\"," S,
	"\"history\",\"session\":\"fork\",\"view\":\"full\"",
	"\"history\"," S ",\"format\":\"anthropic\"",
	"\"history\"," S ",\"format\":\"openai\"",
	"\"history\"," S ",\"format\":\"responses\"",
	"\"events\"," S,
	"\"tree\"," S,
	"\"erase\",\"session\":\"one\",\"messages\":[5]",
	"\"list\"",
	"\"collect\"",
	"\"reindex\"",
	"\"delete\",\"session\":\"deep\"",
	"\"show\"," S,
};

static int64_t now(void *ctx)
{
	(void)ctx;
	return TEST_BEGIN_MS;
}

static int call(struct weft_store *s, const char *rest, char *answer,
		size_t room)
{
	char request[2000];
	struct weft_answer *a = NULL;
	struct weft_error err = { 0 };
	int r;

	(void)snprintf(request, sizeof(request), "{\"method\":%s}", rest);
	r = weft_call(s, request, strlen(request), &a, &err);
	if (r == WEFT_OK && answer)
		(void)snprintf(answer, room, "%s", weft_answer_text(a, NULL));
	if (r != WEFT_OK && r != WEFT_NO_MEMORY && r != WEFT_UNKNOWN)
		print_error("%s: %s\n", request, err.message);
	weft_answer_free(a);
	return r;
}

/* ---- what fails ---- */

enum source { OURS, SQLITE };

static void start_failing(enum source source, uint64_t n)
{
	sqlmem_fail_at(n);
	(void)sqlmem_count(source == SQLITE);
	if (source == OURS)
		mem_fault((int64_t)n - 1, 1);
}

static void stop_failing(void)
{
	(void)sqlmem_count(false);
	mem_fault(-1, 0);
}

/* ---- what is left ---- */

static int64_t count_events(const char *path)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t n = -1;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, "SELECT count(*) FROM events", -1, &stmt,
			       NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(db);
	return n;
}

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	char bytes[8192];
	size_t n;

	assert_non_null(out);
	while (in && (n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		assert_int_equal(fwrite(bytes, 1, n, out), n);
	if (in)
		(void)fclose(in);
	assert_int_equal(fclose(out), 0);
}

/* Who finds the files as they are, after a crash, has no more than others. */
static void nothing_comes_back(const char *dir)
{
	bool on = sqlmem_count(false);
	char file[300], log[300], copy[300], copied_log[300];

	(void)snprintf(file, sizeof(file), "%s/store", dir);
	(void)snprintf(log, sizeof(log), "%s/store-wal", dir);
	(void)snprintf(copy, sizeof(copy), "%s/copy", dir);
	(void)snprintf(copied_log, sizeof(copied_log), "%s/copy-wal", dir);
	copy_file(file, copy);
	copy_file(log, copied_log);
	assert_int_equal(count_events(copy), count_events(file));
	(void)remove(copy);
	(void)remove(copied_log);
	(void)sqlmem_count(on);
}

/* ---- the story ---- */

struct telling {
	char dir[256], url[512];
	struct weft_store *store;
	uint64_t seen;      /* allocations */
	bool sure;          /* no answer was lost */
	const char *failed; /* the call that lacked memory */
	char end[1000];     /* how much of what there is */
};

static void open_it(struct telling *t)
{
	struct weft_open_options o;
	char url[600];
	int r;

	weft_open_options_init(&o, sizeof(o));
	o.now_ms = now;
	(void)snprintf(url, sizeof(url), "%s", t->url);
	add_options(url, sizeof(url), "blob_bytes=16");
	r = weft_open(url, &o, &t->store, NULL);
	if (r == WEFT_NO_MEMORY)
		r = weft_open(url, &o, &t->store, NULL);
	assert_int_equal(r, WEFT_OK);
}

static void tell_all(struct telling *t)
{
	bool is_file = strncmp(t->url, "sqlite:", 7) == 0;

	open_it(t);
	for (size_t i = 0; i < ARRAY_LEN(story); i++) {
		int r = call(t->store, story[i], NULL, 0);

		if (r == WEFT_NO_MEMORY && is_file)
			nothing_comes_back(t->dir);
		if (r == WEFT_NO_MEMORY) {
			t->failed = story[i];
			r = call(t->store, story[i], NULL, 0);
		}
		assert_true(r == WEFT_OK || r == WEFT_UNKNOWN);
		t->sure &= r == WEFT_OK;
	}
}

/* Tell it; the n-th allocation fails, 0: none. */
static void tell(struct telling *t, enum source source, uint64_t n)
{
	uint64_t before = mem_allocations();
	char report[1000];

	*t = (struct telling){ .sure = true };
	make_place(t->dir, t->url);
	start_failing(source, n);
	tell_all(t);
	t->seen = source == SQLITE ? sqlmem_seen() : mem_allocations() - before;
	stop_failing();
	assert_int_equal(call(t->store, "\"verify\"", report, sizeof(report)),
			 WEFT_OK);
	assert_non_null(strstr(report, "\"ok\":true"));
	assert_non_null(strstr(report, "\"changed\":0"));
	/* Ids are made anew each time; how many of what there are is not. */
	(void)snprintf(t->end, sizeof(t->end), "%s",
		       strstr(report, "\"sessions\""));
	assert_int_equal(call(t->store, "\"reindex\"", report, sizeof(report)),
			 WEFT_OK);
	assert_non_null(strstr(report, "\"changed\":0"));
	assert_int_equal(weft_close(t->store, NULL), WEFT_OK);
	assert_int_equal(remove_place(t->dir), 0);
}

/* How often it is told: always, but where telling takes its time. */
static uint64_t how_often(void)
{
	const char *preload = getenv("LD_PRELOAD");

	if (preload && strstr(preload, "vgpreload"))
		return 50;
	if (strncmp(conformance_url, "memory:", 7) == 0)
		return 2000;
	return strncmp(conformance_url, "sqlite:", 7) == 0 ? rounds(60) :
							     rounds(8);
}

static void fail_everywhere(enum source source)
{
	struct telling plainly, t;
	uint64_t step, compared = 0;

	tell(&plainly, source, 0);
	assert_true(plainly.seen > 500);
	step = plainly.seen / how_often() + 1;
	for (uint64_t n = 1; n <= plainly.seen; n += step) {
		tell(&t, source, n);
		if (!t.sure)
			continue;
		if (strcmp(t.end, plainly.end) != 0)
			print_error("allocation %llu, in %s\n",
				    (unsigned long long)n,
				    t.failed ? t.failed : "opening");
		assert_string_equal(t.end, plainly.end);
		compared++;
	}
	assert_true(compared * step * 2 > plainly.seen);
	print_message("# every %llu. of %llu allocations\n",
		      (unsigned long long)step,
		      (unsigned long long)plainly.seen);
}

static void a_call_that_lacks_memory_has_done_nothing(void **state)
{
	(void)state;
	fail_everywhere(OURS);
}

static void a_call_for_which_sqlite_lacks_memory_has_done_nothing(void **state)
{
	(void)state;
	if (strncmp(conformance_url, "sqlite:", 7) == 0)
		fail_everywhere(SQLITE);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_lacks_memory_has_done_nothing),
		cmocka_unit_test(
			a_call_for_which_sqlite_lacks_memory_has_done_nothing),
	};

	if (argc > 1)
		conformance_url = argv[1];
	/* Where nothing has to be waited for, if there is such a place. */
	if (strcmp(conformance_url, "sqlite:") == 0 &&
	    access("/dev/shm", W_OK) == 0)
		conformance_url = "sqlite:/dev/shm";
	return cmocka_run_group_tests(tests, sqlmem_install, NULL);
}
