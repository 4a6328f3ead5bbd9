/* compat.c - the store that cases of other programs share; see compat.h. */
#include "conformance/compat.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

static void *shared;

/* Not by the last case: with a pattern it may not be among them. */
static void close_shared(void)
{
	if (desk_teardown(&shared) < 0)
		abort();
}

int shared_setup(void **state)
{
	struct desk *d = shared;

	if (!shared) {
		if (desk_setup(&shared) < 0 || atexit(close_shared))
			return -1;
		d = shared;
	}
	d->now_ms += 1000;
	*state = d;
	return 0;
}

const char *taken_(struct desk *d, int r, struct weft_answer **answer,
		   const char *file, int line)
{
	struct weft_str text;

	desk_ok_(d, r, file, line);
	text.ptr = weft_answer_text(*answer, &text.len);
	assert_int_equal(text.ptr[text.len], '\0');
	text = arena_str(&d->arena, text);
	weft_answer_free(*answer);
	*answer = NULL;
	return text.ptr;
}

/* ---- looking into JSON ---- */

static yyjson_val *find(yyjson_val *v, const char *path)
{
	while (v && *path) {
		size_t n = strcspn(path, ".");

		if (yyjson_is_arr(v))
			v = yyjson_arr_get(v, strtoul(path, NULL, 10));
		else
			v = yyjson_obj_getn(v, path, n);
		path += n + (path[n] == '.');
	}
	return v;
}

static const char *shown(struct desk *d, yyjson_val *v)
{
	struct buf b;
	const char *text;

	if (!v)
		return "-";
	if (yyjson_is_str(v))
		return arena_str(&d->arena, json_str(v)).ptr;
	buf_init(&b, 0);
	buf_add_val(&b, v);
	text = arena_str(&d->arena, buf_str(&b)).ptr;
	buf_done(&b);
	return text;
}

static yyjson_doc *parsed(struct desk *d, const char *json)
{
	yyjson_doc *doc = NULL;

	desk_ok(d, json_parse(str_of(json), NULL, &doc, &d->err));
	return doc;
}

const char *at(struct desk *d, const char *json, const char *path)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = parsed(d, json);

	return shown(d, find(yyjson_doc_get_root(doc), path));
}

size_t count_at(struct desk *d, const char *json, const char *path)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = parsed(d, json);

	return yyjson_arr_size(find(yyjson_doc_get_root(doc), path));
}

const char *each(struct desk *d, const char *json, const char *path,
		 const char *name)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = parsed(d, json);
	yyjson_arr_iter it =
		yyjson_arr_iter_with(find(yyjson_doc_get_root(doc), path));
	struct buf b;
	const char *text;
	yyjson_val *v;

	buf_init(&b, 0);
	while ((v = yyjson_arr_iter_next(&it))) {
		if (b.len)
			buf_add_c(&b, ' ');
		buf_add_str(&b, str_of(shown(d, find(v, name))));
	}
	text = arena_str(&d->arena, buf_str(&b)).ptr;
	buf_done(&b);
	return text;
}
