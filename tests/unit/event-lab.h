/* event-lab.h - events to be sealed and lines to be read. */
#ifndef WEFT_TESTS_EVENT_LAB_H
#define WEFT_TESTS_EVENT_LAB_H

#include "model.h"

#include "base/crc32c.h"
#include "model/event.h"

#define SESSION "01JCQ5Z8G0ABCDEFGHJKMNPQRS"
#define OTHERS  "01JCQ5Z8G0ABCDEFGHJKMNPQRT"
#define BODY    "\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"hi\"}]"

/* An arena and a session for each test. */
struct lab {
	struct arena a;
	struct weft_id session;
	struct weft_error err;
};

static inline int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	arena_init(&lab->a, 0);
	lab->session = test_id(SESSION);
	*state = lab;
	return 0;
}

static inline int tear_down(void **state)
{
	struct lab *lab = *state;

	arena_done(&lab->a);
	test_free(lab);
	return 0;
}

static inline struct store_event simple_event(const struct lab *lab)
{
	return (struct store_event){
		.session = lab->session,
		.seq = 7,
		.ts_ms = TEST_TIME,
		.type = EVENT_MESSAGE,
		.body = STR(BODY),
	};
}

static inline struct weft_str seal(struct lab *lab, struct store_event *e)
{
	assert_int_equal(event_seal(e, &lab->a, &lab->err), WEFT_OK);
	return e->bytes;
}

static inline struct store_event read_line(struct lab *lab,
					   struct weft_str line)
{
	struct store_event e;

	event_read(&lab->session, line, &lab->a, &e);
	return e;
}

static inline struct store_event read_text(struct lab *lab, const char *line)
{
	return read_line(lab, str_of(line));
}

static inline void expect_equal(const struct store_event *a,
				const struct store_event *b)
{
	assert_memory_equal(&a->session, &b->session, sizeof(a->session));
	assert_memory_equal(&a->id, &b->id, sizeof(a->id));
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->ts_ms, b->ts_ms);
	assert_int_equal(a->at_ms, b->at_ms);
	assert_int_equal(a->marker, b->marker);
	assert_int_equal(a->said, b->said);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->more, b->more);
	assert_int_equal(a->background, b->background);
	assert_true(str_eq(a->op, b->op));
	assert_true(str_eq(a->bytes, b->bytes));
	assert_true(str_eq(a->body, b->body));
}

/* Seal the bytes of a line that has everything but its checksum. */
static inline struct weft_str with_crc(struct lab *lab, const char *text)
{
	uint32_t crc = crc32c(0, lab->session.b, 16);

	crc = crc32c(crc, text, strlen(text));
	return arena_printf(&lab->a, "%s,\"crc\":\"%08x\"}", text, crc);
}

#define HEAD                                                       \
	"{\"seq\":7,\"ts\":\"2026-11-15T10:00:00.000Z\",\"type\":" \
	"\"message\",\"id\":\"01JCQ5Z8G0ABCDEFGHJKMNPQRT\",\"w\":0"

#endif
