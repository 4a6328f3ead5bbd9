/*
 * cache.c - records as this process has written them last.
 *
 * Who appends to a session mostly has appended to it before, and knows its
 * record: it need not be fetched again.  Whether it is still what the table
 * has is another question, which write.c answers: in SQLite nobody else has
 * written, in PostgreSQL the row still has the stamp that we gave it.
 */
#include "base/id.h"
#include "base/mem.h"
#include "model/record.h"
#include "store/sql/sql.h"

/* Under sql_store.writer.  Its text follows it. */
struct sql_cached {
	struct table_node node;
	struct sql_cached *newer, *older; /* by use */
	struct sql_record record;
};

static void unlink_entry(struct sql_cache *c, struct sql_cached *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
	e->newer = e->older = NULL;
}

static void link_newest(struct sql_cache *c, struct sql_cached *e)
{
	e->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static struct sql_cached *find(const struct sql_cache *c,
			       const struct weft_id *id)
{
	struct table_node *n = table_first(&c->table, id_hash(id));

	for (; n; n = table_next(n)) {
		struct sql_cached *e = TABLE_ENTRY(n, struct sql_cached, node);

		if (id_eq(&e->record.rec.id, id))
			return e;
	}
	return NULL;
}

static void drop(struct sql_cache *c, struct sql_cached *e)
{
	table_remove(&c->table, &e->node);
	unlink_entry(c, e);
	mem_free(e);
}

const struct sql_record *sql_cache_find(struct sql_cache *c,
					const struct weft_id *id)
{
	struct sql_cached *e = find(c, id);

	if (!e)
		return NULL;
	unlink_entry(c, e);
	link_newest(c, e);
	return &e->record;
}

static struct sql_cached *make_entry(const struct session_rec *rec,
				     int64_t stamp)
{
	struct sql_cached *e = mem_zero(1, sizeof(*e) + record_text_bytes(rec));

	if (!e)
		return NULL;
	record_copy_text(&e->record.rec, rec, (char *)(e + 1));
	e->record.stamp = stamp;
	return e;
}

static void add(struct sql_cache *c, struct sql_cached *e)
{
	if (table_add(&c->table, &e->node, id_hash(&e->record.rec.id)) < 0) {
		mem_free(e);
		return;
	}
	link_newest(c, e);
	while (c->table.n > c->max)
		drop(c, c->oldest);
}

void sql_cache_take(struct sql_cache *c, const struct sql_written *w,
		    int64_t stamp)
{
	struct sql_cached *fresh = NULL, *e;

	if (w->all || stamp == 0) {
		sql_cache_clear(c);
		return;
	}
	/* What was written may have text of what was known before. */
	for (size_t i = 0; i < w->n; i++) {
		e = w->v[i].rec ? make_entry(w->v[i].rec, stamp) : NULL;
		if (!e)
			continue;
		e->older = fresh;
		fresh = e;
	}
	for (size_t i = 0; i < w->n; i++) {
		e = find(c, &w->v[i].id);
		if (e)
			drop(c, e);
	}
	while ((e = fresh)) {
		fresh = e->older;
		e->older = NULL;
		add(c, e);
	}
}

void sql_cache_drop(struct sql_cache *c, const struct weft_id *id)
{
	struct sql_cached *e = find(c, id);

	if (e)
		drop(c, e);
}

void sql_cache_clear(struct sql_cache *c)
{
	while (c->oldest)
		drop(c, c->oldest);
	table_done(&c->table);
	c->table = (struct table){ .n = 0 };
}
