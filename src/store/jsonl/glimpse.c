/*
 * glimpse.c - sessions that were seen on the way.
 *
 * DESIGN: who asks for a name wants its session next, so its row is read while
 * the catalogue is locked anyway, and kept here for the next call.  To be
 * looked at is not to be active: only who reads or writes a session's lines
 * brings it into the table of live.c, and a look at each of a million sessions
 * does not push out those that people speak in.
 *
 * Whatever changes a session afterwards has it in memory, which goes before, and
 * to be forgotten there is counted; so a row counts as long as nothing was
 * forgotten since before it was read, and no file rewritten.
 */
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

struct glimpse {
	struct arena arena; /* of the row's text */
	struct catalog_row row;
	uint64_t rewrites, drops; /* of the store, when it was begun */
};

void glimpses_done(struct jsonl *js)
{
	for (size_t i = 0; i < GLIMPSES; i++) {
		if (js->glimpses[i])
			arena_done(&js->glimpses[i]->arena);
		mem_free(js->glimpses[i]);
	}
}

static struct glimpse *new_glimpse(void)
{
	struct glimpse *g = mem_zero(1, sizeof(*g));

	if (g)
		arena_init(&g->arena, 0);
	return g;
}

struct glimpse *glimpse_begin(struct jsonl *js)
{
	struct glimpse **slot, *g;

	(void)pthread_mutex_lock(&js->mutex);
	slot = &js->glimpses[js->next_glimpse++ % GLIMPSES];
	g = *slot ? *slot : new_glimpse();
	*slot = NULL;
	if (g) {
		g->row.rec.id = (struct weft_id){ .b = { 0 } };
		g->rewrites = js->my_rewrites;
		g->drops = js->drops;
	}
	(void)pthread_mutex_unlock(&js->mutex);
	return g;
}

void glimpse_read(struct glimpse *g, struct catalog *c,
		  const struct weft_id *id)
{
	arena_reset(&g->arena);
	/* Whoever wants it is told why it cannot be read. */
	if (catalog_get(c, id, &g->arena, &g->row, NULL) < 0)
		g->row.rec.id = (struct weft_id){ .b = { 0 } };
}

void glimpse_end(struct jsonl *js, struct glimpse *g)
{
	struct glimpse **free_slot = NULL;

	if (!g)
		return;
	(void)pthread_mutex_lock(&js->mutex);
	for (size_t i = 0; i < GLIMPSES && !free_slot; i++) {
		if (!js->glimpses[i])
			free_slot = &js->glimpses[i];
	}
	if (free_slot)
		*free_slot = g;
	(void)pthread_mutex_unlock(&js->mutex);
	if (free_slot)
		return;
	arena_done(&g->arena);
	mem_free(g);
}

/* Needs M. */
static struct glimpse **find(struct jsonl *js, const struct weft_id *id)
{
	for (size_t i = 0; i < GLIMPSES; i++) {
		const struct glimpse *g = js->glimpses[i];

		if (g && id_eq(&g->row.rec.id, id) &&
		    g->rewrites == js->my_rewrites && g->drops == js->drops)
			return &js->glimpses[i];
	}
	return NULL;
}

const struct session_rec *glimpse_find(struct jsonl *js,
				       const struct weft_id *id)
{
	struct glimpse **slot = find(js, id);

	return slot ? &(*slot)->row.rec : NULL;
}

struct glimpse *glimpse_take(struct jsonl *js, const struct weft_id *id)
{
	struct glimpse **slot, *g = NULL;

	(void)pthread_mutex_lock(&js->mutex);
	slot = find(js, id);
	if (slot) {
		g = *slot;
		*slot = NULL;
	}
	(void)pthread_mutex_unlock(&js->mutex);
	return g;
}

const struct catalog_row *glimpse_row(const struct glimpse *g)
{
	return &g->row;
}
