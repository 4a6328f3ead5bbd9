/* hostile.c - logs that nobody should have written. */
#include "render/hostile.h"

#include <stdio.h>

#include "base/json.h"
#include "render/validity.h"

/* ---- choices ---- */

static uint64_t next_random(struct dice *d)
{
	uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* 0 to n - 1; n is at most 256. */
static size_t roll(struct dice *d, size_t n)
{
	if (d->len) {
		d->len--;
		return *d->data++ % n;
	}
	return (size_t)(next_random(d) >> 32) % n;
}

static bool one_in(struct dice *d, size_t n)
{
	return roll(d, n) == 0;
}

static const char *pick_of(struct dice *d, const char *const *v, size_t n)
{
	return v[roll(d, n)];
}
#define PICK(d, v) pick_of((d), (v), ARRAY_LEN(v))

/* ---- pieces ---- */

/* Few, so that they meet; some are the same, escaped in another way. */
static const char *const ids[] = {
	"\"1\"",
	"\"1\"",
	"\"2\"",
	"\"2\"",
	"\"3\"",
	"\"\\u0031\"",
	"\"a.b\"",
	"\"a b\"",
	"\"a_b\"",
	"\"\xc3\xa9\"",
	"\"\\\"\\\\\\n\"",
	"\"\\u0000\"",
	"\"0123456789012345678901234567890123456789012345678901234567890123\"",
	"\"01234567890123456789012345678901234567890123456789012345678901234\"",
	"\"\"",
	"7",
	"null",
};

static const char *const names[] = {
	"\"f\"",
	"\"f\"",
	"\"mcp.server/tool\"",
	"\"\xe2\x98\x83\"",
	"\"a-tool-with-a-name-that-is-longer-than-what-any-provider-takes-01\"",
	"\"\"",
	"[]",
};

static const char *const inputs[] = {
	"{}",
	"{}",
	"{ \"a\" : 1 }",
	"{\"a\":{\"a\":[{\"a\":[[[\"\\ud83d\\ude00\"]]]}]}}",
	"[1,2]",
	"\"text\"",
	"null",
	"true",
	"1e999",
	"123456789012345678901234567890",
	"-0.0",
	"{\"tool_use_id\":\"1\",\"type\":\"tool_result\"}",
};

static const char *const blanks[] = {
	"\"\"",
	"\" \"",
	"\"\\n\\t\\r\\f\\u000b\"",
	"\"\\u00a0\\u2000\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff\"",
	"\"\xc2\x85\xe1\x9a\x80\xe2\x80\x83\"",
	"\"\\u001c\\u0020\"",
	"7",
	"null",
};

static const char *const tails[] = {
	"",
	"",
	"\\n",
	"\\u0000",
	"\\ud83d\\ude00",
	"\\\"}]}\\\\",
	"\xf0\x9f\x98\x80",
	" \xe2\x80\xa8 ",
	"\\u007f\\u001b[0m",
};

static const char *const images[] = {
	"\"image_mime_type\":\"image/png\",\"image_base64\":\"AAAA\"",
	"\"image_mime_type\":\"image\\/jpeg\",\"image_base64\":\"AA==\"",
	"\"image_mime_type\":\"image/tiff\",\"image_base64\":\"AAAA\"",
	"\"image_mime_type\":\"image/png\",\"image_base64\":\"\"",
	"\"image_mime_type\":7,\"image_base64\":\"AAAA\"",
	"\"image_mime_type\":\"image/png\"",
	"\"blob\":\"00\"",
};

static const char *const opaques[] = {
	"\"format\":\"anthropic\",\"data\":{\"type\":\"redacted_thinking\","
	"\"data\":\"x\"}",
	"\"format\":\"anthropic\",\"data\":{\"type\":\"document\"}",
	"\"format\":\"anthropic\",\"data\":{\"type\":\"tool_use\",\"id\":"
	"\"1\",\"name\":\"f\",\"input\":{}}",
	"\"format\":\"anthropic\",\"data\":{\"type\":\"tool_result\","
	"\"tool_use_id\":\"1\"}",
	"\"format\":\"openai\",\"data\":{\"type\":\"file\"}",
	"\"format\":\"openai\",\"data\":{\"type\":\"text\",\"text\":\"\"}",
	"\"format\":\"responses\",\"data\":{\"type\":\"reasoning\"}",
	"\"format\":\"responses\",\"data\":{\"type\":\"function_call\","
	"\"call_id\":\"1\"}",
	"\"format\":\"responses\",\"data\":[]",
	"\"format\":7",
	"\"data\":{}",
};

static const char *const bounds[] = {
	",\"bound\":{\"provider\":\"anthropic\",\"data\":[{\"type\":"
	"\"redacted_thinking\"},7,{\"type\":\"tool_use\"}]}",
	",\"bound\":{\"provider\":\"openai\",\"data\":{\"type\":"
	"\"reasoning\"}}",
	",\"bound\":{\"provider\":\"openai\",\"data\":{\"type\":\"message\"}}",
	",\"bound\":{\"provider\":\"anthropic\",\"data\":{\"type\":"
	"\"document\"}}",
	",\"bound\":{\"provider\":7}",
	",\"bound\":{\"provider\":[1,2,3,4,5,6],\"data\":{}}",
	",\"bound\":[]",
};

static const char *const froms[] = {
	",\"from\":{\"id\":\"1\",\"name\":\"Ann\"}",
	",\"from\":{\"id\":\"2\",\"name\":\"B\\u00f6 \\\"b\\\"\"}",
	",\"from\":{\"id\":\"3\"}",
	",\"from\":{\"name\":\" \",\"id\":\"\"}",
	",\"from\":{\"name\":7}",
	",\"from\":\"x\"",
};

static const char *const models[] = {
	",\"model\":{\"provider\":\"anthropic\",\"name\":\"m\"}",
	",\"model\":{\"provider\":\"openai\"}",
	",\"model\":{\"provider\":\"\"}",
	",\"model\":{\"provider\":[1,2,3,4,5,6,7,8,9]}",
	",\"model\":7",
};

static const char *const others[] = {
	"7",
	"null",
	"[]",
	"{}",
	"\"text\"",
	"{\"type\":7}",
	"{\"type\":\"smell\",\"text\":\"x\"}",
	"{\"text\":\"x\"}",
	"{\"type\":\"text\"}",
	"{\"type\":\"tool_use\"}",
	"{\"type\":\"tool_result\"}",
	"{\"type\":\"text\",\"text\":[\"x\"]}",
};

/* ---- messages ---- */

struct maker {
	struct hostile_log *log;
	struct dice *dice;
	struct buf *b;
	const char *role;
	bool silent; /* there may be a turn that begins without text */
};

static bool is_role(const struct maker *m, const char *role)
{
	return strcmp(m->role, role) == 0;
}

static void add_text(struct maker *m)
{
	struct hostile_log *log = m->log;
	size_t i = log->n_texts;

	if (i == HOSTILE_TEXTS || one_in(m->dice, 6)) {
		buf_printf(m->b, "{\"type\":\"text\",\"text\":%s}",
			   PICK(m->dice, blanks));
		return;
	}
	log->n_texts++;
	log->in_system[i] = is_role(m, "system");
	log->in_messages[i] = !log->in_system[i] && m->role[0] != '?';
	if (is_role(m, "user"))
		log->last_user = i;
	buf_printf(m->b, "{\"type\":\"text\",\"text\":\"t%zu.%s\"}", i,
		   PICK(m->dice, tails));
}

static void add_call(struct maker *m)
{
	buf_printf(m->b, "{\"type\":\"tool_use\",\"id\":%s,\"name\":%s",
		   PICK(m->dice, ids), PICK(m->dice, names));
	if (one_in(m->dice, 6))
		buf_printf(m->b, ",\"input_text\":\"{%s\"",
			   PICK(m->dice, tails));
	else if (!one_in(m->dice, 8))
		buf_printf(m->b, ",\"input\":%s", PICK(m->dice, inputs));
	if (one_in(m->dice, 8))
		buf_printf(m->b, ",\"id\":%s", PICK(m->dice, ids));
	buf_add_c(m->b, '}');
}

static void add_result(struct maker *m)
{
	size_t n = roll(m->dice, 4);

	buf_printf(m->b, "{\"type\":\"tool_result\",\"tool_use_id\":%s",
		   PICK(m->dice, ids));
	if (one_in(m->dice, 3))
		buf_add_lit(m->b, ",\"is_error\":true");
	switch (roll(m->dice, 4)) {
	case 0:
		buf_printf(m->b, ",\"content\":%s", PICK(m->dice, blanks));
		break;
	case 1:
		buf_add_lit(m->b, ",\"content\":[");
		for (size_t i = 0; i < n; i++) {
			buf_add_str(m->b, i ? STR(",") : STR(""));
			if (one_in(m->dice, 3))
				buf_add_str(m->b,
					    str_of(PICK(m->dice, others)));
			else if (one_in(m->dice, 2))
				buf_printf(m->b, "{\"type\":\"image\",%s}",
					   PICK(m->dice, images));
			else
				buf_printf(m->b,
					   "{\"type\":\"text\",\"text\":%s}",
					   PICK(m->dice, inputs));
		}
		buf_add_c(m->b, ']');
		break;
	default:
		buf_printf(m->b, ",\"content\":\"r%s\"", PICK(m->dice, tails));
		break;
	}
	buf_add_c(m->b, '}');
}

static void add_thinking(struct maker *m)
{
	buf_printf(m->b, "{\"type\":\"thinking\",\"text\":%s",
		   one_in(m->dice, 4) ? PICK(m->dice, blanks) : "\"hm\"");
	if (!one_in(m->dice, 4))
		buf_printf(m->b, ",\"signature\":%s",
			   one_in(m->dice, 4) ? PICK(m->dice, blanks) :
						"\"sig\"");
	buf_add_c(m->b, '}');
}

static void add_part(struct maker *m)
{
	switch (roll(m->dice, 12)) {
	case 0:
	case 1:
	case 2:
		add_call(m);
		break;
	case 3:
	case 4:
	case 5:
		add_result(m);
		break;
	case 6:
		add_thinking(m);
		break;
	case 7:
		m->silent = true;
		buf_printf(m->b, "{\"type\":\"image\",%s}",
			   PICK(m->dice, images));
		break;
	case 8:
		m->silent = true;
		buf_printf(m->b, "{\"type\":\"opaque\",%s}",
			   PICK(m->dice, opaques));
		break;
	case 9:
		if (one_in(m->dice, 3)) {
			buf_add_str(m->b, str_of(PICK(m->dice, others)));
			break;
		}
		add_text(m);
		break;
	default:
		add_text(m);
		break;
	}
}

/* A role that is none is written '?' here. */
static const char *const roles[] = { "user", "user",      "assistant",
				     "user", "assistant", "assistant",
				     "tool", "tool",      "system",
				     "?" };

static void add_message(struct maker *m)
{
	size_t n = roll(m->dice, 5);

	m->role = PICK(m->dice, roles);
	m->silent = false;
	/* As many elements as a name of a role has letters. */
	if (m->role[0] == '?' && one_in(m->dice, 2))
		buf_add_lit(m->b, "\"role\":[1,2,3,4],\"parts\":[");
	else
		buf_printf(m->b, "\"role\":\"%s\",\"parts\":[", m->role);
	for (size_t i = 0; i < n; i++) {
		buf_add_str(m->b, i ? STR(",") : STR(""));
		add_part(m);
	}
	buf_add_c(m->b, ']');
	if (one_in(m->dice, 3))
		buf_add_str(m->b, str_of(PICK(m->dice, froms)));
	if (one_in(m->dice, 4))
		buf_add_str(m->b, str_of(PICK(m->dice, models)));
	if (one_in(m->dice, 5)) {
		m->silent = true;
		buf_add_str(m->b, str_of(PICK(m->dice, bounds)));
	}
	if (m->silent && is_role(m, "user"))
		m->log->last_user = SIZE_MAX;
}

/* Change a byte, or cut the rest off. */
static void damage(struct maker *m)
{
	size_t at = m->b->len * roll(m->dice, 256) / 256;

	m->log->damaged = true;
	if (one_in(m->dice, 2))
		m->b->len = at;
	else if (at < m->b->len)
		m->b->ptr[at] = (char)roll(m->dice, 256);
}

static void make_options(struct hostile_log *log, struct dice *d)
{
	static const char *const summaries[] = {
		"", " \n", "what was said", "\"\\\n\xff\xc3", "\xe3\x80\x80",
	};

	log->summary = str_of(PICK(d, summaries));
	log->options = (struct render_options){
		.format = RENDER_ANTHROPIC + (uint32_t)roll(d, 3),
		.tokens = one_in(d, 2) ? roll(d, 150) : 0,
		.newest_first = one_in(d, 2),
	};
	if (one_in(d, 8))
		log->options.provider = STR("openai");
}

void hostile_make(struct hostile_log *log, struct dice *d, struct arena *a)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct maker m = { .log = log, .dice = d, .b = &b };
	size_t n = roll(d, HOSTILE_MESSAGES + 1);

	buf_init(&b, 0);
	*log = (struct hostile_log){ .last_user = SIZE_MAX };
	make_options(log, d);
	while (log->n < n) {
		buf_reset(&b);
		add_message(&m);
		if (one_in(d, 100))
			damage(&m);
		log->bodies[log->n++] = arena_str(a, buf_str(&b));
	}
}

/* ---- what must hold ---- */

static struct weft_str render_log(const struct hostile_log *log,
				  const struct render_options *o,
				  struct arena *a)
{
	CLEANUP(render_done) struct render r = { 0 };
	CLEANUP(buf_done) struct buf out = { 0 };

	buf_init(&out, 0);
	render_init(&r, o, a);
	for (size_t i = 0; i < log->n && !render_enough(&r); i++) {
		size_t k = o->newest_first ? log->n - 1 - i : i;

		if (render_add(&r, k + 1, log->bodies[k], NULL) != WEFT_OK)
			return (struct weft_str){ NULL, 0 };
	}
	if (render_write(&r, log->summary, &out, NULL) != WEFT_OK)
		return (struct weft_str){ NULL, 0 };
	return arena_str(a, buf_str(&out));
}

static size_t count_text(struct weft_str in, size_t i)
{
	char mark[16];
	size_t len = (size_t)snprintf(mark, sizeof(mark), "t%zu.", i), n = 0;
	const char *p;

	while ((p = memmem(in.ptr, in.len, mark, len))) {
		/* Not the end of another word. */
		n += p[-1] == '"' || p[-1] == ' ' || p[-1] == 'n';
		in = str_skip(in, (size_t)(p - in.ptr) + len);
	}
	return n;
}

/* Nothing is lost, and nothing is said twice. */
static const char *check_texts(const struct hostile_log *log,
			       struct weft_str out, char why[300])
{
	for (size_t i = 0; i < log->n_texts && !log->damaged; i++) {
		size_t n = count_text(out, i);
		bool must = log->in_system[i] ||
			    (log->in_messages[i] && !log->options.tokens) ||
			    log->last_user == i;

		if (log->options.tokens && log->options.newest_first)
			must = log->last_user == i;
		if (n > 1 || (must && n == 0)) {
			(void)snprintf(why, 300, "text %zu is there %zu times",
				       i, n);
			return why;
		}
	}
	return NULL;
}

static bool is_valid(uint32_t format, struct weft_str out, struct verdict *v)
{
	yyjson_doc *doc =
		yyjson_read(out.ptr, out.len, YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc);
	bool valid = false;

	if (!root)
		(void)snprintf(v->why, sizeof(v->why), "not JSON");
	else if (format == RENDER_ANTHROPIC)
		valid = valid_anthropic(root, v);
	else if (format == RENDER_OPENAI)
		valid = valid_openai(root, v);
	else
		valid = valid_responses(root, v);
	yyjson_doc_free(doc);
	return valid;
}

const char *hostile_check(const struct hostile_log *log, struct arena *a,
			  char why[300], struct weft_str *ret)
{
	struct render_options o = log->options;
	struct verdict v;

	*ret = render_log(log, &o, a);
	if (!ret->ptr)
		return "could not be rendered";
	if (!is_valid(o.format, *ret, &v)) {
		(void)snprintf(why, 300, "%s", v.why);
		return why;
	}
	/* The way it was read makes no difference. */
	o.newest_first = !o.newest_first;
	if (!o.tokens && !str_eq(render_log(log, &o, a), *ret))
		return "another order of reading gives something else";
	return check_texts(log, *ret, why);
}
