/* columns.h - session records as columns, made from model/record.h. */
#ifndef STORE_SQL_COLUMNS_H
#define STORE_SQL_COLUMNS_H

#include "base/buf.h"
#include "model/record.h"
#include "store/sql/value.h"

/* At least as many as a record has fields. */
#define RECORD_COLUMNS_MAX 76

/* The names of the columns, quoted, in the order of record_fields. */
void sql_add_columns(struct buf *b);

/* The same with their types, as in CREATE TABLE; and one of these. */
void sql_add_column_types(struct buf *b, enum sql_dialect dialect);
const char *sql_type_of(const struct record_field *f, enum sql_dialect dialect);

/*
 * Columns that are in an index, or decide whether a session is in one, and
 * hardly ever change.  A statement that leaves them out is quicker: SQLite
 * rewrites an index if one so much as names a column of it.
 */
bool sql_is_steady(const struct record_field *f);

/*
 * Columns that a message changes: a statement with these alone is all that an
 * append needs.  None of them decides what match_text() says.
 */
bool sql_is_hot(const struct record_field *f);
bool sql_only_hot_changed(const struct session_rec *from,
			  const struct session_rec *to);

/* The value of a field: no id is NULL.  It points into the record. */
struct sql_value sql_of_field(const struct session_rec *rec,
			      const struct record_field *f);

/* Set a field from a value; false if it cannot be one.  Text is not copied. */
bool sql_to_field(struct session_rec *rec, const struct record_field *f,
		  const struct sql_value *v);

/* The zero id if it is NULL or empty; false if it is no id. */
bool sql_to_id(const struct sql_value *v, struct weft_id *ret);

/*
 * The first four indexes serve lists in the order they are shown in, forwards
 * and backwards, without sorting.  What follows the id in them decides on rows
 * that need not be fetched then.  Purged sessions are in none of these.
 */
#define SQL_SESSION_INDEXES                                      \
	"CREATE INDEX live_interaction"                          \
	" ON sessions(kind,last_interaction_at,id,project_dir)"  \
	" WHERE deleted_at=0 AND purged_at=0;" SQL_LIVE_CREATION \
	"CREATE INDEX all_interaction"                           \
	" ON sessions(last_interaction_at,id,kind,deleted_at)"   \
	" WHERE purged_at=0;" SQL_ALL_CREATION SQL_PLACE_INDEXES

#define SQL_CREATION_INDEXES SQL_LIVE_CREATION SQL_ALL_CREATION

#define SQL_LIVE_CREATION                                            \
	"CREATE INDEX live_creation ON sessions(kind,created_at,id)" \
	" WHERE deleted_at=0 AND purged_at=0;"

#define SQL_ALL_CREATION                                                       \
	"CREATE INDEX all_creation ON sessions(created_at,id,kind,deleted_at)" \
	" WHERE purged_at=0;"

#define SQL_PLACE_INDEXES                                              \
	"CREATE UNIQUE INDEX sessions_id ON sessions(id);"             \
	"CREATE INDEX sessions_parent ON sessions(parent)"             \
	" WHERE parent IS NOT NULL;"                                   \
	"CREATE INDEX sessions_slug ON sessions(slug) WHERE slug<>'';" \
	"CREATE INDEX sessions_op ON sessions(op,id) WHERE op<>'';"    \
	"CREATE INDEX sessions_tag ON sessions(tag,id);"

/* For lists that few sessions match (store/sql/list.h); what is in them hardly
 * ever changes. */
#define SQL_FILTER_INDEXES                                                     \
	"CREATE INDEX sessions_user ON sessions(\"user\") WHERE \"user\"<>'';" \
	"CREATE INDEX sessions_project ON sessions(project_dir)"               \
	" WHERE project_dir<>'';"                                              \
	"CREATE INDEX sessions_channel ON sessions(channel) WHERE "            \
	"channel<>'';"                                                         \
	"CREATE INDEX sessions_agent ON sessions(agent) WHERE agent<>'';"

#endif
