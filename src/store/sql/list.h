/*
 * list.h - store/match.h in SQL: the statement of a list query, for everybody
 * who keeps session records in a table.
 *
 * Which filters a query has is its shape; one statement serves all queries of
 * a shape.  The table is called sessions, has the columns that filters and
 * indexes name, `fold` with match_text() of the record, and the indexes of
 * SQL_SESSION_INDEXES.
 */
#ifndef STORE_SQL_LIST_H
#define STORE_SQL_LIST_H

#include "base/buf.h"
#include "store/sql/value.h"
#include "weft/store.h"

#define LIST_PARAMETERS 12
/* Of each parameter, as in struct sql_text. */
#define LIST_TYPES "ibtttttbbbib"

uint32_t list_shape(const struct list_query *q);

/* True if nothing can match: there is nothing before the top. */
bool list_shape_is_empty(uint32_t shape);

/*
 * Filters with an index of their own (SQL_FILTER_INDEXES).  Where few sessions
 * match one, they are fetched and sorted; where many do, the indexes that are
 * in order soon lead to enough of them.  Which it is, is asked before: the
 * statement of list_add_few_sql takes the filter's text and says 1 for few.
 */
#define LIST_FILTERS 4
#define LIST_FEW     4096
bool list_has_filter(uint32_t shape, size_t i);
int list_filter_parameter(size_t i); /* which one has its text, from 1 */
void list_add_few_sql(struct buf *b, size_t i);
/* The same list by way of the i-th filter. */
uint32_t list_shape_by(uint32_t shape, size_t i);

/*
 * Append the statement, but for what it selects: from " FROM" on.  Its
 * parameters are ?1 to ?12.  For SQLite it names its index, so that what it
 * costs does not depend on a guess.
 */
void list_add_sql(struct buf *b, uint32_t shape, enum sql_dialect dialect);

/* The parameters; those that the shape does not use are NULL.  They point
 * into `q`. */
void list_parameters(const struct list_query *q, uint32_t shape,
		     struct sql_value v[LIST_PARAMETERS]);

#endif
