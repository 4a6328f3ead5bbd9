/*
 * test-nth-door.c - let the n-th allocation fail, through the door.
 *
 * A story that goes through every part of the session model is told once to
 * count, then again with a failure at another place each time.  A call that
 * fails for want of memory has done nothing: made again it succeeds, and in the
 * end the store is as if nothing had failed.  If only the answer could not be
 * made, it says that it may have been done.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/mem.h"
#include "weft/weft.h"

#define S       "\"session\":\"one\""
#define SAY(of) "{\"role\":\"user\",\"content\":\"" of "\"}"
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
	"\"set_history\"," S ",\"messages\":[" IMAGE "]",
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
	return INT64_C(1794736800000);
}

static int call(struct weft_store *s, const char *rest, char *answer,
		size_t room)
{
	char request[1000];
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

/* Tell it; the n-th allocation fails, 0: none.  How many there were. */
static uint64_t tell(int64_t n, char *end, size_t room, bool *ret_sure)
{
	struct weft_open_options o;
	struct weft_store *s;
	uint64_t before, all;
	char report[1000];

	weft_open_options_init(&o, sizeof(o));
	o.now_ms = now;
	assert_int_equal(weft_open("memory:?blob_bytes=16", &o, &s, NULL),
			 WEFT_OK);
	*ret_sure = true;
	before = mem_allocations();
	mem_fault(n - 1, 1);
	for (size_t i = 0; i < ARRAY_LEN(story); i++) {
		int r = call(s, story[i], NULL, 0);

		if (r == WEFT_NO_MEMORY)
			r = call(s, story[i], NULL, 0);
		assert_true(r == WEFT_OK || r == WEFT_UNKNOWN);
		*ret_sure &= r == WEFT_OK;
	}
	all = mem_allocations() - before;
	mem_fault(-1, 0);
	assert_int_equal(call(s, "\"verify\"", report, sizeof(report)),
			 WEFT_OK);
	assert_non_null(strstr(report, "\"ok\":true"));
	assert_non_null(strstr(report, "\"changed\":0"));
	/* Ids are made anew each time; how many of what there are is not. */
	(void)snprintf(end, room, "%s", strstr(report, "\"sessions\""));
	assert_int_equal(call(s, "\"reindex\"", report, sizeof(report)),
			 WEFT_OK);
	assert_non_null(strstr(report, "\"changed\":0"));
	assert_int_equal(weft_close(s, NULL), WEFT_OK);
	return all;
}

static void a_call_that_lacks_memory_has_done_nothing(void **state)
{
	const char *preload = getenv("LD_PRELOAD");
	/* All of them, but under Valgrind, which takes its time. */
	uint64_t most = preload && strstr(preload, "vgpreload") ? 50 : 2000;
	char end[1000], again[1000];
	bool sure;
	uint64_t all = tell(0, end, sizeof(end), &sure), compared = 0;
	uint64_t step = all / most + 1;

	(void)state;
	assert_true(all > 500);
	for (uint64_t n = 1; n <= all; n += step) {
		(void)tell((int64_t)n, again, sizeof(again), &sure);
		if (!sure)
			continue;
		assert_string_equal(again, end);
		compared++;
	}
	assert_true(compared * step * 2 > all);
	print_message("# every %llu. of %llu allocations\n",
		      (unsigned long long)step, (unsigned long long)all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_lacks_memory_has_done_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
