/*
 * claw_entry.h - lines of claw0's transcripts and blocks of a model's answer,
 * to Weft's messages.
 *
 *   {"type":"user","content":text}                  a user's text
 *   {"type":"assistant","content":text}             an assistant's text
 *   {"type":"tool_use","tool_use_id","name","input"}
 *   {"type":"tool_result","tool_use_id","output"}   also "content"
 *   {"type":"session", ...}                         nothing
 *
 * "ts", RFC 3339 or seconds since 1970, is when it was said.
 */
#ifndef INTEROP_CLAW_ENTRY_H
#define INTEROP_CLAW_ENTRY_H

#include "base/buf.h"

/*
 * Append Weft's form of an entry to `out`; nothing for one that begins a
 * session.  INVALID for a type that is none of these.
 */
int claw_entry_in(struct weft_str json, struct buf *out,
		  struct weft_error *err);

/*
 * Append the messages of a turn to `out`, as a JSON array: the user's text,
 * and the blocks of all answers of the model in it, as Anthropic has them.
 * An answer ends with its calls, so that what follows calls begins another.
 * Blocks that Weft has no part for are kept as opaque ones.
 */
int claw_turn_in(struct weft_str user, struct weft_str blocks, struct buf *out,
		 struct weft_error *err);

#endif
