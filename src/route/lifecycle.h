/*
 * lifecycle.h - when a conversation begins anew, and when it is time to clean
 * up: decisions, as pure functions of what is known.
 *
 * Time zones come in as a function from an instant to its offset, so that tests
 * have their own.  All times are milliseconds since 1970, UTC.
 */
#ifndef ROUTE_LIFECYCLE_H
#define ROUTE_LIFECYCLE_H

#include "route/config.h"

/* How far local time is ahead of UTC at an instant, in milliseconds. */
typedef int64_t local_offset(int64_t ms);

/* The machine's own time zone. */
int64_t lifecycle_local_offset(int64_t ms);

/*
 * The last instant, not after now_ms, at which local clocks showed `hour`.
 * An hour that a clock change leaves out is where the change was; one that
 * comes twice counts the first time only.
 */
int64_t lifecycle_last_hour(int64_t now_ms, unsigned hour, local_offset *at);

/* The first such instant after now_ms. */
int64_t lifecycle_next_hour(int64_t now_ms, unsigned hour, local_offset *at);

enum chat_kind { CHAT_DIRECT, CHAT_GROUP, CHAT_THREAD };
enum chat_kind lifecycle_chat_kind(const struct route_context *c);

/*
 * The policy that counts for a message: the channel's, else that of the kind
 * of chat, else the general one, else never.
 */
struct config_reset lifecycle_policy(const struct config *c,
				     const struct route_context *context,
				     struct arena *a);

/*
 * Whether a message that arrives now begins a new conversation.  Only the last
 * interaction counts: what was written in the background neither keeps a
 * conversation alive nor ends it.
 */
bool lifecycle_is_stale(const struct config_reset *policy,
			int64_t last_interaction_ms, int64_t now_ms,
			local_offset *at);

/* From when on that is so, if nobody speaks before; 0: never. */
int64_t lifecycle_stale_at(const struct config_reset *policy,
			   int64_t last_interaction_ms, local_offset *at);

/* Whether a session has outlived itself; 0: it never does. */
bool lifecycle_is_expired(int64_t expires_at_ms, int64_t now_ms);

/*
 * Whether maintenance is to run: once after `hour` of each day, also if the
 * machine was off at that time.  last_ms is when it last ran, 0: never.  A
 * time in the future was a wrong clock: it runs, and the time is set right.
 */
bool lifecycle_is_maintenance_due(int64_t last_ms, int64_t now_ms,
				  unsigned hour, local_offset *at);

/*
 * Whether a message asks for a new conversation: "/new" or "/reset", alone or
 * with a space behind it.  *ret_rest is the message that it begins with.
 */
bool lifecycle_is_reset_command(struct weft_str text,
				struct weft_str *ret_rest);

#endif
