/* request.c - make requests, and check what needs no look at the store. */
#include <stdatomic.h>

#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/internal.h"
#include "model/body.h"

/* Room that comes with a request: enough for a message of 1 KB with its copy
 * and its body, so that most need no further memory. */
#define INLINE_BYTES 3584

/* What a request may hold; the limits of messages come first. */
#define REQUEST_BYTES_MAX MIB(256)

/* The request and the first room of its arena, in one allocation. */
struct request_block {
	struct request request;
	_Alignas(16) char room[INLINE_BYTES];
};

struct request *request_new(uint32_t kind, struct weft_error *err)
{
	struct request_block *b = mem_alloc(sizeof(*b));
	struct request *q;

	if (!b) {
		(void)fail_no_memory(err);
		return NULL;
	}
	q = &b->request;
	*q = (struct request){ .kind = kind, .expect = WEFT_NO_EXPECT };
	arena_init(&q->arena, REQUEST_BYTES_MAX);
	q->arena.next = b->room;
	q->arena.room = sizeof(b->room);
	return q;
}

void request_free(struct request *q)
{
	if (!q)
		return;
	arena_done(&q->arena);
	mem_free(q);
}

/* ---- rules ---- */

int request_check_name(struct weft_str name, const char *field,
		       const struct store_limits *limits,
		       struct weft_error *err)
{
	struct weft_id id;
	int r;

	if (!name.len)
		return fail(err, WEFT_INVALID, "%s: must not be empty", field);
	r = text_check_line(name, limits->name_bytes, field, err);
	if (r < 0)
		return r;
	/* It would hide the session that has this id, or be hidden by it. */
	if (id_parse(name, &id))
		return fail(err, WEFT_INVALID,
			    "%s: '%.*s' looks like the id of a session, as no "
			    "name may",
			    field, STR_ARG(name));
	return WEFT_OK;
}

static int check_kind(struct session_rec *rec, struct weft_error *err)
{
	bool has_parent = !id_is_zero(&rec->parent);

	if (rec->kind == 0)
		rec->kind = KIND_PRIMARY;
	if (rec->kind > KIND_BOOK)
		return fail(err, WEFT_INVALID, "kind: unknown");
	if (rec->kind == KIND_SUBAGENT && !has_parent)
		return fail(err, WEFT_INVALID,
			    "parent: a subagent must have one");
	if (rec->kind != KIND_SUBAGENT && has_parent)
		return fail(err, WEFT_INVALID,
			    "parent: only a subagent has one");
	if (rec->parent_tool_use_id.len && !has_parent)
		return fail(err, WEFT_INVALID,
			    "parent_tool_use_id: there is no parent");
	return WEFT_OK;
}

static int check_create(struct request *q, const struct store_limits *limits,
			struct weft_error *err)
{
	struct session_rec *rec = &q->create;
	int r = check_kind(rec, err);

	if (r == WEFT_OK && rec->key.len)
		r = request_check_name(rec->key, "key", limits, err);
	for (size_t i = 0; i < q->n_aliases && r == WEFT_OK; i++)
		r = request_check_name(q->aliases[i], "alias", limits, err);
	if (r == WEFT_OK && q->n_aliases + (rec->key.len != 0) > limits->names)
		r = fail(err, WEFT_LIMIT,
			 "a session has at most %llu names (limit names)",
			 (unsigned long long)limits->names);
	if (r == WEFT_OK)
		r = body_session_check(rec, limits, err);
	return r;
}

static int check_count(size_t n, const char *what,
		       const struct store_limits *limits,
		       struct weft_error *err)
{
	if (n == 0)
		return fail(err, WEFT_INVALID, "no %s given", what);
	if (n > limits->batch_messages)
		return fail(err, WEFT_LIMIT,
			    "%zu %s at once, the limit is %llu (limit "
			    "batch_messages)",
			    n, what,
			    (unsigned long long)limits->batch_messages);
	return WEFT_OK;
}

static int check_lease(struct request *q, const struct store_limits *limits,
		       struct weft_error *err)
{
	bool begins =
		q->lease.how == LEASE_ACQUIRE || q->lease.how == LEASE_TAKEOVER;
	int64_t low = (int64_t)limits->lease_ms_min;
	int64_t high = (int64_t)limits->lease_ms_max;

	if (begins && !q->lease.owner.len)
		return fail(err, WEFT_INVALID, "owner: may not be empty");
	if (!begins && !q->lease.owner.len && !q->token)
		return fail(err, WEFT_INVALID,
			    "token: needed to %s a lease, or at least its "
			    "owner",
			    lease_how_name(q->lease.how));
	if (q->lease_ms == 0)
		q->lease_ms = (int64_t)limits->lease_ms;
	if (q->lease_ms < low || q->lease_ms > high)
		return fail(err, WEFT_INVALID,
			    "ttl: expected %.6g to %.6g seconds, found %.9g "
			    "(limits lease_ms_min and lease_ms_max)",
			    (double)low / 1000, (double)high / 1000,
			    (double)q->lease_ms / 1000);
	return text_check_line(q->lease.owner, (size_t)limits->name_bytes,
			       "owner", err);
}

static int check_marker(const struct request *q,
			const struct store_limits *limits,
			struct weft_error *err)
{
	if (q->marker.summary.len > limits->message_bytes)
		return fail(err, WEFT_LIMIT,
			    "summary: %zu bytes, the limit is %llu (limit "
			    "message_bytes)",
			    q->marker.summary.len,
			    (unsigned long long)limits->message_bytes);
	if (!text_is_utf8(q->marker.summary))
		return fail(err, WEFT_INVALID, "summary: is not UTF-8");
	/* The marker is one event of the group. */
	if (q->n_messages >= limits->batch_messages)
		return fail(err, WEFT_LIMIT,
			    "%zu messages at once, the limit is %llu "
			    "(limit "
			    "batch_messages)",
			    q->n_messages,
			    (unsigned long long)limits->batch_messages - 1);
	return WEFT_OK;
}

int request_check(struct request *q, const struct store_limits *limits,
		  struct weft_error *err)
{
	int r = text_check_line(q->op, (size_t)limits->op_bytes, "op", err);

	if (r < 0)
		return r;
	switch ((enum request_kind)q->kind) {
	case REQUEST_CREATE:
	case REQUEST_ROUTE:
		return check_create(q, limits, err);
	case REQUEST_APPEND:
		return check_count(q->n_messages, "messages", limits, err);
	case REQUEST_REDACT:
		return check_count(q->n_targets, "messages", limits, err);
	case REQUEST_NAME:
		return request_check_name(q->name, "name", limits, err);
	case REQUEST_LEASE:
		return check_lease(q, limits, err);
	case REQUEST_FORK:
		return body_session_check(&q->create, limits, err);
	case REQUEST_MARKER:
		return check_marker(q, limits, err);
	case REQUEST_PATCH:
	case REQUEST_DELETE:
	case REQUEST_RESTORE:
	case REQUEST_RESET:
	case REQUEST_PLAIN:
	case REQUEST_PURGE:
	case REQUEST_REWRITE:
		break;
	}
	return WEFT_OK;
}
