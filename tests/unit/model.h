/* model.h - what the tests of the model share. */
#ifndef WEFT_TESTS_MODEL_H
#define WEFT_TESTS_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/id.h"
#include "weft/store.h"

/* The limits of a store that says nothing else. */
static const struct store_limits default_limits = {
	.message_bytes = MIB(16),
	.batch_messages = 1024,
	.parts = 1024,
	.json_depth = 128,
	.name_bytes = 512,
	.slug_bytes = 256,
	.names = 64,
	.metadata_bytes = KIB(64),
	.op_bytes = 128,
};

/* 2026-11-15T10:00:00.000Z */
#define TEST_TIME INT64_C(1794736800000)

static inline struct weft_id test_id(const char *text)
{
	struct weft_id id;

	assert_true(id_parse(str_of(text), &id));
	return id;
}

static inline void expect_str(struct weft_str found, const char *expected)
{
	if (!str_eq(found, str_of(expected))) {
		print_message("# found    %.*s\n# expected %s\n",
			      STR_ARG(found), expected);
		fail();
	}
}

static inline void expect_in(struct weft_str found, const char *part)
{
	if (!memmem(found.ptr, found.len, part, strlen(part))) {
		print_message("# found    %.*s\n# expected %s\n",
			      STR_ARG(found), part);
		fail();
	}
}

static inline void expect_message(const struct weft_error *err,
				  const char *part)
{
	if (!strstr(err->message, part)) {
		print_message("# message  %s\n# expected %s\n", err->message,
			      part);
		fail();
	}
}

#endif
