/* statements.c - the tables and the statements; text.h has the notation. */
#include <assert.h>

#include "weft/store.h"

#include "store/sql/columns.h"
#include "store/sql/list.h"
#include "store/sql/split.h"
#include "store/sql/text.h"
#include "store/sqlite/words.h"

/* ---- tables ---- */

/*
 * Events keep what is needed to hand them out without reading their line.
 * Operation ids of creations are a scope of their own.  In PostgreSQL what
 * grows with the messages is in parts, by session; records and names are not,
 * since no list and no name knows its session.
 */
static const char kept_tables[] =
	"CREATE TABLE events(session %B NOT NULL,seq %I NOT NULL,"
	"last_seq %I NOT NULL,id %B NOT NULL,ts_ms %I NOT NULL,"
	"at_ms %I NOT NULL,marker %I NOT NULL,said %I NOT NULL,type %I NOT "
	"NULL,"
	"state %I NOT NULL,more %I NOT NULL,background %I NOT NULL,"
	"op %T NOT NULL,body_at %I NOT NULL,body_len %I NOT NULL,"
	"bytes %T NOT NULL)[[ STRICT| PARTITION BY HASH(session)]];"
	"CREATE UNIQUE INDEX events_place ON events(session,seq);"
	"CREATE INDEX events_op ON events(session,op,seq)"
	" WHERE op<>'' AND type<>1;"
	"CREATE INDEX events_creation ON events(op,session)"
	" WHERE op<>'' AND type=1;"
	"CREATE TABLE blobs(sha256 %B PRIMARY KEY NOT NULL,bytes %I NOT NULL,"
	"at_ms %I NOT NULL,data %B NOT NULL)[[ STRICT|]];"
	"CREATE INDEX blobs_at ON blobs(at_ms);"
	"CREATE TABLE blob_refs(sha256 %B NOT NULL,session %B NOT NULL,"
	"PRIMARY KEY(sha256,session))[[ WITHOUT ROWID, STRICT|]];"
	"CREATE INDEX blob_refs_session ON blob_refs(session);";

/* Beside the records; all of these can be made again from events. */
static const char derived_tables[] =
	"CREATE TABLE names(name %T PRIMARY KEY NOT NULL,session %B NOT NULL,"
	"ver %I NOT NULL,kind %I NOT NULL)[[ WITHOUT ROWID, STRICT|]];"
	"CREATE INDEX names_session ON names(session,kind,name);"
	"CREATE TABLE hidden(session %B NOT NULL,target %I NOT NULL,"
	"hidden %I NOT NULL,by_seq %I NOT NULL,PRIMARY KEY(session,target))"
	"[[ WITHOUT ROWID, STRICT| PARTITION BY HASH(session)]];"
	"CREATE TABLE search_epoch(one %I PRIMARY KEY CHECK(one=1),"
	"epoch %I NOT NULL)[[ STRICT|]];"
	"INSERT INTO search_epoch VALUES(1,1);"
	"CREATE TABLE search_doomed(session %B PRIMARY KEY NOT NULL)"
	"[[ WITHOUT ROWID, STRICT|]];"
	"[[" WORDS_TABLES "|"
	"CREATE TABLE words(session bytea NOT NULL,seq bigint NOT NULL,"
	"at_ms bigint NOT NULL,words tsvector NOT NULL,"
	"PRIMARY KEY(session,seq));"
	"CREATE INDEX words_words ON words USING gin(words);]]";

static void add_partitions(struct buf *b, const char *table, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_printf(b,
			   "CREATE TABLE %s_%u PARTITION OF %s"
			   " FOR VALUES WITH (MODULUS %u, REMAINDER %u);",
			   table, i, table, n, i);
}

#define IS_BEHIND "head_seq>indexed_seq"

static void add_derived(struct buf *b, enum sql_dialect dialect,
			unsigned partitions)
{
	if (dialect == SQL_POSTGRES) {
		split_add_tables(b);
	} else {
		buf_add_lit(b, "CREATE TABLE sessions("
			       "row INTEGER PRIMARY KEY,");
		sql_add_column_types(b, dialect);
		buf_add_lit(b, ",tag INTEGER NOT NULL,fold BLOB NOT NULL,"
			       "indexed_seq INTEGER NOT NULL DEFAULT 0)"
			       " STRICT;" SQL_SESSION_INDEXES SQL_FILTER_INDEXES
			       "CREATE INDEX sessions_behind ON sessions(id)"
			       " WHERE " IS_BEHIND ";");
	}
	sql_expand(b, derived_tables, "", dialect);
	if (dialect == SQL_POSTGRES)
		add_partitions(b, "hidden", partitions);
}

/* Every index of every part that is written to costs, also if it hears of no
 * row. */
static const char one_op_index[] =
	"[[|DROP INDEX events_op;DROP INDEX events_creation;"
	"CREATE INDEX events_op ON events(op,session,seq)"
	" WHERE op<>'';]]";

/*
 * What is kept is changed from version to version; what is derived is made
 * again as it is now, whatever it was.
 */
static const char *const migrations[SQL_SCHEMA_VERSION] = {
	[0] = kept_tables,  [1] = "", [2] = "", [3] = "",
	[4] = one_op_index, [5] = "", [6] = "",
};

void sql_add_migrations(struct buf *b, int from, enum sql_dialect dialect,
			unsigned partitions)
{
	assert(from >= 0 && from <= SQL_SCHEMA_VERSION);
	for (int v = from; v < SQL_SCHEMA_VERSION; v++)
		sql_expand(b, migrations[v], "", dialect);
	if (from == 0 && dialect == SQL_POSTGRES)
		add_partitions(b, "events", partitions);
	if (from > 0)
		sql_expand(
			b,
			"DROP TABLE sessions;DROP TABLE names;"
			"DROP TABLE hidden;DROP TABLE IF EXISTS search_epoch;"
			"DROP TABLE IF EXISTS search_doomed;"
			"[[DROP TABLE IF EXISTS search_words;"
			"DROP TABLE IF EXISTS search_shards;"
			"DROP TABLE IF EXISTS search_docs;|"
			"DROP TABLE IF EXISTS words;]]",
			"", dialect);
	if (from > 0 && dialect == SQL_POSTGRES)
		buf_add_str(b, str_of(split_drop_tables));
	add_derived(b, dialect, partitions);
}

/* ---- statements ---- */

#define EVENT_COLUMNS                                                 \
	"session,seq,last_seq,id,ts_ms,at_ms,marker,said,type,state," \
	"more,background,op,body_at,body_len,bytes"

/*
 * Events from the one on that holds ?2, if a range that is gone does, or else
 * from ?2.  SQLite stops when nobody asks for the next row; of PostgreSQL
 * nothing is asked that would not fit (?4 events, ?5 bytes), but for one that
 * tells that there is more.  The line itself says the rest, quicker than
 * columns do: what is not asked for a row here is asked by pages.c.
 */
#define EVENTS(types, direction)                                         \
	"[[|SELECT seq,state,bytes FROM (]]SELECT seq,state,bytes"       \
	"[[|,sum(octet_length(bytes)) OVER (ORDER BY seq" direction      \
	" ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS before]]" \
	" FROM events WHERE session=?1"                                  \
	" AND seq>=(SELECT coalesce(max(seq),0) FROM events"             \
	" WHERE session=?1 AND seq<=?2) AND seq<=?3"                     \
	"[[| AND last_seq>=?2]]" types " ORDER BY seq" direction         \
	"[[| LIMIT ?4) AS e WHERE coalesce(before,0)<=?5"                \
	" ORDER BY seq" direction "]]"
/* What cannot be read may have been of any type. */
#define OF_TYPES " AND (state>=3 OR (?6>>CAST(type&63 AS INTEGER)&1)=1)"

#define NO_REF                                    \
	" AND NOT EXISTS(SELECT 1 FROM blob_refs" \
	" WHERE blob_refs.sha256=blobs.sha256)"

static_assert(EVENT_SESSION == 1 && STATE_DAMAGED == 3 && STATE_GONE == 4,
	      "as in the statements");

static const struct {
	const char *types, *sql;
} fixed[Q_DRIVER] = {
	[Q_GET_NAMES] = { "t", "SELECT name,session,ver,kind FROM names#J"
			       " WHERE name=@1" },
	[Q_NAMES_OF] = { "b", "SELECT name,session,ver,kind FROM names#J"
			      " WHERE session=@1 ORDER BY session,kind,name" },
	[Q_FIND_OP] = { "bt", "SELECT session,seq FROM events WHERE session=?1"
			      " AND op=?2 AND op<>'' AND type<>1"
			      " ORDER BY seq LIMIT 1" },
	[Q_FIND_CREATION] = { "t", "SELECT session,seq FROM events WHERE op=?1"
				   " AND op<>'' AND type=1"
				   " ORDER BY session LIMIT 1" },
	[Q_FIND_OPS] = { "bt", "SELECT session,op,seq FROM events#J"
			       " WHERE session=@1 AND op=@2 AND op<>''"
			       " AND type<>1" },
	[Q_FIND_CREATIONS] = { "t", "SELECT session,op,seq FROM events#J"
				    " WHERE op=@1 AND op<>'' AND type=1" },
	[Q_IS_HIDDEN] = { "bi", "SELECT hidden FROM hidden"
				" WHERE session=?1 AND target=?2" },
	[Q_HIDDEN] = { "bii", "SELECT target FROM hidden WHERE session=?1"
			      " AND target BETWEEN ?2 AND ?3 AND hidden=1"
			      " ORDER BY target" },
	[Q_EVENTS] = { "biiii", EVENTS("", "") },
	[Q_EVENTS_BACKWARDS] = { "biiii", EVENTS("", " DESC") },
	[Q_EVENTS_OF] = { "biiiii", EVENTS(OF_TYPES, "") },
	[Q_EVENTS_OF_BACKWARDS] = { "biiiii", EVENTS(OF_TYPES, " DESC") },
	[Q_EVENT] = { "bi", "SELECT " EVENT_COLUMNS
			    " FROM events WHERE session=?1 AND seq=?2" },
	[Q_HEADS] = { "b", "SELECT @1,(SELECT last_seq FROM events"
			   " WHERE session=@1 ORDER BY seq DESC LIMIT 1)#F" },
	[Q_FIND_TAG] = { "i", "SELECT id FROM sessions WHERE tag=?1"
			      " ORDER BY id" },
	[Q_PUT_EVENTS] = { "biibiiiiiiiitiit",
			   "INSERT INTO events(" EVENT_COLUMNS ")"
			   " [[#V|SELECT * FROM unnest(?1::event_row[])]]" },
	/* Of two marks or names the order of arrival does not matter. */
	[Q_PUT_NAMES] = { "tbii",
			  "INSERT INTO names(name,session,ver,kind) #V"
			  " ON CONFLICT(name) DO UPDATE"
			  " SET session=excluded.session,ver=excluded.ver,"
			  "kind=excluded.kind WHERE excluded.ver>names.ver"
			  " OR (excluded.ver=names.ver"
			  " AND excluded.session>names.session)" },
	[Q_PUT_HIDDEN] = { "biii",
			   "INSERT INTO hidden(session,target,hidden,by_seq) #V"
			   " ON CONFLICT(session,target) DO UPDATE"
			   " SET hidden=excluded.hidden,by_seq=excluded.by_seq"
			   " WHERE excluded.by_seq>=hidden.by_seq" },
	/*
	 * Whoever refers to a blob keeps its row, and makes it young: who waits
	 * for the row to drop it looks at its age again.  With one that is
	 * dropped whatever its age, look for references after it is locked.
	 */
	[Q_USE_BLOBS] = { "bi", "UPDATE blobs"
				" SET at_ms=[[max|greatest]](at_ms,@2)#F"
				" WHERE sha256=@1" },
	[Q_PUT_REFS] = { "bb", "INSERT INTO blob_refs(session,sha256) #V"
			       " ON CONFLICT(sha256,session) DO NOTHING" },
	[Q_REFS_OF] = { "b", "SELECT sha256 FROM blob_refs WHERE session=?1" },
	[Q_CLEAR_REFS_OF] = { "b", "DELETE FROM blob_refs WHERE session=?1" },
	[Q_CLEAR_LONE_REFS] = { "", "DELETE FROM blob_refs WHERE NOT EXISTS"
				    "(SELECT 1 FROM events"
				    " WHERE events.session="
				    "blob_refs.session)" },
	/* One that is there already is as fresh as a new one, and as good. */
	[Q_PUT_BLOB] = { "biib",
			 "INSERT INTO blobs(sha256,bytes,at_ms,data)"
			 " VALUES(?1,?2,?3,?4) ON CONFLICT(sha256) DO UPDATE"
			 " SET at_ms=[[max|greatest]](blobs.at_ms,"
			 "excluded.at_ms),bytes=excluded.bytes,"
			 "data=CASE WHEN blobs.data=excluded.data"
			 " THEN blobs.data ELSE excluded.data END" },
	[Q_GET_BLOB] = { "b", "SELECT bytes,data FROM blobs WHERE sha256=?1" },
	[Q_HAS_BLOB] = { "b", "SELECT 1 FROM blobs WHERE sha256=?1" },
	[Q_LOCK_BLOB] = { "b", "SELECT 1 FROM blobs WHERE sha256=?1"
			       "[[| FOR UPDATE]]" },
	[Q_DROP_BLOB] = { "b", "DELETE FROM blobs WHERE sha256=?1" NO_REF },
	[Q_DROP_BLOBS] = { "i", "DELETE FROM blobs WHERE at_ms<?1" NO_REF },
	[Q_NEXT_BLOB] = { "b", "SELECT sha256,bytes,data FROM blobs"
			       " WHERE sha256>?1 ORDER BY sha256 LIMIT 1" },
	[Q_NEXT_SESSION] = { "b", "SELECT session FROM events WHERE session>?1"
				  " ORDER BY session LIMIT 1" },
	[Q_COUNT_SESSIONS] = { "", "SELECT count(*) FROM sessions" },
	[Q_COUNT_SOME] = { "", "SELECT count(*) FROM"
			       " (SELECT 1 FROM sessions LIMIT 1000) AS s" },
	[Q_COUNT_NAMES] = { "", "SELECT count(*) FROM names" },
	[Q_COUNT_HIDDEN] = { "", "SELECT count(*) FROM hidden" },
	[Q_COUNT_BLOBS] = { "", "SELECT count(*) FROM blobs" },
	[Q_LOCK_ALL] = { "", "SELECT 1" },
	[Q_DROP_EVENTS] = { "bii", "DELETE FROM events WHERE session=?1"
				   " AND seq BETWEEN ?2 AND ?3" },
	[Q_DROP_SESSION] = { "b", "DELETE FROM sessions WHERE id=?1" },
	[Q_DROP_HIDDEN] = { "b", "DELETE FROM hidden WHERE session=?1" },
	[Q_DROP_NAME] = { "t", "DELETE FROM names WHERE name=?1" },
	[Q_CLEAR_SESSIONS] = { "", "DELETE FROM sessions" },
	[Q_CLEAR_NAMES] = { "", "DELETE FROM names" },
	[Q_CLEAR_HIDDEN] = { "", "DELETE FROM hidden" },
	[Q_HAS_WORDS] = { "", "SELECT [[1 FROM search_docs|"
			      "1::bigint FROM words]] LIMIT 1" },
	/* A fork begins behind what it inherits. */
	[Q_BEHIND] = { "i", "SELECT id,max(indexed_seq,fork_seq),head_seq"
			    " FROM sessions INDEXED BY sessions_behind"
			    " WHERE " IS_BEHIND " LIMIT ?1" },
	[Q_BEHIND_EVENTS] = { "", "SELECT coalesce(sum(head_seq-"
				  "max(indexed_seq,fork_seq)),0) FROM sessions"
				  " INDEXED BY sessions_behind"
				  " WHERE " IS_BEHIND },
	[Q_MARK] = { "bii", "UPDATE sessions SET indexed_seq=?3"
			    " WHERE id=?1 AND max(indexed_seq,fork_seq)=?2" },
	[Q_UNMARK] = { "b", "UPDATE sessions SET indexed_seq=0 WHERE id=?1" },
	[Q_UNMARK_ALL] = { "", "UPDATE sessions SET indexed_seq=0"
			       " WHERE indexed_seq>0" },
	[Q_EPOCH] = { "", "SELECT epoch FROM search_epoch" },
	[Q_HOLD_EPOCH] = { "", "SELECT epoch FROM search_epoch"
			       "[[| FOR SHARE]]" },
	[Q_NEXT_EPOCH] = { "", "UPDATE search_epoch SET epoch=epoch+1" },
	[Q_DOOM] = { "b", "INSERT INTO search_doomed VALUES(?1)"
			  " ON CONFLICT(session) DO NOTHING" },
	[Q_HAS_DOOMED] = { "", "SELECT [[1|1::bigint]] FROM search_doomed"
			       " LIMIT 1" },
	[Q_DOOMED] = { "", "SELECT session FROM search_doomed"
			   " ORDER BY session" },
	[Q_SPARE] = { "b", "DELETE FROM search_doomed WHERE session=?1" },
};

static bool runs_for_rows(uint32_t key)
{
	switch (key) {
	case Q_GET_SESSIONS:
	case Q_LOCK_SESSIONS:
	case Q_SHARE_SESSIONS:
	case Q_OWN_SESSIONS:
	case Q_GET_NAMES:
	case Q_NAMES_OF:
	case Q_FIND_OPS:
	case Q_FIND_CREATIONS:
	case Q_HEADS:
	case Q_PUT_EVENTS:
	case Q_PUT_SESSIONS:
	case Q_PUT_GROWN:
	case Q_PUT_HOT:
	case Q_ADD:
	case Q_PUT_NAMES:
	case Q_PUT_HIDDEN:
	case Q_USE_BLOBS:
	case Q_PUT_REFS:
		return true;
	default:
		return false;
	}
}

static char letter_of(const struct record_field *f)
{
	switch (f->kind) {
	case FIELD_ID:
		return 'b';
	case FIELD_U64:
	case FIELD_TIME:
		return 'i';
	default:
		return 't';
	}
}

/* Of a record all columns, then tag and fold; or its id and what is hot, then the
 * stamp that its row must have and the last interaction before. */
void sql_row_types(uint32_t key, char types[SQL_PARAMETERS_MAX + 1])
{
	char *p = types;

	if (key == Q_PUT_EVENTS) {
		memcpy(types, fixed[key].types, strlen(fixed[key].types) + 1);
		return;
	}
	for (size_t i = 0; i < record_n_fields; i++) {
		if (key != Q_PUT_HOT || i == 0 || sql_is_hot(&record_fields[i]))
			*p++ = letter_of(&record_fields[i]);
	}
	memcpy(p, key == Q_PUT_HOT ? "ii" : "ib", 3);
}
static_assert(RECORD_COLUMNS_MAX + 2 <= SQL_PARAMETERS_MAX, "they fit");

static void add_put(struct buf *b)
{
	buf_add_lit(b, "INSERT INTO sessions(");
	sql_add_columns(b);
	buf_add_lit(b, ",tag,fold) #V ON CONFLICT(id) DO UPDATE SET ");
	for (size_t i = 1; i < record_n_fields; i++)
		buf_printf(b, "\"%s\"=excluded.\"%s\",", record_fields[i].name,
			   record_fields[i].name);
	buf_add_lit(b, "fold=excluded.fold");
}

static void add_put_grown(struct buf *b)
{
	buf_add_lit(b, "UPDATE sessions SET ");
	for (size_t i = 0; i < record_n_fields; i++) {
		if (!sql_is_steady(&record_fields[i]))
			buf_printf(b, "\"%s\"=@%zu,", record_fields[i].name,
				   i + 1);
	}
	buf_printf(b, "fold=@%zu WHERE true", record_n_fields + 2);
	for (size_t i = 0; i < record_n_fields; i++) {
		const struct record_field *f = &record_fields[i];
		bool may_be_null = f->kind == FIELD_ID && f->offset > 0;

		if (sql_is_steady(f))
			buf_printf(b, " AND sessions.\"%s\"%s@%zu", f->name,
				   may_be_null ? " IS NOT DISTINCT FROM " : "=",
				   i + 1);
	}
}

/* @1 is the id, the hot ones follow. */
static void add_put_hot(struct buf *b)
{
	int n = 1;

	buf_add_lit(b, "UPDATE sessions SET ");
	for (size_t i = 0; i < record_n_fields; i++) {
		if (!sql_is_hot(&record_fields[i]))
			continue;
		n++;
		buf_printf(b, "%s\"%s\"=@%d", n > 2 ? "," : "",
			   record_fields[i].name, n);
	}
	buf_add_lit(b, " WHERE id=@1");
}

static bool is_total(const struct record_field *f)
{
	return f->offset >= offsetof(struct session_rec, total) &&
	       f->offset < offsetof(struct session_rec, total) +
				   sizeof(struct totals);
}

/* The sums of struct totals, in its order: @2 and on. */
static void add_add(struct buf *b)
{
	int n = 2;

	buf_add_lit(b, "UPDATE [[sessions|heads]] SET ");
	for (size_t i = 0; i < record_n_fields; i++) {
		const char *name = record_fields[i].name;

		if (!is_total(&record_fields[i]))
			continue;
		buf_printf(b, "%s\"%s\"=\"%s\"+@%d", n > 2 ? "," : "", name,
			   name, n);
		n++;
	}
	buf_add_lit(b, "[[|,stamp=txid_current()]]#F WHERE id=@1");
}

static void add_get(struct buf *b, uint32_t key)
{
	buf_add_lit(b, "SELECT ");
	sql_add_columns(b);
	buf_add_str(b, key == Q_CHILDREN ? STR(" FROM sessions WHERE parent=?1"
					       " ORDER BY id") :
					   STR(",1 FROM sessions WHERE id=@1"));
}

static void add_pattern(struct buf *b, uint32_t key, char *types)
{
	switch (key) {
	case Q_GET_SESSIONS:
	case Q_LOCK_SESSIONS:
	case Q_SHARE_SESSIONS:
	case Q_OWN_SESSIONS:
	case Q_CHILDREN:
		memcpy(types, "b", 2);
		add_get(b, key);
		break;
	case Q_PUT_SESSIONS:
		sql_row_types(key, types);
		add_put(b);
		break;
	case Q_PUT_GROWN:
		sql_row_types(key, types);
		add_put_grown(b);
		break;
	case Q_PUT_HOT:
		sql_row_types(key, types);
		add_put_hot(b);
		break;
	case Q_ADD:
		memcpy(types, "biiiiii", 8);
		add_add(b);
		break;
	default:
		memcpy(types, fixed[key].types, strlen(fixed[key].types) + 1);
		buf_add_str(b, str_of(fixed[key].sql));
	}
}

void sql_text_make(struct sql_text *t, uint32_t key, enum sql_dialect dialect)
{
	CLEANUP(buf_done) struct buf pattern;

	buf_init(&pattern, SQL_TEXT_MAX);
	if (key >= Q_FEW) {
		memcpy(t->types, "t", sizeof("t"));
		list_add_few_sql(&pattern, key - Q_FEW);
	} else if (key >= Q_LIST) {
		memcpy(t->types, LIST_TYPES "i", sizeof(LIST_TYPES "i"));
		buf_add_lit(&pattern, "SELECT ");
		sql_add_columns(&pattern);
		list_add_sql(&pattern, key - Q_LIST, dialect);
		buf_printf(&pattern, " LIMIT ?%d", LIST_PARAMETERS + 1);
	} else {
		if (dialect == SQL_SQLITE ||
		    !split_add_statement(&pattern, key, t->types))
			add_pattern(&pattern, key, t->types);
		t->rows = runs_for_rows(key);
	}
	if (dialect == SQL_POSTGRES)
		t->row_type = split_row_type(key);
	if (pattern.error)
		t->sql.error = pattern.error;
	sql_expand(&t->sql, buf_cstr(&pattern), t->types, dialect);
}
