/* value.h - what goes into an SQL statement and comes out of it. */
#ifndef STORE_SQL_VALUE_H
#define STORE_SQL_VALUE_H

#include "base/base.h"

enum sql_dialect { SQL_SQLITE, SQL_POSTGRES };

enum sql_kind {
	SQL_NULL,
	SQL_INT,
	SQL_TEXT, /* any bytes that people may read */
	SQL_BYTES
};

struct sql_value {
	enum sql_kind kind;
	int64_t n;
	struct weft_str s;
};

static inline struct sql_value sql_int(int64_t n)
{
	return (struct sql_value){ .kind = SQL_INT, .n = n };
}

/* Numbers in SQL are signed; a larger one means "to the end". */
static inline struct sql_value sql_u64(uint64_t n)
{
	return sql_int((int64_t)u64_min(n, INT64_MAX));
}

static inline struct sql_value sql_text(struct weft_str s)
{
	return (struct sql_value){ .kind = SQL_TEXT, .s = s };
}

static inline struct sql_value sql_bytes(const void *bytes, size_t n)
{
	return (struct sql_value){ .kind = SQL_BYTES, .s = { bytes, n } };
}

/* All 16 bytes, also of the id that is none; it must stay where it is. */
static inline struct sql_value sql_id(const struct weft_id *id)
{
	return sql_bytes(id, sizeof(*id));
}

#endif
