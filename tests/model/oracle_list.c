/* oracle_list.c - which sessions a list has; see oracle.h. */
#include "model/oracle_inside.h"

/* Lower case, and without the accents that the tests use. */
static void fold(char *to, size_t room, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; text[i]; i++) {
		char c = text[i];

		if (strncmp(text + i, "\xc3\xa9", 2) == 0 ||
		    strncmp(text + i, "\xc3\x89", 2) == 0) {
			c = 'e';
			i++;
		} else if (c >= 'A' && c <= 'Z') {
			c = (char)(c - 'A' + 'a');
		}
		assert(n + 1 < room);
		to[n++] = c;
	}
	to[n] = '\0';
}

static bool contains(const char *text, const char *wanted)
{
	char a[1200], b[200];

	fold(a, sizeof(a), text);
	fold(b, sizeof(b), wanted);
	return strstr(a, b) != NULL;
}

static bool matches(const struct oracle_session *s,
		    const struct oracle_query *q)
{
	bool all_kinds = !q->primary && !q->subagent;

	if (s->purged || (s->deleted && !q->deleted))
		return false;
	if (!all_kinds &&
	    (s->start.book || !(s->start.subagent ? q->subagent : q->primary)))
		return false;
	if (q->parent >= 0 &&
	    !(s->start.subagent && s->start.parent == q->parent) &&
	    !(s->start.is_fork && s->parent == q->parent))
		return false;
	for (int i = SETTING_SLUG; i <= SETTING_USER; i++) {
		if (*q->exact[i] && strcmp(q->exact[i], s->settings[i]) != 0)
			return false;
	}
	return !*q->text || contains(s->settings[SETTING_SLUG], q->text) ||
	       contains(s->settings[SETTING_PROJECT], q->text) ||
	       contains(s->first_user, q->text);
}

/* Whether session `a` stands before `b`: newer, or made later. */
static bool is_before(const struct oracle *o, bool by_creation, int a, int b)
{
	const struct oracle_session *x = &o->sessions[a], *y = &o->sessions[b];
	int64_t at_x = by_creation ? x->created : x->interaction;
	int64_t at_y = by_creation ? y->created : y->interaction;

	return at_x != at_y ? at_x > at_y : strcmp(x->id, y->id) > 0;
}

int oracle_list(const struct oracle *o, const struct oracle_query *q, int *out)
{
	int n = 0;

	for (int i = 0; i < o->n; i++) {
		int at;

		if (!matches(&o->sessions[i], q))
			continue;
		for (at = n++; at > 0; at--) {
			if (is_before(o, q->by_creation, out[at - 1], i))
				break;
			out[at] = out[at - 1];
		}
		out[at] = i;
	}
	return n;
}
