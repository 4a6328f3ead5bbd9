/* split.c - records in three tables, and the statements for them; see split.h.
 */
#include "store/sql/split.h"

#include <assert.h>

#include "store/sql/columns.h"
#include "store/sql/text.h"

#define RECORDS "sessions JOIN heads USING(id)"
/* Behind milliseconds: the step that they are in. */
#define STEP  ">>" SPLIT_STEP_BITS
#define STAMP "stamp=txid_current()"

const char split_drop_tables[] = "DROP TABLE IF EXISTS heads;"
				 "DROP TABLE IF EXISTS recents;"
				 "DROP TYPE IF EXISTS event_row,record_row,"
				 "head_row;";

/* ---- fields ---- */

/* The number of the column of a row that has a field: @N. */
static size_t column_of(size_t field)
{
	return field + 1;
}

static size_t field_at(size_t offset)
{
	for (size_t i = 0; i < record_n_fields; i++) {
		if (record_fields[i].offset == offset)
			return i;
	}
	assert(false);
	return 0;
}
#define COLUMN_OF(field) \
	column_of(field_at(offsetof(struct session_rec, field)))

/* "a","b",... of all fields, or of those that are hot or not, but the id. */
static void add_names(struct buf *b, bool hot)
{
	for (size_t i = 1; i < record_n_fields; i++) {
		if (sql_is_hot(&record_fields[i]) == hot)
			buf_printf(b, ",\"%s\"", record_fields[i].name);
	}
}

static void add_row_columns(struct buf *b, bool hot)
{
	for (size_t i = 1; i < record_n_fields; i++) {
		if (sql_is_hot(&record_fields[i]) == hot)
			buf_printf(b, ",@%zu", column_of(i));
	}
}

static void add_excluded(struct buf *b, bool hot)
{
	for (size_t i = 1; i < record_n_fields; i++) {
		const char *name = record_fields[i].name;

		if (sql_is_hot(&record_fields[i]) == hot)
			buf_printf(b, "\"%s\"=excluded.\"%s\",", name, name);
	}
}

/* ---- types of rows ---- */

const char *split_row_type(uint32_t key)
{
	switch (key) {
	case Q_PUT_EVENTS:
		return "event_row";
	case Q_PUT_SESSIONS:
		return "record_row";
	case Q_PUT_HOT:
		return "head_row";
	default:
		return NULL;
	}
}

static void add_row_type(struct buf *b, uint32_t key)
{
	char types[SQL_PARAMETERS_MAX + 1];

	sql_row_types(key, types);
	buf_printf(b, "CREATE TYPE %s AS (", split_row_type(key));
	for (size_t i = 0; types[i]; i++)
		buf_printf(b, "%sc%zu %s", i ? "," : "", i + 1,
			   types[i] == 'i' ? "bigint" : "bytea");
	buf_add_lit(b, ");");
}

/* ---- tables ---- */

static void add_column_types(struct buf *b, bool hot)
{
	for (size_t i = 1; i < record_n_fields; i++) {
		const struct record_field *f = &record_fields[i];

		if (sql_is_hot(f) == hot)
			buf_printf(b, "\"%s\" %s,", f->name,
				   sql_type_of(f, SQL_POSTGRES));
	}
}

void split_add_tables(struct buf *b)
{
	buf_add_lit(b, "CREATE TABLE sessions(id bytea NOT NULL,");
	add_column_types(b, false);
	buf_add_lit(b, "tag bigint NOT NULL,fold bytea NOT NULL)"
		       " WITH (fillfactor=90);");
	buf_add_lit(b, SQL_CREATION_INDEXES SQL_PLACE_INDEXES);
	/* Room in each page, so that the next version of a row fits. */
	buf_add_lit(b, "CREATE TABLE heads(id bytea PRIMARY KEY,");
	add_column_types(b, true);
	buf_add_lit(b, "indexed_seq bigint NOT NULL DEFAULT 0,"
		       "unindexed boolean NOT NULL DEFAULT true,"
		       "stamp bigint NOT NULL DEFAULT txid_current())"
		       " WITH (fillfactor=50);"
		       /* Whose words are behind. */
		       "CREATE INDEX heads_behind ON heads(id)"
		       " WHERE unindexed;"
		       "CREATE TABLE recents(id bytea NOT NULL,"
		       "recent bigint NOT NULL,shelf bigint NOT NULL);"
		       "CREATE UNIQUE INDEX recents_place ON"
		       " recents(recent,id);"
		       "CREATE INDEX recents_shelf ON recents(shelf,recent);");
	add_row_type(b, Q_PUT_EVENTS);
	add_row_type(b, Q_PUT_SESSIONS);
	add_row_type(b, Q_PUT_HOT);
}

/* ---- statements ---- */

/*
 * Put records that are there or not, all of them.  The statement sees `heads`
 * as it was before it, and so where in `recents` a session has been.  A shelf
 * is a kind that is not deleted.
 */
static void add_put(struct buf *b)
{
	size_t last = COLUMN_OF(last_interaction_at);

	buf_printf(b,
		   "WITH r AS MATERIALIZED (SELECT * FROM"
		   " unnest(?1::record_row[]) AS r),"
		   "moved AS (DELETE FROM recents USING r,heads"
		   " WHERE heads.id=@1 AND recents.id=@1"
		   " AND recents.recent=heads.last_interaction_at" STEP
		   " AND recents.recent<>@%zu" STEP "),"
		   "put AS (INSERT INTO recents(id,recent,shelf)"
		   " SELECT @1,@%zu" STEP ",",
		   last, last);
	buf_printf(b,
		   "CASE WHEN @%zu=0 AND @%zu=0 THEN @%zu ELSE -1 END FROM r"
		   " ON CONFLICT(recent,id) DO UPDATE"
		   " SET shelf=excluded.shelf),"
		   "h AS (INSERT INTO heads(id",
		   COLUMN_OF(deleted_at), COLUMN_OF(purged_at),
		   COLUMN_OF(kind));
	add_names(b, true);
	buf_add_lit(b, ") SELECT @1");
	add_row_columns(b, true);
	buf_add_lit(b, " FROM r ON CONFLICT(id) DO UPDATE SET ");
	add_excluded(b, true);
	buf_add_lit(b, "unindexed=excluded.head_seq>heads.indexed_seq," STAMP
		       ") INSERT INTO sessions(id");
	add_names(b, false);
	buf_add_lit(b, ",tag,fold) SELECT @1");
	add_row_columns(b, false);
	buf_printf(b, ",@%zu,@%zu FROM r ON CONFLICT(id) DO UPDATE SET ",
		   record_n_fields + 1, record_n_fields + 2);
	add_excluded(b, false);
	buf_add_lit(b, "fold=excluded.fold");
}

/*
 * @1 is the id, the hot ones follow, then the stamp that the row must have, and
 * the last interaction before.  If one has another stamp, all fails, so that
 * nobody has to wait and look.
 */
static void add_put_hot(struct buf *b)
{
	size_t n = 1, last = 0;

	buf_add_lit(b, "WITH r AS MATERIALIZED (SELECT * FROM"
		       " unnest(?1::head_row[]) AS r),"
		       "u AS (UPDATE heads SET ");
	for (size_t i = 0; i < record_n_fields; i++) {
		if (!sql_is_hot(&record_fields[i]))
			continue;
		buf_printf(b, "\"%s\"=@%zu,", record_fields[i].name, ++n);
		if (column_of(i) == COLUMN_OF(last_interaction_at))
			last = n;
	}
	buf_printf(b,
		   "unindexed=true," STAMP
		   " FROM r WHERE heads.id=@1 AND heads.stamp=@%zu"
		   " RETURNING 1),",
		   n + 1);
	buf_printf(b,
		   "moved AS (UPDATE recents SET recent=@%zu" STEP
		   " FROM r WHERE @%zu" STEP "<>@%zu" STEP
		   " AND recents.recent=@%zu" STEP " AND recents.id=@1)"
		   " SELECT 1/CAST(count(*)=cardinality(?1) AS integer) FROM u",
		   last, last, n + 2, n + 2);
}

/*
 * Who appends does not disturb who forks: both leave what is there alone.  Who
 * rewrites wants everybody away.  Both rows are locked: what was waited for is
 * then read as it is now.
 */
static void add_get(struct buf *b, uint32_t key)
{
	buf_add_lit(b, "SELECT ");
	sql_add_columns(b);
	if (key == Q_CHILDREN) {
		buf_add_lit(b, " FROM " RECORDS " WHERE parent=?1 ORDER BY id");
		return;
	}
	buf_add_lit(b, ",stamp FROM " RECORDS "#J WHERE id=@1");
	if (key == Q_LOCK_SESSIONS)
		buf_add_lit(b, " ORDER BY id FOR NO KEY UPDATE OF"
			       " heads,sessions");
	else if (key == Q_SHARE_SESSIONS)
		buf_add_lit(b, " ORDER BY id FOR KEY SHARE OF heads,sessions");
	else if (key == Q_OWN_SESSIONS)
		buf_add_lit(b, " ORDER BY id FOR UPDATE OF heads,sessions");
}

static const struct {
	uint32_t key;
	const char *types, *sql;
} fixed[] = {
	{ Q_LOCK_ALL, "",
	  "LOCK TABLE sessions,heads,recents,names,hidden,"
	  "events IN EXCLUSIVE MODE" },
	{ Q_DROP_SESSION, "b",
	  "WITH h AS (DELETE FROM heads WHERE id=?1"
	  " RETURNING id,last_interaction_at),"
	  "n AS (DELETE FROM recents USING h WHERE recents.id=h.id"
	  " AND recents.recent=h.last_interaction_at" STEP ")"
	  " DELETE FROM sessions WHERE id=?1" },
	{ Q_CLEAR_SESSIONS, "",
	  "WITH h AS (DELETE FROM heads),n AS (DELETE FROM recents)"
	  " DELETE FROM sessions" },
	/* A fork begins behind what it inherits. */
	{ Q_BEHIND, "i",
	  "SELECT id,greatest(indexed_seq,fork_seq),head_seq FROM " RECORDS
	  " WHERE unindexed LIMIT ?1" },
	{ Q_BEHIND_EVENTS, "",
	  "SELECT CAST(coalesce(sum(head_seq-greatest(indexed_seq,fork_seq)),"
	  "0) AS bigint) FROM " RECORDS " WHERE unindexed" },
	{ Q_MARK, "bii",
	  "UPDATE heads SET indexed_seq=?3,unindexed=head_seq>?3"
	  " FROM sessions WHERE heads.id=?1 AND sessions.id=?1"
	  " AND greatest(indexed_seq,fork_seq)=?2" },
	{ Q_UNMARK, "b",
	  "UPDATE heads SET indexed_seq=0,unindexed=head_seq>0 WHERE id=?1" },
	{ Q_UNMARK_ALL, "",
	  "UPDATE heads SET indexed_seq=0,unindexed=head_seq>0"
	  " WHERE indexed_seq>0" },
};

static bool add_fixed(struct buf *b, uint32_t key, char *types)
{
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		if (fixed[i].key != key)
			continue;
		memcpy(types, fixed[i].types, strlen(fixed[i].types) + 1);
		buf_add_str(b, str_of(fixed[i].sql));
		return true;
	}
	return false;
}

bool split_add_statement(struct buf *b, uint32_t key, char *types)
{
	switch (key) {
	case Q_GET_SESSIONS:
	case Q_LOCK_SESSIONS:
	case Q_SHARE_SESSIONS:
	case Q_OWN_SESSIONS:
	case Q_CHILDREN:
		memcpy(types, "b", 2);
		add_get(b, key);
		return true;
	case Q_PUT_SESSIONS:
		sql_row_types(key, types);
		add_put(b);
		return true;
	case Q_PUT_HOT:
		sql_row_types(key, types);
		add_put_hot(b);
		return true;
	default:
		return add_fixed(b, key, types);
	}
}

void split_add_list(struct buf *b, bool by_recent, bool one_kind)
{
	if (!by_recent) {
		buf_add_lit(b, " FROM " RECORDS " WHERE true");
		return;
	}
	buf_add_lit(b, " FROM recents JOIN heads USING(id) JOIN sessions"
		       " USING(id) WHERE ");
	buf_add_str(b, one_kind ? STR("shelf=?1") : STR("true"));
}
