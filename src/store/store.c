/* store.c - find a store by its URL; limits; reports. */
#include "store/store.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"

#define URL_BYTES_MAX KIB(64)

static const struct store_kind {
	const struct store_ops *ops;
	const char *needs_path; /* what to write behind the colon, or NULL */
	bool whole;             /* it reads the URL itself, but for options */
	int (*check)(const struct store_open *o, struct weft_error *err);
} stores[] = {
	{ &store_memory, NULL, false, NULL },
	{ &store_jsonl, "DIR", false, jsonl_check_place },
	{ &store_sqlite, "FILE", false, sqlite_check_place },
	{ &store_postgres, NULL, true, pg_check_url },
	{ &store_postgresql, NULL, true, pg_check_url },
};

/* ---- limits ---- */

#define MINUTE_MS 60000u
#define DAY_MS    (24u * 60u * MINUTE_MS)

#define LIMIT(field, preset, low, high)                                        \
	{                                                                      \
#field, offsetof(struct store_limits, field), (preset), (low), \
			(high)                                                 \
	}

/*
 * Name, default, smallest and largest value.  The largest ones are what the
 * formats and the types of counters hold, with room to spare.
 */
static const struct limit {
	const char *name;
	size_t offset;
	uint64_t preset, low, high;
} limits[] = {
	LIMIT(message_bytes, MIB(16), 1, MIB(1024)),
	LIMIT(batch_messages, 1024, 1, 1u << 20),
	LIMIT(parts, 1024, 1, 1u << 20),
	LIMIT(json_depth, JSON_DEPTH_MAX, 1, JSON_DEPTH_MAX),
	LIMIT(name_bytes, 512, 1, KIB(64)),
	LIMIT(slug_bytes, 256, 1, KIB(64)),
	LIMIT(names, 64, 1, 1u << 20),
	LIMIT(metadata_bytes, KIB(64), 2, MIB(64)),
	LIMIT(op_bytes, 128, 1, KIB(4)),
	LIMIT(ops_remembered, 4096, 1, 1u << 30),
	LIMIT(queue, 4096, 1, 1u << 24),
	LIMIT(page, 1000, 1, 1u << 24),
	LIMIT(active_sessions, 10000, 1, 1u << 30),
	LIMIT(open_files, 512, 1, 1u << 20),
	LIMIT(idle_ms, 30 * MINUTE_MS, 1, UINT64_C(3650) * DAY_MS),
	LIMIT(fork_depth, 4096, 1, 1u << 20),
	LIMIT(subagent_depth, 32, 1, 1u << 20),
	LIMIT(segment_bytes, MIB(1), KIB(64), MIB(1024)),
	LIMIT(segment_bytes_max, MIB(64), KIB(64), MIB(1024)),
	LIMIT(busy_ms, 5000, 1, DAY_MS),
	LIMIT(lease_ms, MINUTE_MS, 1, UINT64_C(3650) * DAY_MS),
	LIMIT(lease_ms_min, 5000, 1, UINT64_C(3650) * DAY_MS),
	LIMIT(lease_ms_max, 60 * MINUTE_MS, 1, UINT64_C(3650) * DAY_MS),
	LIMIT(todos, 1000, 1, 1u << 20),
	LIMIT(memory_bytes, KIB(64), 1, MIB(64)),
	LIMIT(blob_bytes, KIB(64), 1, MIB(1024)),
	LIMIT(summary_bytes, MIB(1), 1, MIB(1024)),
	LIMIT(window_messages, ID_SEQ_MAX, 1, ID_SEQ_MAX),
};

static uint64_t *limit_at(struct store_limits *l, const struct limit *limit)
{
	return (uint64_t *)(void *)((char *)l + limit->offset);
}

int store_limits_fill(struct store_limits *l, struct weft_error *err)
{
	bool any_maximum = l->segment_bytes_max == 0;

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		const struct limit *limit = &limits[i];
		uint64_t *value = limit_at(l, limit);

		if (*value == 0)
			*value = limit->preset;
		if (*value < limit->low || *value > limit->high)
			return fail(err, WEFT_INVALID,
				    "%s=%llu: expected %llu to %llu",
				    limit->name, (unsigned long long)*value,
				    (unsigned long long)limit->low,
				    (unsigned long long)limit->high);
	}
	if (any_maximum)
		l->segment_bytes_max =
			u64_max(l->segment_bytes_max, l->segment_bytes);
	if (l->segment_bytes_max < l->segment_bytes)
		return fail(err, WEFT_INVALID,
			    "segment_bytes_max=%llu: less than segment_bytes",
			    (unsigned long long)l->segment_bytes_max);
	return WEFT_OK;
}

/* ---- URLs ---- */

static const struct {
	const char *name;
	uint32_t flag;
} switches[] = {
	{ "read_only", STORE_READ_ONLY },
	{ "single", STORE_SINGLE },
	{ "create", STORE_CREATE },
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Append `s` with every %XX replaced by its byte. */
static int add_decoded(struct buf *b, struct weft_str s, struct weft_error *err)
{
	for (size_t i = 0; i < s.len; i++) {
		int high = -1, low = -1;

		if (s.ptr[i] != '%') {
			buf_add_c(b, s.ptr[i]);
			continue;
		}
		if (s.len - i > 2) {
			high = hex_digit(s.ptr[i + 1]);
			low = hex_digit(s.ptr[i + 2]);
		}
		if (high < 0 || low < 0)
			return fail(err, WEFT_INVALID,
				    "store URL: '%%' without two hexadecimal "
				    "digits in \"%.*s\"",
				    STR_ARG(s));
		if (high == 0 && low == 0)
			return fail(err, WEFT_INVALID,
				    "store URL: %%00 in \"%.*s\"", STR_ARG(s));
		buf_add_c(b, (char)(high * 16 + low));
		i += 2;
	}
	return buf_error(b, err);
}

/* Cut `s` at the first `c`: *rest is what follows it, or empty. */
static struct weft_str cut_at(struct weft_str s, char c, struct weft_str *rest)
{
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;
	size_t n = at ? (size_t)(at - s.ptr) : s.len;

	*rest = str_skip(s, at ? n + 1 : n);
	return (struct weft_str){ s.ptr, n };
}

static int unknown_option(struct weft_str name, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf known;

	buf_init(&known, KIB(4));
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		buf_printf(&known, "%s%s", i ? ", " : "", switches[i].name);
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		buf_printf(&known, ", %s", limits[i].name);
	return fail(err, WEFT_INVALID,
		    "store URL: unknown option \"%.*s\"; known are %s",
		    (int)u64_min(name.len, 40), name.ptr, buf_cstr(&known));
}

static int set_switch(struct store_open *o, uint32_t flag, struct weft_str name,
		      struct weft_str value, struct weft_error *err)
{
	if (str_eq(value, STR("1")))
		o->flags |= flag;
	else if (str_eq(value, STR("0")))
		o->flags &= ~flag;
	else
		return fail(err, WEFT_INVALID,
			    "store URL: %.*s=%.*s: expected 0 or 1",
			    STR_ARG(name), STR_ARG(value));
	return WEFT_OK;
}

static int set_option(struct store_open *o, struct weft_str name,
		      struct weft_str value, struct weft_error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
		if (str_eq(name, str_of(switches[i].name)))
			return set_switch(o, switches[i].flag, name, value,
					  err);
	}
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (!str_eq(name, str_of(limits[i].name)))
			continue;
		if (!str_to_u64(value, UINT64_MAX,
				limit_at(&o->limits, &limits[i])))
			return fail(err, WEFT_INVALID,
				    "store URL: %.*s=%.*s: expected a number",
				    STR_ARG(name), STR_ARG(value));
		return WEFT_OK;
	}
	return unknown_option(name, err);
}

static int set_options(struct store_open *o, struct weft_str query,
		       struct weft_error *err)
{
	CLEANUP(buf_done) struct buf decoded;

	buf_init(&decoded, URL_BYTES_MAX);
	while (query.len > 0) {
		struct weft_str option = cut_at(query, '&', &query);
		struct weft_str value;
		struct weft_str name = cut_at(option, '=', &value);
		int r;

		buf_reset(&decoded);
		r = add_decoded(&decoded, value, err);
		if (r < 0)
			return r;
		r = set_option(o, name, buf_str(&decoded), err);
		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

static int unknown_scheme(const char *url, struct weft_str scheme,
			  struct weft_error *err)
{
	CLEANUP(buf_done) struct buf known;

	buf_init(&known, KIB(1));
	/* One of a server that was mistyped may hold a password: no word of
	 * it. */
	if (memchr(scheme.ptr, '/', scheme.len) && strstr(url, "//") &&
	    strchr(url, '@'))
		return fail(err, WEFT_INVALID,
			    "store URL: no scheme; expected "
			    "postgres://USER@HOST/DATABASE or jsonl:DIR");
	/* A path, or one with a colon in it. */
	if (memchr(scheme.ptr, '/', scheme.len) || !strchr(url, ':'))
		return fail(err, WEFT_INVALID,
			    "store URL \"%.200s\" has no scheme: "
			    "write jsonl:%.200s",
			    url, url);
	for (size_t i = 0; i < ARRAY_LEN(stores); i++)
		buf_printf(&known, "%s%s:", i ? ", " : "",
			   stores[i].ops->scheme);
	return fail(err, WEFT_INVALID,
		    "store URL: unknown scheme \"%.*s:\"; known are %s",
		    STR_ARG(scheme), buf_cstr(&known));
}

static bool is_known_option(struct weft_str name)
{
	for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
		if (str_eq(name, str_of(switches[i].name)))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (str_eq(name, str_of(limits[i].name)))
			return true;
	}
	return false;
}

/* Our options into `o`; the URL without them is kept in `path`. */
static int read_whole_url(struct weft_str url, struct store_open *o,
			  struct buf *path, struct weft_error *err)
{
	struct weft_str query, base = cut_at(url, '?', &query);
	char separator = '?';

	buf_add_str(path, base);
	while (query.len > 0) {
		struct weft_str option = cut_at(query, '&', &query), value;
		struct weft_str name = cut_at(option, '=', &value);
		int r = WEFT_OK;

		if (is_known_option(name)) {
			r = set_options(o, option, err);
		} else {
			buf_add_c(path, separator);
			buf_add_str(path, option);
			separator = '&';
		}
		if (r < 0)
			return r;
	}
	o->path = (struct weft_str){ buf_cstr(path), path->len };
	return buf_error(path, err);
}

/* Everything of a URL but its scheme into `o`; the path is kept in `path`. */
static int read_url(struct weft_str rest, struct store_open *o,
		    struct buf *path, struct weft_error *err)
{
	struct weft_str query;
	struct weft_str raw_path = cut_at(rest, '?', &query);
	int r;

	r = add_decoded(path, raw_path, err);
	if (r < 0)
		return r;
	r = set_options(o, query, err);
	if (r < 0)
		return r;
	o->path = (struct weft_str){ buf_cstr(path), path->len };
	r = buf_error(path, err);
	if (r < 0)
		return r;
	return store_limits_fill(&o->limits, err);
}

/* Where a store is does not change when the program goes elsewhere. */
static int make_absolute(struct store_open *o, struct buf *path,
			 struct weft_error *err)
{
	CLEANUP(buf_done) struct buf given;
	char here[PATH_MAX];
	int r;

	buf_init(&given, URL_BYTES_MAX);
	if (o->path.ptr[0] == '/' || (o->fs && o->fs != fs_real()))
		return WEFT_OK;
	r = fs_real_here(here, sizeof(here));
	if (r < 0)
		return fail_errno(err, -r, "find the working directory");
	buf_add_str(&given, o->path);
	r = buf_error(&given, err);
	if (r < 0)
		return r;
	buf_reset(path);
	buf_printf(path, "%s/", str_eq(str_of(here), STR("/")) ? "" : here);
	buf_add_str(path, buf_str(&given));
	o->path = (struct weft_str){ buf_cstr(path), path->len };
	return buf_error(path, err);
}

/* The kind of a store, by the scheme of its URL; NULL: there is none. */
static const struct store_kind *kind_of(const char *url, struct weft_str *rest)
{
	struct weft_str scheme = cut_at(str_of(url), ':', rest);

	for (size_t i = 0; strchr(url, ':') && i < ARRAY_LEN(stores); i++) {
		if (str_eq(scheme, str_of(stores[i].ops->scheme)))
			return &stores[i];
	}
	return NULL;
}

static int check_has_place(const char *url, const struct store_kind *k,
			   const struct store_open *o, struct weft_error *err)
{
	if (k->needs_path && o->path.len == 0)
		return fail(err, WEFT_INVALID,
			    "store URL \"%.200s\" names no place: write %s:%s",
			    url, k->ops->scheme, k->needs_path);
	if (!k->needs_path && !k->whole && o->path.len > 0)
		return fail(err, WEFT_INVALID,
			    "store URL \"%.200s\" names a place, and %s: has "
			    "none: write %s:",
			    url, k->ops->scheme, k->ops->scheme);
	return WEFT_OK;
}

/* What a URL says, into `o`; its path is kept in `path`. */
static int resolve(const char *url, struct store_open *o, struct buf *path,
		   const struct store_kind **ret, struct weft_error *err)
{
	const struct store_kind *k;
	struct weft_str rest, ignored;
	int r;

	if (!url || !*url)
		return fail(err, WEFT_INVALID,
			    "empty store URL: write jsonl:DIR, sqlite:FILE or "
			    "memory:");
	*ret = k = kind_of(url, &rest);
	if (!k)
		return unknown_scheme(url, cut_at(str_of(url), ':', &ignored),
				      err);
	r = k->whole ? read_whole_url(str_of(url), o, path, err) :
		       read_url(rest, o, path, err);
	if (r == WEFT_OK)
		r = check_has_place(url, k, o, err);
	if (r == WEFT_OK && k->needs_path)
		r = make_absolute(o, path, err);
	return r;
}

int store_open_url(const char *url, const struct store_open *o,
		   struct store **ret, struct weft_error *err)
{
	struct store_open open = { .flags = STORE_CREATE };
	const struct store_kind *kind = NULL;
	CLEANUP(buf_done) struct buf path;
	int r;

	buf_init(&path, URL_BYTES_MAX);
	if (o)
		open = *o;
	r = resolve(url, &open, &path, &kind, err);
	if (r == WEFT_OK && kind)
		r = kind->ops->open(&open, ret, err);
	if (r == WEFT_OK && kind)
		(*ret)->read_only = (open.flags & STORE_READ_ONLY) != 0;
	return r;
}

int store_check_url(const char *url, struct weft_error *ret_place,
		    struct weft_error *err)
{
	struct store_open open = { .flags = STORE_CREATE };
	const struct store_kind *kind = NULL;
	CLEANUP(buf_done) struct buf path;
	int r;

	*ret_place = (struct weft_error){ 0 };
	buf_init(&path, URL_BYTES_MAX);
	r = resolve(url, &open, &path, &kind, err);
	if (r < 0 || !kind || !kind->check)
		return r;
	/* It is the URL itself that is looked at. */
	if (kind->whole)
		return kind->check(&open, err);
	(void)kind->check(&open, ret_place);
	return WEFT_OK;
}

/* ---- reports ---- */

static struct store_problem *add_problem(struct store_report *r)
{
	if (r->n_problems == r->room) {
		size_t room = r->room ? r->room * 2 : 16;
		struct store_problem *v =
			ARENA_ARRAY(r->arena, struct store_problem, room);

		if (!v)
			return NULL;
		if (r->n_problems > 0)
			memcpy(v, r->problems, r->n_problems * sizeof(*v));
		r->problems = v;
		r->room = room;
	}
	return &r->problems[r->n_problems];
}

int report_problem(struct store_report *r, const struct weft_id *session,
		   const char *file, uint64_t line, uint64_t offset,
		   struct weft_error *err, const char *format, ...)
{
	struct store_problem *p = add_problem(r);
	char reason[256];
	va_list args;

	if (!p)
		return arena_error(r->arena, err);
	va_start(args, format);
	(void)vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	*p = (struct store_problem){
		.file = arena_str(r->arena, str_of(file ? file : "")),
		.line = line,
		.offset = offset,
		.reason = arena_str(r->arena, str_of(reason)),
	};
	if (session)
		p->session = *session;
	if (r->arena->failed)
		return arena_error(r->arena, err);
	r->n_problems++;
	return WEFT_OK;
}

int report_no_backup(const char *advice, struct weft_error *err)
{
	return fail(err, WEFT_INVALID,
		    "this store has no backup of its own: %s", advice);
}
