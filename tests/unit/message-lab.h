/* message-lab.h - messages to be taken or refused. */
#ifndef WEFT_TESTS_MESSAGE_LAB_H
#define WEFT_TESTS_MESSAGE_LAB_H

#include "model.h"

#include "base/arena.h"
#include "model/message.h"

/* Text of a message with one text part. */
#define PARTS "\"parts\":[{\"type\":\"text\",\"text\":\"hi\"}]"
#define USER  "\"role\":\"user\"," PARTS

#define PART(members) "{\"role\":\"user\",\"parts\":[" members "]}"
#define TEXT          "{\"type\":\"text\",\"text\":\"\"}"

struct lab {
	struct arena a;
	struct store_limits limits;
	struct weft_error err;
	struct message m;
};

static inline int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	arena_init(&lab->a, 0);
	lab->limits = default_limits;
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

static inline int check(struct lab *lab, const char *json)
{
	return message_check(str_of(json), &lab->limits, &lab->a, &lab->m,
			     &lab->err);
}

static inline void expect_facts(const struct message_facts *a,
				const struct message_facts *b)
{
	assert_int_equal(a->role, b->role);
	assert_int_equal(a->starts_turn, b->starts_turn);
	assert_int_equal(a->has_usage, b->has_usage);
	assert_memory_equal(&a->usage, &b->usage, sizeof(a->usage));
	assert_true(str_eq(a->text, b->text));
}

/* Take a message, and find the same facts in the body that is stored. */
static inline const struct message *take(struct lab *lab, const char *json)
{
	struct message_facts facts;
	int r = check(lab, json);

	if (r != WEFT_OK)
		print_message("# %s\n# refused: %s\n", json, lab->err.message);
	assert_int_equal(r, WEFT_OK);
	assert_null(memchr(lab->m.body.ptr, '\n', lab->m.body.len));
	assert_int_equal(
		message_facts_read(lab->m.body, &lab->a, &facts, &lab->err),
		WEFT_OK);
	expect_facts(&facts, &lab->m.facts);
	return &lab->m;
}

static inline void refuse(struct lab *lab, const char *json, int code,
			  const char *message)
{
	int r;

	memset(&lab->m, 0x5a, sizeof(lab->m));
	lab->err = (struct weft_error){ .code = 0 };
	r = check(lab, json);
	if (r != code)
		print_message("# %.200s\n# %d: %s\n", json, r,
			      lab->err.message);
	assert_int_equal(r, code);
	assert_int_equal(lab->err.code, code);
	expect_message(&lab->err, message);
	/* Nothing is set on failure. */
	for (size_t i = 0; i < sizeof(lab->m); i++)
		assert_int_equal(((const unsigned char *)&lab->m)[i], 0x5a);
}

struct refused {
	const char *json;
	int code;
	const char *message;
};

static inline void refuse_all(struct lab *lab, const struct refused *v,
			      size_t n)
{
	for (size_t i = 0; i < n; i++)
		refuse(lab, v[i].json, v[i].code, v[i].message);
}

#endif
