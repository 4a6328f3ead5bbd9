/* lab.c - ask stores for deeds and note what they answer. */
#include "crash/lab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/id.h"
#include "sim/sanitized.h"
#include "store/store.h"

#define MAX_TEXT 20000

static int64_t lab_clock(void *ctx)
{
	return ((const struct lab *)ctx)->f.now_ms;
}

/* Room for one more; a test's memory is not the code's under test. */
static void *grow(void *v, size_t n, size_t *room, size_t bytes)
{
	if (n < *room)
		return v;
	*room = *room ? *room * 2 : 64;
	v = realloc(v, *room * bytes);
	assert_non_null(v);
	return v;
}

struct lab *lab_new(void)
{
	struct lab *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	arena_init(&l->f.arena, 0);
	l->f.now_ms = TEST_BEGIN_MS;
	l->f.clock = (struct clock_source){ lab_clock, l };
	l->limits.segment_bytes = LAB_SEGMENT;
	l->limits.segment_bytes_max = LAB_SEGMENT;
	l->limits.busy_ms = 100;
	l->disk = simdisk_new();
	simdisk_set_time(l->disk, TEST_BEGIN_MS);
	simdisk_tell_boots(l->disk, "/proc/sys/kernel/random/boot_id");
	return l;
}

void lab_free(struct lab *l)
{
	for (unsigned i = 0; i < LAB_PROCESSES; i++) {
		if (l->store[i])
			(void)store_close(l->store[i], NULL);
	}
	simdisk_free(l->disk);
	arena_done(&l->f.arena);
	free(l->facts);
	free(l->deeds);
	free(l);
}

int lab_setup(void **state)
{
	*state = lab_new();
	return 0;
}

int lab_teardown(void **state)
{
	lab_free(*state);
	return 0;
}

unsigned rounds(unsigned normal)
{
	const char *text = getenv("WEFT_TEST_SCALE");
	const char *preload = getenv("LD_PRELOAD");
	unsigned long scale = text ? strtoul(text, NULL, 10) : 1;

	if (is_sanitized())
		normal = (normal + 9) / 10;
	/* Valgrind is slower still; it preloads a library of its own. */
	if (preload && strstr(preload, "vgpreload"))
		normal = (normal + 49) / 50;
	return normal * (unsigned)(scale ? scale : 1);
}

static void arm(struct lab *l, bool on)
{
	if (l->arm)
		l->arm(l->arm_ctx, on);
}

static void stepped(struct lab *l)
{
	arm(l, false);
	if (l->after)
		l->after(l->after_ctx);
}

/* ---- opening and looking after ---- */

int lab_open(struct lab *l, unsigned process)
{
	struct store_open o = {
		.path = str_of(LAB_DIR),
		.flags = STORE_CREATE | STORE_BY_HAND | l->flags,
		.limits = l->limits,
		.clock = &l->f.clock,
	};
	int r;

	if (!l->fs[process] || simdisk_is_dead(l->fs[process]))
		l->fs[process] = simdisk_process(l->disk);
	o.fs = l->fs[process];
	assert_null(l->store[process]);
	lab_ok(l, store_limits_fill(&o.limits, &l->f.err));
	arm(l, true);
	r = store_jsonl.open(&o, &l->store[process], &l->f.err);
	stepped(l);
	return r;
}

int lab_close(struct lab *l, unsigned process)
{
	struct store *s = l->store[process];
	int r;

	l->store[process] = NULL;
	arm(l, true);
	r = store_close(s, &l->f.err);
	stepped(l);
	return r;
}

int lab_task(struct lab *l, unsigned process, enum store_task task)
{
	struct store_report report = { .arena = &l->f.arena };
	struct store *s = l->store[process];
	int r;

	arm(l, true);
	r = s->ops->maintain(s, task, &report, &l->f.err);
	stepped(l);
	return r;
}

/* ---- deeds ---- */

static struct deed *new_deed(struct lab *l)
{
	struct deed *d;

	l->deeds = grow(l->deeds, l->n_deeds, &l->room_deeds, sizeof(*d));
	d = &l->deeds[l->n_deeds++];
	*d = (struct deed){ .first = l->n_facts };
	return d;
}

static enum answer answer_of(struct lab *l, unsigned process, int r)
{
	if (r >= 0)
		return ANSWER_DONE;
	/* Whoever dies tells nobody anything. */
	if (r == WEFT_UNKNOWN || simdisk_is_dead(l->fs[process]))
		return ANSWER_MAYBE;
	return ANSWER_REFUSED;
}

static void answered(struct lab *l, unsigned process, int r)
{
	struct deed *d = &l->deeds[l->n_deeds - 1];

	d->code = r;
	d->answer = answer_of(l, process, r);
}

int lab_blob(struct lab *l, unsigned process, const char *text)
{
	struct store *s = l->store[process];
	struct deed *d = new_deed(l);
	int r;

	d->is_blob = true;
	arm(l, true);
	r = s->ops->put_blob(s, str_of(text), &d->blob, &l->f.err);
	answered(l, process, r);
	stepped(l);
	return r;
}

uint64_t lab_head(const struct lab *l, const struct weft_id *s)
{
	uint64_t head = 0;

	for (size_t i = 0; i < l->n_deeds; i++) {
		const struct deed *d = &l->deeds[i];

		if (d->answer == ANSWER_REFUSED)
			continue;
		for (size_t k = d->first; k < d->first + d->n; k++)
			if (id_eq(&l->facts[k].session, s))
				head = l->facts[k].seq;
	}
	return head;
}

void lab_start(struct lab *l, unsigned process)
{
	arena_reset(&l->f.arena);
	l->draft = draft_new(&l->f);
	l->process = process;
	l->grouped = false;
	(void)new_deed(l);
}

/* Note what the last step of the draft adds. */
static struct fact *note(struct lab *l)
{
	const struct step *s = &l->draft->steps[l->draft->n - 1];
	struct deed *d = &l->deeds[l->n_deeds - 1];
	uint64_t head = lab_head(l, &s->session);
	struct fact *fact;

	l->facts = grow(l->facts, l->n_facts, &l->room_facts, sizeof(*fact));
	fact = &l->facts[l->n_facts++];
	*fact = (struct fact){
		.session = s->session,
		.seq = head + 1,
		.type = s->event.type,
		.body = hash_bytes(s->event.body.ptr, s->event.body.len),
	};
	d->n++;
	return fact;
}

struct weft_id lab_create_with(struct lab *l, const struct session_rec *start)
{
	struct weft_id id = draft_begin(l->draft, start);
	struct fact *fact = note(l);

	if (start->key.len) {
		(void)snprintf(fact->name, sizeof(fact->name), "%.*s",
			       (int)start->key.len, start->key.ptr);
		fact->ver = 1;
		fact->holder = id;
	}
	return id;
}

struct weft_id lab_create(struct lab *l, const char *key)
{
	struct session_rec start = { .key = str_of(key ? key : "") };

	return lab_create_with(l, &start);
}

void lab_say(struct lab *l, const struct weft_id *s, size_t bytes)
{
	static char text[MAX_TEXT];
	int n = snprintf(text, sizeof(text), "deed %zu line %zu ",
			 l->n_deeds - 1, l->n_facts);

	assert_true(bytes < sizeof(text));
	for (size_t i = (size_t)n; i < bytes; i++)
		text[i] = (char)('a' + (i * 7 + l->n_facts) % 26);
	if (bytes > (size_t)n)
		text[bytes] = '\0';
	(void)draft_say(l->draft, s, text);
	(void)note(l);
}

void lab_event(struct lab *l, const struct weft_id *s, uint32_t type,
	       const char *body)
{
	(void)draft_event(l->draft, s, type, "%s", body);
	(void)note(l);
}

void lab_refer(struct lab *l, const struct weft_id *s,
	       const struct blob_ref *blob)
{
	char hex[2 * SHA256_BYTES + 1];

	hex_format(blob->sha256, SHA256_BYTES, hex);
	(void)draft_event(l->draft, s, EVENT_MESSAGE,
			  "\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			  "\"blob\":{\"sha256\":\"%s\",\"bytes\":%llu,"
			  "\"enc\":\"text\",\"head\":\"a\"}}],\"blobs\":1",
			  hex, (unsigned long long)blob->bytes);
	(void)note(l);
}

void lab_spend(struct lab *l, const struct weft_id *s, unsigned tokens)
{
	(void)draft_event(l->draft, s, EVENT_MESSAGE,
			  "\"role\":\"assistant\",\"parts\":[{\"type\":"
			  "\"text\",\"text\":\"x\"}],\"usage\":{"
			  "\"input_tokens\":%u,\"output_tokens\":1}",
			  tokens);
	(void)note(l);
}

/* Who holds a name, by the truth; version 0: nobody ever did. */
static const struct fact *holder_of(const struct lab *l, const char *name)
{
	const struct fact *best = NULL;

	for (size_t i = 0; i < l->n_deeds; i++) {
		const struct deed *d = &l->deeds[i];

		if (d->answer == ANSWER_REFUSED)
			continue;
		for (size_t k = d->first; k < d->first + d->n; k++) {
			const struct fact *f = &l->facts[k];

			if (strcmp(f->name, name) == 0 &&
			    (!best || f->ver > best->ver))
				best = f;
		}
	}
	return best;
}

static void add_name(struct lab *l, const struct weft_id *s, const char *name,
		     uint64_t ver, const struct weft_id *holder)
{
	struct fact *fact;

	draft_name(l->draft, s, name, ver, !holder);
	fact = note(l);
	(void)snprintf(fact->name, sizeof(fact->name), "%s", name);
	fact->ver = ver;
	if (holder)
		fact->holder = *holder;
}

void lab_name(struct lab *l, const struct weft_id *s, const char *name)
{
	const struct fact *had = holder_of(l, name);
	uint64_t ver = had ? had->ver : 0;
	struct weft_id loser = { 0 };

	if (had)
		loser = had->holder;
	if (!id_is_zero(&loser) && !id_eq(&loser, s))
		add_name(l, &loser, name, ++ver, NULL);
	add_name(l, s, name, ver + 1, s);
}

void lab_hide(struct lab *l, const struct weft_id *s, uint64_t target)
{
	draft_hide(l->draft, s, target, true);
	(void)note(l);
}

/* Every line of a group says how many of its session are still to come. */
static void count_group(struct draft *d)
{
	for (size_t i = 0; i < d->n; i++) {
		d->steps[i].event.more = 0;
		for (size_t k = i + 1; k < d->n; k++)
			if (id_eq(&d->steps[k].session, &d->steps[i].session))
				d->steps[i].event.more++;
	}
}

int lab_commit(struct lab *l)
{
	int r;

	if (l->grouped)
		count_group(l->draft);
	arm(l, true);
	r = draft_write_to(l->draft, l->store[l->process]);
	answered(l, l->process, r);
	stepped(l);
	return r;
}

int lab_touch(struct lab *l, unsigned process)
{
	arena_reset(&l->f.arena);
	return draft_write_to(draft_new(&l->f), l->store[process]);
}

int lab_say_one(struct lab *l, unsigned process, const struct weft_id *s,
		size_t bytes)
{
	lab_start(l, process);
	lab_say(l, s, bytes);
	return lab_commit(l);
}

void lab_hurt(struct lab *l, const struct weft_id *s, uint64_t seq)
{
	for (size_t i = 0; i < l->n_facts; i++) {
		if (l->facts[i].seq == seq && id_eq(&l->facts[i].session, s))
			l->facts[i].hurt_since = l->n_deeds + 1;
	}
}

void lab_intrude(struct lab *l, const struct weft_id *s)
{
	uint64_t seq = lab_head(l, s) + 1;
	struct deed *d = new_deed(l);

	l->facts =
		grow(l->facts, l->n_facts, &l->room_facts, sizeof(*l->facts));
	l->facts[l->n_facts++] =
		(struct fact){ .session = *s, .seq = seq, .hurt_since = 1 };
	d->n = 1;
	d->answer = ANSWER_DONE;
}

static void lose_sync(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	struct lost_sync *at = ctx;

	(void)n;
	if ((calls & SIM_SYNC) && ++at->seen == at->n)
		simdisk_fail_sync(d, 1, -EIO);
}

void lab_lose_sync(struct lab *l, struct lost_sync *at)
{
	at->seen = 0;
	simdisk_on_call(l->disk, lose_sync, at);
}

void lab_path(struct lab *l, const struct weft_id *s, char out[128])
{
	struct weft_str where;
	struct store *store = NULL;

	for (unsigned i = 0; i < LAB_PROCESSES && !store; i++)
		store = l->store[i];
	assert_non_null(store);
	lab_ok(l, store->ops->where(store, s, &l->f.arena, &where, &l->f.err));
	assert_true(where.len < 128);
	memcpy(out, where.ptr, where.len + 1);
}

const char *lab_resolve(struct lab *l, unsigned process)
{
	struct deed *last = &l->deeds[l->n_deeds - 1];
	struct moment at = { .done = l->n_deeds - 1, .under_way = true };
	const char *problem;
	bool there;

	if (last->answer != ANSWER_MAYBE)
		return "";
	problem = check_store(l, l->store[process], at, &there);
	last->answer = there ? ANSWER_DONE : ANSWER_REFUSED;
	return problem;
}

struct moment lab_now(const struct lab *l)
{
	struct moment m = { .done = l->n_deeds };

	if (l->n_deeds && (l->deeds[l->n_deeds - 1].answer == ANSWER_NONE ||
			   l->deeds[l->n_deeds - 1].answer == ANSWER_MAYBE)) {
		m.done--;
		m.under_way = true;
	}
	return m;
}

void must_be_fine_(struct lab *l, const char *text, const char *file, int line)
{
	if (text[0])
		print_error("%s%s\n", l->where, text);
	_assert_true(text[0] == '\0', "the store keeps its word", file, line);
}
