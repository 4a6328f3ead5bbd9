/* check.c - hold a store, or a disk, against the truth of a lab. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/id.h"
#include "crash/lab.h"
#include "model/record.h"
#include "store/store.h"

static char problem[600];
static bool met_error;

static const char *wrong(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

static const char *wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(problem, sizeof(problem), format, args);
	va_end(args);
	met_error = false;
	return problem;
}

static const char *failed(struct lab *l, const char *what, int r)
{
	(void)wrong("%s: %s: %s", what, weft_code_name(r), l->f.err.message);
	met_error = true;
	return problem;
}

bool check_met_error(void)
{
	return met_error;
}

/* ---- the truth of a moment ---- */

struct expectation {
	struct lab *l;
	struct moment at;
	struct arena arena; /* of what is read */
	int more; /* is the deed under way there?  -1: not known yet */
};

enum belonging { ABSENT, PRESENT, OPTIONAL };

static enum belonging belongs(const struct expectation *x, size_t deed)
{
	if (deed < x->at.done)
		return x->l->deeds[deed].answer == ANSWER_REFUSED ? ABSENT :
								    PRESENT;
	return deed == x->at.done && x->at.under_way ? OPTIONAL : ABSENT;
}

/* Is a fact one of those that must be there, knowing what is known now? */
static bool is_true(const struct expectation *x, size_t deed)
{
	enum belonging b = belongs(x, deed);

	return b == PRESENT || (b == OPTIONAL && x->more == 1);
}

/* ---- events ---- */

static bool is_hurt(const struct expectation *x, const struct fact *f)
{
	return f->hurt_since && x->at.done + 1 >= f->hurt_since;
}

static const char *check_event(const struct expectation *x,
			       const struct fact *f,
			       const struct store_event *e)
{
	if (e->seq > f->seq || e->last < f->seq)
		return wrong("event %llu where %llu should be",
			     (unsigned long long)e->seq,
			     (unsigned long long)f->seq);
	if (is_hurt(x, f))
		return "";
	if (e->state != STATE_OK)
		return wrong("event %llu is in state %u",
			     (unsigned long long)e->seq, e->state);
	if (e->type != f->type ||
	    hash_bytes(e->body.ptr, e->body.len) != f->body)
		return wrong("event %llu says something else: %.*s",
			     (unsigned long long)e->seq,
			     (int)u64_min(e->body.len, 100), e->body.ptr);
	return "";
}

static const char *read_events(struct expectation *x, struct store *s,
			       const struct weft_id *id, struct event_page *ret)
{
	struct event_range range = { .session = *id,
				     .first = 1,
				     .last = UINT64_MAX };
	int r = s->ops->read_events(s, &range, &x->arena, ret, &x->l->f.err);

	return r < 0 ? failed(x->l, "read_events", r) : "";
}

/* The next fact of a session at or behind *deed, *fact. */
static const struct fact *next_fact(const struct expectation *x,
				    const struct weft_id *id, size_t *deed,
				    size_t *k)
{
	for (; *deed < x->l->n_deeds; (*deed)++, *k = 0) {
		const struct deed *d = &x->l->deeds[*deed];

		if (belongs(x, *deed) == ABSENT)
			continue;
		for (; *k < d->n; (*k)++) {
			const struct fact *f = &x->l->facts[d->first + *k];

			if (id_eq(&f->session, id)) {
				(*k)++;
				return f;
			}
		}
	}
	return NULL;
}

/* Was the deed under way done or not?  Every session must say the same. */
static const char *settle_more(struct expectation *x, bool there)
{
	if (x->more >= 0 && x->more != there)
		return wrong("half of deed %zu is there", x->at.done);
	x->more = there;
	return "";
}

/* Step over what one event stands for: itself, or a range that is gone. */
static size_t skip_event(const struct event_page *page, size_t i, uint64_t seq)
{
	return i < page->n && page->v[i].last <= seq ? i + 1 : i;
}

static const char *check_session(struct expectation *x, struct store *s,
				 const struct weft_id *id)
{
	size_t deed = 0, k = 0, i = 0;
	const struct fact *f;
	struct event_page page;
	const char *p = read_events(x, s, id, &page);
	struct session_rec rec;
	uint64_t last = 0;
	int r;

	while (!p[0] && (f = next_fact(x, id, &deed, &k))) {
		bool optional = belongs(x, deed) == OPTIONAL;

		if (optional)
			p = settle_more(x, i < page.n);
		if (p[0] || (optional && i >= page.n))
			continue;
		if (i >= page.n)
			return wrong("event %llu of deed %zu is missing",
				     (unsigned long long)f->seq, deed);
		p = check_event(x, f, &page.v[i]);
		i = skip_event(&page, i, f->seq);
		last = f->seq;
	}
	if (!p[0] && i < page.n)
		p = wrong("event %llu was never asked for",
			  (unsigned long long)page.v[i].seq);
	if (p[0])
		return p;
	r = s->ops->get_sessions(s, id, 1, &x->arena, &rec, &x->l->f.err);
	if (r < 0)
		return failed(x->l, "get_sessions", r);
	return rec.head_seq == last ?
		       "" :
		       wrong("the record's head is %llu, not %llu",
			     (unsigned long long)rec.head_seq,
			     (unsigned long long)last);
}

/* ---- names and blobs ---- */

static const struct fact *holder(const struct expectation *x, const char *name)
{
	const struct fact *best = NULL;

	for (size_t i = 0; i < x->l->n_deeds; i++) {
		const struct deed *d = &x->l->deeds[i];

		for (size_t k = 0; is_true(x, i) && k < d->n; k++) {
			const struct fact *f = &x->l->facts[d->first + k];

			if (strcmp(f->name, name) == 0 &&
			    (!best || f->ver > best->ver))
				best = f;
		}
	}
	return best;
}

static const char *check_name(struct expectation *x, struct store *s,
			      const char *name)
{
	const struct fact *f = holder(x, name);
	struct weft_str text = str_of(name);
	struct name_rec found;
	int r = s->ops->get_names(s, &text, 1, &x->arena, &found, &x->l->f.err);

	if (r < 0)
		return failed(x->l, "get_names", r);
	if (found.ver != (f ? f->ver : 0) ||
	    (f && !id_eq(&found.session, &f->holder)))
		return wrong("name %s has version %llu instead of %llu, or "
			     "another holder",
			     name, (unsigned long long)found.ver,
			     (unsigned long long)(f ? f->ver : 0));
	return "";
}

static const char *check_names(struct expectation *x, struct store *s)
{
	const char *p = "";

	for (size_t i = 0; i < x->l->n_facts && !p[0]; i++)
		if (x->l->facts[i].name[0])
			p = check_name(x, s, x->l->facts[i].name);
	return p;
}

static const char *check_blobs(struct expectation *x, struct store *s)
{
	for (size_t i = 0; i < x->at.done; i++) {
		const struct deed *d = &x->l->deeds[i];
		struct weft_str bytes;
		int r;

		if (!d->is_blob || d->answer != ANSWER_DONE)
			continue;
		r = s->ops->get_blob(s, &d->blob, &x->arena, &bytes,
				     &x->l->f.err);
		if (r < 0)
			return failed(x->l, "get_blob", r);
	}
	return "";
}

/* ---- the whole ---- */

/* Is this fact the first of its session? */
static bool is_first(const struct lab *l, size_t fact)
{
	for (size_t i = 0; i < fact; i++)
		if (id_eq(&l->facts[i].session, &l->facts[fact].session))
			return false;
	return true;
}

static const char *check_count(struct expectation *x, struct store *s)
{
	struct list_query q = { .deleted = LIST_WITH_DELETED };
	struct session_page page;
	size_t n = 0;
	int r = s->ops->list(s, &q, &x->arena, &page, &x->l->f.err);

	if (r < 0)
		return failed(x->l, "list", r);
	for (size_t i = 0; i < x->l->n_deeds; i++) {
		const struct deed *d = &x->l->deeds[i];

		for (size_t k = 0; is_true(x, i) && k < d->n; k++)
			n += x->l->facts[d->first + k].type == EVENT_SESSION;
	}
	return n == page.n ? "" :
			     wrong("%zu sessions are listed, %zu were made",
				   page.n, n);
}

const char *check_store(struct lab *l, struct store *s, struct moment at,
			bool *ret_more)
{
	struct expectation x = { .l = l, .at = at, .more = -1 };
	const char *p = "";

	arena_init(&x.arena, 0);
	for (size_t i = 0; i < l->n_facts && !p[0]; i++)
		if (is_first(l, i))
			p = check_session(&x, s, &l->facts[i].session);
	if (!p[0])
		p = check_count(&x, s);
	if (!p[0])
		p = check_names(&x, s);
	if (!p[0])
		p = check_blobs(&x, s);
	arena_done(&x.arena);
	if (ret_more)
		*ret_more = x.more == 1;
	return p;
}

/* ---- digest ---- */

static void mix(uint64_t *h, const void *bytes, size_t n)
{
	*h = (*h ^ hash_bytes(bytes, n)) * UINT64_C(0x9e3779b97f4a7c15) + n;
}

static void mix_record(uint64_t *h, const struct session_rec *rec)
{
	for (size_t i = 0; i < record_n_fields; i++) {
		const void *at = record_at_const(rec, &record_fields[i]);
		const struct weft_str *text = at;

		switch ((enum field_kind)record_fields[i].kind) {
		case FIELD_ID:
			mix(h, at, sizeof(struct weft_id));
			break;
		case FIELD_U64:
		case FIELD_TIME:
			mix(h, at, sizeof(uint64_t));
			break;
		case FIELD_STR:
		case FIELD_JSON:
			mix(h, text->ptr, text->len);
			break;
		}
	}
}

static int mix_session(struct lab *l, struct store *s, struct arena *a,
		       const struct session_rec *rec, uint64_t *h)
{
	struct event_range range = { .session = rec->id,
				     .first = 1,
				     .last = UINT64_MAX };
	struct event_page page;
	struct session_names names = { 0 };
	uint64_t *hidden;
	size_t n;
	int r;

	mix_record(h, rec);
	r = s->ops->get_names_of(s, &rec->id, 1, a, &names, &l->f.err);
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		const struct name_rec *name = &names.v[i];

		mix(h, name->name.ptr, name->name.len);
		mix(h, &name->ver, sizeof(name->ver));
		mix(h, &name->kind, sizeof(name->kind));
	}
	if (r >= 0)
		r = s->ops->get_hidden(s, &rec->id, 1, UINT64_MAX, a, &hidden,
				       &n, &l->f.err);
	for (size_t i = 0; r >= 0 && i < n; i++)
		mix(h, &hidden[i], sizeof(hidden[i]));
	if (r >= 0)
		r = s->ops->read_events(s, &range, a, &page, &l->f.err);
	for (size_t i = 0; r >= 0 && i < page.n; i++) {
		mix(h, page.v[i].bytes.ptr, page.v[i].bytes.len);
		mix(h, &page.v[i].state, sizeof(page.v[i].state));
	}
	return r;
}

uint64_t digest(struct lab *l, struct store *s, const char **ret_problem)
{
	struct list_query q = { .deleted = LIST_WITH_DELETED,
				.sort = LIST_BY_CREATION };
	struct session_page page;
	struct arena a;
	uint64_t h = 1;
	int r;

	arena_init(&a, 0);
	r = s->ops->list(s, &q, &a, &page, &l->f.err);
	for (size_t i = 0; r >= 0 && i < page.n; i++)
		r = mix_session(l, s, &a, &page.v[i], &h);
	arena_done(&a);
	*ret_problem = r < 0 ? failed(l, "digest", r) : "";
	return h;
}

/* ---- a disk ---- */

/* A store on a disk that nobody else uses. */
struct visit {
	struct lab *l;
	struct simdisk *disk;
	struct store *s;
	struct arena arena;
};

static const char *visit_open(struct visit *v)
{
	struct store_open o = {
		.path = str_of(LAB_DIR),
		.flags = STORE_CREATE | STORE_BY_HAND,
		.limits = v->l->limits,
		.clock = &v->l->f.clock,
		.fs = simdisk_process(v->disk),
	};
	int r = store_limits_fill(&o.limits, &v->l->f.err);

	if (r == WEFT_OK)
		r = store_jsonl.open(&o, &v->s, &v->l->f.err);
	return r < 0 ? failed(v->l, "open", r) : "";
}

static const char *visit_close(struct visit *v)
{
	struct store *s = v->s;
	int r;

	v->s = NULL;
	r = store_close(s, &v->l->f.err);
	return r < 0 ? failed(v->l, "close", r) : "";
}

static bool is_hurt_session(const struct lab *l, struct moment at,
			    const struct weft_id *id)
{
	struct expectation x = { .at = at };

	for (size_t i = 0; i < l->n_facts; i++)
		if (id_eq(&l->facts[i].session, id) &&
		    is_hurt(&x, &l->facts[i]))
			return true;
	return false;
}

static const char *visit_verify(struct visit *v, struct moment at)
{
	struct store_report report = { .arena = &v->arena };
	int r = v->s->ops->maintain(v->s, TASK_VERIFY, &report, &v->l->f.err);

	if (r < 0)
		return failed(v->l, "verify", r);
	for (size_t i = 0; i < report.n_problems; i++) {
		const struct store_problem *p = &report.problems[i];

		if (!is_hurt_session(v->l, at, &p->session))
			return wrong("verify: %.*s:%llu: %.*s",
				     (int)p->file.len, p->file.ptr,
				     (unsigned long long)p->line,
				     (int)p->reason.len, p->reason.ptr);
	}
	return "";
}

/* What is derived anew is what was derived bit by bit. */
static const char *visit_reindex(struct visit *v)
{
	struct store_report report = { .arena = &v->arena };
	const char *p;
	uint64_t before = digest(v->l, v->s, &p), after;
	int r;

	if (p[0])
		return p;
	r = v->s->ops->maintain(v->s, TASK_REINDEX, &report, &v->l->f.err);
	if (r < 0)
		return failed(v->l, "reindex", r);
	after = digest(v->l, v->s, &p);
	if (p[0])
		return p;
	return before == after ? "" : wrong("reindex gives other answers");
}

/* A write gets the next number, in a session that is there. */
static const char *visit_write(struct visit *v, struct weft_id *ret_id,
			       uint64_t *ret_seq)
{
	struct list_query q = { .limit = 1 };
	struct session_page page;
	struct fixture f = { .now_ms = v->l->f.now_ms };
	struct session_rec rec = { 0 };
	struct draft *d;
	int r = v->s->ops->list(v->s, &q, &v->arena, &page, &v->l->f.err);

	if (r < 0)
		return failed(v->l, "list", r);
	arena_init(&f.arena, 0);
	d = draft_new(&f);
	*ret_id = page.n ? page.v[0].id :
			   draft_begin(d, &(struct session_rec){ 0 });
	(void)draft_say(d, ret_id, "after the storm");
	*ret_seq = page.n ? page.v[0].head_seq + 1 : 2;
	r = draft_write_to(d, v->s);
	v->l->f.err = f.err;
	arena_done(&f.arena);
	if (r == WEFT_OK)
		r = v->s->ops->get_sessions(v->s, ret_id, 1, &v->arena, &rec,
					    &v->l->f.err);
	if (r < 0)
		return failed(v->l, "write", r);
	return rec.head_seq == *ret_seq ? "" : wrong("a number was skipped");
}

/* The files alone are the whole truth: no log, no catalogue, no cache. */
static const char *visit_bare(struct visit *v, const struct weft_id *id,
			      uint64_t seq, uint64_t told)
{
	struct session_rec rec;
	const char *p;
	int r;

	(void)simdisk_power_cut(v->disk, SIM_LOSE_ALL, 0, NULL);
	(void)simdisk_remove(v->disk, LAB_DIR "/catalog.db");
	p = visit_open(v);
	if (p[0] || !v->s)
		return p;
	r = v->s->ops->get_sessions(v->s, id, 1, &v->arena, &rec, &v->l->f.err);
	if (r < 0 || rec.head_seq != seq)
		return wrong("what was closed cleanly has lost its last line");
	if (digest(v->l, v->s, &p) != told && !p[0])
		p = wrong("the files alone give other answers");
	return p;
}

/* Go on with what was recovered, and take all but the files away. */
static const char *visit_deeply(struct visit *v)
{
	const char *p = visit_reindex(v);
	struct weft_id id;
	uint64_t seq = 0, told = 0;

	if (!p[0])
		p = visit_write(v, &id, &seq);
	if (!p[0])
		told = digest(v->l, v->s, &p);
	if (!p[0])
		p = visit_close(v);
	return p[0] ? p : visit_bare(v, &id, seq, told);
}

const char *check_disk(struct lab *l, struct simdisk *d, struct moment at,
		       bool deep)
{
	struct visit v = { .l = l, .disk = d };
	const char *p = visit_open(&v);

	arena_init(&v.arena, 0);
	if (!p[0])
		p = check_store(l, v.s, at, NULL);
	if (!p[0])
		p = visit_verify(&v, at);
	if (!p[0] && deep)
		p = visit_deeply(&v);
	if (v.s)
		(void)store_close(v.s, NULL);
	arena_done(&v.arena);
	return p;
}

const char *check_cuts(struct lab *l, uint64_t seed)
{
	const char *p = "";

	for (int i = 0; i < 2 && !p[0]; i++) {
		struct simdisk *d = simdisk_clone(l->disk);

		(void)simdisk_power_cut(d, i ? SIM_RANDOM : SIM_LOSE_ALL, seed,
					NULL);
		p = check_disk(l, d, lab_now(l), i == 0);
		simdisk_free(d);
	}
	return p;
}
