/*
 * test-catalog-damage.c - a catalogue that was changed, cut, torn or left
 * without memory: right answers or an error, never anything else.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "store/jsonl/catalog_db.h"
#include "unit/catalog-help.h"

#define SESSIONS  8
#define JOURNAL   DB "-journal"
#define CUT_SEEDS 6

/* ---- a catalogue and what it has to say ---- */

static struct session_rec records[SESSIONS + 1];
static struct arena text; /* of the records; made while memory lasts */

static void make_records(void)
{
	for (uint64_t n = 1; n <= SESSIONS; n++) {
		struct session_rec rec = record_of(n, &text);

		rec.kind = KIND_PRIMARY;
		rec.deleted_at = 0;
		rec.purged_at = 0;
		rec.parent = id_of(n / 2);
		/* Rows of very different sizes: pages of all kinds. */
		rec.metadata =
			arena_printf(&text, "%*s", (int)(n * n * 90), "x");
		records[n] = rec;
	}
}

/* Everything that state `n` of the catalogue has; n > 0. */
static int put_state(struct catalog *c, uint64_t n, struct weft_error *err)
{
	struct catalog_meta meta = { id_of(77), n, 1 };
	int r = catalog_begin(c, err);

	for (uint64_t i = 1; i <= SESSIONS && r == WEFT_OK; i++) {
		struct catalog_row row = { records[i], n, n, n, 0 };
		char names[2][16];
		struct catalog_name name;
		struct store_hide h = { i, 1, n };

		row.rec.head_seq = n;
		(void)snprintf(names[0], sizeof(names[0]), "key-%d", (int)i);
		(void)snprintf(names[1], sizeof(names[1]), "alias-%d", (int)i);
		r = catalog_put(c, &row, err);
		for (int k = 0; k < 2 && r == WEFT_OK; k++) {
			name = name_of(names[k], i, n);
			r = catalog_put_name(c, &name, err);
		}
		if (r == WEFT_OK)
			r = catalog_put_hide(c, &row.rec.id, &h, err);
	}
	if (r == WEFT_OK)
		r = catalog_set_meta(c, &meta, err);
	if (r == WEFT_OK)
		r = catalog_commit(c, err);
	if (r < 0)
		catalog_rollback(c);
	return r;
}

struct seen {
	uint64_t n;     /* the state that it has to be */
	uint64_t count; /* listed so far */
};

/* A list is in order and whole; `last_interaction_at` rises with n. */
static int see(void *ctx, const struct session_rec *rec)
{
	struct seen *s = ctx;
	struct session_rec want = records[SESSIONS - s->count++];

	want.head_seq = s->n;
	assert_true(record_eq(rec, &want));
	return 0;
}

static int read_session(struct catalog *c, uint64_t n, uint64_t i,
			struct arena *a, struct weft_error *err)
{
	struct session_rec want = records[i];
	struct catalog_row row;
	struct catalog_name *names;
	struct store_hide *hidden;
	struct weft_id found, *tagged;
	size_t count;
	int r = catalog_get(c, &want.id, a, &row, err);

	if (r < 0)
		return r;
	want.head_seq = n;
	assert_true(record_eq(&row.rec, &want));
	assert_int_equal(row.lsn, n);
	r = catalog_names_of(c, &want.id, a, &names, &count, err);
	if (r < 0)
		return r;
	assert_int_equal(count, 2);
	r = catalog_get_name(c, names[0].name.name, a, &names[0], err);
	if (r < 0)
		return r;
	assert_true(id_eq(&names[0].name.session, &want.id));
	assert_int_equal(names[0].name.ver, n);
	r = catalog_hidden(c, &want.id, 0, UINT64_MAX, a, &hidden, &count, err);
	if (r < 0)
		return r;
	assert_int_equal(count, 1);
	assert_int_equal(hidden[0].target, i);
	assert_int_equal(hidden[0].by, n);
	r = catalog_find_op(c, want.op, &found, err);
	if (r < 0)
		return r;
	assert_true(id_eq(&found, &want.id));
	r = catalog_find_tag(c, id_session_tag(&want.id), a, &tagged, &count,
			     err);
	if (r < 0)
		return r;
	assert_true(count >= 1);
	return WEFT_OK;
}

/* Read all there is, which must be state *n; if that is 0, whatever state it
 * is in, which goes there; 0 again if it is empty. */
static int read_all(struct catalog *c, uint64_t *n, struct arena *a,
		    struct weft_error *err)
{
	struct list_query q = { .kinds = 1 << KIND_PRIMARY };
	struct seen seen = { .count = 0 };
	struct weft_id ids[SESSIONS + 1];
	struct catalog_meta meta;
	uint64_t count;
	int r = catalog_get_meta(c, &meta, err);

	if (r < 0)
		return r;
	if (*n == 0)
		*n = meta.applied;
	assert_int_equal(meta.applied, *n);
	assert_int_equal(meta.complete, *n > 0);
	r = catalog_count(c, &count, err);
	if (r < 0)
		return r;
	assert_int_equal(count, *n ? SESSIONS : 0);
	for (uint64_t i = 1; *n && i <= SESSIONS; i++) {
		r = read_session(c, *n, i, a, err);
		if (r < 0)
			return r;
	}
	seen.n = *n;
	r = catalog_list(c, &q, see, &seen, err);
	if (r < 0)
		return r;
	assert_int_equal(seen.count, count);
	r = catalog_ids(c, NULL, ids, SESSIONS + 1, err);
	if (r < 0)
		return r;
	assert_int_equal(r, count);
	return catalog_check(c, err);
}

/* Open, read, close: WEFT_OK and the state in *n, or the error. */
static int look(struct fs *fs, unsigned flags, uint64_t *n,
		struct weft_error *err)
{
	struct catalog *c;
	struct arena a;
	int r = catalog_open(fs, DB, flags, &c, err);

	if (r < 0)
		return r;
	arena_init(&a, 0);
	r = read_all(c, n, &a, err);
	arena_done(&a);
	catalog_close(c);
	return r;
}

static void make_state(struct fs *fs, uint64_t n)
{
	struct catalog *c = open_at(fs, DB, 0);
	struct arena a;

	arena_init(&a, 0);
	MUST(put_state(c, n, &err));
	MUST(read_all(c, &n, &a, &err));
	arena_done(&a);
	catalog_close(c);
}

/* ---- damage ---- */

/* Right answers, or damage said to be damage, with what to do about it. */
static void expect_right_or_corrupt(int r, const struct weft_error *err,
				    uint64_t *n_corrupt)
{
	if (r == WEFT_OK)
		return;
	if (r != WEFT_CORRUPT || !strstr(err->message, "catalog.db") ||
	    !strstr(err->message, "weft reindex"))
		fail_msg("%d: %s", r, err->message);
	++*n_corrupt;
}

static void a_changed_byte_is_noticed_or_does_not_matter(void **state)
{
	struct simdisk *d = make_disk();
	struct fs *fs = simdisk_process(d);
	uint64_t flips = 0, corrupt = 0;
	size_t len, step = 251 / test_scale() + 1;

	(void)state;
	make_state(fs, 3);
	free(simdisk_read(d, DB, &len));
	for (size_t at = 0; at < len; at += at < 110 ? 1 : step) {
		unsigned char mask = (unsigned char)(1u << (at + flips) % 8);
		struct weft_error why = { 0 };
		uint64_t n = 3;

		flips++;
		assert_int_equal(simdisk_flip(d, DB, at, mask), 0);
		expect_right_or_corrupt(look(fs, 0, &n, &why), &why, &corrupt);
		assert_int_equal(simdisk_flip(d, DB, at, mask), 0);
	}
	/* All pages are in use. */
	assert_int_equal(corrupt, flips);
	MUST(look(fs, 0, &(uint64_t){ 3 }, &err));
	simdisk_free(d);
}

static void set_applied(struct catalog *c, uint64_t n)
{
	struct catalog_meta meta = { id_of(77), n, 1 };

	MUST(catalog_begin(c, &err));
	MUST(catalog_set_meta(c, &meta, &err));
	MUST(catalog_commit(c, &err));
}

/* While it is open: what is in memory is right, what is read is checked. */
static void a_byte_changed_under_way_is_noticed(void **state)
{
	struct simdisk *d = make_disk();
	struct fs *fs = simdisk_process(d);
	struct catalog *other, *c;
	struct arena a;
	uint64_t corrupt = 0, n = 3, flips = 0;
	size_t len;

	(void)state;
	make_state(fs, 2);
	make_state(fs, 3);
	free(simdisk_read(d, DB, &len));
	arena_init(&a, 0);
	for (size_t at = 40; at < len; at += 1997) {
		struct weft_error why = { 0 };

		c = open_at(fs, DB, 0);
		MUST(read_all(c, &n, &a, &err));
		/* Somebody else writes, so that all is read again. */
		other = open_at(simdisk_process(d), DB, 0);
		set_applied(other, 9);
		set_applied(other, 3);
		catalog_close(other);
		assert_int_equal(simdisk_flip(d, DB, at, 0x10), 0);
		expect_right_or_corrupt(read_all(c, &n, &a, &why), &why,
					&corrupt);
		expect_right_or_corrupt(put_state(c, 4, &why), &why,
					&(uint64_t){ 0 });
		catalog_close(c);
		arena_reset(&a);
		flips++;
		assert_int_equal(simdisk_remove(d, DB), 0);
		(void)simdisk_remove(d, JOURNAL);
		make_state(fs, 3);
	}
	assert_int_equal(corrupt, flips);
	arena_done(&a);
	simdisk_free(d);
}

static void a_file_cut_short_is_noticed(void **state)
{
	struct simdisk *d = make_disk();
	struct fs *fs = simdisk_process(d);
	uint64_t corrupt = 0, cuts = 0, n = 0;
	char *whole;
	size_t len, step = 509 / test_scale() + 1;

	(void)state;
	make_state(fs, 3);
	whole = simdisk_read(d, DB, &len);
	for (size_t at = 1; at < len; at += at < 110 ? 1 : step) {
		struct weft_error why = { 0 };

		cuts++;
		n = 3;
		assert_int_equal(simdisk_resize(d, DB, at), 0);
		expect_right_or_corrupt(look(fs, 0, &n, &why), &why, &corrupt);
		assert_int_equal(
			simdisk_replace(d, DB, (struct weft_str){ whole, len }),
			0);
	}
	assert_int_equal(corrupt, cuts);
	/* Nothing at all is a new catalogue, and says that it is not whole. */
	assert_int_equal(simdisk_resize(d, DB, 0), 0);
	n = 0;
	MUST(look(fs, 0, &n, &err));
	assert_int_equal(n, 0);
	free(whole);
	simdisk_free(d);
}

/* Whatever is there instead of a catalogue is left as it is. */
static void expect_refused(struct simdisk *d)
{
	struct fs *fs = simdisk_process(d);
	size_t before_len, after_len;
	char *before = simdisk_read(d, DB, &before_len), *after;

	for (unsigned flags = 0; flags <= CATALOG_READ_ONLY; flags++) {
		struct catalog *c;
		struct weft_error why;
		uint64_t corrupt = 0;

		expect_right_or_corrupt(catalog_open(fs, DB, flags, &c, &why),
					&why, &corrupt);
		assert_int_equal(corrupt, 1);
	}
	after = simdisk_read(d, DB, &after_len);
	assert_int_equal(after_len, before_len);
	assert_memory_equal(after, before, before_len);
	free(before);
	free(after);
}

/* A database made by somebody else, at the place of the catalogue. */
static void put_foreign(struct simdisk *d, const char *sql)
{
	char path[] = "/tmp/test-catalog-XXXXXX";
	int fd = mkstemp(path);
	struct weft_str bytes;
	char *whole;
	sqlite3 *db;

	assert_true(fd >= 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(
		fs_read_whole(fs_real(), path, MIB(1), &whole, &bytes.len), 0);
	bytes.ptr = whole;
	assert_int_equal(simdisk_replace(d, DB, bytes), 0);
	mem_free(whole);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(close(fd), 0);
}

static void what_is_no_catalogue_is_refused(void **state)
{
	struct simdisk *d = make_disk();
	char noise[9000];

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)(i * i * 31 >> 3);
	assert_int_equal(
		simdisk_replace(d, DB, (struct weft_str){ noise, 9000 }), 0);
	expect_refused(d);
	assert_int_equal(simdisk_replace(d, DB, STR("hello\n")), 0);
	expect_refused(d);
	assert_int_equal(simdisk_replace(d, DB, STR("SQLite format 3")), 0);
	expect_refused(d);
	put_foreign(d, "CREATE TABLE sessions(id)");
	expect_refused(d);
	put_foreign(d, "PRAGMA user_version=1");
	expect_refused(d);
	put_foreign(d, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)");
	expect_refused(d);
	put_foreign(d, "PRAGMA page_size=1024; CREATE TABLE t(x)");
	expect_refused(d);
	simdisk_free(d);
}

/* Ours in every page, but made from another text. */
static void another_schema_is_refused(void **state)
{
	static const char *const changes[] = {
		"PRAGMA user_version=12345",
		"PRAGMA application_id=12345",
		"PRAGMA user_version=0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct simdisk *d = make_disk();
		struct catalog *c = open_at(simdisk_process(d), DB, 0);

		assert_int_equal(sqlite3_exec(c->writes->db, changes[i], NULL,
					      NULL, NULL),
				 SQLITE_OK);
		catalog_close(c);
		expect_refused(d);
		simdisk_free(d);
	}
}

static void a_directory_is_no_catalogue(void **state)
{
	struct simdisk *d = make_disk();
	struct fs *fs = simdisk_process(d);
	struct catalog *c;

	(void)state;
	assert_int_equal(fs_mkdir(fs, DB), 0);
	assert_int_equal(catalog_open(fs, DB, 0, &c, NULL), WEFT_IO);
	assert_int_equal(simdisk_open_files(d), 0);
	simdisk_free(d);
}

/* What lies there as a journal is believed only if it is one. */
static void a_journal_of_noise_does_no_harm(void **state)
{
	struct simdisk *d = make_disk();
	struct fs *fs = simdisk_process(d);
	char noise[5000];
	uint64_t n = 3;

	(void)state;
	make_state(fs, 3);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)(i * i * 31 >> 3);
	assert_int_equal(
		simdisk_replace(d, JOURNAL, (struct weft_str){ noise, 5000 }),
		0);
	MUST(look(fs, 0, &n, &err));
	simdisk_free(d);
}

/* ---- death ---- */

/* Kill the writer in each of its calls in turn: before it, or when some of what
 * it writes is there. */
static void a_killed_writer_leaves_all_or_nothing(void **state)
{
	struct simdisk *base = make_disk();
	uint64_t old = 0, fresh = 0, refused = 0;
	bool died = true;

	(void)state;
	make_state(simdisk_process(base), 1);
	for (uint64_t i = 0; died; i++) {
		struct simdisk *d = simdisk_clone(base);
		struct fs *fs = simdisk_process(d);
		struct catalog *c = open_at(fs, DB, 0);
		struct weft_error why;
		struct arena a;
		uint64_t n = 0, m = 0;
		int r;

		arena_init(&a, 0);
		simdisk_kill_in_write(fs, i / 4 + 1, i % 4 * 5000);
		r = put_state(c, 2, NULL);
		died = simdisk_is_dead(fs);
		catalog_close(c);
		arena_done(&a);

		/* A reader cannot mend it, and must not read it as it is. */
		m = look(simdisk_process(d), CATALOG_READ_ONLY, &n, &why) ==
				    WEFT_OK ?
			    n :
			    99;
		if (m == 99) {
			assert_int_equal(why.code, WEFT_CORRUPT);
			refused++;
		}
		n = 0;
		MUST(look(simdisk_process(d), 0, &n, &err));
		assert_true(n == 1 || n == 2);
		assert_true(m == 99 || m == n);
		if (r == WEFT_OK)
			assert_int_equal(n, 2);
		old += n == 1;
		fresh += n == 2;
		assert_int_equal(simdisk_open_files(d), 0);
		simdisk_free(d);
	}
	assert_true(old > 10 && fresh > 0 && refused > 10);
	simdisk_free(base);
}

struct cuts {
	struct simset states;
	uint64_t old, fresh;
};

/* Cut the power of a copy of the disk in several ways, and look. */
static void cut_here(struct simdisk *at, struct cuts *cuts, uint64_t least,
		     uint64_t most)
{
	for (uint64_t seed = 0; seed < CUT_SEEDS * test_scale(); seed++) {
		struct simdisk *d = simdisk_clone(at);
		enum simcut how = seed == 0 ? SIM_LOSE_ALL :
				  seed == 1 ? SIM_KEEP_ALL :
					      SIM_RANDOM;
		uint64_t state = simdisk_power_cut(d, how, seed, NULL);
		uint64_t n = 0;

		if (simset_add(&cuts->states, state)) {
			MUST(look(simdisk_process(d), 0, &n, &err));
			if (n < least || n > most)
				fail_msg("state %d after a cut", (int)n);
			cuts->old += n == least;
			cuts->fresh += n == most;
		}
		simdisk_free(d);
	}
}

static void at_each_call(void *ctx, struct simdisk *d, unsigned calls,
			 uint64_t n)
{
	(void)n;
	if (calls & SIM_MUTATING)
		cut_here(d, ctx, 1, 2);
}

static void a_power_cut_leaves_all_or_nothing(void **state)
{
	struct simdisk *d = make_disk();
	struct fs *fs = simdisk_process(d);
	struct cuts cuts = { .old = 0 };
	struct catalog *c;
	struct arena a;

	(void)state;
	arena_init(&a, 0);
	make_state(fs, 1);
	c = open_at(fs, DB, 0);
	simdisk_on_call(d, at_each_call, &cuts);
	MUST(put_state(c, 2, &err));
	simdisk_on_call(d, NULL, NULL);
	assert_true(cuts.old > 20 && cuts.fresh > 0);
	/* It was acknowledged: from here on nothing may take it back. */
	cut_here(d, &cuts, 2, 2);
	catalog_close(c);
	arena_done(&a);
	simset_done(&cuts.states);
	simdisk_free(d);
}

/* ---- no memory ---- */

/* SQLite's own allocator, with a number of calls until it fails once. */
static sqlite3_mem_methods plain;
static int64_t fail_in = -1; /* < 0: never */
static int64_t live;         /* not given back yet */
static uint64_t failed;

static bool is_to_fail(void)
{
	if (fail_in < 0 || fail_in-- > 0)
		return false;
	failed++;
	return true;
}

static void *faulty_alloc(int n)
{
	void *p = is_to_fail() ? NULL : plain.xMalloc(n);

	live += p != NULL;
	return p;
}

static void faulty_free(void *p)
{
	live -= p != NULL;
	plain.xFree(p);
}

static void *faulty_resize(void *p, int n)
{
	return is_to_fail() ? NULL : plain.xRealloc(p, n);
}

static int use_faulty(void)
{
	sqlite3_mem_methods faulty;

	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK)
		return -1;
	faulty = plain;
	faulty.xMalloc = faulty_alloc;
	faulty.xFree = faulty_free;
	faulty.xRealloc = faulty_resize;
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &faulty);
}

/* Everything that can be done to a catalogue, until something fails. */
static int scenario(struct fs *fs, unsigned flags, struct weft_error *err)
{
	struct catalog *c;
	struct arena a;
	uint64_t n;
	int r = catalog_open(fs, DB, flags, &c, err);

	if (r < 0)
		return r;
	arena_init(&a, 0);
	n = 0;
	r = read_all(c, &n, &a, err);
	if (r == WEFT_OK)
		r = put_state(c, 2, err);
	n = 2;
	if (r == WEFT_OK)
		r = read_all(c, &n, &a, err);
	if (r == WEFT_OK)
		r = catalog_begin(c, err);
	if (r == WEFT_OK) {
		r = catalog_clear(c, err);
		catalog_rollback(c);
	}
	arena_done(&a);
	catalog_close(c);
	return r;
}

/* Make allocation n fail, of SQLite's or ours; true if there was none. */
static bool without_memory(int64_t n, bool ours, unsigned flags)
{
	struct simdisk *d = make_disk();
	struct weft_error why = { 0 };
	int64_t live_before = live;
	uint64_t hit, state = 0;
	int r;

	failed = 0;
	if (ours)
		mem_fault(n, 1);
	else
		fail_in = n;
	r = scenario(simdisk_process(d), flags, &why);
	hit = ours ? mem_faults_hit() : failed;
	mem_fault(-1, 0);
	fail_in = -1;
	if (r != WEFT_OK && (r != WEFT_NO_MEMORY || !hit))
		fail_msg("allocation %d: %d %s", (int)n, r, why.message);
	assert_int_equal(live, live_before);
	assert_int_equal(simdisk_open_files(d), 0);
	if (!(flags & CATALOG_IN_MEMORY)) {
		MUST(look(simdisk_process(d), 0, &state, &err));
		assert_true(r != WEFT_OK || state == 2);
	}
	simdisk_free(d);
	return hit == 0;
}

static void fail_each_allocation(bool ours, unsigned flags)
{
	int64_t n = 0, step = 1;

	/* The first ones all, later ones now and then. */
	while (!without_memory(n, ours, flags)) {
		n += step;
		if (n > 200 && test_scale() == 1)
			step = ours ? 7 : 199;
	}
	assert_true(n > 20);
}

static void sqlite_without_memory_is_said_and_survived(void **state)
{
	(void)state;
	fail_each_allocation(false, 0);
	fail_each_allocation(false, CATALOG_IN_MEMORY);
}

static void no_memory_is_said_and_survived(void **state)
{
	(void)state;
	fail_each_allocation(true, 0);
	fail_each_allocation(true, CATALOG_IN_MEMORY);
}

/* SQLite's check tells of what it could not read as if it were damage. */
static void a_check_that_could_not_be_done_finds_no_damage(void **state)
{
	struct simdisk *d = make_disk();
	struct fs *fs = simdisk_process(d);
	uint64_t hit = 1, refused[2] = { 0, 0 };

	(void)state;
	make_state(fs, 1);
	for (int64_t n = 0; hit; n++) {
		struct catalog *c = open_at(fs, DB, 0);
		int r;

		failed = 0;
		fail_in = n;
		r = catalog_check(c, NULL);
		fail_in = -1;
		hit = failed;
		catalog_close(c);
		assert_true(r == WEFT_OK || (hit && r == WEFT_NO_MEMORY));
		refused[0] += r != WEFT_OK;
	}
	hit = 1;
	for (uint64_t n = 1; hit; n++) {
		struct catalog *c = open_at(fs, DB, 0);
		uint64_t before = simdisk_faults_hit(d);
		int r;

		simdisk_fail_at(d, SIM_READ, n, -EIO, false);
		r = catalog_check(c, NULL);
		simdisk_fail_at(d, 0, 0, 0, false);
		hit = simdisk_faults_hit(d) - before;
		catalog_close(c);
		assert_true(r == WEFT_OK || (hit && r == WEFT_IO));
		refused[1] += r != WEFT_OK;
	}
	assert_true(refused[0] > 10 && refused[1] > 10);
	simdisk_free(d);
}

/* Every call to the disk fails once. */
static void a_failing_disk_is_said_and_survived(void **state)
{
	const unsigned kinds = SIM_OPEN | SIM_READ | SIM_WRITE | SIM_TRUNCATE |
			       SIM_SYNCS | SIM_STAT;
	uint64_t hit = 1;

	(void)state;
	for (uint64_t n = 1; hit; n += n < 60 || test_scale() > 1 ? 1 : 11) {
		struct simdisk *d = make_disk();
		struct weft_error why = { 0 };
		uint64_t after = 0;
		int r;

		simdisk_fail_at(d, kinds, n, -EIO, false);
		r = scenario(simdisk_process(d), 0, &why);
		hit = simdisk_faults_hit(d);
		if (r != WEFT_OK && (r != WEFT_IO || !hit))
			fail_msg("call %d: %d %s", (int)n, r, why.message);
		simdisk_fail_at(d, 0, 0, 0, false);
		assert_int_equal(simdisk_open_files(d), 0);
		MUST(look(simdisk_process(d), 0, &after, &err));
		assert_true(r != WEFT_OK || after == 2);
		simdisk_free(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_byte_is_noticed_or_does_not_matter),
		cmocka_unit_test(a_byte_changed_under_way_is_noticed),
		cmocka_unit_test(a_file_cut_short_is_noticed),
		cmocka_unit_test(what_is_no_catalogue_is_refused),
		cmocka_unit_test(another_schema_is_refused),
		cmocka_unit_test(a_directory_is_no_catalogue),
		cmocka_unit_test(a_journal_of_noise_does_no_harm),
		cmocka_unit_test(a_killed_writer_leaves_all_or_nothing),
		cmocka_unit_test(a_power_cut_leaves_all_or_nothing),
		cmocka_unit_test(sqlite_without_memory_is_said_and_survived),
		cmocka_unit_test(no_memory_is_said_and_survived),
		cmocka_unit_test(
			a_check_that_could_not_be_done_finds_no_damage),
		cmocka_unit_test(a_failing_disk_is_said_and_survived),
	};

	int r;

	if (use_faulty() != SQLITE_OK)
		return 1;
	make_records();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	arena_done(&text);
	return r;
}
