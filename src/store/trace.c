/* trace.c - a store that tells about every call, and passes it on. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/store.h"

struct trace {
	struct store store;
	struct store *inner;
	void (*tell)(void *ctx, const char *line);
	void *ctx;
};

static struct trace *trace_of(struct store *s)
{
	return (struct trace *)(void *)s;
}

static struct store *inner_of(struct store *s)
{
	return trace_of(s)->inner;
}

/* Tell "WHAT -> ok 212us" and return `r`. */
static int tell(struct store *s, int64_t from_us, int r, const char *what, ...)
	__attribute__((format(printf, 4, 5)));

static int tell(struct store *s, int64_t from_us, int r, const char *what, ...)
{
	struct trace *t = trace_of(s);
	int64_t us = clock_mono_us() - from_us;
	char call[256], line[320];
	va_list args;

	va_start(args, what);
	(void)vsnprintf(call, sizeof(call), what, args);
	va_end(args);
	(void)snprintf(line, sizeof(line), "%s -> %s %" PRId64 "us", call,
		       weft_code_name(r < 0 ? r : WEFT_OK), us);
	t->tell(t->ctx, line);
	return r;
}

struct id_text {
	char text[WEFT_ID_CHARS + 1];
};

static struct id_text id_text(const struct weft_id *id)
{
	struct id_text t;

	id_format(id, t.text);
	return t;
}

static int trace_open(const struct store_open *o, struct store **ret,
		      struct weft_error *err)
{
	(void)o;
	(void)ret;
	return fail(err, WEFT_INVALID, "trace: wraps a store that is open");
}

static int trace_close(struct store *s, struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = store_close(inner_of(s), err);

	(void)tell(s, from, r, "close");
	mem_free(s);
	return r;
}

static int trace_write(struct store *s, const struct store_want *want,
		       store_plan *plan, void *ctx, struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->write(inner_of(s), want, plan, ctx, err);

	return tell(s, from, r, "write sessions=%zu names=%zu bytes=%zu",
		    want ? want->n_sessions : 0, want ? want->n_names : 0,
		    want ? want->bytes : 0);
}

static int trace_get_sessions(struct store *s, const struct weft_id *ids,
			      size_t n, struct arena *a,
			      struct session_rec *out, struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->get_sessions(inner_of(s), ids, n, a, out,
					       err);

	return tell(s, from, r, "get_sessions n=%zu", n);
}

static int trace_get_names(struct store *s, const struct weft_str *names,
			   size_t n, struct arena *a, struct name_rec *out,
			   struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->get_names(inner_of(s), names, n, a, out, err);

	return tell(s, from, r, "get_names n=%zu", n);
}

static int trace_get_names_of(struct store *s, const struct weft_id *ids,
			      size_t n, struct arena *a,
			      struct session_names *out, struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->get_names_of(inner_of(s), ids, n, a, out,
					       err);

	return tell(s, from, r, "get_names_of n=%zu", n);
}

static int trace_read_events(struct store *s, const struct event_range *range,
			     struct arena *a, struct event_page *ret,
			     struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->read_events(inner_of(s), range, a, ret, err);

	return tell(s, from, r,
		    "read_events session=%s %" PRIu64 "..%" PRIu64 "%s",
		    id_text(&range->session).text, range->first, range->last,
		    range->backwards ? " backwards" : "");
}

static int trace_get_hidden(struct store *s, const struct weft_id *session,
			    uint64_t first, uint64_t last, struct arena *a,
			    uint64_t **ret, size_t *ret_n,
			    struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->get_hidden(inner_of(s), session, first, last,
					     a, ret, ret_n, err);

	return tell(s, from, r, "get_hidden session=%s %" PRIu64 "..%" PRIu64,
		    id_text(session).text, first, last);
}

static int trace_list(struct store *s, const struct list_query *q,
		      struct arena *a, struct session_page *ret,
		      struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->list(inner_of(s), q, a, ret, err);

	return tell(s, from, r, "list limit=%u%s", q->limit,
		    q->backwards ? " backwards" : "");
}

static int trace_find_tag(struct store *s, uint64_t tag, struct arena *a,
			  struct weft_id **ret, size_t *ret_n,
			  struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->find_tag(inner_of(s), tag, a, ret, ret_n,
					   err);

	return tell(s, from, r, "find_tag tag=%" PRIx64, tag);
}

static int trace_where(struct store *s, const struct weft_id *session,
		       struct arena *a, struct weft_str *ret,
		       struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->where(inner_of(s), session, a, ret, err);

	return tell(s, from, r, "where session=%s", id_text(session).text);
}

static int trace_put_blob(struct store *s, struct weft_str bytes,
			  struct blob_ref *ret, struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->put_blob(inner_of(s), bytes, ret, err);

	return tell(s, from, r, "put_blob bytes=%zu", bytes.len);
}

static int trace_get_blob(struct store *s, const struct blob_ref *ref,
			  struct arena *a, struct weft_str *ret,
			  struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->get_blob(inner_of(s), ref, a, ret, err);

	return tell(s, from, r, "get_blob bytes=%" PRIu64, ref->bytes);
}

static int trace_get_behind(struct store *s, uint32_t make, size_t max,
			    struct arena *a, struct behind_page *ret,
			    struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->get_behind(inner_of(s), make, max, a, ret,
					     err);

	return tell(s, from, r, "get_behind max=%zu", max);
}

static int trace_put_words(struct store *s, uint64_t epoch,
			   const struct word_batch *v, size_t n,
			   struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->put_words(inner_of(s), epoch, v, n, err);

	return tell(s, from, r, "put_words sessions=%zu", n);
}

static int trace_find_words(struct store *s, const struct word_query *q,
			    struct arena *a, struct word_page *ret,
			    struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->find_words(inner_of(s), q, a, ret, err);

	return tell(s, from, r, "find_words terms=%zu", q->n_terms);
}

static int trace_drop_words(struct store *s, const struct weft_id *sessions,
			    size_t n, struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->drop_words(inner_of(s), sessions, n, err);

	return tell(s, from, r, "drop_words sessions=%zu", n);
}

static int trace_wait(struct store *s, uint64_t *stamp, int64_t timeout_ms,
		      struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->wait(inner_of(s), stamp, timeout_ms, err);

	return tell(s, from, r, "wait timeout_ms=%" PRId64 " changed=%d",
		    timeout_ms, r > 0);
}

static void trace_wake(struct store *s)
{
	int64_t from = clock_mono_us();

	inner_of(s)->ops->wake(inner_of(s));
	(void)tell(s, from, WEFT_OK, "wake");
}

static int trace_maintain(struct store *s, uint32_t task,
			  struct store_report *report, struct weft_error *err)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->maintain(inner_of(s), task, report, err);

	return tell(s, from, r, "maintain task=%u", task);
}

static int trace_health(struct store *s, struct store_health *ret)
{
	int64_t from = clock_mono_us();
	int r = inner_of(s)->ops->health(inner_of(s), ret);

	return tell(s, from, r, "health");
}

static const struct store_ops trace_ops = {
	.scheme = "trace",
	.open = trace_open,
	.close = trace_close,
	.write = trace_write,
	.get_sessions = trace_get_sessions,
	.get_names = trace_get_names,
	.get_names_of = trace_get_names_of,
	.read_events = trace_read_events,
	.get_hidden = trace_get_hidden,
	.list = trace_list,
	.find_tag = trace_find_tag,
	.where = trace_where,
	.put_blob = trace_put_blob,
	.get_blob = trace_get_blob,
	.get_behind = trace_get_behind,
	.put_words = trace_put_words,
	.find_words = trace_find_words,
	.drop_words = trace_drop_words,
	.wait = trace_wait,
	.wake = trace_wake,
	.maintain = trace_maintain,
	.health = trace_health,
};

int store_trace(struct store *inner,
		void (*teller)(void *ctx, const char *line), void *ctx,
		struct store **ret, struct weft_error *err)
{
	struct trace *t = mem_zero(1, sizeof(*t));

	if (!t)
		return fail_no_memory(err);
	t->store.ops = &trace_ops;
	t->store.limits = inner->limits;
	t->store.lone = inner->lone;
	t->store.by_hand = inner->by_hand;
	t->store.unhinted = inner->unhinted;
	t->inner = inner;
	t->tell = teller;
	t->ctx = ctx;
	*ret = &t->store;
	return WEFT_OK;
}
