/*
 * derive.c - what an event means for the records.
 *
 * Everything here follows from the events alone: no clock, no chance, no
 * look at anything else.  A line that was edited into nonsense means as
 * little as one of an unknown type; it never stops a rebuild.
 */
#include "model/derive.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "model/gone.h"
#include "model/lease.h"
#include "model/marker.h"
#include "model/object.h"
#include "model/record.h"
#include "model/setting.h"
#include "model/turn.h"
#include "model/usage.h"

#define LAST_CHARS 160 /* of the previews that change */
#define OPS_MIN    8

struct store_op *op_list_add(struct op_list *out, uint32_t kind,
			     const struct weft_id *session)
{
	struct store_op *op;

	if (out->failed)
		return NULL;
	if (out->n == out->room) {
		size_t room = out->room ? 2 * out->room : OPS_MIN;
		struct store_op *v =
			ARENA_ARRAY(out->arena, struct store_op, room);

		if (!v) {
			out->failed = 1;
			return NULL;
		}
		if (out->n)
			memcpy(v, out->v, out->n * sizeof(*v));
		out->v = v;
		out->room = room;
	}
	op = &out->v[out->n++];
	*op = (struct store_op){ .kind = kind, .session = *session };
	return op;
}

/* One event being applied. */
struct derivation {
	struct session_rec *rec;
	const struct store_event *e;
	struct op_list *out;
	struct arena *arena; /* out's */
};

/* A copy for an op to point to; NULL marks the list failed. */
static void *keep(struct op_list *out, const void *what, size_t bytes)
{
	void *p = arena_alloc(out->arena, bytes);

	if (!p) {
		out->failed = 1;
		return NULL;
	}
	memcpy(p, what, bytes);
	return p;
}

static void add_name_op(const struct derivation *d, const struct name_rec *name)
{
	struct store_op *op = op_list_add(d->out, OP_NAME, &d->e->session);

	if (name->kind == NAME_ALIAS && !id_is_zero(&name->session))
		d->rec->aliased = 1;
	if (op)
		op->u.name = keep(d->out, name, sizeof(*name));
}

static void add_spent_op(struct op_list *out, uint32_t kind,
			 const struct session_rec *rec,
			 const struct totals *spent)
{
	static const struct totals nothing;
	struct store_op *op;

	/* A subagent's parent pays for it.  A fork's parent does not: the
	 * history that they share has been paid for.  Nor does that of one
	 * that was purged: it has been told what that had spent. */
	if (rec->kind != KIND_SUBAGENT || rec->fork_seq || rec->purged_at ||
	    id_is_zero(&rec->parent) ||
	    memcmp(spent, &nothing, sizeof(nothing)) == 0)
		return;
	op = op_list_add(out, kind, &rec->parent);
	if (op)
		op->u.add = keep(out, spent, sizeof(*spent));
}

void derive_add(struct session_rec *rec, const struct totals *spent,
		struct op_list *out)
{
	totals_add(&rec->total, spent);
	add_spent_op(out, OP_ADD, rec, spent);
}

void derive_take(struct session_rec *rec, const struct totals *spent,
		 struct op_list *out)
{
	totals_take(&rec->total, spent);
	add_spent_op(out, OP_TAKE, rec, spent);
}

/* ---- reading bodies ---- */

/* Each of these leaves alone what is not of its type. */

static void get_text(const struct derivation *d, yyjson_val *v,
		     struct weft_str *to)
{
	if (yyjson_is_str(v) || yyjson_is_null(v))
		*to = value_text(v, d->arena);
}

static void get_id(yyjson_val *v, struct weft_id *to)
{
	(void)id_parse(json_str(v), to);
}

static void get_time(yyjson_val *v, int64_t *to)
{
	int64_t ms;

	if (yyjson_is_null(v))
		*to = 0;
	else if (yyjson_is_str(v) && time_parse_rfc3339(json_str(v), &ms))
		*to = ms;
}

static bool get_name(const struct derivation *d, yyjson_val *object,
		     struct name_rec *ret)
{
	yyjson_val *kind = yyjson_obj_get(object, "kind");
	struct name_rec name = { .kind = NAME_ALIAS };

	name.name = value_text(yyjson_obj_get(object, "name"), d->arena);
	if (yyjson_equals_str(kind, "key"))
		name.kind = NAME_KEY;
	if (!name.name.len ||
	    !value_u64(yyjson_obj_get(object, "ver"), NUMBER_MAX, &name.ver))
		return false;
	*ret = name;
	return true;
}

/* ---- what each type means ---- */

static void get_json(const struct object_member *m, bool is_object,
		     struct weft_str *to)
{
	yyjson_val *v = m->value;

	if (yyjson_is_null(v) ||
	    (is_object && yyjson_is_obj(v) && yyjson_obj_size(v) == 0))
		*to = STR("");
	else if (is_object ? yyjson_is_obj(v) : yyjson_is_arr(v))
		*to = m->raw;
}

static void get_model(const struct derivation *d, yyjson_val *v)
{
	if (!yyjson_is_obj(v) && !yyjson_is_null(v))
		return;
	d->rec->model_provider =
		value_text(yyjson_obj_get(v, "provider"), d->arena);
	d->rec->model_name = value_text(yyjson_obj_get(v, "name"), d->arena);
}

static void apply_setting(const struct derivation *d, const struct setting *s,
			  const struct object_member *m)
{
	void *to = (char *)d->rec + s->offset;

	switch (s->rule) {
	case SETTING_LINE:
		get_text(d, m->value, to);
		break;
	case SETTING_OBJECT:
	case SETTING_ARRAY:
		get_json(m, s->rule == SETTING_OBJECT, to);
		break;
	case SETTING_MODEL:
		get_model(d, m->value);
		break;
	case SETTING_BOOL:
		if (yyjson_is_bool(m->value))
			*(uint64_t *)to = yyjson_is_true(m->value);
		break;
	default:
		get_time(m->value, to);
		break;
	}
}

/* The fields that both a session's first event and a patch may set. */
static void apply_settings(const struct derivation *d,
			   const struct body_object *o)
{
	struct object_member m;
	struct object_walk w;

	object_walk_init(&w, o->root, o->text);
	while (object_walk_next(&w, &m)) {
		const struct setting *s = setting_find(m.name);

		if (s)
			apply_setting(d, s, &m);
	}
}

/* A record as it is before its first event says more. */
static void begin(struct session_rec *rec, const struct weft_id *id)
{
	*rec = (struct session_rec){
		.id = *id,
		.kind = KIND_PRIMARY,
		.root = *id,
		.created_at = id_time_ms(id),
	};
}

static void take_key(const struct derivation *d, yyjson_val *root)
{
	struct name_rec name = {
		.session = d->rec->id,
		.ver = 1,
		.kind = NAME_KEY,
	};

	get_text(d, yyjson_obj_get(root, "key"), &d->rec->key);
	name.name = d->rec->key;
	if (!name.name.len)
		return;
	(void)value_u64(yyjson_obj_get(root, "key_ver"), NUMBER_MAX, &name.ver);
	add_name_op(d, &name);
}

/* What the marker says that a fork begins with. */
static void inherit_window(const struct derivation *d, yyjson_val *root)
{
	struct weft_str summary =
		value_text(yyjson_obj_get(root, "summary"), d->arena);
	uint64_t first = 0, bytes = summary.len;

	(void)value_u64(yyjson_obj_get(root, "window_first"), ID_SEQ_MAX + 1,
			&first);
	(void)value_u64(yyjson_obj_get(root, "summary_bytes"), NUMBER_MAX,
			&bytes);
	record_set_window(d->rec, first, summary, bytes);
}

/* Only routing says it, where a session begins or when it is found. */
static void get_scope(const struct derivation *d, const struct body_object *o)
{
	struct object_member m;
	struct object_walk w;

	object_walk_init(&w, o->root, o->text);
	while (object_walk_next(&w, &m)) {
		if (str_eq(m.name, STR("scope")) && yyjson_is_obj(m.value))
			d->rec->scope = m.raw;
	}
}

static void apply_session(const struct derivation *d,
			  const struct body_object *o)
{
	struct session_rec *rec = d->rec;
	yyjson_val *root = o->root;

	rec->created_at = d->e->ts_ms;
	rec->last_interaction_at = d->e->ts_ms;
	rec->op = d->e->op;
	(void)session_kind_parse(json_str(yyjson_obj_get(root, "kind")),
				 &rec->kind);
	get_id(yyjson_obj_get(root, "parent"), &rec->parent);
	get_id(yyjson_obj_get(root, "forked_from"), &rec->forked_from);
	get_id(yyjson_obj_get(root, "root"), &rec->root);
	get_id(yyjson_obj_get(root, "previous"), &rec->previous);
	get_text(d, yyjson_obj_get(root, "parent_tool_use_id"),
		 &rec->parent_tool_use_id);
	(void)value_u64(yyjson_obj_get(root, "fork_seq"), NUMBER_MAX,
			&rec->fork_seq);
	(void)value_u64(yyjson_obj_get(root, "inherited_count"), NUMBER_MAX,
			&rec->inherited_count);
	(void)value_u64(yyjson_obj_get(root, "window_seq"), NUMBER_MAX,
			&rec->window_seq);
	inherit_window(d, root);
	/* What a fork shows last is where it forked. */
	rec->content_seq = rec->fork_seq;
	get_scope(d, o);
	apply_settings(d, o);
	take_key(d, root);
}

static void set_previews(const struct derivation *d,
			 const struct message_facts *facts)
{
	struct session_rec *rec = d->rec;
	struct weft_str cut;

	if (!facts->text.len)
		return;
	cut = text_cut(facts->text, LAST_CHARS);
	if (facts->role == ROLE_ASSISTANT) {
		rec->last_agent = cut;
		rec->hidden_last_agent = STR("");
		rec->last_agent_seq = d->e->seq;
	}
	if (facts->role != ROLE_USER)
		return;
	if (!rec->first_user_seq) {
		rec->first_user = facts->text;
		rec->first_user_seq = d->e->seq;
	}
	rec->last_user = cut;
	rec->hidden_last_user = STR("");
	rec->last_user_seq = d->e->seq;
}

static void refer_to_blobs(const struct derivation *d,
			   const struct blob_refs *refs)
{
	for (size_t i = 0; i < refs->n; i++) {
		struct store_op *op =
			op_list_add(d->out, OP_BLOB, &d->e->session);

		if (op)
			op->u.blob = &refs->v[i];
	}
}

static void apply_message(const struct derivation *d,
			  const struct message_facts *facts)
{
	struct session_rec *rec = d->rec;

	rec->content_seq = d->e->seq;
	rec->said_count = d->e->said ? d->e->said : rec->said_count + 1;
	refer_to_blobs(d, &facts->blobs);
	/* Nobody knows who said it: edited by hand. */
	if (!facts->role)
		return;
	rec->message_count++;
	rec->turn_count += facts->starts_turn;
	if (!d->e->background)
		rec->last_interaction_at = d->e->ts_ms;
	set_previews(d, facts);
	if (!facts->has_usage)
		return;
	totals_add(&rec->own, &facts->usage);
	derive_add(rec, &facts->usage, d->out);
}

static int apply_marker(const struct derivation *d, struct weft_error *err)
{
	struct session_rec *rec = d->rec;
	struct marker m;
	int r = marker_read(d->e->body, d->arena, &m, err);

	if (r != WEFT_OK)
		return r;
	rec->window_seq = d->e->seq;
	rec->content_seq = d->e->seq;
	record_set_window(rec, m.first_kept, m.summary, m.summary.len);
	return WEFT_OK;
}

static void apply_name(const struct derivation *d, yyjson_val *root)
{
	bool gone = yyjson_is_true(yyjson_obj_get(root, "gone"));
	struct name_rec name;

	if (!get_name(d, root, &name))
		return;
	if (!gone)
		name.session = d->e->session;
	if (name.kind == NAME_KEY && !gone)
		d->rec->key = name.name;
	else if (name.kind == NAME_KEY && str_eq(d->rec->key, name.name))
		d->rec->key = STR("");
	add_name_op(d, &name);
}

/* Take one from a count, or give it back. */
static void recount(uint64_t *count, bool hidden)
{
	if (!hidden)
		++*count;
	else if (*count)
		--*count;
}

/* The text of a preview goes from where it is shown to where it is not, or
 * comes back. */
static void move_preview(struct weft_str *from, struct weft_str *to)
{
	if (!from->len)
		return;
	*to = *from;
	*from = STR("");
}

/* A preview must not show what has been hidden.  Its seq stays, so that a
 * later message is not taken for the first. */
static void hide_previews(struct session_rec *rec, uint64_t target)
{
	if (rec->first_user_seq == target)
		move_preview(&rec->first_user, &rec->hidden_first_user);
	if (rec->last_user_seq == target)
		move_preview(&rec->last_user, &rec->hidden_last_user);
	if (rec->last_agent_seq == target)
		move_preview(&rec->last_agent, &rec->hidden_last_agent);
}

static void show_previews(struct session_rec *rec, uint64_t target)
{
	if (rec->first_user_seq == target)
		move_preview(&rec->hidden_first_user, &rec->first_user);
	if (rec->last_user_seq == target)
		move_preview(&rec->hidden_last_user, &rec->last_user);
	if (rec->last_agent_seq == target)
		move_preview(&rec->hidden_last_agent, &rec->last_agent);
}

static void apply_redact(const struct derivation *d, yyjson_val *root)
{
	struct session_rec *rec = d->rec;
	struct store_hide hide = { .by = d->e->seq };
	bool hidden = !yyjson_is_false(yyjson_obj_get(root, "hidden"));
	struct store_op *op;
	uint32_t role;

	rec->content_seq = d->e->seq;
	if (!value_u64(yyjson_obj_get(root, "target"), NUMBER_MAX,
		       &hide.target))
		return;
	hide.hidden = hidden;
	op = op_list_add(d->out, OP_HIDE, &d->e->session);
	if (op)
		op->u.hide = keep(d->out, &hide, sizeof(hide));
	if (!yyjson_is_true(yyjson_obj_get(root, "own")))
		return;
	if (role_parse(json_str(yyjson_obj_get(root, "role")), &role))
		recount(&rec->message_count, hidden);
	if (yyjson_is_true(yyjson_obj_get(root, "turn")))
		recount(&rec->turn_count, hidden);
	if (hidden)
		hide_previews(rec, hide.target);
	else
		show_previews(rec, hide.target);
}

/* The names that a deleted session frees, or a restored one takes back. */
static void apply_names(const struct derivation *d, yyjson_val *root,
			const struct weft_id *holder)
{
	yyjson_arr_iter it =
		yyjson_arr_iter_with(yyjson_obj_get(root, "names"));
	yyjson_val *v;

	while ((v = yyjson_arr_iter_next(&it))) {
		struct name_rec name;

		if (!get_name(d, v, &name))
			continue;
		name.session = *holder;
		add_name_op(d, &name);
		if (name.kind == NAME_KEY && !id_is_zero(holder))
			d->rec->key = name.name;
	}
}

static void apply_delete(const struct derivation *d, yyjson_val *root)
{
	static const struct weft_id nobody;

	d->rec->deleted_at = d->e->ts_ms;
	apply_names(d, root, &nobody);
}

static void apply_restore(const struct derivation *d, yyjson_val *root)
{
	d->rec->deleted_at = 0;
	/* The key comes back with its name, or somebody else has it. */
	d->rec->key = STR("");
	apply_names(d, root, &d->e->session);
}

/* What the session itself spent, besides its messages. */
static void apply_own_usage(const struct derivation *d,
			    const struct body_object *o)
{
	struct object_member m;
	struct object_walk w;
	struct totals t;

	object_walk_init(&w, o->root, o->text);
	while (object_walk_next(&w, &m)) {
		if (!str_eq(m.name, STR("usage")) ||
		    usage_read(m.value, m.raw, &t, NULL) != WEFT_OK)
			continue;
		totals_add(&d->rec->own, &t);
		derive_add(d->rec, &t, d->out);
	}
}

/* What a purged descendant had spent; nobody else remembers it. */
static void apply_spent(const struct derivation *d, yyjson_val *v)
{
	struct totals t;

	spent_read(v, &t);
	derive_add(d->rec, &t, d->out);
}

/* Nobody sees it any more.  What it and those below it spent is counted by
 * the usage event that its payer got. */
static void apply_purge(const struct derivation *d, yyjson_val *root)
{
	static const struct weft_id nobody;
	struct session_rec *rec = d->rec;

	if (rec->purged_at)
		return;
	add_spent_op(d->out, OP_TAKE, rec, &rec->total);
	rec->purged_at = d->e->ts_ms;
	if (!rec->deleted_at)
		rec->deleted_at = d->e->ts_ms;
	apply_names(d, root, &nobody);
}

/* What was dropped on purpose still counts. */
static int apply_gone(const struct derivation *d, struct weft_error *err)
{
	struct totals own;
	int r = gone_apply(d->rec, d->e->body, d->arena, &own, err);

	if (r < 0)
		return r;
	if (d->e->said)
		d->rec->said_count = d->e->said;
	totals_add(&d->rec->own, &own);
	derive_add(d->rec, &own, d->out);
	return WEFT_OK;
}

static int apply_body(const struct derivation *d, struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o;
	int r = body_object_parse(&o, d->e->body, d->arena, err);

	if (r != WEFT_OK)
		return r;
	switch (d->e->type) {
	case EVENT_SESSION:
		apply_session(d, &o);
		break;
	case EVENT_PATCH:
		get_scope(d, &o);
		apply_settings(d, &o);
		break;
	case EVENT_NAME:
		apply_name(d, o.root);
		break;
	case EVENT_REDACT:
		apply_redact(d, o.root);
		break;
	case EVENT_DELETE:
		apply_delete(d, o.root);
		break;
	case EVENT_RESTORE:
		apply_restore(d, o.root);
		break;
	case EVENT_PURGE:
		apply_purge(d, o.root);
		break;
	default:
		apply_own_usage(d, &o);
		apply_spent(d, yyjson_obj_get(o.root, "spent"));
		break;
	}
	return WEFT_OK;
}

static int apply(const struct derivation *d, const struct message_facts *facts,
		 bool is_first, struct weft_error *err)
{
	struct message_facts read;
	struct lease lease;
	struct turn turn;
	int r;

	switch (d->e->type) {
	case EVENT_MESSAGE:
		if (!facts) {
			r = message_facts_read(d->e->body, d->arena, &read,
					       err);
			if (r != WEFT_OK)
				return r;
			facts = &read;
		}
		apply_message(d, facts);
		return WEFT_OK;
	case EVENT_SESSION:
		/* Only a session's first event says what it is. */
		return is_first ? apply_body(d, err) : WEFT_OK;
	case EVENT_PATCH:
	case EVENT_NAME:
	case EVENT_REDACT:
	case EVENT_DELETE:
	case EVENT_RESTORE:
	case EVENT_PURGE:
	case EVENT_USAGE:
		return apply_body(d, err);
	case EVENT_MEMORY:
	case EVENT_FORGET:
		d->rec->memory_seq = d->e->seq;
		return WEFT_OK;
	case EVENT_TODOS:
		d->rec->todos_seq = d->e->seq;
		return WEFT_OK;
	case EVENT_LEASE:
		r = lease_read(d->e->body, d->arena, &lease, err);
		lease_apply(&lease, d->rec);
		return r;
	case EVENT_TURN:
		r = turn_read(d->e->body, d->arena, &turn, err);
		turn_apply(&turn, d->e->ts_ms, d->rec);
		return r;
	case EVENT_MARKER:
		return apply_marker(d, err);
	case EVENT_GONE:
		return apply_gone(d, err);
	default:
		return WEFT_OK;
	}
}

int derive_event(struct session_rec *rec, const struct store_event *e,
		 const struct message_facts *facts, struct op_list *out,
		 struct weft_error *err)
{
	struct derivation d = { rec, e, out, out->arena };
	bool is_first = rec->head_seq == 0;
	struct weft_error problem;
	int r;

	if (is_first)
		begin(rec, &e->session);
	rec->head_seq = u64_max(rec->head_seq, u64_max(e->seq, e->last));
	if (e->state == STATE_DAMAGED ||
	    (e->state == STATE_GONE && e->type != EVENT_GONE))
		return WEFT_OK;
	/* Its time is that of what it stands for. */
	if (e->type != EVENT_GONE)
		rec->updated_at = e->ts_ms;
	rec->bytes += e->bytes.len;
	r = apply(&d, facts, is_first, &problem);
	/* A body that cannot be read says nothing. */
	if (r != WEFT_OK && r != WEFT_CORRUPT) {
		if (err)
			*err = problem;
		return r;
	}
	return out->failed || out->arena->failed ?
		       arena_error(out->arena, err) :
		       WEFT_OK;
}
