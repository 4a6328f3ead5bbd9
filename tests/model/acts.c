/* acts.c - acts that change something, done to the store and the oracle. */
#include <stdio.h>

#include "base/id.h"
#include "base/mem.h"
#include "model/marker.h"
#include "model/world.h"

/* Few of each, so that they meet. */
const char *const world_names[] = { "alpha", "beta", "g\xc3\xa9", "delta",
				    "a:b/c", "zeta", "eta",       "theta" };
const size_t n_world_names = ARRAY_LEN(world_names);

/* Some are names as well. */
const char *const world_values[] = { "",           "alpha",       "Plan B",
				     "a \"b\" \\", "caf\xc3\xa9", "beta" };
const size_t n_world_values = ARRAY_LEN(world_values);

const char *const world_words[] = { "hello",
				    "the plan",
				    "Caf\xc3\xa9",
				    "say \"hi\" \\ there",
				    "\xf0\x9f\x99\x82",
				    "tab\tand\nline",
				    "sep\xe2\x80\xa8parated" };
const size_t n_world_words = ARRAY_LEN(world_words);

static const char *const metadata_values[] = { "", "{\"a\":1}",
					       "{\"b\":[\"x\",null]}" };

static const char *name_of(uint32_t r)
{
	return world_names[r % ARRAY_LEN(world_names)];
}

/* "op-3", or nothing. */
static void op_of(uint32_t r, char out[40])
{
	out[0] = '\0';
	if (r % 3 == 0)
		(void)snprintf(out, 40, "op-%u", r / 3 % 6);
}

static const char *setting_value(int setting, uint32_t r)
{
	if (setting == SETTING_METADATA)
		return metadata_values[r % ARRAY_LEN(metadata_values)];
	if (setting == SETTING_PINNED)
		return r % 2 ? "1" : "";
	return world_values[r % ARRAY_LEN(world_values)];
}

struct weft_str world_keep(struct request *q, const char *text)
{
	return arena_str(&q->arena, str_of(text));
}

void world_request_run(struct world *w, const char *what, struct request *q,
		       int expected, const struct oracle_answer *answer)
{
	int r = engine_run(w->engine, q, &w->err);
	struct weft_id session;

	if (world_agree(w, what, r, expected)) {
		session = world_id(w, answer->session);
		if (!id_eq(&q->ret_session, &session))
			world_wrong(w, "%s: answered for another session",
				    what);
		if (q->ret_seq != (uint64_t)answer->first)
			world_wrong(w, "%s: number %llu, expected %d", what,
				    (unsigned long long)q->ret_seq,
				    answer->first);
		if (q->ret_replayed != answer->replayed ||
		    q->ret_created != answer->created)
			world_wrong(w, "%s: replayed %u, created %u", what,
				    q->ret_replayed, q->ret_created);
	}
	request_free(q);
}

/* ---- creating ---- */

static struct oracle_start start_of(const struct world *w, const uint32_t *r)
{
	struct oracle_start s = { .parent = -1 };

	if (r[0] % 2)
		(void)snprintf(s.key, sizeof(s.key), "%s", name_of(r[0] / 2));
	s.n_aliases = (int)(r[1] % 3);
	for (int i = 0; i < s.n_aliases; i++)
		(void)snprintf(s.aliases[i], sizeof(s.aliases[i]), "%s",
			       name_of(r[1] / 3 + (uint32_t)i * (r[2] % 7)));
	for (int i = 0; i < SETTINGS; i++) {
		/* Nothing is born pinned. */
		if (i != SETTING_PINNED && (r[3] >> i) % 2)
			(void)snprintf(s.settings[i], sizeof(s.settings[i]),
				       "%s",
				       setting_value(i, r[4] + (uint32_t)i));
	}
	s.subagent = r[5] % 4 == 0;
	if (s.subagent)
		s.parent = world_pick(w, r[6]);
	op_of(r[7], s.op);
	return s;
}

/* What made the session with this operation id, to ask for it again; NULL if
 * there is none. */
static const struct oracle_start *start_with(const struct world *w,
					     const char *op)
{
	for (int i = 0; *op && i < w->oracle->n; i++) {
		if (strcmp(w->oracle->sessions[i].start.op, op) == 0)
			return &w->oracle->sessions[i].start;
	}
	return NULL;
}

/* A new session has an id that the oracle cannot know. */
void world_note_id(struct world *w, const struct weft_id *id)
{
	size_t n = (size_t)w->oracle->n;

	w->ids = mem_resize(w->ids, n * sizeof(*w->ids));
	w->ids[n - 1] = *id;
	id_format(id, w->oracle->sessions[n - 1].id);
}

void act_create(struct world *w, const uint32_t *r)
{
	struct request *q = request_new(REQUEST_CREATE, &w->err);
	struct oracle_start s = start_of(w, r);
	const struct oracle_start *known = start_with(w, s.op);
	struct oracle_answer answer = { 0 };
	struct weft_str *aliases;
	int before = w->oracle->n, expected, code;

	if (known && !known->is_fork && r[8] % 2)
		s = *known;
	world_say(w, "create key '%s' aliases %d slug '%s' parent %d op '%s'",
		  s.key, s.n_aliases, s.settings[SETTING_SLUG],
		  s.subagent ? s.parent : -2, s.op);
	q->create.kind = s.subagent ? KIND_SUBAGENT : KIND_PRIMARY;
	if (s.subagent)
		q->create.parent = world_id(w, s.parent);
	q->create.key = world_keep(q, s.key);
	q->create.slug = world_keep(q, s.settings[SETTING_SLUG]);
	q->create.agent = world_keep(q, s.settings[SETTING_AGENT]);
	q->create.project_dir = world_keep(q, s.settings[SETTING_PROJECT]);
	q->create.channel = world_keep(q, s.settings[SETTING_CHANNEL]);
	q->create.user = world_keep(q, s.settings[SETTING_USER]);
	q->create.metadata = world_keep(q, s.settings[SETTING_METADATA]);
	q->op = world_keep(q, s.op);
	aliases = ARENA_ARRAY(&q->arena, struct weft_str, ORACLE_ALIASES);
	for (int i = 0; i < s.n_aliases; i++)
		aliases[i] = world_keep(q, s.aliases[i]);
	q->aliases = aliases;
	q->n_aliases = (size_t)s.n_aliases;

	code = engine_run(w->engine, q, &w->err);
	expected = oracle_create(w->oracle, &s, w->now_ms, &answer);
	if (w->oracle->n > before)
		world_note_id(w, &q->ret_session);
	if (world_agree(w, "create", code, expected)) {
		struct weft_id id = world_id(w, answer.session);

		if (!id_eq(&q->ret_session, &id))
			world_wrong(w, "create: another session than %d",
				    answer.session);
		if (q->ret_created != answer.created ||
		    q->ret_replayed != answer.replayed)
			world_wrong(w, "create: created %u, replayed %u",
				    q->ret_created, q->ret_replayed);
	}
	request_free(q);
}

/* ---- appending ---- */

static void fill_text(char *to, size_t room, uint32_t r)
{
	const char *word = world_words[r % ARRAY_LEN(world_words)];
	uint32_t times = r / 7 % 8 == 0 ? 60 : 1;
	size_t n = 0;

	/* Long ones are cut in previews. */
	for (uint32_t i = 0; i < times && n + strlen(word) + 2 < room; i++)
		n += (size_t)snprintf(to + n, room - n, "%s%s", i ? " " : "",
				      word);
}

static struct oracle_message message_of(uint32_t a, uint32_t b)
{
	static const char roles[] = "uuuaaautas";
	struct oracle_message m = { .role = roles[a % 10], .cost_milli = -1 };

	if (m.role == 'u' && a / 10 % 5 == 0)
		m.results_only = true;
	else if (m.role != 't' && !(m.role == 'a' && a / 10 % 4 == 0))
		fill_text(m.text, sizeof(m.text), a / 100);
	/* Few different ones: most are there already. */
	if (*m.text && a / 100 % 61 == 0)
		(void)snprintf(m.image, sizeof(m.image), "%sQUI%c",
			       a / 6100 % 2 ? "iVBORw0K" : "",
			       "=D"[a / 12200 % 2]);
	if (b / 11 % 5 == 0)
		(void)snprintf(m.from, sizeof(m.from), "%s",
			       world_values[1 + b / 55 % 5]);
	m.background = b % 7 == 0;
	m.has_usage = m.role == 'a' && b / 7 % 2;
	if (m.has_usage) {
		m.input = (long)(b % 1000);
		m.output = (long)(b / 1000 % 100);
		if (b / 3 % 3)
			m.cost_milli = (long)(b % 77);
	}
	return m;
}

static void add_parts(struct buf *b, const struct oracle_message *m,
		      bool as_content)
{
	if (*m->text && as_content && !*m->image) {
		buf_add_lit(b, ",\"content\":");
		buf_add_json(b, str_of(m->text));
	} else if (*m->text) {
		buf_add_lit(b, ",\"parts\":[{\"type\":\"text\",\"text\":");
		buf_add_json(b, str_of(m->text));
		if (*m->image)
			buf_printf(b,
				   "},{\"type\":\"image\",\"image_mime_type\""
				   ":\"image/png\",\"image_base64\":\"%s\"",
				   m->image);
		buf_add_lit(b, "}]");
	} else if (m->role == 'a') {
		buf_add_lit(b, ",\"parts\":[{\"type\":\"tool_use\",\"id\":"
			       "\"c1\",\"name\":\"look\",\"input\":{}}]");
	} else {
		buf_add_lit(b, ",\"parts\":[{\"type\":\"tool_result\","
			       "\"tool_use_id\":\"c1\",\"content\":\"ok\"}]");
	}
}

static void add_message(struct buf *b, const struct oracle_message *m,
			bool as_content)
{
	const char *role = m->role == 'u' ? "user" :
			   m->role == 'a' ? "assistant" :
			   m->role == 't' ? "tool" :
					    "system";

	buf_printf(b, "{\"role\":\"%s\"", role);
	add_parts(b, m, as_content);
	if (m->has_usage) {
		buf_printf(b,
			   ",\"usage\":{\"input_tokens\":%ld,"
			   "\"output_tokens\":%ld",
			   m->input, m->output);
		if (m->cost_milli >= 0)
			buf_printf(b, ",\"cost_usd\":%ld.%03ld",
				   m->cost_milli / 1000, m->cost_milli % 1000);
		buf_add_c(b, '}');
	}
	if (*m->from) {
		buf_add_lit(b, ",\"from\":{\"id\":");
		buf_add_json(b, str_of(m->from));
		buf_add_c(b, '}');
	}
	if (m->background)
		buf_add_lit(b, ",\"background\":true");
	buf_add_c(b, '}');
}

int world_token(const struct world *w, int session, uint32_t r)
{
	const struct oracle_session *s = oracle_session(w->oracle, session);

	if (!s)
		return 0;
	if (!oracle_is_leased(s, w->now_ms))
		return r % 16 ? 0 : s->lease_token + (int)(r / 16 % 2);
	if (r % 4)
		return s->lease_token;
	return r / 4 % 2 ? 0 : s->lease_token + 1;
}

/* Name a session by its id, or by a name that may be somebody's. */
static int choose(struct world *w, uint32_t how, uint32_t r, char text[64],
		  int *ret)
{
	struct weft_id id;

	if (how % 4 == 0) {
		(void)snprintf(text, 64, "%s", name_of(r));
		return oracle_find(w->oracle, text, ret);
	}
	*ret = world_pick(w, r);
	id = world_id(w, *ret);
	id_format(&id, text);
	return oracle_session(w->oracle, *ret) ? ORACLE_OK : ORACLE_NOT_FOUND;
}

static void compare_receipt(struct world *w, const struct weft_receipt *receipt,
			    const struct oracle_answer *answer)
{
	struct weft_id session = world_id(w, answer->session);
	char text[WEFT_ID_CHARS + 1];

	id_format(&session, text);
	if (strcmp(receipt->session, text) != 0)
		world_wrong(w, "append: went to another session");
	if (receipt->seq != (uint64_t)answer->first ||
	    receipt->count != (uint64_t)answer->count)
		world_wrong(w, "append: %llu+%llu, expected %d+%d",
			    (unsigned long long)receipt->seq,
			    (unsigned long long)receipt->count, answer->first,
			    answer->count);
	if (receipt->replayed != answer->replayed)
		world_wrong(w, "append: replayed is %u", receipt->replayed);
}

static struct oracle_words words_of(const struct world *w, int session,
				    const uint32_t *r)
{
	struct oracle_words x = {
		.n = r[0] % 3 ? 1 : (int)(r[0] / 3 % 4) + 1,
		.expect = -1,
		.token = world_token(w, session, r[8]),
	};

	for (int i = 0; i < x.n; i++)
		x.v[i] = message_of(r[3] / (uint32_t)(i + 1), r[4]);
	op_of(r[6], x.op);
	if (r[7] % 3 == 0 && session >= 0)
		x.expect = w->oracle->sessions[session].content +
			   (int)(r[7] / 3 % 2);
	return x;
}

void act_append(struct world *w, const uint32_t *r)
{
	struct weft_append_options o;
	struct weft_receipt receipt = { 0 };
	struct oracle_answer answer = { 0 };
	struct oracle_words x;
	CLEANUP(buf_done) struct buf b;
	int session = -1, expected, code;
	char text[64];

	expected = choose(w, r[1], r[2], text, &session);
	x = words_of(w, session, r);
	buf_init(&b, MIB(1));
	for (int i = 0; i < x.n; i++) {
		buf_add_c(&b, i ? ',' : '[');
		add_message(&b, &x.v[i], r[5] % 2);
	}
	buf_add_c(&b, ']');
	weft_append_options_init(&o, sizeof(o));
	o.op = x.op;
	o.op_len = strlen(x.op);
	if (x.expect >= 0)
		o.expect = (uint64_t)x.expect;
	o.token = (uint64_t)x.token;
	world_say(w,
		  "append to '%s' (%d) %d: %.200s op '%s' expect %d token %d",
		  text, session, x.n, buf_cstr(&b), x.op, x.expect, x.token);
	/* One message may come without its brackets. */
	if (x.n == 1 && r[5] / 2 % 2)
		code = weft_append(w->store, text, strlen(text), b.ptr + 1,
				   b.len - 2, &o, &receipt, &w->err);
	else
		code = weft_append(w->store, text, strlen(text), b.ptr, b.len,
				   &o, &receipt, &w->err);
	if (expected == ORACLE_OK)
		expected = oracle_append(w->oracle, session, &x, w->now_ms,
					 &answer);
	if (world_agree(w, "append", code, expected))
		compare_receipt(w, &receipt, &answer);
}

/* ---- the rest ---- */

struct request *world_request(struct world *w, uint32_t kind, int session)
{
	struct request *q = request_new(kind, &w->err);

	q->session = world_id(w, session);
	return q;
}

/* {"slug":"..."} and so on. */
static struct weft_str patch_text(struct request *q, int setting,
				  const char *value)
{
	static const char *const members[] = {
		"slug", "agent",    "project_dir", "channel",
		"user", "metadata", "pinned",
	};
	CLEANUP(buf_done) struct buf b;

	buf_init(&b, KIB(64));
	buf_printf(&b, "{\"%s\":", members[setting]);
	if (setting == SETTING_PINNED)
		buf_add_str(&b, str_of(*value ? "true" : "false"));
	else if (setting == SETTING_METADATA)
		buf_add_str(&b, str_of(*value ? value : "{}"));
	else
		buf_add_json(&b, str_of(value));
	buf_add_c(&b, '}');
	return arena_str(&q->arena, buf_str(&b));
}

void act_patch(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]), setting = (int)(r[1] % SETTINGS);
	struct request *q = world_request(w, REQUEST_PATCH, session);
	struct oracle_answer answer = { 0 };
	const char *value = setting_value(setting, r[2]);
	int expected;

	q->patch = patch_text(q, setting, value);
	world_say(w, "patch %d %.*s", session, STR_ARG(q->patch));
	expected = oracle_patch(w->oracle, session, setting, value, w->now_ms,
				&answer);
	world_request_run(w, "patch", q, expected, &answer);
}

void act_rename(struct world *w, const uint32_t *r)
{
	static const uint32_t hows[] = { NAME_ADD, NAME_MOVE, NAME_REMOVE };
	int session = world_pick(w, r[0]);
	struct request *q = world_request(w, REQUEST_NAME, session);
	struct oracle_answer answer = { 0 };
	char how = "+>-"[r[1] % 3];
	int expected;

	q->name = world_keep(q, name_of(r[2]));
	q->name_how = hows[r[1] % 3];
	world_say(w, "name %d %c%s", session, how, name_of(r[2]));
	expected = oracle_rename(w->oracle, session, how, name_of(r[2]),
				 w->now_ms, &answer);
	world_request_run(w, "name", q, expected, &answer);
}

void act_redact(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]), n = (int)(r[1] % 3) + 1, expected;
	struct request *q = world_request(w, REQUEST_REDACT, session);
	uint64_t *targets = ARENA_ARRAY(&q->arena, uint64_t, 3);
	struct oracle_answer answer = { 0 };
	int numbers[3], token;

	for (int i = 0; i < n; i++) {
		uint32_t end = session < 0 ?
				       1 :
				       (uint32_t)w->oracle->sessions[session].n;

		/* Mostly numbers that are there. */
		numbers[i] = (int)(r[2 + i] % (end + 1)) + (r[5] % 9 != 0);
		if (numbers[i] > (int)end && r[5] % 5)
			numbers[i] = (int)end;
		targets[i] = (uint64_t)numbers[i];
	}
	q->targets = targets;
	q->n_targets = (size_t)n;
	q->undo = r[6] % 3 == 0;
	token = world_token(w, session, r[7]);
	q->token = (uint64_t)token;
	world_say(w, "redact %d: %d of %d, undo %u", session, n, numbers[0],
		  q->undo);
	expected = oracle_redact(w->oracle, session, numbers, n, q->undo, token,
				 w->now_ms, &answer);
	world_request_run(w, "redact", q, expected, &answer);
}

/* ---- forks and windows ---- */

void act_fork(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]), at = 0, expected, code;
	const struct oracle_start *known;
	struct request *q;
	int before = w->oracle->n;
	struct oracle_answer answer = { 0 };
	const char *slug = world_values[r[2] % n_world_values];
	struct session_rec rec;
	char op[40];

	if (r[1] % 3 && session >= 0)
		at = (int)(r[1] / 3 %
			   ((uint32_t)w->oracle->sessions[session].n + 2));
	op_of(r[3], op);
	known = start_with(w, op);
	if (known && known->is_fork && r[4] % 2) {
		session = known->forked_from;
		at = known->asked_at;
		slug = known->settings[SETTING_SLUG];
	}
	q = world_request(w, REQUEST_FORK, session);
	q->create.slug = world_keep(q, slug);
	q->op = world_keep(q, op);
	q->fork_at = (uint64_t)at;
	if (oracle_session(w->oracle, session) &&
	    at <= w->oracle->sessions[session].n &&
	    (engine_session(w->engine, &q->session, &w->arena, &rec, &w->err) <
		     0 ||
	     engine_fork_at(w->engine, &rec, (uint64_t)at, q, &w->err) < 0))
		world_wrong(w, "fork: %s", w->err.message);
	world_say(w, "fork %d at %d slug '%s' op '%s'", session, at, slug, op);
	code = engine_run(w->engine, q, &w->err);
	expected = oracle_fork(w->oracle, session, at, slug, op, w->now_ms,
			       &answer);
	if (w->oracle->n > before)
		world_note_id(w, &q->ret_session);
	if (world_agree(w, "fork", code, expected)) {
		struct weft_id id = world_id(w, answer.session);

		if (!id_eq(&q->ret_session, &id) ||
		    q->ret_seq != (uint64_t)answer.first ||
		    q->ret_replayed != answer.replayed)
			world_wrong(w, "fork: another answer than %d+%d",
				    answer.session, answer.first);
	}
	request_free(q);
}

static struct oracle_change change_of(const uint32_t *r)
{
	struct oracle_change c = { .how = "TTCCEHUU"[r[1] % 8],
				   .keep = (int)(r[2] % 6) };

	if (c.how == 'C')
		(void)snprintf(c.summary, sizeof(c.summary), "%s",
			       r[3] % 4 ? world_words[r[3] % n_world_words] :
					  "");
	if (c.how == 'H')
		c.n = (int)(r[4] % 3);
	for (int i = 0; i < c.n; i++)
		c.messages[i] = message_of(r[5] / (uint32_t)(i + 1), r[6]);
	return c;
}

/* The messages of a new history. */
static int take_history(struct world *w, struct request *q,
			const struct oracle_change *c)
{
	CLEANUP(buf_done) struct buf b;

	buf_init(&b, MIB(1));
	buf_add_c(&b, '[');
	for (int i = 0; i < c->n; i++) {
		if (i > 0)
			buf_add_c(&b, ',');
		add_message(&b, &c->messages[i], false);
	}
	buf_add_c(&b, ']');
	return c->n ? request_take_messages(q, buf_str(&b),
					    engine_limits(w->engine), &w->err) :
		      WEFT_OK;
}

void act_window(struct world *w, const uint32_t *r)
{
	static const struct {
		char how;
		uint32_t is;
	} hows[] = { { 'T', MARKER_TRUNCATE },
		     { 'C', MARKER_COMPACT },
		     { 'E', MARKER_CLEAR },
		     { 'H', MARKER_HISTORY },
		     { 'U', MARKER_UNDO } };
	int session = world_pick(w, r[0]), expected;
	struct request *q = world_request(w, REQUEST_MARKER, session);
	struct oracle_change c = change_of(r);
	int token = world_token(w, session, r[7]);
	struct oracle_answer answer = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(hows); i++) {
		if (hows[i].how == c.how)
			q->marker.how = hows[i].is;
	}
	q->marker.keep = (uint64_t)c.keep;
	q->marker.has_summary = c.how == 'C';
	q->marker.summary = world_keep(q, c.summary);
	if (take_history(w, q, &c) < 0)
		world_wrong(w, "history: %s", w->err.message);
	q->token = (uint64_t)token;
	world_say(w, "window %d %c keep %d, %d messages", session, c.how,
		  c.keep, c.n);
	expected = oracle_window(w->oracle, session, &c, token, w->now_ms,
				 &answer);
	world_request_run(w, "window", q, expected, &answer);
}

void act_delete(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]);
	struct request *q = world_request(w, REQUEST_DELETE, session);
	int token = world_token(w, session, r[1]);
	struct oracle_answer answer = { 0 };
	int expected;

	q->token = (uint64_t)token;
	world_say(w, "delete %d", session);
	expected = oracle_delete(w->oracle, session, token, w->now_ms, &answer);
	world_request_run(w, "delete", q, expected, &answer);
}

void act_restore(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]);
	struct request *q = world_request(w, REQUEST_RESTORE, session);
	struct oracle_answer answer = { 0 };
	int expected;

	world_say(w, "restore %d", session);
	expected = oracle_restore(w->oracle, session, w->now_ms, &answer);
	world_request_run(w, "restore", q, expected, &answer);
}
