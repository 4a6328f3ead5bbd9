/*
 * test-render-store.c - sessions in a store, rendered through the door: what
 * was appended, redacted and cut is always valid.
 */
#include "api-help.h"

#include <string.h>

#include "render/hostile.h"
#include "render/validity.h"

#define SESSIONS 150

static const char *const formats[] = { "anthropic", "openai", "responses" };

static size_t pick(struct dice *d, size_t n)
{
	d->state = d->state * UINT64_C(6364136223846793005) +
		   UINT64_C(1442695040888963407);
	return (size_t)(d->state >> 40) % n;
}

/* Append what the store takes of a bad log; how many messages that was. */
static size_t append_log(struct lab *lab, const char *key,
			 const struct hostile_log *log)
{
	char message[8192];
	size_t taken = 0;

	for (size_t i = 0; i < log->n; i++) {
		int n = snprintf(message, sizeof(message), "{%.*s}",
				 STR_ARG(log->bodies[i]));

		assert_true(n > 0 && (size_t)n < sizeof(message));
		taken += weft_append(lab->store, key, strlen(key), message,
				     (size_t)n, NULL, NULL,
				     &lab->err) == WEFT_OK;
	}
	return taken;
}

static void expect_valid(struct lab *lab, const char *key, struct dice *d)
{
	size_t f = pick(d, ARRAY_LEN(formats));
	char cut[64] = "";
	struct verdict v;
	yyjson_val *root;
	bool valid;

	if (pick(d, 2))
		(void)snprintf(cut, sizeof(cut), ",'last':%zu", pick(d, 8));
	else if (pick(d, 2))
		(void)snprintf(cut, sizeof(cut), ",'tokens':%zu",
			       1 + pick(d, 90));
	root = call(lab,
		    "{'method':'history','session':'%s','format':'%s'%s%s}",
		    key, formats[f], cut, pick(d, 3) ? "" : ",'redacted':true");
	valid = f == 0 ? valid_anthropic(root, &v) :
		f == 1 ? valid_openai(root, &v) :
			 valid_responses(root, &v);
	if (!valid)
		print_message("# %s%s: %s\n# %s\n", formats[f], cut, v.why,
			      lab->text);
	assert_true(valid);
}

static void whatever_is_stored_can_be_sent(void **state)
{
	struct lab *lab = *state;
	static struct hostile_log log;
	size_t taken = 0;

	for (uint64_t i = 0; i < SESSIONS; i++) {
		struct dice d = { .state = i };
		struct arena a;
		char key[32];
		size_t n;

		arena_init(&a, 0);
		hostile_make(&log, &d, &a);
		(void)snprintf(key, sizeof(key), "k%llu",
			       (unsigned long long)i);
		begin(lab, key);
		n = append_log(lab, key, &log);
		for (size_t k = 0; n && k < 3; k++) {
			expect_valid(lab, key, &d);
			(void)call(lab,
				   "{'method':'redact','session':'%s',"
				   "'messages':[%zu]}",
				   key, 2 + pick(&d, n));
		}
		expect_valid(lab, key, &d);
		taken += n;
		arena_done(&a);
	}
	/* Enough of it was taken to say something. */
	assert_true(taken > SESSIONS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whatever_is_stored_can_be_sent,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
