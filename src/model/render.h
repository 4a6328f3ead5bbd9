/*
 * render.h - messages as a model's provider wants them.
 *
 * DESIGN
 *
 * Whatever a log holds (a crash in the middle of a turn, a cut, redactions,
 * somebody's broken file), what is rendered can be sent.  The log stays as it
 * is: it is repaired here, on reading, in three steps.
 *
 *  1. Scan (render_scan.c, render_parts.c).  The body of each message becomes
 *     a few items: text, thinking, call, result, image, opaque.  What this
 *     format cannot have (blank text, thinking without its signature, data
 *     bound to another provider, parts that are not what they should be) ends
 *     here.  An item points into the body it came from; nothing is copied.
 *  2. Tidy (render_tidy.c).  A call is the assistant's and a result is the
 *     user's, whoever's message it stands in.  Items are gathered into groups
 *     of the two sides in turn; every call gets its one result, which follows
 *     in the next group, in the order of the calls.
 *  3. Write (render_anthropic.c, render_openai.c, render_responses.c).  Text
 *     goes out as the bytes it was stored in.
 *
 * docs/RENDERING.md says what each format looks like, and all the rules.
 *
 * Tokens are estimated, since every model counts in its own way: a third of
 * the bytes of text, thinking, arguments and results as they are stored, 1500
 * for an image, and 4 for each of them.  For English that is a third too many,
 * for Chinese about right.
 */
#ifndef MODEL_RENDER_H
#define MODEL_RENDER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"
#include "model/pairs.h"
#include "weft/store.h"

enum render_format { RENDER_ANTHROPIC = 1, RENDER_OPENAI, RENDER_RESPONSES };

/* "anthropic", "openai" (Chat Completions), "responses" (OpenAI Responses). */
bool render_format_parse(struct weft_str name, uint32_t *ret);

struct render_options {
	uint32_t format; /* enum render_format */
	/* Whose data may be sent: of thinking with a signature and of opaque
	 * parts that of the message's model, of `bound` its own.  Empty: the
	 * format's. */
	struct weft_str provider;
	/*
	 * As many of the newest turns as are estimated to fit, with system and
	 * summary; the newest one always.  0: everything.
	 */
	uint64_t tokens;
	bool newest_first; /* the order in which messages are added */
	/* Several people talk here, even if only one of them is heard in what
	 * was added: who it is, is always said. */
	bool shared;
};

struct render_said; /* a message, scanned */

/* One rendering.  Belongs to one thread. */
struct render {
	struct render_options options;
	struct arena *arena;
	struct buf scratch;
	struct render_said *first, *last; /* in the order they were said */
	size_t n_items;                   /* of all of them */
	uint64_t tokens;                  /* of all of them */
	struct pairs pairs;               /* newest first, with a budget */
	bool turn_seen;                   /* a place where it may be cut */
	bool cut_short; /* older messages exist that were not added */
};

/* Everything that the rendering needs lives in `a`. */
void render_init(struct render *r, const struct render_options *o,
		 struct arena *a);
void render_done(struct render *r); /* also for CLEANUP */

/*
 * Add a message by its number and its body, which must stay where it is until
 * render_write.  A body that is no message adds nothing.  Fails for want of
 * memory only.
 */
int render_add(struct render *r, uint64_t seq, struct weft_str body,
	       struct weft_error *err);

/*
 * True if older messages than those added newest first cannot be in what is
 * rendered: the budget is used up.  After that only system messages may follow,
 * and render_write.
 */
bool render_enough(struct render *r);

/*
 * Only find out where what the budget has room for begins: *ret is the number
 * of the message that begins its first turn, or 0 if nothing must be left out.
 */
int render_first_kept(struct render *r, struct weft_str summary, uint64_t *ret,
		      struct weft_error *err);

/* Write what was added as one JSON object, without a newline.  `summary` is
 * plain text, or empty. */
int render_write(struct render *r, struct weft_str summary, struct buf *out,
		 struct weft_error *err);

#endif
