/* lifecycle.c - when a conversation begins anew, and when to clean up. */
#include "route/lifecycle.h"

#include <time.h>

#include "route/norm.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

/* Clocks that are set right go back a little; this is more than that. */
#define CLOCK_LEAP_MS DAY_MS

int64_t lifecycle_local_offset(int64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;

	return localtime_r(&s, &tm) ? (int64_t)tm.tm_gmtoff * 1000 : 0;
}

/* ---- the hour of a day ---- */

static int64_t floor_day(int64_t ms)
{
	int64_t rest = ms % DAY_MS;

	return ms - (rest < 0 ? rest + DAY_MS : rest);
}

/* The instant at which local clocks show `wall`; see the header. */
static int64_t instant_of(int64_t wall, local_offset *at)
{
	/* Clocks change at most once between these two. */
	int64_t before = at(wall - DAY_MS), after = at(wall + DAY_MS);
	int64_t first = wall - before, second = wall - after;

	return at(first) != before && at(second) == after ? second : first;
}

int64_t lifecycle_last_hour(int64_t now_ms, unsigned hour, local_offset *at)
{
	int64_t day = floor_day(now_ms + at(now_ms));

	/* Tomorrow as well: there are days without this hour. */
	for (int64_t wall = day + DAY_MS;; wall -= DAY_MS) {
		int64_t t = instant_of(wall + (int64_t)hour * HOUR_MS, at);

		if (t <= now_ms)
			return t;
	}
}

int64_t lifecycle_next_hour(int64_t now_ms, unsigned hour, local_offset *at)
{
	int64_t t, later = now_ms;

	/* A day has an hour more or less when clocks change. */
	do {
		later += HOUR_MS;
		t = lifecycle_last_hour(later, hour, at);
	} while (t <= now_ms);
	return t;
}

/* ---- which policy ---- */

enum chat_kind lifecycle_chat_kind(const struct route_context *c)
{
	struct weft_str type = norm_trim(c->chat_type);

	if (norm_trim(c->topic_id).len)
		return CHAT_THREAD;
	if (type.len == 0)
		return CHAT_DIRECT;
	return type.len == 6 && strncasecmp(type.ptr, "direct", 6) == 0 ?
		       CHAT_DIRECT :
		       CHAT_GROUP;
}

static const struct config_reset *policy_of_kind(const struct config *c,
						 enum chat_kind kind)
{
	switch (kind) {
	case CHAT_DIRECT:
		return &c->lifecycle.direct;
	case CHAT_GROUP:
		return &c->lifecycle.group;
	case CHAT_THREAD:
		return &c->lifecycle.thread;
	}
	return &c->lifecycle.reset;
}

struct config_reset lifecycle_policy(const struct config *c,
				     const struct route_context *context,
				     struct arena *a)
{
	const struct config_channel_reset *v = c->lifecycle.by_channel.v;
	const struct config_reset *kind =
		policy_of_kind(c, lifecycle_chat_kind(context));
	struct weft_str channel = norm_clean(context->channel, a);

	for (size_t i = 0; i < c->lifecycle.by_channel.n; i++) {
		if (v[i].reset.mode != RESET_UNSET &&
		    str_eq(norm_clean(v[i].channel, a), channel))
			return v[i].reset;
	}
	return kind->mode != RESET_UNSET ? *kind : c->lifecycle.reset;
}

/* ---- is it time? ---- */

static bool is_idle(const struct config_reset *p, int64_t last, int64_t now)
{
	return p->idle_minutes &&
	       now - last > (int64_t)p->idle_minutes * MINUTE_MS;
}

bool lifecycle_is_stale(const struct config_reset *policy,
			int64_t last_interaction_ms, int64_t now_ms,
			local_offset *at)
{
	switch ((enum reset_mode)policy->mode) {
	case RESET_DAILY:
		return last_interaction_ms <
			       lifecycle_last_hour(
				       now_ms, (unsigned)policy->at_hour, at) ||
		       is_idle(policy, last_interaction_ms, now_ms);
	case RESET_IDLE:
		return is_idle(policy, last_interaction_ms, now_ms);
	case RESET_UNSET:
	case RESET_NONE:
		break;
	}
	return false;
}

int64_t lifecycle_stale_at(const struct config_reset *policy,
			   int64_t last_interaction_ms, local_offset *at)
{
	int64_t idle = 0, day;

	if (policy->mode != RESET_DAILY && policy->mode != RESET_IDLE)
		return 0;
	if (policy->idle_minutes)
		idle = last_interaction_ms +
		       (int64_t)policy->idle_minutes * MINUTE_MS + 1;
	if (policy->mode == RESET_IDLE)
		return idle;
	day = lifecycle_next_hour(last_interaction_ms,
				  (unsigned)policy->at_hour, at);
	return idle && idle < day ? idle : day;
}

bool lifecycle_is_expired(int64_t expires_at_ms, int64_t now_ms)
{
	return expires_at_ms != 0 && now_ms >= expires_at_ms;
}

bool lifecycle_is_maintenance_due(int64_t last_ms, int64_t now_ms,
				  unsigned hour, local_offset *at)
{
	if (last_ms > now_ms + CLOCK_LEAP_MS)
		return true;
	return last_ms < lifecycle_last_hour(now_ms, hour, at);
}

/* ---- asking for it ---- */

bool lifecycle_is_reset_command(struct weft_str text, struct weft_str *ret_rest)
{
	static const struct weft_str commands[] = { STR_INIT("/new"),
						    STR_INIT("/reset") };
	struct weft_str s = norm_trim(text);

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		size_t n = commands[i].len;
		struct weft_str rest;

		if (s.len < n || strncasecmp(s.ptr, commands[i].ptr, n) != 0)
			continue;
		rest = norm_trim(str_skip(s, n));
		/* "/newer" is not "/new": there is white space between. */
		if (s.len > n && rest.len == s.len - n)
			continue;
		*ret_rest = rest;
		return true;
	}
	return false;
}
