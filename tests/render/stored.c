/*
 * stored.c - whatever is in a store, what is rendered from it can be sent.
 *
 * usage: stored memory:|jsonl: [SEED [SCENES]]
 *
 * A scene is a session and some forks of it.  They are given messages that
 * nobody should have written, past all checks or through them; they are
 * compacted, truncated, cleared, undone and given another history; messages are
 * redacted and erased; markers and redactions are put there that no program of
 * ours would write; in a jsonl: store bytes and lines of the files are changed.
 * All the while windows are asked for, in every format, view and budget, and
 * held against the rules of the providers.
 *
 * Seeds differ from run to run; WEFT_TEST_SEED gives one back, and
 * `stored URL SEED 1` runs one scene alone.
 */
#include <stdlib.h>

#include "base/id.h"
#include "base/json.h"
#include "crash/place.h"
#include "engine/internal.h"
#include "model/derive.h"
#include "model/event.h"
#include "render/hostile.h"
#include "render/validity.h"

#define SCENES       25000 /* in memory: */
#define SCENES_FILES 150
#define SESSIONS     6
#define STEPS        12
#define REOPEN       200 /* scenes in one store */

static const char *const formats[] = { "anthropic", "openai", "responses" };
static const char *const views[] = { "full", "window", "window", "direct" };

struct scene {
	struct weft_store *store;
	uint64_t random;
	struct hostile_log log;
	size_t next; /* of its messages */
	char ids[SESSIONS][WEFT_ID_CHARS + 1];
	size_t n;
	bool on_disk;   /* what needs all files may find a damaged one */
	size_t damages; /* of its own files */
	bool wrong;
	struct weft_error err; /* of the last call */
};

static struct {
	size_t windows, acts, refused, raw, forks, damages, unreadable;
} count;

static size_t pick(struct scene *s, size_t n)
{
	s->random = s->random * UINT64_C(6364136223846793005) +
		    UINT64_C(1442695040888963407);
	return (size_t)(s->random >> 33) % n;
}

static const char *any_session(struct scene *s)
{
	return s->ids[pick(s, s->n)];
}

/* ---- what is asked of the store ---- */

/* Through the door; the answer is the caller's, NULL if it was refused. */
static yyjson_doc *call(struct scene *s, const char *request, size_t len)
{
	struct weft_answer *answer = NULL;
	yyjson_doc *doc = NULL;
	struct weft_str text;
	int r;

	s->err = (struct weft_error){ 0 };
	r = weft_call(s->store, request, len, &answer, &s->err);

	if (r == WEFT_OK) {
		text.ptr = weft_answer_text(answer, &text.len);
		must(json_parse(text, NULL, &doc, NULL) == WEFT_OK);
	} else if (r == WEFT_IO || r == WEFT_NO_MEMORY ||
		   (r == WEFT_UNKNOWN && !s->on_disk)) {
		(void)printf("# %.*s: %s\n", (int)len, request, s->err.message);
		s->wrong = true;
	}
	weft_answer_free(answer);
	return doc;
}

static yyjson_doc *callf(struct scene *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static yyjson_doc *callf(struct scene *s, const char *format, ...)
{
	char text[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	must(n > 0 && (size_t)n < sizeof(text));
	return call(s, text, (size_t)n);
}

static void take_id(struct scene *s, yyjson_doc *doc)
{
	const char *id =
		yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "id"));

	must(id != NULL);
	(void)snprintf(s->ids[s->n++], WEFT_ID_CHARS + 1, "%s", id);
}

/* ---- windows ---- */

static void check_window(struct scene *s)
{
	size_t f = pick(s, ARRAY_LEN(formats));
	const char *view = views[pick(s, ARRAY_LEN(views))];
	const char *id = any_session(s);
	char cut[64] = "";
	struct verdict v = { "" };
	yyjson_doc *doc;
	yyjson_val *root;
	bool valid;

	if (pick(s, 3) == 0)
		(void)snprintf(cut, sizeof(cut), ",\"last\":%zu", pick(s, 9));
	else if (pick(s, 2))
		(void)snprintf(cut, sizeof(cut), ",\"tokens\":%zu",
			       1 + pick(s, 120));
	doc = callf(s,
		    "{\"method\":\"history\",\"session\":\"%s\",\"view\":"
		    "\"%s\",\"format\":\"%s\"%s%s}",
		    id, view, formats[f], cut,
		    pick(s, 4) ? "" : ",\"redacted\":true");
	count.windows++;
	if (!doc) {
		/* Only where nobody can know what was there. */
		count.unreadable++;
		if (!s->damages || s->err.code != WEFT_CORRUPT) {
			(void)printf("# %s\n", s->err.message);
			s->wrong = true;
		}
		return;
	}
	root = yyjson_doc_get_root(doc);
	valid = f == 0 ? valid_anthropic(root, &v) :
		f == 1 ? valid_openai(root, &v) :
			 valid_responses(root, &v);
	if (!valid) {
		char *text = yyjson_val_write(root, 0, NULL);

		(void)printf("# %s, %s%s: %s\n# %s\n", formats[f], view, cut,
			     v.why, text ? text : "");
		free(text);
		s->wrong = true;
	}
	yyjson_doc_free(doc);
}

/* ---- events that no program of ours writes ---- */

static bool is_json(struct weft_str body)
{
	struct buf b;
	yyjson_doc *doc = NULL;
	bool good;

	buf_init(&b, 0);
	buf_add_c(&b, '{');
	buf_add_str(&b, body);
	buf_add_c(&b, '}');
	good = json_parse(buf_str(&b), NULL, &doc, NULL) == WEFT_OK;
	yyjson_doc_free(doc);
	buf_done(&b);
	return good;
}

static struct store *store_of(struct scene *s)
{
	return weft_store_engine(s->store)->store;
}

struct raw {
	struct weft_id session;
	uint32_t type;
	struct weft_str body;
};

/* Plan one event, whatever it says. */
static int plan_raw(void *ctx, struct store_view *v, struct op_list *out,
		    struct weft_error *err)
{
	const struct raw *raw = ctx;
	struct op_list effects = { .arena = out->arena };
	struct store_event *e = ARENA_NEW(out->arena, struct store_event);
	struct session_rec *rec = ARENA_NEW(out->arena, struct session_rec);
	const struct session_rec *found;
	int r = v->ops->get_session(v, &raw->session, &found, err);

	must(e && rec);
	if (r < 0)
		return r;
	*rec = *found;
	*e = (struct store_event){ .session = raw->session,
				   .seq = rec->head_seq + 1,
				   .last = rec->head_seq + 1,
				   .marker = rec->window_seq,
				   .type = raw->type,
				   .body = raw->body,
				   .ts_ms = rec->updated_at };
	r = event_seal(e, out->arena, err);
	if (r == WEFT_OK)
		r = derive_event(rec, e, NULL, &effects, err);
	if (r < 0)
		return r;
	op_list_add(out, OP_EVENT, &raw->session)->u.event = e;
	op_list_add(out, OP_SESSION, &raw->session)->u.rec = rec;
	for (size_t i = 0; i < effects.n; i++)
		*op_list_add(out, effects.v[i].kind, &effects.v[i].session) =
			effects.v[i];
	return WEFT_OK;
}

static void write_raw(struct scene *s, uint32_t type, const char *body,
		      size_t len)
{
	struct raw raw = { .type = type, .body = { body, len } };
	struct store_want want = { .sessions = &raw.session,
				   .n_sessions = 1,
				   .bytes = len + EVENT_HEAD_MAX };

	must(id_parse(str_of(any_session(s)), &raw.session));
	count.raw += store_of(s)->ops->write(store_of(s), &want, plan_raw, &raw,
					     NULL) == WEFT_OK;
}

static void raw_message(struct scene *s)
{
	struct weft_str body;

	if (s->next == s->log.n)
		return;
	body = s->log.bodies[s->next++];
	if (is_json(body))
		write_raw(s, EVENT_MESSAGE, body.ptr, body.len);
}

static void raw_marker(struct scene *s)
{
	static const char *const bodies[] = {
		"\"how\":\"compact\",\"first_kept\":%zu,\"summary\":\"so\"",
		"\"how\":\"truncate\",\"first_kept\":%zu",
		"\"how\":\"history\",\"first_kept\":%zu,\"summary\":7",
		"\"how\":\"undo\",\"first_kept\":%zu,\"undoes\":%zu",
		"\"how\":%zu,\"first_kept\":null",
		"\"first_kept\":%zu.5",
	};
	char body[160];
	size_t i = pick(s, ARRAY_LEN(bodies)), n = pick(s, 40);
	int len;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	len = snprintf(body, sizeof(body), bodies[i], n, n);
#pragma GCC diagnostic pop
	write_raw(s, EVENT_MARKER, body, (size_t)len);
}

static void raw_other(struct scene *s)
{
	static const struct {
		uint32_t type;
		const char *body;
	} others[] = {
		{ EVENT_REDACT, "\"target\":3,\"hidden\":true" },
		{ EVENT_REDACT, "\"target\":99,\"role\":\"user\"" },
		{ EVENT_REDACT, "" },
		{ EVENT_TURN, "\"state\":\"begun\"" },
		{ EVENT_USAGE, "\"usage\":7" },
		{ EVENT_OTHER, "\"x\":1" },
		{ EVENT_PATCH, "\"slug\":7" },
	};
	size_t i = pick(s, ARRAY_LEN(others));

	write_raw(s, others[i].type, others[i].body, strlen(others[i].body));
}

/* ---- acts ---- */

static void append(struct scene *s)
{
	struct weft_str body;
	struct buf b;
	const char *id = any_session(s);

	if (s->next == s->log.n)
		return;
	body = s->log.bodies[s->next++];
	buf_init(&b, 0);
	buf_add_c(&b, '{');
	buf_add_str(&b, body);
	buf_add_c(&b, '}');
	(void)weft_append(s->store, id, strlen(id), b.ptr, b.len, NULL, NULL,
			  NULL);
	buf_done(&b);
}

static void set_history(struct scene *s)
{
	struct buf b;

	buf_init(&b, 0);
	buf_printf(&b,
		   "{\"method\":\"set_history\",\"session\":\"%s\","
		   "\"messages\":[",
		   any_session(s));
	for (size_t i = pick(s, 4); i > 0 && s->next < s->log.n; i--) {
		buf_add_str(&b, STR("{"));
		buf_add_str(&b, s->log.bodies[s->next++]);
		buf_add_str(&b,
			    i > 1 && s->next < s->log.n ? STR("},") : STR("}"));
	}
	buf_printf(&b, "]%s}", pick(s, 2) ? ",\"summary\":\"before\"" : "");
	yyjson_doc_free(call(s, b.ptr, b.len));
	buf_done(&b);
}

static void fork_one(struct scene *s)
{
	char at[32] = "";
	yyjson_doc *doc;

	if (s->n == SESSIONS)
		return;
	if (pick(s, 2))
		(void)snprintf(at, sizeof(at), ",\"at\":%zu", 2 + pick(s, 20));
	doc = callf(s, "{\"method\":\"fork\",\"session\":\"%s\"%s}",
		    any_session(s), at);
	if (doc) {
		take_id(s, doc);
		count.forks++;
	}
	yyjson_doc_free(doc);
}

static void mark(struct scene *s)
{
	static const char *const how[] = { "clear", "undo", "redo", "reclaim" };
	const char *turn = pick(s, 2) ? ",\"turn\":true" : "";
	const char *id = any_session(s);
	yyjson_doc *doc;

	switch (pick(s, 3)) {
	case 0:
		doc = callf(s,
			    "{\"method\":\"compact\",\"session\":\"%s\","
			    "\"keep\":%zu%s,\"summary\":\"%s\"}",
			    id, pick(s, 10), turn, pick(s, 3) ? "short" : " ");
		break;
	case 1:
		doc = callf(s,
			    "{\"method\":\"truncate\",\"session\":\"%s\","
			    "\"keep\":%zu%s}",
			    id, pick(s, 10), turn);
		break;
	default:
		doc = callf(s, "{\"method\":\"%s\",\"session\":\"%s\"}",
			    how[pick(s, ARRAY_LEN(how))], id);
	}
	count.refused += !doc;
	count.acts++;
	yyjson_doc_free(doc);
}

static void hide_one(struct scene *s)
{
	static const char *const how[] = { "redact", "redact", "erase" };
	yyjson_doc *doc =
		callf(s,
		      "{\"method\":\"%s\",\"session\":\"%s\",\"messages\":"
		      "[%zu]%s}",
		      how[pick(s, ARRAY_LEN(how))], any_session(s),
		      2 + pick(s, 24), pick(s, 6) ? "" : ",\"undo\":true");

	count.refused += !doc;
	count.acts++;
	yyjson_doc_free(doc);
}

/* ---- damage ---- */

/* Where the line begins that `at` is in. */
static size_t line_of(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] != '\n')
		at++;
	return at < len ? at + 1 : len;
}

/* A byte, a line, the end, or two lines. */
static size_t spoil(struct scene *s, char *text, size_t len)
{
	size_t at = pick(s, len), from = line_of(text, at);
	size_t to = line_end(text, len, at);

	switch (pick(s, 5)) {
	case 0:
		text[at] = (char)pick(s, 256);
		return len;
	case 1:
		memmove(text + from, text + to, len - to);
		return len - (to - from);
	case 2:
		return at;
	case 3:
		memset(text + from, pick(s, 2) ? 0 : 'x', to - from - 1);
		return len;
	default:
		/* Once more, at the end: there is room for it. */
		memcpy(text + len, text + from, to - from);
		return len + (to - from);
	}
}

/* The file of a session; NULL: of this one nothing can be told any more. */
static yyjson_doc *look_up(struct scene *s, const char *id, const char **path)
{
	yyjson_doc *doc =
		callf(s, "{\"method\":\"show\",\"session\":\"%s\"}", id);

	must(doc || (s->damages && s->err.code == WEFT_CORRUPT));
	*path = yyjson_get_str(
		yyjson_obj_get(yyjson_doc_get_root(doc), "path"));
	return doc;
}

static void damage_file(struct scene *s)
{
	const char *path = NULL;
	yyjson_doc *doc = look_up(s, any_session(s), &path);
	size_t len = 0;
	char *text, *room;

	if (!doc)
		return;
	must(path != NULL);
	text = read_file(path, &len);
	room = realloc(text, 2 * len + 1);
	must(room != NULL);
	if (len > 0) {
		len = spoil(s, room, len);
		write_all(path, room, len);
		s->damages++;
		count.damages++;
	}
	free(room);
	yyjson_doc_free(doc);
}

/* ---- scenes ---- */

static void step(struct scene *s)
{
	switch (pick(s, 9)) {
	case 0:
	case 1:
		append(s);
		break;
	case 2:
	case 3:
		raw_message(s);
		break;
	case 4:
		fork_one(s);
		break;
	case 5:
		mark(s);
		break;
	case 6:
		hide_one(s);
		break;
	case 7:
		set_history(s);
		break;
	default:
		if (pick(s, 3))
			raw_marker(s);
		else
			raw_other(s);
	}
}

static bool run_scene(struct weft_store *store, bool on_disk, uint64_t seed)
{
	static struct scene scene;
	struct scene *s = &scene;
	struct dice dice = { .state = seed };
	struct arena a;
	yyjson_doc *doc;

	arena_init(&a, 0);
	*s = (struct scene){ .store = store,
			     .random = seed,
			     .on_disk = on_disk };
	hostile_make(&s->log, &dice, &a);
	doc = callf(s, "{\"method\":\"new\"}");
	must(doc != NULL);
	take_id(s, doc);
	yyjson_doc_free(doc);
	/* Some of it first, so that there is something to act on. */
	for (size_t i = pick(s, 6); i > 0; i--)
		raw_message(s);
	for (size_t i = 0; i < STEPS && !s->wrong; i++) {
		step(s);
		if (pick(s, 2))
			check_window(s);
	}
	for (size_t i = 0; on_disk && i < 4 && !s->wrong; i++) {
		damage_file(s);
		for (size_t k = 0; k < 6; k++)
			check_window(s);
		step(s);
	}
	arena_done(&a);
	return !s->wrong;
}

static uint64_t argument(const char *text, uint64_t otherwise)
{
	uint64_t n;

	return text && str_to_u64(str_of(text), UINT64_MAX, &n) ? n : otherwise;
}

int main(int argc, char **argv)
{
	struct weft_store *store = NULL;
	struct place place;
	uint64_t first, n, failed = 0;
	bool on_disk;

	if (argc < 2) {
		(void)fprintf(stderr, "usage: stored URL [SEED [SCENES]]\n");
		return 2;
	}
	on_disk = strcmp(argv[1], "memory:") != 0;
	(void)printf("1..1\n");
	first = argc > 2 ? argument(argv[2], 1) : random_seed();
	n = argument(argc > 3 ? argv[3] : NULL,
		     scaled(on_disk ? SCENES_FILES : SCENES));
	if (on_disk)
		place_make(&place);
	for (uint64_t i = 0; i < n && failed < 3; i++) {
		if (i % REOPEN == 0 && store)
			close_place(store);
		if (i % REOPEN == 0)
			must(weft_open(on_disk ? place.url : "memory:", NULL,
				       &store, NULL) == WEFT_OK);
		if (run_scene(store, on_disk, first + i))
			continue;
		failed++;
		(void)printf("# to see it again: stored %s %llu 1\n", argv[1],
			     (unsigned long long)first + i);
	}
	close_place(store);
	if (on_disk)
		place_remove(&place);
	(void)printf("# %zu acts (%zu refused), %zu raw events, %zu forks, %zu "
		     "damages\n",
		     count.acts, count.refused, count.raw, count.forks,
		     count.damages);
	(void)printf("%s 1 - %zu windows of %llu scenes rendered, %zu "
		     "unreadable\n",
		     failed ? "not ok" : "ok", count.windows,
		     (unsigned long long)n, count.unreadable);
	return failed > 0;
}
