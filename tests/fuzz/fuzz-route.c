/*
 * A configuration, and after a NUL the texts of a message, one behind each NUL.
 *
 * A configuration that is taken is written and read again as the same; the
 * route of the message has a key, and its scope is read again as itself.
 */
#include "fuzz.h"

#include <assert.h>

#include "route/norm.h"
#include "route/route.h"

#define TEXTS 10

/* The next text, up to a NUL or the end. */
static struct weft_str next_text(struct weft_str *rest)
{
	const char *nul = rest->len ? memchr(rest->ptr, '\0', rest->len) : NULL;
	struct weft_str text = { rest->ptr,
				 nul ? (size_t)(nul - rest->ptr) : rest->len };

	*rest = str_skip(*rest, text.len + (nul != NULL));
	return text;
}

static void check_config(const struct config *c, struct arena *a)
{
	CLEANUP(buf_done) struct buf first = { 0 }, second = { 0 };
	struct config again;

	buf_init(&first, 0);
	buf_init(&second, 0);
	config_write(&first, c);
	assert(config_read(&again,
			   &(struct config_input){ .text = buf_str(&first) }, a,
			   NULL) == WEFT_OK);
	config_write(&second, &again);
	assert(str_eq(buf_str(&first), buf_str(&second)));
}

static void check_route(const struct config *c, const struct route_request *q,
			struct arena *a)
{
	CLEANUP(buf_done) struct buf json = { 0 };
	struct route route, again;
	struct scope scope;

	if (route_resolve(c, q, a, &route, NULL) != WEFT_OK)
		return;
	assert(route.key.len > 0 && route.agent.len > 0);
	assert(route.agent.len <= 64 && route.why.n > 0);
	assert(str_eq(norm_agent(route.agent, a), route.agent));
	buf_init(&json, 0);
	scope_encode(&json, &route.scope);
	assert(scope_parse(buf_str(&json), a, &scope, NULL) == WEFT_OK);
	assert(route.linked || route_fits(&route, &scope, false));
	/* The same message goes the same way. */
	assert(route_resolve(c, q, a, &again, NULL) == WEFT_OK);
	assert(str_eq(route.key, again.key));
	assert(route_fits(&again, &route.scope, route.linked));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_done) struct arena a;
	struct weft_str rest = { (const char *)data, size };
	struct weft_str t[TEXTS];
	struct config_input in = { .file = "f" };
	struct route_request q = { 0 };
	struct config c;

	arena_init(&a, MIB(256));
	in.text = next_text(&rest);
	for (size_t i = 0; i < TEXTS; i++)
		t[i] = next_text(&rest);
	if (!in.text.ptr || config_read(&c, &in, &a, NULL) != WEFT_OK)
		return 0;
	check_config(&c, &a);
	q.context = (struct route_context){ t[0], t[1], t[2], t[3],        t[4],
					    t[5], t[6], t[7], t[8].len > 0 };
	q.session_key = t[8];
	q.agent = t[9];
	check_route(&c, &q, &a);
	return 0;
}
