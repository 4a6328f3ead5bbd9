/* columns.c - session records as columns; see columns.h. */
#include "store/sql/columns.h"

#include <assert.h>

#include "base/id.h"

static_assert(offsetof(struct session_rec, id) == 0, "the id comes first");

void sql_add_columns(struct buf *b)
{
	for (size_t i = 0; i < record_n_fields; i++)
		buf_printf(b, "%s\"%s\"", i > 0 ? "," : "",
			   record_fields[i].name);
}

const char *sql_type_of(const struct record_field *f, enum sql_dialect dialect)
{
	bool is_sqlite = dialect == SQL_SQLITE;

	switch (f->kind) {
	case FIELD_ID:
		/* No id is NULL: most records have several of these. */
		if (f->offset == 0)
			return is_sqlite ? "BLOB NOT NULL" : "bytea NOT NULL";
		return is_sqlite ? "BLOB" : "bytea";
	case FIELD_U64:
	case FIELD_TIME:
		return is_sqlite ? "INTEGER NOT NULL" : "bigint NOT NULL";
	default:
		/* Text in PostgreSQL has no NULs, and an order of its own. */
		return is_sqlite ? "TEXT NOT NULL" : "bytea NOT NULL";
	}
}

void sql_add_column_types(struct buf *b, enum sql_dialect dialect)
{
	for (size_t i = 0; i < record_n_fields; i++)
		buf_printf(b, "%s\"%s\" %s", i > 0 ? "," : "",
			   record_fields[i].name,
			   sql_type_of(&record_fields[i], dialect));
}

bool sql_is_steady(const struct record_field *f)
{
	static const char *const steady[] = {
		"id",        "kind",        "parent",     "op",
		"slug",      "project_dir", "created_at", "deleted_at",
		"purged_at", "agent",       "channel",    "user",
	};

	for (size_t i = 0; i < ARRAY_LEN(steady); i++) {
		if (strcmp(f->name, steady[i]) == 0)
			return true;
	}
	return false;
}

bool sql_is_hot(const struct record_field *f)
{
#define HOT(field) offsetof(struct session_rec, field)
	switch (f->offset) {
	case HOT(head_seq):
	case HOT(content_seq):
	case HOT(message_count):
	case HOT(turn_count):
	case HOT(said_count):
	case HOT(last_user):
	case HOT(last_agent):
	case HOT(last_user_seq):
	case HOT(last_agent_seq):
	case HOT(updated_at):
	case HOT(last_interaction_at):
	case HOT(bytes):
		return true;
	default:
		return f->offset >= HOT(own) &&
		       f->offset < HOT(total) + sizeof(struct totals);
	}
#undef HOT
}

static bool is_same(const struct session_rec *a, const struct session_rec *b,
		    const struct record_field *f)
{
	const struct sql_value x = sql_of_field(a, f), y = sql_of_field(b, f);

	if (x.kind != y.kind)
		return false;
	return x.kind == SQL_INT ? x.n == y.n :
				   x.kind == SQL_NULL || str_eq(x.s, y.s);
}

bool sql_only_hot_changed(const struct session_rec *from,
			  const struct session_rec *to)
{
	for (size_t i = 0; i < record_n_fields; i++) {
		const struct record_field *f = &record_fields[i];

		if (!sql_is_hot(f) && !is_same(from, to, f))
			return false;
	}
	return true;
}

struct sql_value sql_of_field(const struct session_rec *rec,
			      const struct record_field *f)
{
	const void *from = record_at_const(rec, f);
	struct weft_str s;
	int64_t number;

	switch (f->kind) {
	case FIELD_ID:
		if (id_is_zero(from))
			return (struct sql_value){ .kind = SQL_NULL };
		return sql_id(from);
	case FIELD_U64:
	case FIELD_TIME:
		memcpy(&number, from, sizeof(number));
		return sql_int(number);
	default:
		memcpy(&s, from, sizeof(s));
		return sql_text(s);
	}
}

bool sql_to_id(const struct sql_value *v, struct weft_id *ret)
{
	*ret = (struct weft_id){ .b = { 0 } };
	if (v->kind == SQL_NULL || (v->kind != SQL_INT && v->s.len == 0))
		return true;
	if (v->kind == SQL_INT || v->s.len != sizeof(*ret))
		return false;
	memcpy(ret, v->s.ptr, sizeof(*ret));
	return true;
}

bool sql_to_field(struct session_rec *rec, const struct record_field *f,
		  const struct sql_value *v)
{
	void *to = record_at(rec, f);
	struct weft_str s = v->s;

	switch (f->kind) {
	case FIELD_ID:
		return sql_to_id(v, to);
	case FIELD_U64:
	case FIELD_TIME:
		if (v->kind != SQL_INT)
			return false;
		memcpy(to, &v->n, sizeof(v->n));
		return true;
	default:
		if (v->kind != SQL_TEXT && v->kind != SQL_BYTES)
			return false;
		if (s.len == 0)
			s.ptr = "";
		memcpy(to, &s, sizeof(s));
		return true;
	}
}
