/* test-catalog.c - the catalogue: rows, names, marks, transactions. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/catalog-help.h"

/* A disk and a catalogue on it. */
struct fixture {
	struct simdisk *disk;
	struct fs *fs;
	struct catalog *c;
	struct arena a;
};

static int setup(void **state)
{
	struct fixture *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->disk = make_disk();
	t->fs = simdisk_process(t->disk);
	t->c = open_at(t->fs, DB, 0);
	arena_init(&t->a, 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *t = *state;

	catalog_close(t->c);
	arena_done(&t->a);
	assert_int_equal(simdisk_open_files(t->disk), 0);
	simdisk_free(t->disk);
	free(t);
	return 0;
}

static struct catalog_row row_of(struct fixture *t, uint64_t n, uint64_t lsn)
{
	struct catalog_row row = {
		.rec = record_of(n, &t->a),
		.lsn = lsn,
		.gen = n + 1,
		.end = n + 2,
		.irregular = n + 3,
	};

	row.rec.purged_at = 0;
	return row;
}

static void expect_row(struct fixture *t, const struct catalog_row *row)
{
	struct catalog_row found;

	MUST(catalog_get(t->c, &row->rec.id, &t->a, &found, &err));
	assert_true(record_eq(&found.rec, &row->rec));
	assert_int_equal(found.lsn, row->lsn);
	assert_int_equal(found.gen, row->gen);
	assert_int_equal(found.end, row->end);
	assert_int_equal(found.irregular, row->irregular);
}

static void a_row_comes_back_with_every_field(void **state)
{
	struct fixture *t = *state;
	struct catalog_row row = row_of(t, 7, 1);

	row.rec = record_of(7, &t->a);
	put_row(t->c, &row);
	expect_row(t, &row);
}

/* One field after another, so that none hides behind the others. */
static void every_field_of_a_row_can_change_alone(void **state)
{
	struct fixture *t = *state;
	struct catalog_row row = row_of(t, 7, 1);
	struct session_rec other = record_of(8, &t->a);

	put_row(t->c, &row);
	for (size_t i = 1; i < record_n_fields; i++) {
		const struct record_field *f = &record_fields[i];
		size_t bytes = f->kind == FIELD_ID ? sizeof(struct weft_id) :
			       f->kind == FIELD_U64 || f->kind == FIELD_TIME ?
						     sizeof(uint64_t) :
						     sizeof(struct weft_str);

		memcpy(record_at(&row.rec, f), record_at(&other, f), bytes);
		row.lsn++;
		row.gen++;
		row.end++;
		row.irregular++;
		put_row(t->c, &row);
		expect_row(t, &row);
	}
	other.id = row.rec.id;
	assert_true(record_eq(&other, &row.rec));
}

static void a_row_may_be_empty_or_hold_any_bytes(void **state)
{
	struct fixture *t = *state;
	struct catalog_row row = { .rec = { .id = id_of(1) }, .lsn = 1 };
	char *large = malloc(MIB(1));

	assert_non_null(large);
	memset(large, 'x', MIB(1));
	put_row(t->c, &row);
	expect_row(t, &row);
	row.lsn = 2;
	row.rec.first_user = STR("a\0b\xff\xc3(\xed\xa0\x80");
	row.rec.metadata = (struct weft_str){ large, MIB(1) };
	row.rec.own.cost_nano = INT64_MAX;
	row.rec.total.cost_nano = UINT64_MAX;
	row.rec.expires_at = INT64_MIN;
	put_row(t->c, &row);
	expect_row(t, &row);
	row = (struct catalog_row){ .rec = { .id = id_of(1) }, .lsn = 3 };
	put_row(t->c, &row);
	expect_row(t, &row);
	free(large);
}

static void only_a_larger_lsn_replaces_a_row(void **state)
{
	struct fixture *t = *state;
	struct catalog_row old = row_of(t, 7, 5), lagging = old, next = old;

	put_row(t->c, &old);
	/* Once where only what grows has changed, once more than that. */
	lagging.rec.head_seq = 1;
	put_row(t->c, &lagging);
	expect_row(t, &old);
	lagging.lsn = 4;
	lagging.rec.slug = STR("other");
	put_row(t->c, &lagging);
	expect_row(t, &old);
	next.lsn = 6;
	next.rec.head_seq++;
	put_row(t->c, &next);
	expect_row(t, &next);
	next.lsn = 7;
	next.rec.slug = STR("other");
	put_row(t->c, &next);
	expect_row(t, &next);
	assert_int_equal(count_of(t->c), 1);
}

static void expect_name(struct fixture *t, struct catalog_name name)
{
	struct catalog_name found;

	MUST(catalog_get_name(t->c, name.name.name, &t->a, &found, &err));
	assert_int_equal(str_cmp(found.name.name, name.name.name), 0);
	assert_true(id_eq(&found.name.session, &name.name.session));
	assert_int_equal(found.name.ver, name.name.ver);
	assert_int_equal(found.name.kind, name.name.kind);
	assert_int_equal(found.lsn, name.lsn);
}

static void the_highest_version_of_a_name_wins(void **state)
{
	struct fixture *t = *state;
	struct catalog_name found;

	assert_int_equal(catalog_get_name(t->c, STR("x"), &t->a, &found, NULL),
			 WEFT_NOT_FOUND);
	put_name(t->c, name_of("x", 1, 5));
	put_name(t->c, name_of("x", 2, 4));
	expect_name(t, name_of("x", 1, 5));
	put_name(t->c, name_of("x", 2, 6));
	expect_name(t, name_of("x", 2, 6));
	/* Of the same version: who holds it, then the larger id. */
	put_name(t->c, name_of("x", 0, 6));
	expect_name(t, name_of("x", 2, 6));
	put_name(t->c, name_of("x", 3, 6));
	put_name(t->c, name_of("x", 2, 6));
	expect_name(t, name_of("x", 3, 6));
	/* Nobody's, but its version stays. */
	put_name(t->c, name_of("x", 0, 7));
	expect_name(t, name_of("x", 0, 7));
	put_name(t->c, name_of("x", 1, 7));
	put_name(t->c, name_of("x", 1, 6));
	expect_name(t, name_of("x", 1, 7));
}

static void names_are_compared_by_their_bytes(void **state)
{
	struct fixture *t = *state;
	struct catalog_name odd = name_of("", 4, 1);

	odd.name.name = STR("x\0y");
	put_name(t->c, name_of("x", 1, 1));
	put_name(t->c, name_of("X", 2, 1));
	put_name(t->c, name_of("x ", 3, 1));
	put_name(t->c, odd);
	expect_name(t, name_of("x", 1, 1));
	expect_name(t, name_of("X", 2, 1));
	expect_name(t, name_of("x ", 3, 1));
	expect_name(t, odd);
}

static void a_session_has_its_key_first_then_its_aliases(void **state)
{
	struct fixture *t = *state;
	struct catalog_name key = name_of("z", 1, 1), *v;
	struct weft_id id = id_of(1), none = id_of(9);
	size_t n;

	key.name.kind = NAME_KEY;
	put_name(t->c, name_of("b", 1, 1));
	put_name(t->c, key);
	put_name(t->c, name_of("a", 1, 1));
	put_name(t->c, name_of("c", 2, 1));
	put_name(t->c, name_of("d", 1, 1));
	put_name(t->c, name_of("d", 2, 2));
	MUST(catalog_names_of(t->c, &id, &t->a, &v, &n, &err));
	assert_int_equal(n, 3);
	assert_string_equal(v[0].name.name.ptr, "z");
	assert_string_equal(v[1].name.name.ptr, "a");
	assert_string_equal(v[2].name.name.ptr, "b");
	assert_int_equal(v[0].name.kind, NAME_KEY);
	assert_true(id_eq(&v[2].name.session, &id));
	MUST(catalog_names_of(t->c, &none, &t->a, &v, &n, &err));
	assert_int_equal(n, 0);
}

static void a_session_may_have_many_names(void **state)
{
	struct fixture *t = *state;
	struct catalog_name *v;
	struct weft_id id = id_of(1);
	size_t n;

	MUST(catalog_begin(t->c, &err));
	for (int i = 0; i < 100; i++) {
		char text[16];
		struct catalog_name name;

		(void)snprintf(text, sizeof(text), "name %02d", i);
		name = name_of(text, 1, 1);
		MUST(catalog_put_name(t->c, &name, &err));
	}
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_names_of(t->c, &id, &t->a, &v, &n, &err));
	assert_int_equal(n, 100);
	for (int i = 0; i < 100; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "name %02d", i);
		assert_string_equal(v[i].name.name.ptr, text);
	}
}

static void hide(struct catalog *c, uint64_t session, uint64_t target,
		 uint64_t hidden, uint64_t by)
{
	struct store_hide h = { .target = target, .hidden = hidden, .by = by };
	struct weft_id id = id_of(session);

	MUST(catalog_begin(c, &err));
	MUST(catalog_put_hide(c, &id, &h, &err));
	MUST(catalog_commit(c, &err));
}

static void the_latest_mark_of_an_event_counts(void **state)
{
	struct fixture *t = *state;
	struct weft_id id = id_of(1);
	struct store_hide *v;
	size_t n;

	hide(t->c, 1, 30, 1, 40);
	hide(t->c, 1, 20, 1, 41);
	hide(t->c, 1, 10, 1, 42);
	hide(t->c, 2, 20, 1, 43);
	hide(t->c, 1, 20, 0, 50);
	hide(t->c, 1, 20, 1, 49);
	hide(t->c, 1, 20, 1, 50);
	MUST(catalog_hidden(t->c, &id, 0, UINT64_MAX, &t->a, &v, &n, &err));
	assert_int_equal(n, 3);
	assert_int_equal(v[0].target, 10);
	assert_int_equal(v[1].target, 20);
	assert_int_equal(v[1].hidden, 0);
	assert_int_equal(v[1].by, 50);
	assert_int_equal(v[2].target, 30);
	assert_int_equal(v[2].hidden, 1);
	MUST(catalog_hidden(t->c, &id, 11, 29, &t->a, &v, &n, &err));
	assert_int_equal(n, 1);
	MUST(catalog_hidden(t->c, &id, 10, 20, &t->a, &v, &n, &err));
	assert_int_equal(n, 2);
	MUST(catalog_hidden(t->c, &id, 31, UINT64_MAX, &t->a, &v, &n, &err));
	assert_int_equal(n, 0);
}

static void a_session_is_found_by_its_operation(void **state)
{
	struct fixture *t = *state;
	struct catalog_row with = row_of(t, 1, 1), without = row_of(t, 2, 1);
	struct weft_id found;

	with.rec.op = STR("op-1");
	without.rec.op = STR("");
	put_row(t->c, &with);
	put_row(t->c, &without);
	MUST(catalog_find_op(t->c, STR("op-1"), &found, &err));
	assert_true(id_eq(&found, &with.rec.id));
	assert_int_equal(catalog_find_op(t->c, STR("OP-1"), &found, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(catalog_find_op(t->c, STR(""), &found, NULL),
			 WEFT_NOT_FOUND);
}

static void sessions_are_found_by_their_tag(void **state)
{
	struct fixture *t = *state;
	struct catalog_row row = row_of(t, 1, 1), same = row_of(t, 1, 1);
	uint64_t tag = id_session_tag(&row.rec.id);
	struct weft_id *v;
	size_t n;

	MUST(catalog_find_tag(t->c, tag, &t->a, &v, &n, &err));
	assert_int_equal(n, 0);
	put_row(t->c, &row);
	/* Another id of the same tag, if the time of an id is not in it. */
	same.rec.id.b[0] = 0;
	put_row(t->c, &same);
	MUST(catalog_find_tag(t->c, tag, &t->a, &v, &n, &err));
	assert_true(n >= 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(id_session_tag(&v[i]), tag);
	assert_int_equal(n, 1 + (id_session_tag(&same.rec.id) == tag));
}

static void ids_are_read_in_pages(void **state)
{
	struct fixture *t = *state;
	struct weft_id out[4];

	for (uint64_t i = 1; i <= 10; i++) {
		/* In another order than they are read in. */
		struct catalog_row row = row_of(t, 1 + i * 7 % 11, 1);

		put_row(t->c, &row);
	}
	assert_int_equal(catalog_ids(t->c, NULL, out, 4, NULL), 4);
	for (uint64_t i = 0; i < 4; i++)
		assert_memory_equal(&out[i], (struct weft_id[]){ id_of(2 + i) },
				    16);
	assert_int_equal(catalog_ids(t->c, &out[3], out, 4, NULL), 4);
	assert_int_equal(catalog_ids(t->c, &out[3], out, 4, NULL), 2);
	assert_memory_equal(&out[1], (struct weft_id[]){ id_of(11) }, 16);
	assert_int_equal(catalog_ids(t->c, &out[1], out, 4, NULL), 0);
	assert_int_equal(catalog_ids(t->c, NULL, out, 0, NULL), 0);
}

static void books_and_the_purged_are_not_counted(void **state)
{
	struct fixture *t = *state;
	const uint64_t kinds[] = { KIND_PRIMARY, KIND_SUBAGENT, KIND_BOOK,
				   KIND_PRIMARY, KIND_PRIMARY };

	for (uint64_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct catalog_row row = row_of(t, 1 + i, 1);

		row.rec.kind = kinds[i];
		row.rec.deleted_at = i == 3;
		row.rec.purged_at = i == 4;
		put_row(t->c, &row);
	}
	assert_int_equal(count_of(t->c), 3);
}

static void a_new_catalogue_is_not_complete(void **state)
{
	struct fixture *t = *state;
	struct catalog_meta meta = { .applied = 9 };

	MUST(catalog_get_meta(t->c, &meta, &err));
	assert_int_equal(meta.complete, 0);
	assert_int_equal(meta.applied, 0);
	assert_true(id_is_zero(&meta.store));
	meta = (struct catalog_meta){ id_of(1), INT64_MAX, 1 };
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_set_meta(t->c, &meta, &err));
	MUST(catalog_commit(t->c, &err));
	meta = (struct catalog_meta){ .complete = 0 };
	MUST(catalog_get_meta(t->c, &meta, &err));
	assert_int_equal(meta.complete, 1);
	assert_int_equal(meta.applied, INT64_MAX);
	assert_memory_equal(&meta.store, (struct weft_id[]){ id_of(1) }, 16);
}

/* One of everything. */
static void put_all(struct fixture *t, uint64_t n)
{
	struct catalog_row row = row_of(t, n, n);
	struct catalog_name name = name_of("x", n, n);
	struct store_hide h = { 1, n & 1, n };
	struct catalog_meta meta = { id_of(5), n, 1 };

	MUST(catalog_put(t->c, &row, &err));
	MUST(catalog_put_name(t->c, &name, &err));
	MUST(catalog_put_hide(t->c, &row.rec.id, &h, &err));
	MUST(catalog_set_meta(t->c, &meta, &err));
}

static void expect_all(struct catalog *c, uint64_t n)
{
	struct arena a;
	struct catalog_row row;
	struct catalog_name name;
	struct store_hide *v;
	struct weft_id id = id_of(n);
	size_t n_hidden;

	arena_init(&a, 0);
	assert_int_equal(applied_of(c), n);
	MUST(catalog_get(c, &id, &a, &row, &err));
	MUST(catalog_get_name(c, STR("x"), &a, &name, &err));
	assert_true(id_eq(&name.name.session, &id));
	MUST(catalog_hidden(c, &id, 1, 1, &a, &v, &n_hidden, &err));
	assert_int_equal(n_hidden, 1);
	assert_int_equal(count_of(c), n);
	arena_done(&a);
}

static void a_rollback_takes_everything_back(void **state)
{
	struct fixture *t = *state;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	catalog_rollback(t->c);
	expect_all(t->c, 1);
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_clear(t->c, &err));
	catalog_rollback(t->c);
	expect_all(t->c, 1);
	/* Harmless where there is nothing to take back. */
	catalog_rollback(t->c);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	MUST(catalog_commit(t->c, &err));
	catalog_rollback(t->c);
	expect_all(t->c, 2);
}

static void nothing_is_left_after_clearing(void **state)
{
	struct fixture *t = *state;
	struct catalog_name name;
	struct catalog_row row;
	struct weft_id id = id_of(1), *ids;
	struct store_hide *v;
	size_t n;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_clear(t->c, &err));
	MUST(catalog_commit(t->c, &err));
	assert_int_equal(catalog_get(t->c, &id, &t->a, &row, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(catalog_get_name(t->c, STR("x"), &t->a, &name, NULL),
			 WEFT_NOT_FOUND);
	MUST(catalog_hidden(t->c, &id, 0, 9, &t->a, &v, &n, &err));
	assert_int_equal(n, 0);
	MUST(catalog_find_tag(t->c, id_session_tag(&id), &t->a, &ids, &n,
			      &err));
	assert_int_equal(n, 0);
	assert_int_equal(count_of(t->c), 0);
	/* A lagging row is as good as any now. */
	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	expect_all(t->c, 1);
}

static void reads_see_what_was_there_before_a_transaction(void **state)
{
	struct fixture *t = *state;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_begin(t->c, &err));
	/* More than the cache holds, which would lock readers out. */
	for (uint64_t i = 2; i < 2000; i++)
		put_all(t, i);
	expect_all(t->c, 1);
	MUST(catalog_commit(t->c, &err));
	expect_all(t->c, 1999);
}

static void another_process_sees_what_was_committed(void **state)
{
	struct fixture *t = *state;
	struct catalog *mine = t->c;
	struct catalog *other = open_at(simdisk_process(t->disk), DB, 0);

	for (uint64_t i = 1; i <= 20; i++) {
		t->c = i & 1 ? mine : other;
		MUST(catalog_begin(t->c, &err));
		put_all(t, i);
		MUST(catalog_commit(t->c, &err));
		expect_all(mine, i);
		expect_all(other, i);
	}
	t->c = mine;
	catalog_close(other);
}

/* Waiting is not worth while where nobody else runs. */
static void do_not_sleep(struct simdisk *d)
{
	simdisk_fail_at(d, SIM_SLEEP, 1, -EINTR, true);
}

static void two_writers_wait_for_each_other(void **state)
{
	struct fixture *t = *state;
	struct catalog *other = open_at(simdisk_process(t->disk), DB, 0);
	struct weft_error busy;

	do_not_sleep(t->disk);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	assert_int_equal(catalog_begin(other, &busy), WEFT_BUSY);
	assert_non_null(strstr(busy.message, "catalog.db"));
	catalog_rollback(other);
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_begin(other, &err));
	catalog_rollback(other);
	catalog_close(other);
}

static int close_the_other(void *ctx, const struct session_rec *rec)
{
	struct fixture *t = ctx;

	/* A list is under way in this process, so nobody can commit. */
	(void)rec;
	assert_int_equal(catalog_commit(t->c, NULL), WEFT_BUSY);
	return 42;
}

static void a_commit_that_has_to_wait_too_long_can_be_given_up(void **state)
{
	struct fixture *t = *state;
	struct catalog *other = open_at(simdisk_process(t->disk), DB, 0);
	struct list_query q = { .deleted = LIST_WITH_DELETED };
	struct catalog_row row = row_of(t, 1, 1);

	do_not_sleep(t->disk);
	put_row(t->c, &row);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	assert_int_equal(catalog_list(other, &q, close_the_other, t, NULL), 42);
	catalog_rollback(t->c);
	assert_int_equal(applied_of(other), 0);
	catalog_close(other);
}

static void a_removed_file_is_noticed(void **state)
{
	struct fixture *t = *state;
	struct file_stat before, after;

	assert_int_equal(catalog_file_stat(t->c, &before), 0);
	assert_int_equal(before.links, 1);
	assert_int_equal(simdisk_remove(t->disk, DB), 0);
	assert_int_equal(catalog_file_stat(t->c, &after), 0);
	assert_int_equal(after.links, 0);
	assert_int_equal(after.ino, before.ino);
}

static void a_catalogue_in_memory_does_the_same(void **state)
{
	struct fixture *t = *state;
	struct catalog *on_disk = t->c;
	struct catalog_row row = row_of(t, 7, 1);
	struct file_stat st;

	t->c = open_in_memory();
	put_row(t->c, &row);
	expect_row(t, &row);
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_clear(t->c, &err));
	/* This thread's own reads go on, and see what it did. */
	assert_int_equal(count_of(t->c), 0);
	catalog_rollback(t->c);
	assert_int_equal(count_of(t->c), 1);
	MUST(catalog_check(t->c, &err));
	assert_int_equal(catalog_file_stat(t->c, &st), 0);
	assert_int_equal(st.links, 1);
	catalog_close(t->c);
	t->c = on_disk;
}

static void a_reader_reads_and_does_not_write(void **state)
{
	struct fixture *t = *state;
	struct catalog *reader;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	reader = open_at(simdisk_process(t->disk), DB, CATALOG_READ_ONLY);
	expect_all(reader, 1);
	assert_int_equal(catalog_begin(reader, NULL), WEFT_READ_ONLY);
	catalog_rollback(reader);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	MUST(catalog_commit(t->c, &err));
	expect_all(reader, 2);
	MUST(catalog_check(reader, &err));
	catalog_close(reader);
}

static void a_read_only_file_system_is_enough_for_reading(void **state)
{
	struct fixture *t = *state;
	struct fs *fs = simdisk_process(t->disk);
	struct catalog *reader;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	simdisk_set_kind(t->disk, "iso9660", false, true);
	reader = open_at(fs, DB, CATALOG_READ_ONLY);
	expect_all(reader, 1);
	catalog_close(reader);
	/* Also one without locks, by the name of this file alone. */
	simdisk_fail_at(t->disk, SIM_LOCK, 1, -ENOLCK, true);
	reader = open_at(fs, DB, CATALOG_READ_ONLY);
	expect_all(reader, 1);
	catalog_close(reader);
	/* But not while that would be half a transaction. */
	simdisk_set_kind(t->disk, "ext4", false, false);
	assert_int_equal(
		simdisk_append(t->disk, DB "-journal", STR("something")), 0);
	simdisk_set_kind(t->disk, "iso9660", false, true);
	assert_int_equal(catalog_open(fs, DB, CATALOG_READ_ONLY, &reader, NULL),
			 WEFT_CORRUPT);
	simdisk_fail_at(t->disk, 0, 0, 0, false);
	assert_int_equal(catalog_open(fs, DB, 0, &reader, NULL),
			 WEFT_READ_ONLY);
	simdisk_set_kind(t->disk, "ext4", false, false);
}

static void a_reader_does_not_make_a_file(void **state)
{
	struct fixture *t = *state;
	struct catalog *reader;
	struct file_stat st;

	assert_int_equal(catalog_open(t->fs, "/store/none", CATALOG_READ_ONLY,
				      &reader, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(fs_stat(t->fs, "/store/none", &st), -ENOENT);
	assert_int_equal(catalog_open(t->fs, "/none/c.db", 0, &reader, NULL),
			 WEFT_IO);
}

static void a_full_disk_is_said_and_survived(void **state)
{
	struct fixture *t = *state;
	int r = WEFT_OK;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	simdisk_set_free(t->disk, KIB(64));
	MUST(catalog_begin(t->c, &err));
	for (uint64_t i = 2; i < 200 && r == WEFT_OK; i++) {
		struct catalog_row row = row_of(t, i, i);

		r = catalog_put(t->c, &row, NULL);
	}
	if (r == WEFT_OK)
		r = catalog_commit(t->c, NULL);
	assert_int_equal(r, WEFT_NO_SPACE);
	catalog_rollback(t->c);
	expect_all(t->c, 1);
	MUST(catalog_check(t->c, &err));
	simdisk_set_free(t->disk, MIB(64));
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	MUST(catalog_commit(t->c, &err));
	expect_all(t->c, 2);
}

static void failing_reads_and_syncs_are_told(void **state)
{
	struct fixture *t = *state;
	struct catalog_meta meta;

	simdisk_fail_at(t->disk, SIM_READ, 1, -EIO, true);
	assert_int_equal(catalog_get_meta(t->c, &meta, NULL), WEFT_IO);
	simdisk_fail_at(t->disk, 0, 0, 0, false);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	simdisk_fail_at(t->disk, SIM_SYNC, 1, -EIO, true);
	assert_int_equal(catalog_commit(t->c, NULL), WEFT_IO);
	simdisk_fail_at(t->disk, 0, 0, 0, false);
	catalog_rollback(t->c);
	assert_int_equal(applied_of(t->c), 0);
}

/* ---- on real files, with threads ---- */

#define COMMITS 60

struct shared {
	struct catalog *c;
	atomic_bool done;
	atomic_int bad;
};

/* A transaction sets the meta and one row to the same number. */
static void *read_along(void *ctx)
{
	struct shared *s = ctx;
	struct weft_id id = id_of(1);
	struct arena a;
	uint64_t last = 0;

	arena_init(&a, 0);
	while (!atomic_load(&s->done)) {
		struct catalog_meta meta;
		struct catalog_row row;

		arena_reset(&a);
		if (catalog_get_meta(s->c, &meta, NULL) != WEFT_OK ||
		    catalog_get(s->c, &id, &a, &row, NULL) != WEFT_OK ||
		    meta.applied < last || row.lsn < meta.applied)
			atomic_fetch_add(&s->bad, 1);
		last = row.lsn;
	}
	arena_done(&a);
	return NULL;
}

static void commit_number(struct catalog *c, uint64_t n)
{
	struct catalog_row row = { .rec = { .id = id_of(1) }, .lsn = n };
	struct catalog_meta meta = { .applied = n };

	MUST(catalog_begin(c, &err));
	MUST(catalog_put(c, &row, &err));
	MUST(catalog_set_meta(c, &meta, &err));
	MUST(catalog_commit(c, &err));
}

static void threads_read_while_one_writes(void **state)
{
	char dir[] = "/tmp/test-catalog-XXXXXX", path[64], journal[80];
	struct shared s = { .bad = 0 };
	pthread_t readers[2];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/file:a?b#c%%41", dir);
	(void)snprintf(journal, sizeof(journal), "%s-journal", path);
	s.c = open_at(fs_real(), path, 0);
	commit_number(s.c, 1);
	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		assert_int_equal(
			pthread_create(&readers[i], NULL, read_along, &s), 0);
	for (uint64_t i = 2; i < COMMITS; i++)
		commit_number(s.c, i);
	atomic_store(&s.done, true);
	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_int_equal(atomic_load(&s.bad), 0);
	catalog_close(s.c);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(journal), 0);
	assert_int_equal(rmdir(dir), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_row_comes_back_with_every_field),
		T(every_field_of_a_row_can_change_alone),
		T(a_row_may_be_empty_or_hold_any_bytes),
		T(only_a_larger_lsn_replaces_a_row),
		T(the_highest_version_of_a_name_wins),
		T(names_are_compared_by_their_bytes),
		T(a_session_has_its_key_first_then_its_aliases),
		T(a_session_may_have_many_names),
		T(the_latest_mark_of_an_event_counts),
		T(a_session_is_found_by_its_operation),
		T(sessions_are_found_by_their_tag),
		T(ids_are_read_in_pages),
		T(books_and_the_purged_are_not_counted),
		T(a_new_catalogue_is_not_complete),
		T(a_rollback_takes_everything_back),
		T(nothing_is_left_after_clearing),
		T(reads_see_what_was_there_before_a_transaction),
		T(another_process_sees_what_was_committed),
		T(two_writers_wait_for_each_other),
		T(a_commit_that_has_to_wait_too_long_can_be_given_up),
		T(a_removed_file_is_noticed),
		T(a_catalogue_in_memory_does_the_same),
		T(a_reader_reads_and_does_not_write),
		T(a_read_only_file_system_is_enough_for_reading),
		T(a_reader_does_not_make_a_file),
		T(a_full_disk_is_said_and_survived),
		T(failing_reads_and_syncs_are_told),
		cmocka_unit_test(threads_read_while_one_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
