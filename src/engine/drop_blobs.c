/*
 * drop_blobs.c - attachments of events that are gone.
 *
 * The store knows what is still referred to, once the events are gone.  Before
 * that, for a dry run, references are counted: a blob would go if those that go
 * are all that there are.
 */
#include "base/error.h"
#include "engine/drop.h"
#include "model/blob.h"

static int drop(struct dropping *d)
{
	struct blob_ref *v = ARENA_ARRAY(d->arena, struct blob_ref, d->n_blobs);
	struct store *s = d->engine->store;
	struct store_report report = { .arena = d->arena,
				       .only = v,
				       .n_only = d->n_blobs };
	int r;

	if (!v)
		return arena_error(d->arena, d->err);
	for (size_t i = 0; i < d->n_blobs; i++)
		v[i] = d->blobs[i].ref;
	r = s->ops->maintain(s, TASK_BLOBS, &report, d->err);
	d->ret->blobs = report.changed;
	return r;
}

/* Take from the counts what is found. */
static void take_found(struct dropping *d, const struct blob_refs *found,
		       int64_t *left)
{
	for (size_t i = 0; i < found->n; i++) {
		for (size_t k = 0; k < d->n_blobs; k++) {
			if (memcmp(d->blobs[k].ref.sha256, found->v[i].sha256,
				   sizeof(found->v[i].sha256)) == 0)
				left[k]--;
		}
	}
}

static int count_session(struct dropping *d, const struct session_rec *rec,
			 void *left)
{
	struct event_range range = {
		.session = rec->id,
		.first = 1,
		.last = UINT64_MAX,
		.types = UINT64_C(1) << EVENT_MESSAGE,
	};
	struct store *s = d->engine->store;
	struct event_page page = { .done = 0 };
	CLEANUP(arena_done) struct arena a;
	int r = WEFT_OK;

	arena_init(&a, 0);
	while (r == WEFT_OK && !page.done) {
		arena_reset(&a);
		r = s->ops->read_events(s, &range, &a, &page, d->err);
		if (r < 0 || page.n == 0)
			break;
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++) {
			const struct store_event *e = &page.v[i];
			struct blob_refs found = { 0 };

			if (e->type != EVENT_MESSAGE ||
			    !blob_is_packed(e->body, e->state))
				continue;
			r = blob_list(e->body, &a, &found, d->err);
			take_found(d, &found, left);
		}
		range.first = page.v[page.n - 1].last + 1;
	}
	return r;
}

int dropping_blobs(struct dropping *d)
{
	int64_t *left;
	int r;

	if (!d->dry)
		return drop(d);
	left = ARENA_ARRAY(d->arena, int64_t, d->n_blobs);
	if (!left)
		return arena_error(d->arena, d->err);
	for (size_t i = 0; i < d->n_blobs; i++)
		left[i] = (int64_t)d->blobs[i].n;
	r = dropping_each(d, count_session, left);
	for (size_t i = 0; i < d->n_blobs; i++)
		d->ret->blobs += left[i] >= 0;
	return r;
}
