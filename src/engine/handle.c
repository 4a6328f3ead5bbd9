/* handle.c - stores as programs hold them: opening, closing, options. */
#include <stdatomic.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/internal.h"
#include "store/store.h"

/* No struct of options is this large; a size that is was never set. */
#define OPTIONS_BYTES_MAX 4096

/* How many closed handles are remembered; see below. */
#define CLOSED_KEPT 256

struct weft_store {
	_Atomic(struct engine *) engine; /* NULL: closed */
};

/*
 * The handles that were closed last.  Each stays a handle until its place is
 * needed for another, so that who closes twice or goes on using a closed store
 * is told, instead of reading memory that is somebody else's by then.  No
 * lock: a child of fork() may close, too.
 */
static struct {
	_Atomic(struct weft_store *) v[CLOSED_KEPT];
	atomic_uint next;
} closed;

static void keep_closed(struct weft_store *s)
{
	unsigned i = atomic_fetch_add(&closed.next, 1) % CLOSED_KEPT;

	mem_free(atomic_exchange(&closed.v[i], s));
}

const char *weft_version(void)
{
	return WEFT_BUILD_VERSION;
}

struct engine *weft_store_engine(struct weft_store *s)
{
	return s ? atomic_load_explicit(&s->engine, memory_order_acquire) :
		   NULL;
}

int handle_engine(struct weft_store *s, struct engine **ret,
		  struct weft_error *err)
{
	struct engine *e = weft_store_engine(s);

	if (!s)
		return fail(err, WEFT_INVALID, "no store given");
	if (!e)
		return fail(err, WEFT_INVALID, "the store has been closed");
	*ret = e;
	return WEFT_OK;
}

/* ---- options ---- */

void options_init(void *o, size_t size, const void *preset, size_t bytes)
{
	if (!o || size < sizeof(size) || size > OPTIONS_BYTES_MAX)
		return;
	memset(o, 0, size);
	memcpy(o, preset, size < bytes ? size : bytes);
}

int options_take(void *to, size_t bytes, const void *from,
		 struct weft_error *err)
{
	const unsigned char *given = from;
	size_t size;

	memcpy(&size, from, sizeof(size));
	if (size < bytes || size > OPTIONS_BYTES_MAX)
		return fail(err, WEFT_INVALID,
			    "options of %zu bytes: use their init function",
			    size);
	for (size_t i = bytes; i < size; i++) {
		if (given[i])
			return fail(err, WEFT_INVALID,
				    "options that this version does not know");
	}
	memcpy(to, from, bytes);
	return WEFT_OK;
}

void weft_open_options_init(struct weft_open_options *o, size_t size)
{
	const struct weft_open_options preset = { .size = size };

	options_init(o, size, &preset, sizeof(preset));
}

/* ---- opening and closing ---- */

int weft_check_url(const char *url, struct weft_error *place,
		   struct weft_error *err)
{
	struct weft_error ignored;

	return store_check_url(url, place ? place : &ignored, err);
}

int weft_open(const char *url, const struct weft_open_options *options,
	      struct weft_store **ret, struct weft_error *err)
{
	struct weft_open_options o;
	struct engine *e = NULL;
	struct weft_store *s;
	int r = WEFT_OK;

	weft_open_options_init(&o, sizeof(o));
	if (!ret)
		return fail(err, WEFT_INVALID, "no place for the store");
	if (options)
		r = options_take(&o, sizeof(o), options, err);
	/* Or it could never be used for something. */
	if (r == WEFT_OK && o.reserved)
		r = fail(err, WEFT_INVALID, "reserved: expected 0");
	if (r < 0)
		return r;
	s = mem_zero(1, sizeof(*s));
	if (!s)
		return fail_no_memory(err);
	r = engine_open(url, &o, &e, err);
	if (r < 0) {
		mem_free(s);
		return r;
	}
	atomic_init(&s->engine, e);
	*ret = s;
	return WEFT_OK;
}

int weft_store_around(struct engine *e, struct weft_store **ret,
		      struct weft_error *err)
{
	struct weft_store *s = mem_zero(1, sizeof(*s));

	if (!s) {
		(void)engine_close(e, NULL);
		return fail_no_memory(err);
	}
	atomic_init(&s->engine, e);
	*ret = s;
	return WEFT_OK;
}

int weft_close(struct weft_store *store, struct weft_error *err)
{
	struct engine *e = store ? atomic_exchange(&store->engine, NULL) : NULL;
	int r;

	if (!e)
		return WEFT_OK;
	r = engine_close(e, err);
	keep_closed(store);
	return r;
}
