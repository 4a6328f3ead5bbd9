/*
 * schema.c - the tables in a database: made, and brought up to date.
 *
 * They have a schema of their own.  Whoever makes or changes them holds a
 * lock, so that of ten servers that start at once one does it.
 */
#include <stdlib.h>

#include "base/error.h"
#include "store/pg/pg.h"

static const char own_tables[] =
	"CREATE TABLE meta(one bigint PRIMARY KEY CHECK(one=1),"
	"version bigint NOT NULL);"
	"INSERT INTO meta VALUES(1,0);"
	"CREATE TABLE commits(node bytea PRIMARY KEY,name text NOT NULL UNIQUE,"
	"no bigint NOT NULL,at_ms bigint NOT NULL) WITH (fillfactor=50);";

/* What brings them from a version to the next, beside what all stores in SQL
 * do. */
static const char *const own_migrations[SQL_SCHEMA_VERSION] = {
	[0] = "",
	[1] = "ALTER TABLE commits ADD COLUMN void bigint NOT NULL DEFAULT 0;",
	[2] = "",
	[3] = "",
	[4] = "",
	[5] = "",
	[6] = "",
};

/* -1: there are none. */
static int find_version(struct pg_conn *k, long *ret, struct weft_error *err)
{
	char text[64];
	int r = pg_ask(k,
		       "SELECT 1 FROM pg_class WHERE relname='meta' AND"
		       " relnamespace=to_regnamespace(quote_ident("
		       "current_setting('weft.schema')))",
		       text, sizeof(text), err);

	*ret = -1;
	if (r < 0 || !text[0])
		return r;
	r = pg_ask(k, "SELECT version FROM meta", text, sizeof(text), err);
	if (r == WEFT_OK)
		*ret = strtol(text, NULL, 10);
	return r;
}

static int check_version(const struct pg_store *s, long version,
			 struct weft_error *err)
{
	if (version <= SQL_SCHEMA_VERSION)
		return WEFT_OK;
	return fail(err, WEFT_IO,
		    "postgres: schema %s has tables of version %ld, newer than "
		    "this weft knows (%d): use the weft that made them",
		    s->schema, version, SQL_SCHEMA_VERSION);
}

static int migrate_from(struct pg_conn *k, long version, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf sql;
	bool is_new = version < 0;
	int r;

	buf_init(&sql, SQL_TEXT_MAX);
	if (is_new) {
		buf_add_lit(&sql, own_tables);
		version = 0;
	}
	for (long v = version; v < SQL_SCHEMA_VERSION; v++)
		buf_add_str(&sql, str_of(own_migrations[v]));
	sql_add_migrations(&sql, (int)version, SQL_POSTGRES,
			   pg_of(k->base.store)->partitions);
	buf_printf(&sql, "UPDATE meta SET version=%d", SQL_SCHEMA_VERSION);
	(void)buf_cstr(&sql);
	r = buf_error(&sql, err);
	if (r == WEFT_OK)
		r = pg_exec(k, buf_cstr(&sql), NULL, err);
	return r < 0 || is_new ? r : sql_rebuild(&k->base, err);
}

static int make_schema(struct pg_conn *k, struct weft_error *err)
{
	/* The name is quoted by the server itself. */
	return pg_exec(k,
		       "DO $$BEGIN EXECUTE 'CREATE SCHEMA IF NOT EXISTS '||"
		       "quote_ident(current_setting('weft.schema'));END$$",
		       NULL, err);
}

static int migrate_locked(struct pg_conn *k, struct weft_error *err)
{
	const struct pg_store *s = pg_of(k->base.store);
	long version = 0;
	/* Any number, as long as all of us take the same one. */
	int r = pg_exec(k, "SELECT pg_advisory_xact_lock(8603141257301)", NULL,
			err);

	if (r == WEFT_OK)
		r = find_version(k, &version, err);
	if (r == WEFT_OK)
		r = check_version(s, version, err);
	if (r == WEFT_OK && version < 0)
		r = make_schema(k, err);
	if (r == WEFT_OK && version < SQL_SCHEMA_VERSION)
		r = migrate_from(k, version, err);
	return r;
}

int pg_migrate(struct pg_conn *k, uint32_t flags, struct weft_error *err)
{
	const struct pg_store *s = pg_of(k->base.store);
	long version = 0;
	int r = find_version(k, &version, err);

	if (r == WEFT_OK)
		r = check_version(s, version, err);
	if (r < 0 || version == SQL_SCHEMA_VERSION)
		return r;
	if (version < 0 && (!(flags & STORE_CREATE) || s->sql.read_only))
		return fail(err, WEFT_NOT_FOUND,
			    "postgres: no store in schema %s", s->schema);
	if (s->sql.read_only)
		return fail(err, WEFT_IO,
			    "postgres: schema %s has tables of version %ld: "
			    "open it once for writing to bring them up to date",
			    s->schema, version);
	r = pg_exec(k, "BEGIN", NULL, err);
	if (r < 0)
		return r;
	k->in_transaction = true;
	/* It reads all that is there; others wait for who does it. */
	k->at_leisure = true;
	r = migrate_locked(k, err);
	if (r == WEFT_OK)
		r = pg_exec(k, "COMMIT", NULL, err);
	else
		(void)pg_exec(k, "ROLLBACK", NULL, NULL);
	k->in_transaction = false;
	k->at_leisure = false;
	return r;
}
