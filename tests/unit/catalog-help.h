/* catalog-help.h - a catalogue with sessions in it, and short words for it. */
#ifndef UNIT_CATALOG_HELP_H
#define UNIT_CATALOG_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/id.h"
#include "model/record.h"
#include "sim/simdisk.h"
#include "store/jsonl/catalog.h"

#define DB "/store/catalog.db"

/* It must work, or else its message is shown. */
#define MUST(call)                                                          \
	do {                                                                \
		struct weft_error err = { 0 };                              \
		int must_r_ = (call);                                       \
		if (must_r_ != WEFT_OK)                                     \
			fail_msg("%s: %d %s", #call, must_r_, err.message); \
	} while (0)

static inline struct simdisk *make_disk(void)
{
	struct simdisk *d = simdisk_new();

	assert_int_equal(fs_mkdir(simdisk_process(d), "/store"), 0);
	simdisk_sync(d);
	return d;
}

static inline struct catalog *open_at(struct fs *fs, const char *path,
				      unsigned flags)
{
	struct catalog *c = NULL;

	MUST(catalog_open(fs, path, flags, &c, &err));
	return c;
}

static inline struct catalog *open_in_memory(void)
{
	return open_at(NULL, NULL, CATALOG_IN_MEMORY);
}

static inline struct weft_id id_of(uint64_t n)
{
	struct weft_id id = { .b = { 1, 2, 3 } };

	for (int i = 0; i < 8; i++)
		id.b[15 - i] = (unsigned char)(n >> 8 * i);
	return id;
}

/* A record of which every field has a value of its own, made from n. */
static inline struct session_rec record_of(uint64_t n, struct arena *a)
{
	struct session_rec rec;

	for (size_t i = 0; i < record_n_fields; i++) {
		const struct record_field *f = &record_fields[i];
		void *at = record_at(&rec, f);
		uint64_t number = n * 1000 + i;
		struct weft_id id = id_of(number);
		struct weft_str s;

		switch (f->kind) {
		case FIELD_ID:
			memcpy(at, &id, sizeof(id));
			break;
		case FIELD_U64:
		case FIELD_TIME:
			memcpy(at, &number, sizeof(number));
			break;
		default:
			s = arena_printf(a, "%s of %llu", f->name,
					 (unsigned long long)n);
			memcpy(at, &s, sizeof(s));
			break;
		}
	}
	rec.id = id_of(n);
	return rec;
}

static inline void put_row(struct catalog *c, const struct catalog_row *row)
{
	MUST(catalog_begin(c, &err));
	MUST(catalog_put(c, row, &err));
	MUST(catalog_commit(c, &err));
}

static inline struct catalog_name name_of(const char *name, uint64_t session,
					  uint64_t ver)
{
	struct catalog_name n = {
		.name = { .name = str_of(name),
			  .ver = ver,
			  .kind = NAME_ALIAS },
		.lsn = ver,
	};

	if (session)
		n.name.session = id_of(session);
	return n;
}

static inline void put_name(struct catalog *c, struct catalog_name name)
{
	MUST(catalog_begin(c, &err));
	MUST(catalog_put_name(c, &name, &err));
	MUST(catalog_commit(c, &err));
}

static inline uint64_t count_of(struct catalog *c)
{
	uint64_t n = 0;

	MUST(catalog_count(c, &n, &err));
	return n;
}

static inline uint64_t applied_of(struct catalog *c)
{
	struct catalog_meta meta;

	MUST(catalog_get_meta(c, &meta, &err));
	return meta.applied;
}

/* A disk and a catalogue on it. */
struct fixture {
	struct simdisk *disk;
	struct fs *fs;
	struct catalog *c;
	struct arena a;
};

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	struct fixture *t = *state;

	catalog_close(t->c);
	arena_done(&t->a);
	assert_int_equal(simdisk_open_files(t->disk), 0);
	simdisk_free(t->disk);
	free(t);
	return 0;
}

static inline struct catalog_row row_of(struct fixture *t, uint64_t n,
					uint64_t lsn)
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

static inline void expect_row(struct fixture *t, const struct catalog_row *row)
{
	struct catalog_row found;

	MUST(catalog_get(t->c, &row->rec.id, &t->a, &found, &err));
	assert_true(record_eq(&found.rec, &row->rec));
	assert_int_equal(found.lsn, row->lsn);
	assert_int_equal(found.gen, row->gen);
	assert_int_equal(found.end, row->end);
	assert_int_equal(found.irregular, row->irregular);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* How much more than usual is asked for. */
static inline unsigned test_scale(void)
{
	const char *text = getenv("WEFT_TEST_SCALE");
	long n = text ? strtol(text, NULL, 10) : 1;

	return n > 1 ? (unsigned)n : 1;
}

#endif
