/* record.c - the session record as a table of fields. */
#include "model/record.h"

#include "base/error.h"
#include "base/mem.h"

#define FIELD(name, kind, member)                                          \
	{                                                                  \
		(name), FIELD_##kind, offsetof(struct session_rec, member) \
	}
const struct record_field record_fields[] = {
	FIELD("id", ID, id),
	FIELD("kind", U64, kind),
	FIELD("parent", ID, parent),
	FIELD("forked_from", ID, forked_from),
	FIELD("root", ID, root),
	FIELD("previous", ID, previous),
	FIELD("fork_seq", U64, fork_seq),
	FIELD("key", STR, key),
	FIELD("aliased", U64, aliased),
	FIELD("op", STR, op),
	FIELD("parent_tool_use_id", STR, parent_tool_use_id),
	FIELD("agent", STR, agent),
	FIELD("slug", STR, slug),
	FIELD("project_dir", STR, project_dir),
	FIELD("model_provider", STR, model_provider),
	FIELD("model_name", STR, model_name),
	FIELD("user", STR, user),
	FIELD("channel", STR, channel),
	FIELD("user_role", STR, user_role),
	FIELD("scope", JSON, scope),
	FIELD("tools", JSON, tools),
	FIELD("metadata", JSON, metadata),
	FIELD("head_seq", U64, head_seq),
	FIELD("content_seq", U64, content_seq),
	FIELD("window_seq", U64, window_seq),
	FIELD("window_first", U64, window_first),
	FIELD("summary", STR, summary),
	FIELD("summary_bytes", U64, summary_bytes),
	FIELD("message_count", U64, message_count),
	FIELD("inherited_count", U64, inherited_count),
	FIELD("turn_count", U64, turn_count),
	FIELD("said_count", U64, said_count),
	FIELD("own_input_tokens", U64, own.input_tokens),
	FIELD("own_output_tokens", U64, own.output_tokens),
	FIELD("own_cache_read_tokens", U64, own.cache_read_tokens),
	FIELD("own_cache_write_tokens", U64, own.cache_write_tokens),
	FIELD("own_cost_nano", U64, own.cost_nano),
	FIELD("own_unpriced", U64, own.unpriced),
	FIELD("total_input_tokens", U64, total.input_tokens),
	FIELD("total_output_tokens", U64, total.output_tokens),
	FIELD("total_cache_read_tokens", U64, total.cache_read_tokens),
	FIELD("total_cache_write_tokens", U64, total.cache_write_tokens),
	FIELD("total_cost_nano", U64, total.cost_nano),
	FIELD("total_unpriced", U64, total.unpriced),
	FIELD("first_user", STR, first_user),
	FIELD("last_user", STR, last_user),
	FIELD("last_agent", STR, last_agent),
	FIELD("hidden_first_user", STR, hidden_first_user),
	FIELD("hidden_last_user", STR, hidden_last_user),
	FIELD("hidden_last_agent", STR, hidden_last_agent),
	FIELD("first_user_seq", U64, first_user_seq),
	FIELD("last_user_seq", U64, last_user_seq),
	FIELD("last_agent_seq", U64, last_agent_seq),
	FIELD("todos_seq", U64, todos_seq),
	FIELD("memory_seq", U64, memory_seq),
	FIELD("pinned", U64, pinned),
	FIELD("lease_owner", STR, lease_owner),
	FIELD("lease_token", U64, lease_token),
	FIELD("lease_expires_at", TIME, lease_expires_at),
	FIELD("bytes", U64, bytes),
	FIELD("turn_began_at", TIME, turn_began_at),
	FIELD("expires_at", TIME, expires_at),
	FIELD("created_at", TIME, created_at),
	FIELD("updated_at", TIME, updated_at),
	FIELD("last_interaction_at", TIME, last_interaction_at),
	FIELD("deleted_at", TIME, deleted_at),
	FIELD("purged_at", TIME, purged_at),
};
const size_t record_n_fields = ARRAY_LEN(record_fields);

static bool is_text(const struct record_field *f)
{
	return f->kind == FIELD_STR || f->kind == FIELD_JSON;
}

size_t record_text_bytes(const struct session_rec *rec)
{
	size_t bytes = 0;

	for (size_t i = 0; i < record_n_fields; i++) {
		const struct weft_str *s =
			record_at_const(rec, &record_fields[i]);

		if (is_text(&record_fields[i]))
			bytes += s->len + 1;
	}
	return bytes;
}

void record_copy_text(struct session_rec *to, const struct session_rec *from,
		      char *text)
{
	struct session_rec copy = *from;

	for (size_t i = 0; i < record_n_fields; i++) {
		struct weft_str *s = record_at(&copy, &record_fields[i]);

		if (!is_text(&record_fields[i]))
			continue;
		if (s->len)
			memcpy(text, s->ptr, s->len);
		text[s->len] = '\0';
		s->ptr = text;
		text += s->len + 1;
	}
	*to = copy;
}

int record_copy(struct session_rec *to, const struct session_rec *from,
		struct arena *a, struct weft_error *err)
{
	char *text = arena_alloc(a, record_text_bytes(from));

	if (!text)
		return arena_error(a, err);
	record_copy_text(to, from, text);
	return WEFT_OK;
}

static bool field_eq(const struct session_rec *a, const struct session_rec *b,
		     const struct record_field *f)
{
	const void *x = record_at_const(a, f), *y = record_at_const(b, f);

	switch (f->kind) {
	case FIELD_ID:
		return memcmp(x, y, sizeof(struct weft_id)) == 0;
	case FIELD_U64:
	case FIELD_TIME:
		return memcmp(x, y, sizeof(uint64_t)) == 0;
	default:
		return str_eq(*(const struct weft_str *)x,
			      *(const struct weft_str *)y);
	}
}

bool record_eq(const struct session_rec *a, const struct session_rec *b)
{
	for (size_t i = 0; i < record_n_fields; i++) {
		if (!field_eq(a, b, &record_fields[i]))
			return false;
	}
	return true;
}

/* Where a record keeps text.  A record without any has NULL or "" there. */
#define TEXT_MAX ARRAY_LEN(record_fields)

static void free_text(struct weft_str s)
{
	char *p;

	/* An owned string is ours to free, whatever its type says. */
	memcpy(&p, &s.ptr, sizeof(p));
	if (s.len)
		mem_free(p);
}

/*
 * Make `want` a copy that is owned, or the one that is owned already.  Equal
 * pointers are the usual case and equal bytes the second: a record that was
 * changed by one event shares nearly all of its text with the one before.
 */
static bool own_text(struct weft_str *want, struct weft_str have)
{
	if (want->len == 0) {
		want->ptr = "";
		return true;
	}
	if (want->len == have.len &&
	    (want->ptr == have.ptr || str_eq(*want, have))) {
		*want = have;
		return true;
	}
	want->ptr = mem_copy(*want);
	return want->ptr != NULL;
}

int record_own_update(struct record_own *own, const struct session_rec *from,
		      struct weft_error *err)
{
	struct session_rec next = *from;
	struct weft_str fresh[TEXT_MAX], stale[TEXT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < record_n_fields; i++) {
		const struct record_field *f = &record_fields[i];
		struct weft_str *want, have;

		if (!is_text(f))
			continue;
		want = record_at(&next, f);
		have = *(struct weft_str *)record_at(&own->rec, f);
		if (!own_text(want, have)) {
			while (n > 0)
				free_text(fresh[--n]);
			return fail_no_memory(err);
		}
		if (want->ptr == have.ptr)
			continue;
		fresh[n] = *want;
		stale[n++] = have;
	}
	/* Last: `from` may point into what is given back here. */
	while (n > 0)
		free_text(stale[--n]);
	own->rec = next;
	return WEFT_OK;
}

void record_own_done(struct record_own *own)
{
	for (size_t i = 0; i < record_n_fields; i++) {
		if (is_text(&record_fields[i]))
			free_text(*(struct weft_str *)record_at(
				&own->rec, &record_fields[i]));
	}
	own->rec = (struct session_rec){ .kind = 0 };
}

/*
 * Totals stop at what every store can hold, a signed 64-bit number.  Sums
 * that stop there still commute.
 */
static void add_capped(uint64_t *to, uint64_t more)
{
	const uint64_t max = INT64_MAX;

	*to = more > max || *to > max - more ? max : *to + more;
}

void totals_add(struct totals *to, const struct totals *more)
{
	add_capped(&to->input_tokens, more->input_tokens);
	add_capped(&to->output_tokens, more->output_tokens);
	add_capped(&to->cache_read_tokens, more->cache_read_tokens);
	add_capped(&to->cache_write_tokens, more->cache_write_tokens);
	add_capped(&to->cost_nano, more->cost_nano);
	add_capped(&to->unpriced, more->unpriced);
}

void record_set_window(struct session_rec *rec, uint64_t first,
		       struct weft_str summary, uint64_t summary_bytes)
{
	bool is_whole = summary.len == summary_bytes &&
			summary.len <= RECORD_SUMMARY_MAX;

	rec->window_first = first;
	rec->summary = is_whole ? summary : STR("");
	rec->summary_bytes = summary_bytes;
}

bool record_knows_window(const struct session_rec *rec)
{
	return rec->window_first && rec->summary.len == rec->summary_bytes;
}

static void take_floored(uint64_t *from, uint64_t less)
{
	*from -= less < *from ? less : *from;
}

void totals_take(struct totals *from, const struct totals *less)
{
	take_floored(&from->input_tokens, less->input_tokens);
	take_floored(&from->output_tokens, less->output_tokens);
	take_floored(&from->cache_read_tokens, less->cache_read_tokens);
	take_floored(&from->cache_write_tokens, less->cache_write_tokens);
	take_floored(&from->cost_nano, less->cost_nano);
	take_floored(&from->unpriced, less->unpriced);
}

bool totals_are_zero(const struct totals *t)
{
	static const struct totals zero;

	return memcmp(t, &zero, sizeof(zero)) == 0;
}

static const char *const kind_names[] = {
	[KIND_PRIMARY] = "primary",
	[KIND_SUBAGENT] = "subagent",
	[KIND_BOOK] = "book",
};

const char *session_kind_name(uint64_t kind)
{
	return kind >= KIND_PRIMARY && kind < ARRAY_LEN(kind_names) ?
		       kind_names[kind] :
		       "unknown";
}

bool session_kind_parse(struct weft_str s, uint64_t *ret)
{
	for (size_t i = KIND_PRIMARY; i < ARRAY_LEN(kind_names); i++) {
		if (str_eq(s, str_of(kind_names[i]))) {
			*ret = i;
			return true;
		}
	}
	return false;
}
