/* fault.c - a store that fails when told to, and passes the rest on. */
#include <pthread.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/store.h"

#define FAULT_WRITES (FAULT_WRITE | FAULT_WRITE_LATE)

struct fault {
	struct store store;
	struct store *inner;
	pthread_mutex_t lock; /* guards what follows */
	unsigned mask;
	uint64_t after; /* calls still let through */
	uint64_t count; /* calls to fail then; 0: all */
	uint64_t hits;  /* calls that failed */
	int code;
};

static struct fault *fault_of(struct store *s)
{
	return (struct fault *)(void *)s;
}

static struct store *inner_of(struct store *s)
{
	return fault_of(s)->inner;
}

/* Whether the next call of a slot in the mask fails; f->lock is held. */
static bool is_due(const struct fault *f)
{
	return f->after == 0 && (f->count == 0 || f->hits < f->count);
}

/* Count a call of `slot`: WEFT_OK, or the error it must fail with. */
static int strike(struct store *s, unsigned slot, struct weft_error *err)
{
	struct fault *f = fault_of(s);
	int code = WEFT_OK;

	(void)pthread_mutex_lock(&f->lock);
	if (f->mask & slot) {
		if (is_due(f)) {
			code = f->code;
			f->hits++;
		} else if (f->after > 0) {
			f->after--;
		}
	}
	(void)pthread_mutex_unlock(&f->lock);
	return code == WEFT_OK ? code :
				 fail(err, code, "a fault was asked for");
}

static int fault_open(const struct store_open *o, struct store **ret,
		      struct weft_error *err)
{
	(void)o;
	(void)ret;
	return fail(err, WEFT_INVALID, "fault: wraps a store that is open");
}

static int fault_close(struct store *s, struct weft_error *err)
{
	int r = store_close(inner_of(s), err);

	(void)pthread_mutex_destroy(&fault_of(s)->lock);
	mem_free(s);
	return r;
}

static int fault_write(struct store *s, const struct store_want *want,
		       store_plan *plan, void *ctx, struct weft_error *err)
{
	int r = strike(s, FAULT_WRITE, err);

	if (r == WEFT_OK)
		r = inner_of(s)->ops->write(inner_of(s), want, plan, ctx, err);
	return r == WEFT_OK ? strike(s, FAULT_WRITE_LATE, err) : r;
}

static int fault_get_sessions(struct store *s, const struct weft_id *ids,
			      size_t n, struct arena *a,
			      struct session_rec *out, struct weft_error *err)
{
	int r = strike(s, FAULT_READ, err);

	return r < 0 ? r :
		       inner_of(s)->ops->get_sessions(inner_of(s), ids, n, a,
						      out, err);
}

static int fault_get_names(struct store *s, const struct weft_str *names,
			   size_t n, struct arena *a, struct name_rec *out,
			   struct weft_error *err)
{
	int r = strike(s, FAULT_READ, err);

	return r < 0 ? r :
		       inner_of(s)->ops->get_names(inner_of(s), names, n, a,
						   out, err);
}

static int fault_get_names_of(struct store *s, const struct weft_id *ids,
			      size_t n, struct arena *a,
			      struct session_names *out, struct weft_error *err)
{
	int r = strike(s, FAULT_READ, err);

	return r < 0 ? r :
		       inner_of(s)->ops->get_names_of(inner_of(s), ids, n, a,
						      out, err);
}

static int fault_read_events(struct store *s, const struct event_range *range,
			     struct arena *a, struct event_page *ret,
			     struct weft_error *err)
{
	int r = strike(s, FAULT_READ, err);

	return r < 0 ? r :
		       inner_of(s)->ops->read_events(inner_of(s), range, a, ret,
						     err);
}

static int fault_get_hidden(struct store *s, const struct weft_id *session,
			    uint64_t first, uint64_t last, struct arena *a,
			    uint64_t **ret, size_t *ret_n,
			    struct weft_error *err)
{
	int r = strike(s, FAULT_READ, err);

	return r < 0 ? r :
		       inner_of(s)->ops->get_hidden(inner_of(s), session, first,
						    last, a, ret, ret_n, err);
}

static int fault_list(struct store *s, const struct list_query *q,
		      struct arena *a, struct session_page *ret,
		      struct weft_error *err)
{
	int r = strike(s, FAULT_READ, err);

	return r < 0 ? r : inner_of(s)->ops->list(inner_of(s), q, a, ret, err);
}

static int fault_find_tag(struct store *s, uint64_t tag, struct arena *a,
			  struct weft_id **ret, size_t *ret_n,
			  struct weft_error *err)
{
	int r = strike(s, FAULT_READ, err);

	return r < 0 ? r :
		       inner_of(s)->ops->find_tag(inner_of(s), tag, a, ret,
						  ret_n, err);
}

static int fault_where(struct store *s, const struct weft_id *session,
		       struct arena *a, struct weft_str *ret,
		       struct weft_error *err)
{
	int r = strike(s, FAULT_READ, err);

	return r < 0 ? r :
		       inner_of(s)->ops->where(inner_of(s), session, a, ret,
					       err);
}

static int fault_put_blob(struct store *s, struct weft_str bytes,
			  struct blob_ref *ret, struct weft_error *err)
{
	int r = strike(s, FAULT_BLOB, err);

	return r < 0 ? r :
		       inner_of(s)->ops->put_blob(inner_of(s), bytes, ret, err);
}

static int fault_get_blob(struct store *s, const struct blob_ref *ref,
			  struct arena *a, struct weft_str *ret,
			  struct weft_error *err)
{
	int r = strike(s, FAULT_BLOB, err);

	return r < 0 ? r :
		       inner_of(s)->ops->get_blob(inner_of(s), ref, a, ret,
						  err);
}

static int fault_get_behind(struct store *s, uint32_t make, size_t max,
			    struct arena *a, struct behind_page *ret,
			    struct weft_error *err)
{
	int r = strike(s, FAULT_WORDS, err);

	return r < 0 ? r :
		       inner_of(s)->ops->get_behind(inner_of(s), make, max, a,
						    ret, err);
}

static int fault_put_words(struct store *s, uint64_t epoch,
			   const struct word_batch *v, size_t n,
			   struct weft_error *err)
{
	int r = strike(s, FAULT_WORDS, err);

	return r < 0 ? r :
		       inner_of(s)->ops->put_words(inner_of(s), epoch, v, n,
						   err);
}

static int fault_find_words(struct store *s, const struct word_query *q,
			    struct arena *a, struct word_page *ret,
			    struct weft_error *err)
{
	int r = strike(s, FAULT_WORDS, err);

	return r < 0 ? r :
		       inner_of(s)->ops->find_words(inner_of(s), q, a, ret,
						    err);
}

static int fault_drop_words(struct store *s, const struct weft_id *sessions,
			    size_t n, struct weft_error *err)
{
	int r = strike(s, FAULT_WORDS, err);

	return r < 0 ? r :
		       inner_of(s)->ops->drop_words(inner_of(s), sessions, n,
						    err);
}

static int fault_wait(struct store *s, uint64_t *stamp, int64_t timeout_ms,
		      struct weft_error *err)
{
	return inner_of(s)->ops->wait(inner_of(s), stamp, timeout_ms, err);
}

static void fault_wake(struct store *s)
{
	inner_of(s)->ops->wake(inner_of(s));
}

static int fault_maintain(struct store *s, uint32_t task,
			  struct store_report *report, struct weft_error *err)
{
	int r = strike(s, FAULT_MAINTAIN, err);

	return r < 0 ? r :
		       inner_of(s)->ops->maintain(inner_of(s), task, report,
						  err);
}

static int fault_health(struct store *s, struct store_health *ret)
{
	struct fault *f = fault_of(s);
	int r = f->inner->ops->health(f->inner, ret);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&f->lock);
	if ((f->mask & FAULT_WRITES) && is_due(f)) {
		ret->writable = 0;
		ret->failed = f->code == WEFT_IO || f->code == WEFT_UNKNOWN;
		(void)snprintf(ret->reason, sizeof(ret->reason),
			       "a fault was asked for");
	}
	(void)pthread_mutex_unlock(&f->lock);
	return r;
}

static const struct store_ops fault_ops = {
	.scheme = "fault",
	.open = fault_open,
	.close = fault_close,
	.write = fault_write,
	.get_sessions = fault_get_sessions,
	.get_names = fault_get_names,
	.get_names_of = fault_get_names_of,
	.read_events = fault_read_events,
	.get_hidden = fault_get_hidden,
	.list = fault_list,
	.find_tag = fault_find_tag,
	.where = fault_where,
	.put_blob = fault_put_blob,
	.get_blob = fault_get_blob,
	.get_behind = fault_get_behind,
	.put_words = fault_put_words,
	.find_words = fault_find_words,
	.drop_words = fault_drop_words,
	.wait = fault_wait,
	.wake = fault_wake,
	.maintain = fault_maintain,
	.health = fault_health,
};

int store_fault(struct store *inner, struct store **ret, struct weft_error *err)
{
	struct fault *f = mem_zero(1, sizeof(*f));

	if (!f)
		return fail_no_memory(err);
	if (pthread_mutex_init(&f->lock, NULL) != 0) {
		mem_free(f);
		return fail_no_memory(err);
	}
	f->store.ops = &fault_ops;
	f->store.limits = inner->limits;
	f->store.lone = inner->lone;
	f->store.by_hand = inner->by_hand;
	f->store.unhinted = inner->unhinted;
	f->inner = inner;
	*ret = &f->store;
	return WEFT_OK;
}

void store_fault_set(struct store *s, unsigned mask, uint64_t after,
		     uint64_t count, int code)
{
	struct fault *f = fault_of(s);

	(void)pthread_mutex_lock(&f->lock);
	f->mask = mask;
	f->after = after;
	f->count = count;
	f->hits = 0;
	f->code = code;
	(void)pthread_mutex_unlock(&f->lock);
}

uint64_t store_fault_hits(struct store *s)
{
	struct fault *f = fault_of(s);
	uint64_t hits;

	(void)pthread_mutex_lock(&f->lock);
	hits = f->hits;
	(void)pthread_mutex_unlock(&f->lock);
	return hits;
}
