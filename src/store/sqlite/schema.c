/*
 * schema.c - the tables of a file: whose they are, and of which version.
 *
 * A file says by its application id that it is ours, and by its user version
 * of which version its tables are.  Whoever opens an older one for writing
 * brings it up to date in one transaction; a newer one is refused.
 */
#include <sqlite3.h>

#include "base/error.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/words.h"

#define APPLICATION_ID 0x77656673 /* "wefs" */

enum schema_state { SCHEMA_OURS, SCHEMA_EMPTY, SCHEMA_OLDER };

static const char *path_of(struct sqlite_conn *k)
{
	return sqlite_of(k->base.store)->path;
}

static int look(struct sqlite_conn *k, enum schema_state *ret,
		int64_t *ret_version, struct weft_error *err)
{
	int64_t application = 0, version = 0, objects = 0;
	int r = sqlite_ask(k, "PRAGMA application_id", &application, err);

	if (r == WEFT_OK)
		r = sqlite_ask(k, "PRAGMA user_version", &version, err);
	if (r == WEFT_OK)
		r = sqlite_ask(k, "SELECT count(*) FROM sqlite_schema",
			       &objects, err);
	if (r < 0)
		return r;
	*ret_version = version;
	if (application == 0 && version == 0 && objects == 0) {
		*ret = SCHEMA_EMPTY;
		return WEFT_OK;
	}
	if (application != APPLICATION_ID)
		return fail(err, WEFT_INVALID,
			    "%s is a database of another program", path_of(k));
	if (version > SQL_SCHEMA_VERSION)
		return fail(err, WEFT_IO,
			    "%s has tables of version %lld, newer than this "
			    "weft knows (%d): use the weft that made it",
			    path_of(k), (long long)version, SQL_SCHEMA_VERSION);
	*ret = version < SQL_SCHEMA_VERSION ? SCHEMA_OLDER : SCHEMA_OURS;
	return WEFT_OK;
}

int sqlite_check_schema(struct sqlite_conn *k, struct weft_error *err)
{
	enum schema_state state = SCHEMA_OURS;
	int64_t version = 0;
	int r = look(k, &state, &version, err);

	if (r < 0)
		return r;
	if (state == SCHEMA_EMPTY)
		return fail(err, WEFT_NOT_FOUND, "there is no store in %s yet",
			    path_of(k));
	if (state == SCHEMA_OLDER)
		return fail(err, WEFT_IO,
			    "%s has tables of version %lld: open it once for "
			    "writing to bring them up to date",
			    path_of(k), (long long)version);
	return WEFT_OK;
}

/* The shards of an index of words, if there are any. */
static int drop_words(struct sqlite_conn *k, struct weft_error *err)
{
	int64_t shards = 0;
	int rc, r = sqlite_ask(k,
			       "SELECT count(*) FROM sqlite_schema"
			       " WHERE name='search_shards'",
			       &shards, err);

	if (r < 0 || !shards)
		return r;
	rc = words_clear(k->db);
	return rc == SQLITE_OK ?
		       WEFT_OK :
		       sqlite_fail(sqlite_of(k->base.store), k->db, rc, err);
}

static int migrate_from(struct sqlite_conn *k, int64_t version,
			struct weft_error *err)
{
	CLEANUP(buf_done) struct buf sql;
	int r;

	buf_init(&sql, SQL_TEXT_MAX);
	sql_add_migrations(&sql, (int)version, SQL_SQLITE, 0);
	buf_printf(&sql, "PRAGMA application_id=%d;PRAGMA user_version=%d;",
		   APPLICATION_ID, SQL_SCHEMA_VERSION);
	(void)buf_cstr(&sql);
	r = buf_error(&sql, err);
	if (r == WEFT_OK && version > 0)
		r = drop_words(k, err);
	if (r == WEFT_OK)
		r = sqlite_exec(k, buf_cstr(&sql), err);
	return r < 0 || version == 0 ? r : sql_rebuild(&k->base, err);
}

int sqlite_migrate(struct sqlite_conn *k, struct weft_error *err)
{
	enum schema_state state = SCHEMA_OURS;
	int64_t version = 0;
	int r = look(k, &state, &version, err);

	if (r < 0 || state == SCHEMA_OURS)
		return r;
	/* Again with the lock, since another process may do it, too. */
	r = sqlite_exec(k, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	k->in_transaction = true;
	r = look(k, &state, &version, err);
	if (r == WEFT_OK && state != SCHEMA_OURS)
		r = migrate_from(k, version, err);
	k->in_transaction = false;
	if (r == WEFT_OK)
		r = sqlite_exec(k, "COMMIT", err);
	if (r < 0)
		(void)sqlite_exec(k, "ROLLBACK", NULL);
	return r;
}
