/* ask.c - requests to the door; see ask.h. */
#include "compat/ask.h"

#include "api/answer.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/engine.h"

#define ASK_BYTES_MAX MIB(1024)

void ask_init(struct ask *a, struct weft_store *store, struct weft_error *err)
{
	*a = (struct ask){ .store = store };
	a->err = err ? err : &a->unheard;
	buf_init(&a->request, 0);
	arena_init(&a->arena, ASK_BYTES_MAX);
}

void ask_done(struct ask *a)
{
	buf_done(&a->request);
	arena_done(&a->arena);
}

/* ---- arguments ---- */

static struct weft_str none(void)
{
	return (struct weft_str){ "", 0 };
}

static struct weft_str refuse(struct ask *a, int code)
{
	a->error = code;
	return none();
}

struct weft_str ask_text(struct ask *a, const char *field, const char *text,
			 size_t len)
{
	struct weft_str s = { text, len };

	if (a->error || len == 0)
		return none();
	if (!text || len > PTRDIFF_MAX)
		return refuse(
			a, fail(a->err, WEFT_INVALID, "%s: not a text", field));
	if (!text_is_utf8(s))
		return refuse(
			a, fail(a->err, WEFT_INVALID, "%s: not UTF-8", field));
	return s;
}

struct weft_str ask_filled(struct ask *a, const char *field, const char *text,
			   size_t len)
{
	struct weft_str s = ask_text(a, field, text, len);

	if (!a->error && s.len == 0)
		return refuse(a, fail(a->err, WEFT_INVALID,
				      "%s: may not be empty", field));
	return s;
}

struct weft_str ask_id(struct ask *a, const char *field, const char *text,
		       size_t len)
{
	struct weft_str s = ask_filled(a, field, text, len);
	struct weft_id id;

	if (!a->error && !id_parse(s, &id))
		return refuse(a, fail(a->err, WEFT_NOT_FOUND,
				      "%s: nothing has the id '%.*s'", field,
				      STR_ARG(text_cut(s, 64))));
	return s;
}

struct weft_str ask_json(struct ask *a, const char *field, const char *text,
			 size_t len)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_str s;
	int r;

	if (a->error)
		return none();
	if (!text || len > PTRDIFF_MAX)
		return refuse(
			a, fail(a->err, WEFT_INVALID, "%s: not a text", field));
	s = arena_str(&a->arena, (struct weft_str){ text, len });
	if (!s.ptr)
		return refuse(a, arena_error(&a->arena, a->err));
	r = json_parse(s, NULL, &doc, a->err);
	if (r != WEFT_OK)
		return refuse(a, fail_prefix(a->err, r, "%s", field));
	return s;
}

void ask_place(struct ask *a, struct weft_answer **ret)
{
	if (!a->error && !ret)
		a->error =
			fail(a->err, WEFT_INVALID, "no place for the answer");
}

/* ---- requests ---- */

void ask_method(struct ask *a, const char *method)
{
	buf_reset(&a->request);
	buf_printf(&a->request, "{\"method\":\"%s\"", method);
}

void ask_about(struct ask *a, const char *method, struct weft_str session)
{
	ask_method(a, method);
	ask_add_text(a, "session", session);
}

static void add_name(struct ask *a, const char *field)
{
	buf_printf(&a->request, ",\"%s\":", field);
}

void ask_add_any(struct ask *a, const char *field, struct weft_str s)
{
	add_name(a, field);
	buf_add_json(&a->request, s);
}

void ask_add_text(struct ask *a, const char *field, struct weft_str s)
{
	if (s.len)
		ask_add_any(a, field, s);
}

void ask_add_raw(struct ask *a, const char *field, struct weft_str json)
{
	if (json.len == 0)
		return;
	add_name(a, field);
	buf_add_str(&a->request, json);
}

void ask_add_u64(struct ask *a, const char *field, uint64_t n)
{
	add_name(a, field);
	buf_add_u64(&a->request, n);
}

void ask_add_true(struct ask *a, const char *field)
{
	add_name(a, field);
	buf_add_lit(&a->request, "true");
}

void ask_add_model(struct ask *a, struct weft_str provider,
		   struct weft_str name)
{
	buf_add_lit(&a->request, ",\"model\":{\"provider\":");
	buf_add_json(&a->request, provider);
	buf_add_lit(&a->request, ",\"name\":");
	buf_add_json(&a->request, name);
	buf_add_c(&a->request, '}');
}

int ask_call(struct ask *a, struct weft_answer **ret)
{
	if (!a->error) {
		buf_add_c(&a->request, '}');
		a->error = buf_error(&a->request, a->err);
	}
	if (!a->error)
		a->error = weft_call(a->store, a->request.ptr, a->request.len,
				     ret, a->err);
	return a->error;
}

struct weft_str ask_answer(struct ask *a)
{
	struct weft_answer *answer = NULL;
	struct weft_str s;

	if (ask_call(a, &answer) != WEFT_OK)
		return none();
	s.ptr = weft_answer_text(answer, &s.len);
	s = arena_str(&a->arena, s);
	weft_answer_free(answer);
	return s.ptr ? s : refuse(a, arena_error(&a->arena, a->err));
}

int ask_do(struct ask *a)
{
	(void)ask_answer(a);
	return a->error;
}

/* ---- answers ---- */

struct weft_str answer_str(struct weft_str object, const char *name)
{
	struct weft_str s = json_member(object, name);

	if (s.len < 2 || s.ptr[0] != '"')
		return none();
	return (struct weft_str){ s.ptr + 1, s.len - 2 };
}

uint64_t answer_u64(struct weft_str object, const char *name)
{
	uint64_t n = 0;

	(void)str_to_u64(json_member(object, name), UINT64_MAX, &n);
	return n;
}

int ask_end(struct ask *a, struct buf *text, struct weft_answer **ret)
{
	if (!a->error)
		a->error = answer_take(text, ret, a->err);
	return a->error;
}

/* ---- sessions by name ---- */

/* By name alone: what people type may also be a title or part of an id. */
struct weft_str ask_named(struct ask *a, struct weft_str name)
{
	struct engine *e = weft_store_engine(a->store);
	char id[WEFT_ID_CHARS + 1];
	struct name_rec found = { .session = { { 0 } } };
	struct store *s;
	int r;

	if (a->error)
		return none();
	if (!e)
		return refuse(a, fail(a->err, WEFT_INVALID,
				      a->store ? "the store has been closed" :
						 "no store given"));
	r = engine_check_process(e, a->err);
	if (r == WEFT_OK)
		r = text_check_line(name, (size_t)engine_limits(e)->name_bytes,
				    "key", a->err);
	if (r != WEFT_OK)
		return refuse(a, r);
	s = engine_store(e);
	r = s->ops->get_names(s, &name, 1, &a->arena, &found, a->err);
	if (r != WEFT_OK)
		return refuse(a, r);
	if (id_is_zero(&found.session))
		return none();
	id_format(&found.session, id);
	return arena_str(&a->arena, str_of(id));
}

struct weft_str ask_named_or_new(struct ask *a, struct weft_str name)
{
	struct weft_str id = ask_named(a, name);

	if (a->error || id.len)
		return id;
	ask_method(a, "new");
	ask_add_text(a, "key", name);
	return answer_str(ask_answer(a), "id");
}

struct weft_str ask_by_key(struct ask *a, struct weft_store *store,
			   const char *key, size_t key_len,
			   struct weft_error *err)
{
	ask_init(a, store, err);
	return ask_filled(a, "key", key, key_len);
}

/* ---- messages ---- */

int ask_append(struct ask *a, struct weft_str id, const struct buf *json)
{
	if (!a->error)
		a->error = buf_error(json, a->err);
	if (!a->error)
		a->error = weft_append(a->store, id.ptr, id.len, json->ptr,
				       json->len, NULL, NULL, a->err);
	return a->error;
}

static void add_elements(struct buf *out, struct weft_str array)
{
	if (array.len <= 2)
		return;
	if (out->len && out->ptr[out->len - 1] != '[')
		buf_add_c(out, ',');
	buf_add(out, array.ptr + 1, array.len - 2);
}

void ask_messages(struct ask *a, struct weft_str session, const char *view,
		  struct buf *out, struct weft_str *ret_first)
{
	struct weft_str next = none();
	bool first = true;

	do {
		struct weft_str page;

		ask_about(a, "history", session);
		ask_add_text(a, "view", str_of(view));
		ask_add_raw(a, "after", next);
		page = ask_answer(a);
		if (a->error)
			return;
		if (first && ret_first)
			*ret_first = page;
		first = false;
		add_elements(out, json_member(page, "messages"));
		next = json_member(page, "next");
	} while (next.len && next.ptr[0] != 'n');
}
