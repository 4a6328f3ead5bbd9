/* oracle_drop.c - erase, reclaim and purge; see oracle.h. */
#include "model/oracle_inside.h"

struct oracle *oracle_copy(const struct oracle *o)
{
	struct oracle *copy = oracle_new();

	*copy = *o;
	copy->sessions = calloc((size_t)o->n + 1, sizeof(*o->sessions));
	assert(copy->sessions);
	for (int i = 0; i < o->n; i++) {
		struct oracle_session *s = &copy->sessions[i];

		*s = o->sessions[i];
		s->events = calloc((size_t)s->n + 1, sizeof(*s->events));
		assert(s->events);
		if (s->n)
			memcpy(s->events, o->sessions[i].events,
			       (size_t)s->n * sizeof(*s->events));
	}
	return copy;
}

int oracle_owner(const struct oracle *o, int session, int number)
{
	while (number <= o->sessions[session].base)
		session = o->sessions[session].parent;
	return session;
}

/* A fork sees the lines of its owner as they are now. */
static void tell_forks(struct oracle *o, int owner)
{
	for (int i = 0; i < o->n; i++) {
		struct oracle_session *s = &o->sessions[i];

		if (s->dropped)
			continue;
		for (int k = 1; k <= s->base; k++) {
			bool hidden = s->events[k - 1].hidden;

			if (oracle_owner(o, i, k) != owner)
				continue;
			s->events[k - 1] = o->sessions[owner].events[k - 1];
			s->events[k - 1].hidden = hidden;
		}
	}
}

/* ---- attachments ---- */

/* Texts of this length are kept apart (see world.c). */
#define LONG_TEXT 500

struct attachments {
	const char *v[2048];
	int n;
};

static void note_attachment(struct attachments *a, const char *what)
{
	for (int i = 0; i < a->n; i++) {
		if (strcmp(a->v[i], what) == 0)
			return;
	}
	assert(a->n < 2048);
	a->v[a->n++] = what;
}

/* How many different ones there are. */
static int count_attachments(const struct oracle *o)
{
	struct attachments found = { .n = 0 };

	for (int i = 0; i < o->n; i++) {
		const struct oracle_session *s = &o->sessions[i];

		for (int k = s->base; k < s->n && !s->dropped; k++) {
			const struct oracle_event *e = &s->events[k];

			if (e->type != 'M')
				continue;
			if (*e->message.image)
				note_attachment(&found, e->message.image);
			if (strlen(e->message.text) > LONG_TEXT)
				note_attachment(&found, e->message.text);
		}
	}
	return found.n;
}

/* ---- replacing lines ---- */

enum verdict { KEEP, HELD, GO };

static int line_end(const struct oracle_event *e, int number)
{
	return e->type == 'G' ? e->to : number;
}

static bool counts(const struct oracle_event *e)
{
	return e->type != 'G' && e->type != 'Z';
}

/* Put one G in the place of first..last. */
static void replace(struct oracle_session *s, int first, int last, bool bare)
{
	struct oracle_event *e = &s->events[first - 1];

	for (int k = first; k <= last; k++) {
		struct oracle_event *x = &s->events[k - 1];
		bool hidden = x->hidden;

		*x = (struct oracle_event){
			.ts = x->ts,
			.hidden = hidden,
			.was_message = x->type == 'M' || x->was_message,
		};
	}
	e->type = 'G';
	e->to = last;
	e->bare = bare;
}

/* Neighbours that go, up to now. */
struct range {
	int first, last, lines, events;
};

static void end_range(struct oracle_session *s, struct range *g, bool purge,
		      struct oracle_report *ret)
{
	bool as_before =
		!purge && g->lines == 1 && s->events[g->first - 1].type == 'G';

	if (g->lines && !as_before) {
		ret->events += g->events;
		replace(s, g->first, g->last, purge);
	}
	*g = (struct range){ .first = 0 };
}

static bool is_fork_of(const struct oracle_session *s, int session)
{
	return !s->dropped && s->start.is_fork && s->parent == session;
}

/* How far a fork, and those that go on from it, need what it has inherited. */
static int needed_by(const struct oracle *o, int fork)
{
	const struct oracle_session *s = &o->sessions[fork];
	int most = 0;

	if (!s->purged)
		return s->base;
	for (int i = 0; i < o->n; i++) {
		int need =
			is_fork_of(&o->sessions[i], fork) ? needed_by(o, i) : 0;

		most = need > most ? need : most;
	}
	return most < s->base ? most : s->base;
}

static int last_of(const struct oracle_session *s, char type)
{
	for (int k = s->n; k > s->base; k--) {
		if (s->events[k - 1].type == type)
			return k;
	}
	return 0;
}

static enum verdict judge_reclaim(const struct oracle_session *s, int number,
				  int inherited)
{
	const struct oracle_event *e = &s->events[number - 1];
	int kept = s->marker ? s->events[s->marker - 1].first : 1;

	if (line_end(e, number) >= kept || !strchr("MGTL", e->type))
		return KEEP;
	if ((e->type == 'T' || e->type == 'L') && number == last_of(s, e->type))
		return KEEP;
	return number <= inherited ? HELD : GO;
}

static enum verdict judge_purge(const struct oracle_session *s, int number,
				int inherited)
{
	const struct oracle_event *e = &s->events[number - 1];

	if (strchr("SZR", e->type) || (e->type == 'G' && e->bare))
		return KEEP;
	if (e->type == 'M' || e->type == 'K')
		return number <= inherited ? HELD : GO;
	return GO;
}

/* Drop what may go of a session; a purge says every fork. */
static void rewrite(struct oracle *o, int session, bool purge,
		    struct oracle_report *ret)
{
	struct oracle_session *s = &o->sessions[session];
	int needs[512], forks = 0, inherited = 0, held[512] = { 0 };
	struct range g = { .first = 0 };

	for (int i = 0; i < o->n; i++) {
		if (!is_fork_of(&o->sessions[i], session))
			continue;
		assert(forks < 512);
		needs[forks] = needed_by(o, i);
		inherited = needs[forks] > inherited ? needs[forks] : inherited;
		forks++;
	}
	for (int k = s->base + 1, end; k <= s->n; k = end + 1) {
		enum verdict v = purge ? judge_purge(s, k, inherited) :
					 judge_reclaim(s, k, inherited);

		end = line_end(&s->events[k - 1], k);
		if (v == GO) {
			g.first = g.lines ? g.first : k;
			g.last = end;
			g.lines++;
			g.events += counts(&s->events[k - 1]);
			/* A fork's own numbers go on behind it. */
			for (int i = 0; i < forks; i++) {
				if (needs[i] == end)
					end_range(s, &g, purge, ret);
			}
			continue;
		}
		end_range(s, &g, purge, ret);
		for (int i = 0; i < forks && v == HELD; i++)
			held[i] += k <= needs[i];
	}
	end_range(s, &g, purge, ret);
	for (int i = 0; i < forks; i++) {
		ret->held += held[i];
		ret->forks += purge || held[i];
	}
	tell_forks(o, session);
}

/* ---- erase ---- */

/* Blank messages of the session's own. */
static int erase_own(struct oracle *o, int session, const int *targets, int n,
		     int token, int64_t now, struct oracle_report *ret)
{
	struct oracle_session *s = &o->sessions[session];
	int r = oracle_check_lease(s, token, now);

	if (r != ORACLE_OK)
		return r;
	for (int i = 0; i < n; i++) {
		struct oracle_event *e = &s->events[targets[i] - 1];
		char op[40];
		int more = e->more;

		if (e->type != 'M')
			continue; /* named twice */
		if (!e->hidden)
			oracle_hide(s, targets[i], true, now);
		e = &s->events[targets[i] - 1];
		SET(op, e->op);
		replace(s, targets[i], targets[i], false);
		SET(e->op, op);
		e->more = more;
		ret->events++;
	}
	tell_forks(o, session);
	return ORACLE_OK;
}

int oracle_erase(struct oracle *o, int session, const int *targets, int n,
		 int token, int64_t now, struct oracle_report *ret)
{
	struct oracle_session *s = oracle_session(o, session);
	int before = count_attachments(o), r = ORACLE_OK, last = -1;

	*ret = (struct oracle_report){ .sessions = 0 };
	if (!s)
		return ORACLE_NOT_FOUND;
	for (int i = 0; i < n; i++) {
		if (targets[i] < 1 || targets[i] > s->n ||
		    s->events[targets[i] - 1].type != 'M')
			return ORACLE_NOT_FOUND;
	}
	/* Where they were said, one session after the other, by their ids. */
	while (r == ORACLE_OK) {
		int owner = -1, own[8], n_own = 0;

		for (int i = 0; i < n; i++) {
			int x = oracle_owner(o, session, targets[i]);

			if ((last < 0 || strcmp(o->sessions[x].id,
						o->sessions[last].id) > 0) &&
			    (owner < 0 || strcmp(o->sessions[x].id,
						 o->sessions[owner].id) < 0))
				owner = x;
		}
		if (owner < 0)
			break;
		for (int i = 0; i < n; i++) {
			if (oracle_owner(o, session, targets[i]) == owner)
				own[n_own++] = targets[i];
		}
		r = erase_own(o, owner, own, n_own,
			      owner == session ? token : 0, now, ret);
		last = owner;
	}
	ret->blobs = before - count_attachments(o);
	return r;
}

/* ---- reclaim ---- */

int oracle_reclaim(struct oracle *o, int session, int token, int64_t now,
		   struct oracle_report *ret)
{
	struct oracle_session *s = oracle_session(o, session);
	int before = count_attachments(o), r;

	*ret = (struct oracle_report){ .sessions = 0 };
	if (!s)
		return ORACLE_NOT_FOUND;
	r = oracle_check_lease(s, token, now);
	if (r != ORACLE_OK)
		return r;
	rewrite(o, session, false, ret);
	ret->blobs = before - count_attachments(o);
	return ORACLE_OK;
}

/* ---- purge ---- */

/* Sessions that are to be purged. */
struct going {
	int v[512];
	int n;
};

static bool is_going(const struct going *g, int session)
{
	for (int i = 0; i < g->n; i++) {
		if (g->v[i] == session)
			return true;
	}
	return false;
}

static bool has_spent(const struct oracle_totals *t)
{
	return t->input || t->output || t->cost_milli || t->unpriced;
}

/* Nobody sees it from here on; whoever pays for it is told. */
static void hide_session(struct oracle *o, int session, int64_t now)
{
	struct oracle_session *s = &o->sessions[session];

	if (s->start.subagent && has_spent(&s->total) &&
	    !o->sessions[s->start.parent].purged)
		(void)oracle_add_event(&o->sessions[s->start.parent], 'C', now);
	for (int i = 0; i < o->n_names; i++) {
		if (o->names[i].holder == session)
			o->names[i].holder = -1;
	}
	(void)oracle_add_event(s, 'Z', now);
	s->purged = true;
	s->lease_token = 0; /* nobody can show it */
}

/* The session and those that work for it; all of them or none. */
static int begin_purge(struct oracle *o, int session, int token, int64_t now,
		       struct going *all)
{
	struct going g = { .n = 0 };

	g.v[g.n++] = session;
	for (int i = 0; i < g.n; i++) {
		for (int k = 0; k < o->n; k++) {
			const struct oracle_session *s = &o->sessions[k];

			if (!s->dropped && s->start.subagent &&
			    s->start.parent == g.v[i])
				g.v[g.n++] = k;
		}
	}
	for (int i = 0; i < g.n; i++) {
		const struct oracle_session *s = &o->sessions[g.v[i]];
		int r = s->purged ? ORACLE_OK :
				    oracle_check_lease(s, i ? 0 : token, now);

		if (r != ORACLE_OK)
			return r;
	}
	for (int i = 0; i < g.n; i++) {
		if (!o->sessions[g.v[i]].purged)
			hide_session(o, g.v[i], now);
		if (!is_going(all, g.v[i]))
			all->v[all->n++] = g.v[i];
	}
	return ORACLE_OK;
}

/* Drop its lines, all of them if no fork goes on from it. */
static void sweep(struct oracle *o, int session, struct oracle_report *ret)
{
	struct oracle_session *s = &o->sessions[session];

	if (s->dropped)
		return;
	for (int i = 0; i < o->n; i++) {
		if (is_fork_of(&o->sessions[i], session)) {
			rewrite(o, session, true, ret);
			return;
		}
	}
	for (int k = s->base + 1; k <= s->n; k++)
		ret->events +=
			s->events[k - 1].type != 0 && counts(&s->events[k - 1]);
	ret->sessions++;
	s->dropped = true;
}

/* How many sessions it has inherited from. */
static int depth_of(const struct oracle *o, int session)
{
	int depth = 0;

	while (o->sessions[session].start.is_fork) {
		session = o->sessions[session].parent;
		depth++;
	}
	return depth;
}

/* Forks before what they have inherited from; also what was kept of one that was
 * purged before. */
static void sweep_all(struct oracle *o, struct going *all,
		      struct oracle_report *ret)
{
	bool done[512] = { false };

	for (int i = 0; i < all->n; i++) {
		const struct oracle_session *s = &o->sessions[all->v[i]];

		if (s->start.is_fork && o->sessions[s->parent].purged &&
		    !is_going(all, s->parent))
			all->v[all->n++] = s->parent;
	}
	for (int n = 0; n < all->n; n++) {
		int best = -1;

		for (int i = 0; i < all->n; i++) {
			if (!done[i] &&
			    (best < 0 || depth_of(o, all->v[i]) >
						 depth_of(o, all->v[best])))
				best = i;
		}
		done[best] = true;
		sweep(o, all->v[best], ret);
	}
}

int oracle_purge(struct oracle *o, int session, int token, int64_t now,
		 struct oracle_report *ret)
{
	int before = count_attachments(o), r;
	struct going all = { .n = 0 };

	*ret = (struct oracle_report){ .sessions = 0 };
	if (!oracle_session(o, session))
		return ORACLE_NOT_FOUND;
	r = begin_purge(o, session, token, now, &all);
	if (r != ORACLE_OK)
		return r;
	sweep_all(o, &all, ret);
	ret->blobs = before - count_attachments(o);
	return ORACLE_OK;
}

/* A person as purges know them: "telegram" and "100" is another than "irc" and
 * "100".  Without a channel it is one whom a program calls so. */
struct purged_person {
	const char *id;
	bool named;            /* a program calls somebody so */
	const char *where[64]; /* channels on which the id is theirs */
	int n;
};

static void see(struct purged_person *p, const char *channel)
{
	for (int i = 0; i < p->n; i++) {
		if (strcasecmp(p->where[i], channel) == 0)
			return;
	}
	assert(p->n < 64);
	if (*channel)
		p->where[p->n++] = channel;
}

static bool is_seen(const struct purged_person *p, const char *channel)
{
	for (int i = 0; i < p->n; i++) {
		if (strcasecmp(p->where[i], channel) == 0)
			return true;
	}
	return false;
}

static bool has_said(const struct oracle_session *s, int number, const char *id)
{
	const struct oracle_event *e = &s->events[number - 1];

	return e->type == 'M' && strcasecmp(e->message.from, id) == 0;
}

/* Where an id is known: where programs call somebody so, or else wherever it
 * was seen at all. */
static void find_person(const struct oracle *o, struct purged_person *p)
{
	for (int i = 0; i < o->n; i++) {
		const struct oracle_session *s = &o->sessions[i];

		if (s->purged || s->scoped ||
		    strcasecmp(s->settings[SETTING_USER], p->id) != 0)
			continue;
		p->named = true;
		see(p, s->settings[SETTING_CHANNEL]);
	}
	for (int i = 0; i < o->n && !p->named; i++) {
		const struct oracle_session *s = &o->sessions[i];

		if (s->purged)
			continue;
		if (strcasecmp(s->settings[SETTING_USER], p->id) == 0)
			see(p, s->settings[SETTING_CHANNEL]);
		for (int k = s->base + 1; k <= s->n; k++) {
			if (has_said(s, k, p->id))
				see(p, s->settings[SETTING_CHANNEL]);
		}
	}
}

/* Whether a bare id in this session is theirs. */
static bool is_person(const struct purged_person *p,
		      const struct oracle_session *s)
{
	const char *channel = s->settings[SETTING_CHANNEL];

	return !*channel || is_seen(p, channel);
}

int oracle_purge_user(struct oracle *o, const char *user, int64_t now,
		      struct oracle_report *ret)
{
	struct purged_person person = { .id = user };
	int before = count_attachments(o);
	struct going all = { .n = 0 }, refused = { .n = 0 };

	*ret = (struct oracle_report){ .sessions = 0 };
	if (!*user)
		return ORACLE_INVALID;
	find_person(o, &person);
	if (!person.named && person.n > 1)
		return ORACLE_AMBIGUOUS;
	/* Who is purged before those that work for it is told no costs. */
	for (int i = 0; i < o->n; i++) {
		const struct oracle_session *s = &o->sessions[i];

		if (s->purged ||
		    strcasecmp(s->settings[SETTING_USER], user) != 0 ||
		    (s->scoped && !is_person(&person, s)))
			continue;
		if (begin_purge(o, i, 0, now, &all) != ORACLE_OK)
			refused.v[refused.n++] = i;
	}
	ret->refused = refused.n;
	sweep_all(o, &all, ret);
	for (int i = 0; i < o->n; i++) {
		struct oracle_session *s = &o->sessions[i];
		int said[512], n = 0;

		for (int k = s->base + 1; k <= s->n && !s->dropped; k++) {
			if (has_said(s, k, user) && is_person(&person, s))
				said[n++] = k;
		}
		if (n && !is_going(&refused, i))
			ret->refused += erase_own(o, i, said, n, 0, now, ret) !=
					ORACLE_OK;
	}
	ret->blobs = before - count_attachments(o);
	return ORACLE_OK;
}

int oracle_purge_many(struct oracle *o, const int *sessions, int n, int64_t now)
{
	struct going all = { .n = 0 }, husks = { .n = 0 };
	struct oracle_report ignored = { .sessions = 0 };
	int refused = 0;

	for (int i = 0; i < n; i++)
		refused +=
			begin_purge(o, sessions[i], 0, now, &all) != ORACLE_OK;
	sweep_all(o, &all, &ignored);
	for (int i = 0; i < o->n; i++) {
		if (o->sessions[i].purged && !o->sessions[i].dropped)
			husks.v[husks.n++] = i;
	}
	sweep_all(o, &husks, &ignored);
	return refused;
}
