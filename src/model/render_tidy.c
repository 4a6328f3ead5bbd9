/*
 * render_tidy.c - items in groups of the two sides, every call with its result.
 *
 * One pass, oldest first.  An assistant's group gathers text and calls.  It is
 * closed when the user says something, when a result of one of its calls
 * comes, and when text of a later message follows its calls; closing it puts a
 * result for each of its calls into the user's group that follows.  Which
 * result that is may turn out later: a call remembers its answer, and the
 * group only points to the call.
 *
 * Results find their calls by id.  Ids are unique within a message but may be
 * used again later, so a result belongs to the last call with its id before
 * it, and the first such result wins.  A result before the first call with its
 * id is kept for it: some programs wrote results ahead of the calls.
 *
 * A call that repeats one that is still open, in the same turn with the same
 * arguments, is the same call written twice.
 */
#include "base/error.h"
#include "model/message.h"
#include "model/render_item.h"

struct id_entry {
	struct table_node node;
	struct weft_str id;
	struct render_item *call; /* the last one, or NULL */
	const struct render_item *early;
	size_t early_no; /* of its message */
	bool early_used; /* the answer of `call` came before it */
	uint64_t turn;   /* of the last call */
	size_t group_no; /* of the last call */
};

static struct id_entry *entry_of(struct render_tidy *t, struct weft_str id)
{
	uint64_t hash = hash_bytes(id.ptr, id.len);
	struct table_node *n = table_first(&t->ids, hash);
	struct id_entry *e;

	for (; n; n = table_next(n)) {
		e = TABLE_ENTRY(n, struct id_entry, node);
		if (str_eq(e->id, id))
			return e;
	}
	e = ARENA_NEW(t->render->arena, struct id_entry);
	if (!e || table_add(&t->ids, &e->node, hash) < 0)
		return NULL;
	e->id = id;
	return e;
}

/* ---- groups ---- */

/* There is one. */
static struct render_group *last_group(struct render_tidy *t)
{
	return &t->groups[t->n_groups - 1];
}

static struct render_group *begin_group(struct render_tidy *t, bool user)
{
	struct render_group *g = &t->groups[t->n_groups++];

	*g = (struct render_group){ .user = user, .first = t->n_blocks };
	return g;
}

static void add_block(struct render_tidy *t, struct render_item *item,
		      const struct render_said *said)
{
	t->blocks[t->n_blocks++] =
		(struct render_block){ .item = item, .said = said };
	last_group(t)->n++;
}

/* Thinking and the like may not end a message: nothing came of it. */
static void trim_group(struct render_tidy *t, struct render_group *g)
{
	while (g->n) {
		unsigned kind = t->blocks[t->n_blocks - 1].item->kind;

		if (kind == ITEM_TEXT || kind == ITEM_CALL)
			return;
		t->n_blocks--;
		g->n--;
	}
	t->n_groups--;
}

static void close_group(struct render_tidy *t)
{
	struct render_group *g, *results;

	if (!t->open)
		return;
	t->open = false;
	g = last_group(t);
	trim_group(t, g);
	if (t->open_calls == 0)
		return;
	results = begin_group(t, true);
	for (size_t i = g->first; i < g->first + g->n; i++) {
		if (t->blocks[i].item->kind == ITEM_CALL)
			add_block(t, t->blocks[i].item, NULL);
	}
	results->n_results = results->n;
}

static void need_user(struct render_tidy *t)
{
	close_group(t);
	if (t->n_groups == 0 || !last_group(t)->user)
		(void)begin_group(t, true);
}

static void need_assistant(struct render_tidy *t)
{
	if (t->open)
		return;
	(void)begin_group(t, false);
	t->open = true;
	t->open_calls = 0;
	t->caller = NULL;
	t->group_no++;
}

/* ---- calls and results ---- */

static bool same_call(const struct render_item *a, const struct render_item *b)
{
	return str_eq(a->name, b->name) && str_eq(a->value, b->value) &&
	       a->is_text == b->is_text;
}

static int tidy_call(struct render_tidy *t, struct render_item *call,
		     const struct render_said *said, struct weft_error *err)
{
	struct id_entry *e = entry_of(t, call->id);
	bool here;

	if (!e)
		return fail_no_memory(err);
	here = e->call && t->open && e->group_no == t->group_no;
	if (e->call && e->turn == t->turn && same_call(e->call, call) &&
	    (here || !e->call->answer))
		return WEFT_OK;
	if (here)
		close_group(t);
	need_assistant(t);
	add_block(t, call, said);
	t->open_calls++;
	t->caller = said;
	e->early_used = !e->call && e->early;
	call->answer = e->early_used ? e->early : NULL;
	call->answered = e->early_no;
	e->call = call;
	e->turn = t->turn;
	e->group_no = t->group_no;
	return WEFT_OK;
}

static int tidy_result(struct render_tidy *t, const struct render_item *result,
		       const struct render_said *said, struct weft_error *err)
{
	struct id_entry *e = entry_of(t, result->id);

	if (!e)
		return fail_no_memory(err);
	if (!e->call) {
		if (!e->early) {
			e->early = result;
			e->early_no = said->no;
		}
		return WEFT_OK;
	}
	if (!e->call->answer || e->early_used) {
		e->call->answer = result;
		e->call->answered = said->no;
	}
	e->early_used = false;
	if (t->open && e->group_no == t->group_no)
		close_group(t);
	return WEFT_OK;
}

/* ---- everything else ---- */

static void tidy_assistant(struct render_tidy *t, struct render_item *item,
			   const struct render_said *said)
{
	if (t->open && t->open_calls && t->caller != said)
		close_group(t);
	need_assistant(t);
	add_block(t, item, said);
}

/* A name where there is no text to put it in front of: a text of its own. */
static int add_sender(struct render_tidy *t, const struct render_said *said,
		      struct weft_error *err)
{
	struct arena *a = t->render->arena;
	struct render_item *item = ARENA_NEW(a, struct render_item);
	char *text = arena_alloc(a, said->sender.len + 1);

	if (!item || !text)
		return arena_error(a, err);
	memcpy(text, said->sender.ptr, said->sender.len);
	text[said->sender.len] = ':';
	item->kind = ITEM_TEXT;
	item->value = (struct weft_str){ text, said->sender.len + 1 };
	add_block(t, item, NULL);
	return WEFT_OK;
}

static int tidy_user(struct render_tidy *t, struct render_item *item,
		     const struct render_said *said, bool first,
		     struct weft_error *err)
{
	int r = WEFT_OK;

	need_user(t);
	if (first && said->role == ROLE_USER)
		t->turn++;
	if (first && said->names_sender && item->kind != ITEM_TEXT)
		r = add_sender(t, said, err);
	if (r == WEFT_OK)
		add_block(t, item, said);
	return r;
}

static int tidy_said(struct render_tidy *t, const struct render_said *said,
		     struct weft_error *err)
{
	bool first = true;
	int r = WEFT_OK;

	for (size_t i = 0; i < said->n_items && r == WEFT_OK; i++) {
		struct render_item *item = &said->items[i];

		if (item->kind == ITEM_CALL) {
			r = tidy_call(t, item, said, err);
		} else if (item->kind == ITEM_RESULT) {
			r = tidy_result(t, item, said, err);
		} else if (said->role == ROLE_SYSTEM) {
			t->system[t->n_system++] = item;
		} else if (said->role == ROLE_ASSISTANT) {
			tidy_assistant(t, item, said);
		} else {
			r = tidy_user(t, item, said, first, err);
			first = false;
		}
	}
	return r;
}

/* Names are said where several people talk: as is known of the conversation,
 * or as can be heard. */
static void name_senders(struct render *r)
{
	const struct render_said *known = NULL;
	bool several = r->options.shared;

	for (const struct render_said *s = r->first; s; s = s->next) {
		if (s->sender.len == 0)
			continue;
		if (known && !str_eq(known->sender_id, s->sender_id))
			several = true;
		known = s;
	}
	for (struct render_said *s = r->first; s && several; s = s->next)
		s->names_sender = s->sender.len > 0;
}

int render_tidy(struct render_tidy *t, struct render *r, struct weft_error *err)
{
	/* A call also makes a result, and a picture may get a name. */
	size_t room = 2 * r->n_items;
	int code = WEFT_OK;

	*t = (struct render_tidy){ .render = r };
	t->blocks = arena_alloc(r->arena, room * sizeof(*t->blocks));
	t->groups = arena_alloc(r->arena, room * sizeof(*t->groups));
	t->system = arena_alloc(r->arena, room * sizeof(*t->system));
	if (!t->blocks || !t->groups || !t->system)
		return arena_error(r->arena, err);
	name_senders(r);
	for (struct render_said *s = r->first; s && code == WEFT_OK;
	     s = s->next) {
		s->no = s->before ? s->before->no + 1 : 1;
		code = tidy_said(t, s, err);
	}
	close_group(t);
	return code;
}

void render_tidy_done(struct render_tidy *t)
{
	table_done(&t->ids);
}

/* ---- the budget ---- */

static uint64_t block_tokens(const struct render_block *b, bool result)
{
	const struct render_item *item = b->item;

	if (!result)
		return render_item_tokens(item);
	if (item->answer)
		return render_item_tokens(item->answer);
	return render_no_result.len / 3;
}

/* Find out for each group how far the results of the calls before it go; but
 * one that is too far from its call holds up nothing (pairs.h). */
static void hold_groups(struct render_tidy *t)
{
	size_t held = 0;

	for (size_t k = 0; k < t->n_groups; k++) {
		struct render_group *g = &t->groups[k];

		g->held = held;
		for (size_t i = g->first; i < g->first + g->n; i++) {
			const struct render_block *b = &t->blocks[i];

			if (g->user || b->item->kind != ITEM_CALL ||
			    !b->item->answer)
				continue;
			if (b->item->answered <= b->said->no + PAIR_MESSAGES &&
			    b->item->answered > held)
				held = b->item->answered;
		}
	}
}

/* Does a turn begin with this block, and is no call before it answered in it
 * or behind it? */
static bool begins_turn(const struct render_tidy *t,
			const struct render_group *g, size_t i)
{
	const struct render_said *said = t->blocks[i].said;

	if (!g->user || i < g->first + g->n_results)
		return false;
	/* A name of its own stands in front of what was said. */
	if (!said)
		return t->blocks[i + 1].said->no > g->held;
	if (said->role != ROLE_USER || said->no <= g->held)
		return false;
	if (i == g->first + g->n_results)
		return true;
	return t->blocks[i - 1].said && t->blocks[i - 1].said != said;
}

static void cut_at(struct render_tidy *t, size_t group, size_t block)
{
	struct render_group *g = &t->groups[group];

	g->n -= block - g->first;
	g->first = block;
	g->n_results = 0;
	t->groups += group;
	t->n_groups -= group;
}

bool render_cut(struct render_tidy *t, uint64_t system_tokens)
{
	uint64_t budget = t->render->options.tokens, sum = system_tokens;
	size_t group = 0, block = 0;
	bool found = false;

	if (budget == 0)
		return false;
	hold_groups(t);
	for (size_t k = t->n_groups; k-- > 0;) {
		const struct render_group *g = &t->groups[k];

		for (size_t i = g->first + g->n; i-- > g->first;) {
			sum += block_tokens(&t->blocks[i],
					    i < g->first + g->n_results);
			if (sum > budget && found) {
				cut_at(t, group, block);
				return true;
			}
			if (!begins_turn(t, g, i))
				continue;
			group = k;
			block = i;
			found = true;
		}
	}
	/* Everything fits.  What was read may begin inside of a turn. */
	if (!found || !t->render->cut_short)
		return false;
	cut_at(t, group, block);
	return true;
}
