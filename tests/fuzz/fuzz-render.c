/*
 * What is rendered can be sent, whatever the log holds.  Input that begins
 * with a digit are choices for a log made of bad pieces; any other is a log,
 * one body a line.
 */
#include "fuzz.h"

#include <assert.h>
#include <stdio.h>

#include "render/hostile.h"

static void check(const struct hostile_log *log, struct arena *a)
{
	struct weft_str out = { NULL, 0 };
	char why[300];
	const char *wrong = hostile_check(log, a, why, &out);

	if (wrong)
		fprintf(stderr, "%s\n%.*s\n", wrong, (int)out.len, out.ptr);
	assert(!wrong);
}

static void read_lines(struct hostile_log *log, struct weft_str text)
{
	while (text.len && log->n < HOSTILE_MESSAGES) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t n = end ? (size_t)(end - text.ptr) : text.len;

		log->bodies[log->n++] = (struct weft_str){ text.ptr, n };
		text = str_skip(text, end ? n + 1 : n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hostile_log log = { .damaged = true };
	struct dice d = { .data = data, .len = size };
	struct arena a;

	arena_init(&a, 0);
	if (size && data[0] >= '0' && data[0] <= '9') {
		hostile_make(&log, &d, &a);
		check(&log, &a);
	} else {
		read_lines(&log, (struct weft_str){ (const char *)data, size });
		for (uint32_t f = RENDER_ANTHROPIC; f <= RENDER_RESPONSES;
		     f++) {
			log.options.format = f;
			log.options.tokens = size % 3 ? 0 : size % 200;
			log.options.newest_first = size % 2;
			check(&log, &a);
		}
	}
	arena_done(&a);
	return 0;
}
