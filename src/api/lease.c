/* lease.c - the method that gives out the right to write a session. */
#include "api/api.h"

#include "base/error.h"

static int lease_fill(struct call *c, struct request *q)
{
	struct weft_str op = call_str(c, "op");

	(void)lease_how_parse(call_str(c, "how"), &q->lease.how);
	q->lease.owner = arena_str(&q->arena, call_str(c, "owner"));
	q->token = call_u64(c, "token", 0);
	if (op.len)
		q->op = arena_str(&q->arena, op);
	if (call_has(c, "token") && q->token == 0)
		return fail(c->err, WEFT_INVALID,
			    "token: expected 1 or more, found 0");
	if (call_has(c, "ttl") && call_u64(c, "ttl", 0) == 0)
		return fail(c->err, WEFT_INVALID,
			    "ttl: expected 1 second or more, found 0");
	/* What is too long is refused later; this only has to fit. */
	q->lease_ms =
		(int64_t)u64_min(call_u64(c, "ttl", 0), UINT32_MAX) * 1000;
	return WEFT_OK;
}

static int method_lease(struct call *c)
{
	struct request *q;
	struct weft_id id;
	int r = call_session_id(c, &id);

	if (r != WEFT_OK)
		return r;
	q = request_new(REQUEST_LEASE, c->err);
	if (!q)
		return WEFT_NO_MEMORY;
	q->session = id;
	r = lease_fill(c, q);
	if (r != WEFT_OK) {
		request_free(q);
		return r;
	}
	r = call_run(c, q);
	if (r != WEFT_OK)
		return r;
	encode_lease(&c->out, &q->ret_lease);
	request_free(q);
	return WEFT_OK;
}

/* ---- the rows of the table ---- */

static const struct field fields_lease[] = {
	FIELD_SESSION,
	{ .name = "how",
	  .about =
		  "acquire it if nobody has it, renew or release one's own, or "
		  "takeover: from whoever has it",
	  .type = TYPE_CHOICE,
	  .values = "acquire|renew|release|takeover",
	  .required = 1 },
	{ .name = "owner",
	  .about = "who holds it: a name that nobody else uses; needed to "
		   "acquire and to take over",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "ttl",
	  .about = "for how many seconds; default lease_ms",
	  .type = TYPE_INTEGER },
	{ .name = "token",
	  .about = "the token of the lease to renew or release",
	  .type = TYPE_INTEGER },
	FIELD_OP,
};

static const struct method rows[] = {
	{ .name = "lease",
	  .about = "Give out the right to write a session: acquire, renew, "
		   "release, takeover.",
	  .answer = "the lease: `{\"owner\",\"token\",\"expires_at\"}`, all "
		    "null after release",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_lease),
	  .run = method_lease },
};

const struct method_group methods_lease = METHOD_GROUP(rows);
