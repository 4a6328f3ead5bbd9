/* validity.c - the rules of the providers, one by one. */
#include "render/validity.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CALLS_MAX 4096

/* ---- small things ---- */

static __attribute__((format(printf, 2, 3))) bool wrong(struct verdict *v,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(v->why, sizeof(v->why), format, args);
	va_end(args);
	return false;
}

static bool is(yyjson_val *v, const char *text)
{
	return yyjson_equals_str(v, text);
}

static yyjson_val *get(yyjson_val *object, const char *name)
{
	return yyjson_obj_get(object, name);
}

/* The next character of UTF-8 that is known to be well-formed. */
static unsigned next_char(const unsigned char **p)
{
	unsigned c = *(*p)++;
	unsigned more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

	if (more)
		c &= 0x3fu >> more;
	while (more--)
		c = c << 6 | (*(*p)++ & 0x3fu);
	return c;
}

static bool is_white(unsigned c)
{
	return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) ||
	       c == 0x85 || c == 0xa0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
}

/* A string in which there is something to be seen. */
static bool says_something(yyjson_val *v)
{
	const unsigned char *p = (const void *)yyjson_get_str(v);
	const unsigned char *end = p ? p + yyjson_get_len(v) : p;

	while (p < end) {
		if (!is_white(next_char(&p)))
			return true;
	}
	return false;
}

/* [A-Za-z0-9_-]{1,max} */
static bool is_token(yyjson_val *v, size_t max)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz"
				      "0123456789_-";
	size_t n = yyjson_get_len(v);

	return yyjson_is_str(v) && n >= 1 && n <= max &&
	       strspn(yyjson_get_str(v), allowed) == n;
}

/* No member but these; names end with NULL. */
static bool only(yyjson_val *object, const char *const *names)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(object);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&it))) {
		const char *const *name = names;

		while (*name && !is(key, *name))
			name++;
		if (!*name)
			return false;
	}
	return true;
}
#define ONLY(object, ...) \
	only((object), (const char *const[]){ __VA_ARGS__, NULL })

/* The ids of the calls that one message makes. */
struct calls {
	yyjson_val *ids[CALLS_MAX];
	size_t n;
};

static bool calls_add(struct calls *c, yyjson_val *id)
{
	for (size_t i = 0; i < c->n; i++) {
		if (yyjson_equals(c->ids[i], id))
			return false;
	}
	if (c->n == CALLS_MAX)
		return false;
	c->ids[c->n++] = id;
	return true;
}

/* ---- Anthropic Messages ---- */

static bool anthropic_text(yyjson_val *b, size_t at, struct verdict *v)
{
	if (!ONLY(b, "type", "text") || !says_something(get(b, "text")))
		return wrong(v, "message %zu: bad or blank text", at);
	return true;
}

static bool anthropic_image(yyjson_val *b, size_t at, struct verdict *v)
{
	yyjson_val *source = get(b, "source");

	if (!ONLY(b, "type", "source") ||
	    !ONLY(source, "type", "media_type", "data") ||
	    !is(get(source, "type"), "base64") ||
	    !yyjson_is_str(get(source, "media_type")) ||
	    strncmp(yyjson_get_str(get(source, "media_type")), "image/", 6) !=
		    0 ||
	    !says_something(get(source, "data")))
		return wrong(v, "message %zu: bad image", at);
	return true;
}

static bool anthropic_call(yyjson_val *b, size_t at, struct calls *calls,
			   struct verdict *v)
{
	if (!ONLY(b, "type", "id", "name", "input"))
		return wrong(v, "message %zu: call with other members", at);
	if (!is_token(get(b, "id"), 64))
		return wrong(v, "message %zu: bad id of a call", at);
	if (!is_token(get(b, "name"), 64))
		return wrong(v, "message %zu: bad name of a call", at);
	if (!yyjson_is_obj(get(b, "input")))
		return wrong(v, "message %zu: input is no object", at);
	if (!calls_add(calls, get(b, "id")))
		return wrong(v, "message %zu: two calls with one id", at);
	return true;
}

static bool anthropic_content(yyjson_val *content, size_t at, struct verdict *v)
{
	yyjson_arr_iter it;
	yyjson_val *b;

	if (yyjson_is_str(content))
		return says_something(content) ||
		       wrong(v, "message %zu: blank result", at);
	if (!yyjson_is_arr(content) || yyjson_arr_size(content) == 0)
		return wrong(v, "message %zu: result without content", at);
	it = yyjson_arr_iter_with(content);
	while ((b = yyjson_arr_iter_next(&it))) {
		if (is(get(b, "type"), "text") ? !anthropic_text(b, at, v) :
						 !anthropic_image(b, at, v))
			return false;
	}
	return true;
}

/* `n`: which result of this message it is. */
static bool anthropic_result(yyjson_val *b, size_t at, size_t n,
			     const struct calls *asked, struct verdict *v)
{
	yyjson_val *error = get(b, "is_error");

	if (!ONLY(b, "type", "tool_use_id", "content", "is_error") ||
	    (error && !yyjson_is_bool(error)))
		return wrong(v, "message %zu: bad result", at);
	if (n >= asked->n ||
	    !yyjson_equals(get(b, "tool_use_id"), asked->ids[n]))
		return wrong(v,
			     "message %zu: result %zu has no call, or is out "
			     "of order",
			     at, n);
	return anthropic_content(get(b, "content"), at, v);
}

struct anthropic_message {
	yyjson_val *value;
	size_t at;
	bool user;
	const struct calls *asked; /* by the message before */
	struct calls *calls;       /* its own */
};

static bool anthropic_block(const struct anthropic_message *m, yyjson_val *b,
			    bool last, struct verdict *v)
{
	yyjson_val *type = get(b, "type");

	if (is(type, "text"))
		return anthropic_text(b, m->at, v);
	if (is(type, "image") && m->user)
		return anthropic_image(b, m->at, v);
	if (is(type, "document") && m->user)
		return true;
	if (is(type, "tool_use") && !m->user)
		return anthropic_call(b, m->at, m->calls, v);
	if (is(type, "redacted_thinking") && !m->user && !last)
		return true;
	if (is(type, "thinking") && !m->user && !last)
		return (ONLY(b, "type", "thinking", "signature") &&
			yyjson_is_str(get(b, "thinking")) &&
			says_something(get(b, "signature"))) ||
		       wrong(v, "message %zu: thinking unsigned", m->at);
	return wrong(v, "message %zu: a %s does not belong there", m->at,
		     yyjson_is_str(type) ? yyjson_get_str(type) : "block");
}

static bool anthropic_list(const struct anthropic_message *m,
			   yyjson_val *content, struct verdict *v)
{
	size_t n = yyjson_arr_size(content), i = 0, results = 0;
	yyjson_arr_iter it = yyjson_arr_iter_with(content);
	yyjson_val *b;

	if (n == 0)
		return wrong(v, "message %zu: no content", m->at);
	if (n == 1 && is(get(yyjson_arr_get_first(content), "type"), "text"))
		return wrong(v, "message %zu: one text as a list", m->at);
	for (; (b = yyjson_arr_iter_next(&it)); i++) {
		bool result = is(get(b, "type"), "tool_result");

		if (result && (!m->user || results != i))
			return wrong(v, "message %zu: result not in front",
				     m->at);
		if (result ? !anthropic_result(b, m->at, results++, m->asked,
					       v) :
			     !anthropic_block(m, b, i + 1 == n, v))
			return false;
	}
	if (results != m->asked->n)
		return wrong(v, "message %zu: call %zu has no result",
			     m->at - 1, results);
	return true;
}

static bool anthropic_message(const struct anthropic_message *m,
			      struct verdict *v)
{
	yyjson_val *content = get(m->value, "content");

	if (!ONLY(m->value, "role", "content"))
		return wrong(v, "message %zu: other members", m->at);
	if (!is(get(m->value, "role"), m->user ? "user" : "assistant"))
		return wrong(v,
			     m->at == 0 ? "first message is not from the user" :
					  "message %zu: roles do not alternate",
			     m->at);
	if (!yyjson_is_str(content))
		return anthropic_list(m, content, v);
	if (m->asked->n)
		return wrong(v, "message %zu: call without result", m->at - 1);
	return says_something(content) ||
	       wrong(v, "message %zu: blank text", m->at);
}

bool valid_anthropic(yyjson_val *root, struct verdict *v)
{
	static struct calls calls[2]; /* of even and of odd messages */
	yyjson_val *system = get(root, "system"), *m;
	yyjson_arr_iter it = yyjson_arr_iter_with(get(root, "messages"));
	size_t i = 0;

	v->why[0] = '\0';
	if (!ONLY(root, "system", "messages") ||
	    !yyjson_is_arr(get(root, "messages")))
		return wrong(v, "not {system, messages}");
	if (!yyjson_is_null(system) && !says_something(system))
		return wrong(v, "system is neither null nor text");
	calls[1].n = 0;
	for (; (m = yyjson_arr_iter_next(&it)); i++) {
		struct anthropic_message message = {
			.value = m,
			.at = i,
			.user = i % 2 == 0,
			.asked = &calls[(i + 1) % 2],
			.calls = &calls[i % 2],
		};

		calls[i % 2].n = 0;
		if (!anthropic_message(&message, v))
			return false;
	}
	if (i && calls[(i - 1) % 2].n)
		return wrong(v, "message %zu: call without result", i - 1);
	return true;
}

/* ---- OpenAI Chat Completions ---- */

static bool openai_url(yyjson_val *url)
{
	return yyjson_is_str(url) &&
	       strncmp(yyjson_get_str(url), "data:image/", 11) == 0 &&
	       strstr(yyjson_get_str(url), ";base64,");
}

static bool openai_part(yyjson_val *part, bool user)
{
	yyjson_val *type = get(part, "type");

	if (is(type, "text"))
		return ONLY(part, "type", "text") &&
		       says_something(get(part, "text"));
	if (is(type, "refusal"))
		return !user;
	if (is(type, "file"))
		return user;
	return user && is(type, "image_url") &&
	       ONLY(part, "type", "image_url") &&
	       openai_url(get(get(part, "image_url"), "url"));
}

static bool openai_content(yyjson_val *content, bool user)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(content);
	yyjson_val *part;

	if (yyjson_is_str(content))
		return says_something(content);
	if (!yyjson_is_arr(content) || yyjson_arr_size(content) == 0)
		return false;
	while ((part = yyjson_arr_iter_next(&it))) {
		if (!openai_part(part, user))
			return false;
	}
	return true;
}

static bool openai_call(yyjson_val *call, struct calls *calls, size_t at,
			struct verdict *v)
{
	yyjson_val *function = get(call, "function");

	if (!ONLY(call, "id", "type", "function") ||
	    !is(get(call, "type"), "function") ||
	    !ONLY(function, "name", "arguments") ||
	    !is_token(get(function, "name"), 64) ||
	    !yyjson_is_str(get(function, "arguments")))
		return wrong(v, "message %zu: bad call", at);
	if (yyjson_get_len(get(call, "id")) == 0 ||
	    yyjson_get_len(get(call, "id")) > 40 ||
	    !calls_add(calls, get(call, "id")))
		return wrong(v, "message %zu: bad or double call id", at);
	return true;
}

static bool openai_assistant(yyjson_val *m, struct calls *calls, size_t at,
			     struct verdict *v)
{
	yyjson_val *content = get(m, "content"), *call;
	yyjson_val *list = get(m, "tool_calls");
	yyjson_arr_iter it = yyjson_arr_iter_with(list);
	bool has_content = content && !yyjson_is_null(content);

	if (!ONLY(m, "role", "content", "tool_calls"))
		return wrong(v, "message %zu: other members", at);
	if (list && yyjson_arr_size(list) == 0)
		return wrong(v, "message %zu: tool_calls is empty", at);
	if (!has_content && !list)
		return wrong(v, "message %zu: neither content nor calls", at);
	if (has_content && !openai_content(content, false))
		return wrong(v, "message %zu: bad content", at);
	while ((call = yyjson_arr_iter_next(&it))) {
		if (!openai_call(call, calls, at, v))
			return false;
	}
	return true;
}

/* `answered`: how many calls of the last assistant message have been. */
static bool openai_message(yyjson_val *m, size_t at, struct calls *calls,
			   size_t *answered, struct verdict *v)
{
	yyjson_val *role = get(m, "role");

	if (is(role, "tool")) {
		if (!ONLY(m, "role", "tool_call_id", "content") ||
		    !yyjson_is_str(get(m, "content")))
			return wrong(v, "message %zu: bad result", at);
		if (*answered >= calls->n ||
		    !yyjson_equals(get(m, "tool_call_id"),
				   calls->ids[*answered]))
			return wrong(v, "message %zu: result without its call",
				     at);
		++*answered;
		return true;
	}
	if (*answered != calls->n)
		return wrong(v, "message %zu: a call before has no result", at);
	calls->n = *answered = 0;
	if (is(role, "assistant"))
		return openai_assistant(m, calls, at, v);
	if (!ONLY(m, "role", "content") ||
	    !openai_content(get(m, "content"), is(role, "user")))
		return wrong(v, "message %zu: bad content", at);
	if (is(role, "system"))
		return at == 0 || wrong(v, "message %zu: system late", at);
	return is(role, "user") || wrong(v, "message %zu: bad role", at);
}

bool valid_openai(yyjson_val *root, struct verdict *v)
{
	static struct calls calls;
	yyjson_arr_iter it = yyjson_arr_iter_with(get(root, "messages"));
	size_t answered = 0, i = 0;
	yyjson_val *m;

	v->why[0] = '\0';
	calls.n = 0;
	if (!ONLY(root, "messages") || !yyjson_is_arr(get(root, "messages")))
		return wrong(v, "not {messages}");
	for (; (m = yyjson_arr_iter_next(&it)); i++) {
		if (!openai_message(m, i, &calls, &answered, v))
			return false;
	}
	return answered == calls.n || wrong(v, "the last call has no result");
}

/* ---- OpenAI Responses ---- */

static bool responses_part(yyjson_val *part, bool user)
{
	yyjson_val *type = get(part, "type");

	if (is(type, user ? "input_text" : "output_text"))
		return ONLY(part, "type", "text") &&
		       says_something(get(part, "text"));
	return user && is(type, "input_image") &&
	       ONLY(part, "type", "image_url") &&
	       openai_url(get(part, "image_url"));
}

static bool responses_content(yyjson_val *content, bool user)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(content);
	yyjson_val *part;

	if (yyjson_is_str(content))
		return says_something(content);
	if (!yyjson_is_arr(content) || yyjson_arr_size(content) == 0)
		return false;
	while ((part = yyjson_arr_iter_next(&it))) {
		if (!responses_part(part, user))
			return false;
	}
	return true;
}

/* Calls made and answered since the user last spoke. */
struct exchange {
	struct calls calls, outputs;
};

static bool responses_message(yyjson_val *item, size_t at, struct exchange *x,
			      struct verdict *v)
{
	yyjson_val *role = get(item, "role");
	bool user = is(role, "user");

	if (!ONLY(item, "type", "role", "content") ||
	    !responses_content(get(item, "content"), !is(role, "assistant")))
		return wrong(v, "item %zu: bad message", at);
	if (user) {
		if (x->outputs.n != x->calls.n)
			return wrong(v, "item %zu: a call before is open", at);
		x->calls.n = x->outputs.n = 0;
	}
	return user || is(role, "assistant") ||
	       (is(role, "system") && at == 0) ||
	       wrong(v, "item %zu: bad role", at);
}

static bool responses_call(yyjson_val *item, size_t at, struct exchange *x,
			   struct verdict *v)
{
	if (!ONLY(item, "type", "call_id", "name", "arguments") ||
	    !is_token(get(item, "name"), 64) ||
	    !yyjson_is_str(get(item, "arguments")) ||
	    yyjson_get_len(get(item, "call_id")) == 0 ||
	    yyjson_get_len(get(item, "call_id")) > 64)
		return wrong(v, "item %zu: bad call", at);
	return calls_add(&x->calls, get(item, "call_id")) ||
	       wrong(v, "item %zu: two calls with one id", at);
}

static bool responses_output(yyjson_val *item, size_t at, struct exchange *x,
			     struct verdict *v)
{
	yyjson_val *output = get(item, "output"), *id = get(item, "call_id");
	bool called = false;

	if (!ONLY(item, "type", "call_id", "output") ||
	    !(yyjson_is_str(output) || responses_content(output, true)))
		return wrong(v, "item %zu: bad output", at);
	for (size_t i = 0; i < x->calls.n && !called; i++)
		called = yyjson_equals(x->calls.ids[i], id);
	if (!called)
		return wrong(v, "item %zu: output without call", at);
	return calls_add(&x->outputs, id) ||
	       wrong(v, "item %zu: second output of a call", at);
}

bool valid_responses(yyjson_val *root, struct verdict *v)
{
	static struct exchange x;
	yyjson_arr_iter it = yyjson_arr_iter_with(get(root, "items"));
	bool reasoning = false;
	yyjson_val *item;
	size_t i = 0;

	v->why[0] = '\0';
	x.calls.n = x.outputs.n = 0;
	if (!ONLY(root, "items") || !yyjson_is_arr(get(root, "items")))
		return wrong(v, "not {items}");
	for (; (item = yyjson_arr_iter_next(&it)); i++) {
		yyjson_val *type = get(item, "type");
		bool ok;

		if (is(type, "message"))
			ok = responses_message(item, i, &x, v);
		else if (is(type, "function_call"))
			ok = responses_call(item, i, &x, v);
		else if (is(type, "function_call_output"))
			ok = responses_output(item, i, &x, v);
		else
			ok = is(type, "reasoning") ||
			     wrong(v, "item %zu: unknown type", i);
		if (!ok)
			return false;
		reasoning = is(type, "reasoning");
	}
	if (reasoning)
		return wrong(v, "reasoning without what it led to");
	return x.outputs.n == x.calls.n || wrong(v, "the last call is open");
}
