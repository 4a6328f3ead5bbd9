/* fixture.c - a fresh store for each test, and ways to read it. */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"
#include "base/mem.h"
#include "conformance/conformance.h"
#include "model/event.h"
#include "model/record.h"

const char *conformance_url = "memory:";

static int64_t test_clock(void *ctx)
{
	return ((const struct fixture *)ctx)->now_ms;
}

bool is_persistent(const struct fixture *f)
{
	return is_place(f->url);
}

bool is_place(const char *url)
{
	return strncmp(url, "memory:", 7) != 0;
}

void add_options(char *url, size_t size, const char *options)
{
	size_t n = strlen(url);

	if (options && *options)
		(void)snprintf(url + n, size - n, "%c%s",
			       strchr(url, '?') ? '&' : '?', options);
}

/* In a database: a schema of its own.  Its server is thrown away. */
static bool make_schema(char url[512])
{
	static unsigned count;
	int n = snprintf(url, 512, "%s%cschema=t%d_%u_x", conformance_url,
			 strchr(conformance_url, '?') ? '&' : '?',
			 (int)getpid(), ++count);

	return n > 0 && n < 512;
}

/* A directory of its own below the one in the URL, or below $TMPDIR. */
bool try_place(char dir[256], char url[512])
{
	const char *colon = strchr(conformance_url, ':');
	const char *base = colon[1] ? colon + 1 : getenv("TMPDIR");
	int n;

	dir[0] = '\0';
	if (strncmp(conformance_url, "memory:", 7) == 0) {
		(void)snprintf(url, 512, "memory:");
		return true;
	}
	if (strncmp(conformance_url, "postgres", 8) == 0)
		return make_schema(url);
	n = snprintf(dir, 256, "%s/weft-conformance-XXXXXX",
		     base ? base : "/tmp");
	errno = ENAMETOOLONG;
	if (n < 0 || n >= 256 || !mkdtemp(dir)) {
		dir[0] = '\0';
		return false;
	}
	n = snprintf(url, 512, "%.*s%s/store",
		     (int)(colon + 1 - conformance_url), conformance_url, dir);
	return n > 0 && n < 512;
}

void make_place(char dir[256], char url[512])
{
	assert_true(try_place(dir, url));
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

int remove_place(const char *dir)
{
	return *dir ? nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) : 0;
}

int fixture_setup(void **state)
{
	struct fixture *f = mem_zero(1, sizeof(*f));

	assert_non_null(f);
	arena_init(&f->arena, 0);
	f->now_ms = TEST_BEGIN_MS;
	f->clock = (struct clock_source){ test_clock, f };
	make_place(f->dir, f->url);
	assert_ok(f, open_again(f, NULL, STORE_CREATE, &f->store));
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;
	int r = WEFT_OK;

	/* Inside a write its locks are held: closing would wait for ever. */
	if (f->store && !f->writing)
		r = store_close(f->store, &f->err);
	if (remove_place(f->dir) < 0)
		r = -1;
	arena_done(&f->arena);
	mem_free(f);
	return r;
}

int open_again(struct fixture *f, const char *options, uint32_t flags,
	       struct store **ret)
{
	struct store_open o = { .flags = flags, .clock = &f->clock };
	char url[sizeof(f->url) + 256];

	(void)snprintf(url, sizeof(url), "%s", f->url);
	add_options(url, sizeof(url), options);
	return store_open_url(url, &o, ret, &f->err);
}

void reopen_with(struct fixture *f, const char *options)
{
	struct store *s = f->store;

	f->store = NULL;
	close_store(f, s);
	assert_ok(f, open_again(f, options, STORE_CREATE, &f->store));
}

void close_store(struct fixture *f, struct store *s)
{
	assert_ok(f, store_close(s, &f->err));
}

int call_in_child(int (*call)(void *ctx), void *ctx)
{
	signed char result = -1;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)alarm(20);
		result = (signed char)call(ctx);
		if (write(ends[1], &result, 1) != 1)
			abort();
		/* Not even an exit: what the parent has is not the child's to
		 * clean up, or to be found leaking. */
		(void)raise(SIGKILL);
	}
	(void)close(ends[1]);
	if (read(ends[0], &result, 1) != 1)
		result = -1;
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return result;
}

/* ---- asserting ---- */

void assert_ok_(struct fixture *f, int r, const char *file, int line)
{
	if (r < 0)
		print_error("%s: %s\n", weft_code_name(r), f->err.message);
	_assert_true(r >= 0, "succeeded", file, line);
}

void assert_code_(struct fixture *f, int r, int code, const char *file,
		  int line)
{
	if (r != code)
		print_error("%s instead of %s%s%s\n",
			    weft_code_name(r < 0 ? r : 0), weft_code_name(code),
			    r < 0 ? ": " : "", r < 0 ? f->err.message : "");
	_assert_true(r == code, "failed as it should", file, line);
	/* Failing without a word is half a failure. */
	_assert_true(f->err.code == code, "err.code is the result", file, line);
	_assert_true(f->err.message[0] != '\0', "said why", file, line);
}

/* ---- reading ---- */

const struct session_rec *record(struct fixture *f, const struct weft_id *s)
{
	struct session_rec *rec = ARENA_NEW(&f->arena, struct session_rec);

	assert_non_null(rec);
	assert_ok(f, f->store->ops->get_sessions(f->store, s, 1, &f->arena, rec,
						 &f->err));
	return rec;
}

uint64_t head(struct fixture *f, const struct weft_id *s)
{
	return record(f, s)->head_seq;
}

const struct name_rec *find_name(struct fixture *f, const char *text)
{
	struct name_rec *found = ARENA_NEW(&f->arena, struct name_rec);
	struct weft_str wanted = str_of(text);

	assert_non_null(found);
	assert_ok(f, f->store->ops->get_names(f->store, &wanted, 1, &f->arena,
					      found, &f->err));
	return found;
}

struct event_page read_range(struct fixture *f, const struct event_range *r)
{
	struct event_page page;

	assert_ok(f, f->store->ops->read_events(f->store, r, &f->arena, &page,
						&f->err));
	return page;
}

struct event_page read_all(struct fixture *f, const struct weft_id *s)
{
	struct event_range r = { .session = *s,
				 .first = 1,
				 .last = UINT64_MAX };

	return read_range(f, &r);
}

static const char *take_text(struct fixture *f, struct buf *b)
{
	struct weft_str text = arena_str(&f->arena, buf_str(b));

	assert_ok(f, buf_error(b, &f->err));
	assert_non_null(text.ptr);
	buf_done(b);
	return text.ptr;
}

const char *seqs(struct fixture *f, const struct event_page *page)
{
	struct buf b;

	buf_init(&b, MIB(1));
	for (size_t i = 0; i < page->n; i++) {
		buf_printf(&b, "%s%llu", i ? " " : "",
			   (unsigned long long)page->v[i].seq);
		if (page->v[i].last != page->v[i].seq)
			buf_printf(&b, "-%llu",
				   (unsigned long long)page->v[i].last);
	}
	return take_text(f, &b);
}

/* The text of a message that draft_say made. */
static struct weft_str said(const struct store_event *e)
{
	static const char before[] = "\"text\":\"";
	const char *at =
		memmem(e->body.ptr, e->body.len, before, sizeof(before) - 1);
	const char *end;

	if (!at)
		return STR("?");
	at += sizeof(before) - 1;
	end = memchr(at, '"', (size_t)(e->body.ptr + e->body.len - at));
	return (struct weft_str){ at, (size_t)(end - at) };
}

const char *texts(struct fixture *f, const struct event_page *page)
{
	struct buf b;

	buf_init(&b, MIB(16));
	for (size_t i = 0; i < page->n; i++) {
		const struct store_event *e = &page->v[i];

		if (i > 0)
			buf_add_c(&b, ' ');
		if (e->type == EVENT_MESSAGE)
			buf_add_str(&b, said(e));
		else
			buf_add_str(&b, str_of(event_type_name(e->type)));
	}
	return take_text(f, &b);
}

void expect_texts(struct fixture *f, const struct weft_id *s,
		  const char *expected)
{
	struct event_page page = read_all(f, s);

	assert_string_equal(texts(f, &page), expected);
}

/* ---- dumping ---- */

static void dump_id(struct buf *b, const struct weft_id *id)
{
	char text[WEFT_ID_CHARS + 1];

	id_format(id, text);
	buf_add_str(b, str_of(text));
}

static void dump_record(struct buf *b, const struct session_rec *rec)
{
	for (size_t i = 0; i < record_n_fields; i++) {
		const struct record_field *field = &record_fields[i];
		const void *at = record_at_const(rec, field);

		buf_printf(b, " %s=", field->name);
		switch ((enum field_kind)field->kind) {
		case FIELD_ID:
			dump_id(b, at);
			break;
		case FIELD_U64:
			buf_add_u64(b, *(const uint64_t *)at);
			break;
		case FIELD_TIME:
			buf_add_i64(b, *(const int64_t *)at);
			break;
		case FIELD_STR:
		case FIELD_JSON:
			buf_add_str(b, *(const struct weft_str *)at);
			break;
		}
	}
	buf_add_c(b, '\n');
}

static void dump_events(struct fixture *f, struct store *s, struct buf *b,
			const struct weft_id *id)
{
	struct event_range r = { .session = *id,
				 .first = 1,
				 .last = UINT64_MAX };
	struct event_page page = { 0 };

	while (!page.done) {
		assert_ok(f, s->ops->read_events(s, &r, &f->arena, &page,
						 &f->err));
		for (size_t i = 0; i < page.n; i++) {
			buf_printf(b, " %u ", page.v[i].state);
			buf_add_str(b, page.v[i].bytes);
			buf_add_c(b, '\n');
			r.first = page.v[i].last + 1;
		}
	}
}

static void dump_session(struct fixture *f, struct store *s, struct buf *b,
			 const struct session_rec *rec)
{
	struct session_names names;
	uint64_t *hidden;
	size_t n;

	dump_id(b, &rec->id);
	dump_record(b, rec);
	assert_ok(f, s->ops->get_names_of(s, &rec->id, 1, &f->arena, &names,
					  &f->err));
	for (size_t i = 0; i < names.n; i++) {
		buf_printf(b, " name %llu %llu ",
			   (unsigned long long)names.v[i].kind,
			   (unsigned long long)names.v[i].ver);
		buf_add_str(b, names.v[i].name);
		buf_add_c(b, '\n');
	}
	assert_ok(f, s->ops->get_hidden(s, &rec->id, 1, UINT64_MAX, &f->arena,
					&hidden, &n, &f->err));
	for (size_t i = 0; i < n; i++)
		buf_printf(b, " hidden %llu\n", (unsigned long long)hidden[i]);
	dump_events(f, s, b, &rec->id);
}

const char *dump(struct fixture *f, struct store *s)
{
	struct list_query q = { .deleted = LIST_WITH_DELETED,
				.sort = LIST_BY_CREATION };
	struct session_page page = { .more = 1 };
	struct buf b;

	buf_init(&b, MIB(64));
	while (page.more) {
		assert_ok(f, s->ops->list(s, &q, &f->arena, &page, &f->err));
		for (size_t i = 0; i < page.n; i++) {
			dump_session(f, s, &b, &page.v[i]);
			q.cursor_ms = page.v[i].created_at;
			q.cursor_id = page.v[i].id;
		}
	}
	return take_text(f, &b);
}
