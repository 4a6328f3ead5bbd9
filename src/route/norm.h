/*
 * norm.h - text as keys are made of it.
 *
 * A key is a hash of normalised text and must be the same for ever and in
 * every program that makes one, so these rules are bit-exact: which characters
 * count as white space, how letters become small, what an id may look like.
 *
 * All results are in the arena or views of what was given.  When the arena
 * fails they are empty; look at it once, at the end.
 */
#ifndef ROUTE_NORM_H
#define ROUTE_NORM_H

#include "base/arena.h"
#include "base/text.h"

/* Without white space at both ends. */
static inline struct weft_str norm_trim(struct weft_str s)
{
	return text_trim(s);
}

/*
 * Simple lower-casing, one character for one, without regard to what stands
 * around it.  In a text that is not all ASCII a byte that is not UTF-8 becomes
 * U+FFFD.
 */
struct weft_str norm_lower(struct weft_str s, struct arena *a);

/* Both: what most fields go through. */
struct weft_str norm_clean(struct weft_str s, struct arena *a);

/*
 * The id of an agent or of an account: [a-z0-9][a-z0-9_-]{0,63}, or what comes
 * near it; `otherwise` if nothing is left.
 */
struct weft_str norm_id(struct weft_str s, struct weft_str otherwise,
			struct arena *a);
struct weft_str norm_agent(struct weft_str s, struct arena *a);   /* main */
struct weft_str norm_account(struct weft_str s, struct arena *a); /* default */

/* Without colons, for what stands in front of one: ":" is "%3a", "%" "%25". */
struct weft_str norm_no_colon(struct weft_str s, struct arena *a);

/* v[0..n) one behind the other. */
struct weft_str norm_concat(struct arena *a, const struct weft_str *v,
			    size_t n);
#define NORM_JOIN(a, ...)                                              \
	norm_concat((a), (const struct weft_str[]){ __VA_ARGS__ },     \
		    sizeof((const struct weft_str[]){ __VA_ARGS__ }) / \
			    sizeof(struct weft_str))

#endif
