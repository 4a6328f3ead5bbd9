/* threads.c - reading in many threads while one writes. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/id.h"
#include "conformance/conformance.h"

#define READERS 4
#define WRITES  60
#define GROUP   3

/*
 * What everybody looks at.  Every write adds a group of messages to both
 * sessions, moves a name between them and makes a session of its own, so that
 * whoever sees half of a write sees something odd.
 */
struct scene {
	struct fixture *f;
	struct weft_id a, b;
	atomic_bool over;
	atomic_uint reads;
};

struct reader {
	pthread_t thread;
	struct scene *scene;
	struct arena arena;
	struct weft_error err;
	const char *odd; /* what it saw that cannot be */
	uint64_t head;   /* the highest it has seen */
};

static const char *look_at_records(struct reader *r, struct store *s)
{
	struct weft_id ids[] = { r->scene->a, r->scene->b };
	struct session_rec rec[2];
	struct event_range range = { .session = ids[0],
				     .first = 1,
				     .last = UINT64_MAX };
	struct event_page page;

	if (s->ops->get_sessions(s, ids, 2, &r->arena, rec, &r->err) < 0)
		return "records cannot be read";
	if (rec[0].head_seq % (GROUP + 1) != 1)
		return "a record is in the middle of a write";
	if (rec[0].head_seq < r->head)
		return "a record went back";
	r->head = rec[0].head_seq;
	if (s->ops->read_events(s, &range, &r->arena, &page, &r->err) < 0)
		return "events cannot be read";
	if (page.n < r->head)
		return "events are missing that the record counts";
	if (page.n % (GROUP + 1) != 1)
		return "events end in the middle of a write";
	for (size_t i = 0; i < page.n; i++) {
		if (page.v[i].seq != i + 1 || page.v[i].state != STATE_OK)
			return "an event is not what it should be";
	}
	return NULL;
}

static const char *look_at_names(struct reader *r, struct store *s)
{
	struct weft_str wanted = STR("ball");
	struct session_page page;
	struct list_query q = { .limit = 2, .sort = LIST_BY_CREATION };
	struct name_rec name;

	if (s->ops->get_names(s, &wanted, 1, &r->arena, &name, &r->err) < 0)
		return "names cannot be read";
	if (name.ver > 0 && id_is_zero(&name.session))
		return "the name is nobody's";
	if (s->ops->list(s, &q, &r->arena, &page, &r->err) < 0)
		return "lists cannot be read";
	if (page.n != 2)
		return "a list is too short";
	return NULL;
}

static void *read_on(void *ctx)
{
	struct reader *r = ctx;
	struct store *s = r->scene->f->store;

	while (!r->odd && !atomic_load(&r->scene->over)) {
		r->odd = look_at_records(r, s);
		if (!r->odd)
			r->odd = look_at_names(r, s);
		arena_reset(&r->arena);
		(void)atomic_fetch_add(&r->scene->reads, 1);
	}
	return NULL;
}

/* Each session gets a group and one event about the name. */
static void write_once(struct scene *scene, uint64_t i)
{
	const struct weft_id *from = i % 2 ? &scene->a : &scene->b;
	const struct weft_id *to = i % 2 ? &scene->b : &scene->a;
	struct draft *d = draft_new(scene->f);

	for (uint32_t k = GROUP + 1; k-- > 1;) {
		draft_say(d, &scene->a, "to a")->event.more = k;
		draft_say(d, &scene->b, "to b")->event.more = k;
	}
	draft_name(d, from, "ball", 2 * i + 1, true);
	draft_name(d, to, "ball", 2 * i + 2, false);
	(void)draft_begin(d, &(struct session_rec){ 0 });
	must_write(d);
}

static void readers_see_whole_writes_or_nothing_of_them(void **state)
{
	struct fixture *f = *state;
	struct scene scene = { .f = f, .a = begin(f), .b = begin(f) };
	struct reader readers[READERS] = { 0 };

	for (size_t i = 0; i < READERS; i++) {
		readers[i].scene = &scene;
		arena_init(&readers[i].arena, 0);
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
						read_on, &readers[i]),
				 0);
	}
	for (uint64_t i = 0; i < WRITES; i++)
		write_once(&scene, i);
	/* On a machine with one core readers may not have begun. */
	while (atomic_load(&scene.reads) < READERS)
		;
	atomic_store(&scene.over, true);
	for (size_t i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		arena_done(&readers[i].arena);
		if (readers[i].odd)
			print_error("%s (%s)\n", readers[i].odd,
				    readers[i].err.message);
		assert_null(readers[i].odd);
	}
	assert_int_equal(head(f, &scene.a), 1 + WRITES * (GROUP + 1));
}

/* Two writers with a handle each on one store. */
struct writer {
	pthread_t thread;
	struct fixture f; /* its own arena, clock and error */
	struct weft_id session;
	int r;
};

static void *write_on(void *ctx)
{
	struct writer *w = ctx;

	for (int i = 0; i < WRITES && w->r == WEFT_OK; i++) {
		struct draft *d = draft_new(&w->f);

		(void)draft_say(d, &w->session, "from somebody");
		w->r = draft_write(d);
	}
	return NULL;
}

static void start_writers(struct fixture *f, struct weft_id s,
			  struct writer writers[2])
{
	for (size_t i = 0; i < 2; i++) {
		struct writer *w = &writers[i];

		*w = (struct writer){ .f = *f, .session = s };
		arena_init(&w->f.arena, 0);
		assert_ok(f, open_again(f, "busy_ms=60000", 0, &w->f.store));
		assert_int_equal(pthread_create(&w->thread, NULL, write_on, w),
				 0);
	}
}

static void end_writers(struct fixture *f, struct weft_id s,
			struct writer writers[2])
{
	struct event_page page;

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
		if (writers[i].r < 0)
			print_error("%s\n", writers[i].f.err.message);
		assert_int_equal(writers[i].r, WEFT_OK);
		close_store(f, writers[i].f.store);
		arena_done(&writers[i].f.arena);
	}
	page = read_all(f, &s);
	assert_int_equal(page.n, 1 + 2 * WRITES);
	for (size_t i = 0; i < page.n; i++) {
		assert_int_equal(page.v[i].seq, i + 1);
		assert_int_equal(page.v[i].state, STATE_OK);
	}
}

static void interleaved_writers_lose_nothing(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct writer writers[2];

	if (!is_persistent(f))
		return;
	start_writers(f, s, writers);
	end_writers(f, s, writers);
}

static uint64_t reindex(struct fixture *f)
{
	struct store_report report = { .arena = &f->arena };

	assert_ok(f, f->store->ops->maintain(f->store, TASK_REINDEX, &report,
					     &f->err));
	return report.changed;
}

/* What is derived is derived again while others change it. */
static void reindexing_beside_writers_loses_nothing(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct writer writers[2];

	if (!is_persistent(f))
		return;
	reopen_with(f, "busy_ms=60000");
	start_writers(f, s, writers);
	for (int i = 0; i < 20; i++)
		(void)reindex(f);
	end_writers(f, s, writers);
	assert_int_equal(record(f, &s)->head_seq, 1 + 2 * WRITES);
	assert_int_equal(record(f, &s)->message_count, 2 * WRITES);
	assert_int_equal(reindex(f), 0);
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(readers_see_whole_writes_or_nothing_of_them),
	STORE_TEST(interleaved_writers_lose_nothing),
	STORE_TEST(reindexing_beside_writers_loses_nothing),
};

const struct suite thread_suite = { tests, ARRAY_LEN(tests) };
