/* pico.c - PicoClaw's SessionStore: nine calls by key. */
#include "weft/compat.h"

#include "base/error.h"
#include "base/json.h"
#include "compat/ask.h"
#include "interop/pico_message.h"

int weft_pico_get_or_create(struct weft_store *store, const char *key,
			    size_t key_len, struct weft_answer **ret,
			    struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str k;

	k = ask_by_key(&a, store, key, key_len, err);
	ask_place(&a, ret);
	ask_method(&a, "new");
	ask_add_text(&a, "key", k);
	return ask_call(&a, ret);
}

int weft_pico_add_message(struct weft_store *store, const char *key,
			  size_t key_len, const char *role, size_t role_len,
			  const char *content, size_t content_len,
			  struct weft_error *err)
{
	CLEANUP(buf_done) struct buf json = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str k, who, what;

	k = ask_by_key(&a, store, key, key_len, err);
	who = ask_filled(&a, "role", role, role_len);
	what = ask_text(&a, "content", content, content_len);
	buf_init(&json, 0);
	buf_add_lit(&json, "{\"role\":");
	buf_add_json(&json, who);
	buf_add_lit(&json, ",\"content\":");
	buf_add_json(&json, what);
	buf_add_c(&json, '}');
	return ask_append(&a, ask_named_or_new(&a, k), &json);
}

int weft_pico_add_full_message(struct weft_store *store, const char *key,
			       size_t key_len, const char *message,
			       size_t message_len, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf json = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str k, m;
	bool thought = false;

	k = ask_by_key(&a, store, key, key_len, err);
	m = ask_json(&a, "message", message, message_len);
	buf_init(&json, 0);
	if (!a.error)
		a.error = pico_message_in(m, &json, &thought, a.err);
	if (a.error || thought)
		return a.error;
	return ask_append(&a, ask_named_or_new(&a, k), &json);
}

int weft_pico_get_history(struct weft_store *store, const char *key,
			  size_t key_len, struct weft_answer **ret,
			  struct weft_error *err)
{
	CLEANUP(buf_done) struct buf all = { 0 };
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, one;
	size_t pos = 0;

	id = ask_named(&a, ask_by_key(&a, store, key, key_len, err));
	ask_place(&a, ret);
	buf_init(&all, 0);
	buf_init(&out, 0);
	buf_add_c(&all, '[');
	if (id.len)
		ask_messages(&a, id, "window", &all, NULL);
	buf_add_c(&all, ']');
	buf_add_c(&out, '[');
	if (!a.error)
		a.error = buf_error(&all, a.err);
	while (!a.error && json_next_element(buf_str(&all), &pos, &one))
		a.error = pico_message_out(one, &out, a.err);
	buf_add_c(&out, ']');
	return ask_end(&a, &out, ret);
}

/* Their messages as ours, without the thoughts. */
static void translate(struct ask *a, struct weft_str json, struct buf *out)
{
	struct weft_str one;
	size_t pos = 0, n = 0;

	if (!a->error && (json.len == 0 || json.ptr[0] != '['))
		a->error = fail(a->err, WEFT_INVALID,
				"messages: expected an array");
	buf_add_c(out, '[');
	while (!a->error && json_next_element(json, &pos, &one)) {
		size_t before = out->len;
		bool thought;

		n++;
		if (before > 1)
			buf_add_c(out, ',');
		a->error = pico_message_in(one, out, &thought, a->err);
		if (a->error)
			a->error =
				fail_prefix(a->err, a->error, "message %zu", n);
		if (thought)
			out->len = before;
	}
	buf_add_c(out, ']');
	if (!a->error)
		a->error = buf_error(out, a->err);
}

int weft_pico_set_history(struct weft_store *store, const char *key,
			  size_t key_len, const char *messages,
			  size_t messages_len, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf all = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str k, json, id;

	k = ask_by_key(&a, store, key, key_len, err);
	json = ask_json(&a, "messages", messages, messages_len);
	buf_init(&all, 0);
	translate(&a, json, &all);
	id = ask_named_or_new(&a, k);
	ask_about(&a, "set_history", id);
	ask_add_raw(&a, "messages", buf_str(&all));
	return ask_do(&a);
}

int weft_pico_get_summary(struct weft_store *store, const char *key,
			  size_t key_len, struct weft_answer **ret,
			  struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, summary = STR("\"\"");

	id = ask_named(&a, ask_by_key(&a, store, key, key_len, err));
	ask_place(&a, ret);
	if (id.len) {
		ask_about(&a, "show", id);
		summary = json_member(ask_answer(&a), "summary");
	}
	buf_init(&out, 0);
	buf_add_str(&out, summary);
	return ask_end(&a, &out, ret);
}

int weft_pico_set_summary(struct weft_store *store, const char *key,
			  size_t key_len, const char *summary,
			  size_t summary_len, struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str k, s, id;

	k = ask_by_key(&a, store, key, key_len, err);
	s = ask_text(&a, "summary", summary, summary_len);
	id = ask_named_or_new(&a, k);
	ask_about(&a, "set_summary", id);
	ask_add_any(&a, "summary", s);
	return ask_do(&a);
}

int weft_pico_truncate_history(struct weft_store *store, const char *key,
			       size_t key_len, int64_t keep_last,
			       struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str id;

	id = ask_named(&a, ask_by_key(&a, store, key, key_len, err));
	if (a.error || !id.len)
		return a.error;
	ask_about(&a, "truncate", id);
	ask_add_u64(&a, "keep", keep_last > 0 ? (uint64_t)keep_last : 0);
	return ask_do(&a);
}

/* A change that changes nothing goes through the queue behind all others. */
int weft_pico_save(struct weft_store *store, const char *key, size_t key_len,
		   struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str id;

	id = ask_named(&a, ask_by_key(&a, store, key, key_len, err));
	if (a.error || !id.len)
		return a.error;
	ask_about(&a, "set", id);
	ask_add_raw(&a, "changes", STR("{}"));
	return ask_do(&a);
}
