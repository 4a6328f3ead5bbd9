/*
 * plan_asked.c - what a request with an operation id had asked for.
 *
 * DESIGN: what an act writes depends on what was there before: a patch leaves
 * out what would change nothing, a marker has a number where "the last three"
 * was asked for.  So the event alone cannot tell whether the same operation id
 * comes with the same request again.  It gets a digest of the request, as the
 * last member of its body.  Messages and plain events need none: their bodies
 * are what was asked for.  Nor do requests that ask for nothing but their kind.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/json.h"
#include "engine/plan.h"
#include "model/body.h"

#define DIGEST_BYTES 16
#define DIGEST_CHARS (2 * DIGEST_BYTES)
#define DIGEST_NAME  ",\"asked\":\""

static void add_number(struct buf *b, uint64_t n)
{
	buf_add_c(b, ',');
	buf_add_u64(b, n);
}

static void add_text(struct buf *b, struct weft_str s)
{
	buf_add_c(b, ',');
	buf_add_json(b, s);
}

static void add_creation(struct buf *b, const struct request *q)
{
	buf_add_c(b, ',');
	body_session(b, &q->create, 0);
	for (size_t i = 0; i < q->n_aliases; i++)
		add_text(b, q->aliases[i]);
}

static void add_fork(struct buf *b, const struct request *q)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(&q->session, id);
	add_text(b, str_of(id));
	add_number(b, q->fork_at);
	add_text(b, q->create.slug);
	add_text(b, q->create.model_provider);
	add_text(b, q->create.model_name);
}

static void add_marker(struct buf *b, const struct marker_ask *ask)
{
	add_number(b, ask->how);
	add_number(b, ask->redo);
	add_number(b, ask->keep);
	add_number(b, ask->before);
	add_number(b, ask->at_turn);
	add_number(b, ask->has_summary);
	add_text(b, ask->summary);
	add_number(b, ask->tokens_saved);
}

static void add_lease(struct buf *b, const struct request *q)
{
	add_number(b, q->lease.how);
	add_text(b, q->lease.owner);
	add_number(b, q->token);
	add_number(b, (uint64_t)q->lease_ms);
}

static void add_targets(struct buf *b, const struct request *q)
{
	add_number(b, q->undo);
	for (size_t i = 0; i < q->n_targets; i++)
		add_number(b, q->targets[i]);
}

/*
 * Everything that the request says, in one form; false if its event says it
 * all.  The form stays as it is: with another one, requests that were answered
 * before would be refused as others.
 */
static bool add_asked(struct buf *b, const struct request *q)
{
	buf_add_u64(b, q->kind);
	switch ((enum request_kind)q->kind) {
	case REQUEST_CREATE:
		add_creation(b, q);
		return true;
	case REQUEST_FORK:
		add_fork(b, q);
		return true;
	case REQUEST_PATCH:
		buf_add_one_line(b, q->patch);
		return true;
	case REQUEST_NAME:
		add_number(b, q->name_how);
		add_text(b, q->name);
		return true;
	case REQUEST_REDACT:
		add_targets(b, q);
		return true;
	case REQUEST_MARKER:
		add_marker(b, &q->marker);
		return true;
	case REQUEST_LEASE:
		add_lease(b, q);
		return true;
	case REQUEST_APPEND:
	case REQUEST_PLAIN:
	case REQUEST_DELETE:
	case REQUEST_RESTORE:
	case REQUEST_RESET:
	case REQUEST_ROUTE:
	case REQUEST_PURGE:
	case REQUEST_REWRITE:
		break;
	}
	return false;
}

/* As hexadecimal digits; none if there is no need for them. */
static int digest(struct plan *p, const struct request *q,
		  char ret[DIGEST_CHARS + 1], struct weft_error *err)
{
	unsigned char hash[SHA256_BYTES];
	struct buf *b = &p->body;
	size_t start = b->len; /* an event may stand there already */
	bool needed = add_asked(b, q);
	int r = buf_error(b, err);

	ret[0] = '\0';
	if (r == WEFT_OK && needed)
		r = sha256((struct weft_str){ b->ptr + start, b->len - start },
			   hash, err);
	if (r == WEFT_OK && needed)
		hex_format(hash, DIGEST_BYTES, ret);
	if (r == WEFT_OK)
		b->len = start;
	return r;
}

int plan_add_asked(struct plan *p, struct plan_session *s, uint32_t type,
		   const struct request *q, uint32_t more,
		   struct weft_error *err)
{
	char hex[DIGEST_CHARS + 1] = "";
	int r = q->op.len ? digest(p, q, hex, err) : WEFT_OK;

	if (r < 0)
		return r;
	if (hex[0]) {
		buf_add_lit(&p->body, DIGEST_NAME);
		buf_add_str(&p->body, (struct weft_str){ hex, DIGEST_CHARS });
		buf_add_c(&p->body, '"');
	}
	return plan_add_body(p, s, type, q->op, more, err);
}

/* The digits at the end of a body; nothing if there are none. */
static struct weft_str digest_of(struct weft_str body)
{
	const size_t name_len = sizeof(DIGEST_NAME) - 1;
	const size_t len = name_len + DIGEST_CHARS + 1;
	const char *at;

	if (body.len < len)
		return (struct weft_str){ NULL, 0 };
	at = body.ptr + body.len - len;
	if (memcmp(at, DIGEST_NAME, name_len) != 0)
		return (struct weft_str){ NULL, 0 };
	return (struct weft_str){ at + name_len, DIGEST_CHARS };
}

int plan_was_asked(struct plan *p, const struct request *q,
		   const struct store_event *e, bool *ret_told, bool *ret,
		   struct weft_error *err)
{
	struct weft_str said = digest_of(e->body);
	char hex[DIGEST_CHARS + 1];
	int r;

	*ret_told = said.len != 0;
	*ret = false;
	if (!said.len)
		return WEFT_OK;
	buf_reset(&p->body);
	r = digest(p, q, hex, err);
	*ret = r == WEFT_OK && str_eq(said, str_of(hex));
	return r;
}
