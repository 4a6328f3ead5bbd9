/* oracle_keep.c - when a conversation is over, and what maintenance removes; see
 * oracle.h.  Local time is UTC here. */
#include "model/oracle_inside.h"

#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

#define BOOK "book:maintenance"

void oracle_set_policy(struct oracle *o, const struct oracle_policy *p)
{
	o->policy = *p;
}

int oracle_expire(struct oracle *o, int session, int64_t at, int64_t now,
		  struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);

	if (r != ORACLE_OK || s->expires == at)
		return r;
	s->expires = at;
	(void)oracle_add_event(s, 'P', now);
	oracle_answer_event(s, ret);
	return ORACLE_OK;
}

/* The last time it was so late, up to now. */
static int64_t last_hour(int64_t now, int hour)
{
	int64_t at = now - now % DAY + hour * HOUR;

	return at <= now ? at : at - DAY;
}

static bool has_expired(const struct oracle_session *s, int64_t now)
{
	return s->expires && s->expires <= now;
}

bool oracle_is_over(const struct oracle *o, int session, int64_t now)
{
	const struct oracle_session *s = &o->sessions[session];
	const struct oracle_policy *p = &o->policy;

	if (oracle_is_leased(s, now) || !*s->key)
		return false;
	if (has_expired(s, now))
		return true;
	if (p->idle_minutes && now - s->interaction > p->idle_minutes * MINUTE)
		return true;
	return p->daily && s->interaction < last_hour(now, p->at_hour);
}

/* ---- what goes ---- */

static const struct oracle_rule *rule_for(const struct oracle *o,
					  const struct oracle_session *s)
{
	char kind = s->start.book ? 'b' : s->start.subagent ? 's' : 'p';

	for (int i = 0; i < o->policy.n_rules; i++) {
		const struct oracle_rule *r = &o->policy.rules[i];

		if ((r->kind ? r->kind != kind : kind == 'b') ||
		    (*r->agent &&
		     strcmp(r->agent, s->settings[SETTING_AGENT]) != 0) ||
		    (*r->channel &&
		     strcmp(r->channel, s->settings[SETTING_CHANNEL]) != 0))
			continue;
		return r;
	}
	return NULL;
}

/* What the clock of somebody who was ahead says does not count. */
static int64_t last_use(const struct oracle_session *s, int64_t now)
{
	if (s->interaction <= now)
		return s->interaction;
	if (s->updated <= now)
		return s->updated;
	return s->created <= now ? s->created : 0;
}

static bool is_older(int64_t at, int days, int64_t now)
{
	return at && at <= now && now - at > days * DAY;
}

/* A living fork reads from it. */
static bool is_read(const struct oracle *o, int session)
{
	for (int i = 0; i < o->n; i++) {
		const struct oracle_session *s = &o->sessions[i];

		if (s->start.is_fork && s->parent == session && !s->purged &&
		    !s->deleted)
			return true;
	}
	return false;
}

static bool goes(const struct oracle_session *s, const struct oracle_rule *r,
		 int kept, int64_t now)
{
	return has_expired(s, now) ||
	       (r->idle_days &&
		is_older(last_use(s, now), r->idle_days, now)) ||
	       (r->max_sessions && kept >= r->max_sessions);
}

/* Go through all of them, who was last spoken in first; into `doomed` what is to
 * be purged. */
static int judge_all(struct oracle *o, int book, bool dry, int64_t now,
		     struct oracle_upkeep *ret, int *doomed)
{
	static const struct oracle_query all = { .parent = -1,
						 .deleted = true };
	int sessions[512], n, kept[ORACLE_RULES] = { 0 }, n_doomed = 0;

	n = oracle_list(o, &all, sessions);
	for (int i = 0; i < n; i++) {
		struct oracle_session *s = &o->sessions[sessions[i]];
		const struct oracle_rule *r = rule_for(o, s);
		struct oracle_answer ignored;
		int *count = r ? &kept[r - o->policy.rules] : NULL;

		ret->looked++;
		if (sessions[i] == book || !r ||
		    (!r->idle_days && !r->max_sessions))
			continue;
		if (s->deleted) {
			if (is_older(s->deleted, o->policy.trash_days, now))
				doomed[n_doomed++] = sessions[i];
		} else if (!goes(s, r, *count, now)) {
			++*count;
		} else if (*s->settings[SETTING_PINNED] ||
			   oracle_is_leased(s, now) ||
			   is_read(o, sessions[i])) {
			++*count;
			ret->spared++;
		} else {
			if (!dry)
				(void)oracle_delete(o, sessions[i], 0, now,
						    &ignored);
			ret->removed++;
		}
	}
	return n_doomed;
}

/* ---- the book ---- */

/* 2026-11-15T10:00:00.000Z */
static void format_time(int64_t ms, char out[64])
{
	static const int lengths[] = { 31, 28, 31, 30, 31, 30,
				       31, 31, 30, 31, 30, 31 };
	int year = 1970, month = 0, days = (int)(ms / DAY);
	int rest = (int)(ms % DAY);

	for (;; year++) {
		int length = year % 4 == 0 ? 366 : 365;

		if (days < length)
			break;
		days -= length;
	}
	for (;; month++) {
		int length = lengths[month] + (month == 1 && year % 4 == 0);

		if (days < length)
			break;
		days -= length;
	}
	(void)snprintf(out, 64, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year,
		       month + 1, days + 1, rest / (int)HOUR,
		       rest / (int)MINUTE % 60, rest / 1000 % 60, rest % 1000);
}

/* Somebody may have written something else there. */
static int64_t last_run(const struct oracle *o, int book)
{
	if (book < 0 || strncmp(o->sessions[book].settings[SETTING_METADATA],
				"{\"last_run\"", 11) != 0)
		return 0;
	return o->sessions[book].last_run;
}

static void write_book(struct oracle *o, int book, int64_t now,
		       const struct oracle_upkeep *u)
{
	struct oracle_answer ignored;
	char text[192], time[64];

	format_time(now, time);
	(void)snprintf(text, sizeof(text),
		       "{\"last_run\":\"%s\",\"looked\":%d,\"removed\":%d,"
		       "\"purged\":%d,\"spared\":%d}",
		       time, u->looked, u->removed, u->purged, u->spared);
	(void)oracle_patch(o, book, SETTING_METADATA, text, now, &ignored);
	o->sessions[book].last_run = now;
}

static bool is_due(int64_t last, int64_t now)
{
	return last > now + DAY || last < last_hour(now, 3);
}

void oracle_maintain(struct oracle *o, bool if_due, bool dry, int64_t now,
		     struct oracle_upkeep *ret)
{
	int book = oracle_holder(o, BOOK), doomed[512], n;
	struct oracle_answer lease;

	*ret = (struct oracle_upkeep){ .ran = false };
	ret->last_run = last_run(o, book);
	if (if_due && !is_due(ret->last_run, now))
		return;
	if (!dry) {
		book = oracle_book(o, BOOK, "", now);
		if (oracle_lease(o, book, 'A', "maintenance", 0, 10 * MINUTE,
				 now, &lease) != ORACLE_OK)
			return;
	}
	ret->ran = true;
	n = o->policy.n_rules ? judge_all(o, book, dry, now, ret, doomed) : 0;
	ret->purged = n;
	if (dry)
		return;
	n = oracle_purge_many(o, doomed, n, now);
	ret->purged -= n;
	ret->spared += n;
	write_book(o, book, now, ret);
	ret->last_run = now;
	(void)oracle_lease(o, book, 'R', "maintenance", lease.first, 0, now,
			   &lease);
}
