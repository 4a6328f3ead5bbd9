/*
 * public_drop_random.c - random acts, of which some drop events for good,
 * against a list of what every session should show.
 *
 * Words are said once, so that a word stands for a message.  A session shows
 * its words until they are erased, or reclaimed while no other session shows
 * them; names and sums follow.  A rebuild changes nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "conformance/public.h"

#define SESSIONS 24
#define WORDS    64 /* of one session */
#define ACTS     70
#define NAMES    4

struct told {
	const char *id; /* NULL: purged, or not begun */
	int words[WORDS];
	int n, own; /* words[own..n) were said in it */
	int kept;   /* the first word that the window keeps */
};

struct telling {
	struct desk *d;
	struct told v[SESSIONS];
	int n, next_word;
	int holder[NAMES]; /* of a name; -1: nobody */
	uint32_t seed;
};

static unsigned roll(struct telling *t, unsigned n)
{
	t->seed = t->seed * 1664525u + 1013904223u;
	return (t->seed >> 8) % n;
}

/* A session that is there, or NULL. */
static struct told *pick(struct telling *t)
{
	int i = (int)roll(t, (unsigned)(t->n ? t->n : 1));

	return t->n && t->v[i].id ? &t->v[i] : NULL;
}

static const char *call_on(struct telling *t, const struct told *s,
			   const char *method, const char *members)
{
	return desk_call(t->d, "{\"method\":\"%s\",\"session\":\"%s\"%s%s}",
			 method, s->id, *members ? "," : "", members);
}

/* ---- acts ---- */

static void act_begin(struct telling *t)
{
	if (t->n == SESSIONS)
		return;
	t->v[t->n] = (struct told){ .id = desk_new(t->d, "") };
	t->n++;
}

static void act_say(struct telling *t, struct told *s)
{
	char json[160];

	if (s->n == WORDS)
		return;
	(void)snprintf(json, sizeof(json),
		       "{\"role\":\"%s\",\"content\":\"w%d\",\"usage\":{"
		       "\"input_tokens\":%u}}",
		       roll(t, 3) ? "user" : "assistant", t->next_word,
		       roll(t, 9));
	desk_ok(t->d, desk_try(t->d, s->id, json, NULL, NULL));
	s->words[s->n++] = t->next_word++;
}

static void act_fork(struct telling *t, const struct told *s)
{
	struct told *f = &t->v[t->n];

	if (t->n == SESSIONS || s->n == 0)
		return;
	*f = *s;
	f->id = desk_fork(t->d, s->id);
	f->own = f->n;
	t->n++;
}

static void act_cut(struct telling *t, struct told *s)
{
	int keep = (int)roll(t, 4), in_window = 0;
	char members[64];

	(void)snprintf(members, sizeof(members),
		       "\"keep\":%d,\"summary\":\"s\"", keep);
	(void)call_on(t, s, "compact", members);
	for (int k = 0; k < s->n; k++)
		in_window += s->words[k] >= s->kept;
	if (keep < in_window)
		s->kept = keep ? s->words[s->n - keep] : t->next_word;
}

static bool is_shown_elsewhere(const struct telling *t, const struct told *s,
			       int word)
{
	for (int i = 0; i < t->n; i++) {
		if (!t->v[i].id || &t->v[i] == s)
			continue;
		for (int k = 0; k < t->v[i].n; k++) {
			if (t->v[i].words[k] == word)
				return true;
		}
	}
	return false;
}

static void forget_at(struct told *s, int k)
{
	memmove(&s->words[k], &s->words[k + 1],
		(size_t)(s->n - k - 1) * sizeof(int));
	s->n--;
	s->own -= k < s->own;
}

static void act_reclaim(struct telling *t, struct told *s)
{
	int last_held = -1;

	(void)call_on(t, s, "reclaim", "");
	/* A fork holds all up to its fork point. */
	for (int k = s->own; k < s->n; k++) {
		if (is_shown_elsewhere(t, s, s->words[k]))
			last_held = s->words[k];
	}
	for (int k = s->own; k < s->n;) {
		if (s->words[k] < s->kept && s->words[k] > last_held)
			forget_at(s, k);
		else
			k++;
	}
}

/* The number of a word, as the session sees it. */
static long number_of(struct telling *t, const struct told *s, int word)
{
	const char *history = call_on(t, s, "history", "\"limit\":1000");
	const char *at, *seq = NULL, *next = history;
	char text[32];

	(void)snprintf(text, sizeof(text), "\"w%d\"", word);
	at = strstr(history, text);
	if (!at)
		print_error("no %s: %s\n", text, desk_texts(t->d, s->id));
	assert_non_null(at);
	while ((next = strstr(next, "\"seq\":")) && next < at)
		seq = next++;
	assert_non_null(seq);
	return strtol(seq + 6, NULL, 10);
}

static void act_erase(struct telling *t, struct told *s)
{
	int word = s->n ? s->words[roll(t, (unsigned)s->n)] : 0;
	char members[64];

	if (s->n == 0)
		return;
	(void)snprintf(members, sizeof(members), "\"messages\":[%ld]",
		       number_of(t, s, word));
	(void)call_on(t, s, "erase", members);
	for (int i = 0; i < t->n; i++) {
		for (int k = 0; t->v[i].id && k < t->v[i].n;) {
			if (t->v[i].words[k] == word)
				forget_at(&t->v[i], k);
			else
				k++;
		}
	}
}

static void act_purge(struct telling *t, struct told *s)
{
	int no = (int)(s - t->v);

	(void)call_on(t, s, "purge", "");
	for (int i = 0; i < NAMES; i++) {
		if (t->holder[i] == no)
			t->holder[i] = -1;
	}
	s->id = NULL;
}

static void act_name(struct telling *t, struct told *s)
{
	int name = (int)roll(t, NAMES), no = (int)(s - t->v);
	char members[64];

	if (t->holder[name] == no) {
		(void)snprintf(members, sizeof(members),
			       "\"alias\":\"name%d\",\"how\":\"remove\"", name);
		t->holder[name] = -1;
	} else {
		(void)snprintf(members, sizeof(members),
			       "\"alias\":\"name%d\",\"how\":\"move\"", name);
		t->holder[name] = no;
	}
	(void)call_on(t, s, "alias", members);
}

static void act(struct telling *t)
{
	unsigned what = roll(t, 24);
	struct told *s = pick(t);

	/* A clock may jump, also back. */
	t->d->now_ms += (int64_t)roll(t, 100000) - 40000;
	if (!s || what < 2)
		act_begin(t);
	else if (what < 10)
		act_say(t, s);
	else if (what < 13)
		act_fork(t, s);
	else if (what < 15)
		act_cut(t, s);
	else if (what < 17)
		act_reclaim(t, s);
	else if (what < 19)
		act_erase(t, s);
	else if (what < 20)
		act_purge(t, s);
	else
		act_name(t, s);
}

/* ---- looking ---- */

static void look_at_words(struct telling *t, const struct told *s)
{
	char expected[WORDS * 8] = "";
	size_t len = 0;

	for (int k = 0; k < s->n; k++)
		len += (size_t)snprintf(expected + len, sizeof(expected) - len,
					"%sw%d", k ? " " : "", s->words[k]);
	assert_string_equal(desk_texts(t->d, s->id), expected);
}

static void look_at_names(struct telling *t)
{
	for (int i = 0; i < NAMES; i++) {
		char request[64];

		(void)snprintf(request, sizeof(request),
			       "{\"method\":\"show\",\"session\":\"name%d\"}",
			       i);
		if (t->holder[i] < 0)
			assert_int_equal(desk_try_call(t->d, "%s", request),
					 WEFT_NOT_FOUND);
		else
			assert_non_null(strstr(desk_call(t->d, "%s", request),
					       t->v[t->holder[i]].id));
	}
}

/* Both are long: say where they part. */
static void is_the_same(const char *before, const char *after)
{
	size_t n = 0;

	while (before[n] && before[n] == after[n])
		n++;
	if (before[n] != after[n])
		print_error("...%.60s, and after a rebuild ...%.60s\n",
			    before + (n > 30 ? n - 30 : 0),
			    after + (n > 30 ? n - 30 : 0));
	assert_int_equal(before[n], after[n]);
}

static void look(struct telling *t)
{
	const char *shown[SESSIONS] = { NULL };

	for (int i = 0; i < t->n; i++) {
		if (!t->v[i].id)
			continue;
		look_at_words(t, &t->v[i]);
		shown[i] = call_on(t, &t->v[i], "show", "");
	}
	look_at_names(t);
	assert_non_null(strstr(desk_call(t->d, "{\"method\":\"verify\"}"),
			       "\"ok\":true"));
	(void)desk_call(t->d, "{\"method\":\"reindex\"}");
	for (int i = 0; i < t->n; i++) {
		if (!t->v[i].id)
			continue;
		look_at_words(t, &t->v[i]);
		is_the_same(shown[i], call_on(t, &t->v[i], "show", ""));
	}
	look_at_names(t);
}

static void random_acts_leave_what_they_should(void **state)
{
	/* To look further: another seed, and more acts. */
	const char *seed = getenv("WEFT_TEST_SEED");
	int acts = seed ? 4 * ACTS : ACTS;
	struct telling t = { .d = *state, .next_word = 1, .seed = 7 };

	if (seed)
		t.seed = (uint32_t)strtoul(seed, NULL, 10);
	for (int i = 0; i < NAMES; i++)
		t.holder[i] = -1;
	for (int i = 1; i <= acts; i++) {
		act(&t);
		if (i % 14 == 0)
			look(&t);
	}
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(random_acts_leave_what_they_should),
};

const struct suite public_drop_random_suite = { tests, ARRAY_LEN(tests) };
