/*
 * look_search.c - does a search find what a plain look through the texts finds?
 *
 * For one ASCII word: letters and digits between other ASCII.  Next to anything
 * else a word may or may not end; such messages may be found and need not be.
 */
#include <ctype.h>
#include <stdio.h>

#include "base/id.h"
#include "base/json.h"
#include "model/world.h"

enum { NOT_THERE, MAYBE_THERE, THERE };

static bool is_plain(char c)
{
	return isalnum((unsigned char)c) && (unsigned char)c < 0x80;
}

static int how_there(const char *text, const char *word)
{
	size_t n = strlen(word);
	int best = NOT_THERE;

	for (const char *p = text; *p; p++) {
		bool open = p > text && (unsigned char)p[-1] >= 0x80;
		unsigned char next;

		if (strncasecmp(p, word, n) != 0 ||
		    (p > text && is_plain(p[-1])))
			continue;
		next = (unsigned char)p[n];
		if (is_plain((char)next))
			continue;
		if (open || next >= 0x80)
			best = best == THERE ? THERE : MAYBE_THERE;
		else
			best = THERE;
	}
	return best;
}

/* What the oracle says of one message of a session itself. */
static int expected(const struct world *w, int session, int number,
		    const char *word)
{
	const struct oracle_session *s = &w->oracle->sessions[session];
	const struct oracle_event *e = &s->events[number - 1];

	if (s->purged || s->deleted || number <= s->base || e->type != 'M' ||
	    oracle_hidden(w->oracle, session, number))
		return NOT_THERE;
	return how_there(e->message.text, word);
}

static int session_of(const struct world *w, struct weft_str id)
{
	char text[WEFT_ID_CHARS + 1];

	for (int i = 0; i < w->oracle->n; i++) {
		id_format(&w->ids[i], text);
		if (str_eq(id, str_of(text)))
			return i;
	}
	return -1;
}

/* A word of a message that is there, or one that nobody says. */
static void choose_word(const struct world *w, const uint32_t *r, char out[40])
{
	const struct oracle_session *s;
	const char *p;
	uint32_t at;
	int session = w->oracle->n ? (int)(r[0] % (uint32_t)w->oracle->n) : -1;
	size_t n = 0;

	(void)snprintf(out, 40, "nobody");
	if (session < 0)
		return;
	s = &w->oracle->sessions[session];
	if (s->n == 0)
		return;
	at = r[1] % (uint32_t)s->n;
	/* What must not be found is looked for, too. */
	for (uint32_t i = 0; r[4] % 3 == 0 && i < (uint32_t)s->n; i++) {
		if (s->events[at].hidden && s->events[at].type == 'M')
			break;
		at = (at + 1) % (uint32_t)s->n;
	}
	p = s->events[at].message.text;
	for (uint32_t skip = r[2] % 4; *p && skip; p++)
		skip -= !is_plain(*p);
	while (*p && !is_plain(*p))
		p++;
	while (n < 30 && is_plain(p[n]))
		n++;
	if (n > 0 && n < 30)
		(void)snprintf(out, 40, "%.*s", (int)n, p);
}

/* Every hit is one that there should be; how many of those are surely there. */
static int check_hits(struct world *w, yyjson_val *hits, const char *word)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(hits);
	yyjson_val *hit;
	int sure = 0;

	while ((hit = yyjson_arr_iter_next(&it))) {
		int session =
			session_of(w, json_str(yyjson_obj_get(hit, "session")));
		int number = (int)yyjson_get_uint(yyjson_obj_get(hit, "seq"));
		int how = session < 0 ? NOT_THERE :
					expected(w, session, number, word);

		if (how == NOT_THERE)
			world_wrong(w, "search: '%s' is not in %d of %d", word,
				    number, session);
		sure += how == THERE;
	}
	return sure;
}

void look_search(struct world *w, const uint32_t *r)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_answer *answer = NULL;
	char word[40], request[160];
	int sure = 0, found;

	choose_word(w, r, word);
	for (int i = 0; i < w->oracle->n; i++) {
		for (int k = 1; k <= w->oracle->sessions[i].n; k++)
			sure += expected(w, i, k, word) == THERE;
	}
	world_say(w, "search '%s': %d expected", word, sure);
	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"search\",\"kind\":\"message\","
		       "\"query\":\"%s\",\"limit\":1000%s}",
		       word, r[3] % 16 == 0 ? ",\"wait\":true" : "");
	if (weft_call(w->store, request, strlen(request), &answer, &w->err) <
	    0) {
		world_wrong(w, "search: %s", w->err.message);
		return;
	}
	if (json_parse(str_of(weft_answer_text(answer, NULL)), NULL, &doc,
		       &w->err) < 0)
		world_wrong(w, "search: %s", w->err.message);
	weft_answer_free(answer);
	if (!doc)
		return;
	found = check_hits(w, yyjson_obj_get(yyjson_doc_get_root(doc), "hits"),
			   word);
	if (found != sure)
		world_wrong(w, "search: '%s' %d times, expected %d", word,
			    found, sure);
}
