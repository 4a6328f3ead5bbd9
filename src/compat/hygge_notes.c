/* hygge_notes.c - hygge's memories and todos, parts and ids. */
#include "weft/compat.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "base/text.h"
#include "compat/ask.h"
#include "model/parts.h"

#define PARTS_MAX 1024 /* the default of the limit `parts` */

/* ---- memories ---- */

/* The memory that is the answer. */
static int give_memory(struct ask *a, struct weft_answer **ret)
{
	struct weft_str list = json_member(ask_answer(a), "memories");
	CLEANUP(buf_done) struct buf out = { 0 };
	struct weft_str first = STR("");
	size_t pos = 0;

	buf_init(&out, 0);
	(void)json_next_element(list, &pos, &first);
	buf_add_str(&out, first);
	return ask_end(a, &out, ret);
}

int weft_hygge_remember_session_memory(struct weft_store *store,
				       const char *session, size_t session_len,
				       const char *content, size_t content_len,
				       struct weft_answer **ret,
				       struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, text;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	text = ask_filled(&a, "content", content, content_len);
	ask_method(&a, "memory_add");
	ask_add_text(&a, "scope", STR("session"));
	ask_add_text(&a, "session", id);
	ask_add_text(&a, "content", text);
	return give_memory(&a, ret);
}

/* A page of memories; those of the next one are newer. */
struct memories {
	struct weft_str members;
	const struct memories *next;
};

/*
 * The memories of a session before those that are there, or as they were if
 * there are none.  *before is the oldest if there are more, else empty.
 */
static const struct memories *older_memories(struct ask *a,
					     struct weft_str session,
					     const struct memories *there,
					     struct weft_str *before)
{
	struct memories *page = ARENA_ARRAY(&a->arena, struct memories, 1);
	struct weft_str answer, list, oldest;
	size_t pos = 0;

	ask_method(a, "memories");
	ask_add_text(a, "scope", STR("session"));
	ask_add_text(a, "session", session);
	ask_add_text(a, "before", *before);
	answer = ask_answer(a);
	*before = STR("");
	if (!a->error && !page)
		a->error = arena_error(&a->arena, a->err);
	list = json_member(answer, "memories");
	if (a->error || !json_next_element(list, &pos, &oldest))
		return there;
	if (str_eq(json_member(answer, "more"), STR("true")))
		*before = answer_str(oldest, "id");
	/* Without its brackets. */
	page->members = (struct weft_str){ list.ptr + 1, list.len - 2 };
	page->next = there;
	return page;
}

int weft_hygge_list_session_memories(struct weft_store *store,
				     const char *session, size_t session_len,
				     struct weft_answer **ret,
				     struct weft_error *err)
{
	const struct memories *page = NULL;
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, before = STR("");

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	do {
		page = older_memories(&a, id, page, &before);
	} while (!a.error && before.len);
	buf_init(&out, 0);
	buf_add_c(&out, '[');
	for (; page; page = page->next) {
		buf_add_str(&out, page->members);
		if (page->next)
			buf_add_c(&out, ',');
	}
	buf_add_c(&out, ']');
	return ask_end(&a, &out, ret);
}

int weft_hygge_forget_session_memory(struct weft_store *store,
				     const char *session, size_t session_len,
				     const char *memory, size_t memory_len,
				     struct weft_answer **ret,
				     struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, which;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	which = ask_filled(&a, "memory", memory, memory_len);
	if (!a.error && text_is_blank(which))
		a.error = fail(a.err, WEFT_INVALID, "memory: may not be empty");
	ask_method(&a, "memory_forget");
	ask_add_text(&a, "scope", STR("session"));
	ask_add_text(&a, "session", id);
	ask_add_text(&a, "memory", which);
	return give_memory(&a, ret);
}

/* ---- todos ---- */

int weft_hygge_replace_session_todos(struct weft_store *store,
				     const char *session, size_t session_len,
				     const char *items, size_t items_len,
				     struct weft_answer **ret,
				     struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, json, answer;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	json = ask_json(&a, "items", items, items_len);
	if (str_eq(json, STR("null")))
		json = STR("[]");
	ask_about(&a, "todos_set", id);
	ask_add_raw(&a, "todos", json);
	answer = ask_answer(&a);
	buf_init(&out, 0);
	buf_add_str(&out, json_member(answer, "summary"));
	return ask_end(&a, &out, ret);
}

int weft_hygge_get_session_todos(struct weft_store *store, const char *session,
				 size_t session_len, struct weft_answer **ret,
				 struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	ask_method(&a, "todos");
	ask_add_text(&a, "session",
		     ask_id(&a, "session", session, session_len));
	return ask_call(&a, ret);
}

/* ---- parts ---- */

/* Everything that is wrong with parts is an invalid part. */
static int check_parts(struct weft_str json, struct buf *out,
		       struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_error why = { 0 };
	yyjson_val *root;
	int r = json_parse(json, NULL, &doc, &why);

	root = yyjson_doc_get_root(doc);
	if (r == WEFT_OK && (yyjson_is_null(root) ||
			     (yyjson_is_arr(root) && !yyjson_arr_size(root)))) {
		buf_add_lit(out, "[]");
		return WEFT_OK;
	}
	if (r == WEFT_OK)
		r = parts_check(root, "parts", PARTS_MAX, &why);
	if (r != WEFT_OK)
		return fail(err, r == WEFT_INVALID ? WEFT_INVALID_PART : r,
			    "%s", why.message);
	buf_add_one_line(out, json);
	return WEFT_OK;
}

static int parts(const char *json, size_t json_len, bool empty_is_none,
		 struct weft_answer **ret, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, NULL, err);
	ask_place(&a, ret);
	buf_init(&out, 0);
	if (!a.error && (!json || json_len == 0) && empty_is_none) {
		buf_add_lit(&out, "[]");
	} else if (!a.error && (!json || json_len > PTRDIFF_MAX)) {
		a.error = fail(a.err, WEFT_INVALID_PART, "parts: not a text");
	} else if (!a.error) {
		a.error = check_parts((struct weft_str){ json, json_len }, &out,
				      a.err);
	}
	return ask_end(&a, &out, ret);
}

int weft_hygge_marshal_parts(const char *json, size_t json_len,
			     struct weft_answer **ret, struct weft_error *err)
{
	return parts(json, json_len, true, ret, err);
}

int weft_hygge_unmarshal_parts(const char *json, size_t json_len,
			       struct weft_answer **ret, struct weft_error *err)
{
	return parts(json, json_len, false, ret, err);
}

/* ---- ids ---- */

int weft_hygge_new_id(char ret[WEFT_ID_CHARS + 2], struct weft_error *err)
{
	char text[WEFT_ID_CHARS + 2] = "";
	struct weft_id id;
	int r;

	if (!ret)
		return fail(err, WEFT_INVALID, "no place for the id");
	r = id_new(clock_now_ms(NULL), &id, err);
	if (r != WEFT_OK)
		return r;
	id_format(&id, text);
	memcpy(ret, text, sizeof(text));
	return WEFT_OK;
}
