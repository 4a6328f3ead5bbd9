/*
 * A store as a crash may have left it: whatever is in its files, opening it,
 * reading everything, verifying, repairing and appending never crash, and a
 * session whose file was not touched keeps what it had.
 *
 * Input: edits of a store that was killed with frames in its log.  Each is
 * file:1 offset:3 length:1, then so many bytes; the high bit of file says that
 * the checksum is to be made right afterwards, so that the fuzzer gets past it.
 */
#include "fuzz.h"

#include <assert.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/id.h"
#include "model/body.h"
#include "model/derive.h"
#include "model/event.h"
#include "sim/simdisk.h"
#include "store/store.h"

#define SESSIONS 3
#define MANY     40 /* lines of one record */

static struct simdisk *base_disk;
static struct weft_id ids[SESSIONS];
static char paths[SESSIONS][96];

/* ---- the store ---- */

struct draft {
	struct weft_id session;
	const char *text; /* NULL: make the session */
	unsigned lines;
	struct arena arena;
};

static int add_line(struct draft *d, struct session_rec *rec,
		    struct op_list *out, struct weft_error *err)
{
	struct store_event *e = ARENA_NEW(&d->arena, struct store_event);
	struct buf body;
	int r;

	buf_init(&body, 0);
	e->session = d->session;
	e->ts_ms = 1800000000000;
	if (d->text) {
		e->type = EVENT_MESSAGE;
		e->op = arena_printf(&d->arena, "op-%llu",
				     (unsigned long long)rec->head_seq);
		buf_printf(&body,
			   "\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			   "\"text\":\"%s\"}]",
			   d->text);
	} else {
		e->type = EVENT_SESSION;
		body_session(&body,
			     &(struct session_rec){ .id = d->session,
						    .kind = KIND_PRIMARY },
			     0);
	}
	e->seq = e->last = rec->head_seq + 1;
	e->body = arena_str(&d->arena, buf_str(&body));
	buf_done(&body);
	r = event_seal(e, &d->arena, err);
	if (r == WEFT_OK)
		r = derive_event(rec, e, NULL, out, err);
	if (r == WEFT_OK)
		op_list_add(out, OP_EVENT, &d->session)->u.event = e;
	return r;
}

static int plan_lines(void *ctx, struct store_view *view, struct op_list *out,
		      struct weft_error *err)
{
	struct draft *d = ctx;
	struct session_rec *rec = ARENA_NEW(&d->arena, struct session_rec);
	const struct session_rec *old;
	int r = WEFT_OK;

	if (d->text) {
		r = view->ops->get_session(view, &d->session, &old, err);
		if (r < 0)
			return r;
		*rec = *old;
	}
	for (unsigned i = 0; i < d->lines && r == WEFT_OK; i++)
		r = add_line(d, rec, out, err);
	if (r == WEFT_OK)
		op_list_add(out, OP_SESSION, &d->session)->u.rec = rec;
	return r;
}

static int put_lines(struct store *s, const struct weft_id *id,
		     const char *text, unsigned lines)
{
	struct draft d = { .session = *id, .text = text, .lines = lines };
	struct store_want want = { .bytes = (uint64_t)lines * 250 };
	struct weft_error err;
	int r;

	arena_init(&d.arena, 0);
	r = s->ops->write(s, &want, plan_lines, &d, &err);
	arena_done(&d.arena);
	return r;
}

static int put(struct store *s, const struct weft_id *id, const char *text)
{
	return put_lines(s, id, text, 1);
}

static int open_on(struct fs *fs, struct store **ret)
{
	struct store_open o = {
		.path = STR("/s"),
		.flags = STORE_CREATE | STORE_BY_HAND,
		.fs = fs,
		.limits = { .segment_bytes = KIB(64) },
	};
	struct weft_error err;

	assert(store_limits_fill(&o.limits, NULL) == WEFT_OK);
	return store_jsonl.open(&o, ret, &err);
}

/* Two batches in the files, two more only in the log and the page cache. */
static void make_base(void)
{
	struct fs *fs;
	struct store *s;

	base_disk = simdisk_new();
	fs = simdisk_process(base_disk);
	assert(open_on(fs, &s) == WEFT_OK);
	for (int i = 0; i < SESSIONS; i++) {
		struct weft_str text;
		struct arena a;

		ids[i] = (struct weft_id){ { 1, 0x93, 2, 3, 4, 5,
					     (unsigned char)i, 9 } };
		assert(put(s, &ids[i], NULL) == WEFT_OK);
		assert(put(s, &ids[i], "first") == WEFT_OK);
		arena_init(&a, 0);
		assert(s->ops->where(s, &ids[i], &a, &text, NULL) == WEFT_OK);
		assert(text.len < sizeof(paths[i]));
		memcpy(paths[i], text.ptr, text.len);
		arena_done(&a);
	}
	assert(s->ops->maintain(s, TASK_CHECKPOINT, &(struct store_report){ 0 },
				NULL) == WEFT_OK);
	for (int i = 0; i < SESSIONS; i++)
		assert(put_lines(s, &ids[i], "second", i ? MANY : 1) ==
		       WEFT_OK);
	simdisk_kill(fs);
	(void)s->ops->close(s, NULL);
}

/* ---- the edits ---- */

static const char *path_of(unsigned file)
{
	static const char *const others[] = {
		"/s/wal/00000001", "/s/wal/00000002", "/s/wal/control",
		"/s/wal/state",    "/s/weft.json",    "/s/catalog.db",
	};

	file %= ARRAY_LEN(others) + 1;
	return file < ARRAY_LEN(others) ? others[file] : paths[0];
}

static void seal_at(struct simdisk *d, const char *path, uint64_t at,
		    uint32_t crc)
{
	char bytes[4];

	put_le32(bytes, crc);
	(void)simdisk_overwrite(d, path, at, (struct weft_str){ bytes, 4 });
}

/* Make the checksum of what was edited right again. */
static void reseal(struct simdisk *d, unsigned file, uint64_t offset)
{
	const char *path = path_of(file);
	size_t n;
	char *bytes = simdisk_read(d, path, &n);

	if (bytes && file <= 1) {
		uint64_t at = offset & ~UINT64_C(4095), len;

		if (at + 64 <= n) {
			len = u64_min(get_le64(bytes + at + 32), n - at - 64);
			put_le32(bytes + at + 44, 0);
			seal_at(d, path, at + 44,
				crc32c(0, bytes + at, 64 + (size_t)len));
		}
	} else if (bytes && file == 2 && n >= 8192) {
		uint64_t at = offset < 4096 ? 0 : 4096;

		seal_at(d, path, at + 4092, crc32c(0, bytes + at, 4092));
	} else if (bytes && file == 3 && n >= 80) {
		seal_at(d, path, 76, crc32c(0, bytes, 76));
	}
	free(bytes);
}

static void edit(struct simdisk *d, const uint8_t *data, size_t size)
{
	while (size >= 5) {
		unsigned file = data[0] & 0x7f;
		uint64_t at = (uint64_t)data[1] | (uint64_t)data[2] << 8 |
			      (uint64_t)data[3] << 16;
		size_t n = (size_t)u64_min(data[4], size - 5);

		at %= KIB(128);
		if (n == 0)
			(void)simdisk_resize(d, path_of(file), at);
		else
			(void)simdisk_overwrite(
				d, path_of(file), at,
				(struct weft_str){ (const char *)data + 5, n });
		if (data[0] & 0x80)
			reseal(d, file % 7, at);
		data += 5 + n;
		size -= 5 + n;
	}
}

/* ---- the use ---- */

static size_t count(struct store *s, const struct weft_id *id, bool backwards)
{
	struct event_range r = { .session = *id,
				 .first = 1,
				 .last = UINT64_MAX,
				 .backwards = backwards };
	struct event_page page = { 0 };
	struct arena a;
	size_t n = 0;

	arena_init(&a, 0);
	if (s->ops->read_events(s, &r, &a, &page, NULL) == WEFT_OK)
		n = page.n;
	arena_done(&a);
	return n;
}

static void use(struct store *s)
{
	struct store_report report = { 0 };
	struct session_page list;
	struct arena a;

	arena_init(&a, 0);
	report.arena = &a;
	for (int i = 0; i < SESSIONS; i++) {
		(void)count(s, &ids[i], false);
		(void)count(s, &ids[i], true);
	}
	(void)s->ops->list(s, &(struct list_query){ 0 }, &a, &list, NULL);
	(void)s->ops->maintain(s, TASK_VERIFY, &report, NULL);
	(void)put(s, &ids[0], "third");
	(void)put(s, &ids[1], "third");
	(void)s->ops->maintain(s, TASK_REPAIR, &report, NULL);
	(void)s->ops->maintain(s, TASK_CHECKPOINT, &report, NULL);
	/* Nobody edited this one's file: what was synced there is there. */
	assert(count(s, &ids[2], false) >= 2);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct simdisk *d;
	struct store *s;

	if (!base_disk)
		make_base();
	d = simdisk_clone(base_disk);
	edit(d, data, size);
	if (open_on(simdisk_process(d), &s) == WEFT_OK) {
		use(s);
		(void)s->ops->close(s, NULL);
	}
	simdisk_free(d);
	return 0;
}
