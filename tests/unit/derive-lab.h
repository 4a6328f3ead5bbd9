/* derive-lab.h - a session that gets one event after the other. */
#ifndef WEFT_TESTS_DERIVE_LAB_H
#define WEFT_TESTS_DERIVE_LAB_H

#include "model.h"

#include "base/buf.h"
#include "model/body.h"
#include "model/derive.h"

#define SESSION "01JCQ5Z8G0ABCDEFGHJKMNPQRA"
#define PARENT  "01JCQ5Z8G0ABCDEFGHJKMNPQRB"

/* A session, one event after the other. */
struct lab {
	struct arena a;
	struct buf b;
	struct session_rec rec;
	struct op_list ops; /* of the last event */
	struct weft_error err;
	struct weft_id session;
	uint64_t seq;
	int64_t now;
	bool background;
	uint32_t state;
};

static inline int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	arena_init(&lab->a, 0);
	buf_init(&lab->b, MIB(1));
	lab->session = test_id(SESSION);
	lab->now = TEST_TIME;
	*state = lab;
	return 0;
}

static inline int tear_down(void **state)
{
	struct lab *lab = *state;

	arena_done(&lab->a);
	buf_done(&lab->b);
	test_free(lab);
	return 0;
}

static inline int try_event(struct lab *lab, uint32_t type,
			    struct weft_str body)
{
	struct store_event e = {
		.session = lab->session,
		.seq = ++lab->seq,
		.last = lab->seq,
		.ts_ms = ++lab->now,
		.type = type,
		.state = lab->state,
		.background = lab->background,
		.body = arena_str(&lab->a, body),
	};

	lab->ops = (struct op_list){ .arena = &lab->a };
	lab->err.code = 77;
	return derive_event(&lab->rec, &e, NULL, &lab->ops, &lab->err);
}

static inline void event(struct lab *lab, uint32_t type, const char *body)
{
	assert_int_equal(try_event(lab, type, str_of(body)), WEFT_OK);
	assert_int_equal(lab->err.code, 77); /* untouched on success */
	assert_int_equal(lab->rec.head_seq, lab->seq);
}

static inline void event_of_buf(struct lab *lab, uint32_t type)
{
	buf_add_c(&lab->b, '\0');
	event(lab, type, lab->b.ptr);
	buf_reset(&lab->b);
}

static inline void say(struct lab *lab, const char *role, const char *text)
{
	event(lab, EVENT_MESSAGE,
	      arena_printf(&lab->a,
			   "\"role\":\"%s\",\"parts\":[{\"type\":\"text\","
			   "\"text\":\"%s\"}]",
			   role, text)
		      .ptr);
}

static inline void spend(struct lab *lab, const char *usage)
{
	event(lab, EVENT_MESSAGE,
	      arena_printf(&lab->a,
			   "\"role\":\"assistant\",\"parts\":[],\"usage\":%s",
			   usage)
		      .ptr);
}

static inline const struct name_rec *named(const struct lab *lab, size_t i)
{
	assert_true(i < lab->ops.n);
	assert_int_equal(lab->ops.v[i].kind, OP_NAME);
	return lab->ops.v[i].u.name;
}

#endif
