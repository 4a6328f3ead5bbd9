/* request.c - write a request, call the door, read its answer. */
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

void req_init(struct req *q, struct cli *c, const char *method)
{
	*q = (struct req){ .cli = c };
	buf_init(&q->b, SIZE_MAX);
	buf_printf(&q->b, "{\"method\":\"%s\"", method);
}

void req_done(struct req *q)
{
	buf_done(&q->b);
}

static void add_name(struct req *q, const char *field)
{
	buf_printf(&q->b, "%s\"%s\":", q->first ? "" : ",", field);
	q->first = false;
}

/* Text that came from the shell: any bytes. */
void req_add_text(struct req *q, const char *label, const char *value)
{
	struct weft_str s = str_of(value);

	if (!text_is_utf8(s)) {
		if (q->error == WEFT_OK)
			q->error = fail(q->cli->err, WEFT_INVALID,
					"%s is not UTF-8", label);
		return;
	}
	buf_add_json(&q->b, s);
}

void req_text(struct req *q, const char *field, const char *label,
	      const char *value)
{
	if (!value)
		return;
	add_name(q, field);
	req_add_text(q, label, value);
}

static const char *label_of(struct req *q, size_t opt, char out[40])
{
	(void)snprintf(out, 40, "--%s", q->cli->line.command->opts[opt].name);
	return out;
}

void req_opt(struct req *q, const char *field, size_t opt)
{
	char label[40];

	req_text(q, field, label_of(q, opt, label), cli_opt(q->cli, opt));
}

void req_number(struct req *q, const char *field, size_t opt)
{
	if (cli_has(q->cli, opt))
		req_u64(q, field, cli_number(q->cli, opt, 0));
}

void req_switch(struct req *q, const char *field, size_t opt)
{
	if (cli_has(q->cli, opt))
		req_raw(q, field, STR("true"));
}

void req_u64(struct req *q, const char *field, uint64_t value)
{
	add_name(q, field);
	buf_add_u64(&q->b, value);
}

void req_raw(struct req *q, const char *field, struct weft_str json)
{
	add_name(q, field);
	buf_add_str(&q->b, json);
}

void req_json(struct req *q, const char *field, const char *label,
	      const char *json)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;

	if (!json || q->error != WEFT_OK)
		return;
	q->error = json_parse(str_of(json), NULL, &doc, q->cli->err);
	if (q->error != WEFT_OK)
		q->error = fail_prefix(q->cli->err, q->error, "%s", label);
	else
		req_raw(q, field, str_of(json));
}

void req_model(struct req *q, const char *field, const char *label,
	       const char *value)
{
	const char *slash = value ? strchr(value, '/') : NULL;

	if (!value)
		return;
	if (!slash || slash == value || !slash[1]) {
		if (q->error == WEFT_OK)
			q->error = fail(q->cli->err, WEFT_USAGE,
					"%s: expected PROVIDER/NAME, got '%s'",
					label, value);
		return;
	}
	if (!text_is_utf8(str_of(value))) {
		req_add_text(q, label, value);
		return;
	}
	add_name(q, field);
	buf_add_lit(&q->b, "{\"provider\":");
	buf_add_json(&q->b,
		     (struct weft_str){ value, (size_t)(slash - value) });
	buf_add_lit(&q->b, ",\"name\":");
	buf_add_json(&q->b, str_of(slash + 1));
	buf_add_c(&q->b, '}');
}

void req_open(struct req *q, const char *field)
{
	add_name(q, field);
	buf_add_c(&q->b, '{');
	q->first = true;
}

void req_close(struct req *q)
{
	buf_add_c(&q->b, '}');
	q->first = false;
}

void req_session(struct req *q, size_t arg)
{
	req_text(q, "session", "SESSION", cli_arg(q->cli, arg));
}

void req_ref(struct req *q, const char *value)
{
	uint64_t n;

	if (str_to_u64(str_of(value), (UINT64_C(1) << 53) - 1, &n))
		buf_add_u64(&q->b, n);
	else
		req_add_text(q, "MESSAGE", value);
}

void req_message(struct req *q, const char *field, size_t opt)
{
	const char *value = cli_opt(q->cli, opt);

	if (!value)
		return;
	req_raw(q, field, STR(""));
	req_ref(q, value);
}

void req_messages(struct req *q, size_t arg)
{
	const struct parsed *line = &q->cli->line;

	req_raw(q, "messages", STR("["));
	for (size_t i = arg; i < line->n_args; i++) {
		if (i > arg)
			buf_add_c(&q->b, ',');
		req_ref(q, line->args[i]);
	}
	buf_add_c(&q->b, ']');
}

int req_call(struct req *q, struct answer *ret)
{
	struct cli *c = q->cli;
	int64_t since = clock_mono_us();
	struct weft_str request;
	int r;

	*ret = (struct answer){ 0 };
	buf_add_c(&q->b, '}');
	if (q->error != WEFT_OK)
		return q->error;
	r = buf_error(&q->b, c->err);
	if (r != WEFT_OK)
		return r;
	request = buf_str(&q->b);
	r = weft_call(c->store, request.ptr, request.len, &ret->handle, c->err);
	cli_debug(c, "call %.*s: %s, %lld us", (int)u64_min(request.len, 200),
		  request.ptr, weft_code_name(r),
		  (long long)(clock_mono_us() - since));
	if (r == WEFT_OK)
		ret->text.ptr = weft_answer_text(ret->handle, &ret->text.len);
	return r;
}

void answer_done(struct answer *a)
{
	yyjson_doc_free(a->doc);
	weft_answer_free(a->handle);
}

yyjson_val *answer_parse(struct cli *c, struct answer *a)
{
	a->doc = json_parse_trusted(a->text, NULL, 0);
	if (!a->doc)
		(void)fail_no_memory(c->err);
	return yyjson_doc_get_root(a->doc);
}

struct weft_str val_str(yyjson_val *object, const char *name)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	return yyjson_is_str(v) ? json_str(v) : STR("");
}

uint64_t val_u64(yyjson_val *object, const char *name)
{
	return yyjson_get_uint(yyjson_obj_get(object, name));
}

bool val_true(yyjson_val *object, const char *name)
{
	return yyjson_is_true(yyjson_obj_get(object, name));
}

struct weft_str raw_member(struct weft_str object, const char *name)
{
	struct weft_str key, raw;
	size_t pos = 0;

	while (json_next_member(object, &pos, &key, &raw)) {
		if (str_eq(key, str_of(name)))
			return raw;
	}
	return STR("");
}

int cli_resolve(struct cli *c, const char **session)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *root;
	int r;

	req_init(&q, c, "show");
	req_text(&q, "session", "SESSION", *session);
	r = req_call(&q, &a);
	if (r != WEFT_OK)
		return r;
	root = answer_parse(c, &a);
	if (!root)
		return WEFT_NO_MEMORY;
	*session = arena_str(&c->arena, val_str(root, "id")).ptr;
	return *session ? WEFT_OK : arena_error(&c->arena, c->err);
}

int cli_answer(struct cli *c, struct req *q,
	       void (*text)(struct cli *c, yyjson_val *root))
{
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *root;
	int r = req_call(q, &a);

	if (r != WEFT_OK)
		return r;
	if (c->json) {
		out_json(&c->out, a.text);
		return WEFT_OK;
	}
	root = answer_parse(c, &a);
	if (!root)
		return WEFT_NO_MEMORY;
	text(c, root);
	return WEFT_OK;
}

const struct arg only_session[1] = { ARG_SESSION };
const struct opt only_token[1] = { OPTION_TOKEN };
const struct opt token_and_op[2] = { OPTION_TOKEN, OPTION_OP };

int cli_about_session(struct cli *c,
		      void (*text)(struct cli *c, yyjson_val *root))
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, c->line.command->name);
	req_session(&q, 0);
	if (c->line.command->opts == only_token ||
	    c->line.command->opts == token_and_op)
		req_number(&q, "token", 0);
	if (c->line.command->opts == token_and_op)
		req_opt(&q, "op", 1);
	return cli_answer(c, &q, text);
}
