/* drop.c - methods that drop events for good. */
#include "api/api.h"

#include "base/error.h"

static void encode_holds(struct buf *b, const struct drop_report *d)
{
	buf_add_lit(b, ",\"forks\":[");
	for (size_t i = 0; i < d->n_holds; i++) {
		const struct fork_hold *h = &d->holds[i];

		buf_add_str(b,
			    i ? STR(",{\"session\":") : STR("{\"session\":"));
		encode_id(b, &h->fork);
		buf_add_lit(b, ",\"of\":");
		encode_id(b, &h->of);
		buf_add_lit(b, ",\"events\":");
		buf_add_u64(b, h->events);
		buf_add_lit(b, ",\"bytes\":");
		buf_add_u64(b, h->bytes);
		buf_add_c(b, '}');
	}
	buf_add_c(b, ']');
}

static void encode_refused(struct buf *b, const struct drop_report *d)
{
	buf_add_lit(b, ",\"refused\":[");
	for (size_t i = 0; i < d->n_refused; i++) {
		const struct drop_refusal *x = &d->refused[i];

		buf_add_str(b,
			    i ? STR(",{\"session\":") : STR("{\"session\":"));
		encode_id(b, &x->session);
		buf_add_lit(b, ",\"code\":");
		buf_add_json(b, str_of(weft_code_name(x->err.code)));
		buf_add_lit(b, ",\"message\":");
		buf_add_json(b, str_of(x->err.message));
		buf_add_c(b, '}');
	}
	buf_add_c(b, ']');
}

static void encode_identities(struct buf *b, const struct drop_report *d)
{
	buf_add_lit(b, ",\"identities\":[");
	for (size_t i = 0; i < d->n_identities; i++) {
		const struct drop_identity *x = &d->identities[i];

		buf_add_str(b, i ? STR(",{\"id\":") : STR("{\"id\":"));
		buf_add_json(b, x->id);
		buf_add_lit(b, ",\"sessions\":");
		buf_add_u64(b, x->sessions);
		buf_add_lit(b, ",\"messages\":");
		buf_add_u64(b, x->messages);
		buf_add_c(b, '}');
	}
	buf_add_c(b, ']');
}

/* `person`: with what was found under which of their ids. */
static void encode_report(struct buf *b, const struct drop_report *d, bool dry,
			  bool person)
{
	buf_add_str(b,
		    dry ? STR("{\"dry_run\":true") : STR("{\"dry_run\":false"));
	buf_add_lit(b, ",\"sessions\":");
	buf_add_u64(b, d->sessions);
	buf_add_lit(b, ",\"events\":");
	buf_add_u64(b, d->events);
	buf_add_lit(b, ",\"bytes\":");
	buf_add_u64(b, d->bytes);
	buf_add_lit(b, ",\"blobs\":");
	buf_add_u64(b, d->blobs);
	encode_holds(b, d);
	encode_refused(b, d);
	if (person)
		encode_identities(b, d);
	buf_add_c(b, '}');
}

static int method_erase(struct call *c)
{
	struct drop_report report = { 0 };
	const uint64_t *targets = NULL;
	struct session_rec rec;
	size_t n = 0;
	int r = call_session(c, &rec);

	if (r == WEFT_OK)
		r = call_refs(c, &rec, &c->arena, &targets, &n);
	/* It may end in the middle, from here on. */
	c->written = r == WEFT_OK;
	if (r == WEFT_OK)
		r = engine_erase(c->engine, &rec.id, targets, n,
				 call_u64(c, "token", 0), &c->arena, &report,
				 c->err);
	if (r < 0)
		return r;
	buf_add_lit(&c->out, "{\"session\":");
	encode_id(&c->out, &rec.id);
	buf_add_lit(&c->out, ",\"messages\":[");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_add_c(&c->out, ',');
		buf_add_u64(&c->out, targets[i]);
	}
	buf_add_lit(&c->out, "],\"erased\":");
	buf_add_u64(&c->out, report.events);
	buf_add_lit(&c->out, ",\"bytes\":");
	buf_add_u64(&c->out, report.bytes);
	buf_add_lit(&c->out, ",\"blobs\":");
	buf_add_u64(&c->out, report.blobs);
	buf_add_c(&c->out, '}');
	return WEFT_OK;
}

static int method_reclaim(struct call *c)
{
	bool dry = call_bool(c, "dry_run");
	struct drop_report report = { 0 };
	struct weft_id id;
	int r = call_session_id(c, &id);

	c->written = r == WEFT_OK && !dry;
	if (r == WEFT_OK)
		r = engine_reclaim(c->engine, &id, call_u64(c, "token", 0), dry,
				   &c->arena, &report, c->err);
	if (r == WEFT_OK)
		encode_report(&c->out, &report, dry, false);
	return r;
}

static int method_purge(struct call *c)
{
	bool dry = call_bool(c, "dry_run");
	struct weft_str user = call_str(c, "user");
	struct drop_report report = { 0 };
	struct weft_id id;
	int r;

	if (call_has(c, "session") == call_has(c, "user"))
		return fail(c->err, WEFT_INVALID,
			    "session: either a session or a user must be "
			    "given");
	c->written = !dry;
	if (call_has(c, "user")) {
		r = engine_purge_user(c->engine, user, dry, &c->arena, &report,
				      c->err);
	} else {
		r = call_session_id(c, &id);
		if (r == WEFT_OK)
			r = engine_purge(c->engine, &id, 1,
					 call_u64(c, "token", 0), dry,
					 &c->arena, &report, c->err);
	}
	if (r == WEFT_OK)
		encode_report(&c->out, &report, dry, call_has(c, "user"));
	return r;
}

/* ---- the rows of the table ---- */

static const struct field fields_erase[] = {
	FIELD_SESSION,
	{ .name = "messages",
	  .about = "which ones",
	  .type = TYPE_REFS,
	  .required = 1 },
	FIELD_TOKEN,
};

#define FIELD_DRY_RUN                                                  \
	{                                                              \
		.name = "dry_run",                                     \
		.about = "only say what would go; nothing is changed", \
		.type = TYPE_BOOLEAN                                   \
	}

static const struct field fields_reclaim[] = {
	FIELD_SESSION,
	FIELD_DRY_RUN,
	FIELD_TOKEN,
};

static const struct field fields_purge[] = {
	{ .name = "session",
	  .about = "id, key, alias, slug, or beginning of an id",
	  .type = TYPE_LINE },
	{ .name = "user",
	  .about = "instead of a session: everything of this person; the "
		   "name of an identity link or one of its ids, "
		   "\"channel:id\", or the user that a program has given",
	  .type = TYPE_LINE },
	FIELD_DRY_RUN,
	FIELD_TOKEN,
};

#define ANSWER_DROPPED                                                       \
	"`{\"dry_run\",\"sessions\",\"events\",\"bytes\",\"blobs\","         \
	"\"forks\":[{\"session\",\"of\",\"events\",\"bytes\"}],"             \
	"\"refused\":[{\"session\",\"code\",\"message\"}]}`: what went, or " \
	"would go; which forks still hold how much of which session; what "  \
	"was "                                                               \
	"left alone, and why"

static const struct method rows[] = {
	{ .name = "erase",
	  .about = "Blank messages on the disk, for the session and all its "
		   "forks. This cannot be undone.",
	  .answer = "`{\"session\",\"messages\":[numbers],\"erased\","
		    "\"bytes\",\"blobs\"}`: how many were, the bytes of "
		    "their lines, and attachments that nothing else refers to",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_erase),
	  .run = method_erase },
	{ .name = "reclaim",
	  .about = "Drop the messages that neither the window nor a fork "
		   "needs. Undoing a marker then reaches only what is left.",
	  .answer = ANSWER_DROPPED,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_reclaim),
	  .run = method_reclaim },
	{ .name = "purge",
	  .about = "Drop a session and its subagents for good, or everything "
		   "of a person, by all ids that the configuration links: "
		   "their sessions and their book, and what they said in "
		   "groups and in the sessions of others.",
	  .answer = ANSWER_DROPPED
	  "; of a person also `\"identities\":[{\"id\",\"sessions\","
	  "\"messages\"}]`: what of it was found under which id",
	  .right = RIGHT_ADMIN,
	  FIELDS(fields_purge),
	  .run = method_purge },
};

const struct method_group methods_drop = METHOD_GROUP(rows);
