/*
 * encode.c - the shapes that programs rely on: session, message, event.
 *
 * Every member of a shape is always there, null or empty where there is
 * nothing to say.
 */
#include "api/api.h"

#include "base/clock.h"
#include "base/id.h"
#include "model/event.h"
#include "model/record.h"
#include "model/turn.h"

#define NANO UINT64_C(1000000000)

/* Members: a comma, the name, and a value of some kind. */
#define MEMBER(b, name) buf_add_lit((b), ",\"" name "\":")

void encode_id(struct buf *b, const struct weft_id *id)
{
	char text[WEFT_ID_CHARS + 1];

	if (id_is_zero(id)) {
		buf_add_lit(b, "null");
		return;
	}
	id_format(id, text);
	buf_add_c(b, '"');
	buf_add(b, text, WEFT_ID_CHARS);
	buf_add_c(b, '"');
}

void encode_time(struct buf *b, int64_t ms)
{
	char text[TIME_CHARS + 1];

	if (ms == 0) {
		buf_add_lit(b, "null");
		return;
	}
	time_format(ms, text);
	buf_add_c(b, '"');
	buf_add(b, text, TIME_CHARS);
	buf_add_c(b, '"');
}

void encode_text_or_null(struct buf *b, struct weft_str s)
{
	if (s.len == 0)
		buf_add_lit(b, "null");
	else
		buf_add_json(b, s);
}

static void encode_json_or(struct buf *b, struct weft_str json,
			   struct weft_str otherwise)
{
	buf_add_str(b, json.len ? json : otherwise);
}

static void encode_bool(struct buf *b, bool yes)
{
	buf_add_str(b, yes ? STR("true") : STR("false"));
}

void encode_nano(struct buf *b, uint64_t nano)
{
	char digits[16];
	int n = 9;

	buf_add_u64(b, nano / NANO);
	nano %= NANO;
	if (nano == 0)
		return;
	(void)snprintf(digits, sizeof(digits), ".%09llu",
		       (unsigned long long)nano);
	while (digits[n] == '0')
		n--;
	buf_add(b, digits, (size_t)n + 1);
}

void encode_totals(struct buf *b, const struct totals *t)
{
	buf_add_lit(b, "{\"input_tokens\":");
	buf_add_u64(b, t->input_tokens);
	MEMBER(b, "output_tokens");
	buf_add_u64(b, t->output_tokens);
	MEMBER(b, "cache_read_tokens");
	buf_add_u64(b, t->cache_read_tokens);
	MEMBER(b, "cache_write_tokens");
	buf_add_u64(b, t->cache_write_tokens);
	MEMBER(b, "cost_usd");
	encode_nano(b, t->cost_nano);
	MEMBER(b, "unpriced");
	buf_add_u64(b, t->unpriced);
	buf_add_c(b, '}');
}

/* The names besides the key. */
static void encode_aliases(struct buf *b, const struct session_names *names)
{
	bool first = true;

	buf_add_c(b, '[');
	for (size_t i = 0; i < names->n; i++) {
		if (names->v[i].kind != NAME_ALIAS)
			continue;
		if (!first)
			buf_add_c(b, ',');
		first = false;
		buf_add_json(b, names->v[i].name);
	}
	buf_add_c(b, ']');
}

/*
 * The names of sessions that have aliases: most have none, and are left empty.
 * A list asks once for all of its sessions.
 */
static int find_names(struct call *c, const struct session_rec *v, size_t n,
		      struct session_names *out)
{
	struct session_names *found =
		ARENA_ARRAY(&c->arena, struct session_names, n);
	struct weft_id *ids = ARENA_ARRAY(&c->arena, struct weft_id, n);
	size_t n_ids = 0;
	int r = WEFT_OK;

	if (!found || !ids)
		return arena_error(&c->arena, c->err);
	for (size_t i = 0; i < n; i++) {
		if (v[i].aliased)
			ids[n_ids++] = v[i].id;
	}
	if (n_ids > 0)
		r = c->store->ops->get_names_of(c->store, ids, n_ids, &c->arena,
						found, c->err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		out[i] = v[i].aliased ? *found++ : (struct session_names){ 0 };
	return r;
}

static void encode_origin(struct buf *b, const struct session_rec *rec)
{
	MEMBER(b, "previous");
	encode_id(b, &rec->previous);
	MEMBER(b, "kind");
	buf_add_json(b, str_of(session_kind_name(rec->kind)));
	MEMBER(b, "parent");
	encode_id(b, &rec->parent);
	MEMBER(b, "forked_from");
	encode_id(b, &rec->forked_from);
	MEMBER(b, "fork_seq");
	if (rec->fork_seq)
		buf_add_u64(b, rec->fork_seq);
	else
		buf_add_lit(b, "null");
	MEMBER(b, "parent_tool_use_id");
	encode_text_or_null(b, rec->parent_tool_use_id);
	MEMBER(b, "root");
	encode_id(b, id_is_zero(&rec->root) ? &rec->id : &rec->root);
}

static void encode_settings(struct buf *b, const struct session_rec *rec,
			    const struct window *w)
{
	MEMBER(b, "agent");
	buf_add_json(b, rec->agent);
	MEMBER(b, "slug");
	buf_add_json(b, rec->slug);
	MEMBER(b, "project_dir");
	buf_add_json(b, rec->project_dir);
	buf_add_lit(b, ",\"model\":{\"provider\":");
	buf_add_json(b, rec->model_provider);
	MEMBER(b, "name");
	buf_add_json(b, rec->model_name);
	buf_add_c(b, '}');
	MEMBER(b, "scope");
	encode_json_or(b, rec->scope, STR("null"));
	MEMBER(b, "user");
	buf_add_json(b, rec->user);
	MEMBER(b, "channel");
	buf_add_json(b, rec->channel);
	MEMBER(b, "user_role");
	buf_add_json(b, rec->user_role);
	MEMBER(b, "tools");
	encode_json_or(b, rec->tools, STR("null"));
	MEMBER(b, "summary");
	buf_add_json(b, w->summary);
	MEMBER(b, "metadata");
	encode_json_or(b, rec->metadata, STR("{}"));
	MEMBER(b, "pinned");
	encode_bool(b, rec->pinned != 0);
}

static void encode_counts(struct buf *b, const struct session_rec *rec,
			  const struct window *w)
{
	MEMBER(b, "head_seq");
	buf_add_u64(b, rec->head_seq);
	MEMBER(b, "content_seq");
	buf_add_u64(b, rec->content_seq);
	MEMBER(b, "window_seq");
	buf_add_u64(b, w->first_kept);
	MEMBER(b, "message_count");
	buf_add_u64(b, rec->message_count);
	MEMBER(b, "inherited_count");
	buf_add_u64(b, rec->inherited_count);
	MEMBER(b, "turn_count");
	buf_add_u64(b, rec->turn_count);
	MEMBER(b, "own");
	encode_totals(b, &rec->own);
	MEMBER(b, "total");
	encode_totals(b, &rec->total);
	MEMBER(b, "first_user");
	buf_add_json(b, rec->first_user);
	MEMBER(b, "last_user");
	buf_add_json(b, rec->last_user);
	MEMBER(b, "last_agent");
	buf_add_json(b, rec->last_agent);
}

void encode_lease(struct buf *b, const struct lease *l)
{
	buf_add_lit(b, "{\"owner\":");
	encode_text_or_null(b, l->owner);
	MEMBER(b, "token");
	if (l->token)
		buf_add_u64(b, l->token);
	else
		buf_add_lit(b, "null");
	MEMBER(b, "expires_at");
	encode_time(b, l->expires_at);
	buf_add_c(b, '}');
}

static void encode_times(struct call *c, const struct session_rec *rec)
{
	const struct lease lease = {
		.owner = rec->lease_owner,
		.token = rec->lease_token,
		.expires_at = rec->lease_expires_at,
	};
	struct buf *b = &c->out;

	MEMBER(b, "expires_at");
	encode_time(b, rec->expires_at);
	MEMBER(b, "lease");
	if (lease_in_force(rec, engine_now_ms(c->engine)))
		encode_lease(b, &lease);
	else
		buf_add_lit(b, "null");
	MEMBER(b, "running_since");
	encode_time(b, turn_is_running(rec, engine_now_ms(c->engine)) ?
			       rec->turn_began_at :
			       0);
	MEMBER(b, "created_at");
	encode_time(b, rec->created_at);
	MEMBER(b, "updated_at");
	encode_time(b, rec->updated_at);
	MEMBER(b, "last_interaction_at");
	encode_time(b, rec->last_interaction_at ? rec->last_interaction_at :
						  rec->created_at);
	MEMBER(b, "deleted_at");
	encode_time(b, rec->deleted_at);
}

static int encode_named(struct call *c, const struct session_rec *rec,
			const struct session_names *names)
{
	struct buf *b = &c->out;
	struct weft_str path;
	struct window w;
	int r;

	r = c->store->ops->where(c->store, &rec->id, &c->arena, &path, c->err);
	if (r == WEFT_OK)
		r = engine_window(c->engine, rec, &c->arena, &w, c->err);
	if (r != WEFT_OK)
		return r;
	buf_add_lit(b, "{\"id\":");
	encode_id(b, &rec->id);
	MEMBER(b, "key");
	encode_text_or_null(b, rec->key);
	MEMBER(b, "aliases");
	encode_aliases(b, names);
	encode_origin(b, rec);
	encode_settings(b, rec, &w);
	encode_counts(b, rec, &w);
	MEMBER(b, "path");
	encode_text_or_null(b, path);
	encode_times(c, rec);
	buf_add_c(b, '}');
	return WEFT_OK;
}

int encode_sessions(struct call *c, const struct session_rec *v, size_t n)
{
	struct session_names *names =
		ARENA_ARRAY(&c->arena, struct session_names, n);
	int r = names ? find_names(c, v, n, names) :
			arena_error(&c->arena, c->err);

	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		if (i > 0)
			buf_add_c(&c->out, ',');
		r = encode_named(c, &v[i], &names[i]);
	}
	return r;
}

int encode_session(struct call *c, const struct session_rec *rec)
{
	return encode_sessions(c, rec, 1);
}

int call_answer_session(struct call *c, const struct weft_id *id)
{
	struct session_rec rec;
	int r = engine_session(c->engine, id, &c->arena, &rec, c->err);

	return r == WEFT_OK ? encode_session(c, &rec) : r;
}

const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		[STATE_OK] = "ok",
		[STATE_ALTERED] = "altered",
		[STATE_UNSEALED] = "unsealed",
		[STATE_DAMAGED] = "damaged",
		[STATE_GONE] = "gone",
	};

	return state < ARRAY_LEN(names) ? names[state] : "unknown";
}

/* Members of a message that its line has only when there is something. */
static const struct weft_str optional[] = {
	STR_INIT("from"),
	STR_INIT("model"),
	STR_INIT("usage"),
	STR_INIT("duration_ms"),
};

/* Say null for what the object that begins at `start` does not have.  Its
 * closing brace is still to come. */
static void add_absent(struct buf *b, size_t start)
{
	struct weft_str key, raw, object;
	unsigned there = 0;
	size_t pos = 0;

	buf_add_c(b, '}');
	if (b->error)
		return;
	object = (struct weft_str){ b->ptr + start, b->len - start };
	while (json_next_member(object, &pos, &key, &raw)) {
		for (unsigned i = 0; i < ARRAY_LEN(optional); i++)
			there |= str_eq(key, optional[i]) ? 1u << i : 0;
	}
	b->len--;
	for (unsigned i = 0; i < ARRAY_LEN(optional); i++) {
		if (there & 1u << i)
			continue;
		buf_add_c(b, ',');
		buf_add_json(b, optional[i]);
		buf_add_lit(b, ":null");
	}
}

/* What is out of the ordinary about an event; nothing for most. */
static void encode_state(struct buf *b, const struct store_event *e)
{
	if (e->state == STATE_OK)
		return;
	MEMBER(b, "integrity");
	buf_add_json(b, str_of(state_name(e->state)));
}

void encode_message(struct buf *b, const struct view_event *v)
{
	const struct store_event *e = &v->event;
	size_t start = b->len;

	buf_add_lit(b, "{\"id\":");
	encode_id(b, &e->id);
	MEMBER(b, "seq");
	buf_add_u64(b, e->seq);
	MEMBER(b, "session");
	encode_id(b, &e->session);
	if (e->body.len) {
		buf_add_c(b, ',');
		buf_add_str(b, e->body);
	}
	add_absent(b, start);
	MEMBER(b, "created_at");
	encode_time(b, e->at_ms ? e->at_ms : e->ts_ms);
	MEMBER(b, "recorded_at");
	encode_time(b, e->ts_ms);
	MEMBER(b, "background");
	encode_bool(b, e->background != 0);
	MEMBER(b, "redacted");
	encode_bool(b, v->redacted != 0);
	encode_state(b, e);
	buf_add_c(b, '}');
}

static bool is_readable(const struct store_event *e)
{
	return e->state != STATE_DAMAGED && e->state != STATE_GONE;
}

/* A type that this version does not know is named in its line. */
static void encode_type(struct buf *b, const struct store_event *e)
{
	struct weft_str key, raw;
	size_t pos = 0;

	if (!is_readable(e)) {
		buf_add_json(b, str_of(state_name(e->state)));
		return;
	}
	if (e->type == EVENT_OTHER) {
		while (json_next_member(e->bytes, &pos, &key, &raw)) {
			if (str_eq(key, STR("type"))) {
				buf_add_str(b, raw);
				return;
			}
		}
	}
	buf_add_json(b, str_of(event_type_name(e->type)));
}

/* What is gone has a body that says why; "to" stands with its number. */
static void encode_body(struct buf *b, const struct store_event *e)
{
	const char *why;

	if (is_readable(e)) {
		if (e->body.len) {
			buf_add_c(b, ',');
			buf_add_str(b, e->body);
		}
		return;
	}
	if (e->type != EVENT_GONE || !e->body.len)
		return;
	why = memmem(e->body.ptr, e->body.len, "\"why\":", 6);
	if (why) {
		buf_add_c(b, ',');
		buf_add(b, why, (size_t)(e->body.ptr + e->body.len - why));
	}
}

void encode_event(struct buf *b, const struct view_event *v)
{
	const struct store_event *e = &v->event;

	buf_add_lit(b, "{\"seq\":");
	buf_add_u64(b, e->seq);
	if (e->last > e->seq) {
		MEMBER(b, "to");
		buf_add_u64(b, e->last);
	}
	MEMBER(b, "ts");
	encode_time(b, e->ts_ms);
	MEMBER(b, "type");
	encode_type(b, e);
	MEMBER(b, "id");
	encode_id(b, &e->id);
	if (e->op.len) {
		MEMBER(b, "op");
		buf_add_json(b, e->op);
	}
	if (e->at_ms && e->at_ms != e->ts_ms) {
		MEMBER(b, "at");
		encode_time(b, e->at_ms);
	}
	if (e->background)
		buf_add_lit(b, ",\"background\":true");
	if (v->redacted)
		buf_add_lit(b, ",\"redacted\":true");
	encode_state(b, e);
	encode_body(b, e);
	buf_add_c(b, '}');
}
