/*
 * Lines of a session's file: any bytes can be read, and what is sealed is
 * read back as it was.
 */
#include "fuzz.h"

#include <assert.h>

#include "base/id.h"
#include "base/json.h"
#include "model/derive.h"
#include "model/event.h"

static const struct weft_id session = { { 1, 0x93, 0x2e, 0x5f, 0xa2, 0, 1, 2, 3,
					  4, 5, 6, 7, 8, 9, 10 } };

/* Seal an event that was read or made up, and find it unchanged. */
static void seal_and_read(struct store_event *e, struct arena *a)
{
	struct store_event back;

	assert(event_seal(e, a, NULL) == WEFT_OK);
	assert(e->bytes.ptr[e->bytes.len] == '\n');
	assert(event_peek_seq(e->bytes) == e->seq);
	for (int again = 0; again < 2; again++) {
		if (again)
			event_read_again(&session, e->bytes, a, &back);
		else
			event_read(&session, e->bytes, a, &back);
		assert(back.state ==
		       (e->type == EVENT_GONE ? STATE_GONE : STATE_OK));
		assert(back.seq == e->seq && back.marker == e->marker);
		assert(back.said == e->said);
		assert(back.ts_ms == e->ts_ms && back.at_ms == e->at_ms);
		assert(back.type == e->type && back.more == e->more);
		assert(!back.background == !e->background);
		assert(id_eq(&back.id, &e->id));
		assert(str_eq(back.op, e->op) && str_eq(back.body, e->body));
		assert(str_eq(back.bytes, e->bytes));
	}
}

/* Whatever it was made from, a line is one object without a member twice. */
static void check_json(struct weft_str line)
{
	yyjson_doc *doc;

	assert(json_parse(line, NULL, &doc, NULL) == WEFT_OK);
	assert(yyjson_is_obj(yyjson_doc_get_root(doc)));
	yyjson_doc_free(doc);
}

static void read_any(struct weft_str line, struct arena *a)
{
	struct op_list ops = { .arena = a };
	struct session_rec rec = { .kind = 0 };
	struct file_line file;
	struct store_event e;

	(void)file_line_read(line, &file);
	event_read_again(&session, line, a, &e);
	event_read(&session, line, a, &e);
	assert(!a->failed);
	if (e.state == STATE_DAMAGED) {
		assert(e.seq == 0 && e.body.len == 0);
		return;
	}
	assert(e.seq > 0 && e.last >= e.seq);
	assert(!memchr(e.bytes.ptr, '\n', e.bytes.len) || e.state == STATE_OK);
	assert(derive_event(&rec, &e, NULL, &ops, NULL) == WEFT_OK);
	assert(rec.head_seq == e.last);
	if (e.state == STATE_ALTERED || e.state == STATE_UNSEALED)
		check_json(e.bytes);
	seal_and_read(&e, a);
}

/* The first bytes choose the common fields, the next ones the operation id;
 * the rest is a part of the body. */
static void make_up(const uint8_t *data, size_t size, struct arena *a)
{
	struct store_event e = { .session = session };
	struct weft_str rest;
	size_t op_len;

	if (size < 12)
		return;
	e.seq = 1 + get_le32(data) % 1000000;
	e.ts_ms = (int64_t)get_le32(data + 4) * 100;
	e.type = 1 + data[8] % (EVENT_TYPES - 1);
	e.marker = data[9] % 3;
	e.said = data[9] / 3;
	e.more = data[10] & 1 ? data[10] : 0;
	e.at_ms = data[10] & 2 ? e.ts_ms - 5000000000000 : 0;
	e.background = data[10] >> 2 & 1;
	rest = (struct weft_str){ (const char *)data + 12, size - 12 };
	op_len = data[11] < rest.len ? data[11] : rest.len;
	e.op = (struct weft_str){ rest.ptr, op_len };
	rest = str_skip(rest, op_len);
	e.body = arena_printf(a, "\"a\":%.*s", STR_ARG(rest));
	seal_and_read(&e, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;

	arena_init(&a, 0);
	read_any((struct weft_str){ (const char *)data, size }, &a);
	make_up(data, size, &a);
	arena_done(&a);
	return 0;
}
