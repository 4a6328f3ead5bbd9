/* test-catalog.c - the catalogue: rows, names, marks. */
#include "store/jsonl/catalog_db.h"
#include "unit/catalog-help.h"

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

/* Rows have places, and two sessions may want the same one. */
static void sessions_that_want_one_place_are_both_there(void **state)
{
	struct fixture *t = *state;
	struct session_rec rec = record_of(7, &t->a);
	struct catalog_row row = { .rec = rec, .lsn = 1 }, got;

	for (unsigned char i = 0; i < 3; i++) {
		row.rec.id.b[8] = i;
		row.rec.head_seq = i;
		put_row(t->c, &row);
	}
	/* They grow, and one of them goes. */
	for (unsigned char i = 0; i < 3; i++) {
		row.rec.id.b[8] = i;
		row.rec.head_seq = 10 + i;
		row.lsn = 2;
		put_row(t->c, &row);
	}
	row.rec.id.b[8] = 2;
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_drop(t->c, &row.rec.id, true, &err));
	MUST(catalog_commit(t->c, &err));
	assert_int_equal(catalog_get(t->c, &row.rec.id, &t->a, &got, NULL),
			 WEFT_NOT_FOUND);
	for (unsigned char i = 0; i < 2; i++) {
		row.rec.id.b[8] = i;
		MUST(catalog_get(t->c, &row.rec.id, &t->a, &got, &err));
		assert_true(id_eq(&got.rec.id, &row.rec.id));
		assert_int_equal(got.rec.head_seq, 10 + i);
	}
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

/* A name whose second half takes back what the first has done to the hash: all
 * of these have one place. */
static const char *colliding(struct fixture *t, char letter)
{
	const uint64_t k1 = UINT64_C(0x6a09e667f3bcc909);
	const uint64_t k2 = UINT64_C(0xbb67ae8584caa73b);
	char *name = arena_zero(&t->a, 17, 1);
	unsigned __int128 product;

	assert_non_null(name);
	memset(name, letter, 8);
	product = (unsigned __int128)(k1 ^ get_le64(name)) * k2;
	put_le64(name + 8, (uint64_t)product ^ (uint64_t)(product >> 64));
	assert_int_equal(strlen(name), 16);
	return name;
}

static void drop_name(struct fixture *t, const char *name)
{
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_drop_name(t->c, str_of(name), &err));
	MUST(catalog_commit(t->c, &err));
}

static void expect_no_name(struct fixture *t, const char *name)
{
	struct catalog_name found;

	assert_int_equal(
		catalog_get_name(t->c, str_of(name), &t->a, &found, NULL),
		WEFT_NOT_FOUND);
}

static void names_of_one_place_are_told_apart(void **state)
{
	struct fixture *t = *state;
	const char *a = colliding(t, 'a'), *b = colliding(t, 'b');
	const char *c = colliding(t, 'c'), *d = colliding(t, 'd');
	struct weft_id second = id_of(2);
	struct catalog_name *v;
	size_t n;

	assert_true(catalog_name_place(str_of(a)) ==
		    catalog_name_place(str_of(d)));
	put_name(t->c, name_of(a, 1, 1));
	expect_no_name(t, b);
	put_name(t->c, name_of(b, 2, 5));
	put_name(t->c, name_of(c, 3, 1));
	expect_name(t, name_of(a, 1, 1));
	expect_name(t, name_of(b, 2, 5));
	expect_name(t, name_of(c, 3, 1));
	expect_no_name(t, d);
	/* The order of arrival does not matter there either. */
	put_name(t->c, name_of(b, 9, 4));
	expect_name(t, name_of(b, 2, 5));
	/* Nor does it when the place is free again. */
	drop_name(t, a);
	expect_no_name(t, a);
	put_name(t->c, name_of(b, 9, 4));
	expect_name(t, name_of(b, 2, 5));
	put_name(t->c, name_of(b, 2, 6));
	expect_name(t, name_of(b, 2, 6));
	MUST(catalog_names_of(t->c, &second, &t->a, &v, &n, &err));
	assert_int_equal(n, 1);
	put_name(t->c, name_of(a, 4, 2));
	drop_name(t, b);
	expect_no_name(t, b);
	expect_name(t, name_of(a, 4, 2));
	expect_name(t, name_of(c, 3, 1));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_row_comes_back_with_every_field),
		T(every_field_of_a_row_can_change_alone),
		T(sessions_that_want_one_place_are_both_there),
		T(a_row_may_be_empty_or_hold_any_bytes),
		T(only_a_larger_lsn_replaces_a_row),
		T(the_highest_version_of_a_name_wins),
		T(names_are_compared_by_their_bytes),
		T(names_of_one_place_are_told_apart),
		T(a_session_has_its_key_first_then_its_aliases),
		T(a_session_may_have_many_names),
		T(the_latest_mark_of_an_event_counts),
		T(a_session_is_found_by_its_operation),
		T(sessions_are_found_by_their_tag),
		T(ids_are_read_in_pages),
		T(books_and_the_purged_are_not_counted),
		T(a_new_catalogue_is_not_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
