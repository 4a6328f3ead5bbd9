/*
 * catalog_sql.c - the catalogue's schema and its statements, as text.
 *
 * A session's record is kept in one piece, since its columns were what reading
 * a row cost most; beside it are those fields again that rows are found by.
 *
 * The schema names all fields of the record, and its version is a checksum of
 * its text: a catalogue that was made from any other text is made again from
 * the session files.
 */
#include <assert.h>
#include <limits.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/id.h"
#include "model/record.h"
#include "store/jsonl/catalog_db.h"
#include "store/sql/columns.h"

/* ---- the schema ---- */

#define COLUMN(name, kind)                                              \
	{                                                               \
#name, FIELD_##kind, offsetof(struct session_rec, name) \
	}
const struct record_field catalog_columns[] = {
	COLUMN(id, ID),
	COLUMN(kind, U64),
	COLUMN(parent, ID),
	COLUMN(op, STR),
	COLUMN(slug, STR),
	COLUMN(project_dir, STR),
	COLUMN(agent, STR),
	COLUMN(channel, STR),
	COLUMN(user, STR),
	COLUMN(created_at, TIME),
	COLUMN(last_interaction_at, TIME),
	COLUMN(deleted_at, TIME),
	COLUMN(purged_at, TIME),
};
const size_t catalog_n_columns = ARRAY_LEN(catalog_columns);

/* names_session has all that is asked of the names of a session. */
/* clang-format off */
static const char rest_of_schema[] =
	SQL_SESSION_INDEXES
	SQL_FILTER_INDEXES
	"CREATE INDEX sessions_lsn ON sessions(lsn);"
	"CREATE TABLE names(row INTEGER PRIMARY KEY"
	" /* catalog_name_place(), but for those that are far */,"
	"name TEXT NOT NULL,"
	"session BLOB NOT NULL,ver INTEGER NOT NULL,kind INTEGER NOT NULL,"
	"lsn INTEGER NOT NULL,far INTEGER NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX names_far ON names(name) WHERE far=1;"
	"CREATE INDEX names_session ON names(session,kind,name,ver,lsn);"
	"CREATE TABLE hidden(session BLOB NOT NULL,target INTEGER NOT NULL,"
	"hidden INTEGER NOT NULL,by INTEGER NOT NULL,"
	"PRIMARY KEY(session,target)) WITHOUT ROWID, STRICT;"
	"CREATE TABLE meta(one INTEGER PRIMARY KEY CHECK(one=1),"
	"store BLOB NOT NULL,applied INTEGER NOT NULL,"
	"complete INTEGER NOT NULL) STRICT;"
	"INSERT INTO meta VALUES(1,zeroblob(16),0,0);";
/* clang-format on */

void sql_add_schema(struct buf *b)
{
	buf_add_lit(b, "CREATE TABLE sessions(row INTEGER PRIMARY KEY"
		       " /* mostly catalog_place() of the id */");
	for (size_t i = 0; i < catalog_n_columns; i++)
		buf_printf(b, ",%s %s", catalog_columns[i].name,
			   sql_type_of(&catalog_columns[i], SQL_SQLITE));
	buf_add_lit(b, ",lsn INTEGER NOT NULL,gen INTEGER NOT NULL,"
		       "\"end\" INTEGER NOT NULL,irregular INTEGER NOT NULL,"
		       "tag INTEGER NOT NULL,fold BLOB NOT NULL,"
		       "rec BLOB NOT NULL /*");
	for (size_t i = 0; i < record_n_fields; i++)
		buf_printf(b, " %s:%d", record_fields[i].name,
			   record_fields[i].kind);
	buf_add_lit(b, " */) STRICT;");
	buf_add_lit(b, rest_of_schema);
}

int sql_version(const struct buf *schema)
{
	return (int)(crc32c(0, schema->ptr, schema->len) & INT_MAX) | 1;
}

/* Two of the same millisecond have the same place once in a million. */
#define PLACE_TIME_BITS 43
#define PLACE_REST_BITS 20

int64_t catalog_place(const struct weft_id *id)
{
	uint64_t ms = (uint64_t)id_time_ms(id);
	uint64_t rest = (uint64_t)id->b[13] << 16 | (uint64_t)id->b[14] << 8 |
			id->b[15];

	ms &= (UINT64_C(1) << PLACE_TIME_BITS) - 1;
	rest &= (UINT64_C(1) << PLACE_REST_BITS) - 1;
	/* Whoever goes through all rows begins behind 0. */
	return (int64_t)u64_max(ms << PLACE_REST_BITS | rest, 1);
}

int64_t catalog_name_place(struct weft_str name)
{
	return (int64_t)(hash_stable(name.ptr, name.len) >> 1);
}

/* ---- statements ---- */

/* Of two marks or names the order of arrival does not matter. */
#define NAME_COLUMNS "name,session,ver,kind,lsn"
#define UPDATE_NAME                                     \
	" DO UPDATE SET session=excluded.session,"      \
	"ver=excluded.ver,kind=excluded.kind,"          \
	"lsn=excluded.lsn WHERE name=excluded.name AND" \
	" (excluded.ver>ver OR"                         \
	" (excluded.ver=ver AND excluded.session>session))"
#define IS_FAR "(SELECT row FROM names WHERE far=1 AND name=?1)"

static const char *const fixed_sql[SQL_STATEMENTS] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_PUT_NAME] =
		"INSERT INTO names(" NAME_COLUMNS ",row,far)"
		" SELECT ?1,?2,?3,?4,?5,?6,0"
		" WHERE NOT EXISTS" IS_FAR " ON CONFLICT(row)" UPDATE_NAME,
	/* Where it should be is another one, or it was so once. */
	[SQL_PUT_NAME_FAR] = "INSERT INTO names(" NAME_COLUMNS ",far)"
			     " SELECT ?1,?2,?3,?4,?5,1"
			     " WHERE NOT EXISTS(SELECT 1 FROM names"
			     " WHERE row=?6 AND name=?1)"
			     " ON CONFLICT(name) WHERE far=1" UPDATE_NAME,
	[SQL_PUT_HIDE] =
		"INSERT INTO hidden(session,target,hidden,by)"
		" VALUES(?1,?2,?3,?4) ON CONFLICT(session,target) DO UPDATE"
		" SET hidden=excluded.hidden,by=excluded.by"
		" WHERE excluded.by>by",
	[SQL_SET_META] = "UPDATE meta SET store=?1,applied=?2,complete=?3",
	[SQL_CLEAR_SESSIONS] = "DELETE FROM sessions",
	[SQL_CLEAR_NAMES] = "DELETE FROM names",
	[SQL_CLEAR_HIDDEN] = "DELETE FROM hidden",
	[SQL_DROP] = "DELETE FROM sessions WHERE id=?1",
	[SQL_DROP_HIDDEN] = "DELETE FROM hidden WHERE session=?1",
	[SQL_DROP_NAME] =
		"DELETE FROM names WHERE row IN(?2," IS_FAR ") AND name=?1",
	[SQL_HOLD] = "BEGIN", /* locks with the first read */
	[SQL_GET_META] = "SELECT store,applied,complete FROM meta",
	[SQL_GET_NAME] = "SELECT " NAME_COLUMNS " FROM names WHERE row=?1",
	[SQL_GET_NAME_FAR] = "SELECT " NAME_COLUMNS " FROM names"
			     " WHERE far=1 AND name=?1",
	[SQL_NAMES_OF] = "SELECT " NAME_COLUMNS " FROM names"
			 " WHERE session=?1 ORDER BY kind,name",
	[SQL_FIND_OP] = "SELECT id FROM sessions WHERE op=?1 AND op<>''"
			" ORDER BY id LIMIT 1",
	[SQL_FIND_TAG] = "SELECT id FROM sessions WHERE tag=?1 ORDER BY id",
	[SQL_HIDDEN] = "SELECT target,hidden,by FROM hidden WHERE session=?1"
		       " AND target BETWEEN ?2 AND ?3 ORDER BY target",
	[SQL_IDS] = "SELECT id FROM sessions WHERE id>?1 ORDER BY id LIMIT ?2",
	[SQL_CHANGES] = "SELECT rec,lsn,row FROM sessions"
			" INDEXED BY sessions_lsn WHERE lsn>=?1"
			" AND (lsn>?1 OR row>?2) ORDER BY lsn,row LIMIT ?3",
	[SQL_COUNT] = "SELECT count(*) FROM sessions"
		      " INDEXED BY all_interaction"
		      " WHERE purged_at=0 AND kind<>3",
	[SQL_CHECK] = "PRAGMA integrity_check(10)",
};
static_assert(KIND_BOOK == 3, "as in SQL_COUNT");

/* Parameters of both: the columns, then these. */
#define LSN_PARAMETER  (catalog_n_columns + 1)
#define FOLD_PARAMETER (LSN_PARAMETER + 5)
#define ROW_PARAMETER  (FOLD_PARAMETER + 2)
#define ROW_COLUMNS    "lsn,gen,\"end\",irregular"

static void add_put(struct buf *b)
{
	buf_add_lit(b, "INSERT INTO sessions(row,");
	for (size_t i = 0; i < catalog_n_columns; i++)
		buf_printf(b, "%s,", catalog_columns[i].name);
	buf_add_lit(b, ROW_COLUMNS ",tag,fold,rec) VALUES(");
	/* Where another one is already it goes to the end. */
	buf_printf(b,
		   "CASE WHEN EXISTS(SELECT 1 FROM sessions WHERE row=?%zu)"
		   " THEN NULL ELSE ?%zu END,",
		   ROW_PARAMETER, ROW_PARAMETER);
	for (size_t i = 1; i <= FOLD_PARAMETER + 1; i++)
		buf_printf(b, "%s?%zu", i > 1 ? "," : "", i);
	buf_add_lit(b, ") ON CONFLICT(id) DO UPDATE SET ");
	for (size_t i = 1; i < catalog_n_columns; i++)
		buf_printf(b, "%s=excluded.%s,", catalog_columns[i].name,
			   catalog_columns[i].name);
	buf_add_lit(b, "lsn=excluded.lsn,gen=excluded.gen,"
		       "\"end\"=excluded.\"end\",irregular=excluded.irregular,"
		       "fold=excluded.fold,rec=excluded.rec"
		       " WHERE excluded.lsn>lsn");
}

/*
 * The usual case of the same: a session that was there before and has only
 * grown.  SQLite rewrites an index if a statement so much as names one of its
 * columns, so this one leaves out what has not changed.
 */
static void add_put_grown(struct buf *b)
{
	buf_add_lit(b, "UPDATE sessions SET ");
	for (size_t i = 0; i < catalog_n_columns; i++) {
		if (!sql_is_steady(&catalog_columns[i]))
			buf_printf(b, "%s=?%zu,", catalog_columns[i].name,
				   i + 1);
	}
	buf_printf(b,
		   "lsn=?%zu,gen=?%zu,\"end\"=?%zu,irregular=?%zu,fold=?%zu,"
		   "rec=?%zu WHERE row=?%zu AND lsn<?%zu",
		   LSN_PARAMETER, LSN_PARAMETER + 1, LSN_PARAMETER + 2,
		   LSN_PARAMETER + 3, FOLD_PARAMETER, FOLD_PARAMETER + 1,
		   ROW_PARAMETER, LSN_PARAMETER);
	for (size_t i = 0; i < catalog_n_columns; i++) {
		if (sql_is_steady(&catalog_columns[i]))
			buf_printf(b, " AND %s IS ?%zu",
				   catalog_columns[i].name, i + 1);
	}
}

void sql_add(struct buf *b, enum catalog_sql which)
{
	if (which == SQL_PUT) {
		add_put(b);
	} else if (which == SQL_PUT_GROWN) {
		add_put_grown(b);
	} else if (which == SQL_GET || which == SQL_GET_BY_ID) {
		buf_add_lit(b, "SELECT rec," ROW_COLUMNS " FROM sessions");
		buf_add_str(b, which == SQL_GET ? STR(" WHERE row=?1") :
						  STR(" WHERE id=?1"));
	} else {
		buf_add_str(b, str_of(fixed_sql[which]));
	}
}
