/* config-help.h - read a configuration, for its tests. */
#ifndef TEST_CONFIG_HELP_H
#define TEST_CONFIG_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "route/config.h"

static struct arena arena;

static inline int begin(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static inline int read_text(const char *text, const char *(*env)(const char *),
			    struct config *c, struct weft_error *err)
{
	struct config_input in = {
		.file = "file",
		.text = str_of(text),
		.env = env,
	};

	return config_read(c, &in, &arena, err);
}

static inline void read_ok(const char *text, struct config *c)
{
	struct weft_error err = { 0 };

	if (read_text(text, NULL, c, &err) != WEFT_OK)
		fail_msg("%s", err.message);
}

static inline void expect_str(const char *expected, struct weft_str found)
{
	if (!str_eq(str_of(expected), found))
		fail_msg("expected '%s', found '%.*s'", expected,
			 STR_ARG(found));
}

#endif
