/* text.c - from the text of a statement to that of a database; see text.h. */
#include "store/sql/text.h"

static void add_array_types(struct buf *b, const char *types)
{
	for (size_t i = 0; types[i]; i++)
		buf_printf(b, "%s$%zu::%s[]", i ? "," : "", i + 1,
			   types[i] == 'i' ? "bigint" : "bytea");
}

/* The rows as a table r with columns c1, c2... */
static void add_unnest(struct buf *b, const char *types)
{
	buf_add_lit(b, "unnest(");
	add_array_types(b, types);
	buf_add_lit(b, ") AS r(");
	for (size_t i = 0; types[i]; i++)
		buf_printf(b, "%sc%zu", i ? "," : "", i + 1);
	buf_add_c(b, ')');
}

static void add_values(struct buf *b, const char *types,
		       enum sql_dialect dialect)
{
	if (dialect == SQL_POSTGRES) {
		buf_add_lit(b, "SELECT * FROM ");
		add_unnest(b, types);
		return;
	}
	buf_add_lit(b, "VALUES(");
	for (size_t i = 0; types[i]; i++)
		buf_printf(b, "%s?%zu", i ? "," : "", i + 1);
	buf_add_c(b, ')');
}

static void add_rows(struct buf *b, char which, const char *types,
		     enum sql_dialect dialect)
{
	if (which == 'V') {
		add_values(b, types, dialect);
	} else if (dialect == SQL_POSTGRES) {
		buf_add_str(b, which == 'F' ? STR(" FROM ") : STR(","));
		add_unnest(b, types);
	}
}

static void add_type(struct buf *b, char which, enum sql_dialect dialect)
{
	static const char *const sqlite[] = { "INTEGER", "BLOB", "TEXT" };
	static const char *const postgres[] = { "bigint", "bytea", "bytea" };
	int i = which == 'I' ? 0 : which == 'B' ? 1 : 2;

	buf_add_str(b, str_of(dialect == SQL_SQLITE ? sqlite[i] : postgres[i]));
}

/* Append the part of [[a|b]] that is meant; returns what follows it. */
static const char *add_choice(struct buf *b, const char *p, const char *types,
			      enum sql_dialect dialect)
{
	const char *bar = strchr(p, '|'), *end = strstr(p, "]]");
	const char *from = dialect == SQL_SQLITE ? p : bar + 1;
	const char *to = dialect == SQL_SQLITE ? bar : end;
	char part[512];
	size_t n = (size_t)(to - from);

	if (n >= sizeof(part)) {
		b->error = WEFT_LIMIT;
		return end + 2;
	}
	memcpy(part, from, n);
	part[n] = '\0';
	sql_expand(b, part, types, dialect);
	return end + 2;
}

void sql_expand(struct buf *b, const char *pattern, const char *types,
		enum sql_dialect dialect)
{
	const bool is_sqlite = dialect == SQL_SQLITE;

	for (const char *p = pattern; *p;) {
		if (p[0] == '[' && p[1] == '[') {
			p = add_choice(b, p + 2, types, dialect);
			continue;
		}
		if (*p == '#' || *p == '%') {
			if (p[1] == '@')
				buf_add_lit(b, "@@");
			else if (*p == '#')
				add_rows(b, p[1], types, dialect);
			else
				add_type(b, p[1], dialect);
			p += 2;
			continue;
		}
		if (*p == '?')
			buf_add_c(b, is_sqlite ? '?' : '$');
		else if (*p == '@')
			buf_add_str(b, is_sqlite ? STR("?") : STR("r.c"));
		else
			buf_add_c(b, *p);
		p++;
	}
}

void sql_text_init(struct sql_text *t)
{
	*t = (struct sql_text){ .rows = false };
	buf_init(&t->sql, SQL_TEXT_MAX);
}

void sql_text_done(struct sql_text *t)
{
	buf_done(&t->sql);
}
