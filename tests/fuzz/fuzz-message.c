/*
 * What callers give as a message or as a change: whatever is taken makes a
 * body of one line of valid JSON that says the same when it is read again.
 */
#include "fuzz.h"

#include <assert.h>

#include "base/hash.h"
#include "base/json.h"
#include "model/blob.h"
#include "model/body.h"
#include "model/derive.h"
#include "model/event.h"
#include "model/message.h"
#include "model/record.h"

static const struct store_limits limits = {
	.message_bytes = KIB(64),
	.parts = 16,
	.json_depth = 128,
	.name_bytes = 64,
	.slug_bytes = 32,
	.metadata_bytes = 256,
	.op_bytes = 16,
	.blob_bytes = 8,
};

static const struct weft_id session = { { 1, 2, 3 } };

/* One line of JSON in braces, and readable in a line. */
static struct store_event check_body(struct weft_str body, uint32_t type,
				     struct arena *a)
{
	struct store_event e = {
		.session = session,
		.seq = 2,
		.ts_ms = 1,
		.type = type,
		.body = body,
	};
	struct weft_str object =
		arena_printf(a, "{%.*s}", (int)body.len, body.ptr);
	struct store_event back;
	yyjson_doc *doc;

	assert(!memchr(body.ptr, '\n', body.len));
	assert(!memchr(body.ptr, '\r', body.len));
	assert(json_parse(object, NULL, &doc, NULL) == WEFT_OK);
	assert(yyjson_is_obj(yyjson_doc_get_root(doc)));
	yyjson_doc_free(doc);
	assert(event_seal(&e, a, NULL) == WEFT_OK);
	event_read(&session, e.bytes, a, &back);
	assert(back.state == STATE_OK && str_eq(back.body, body));

	/* Without its checksum it is still readable. */
	event_read(&session,
		   arena_printf(a, "%.*s}",
				(int)(e.bytes.len - EVENT_CRC_CHARS),
				e.bytes.ptr),
		   a, &back);
	assert(back.state == STATE_UNSEALED && str_eq(back.body, body));
	return e;
}

/* Blobs that were put, by their hash. */
struct shelf {
	struct shelf *next;
	struct blob_ref ref;
	struct weft_str bytes;
};

struct shelves {
	struct shelf *first;
	struct arena *arena;
};

static int put(void *ctx, struct weft_str bytes, struct blob_ref *ret,
	       struct weft_error *err)
{
	struct shelves *all = ctx;
	struct shelf *s = ARENA_NEW(all->arena, struct shelf);

	s->next = all->first;
	s->bytes = arena_str(all->arena, bytes);
	s->ref.bytes = bytes.len;
	assert(sha256(bytes, s->ref.sha256, err) == WEFT_OK);
	all->first = s;
	*ret = s->ref;
	return WEFT_OK;
}

static int get(void *ctx, const struct blob_ref *ref, struct arena *a,
	       struct weft_str *ret, struct weft_error *err)
{
	const struct shelves *all = ctx;

	(void)a;
	(void)err;
	for (const struct shelf *s = all->first; s; s = s->next) {
		if (memcmp(&s->ref, ref, sizeof(*ref)) == 0) {
			*ret = s->bytes;
			return WEFT_OK;
		}
	}
	return WEFT_NOT_FOUND;
}

static void same_json(struct weft_str x, struct weft_str y, struct arena *a)
{
	yyjson_doc *one, *other;

	assert(json_parse(arena_printf(a, "{%.*s}", (int)x.len, x.ptr), NULL,
			  &one, NULL) == WEFT_OK);
	assert(json_parse(arena_printf(a, "{%.*s}", (int)y.len, y.ptr), NULL,
			  &other, NULL) == WEFT_OK);
	assert(yyjson_equals(yyjson_doc_get_root(one),
			     yyjson_doc_get_root(other)));
	yyjson_doc_free(one);
	yyjson_doc_free(other);
}

/* What is kept apart comes back, and what is lost is said. */
static void check_packed(struct message *m, struct arena *a)
{
	struct shelves all = { .arena = a };
	struct blob_place place = { put, get, &all };
	struct weft_str given = m->body, whole;
	struct message_facts facts;

	assert(message_pack(m, &limits, &place, a, NULL) == WEFT_OK);
	assert(blob_is_packed(m->body, STATE_OK) == (m->facts.blobs.n > 0));
	(void)check_body(m->body, EVENT_MESSAGE, a);
	assert(message_facts_read(m->body, a, &facts, NULL) == WEFT_OK);
	assert(facts.blobs.n == m->facts.blobs.n);
	assert(str_eq(facts.text, m->facts.text));
	assert(blob_unpack(m->body, MIB(1), &place, a, &whole, NULL) ==
	       WEFT_OK);
	same_json(whole, given, a);
	all.first = NULL;
	assert(blob_unpack(m->body, MIB(1), &place, a, &whole, NULL) ==
	       WEFT_OK);
	assert(!blob_is_packed(whole, STATE_OK));
	(void)check_body(whole, EVENT_MESSAGE, a);
}

static void check_message(struct weft_str json, struct arena *a)
{
	struct message_facts facts;
	struct weft_error err = { .code = 0 };
	struct message m;
	int r = message_check(json, &limits, a, &m, &err);

	if (r != WEFT_OK) {
		assert(r == WEFT_INVALID || r == WEFT_INVALID_PART ||
		       r == WEFT_UNKNOWN_PART_KIND || r == WEFT_LIMIT);
		assert(err.code == r && err.message[0]);
		return;
	}
	(void)check_body(m.body, EVENT_MESSAGE, a);
	assert(message_facts_read(m.body, a, &facts, NULL) == WEFT_OK);
	assert(facts.role == m.facts.role && facts.role != 0);
	assert(facts.starts_turn == m.facts.starts_turn);
	assert(facts.has_usage == m.facts.has_usage);
	assert(memcmp(&facts.usage, &m.facts.usage, sizeof(facts.usage)) == 0);
	assert(str_eq(facts.text, m.facts.text));
	assert(m.op.len <= limits.op_bytes);
	check_packed(&m, a);
}

/* A change that was made leaves nothing to be changed. */
static void check_patch(struct weft_str json, struct arena *a)
{
	struct session_rec rec = { .head_seq = 1, .id = session };
	struct op_list ops = { .arena = a };
	struct store_event e;
	struct buf b;

	buf_init(&b, KIB(256));
	if (body_patch(json, &rec, &limits, &b, a, NULL) == WEFT_OK && b.len) {
		e = check_body(arena_str(a, buf_str(&b)), EVENT_PATCH, a);
		assert(derive_event(&rec, &e, NULL, &ops, NULL) == WEFT_OK);
		buf_reset(&b);
		assert(body_patch(json, &rec, &limits, &b, a, NULL) == WEFT_OK);
		assert(b.len == 0);
	}
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct weft_str json = { (const char *)data, size };
	struct arena a;

	arena_init(&a, 0);
	check_message(json, &a);
	check_patch(json, &a);
	arena_done(&a);
	return 0;
}
