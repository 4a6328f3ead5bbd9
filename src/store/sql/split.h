/*
 * split.h - the records of sessions in PostgreSQL: three tables for one.
 *
 * An UPDATE writes a whole row again, and every index of the table if one of
 * them changes.  So what a message changes is apart from what hardly ever does:
 *
 *   sessions   what does not change with a message, and the indexes for it
 *   heads      what does (sql_is_hot); found by its id and nothing else, so
 *              that a new version of a row stays in its page and no index hears
 *              of it
 *   recents    the order of lists: the time of the last interaction in steps,
 *              so that most messages of a busy session do not change it either;
 *              what is within a step is sorted by those who list
 *
 * Each session has one row in each of them.  Who writes locks the row of
 * `heads` first, and it has the stamp: which transaction has written last.
 */
#ifndef STORE_SQL_SPLIT_H
#define STORE_SQL_SPLIT_H

#include "base/buf.h"

/* A step of `recents` is so many bits of milliseconds. */
#define SPLIT_STEP_BITS "8"

/* The tables and what belongs to them; and what drops them. */
void split_add_tables(struct buf *b);
extern const char split_drop_tables[];

/*
 * The statement `key`, if it is one about records: false if not.  `types` as in
 * struct sql_text.
 */
bool split_add_statement(struct buf *b, uint32_t key, char *types);

/*
 * The rows of these statements are sent as one array of rows, whose type has
 * this name: an array for each column costs the server more than the columns
 * themselves.  NULL: a column is an array.
 */
const char *split_row_type(uint32_t key);

/* The tables of a list with this order; what follows may name any column.  If
 * by the last interaction, `recent` is in the order of the list. */
void split_add_list(struct buf *b, bool by_recent, bool one_kind);

#endif
