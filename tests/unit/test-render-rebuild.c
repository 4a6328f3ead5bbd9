/*
 * test-render-rebuild.c - of a transcript that nothing happened to, rendering
 * makes what its writer would rebuild, with neighbours joined.
 *
 * The rebuilding here is the simple one, line by line: text and results are
 * messages as they come, calls are gathered until something else comes.
 */
#include "render/lab.h"

#define LINES_MAX   60
#define TRANSCRIPTS 2000

enum line_type { LINE_USER, LINE_ASSISTANT, LINE_CALL, LINE_RESULT };

struct line {
	enum line_type type;
	unsigned n; /* its text, or its id */
};

static unsigned pick(uint64_t *state, unsigned n)
{
	*state = *state * UINT64_C(6364136223846793005) +
		 UINT64_C(1442695040888963407);
	return (unsigned)(*state >> 40) % n;
}

/* Turns of a question, steps with tools, and an answer. */
static size_t make_transcript(uint64_t *state, struct line v[LINES_MAX])
{
	unsigned turns = 1 + pick(state, 5), id = 0, text = 0;
	size_t n = 0;

	for (unsigned t = 0; t < turns && n + 24 < LINES_MAX; t++) {
		unsigned steps = pick(state, 3);

		v[n++] = (struct line){ LINE_USER, text++ };
		for (unsigned s = 0; s < steps; s++) {
			unsigned calls = 1 + pick(state, 3);

			if (pick(state, 2))
				v[n++] =
					(struct line){ LINE_ASSISTANT, text++ };
			for (unsigned i = 0; i < calls; i++)
				v[n++] = (struct line){ LINE_CALL, id + i };
			for (unsigned i = 0; i < calls; i++)
				v[n++] = (struct line){ LINE_RESULT, id + i };
			id += calls;
		}
		v[n++] = (struct line){ LINE_ASSISTANT, text++ };
	}
	return n;
}

/* ---- the simple way ---- */

static void write_block(struct buf *b, const struct line *line)
{
	switch (line->type) {
	case LINE_CALL:
		buf_printf(b,
			   "{\"type\":\"tool_use\",\"id\":\"t%u\",\"name\":"
			   "\"f\",\"input\":{\"n\":%u}}",
			   line->n, line->n);
		break;
	case LINE_RESULT:
		buf_printf(b,
			   "{\"type\":\"tool_result\",\"tool_use_id\":\"t%u\","
			   "\"content\":\"r%u\"}",
			   line->n, line->n);
		break;
	default:
		buf_printf(b, "{\"type\":\"text\",\"text\":\"x%u\"}", line->n);
		break;
	}
}

static bool by_user(const struct line *line)
{
	return line->type == LINE_USER || line->type == LINE_RESULT;
}

/* Neighbours of one side joined; one text alone is a string. */
static void rebuild(struct buf *b, const struct line *v, size_t n)
{
	size_t from = 0;

	buf_add_lit(b, "{\"system\":null,\"messages\":[");
	while (from < n) {
		size_t to = from;

		while (to < n && by_user(&v[to]) == by_user(&v[from]))
			to++;
		buf_printf(b,
			   "%s{\"role\":\"%s\",\"content\":", from ? "," : "",
			   by_user(&v[from]) ? "user" : "assistant");
		if (to - from == 1 && v[from].type <= LINE_ASSISTANT) {
			buf_printf(b, "\"x%u\"}", v[from].n);
			from = to;
			continue;
		}
		for (size_t i = from; i < to; i++) {
			buf_add_c(b, i == from ? '[' : ',');
			write_block(b, &v[i]);
		}
		buf_add_lit(b, "]}");
		from = to;
	}
	buf_add_lit(b, "]}");
}

/* ---- ours ---- */

static void add_line(struct lab *lab, const struct line *line)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_init(&b, 0);
	buf_printf(&b, "\"role\":\"%s\",\"parts\":[",
		   line->type == LINE_USER   ? "user" :
		   line->type == LINE_RESULT ? "tool" :
					       "assistant");
	write_block(&b, line);
	buf_add_c(&b, ']');
	add_body(lab, buf_str(&b));
}

static void is_what_the_writer_would_rebuild(void **state)
{
	struct lab *lab = *state;
	CLEANUP(buf_done) struct buf expected = { 0 };

	buf_init(&expected, 0);
	for (uint64_t seed = 0; seed < TRANSCRIPTS; seed++) {
		struct line v[LINES_MAX];
		uint64_t dice = seed;
		size_t n = make_transcript(&dice, v);

		lab->n = 0;
		for (size_t i = 0; i < n; i++)
			add_line(lab, &v[i]);
		buf_reset(&expected);
		rebuild(&expected, v, n);
		(void)render(lab, RENDER_ANTHROPIC);
		if (!str_eq(buf_str(&lab->out), buf_str(&expected)))
			print_message("# seed %llu\n# found    %s\n"
				      "# expected %s\n",
				      (unsigned long long)seed,
				      buf_cstr(&lab->out), buf_cstr(&expected));
		assert_true(str_eq(buf_str(&lab->out), buf_str(&expected)));
		(void)render(lab, RENDER_OPENAI);
		(void)render(lab, RENDER_RESPONSES);
		arena_reset(&lab->a);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			is_what_the_writer_would_rebuild, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
