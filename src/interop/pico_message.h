/*
 * pico_message.h - messages of PicoClaw's shape, to and from Weft's.
 *
 *   content               one text part; of a tool's result: its content
 *   reasoning_content     a thinking part, in front
 *   tool_calls            tool_use parts; arguments are JSON in a string
 *   tool_call_id          makes the message a tool_result
 *   media                 data:image/...;base64, are image parts
 *   created_at            at
 *   model_name            model.name
 *
 * Everything else is kept, and given back.
 */
#ifndef INTEROP_PICO_MESSAGE_H
#define INTEROP_PICO_MESSAGE_H

#include "base/buf.h"

/*
 * Append Weft's form of a message, one JSON object, to `out`.  A message with
 * "parts" is Weft's already.  *ret_thought: it is only a transient thought,
 * and nothing was appended.  INVALID names the member; what the parts must be
 * is for the reader of `out` to check.
 */
int pico_message_in(struct weft_str json, struct buf *out, bool *ret_thought,
		    struct weft_error *err);

/*
 * Append PicoClaw's form of a message as the door gives it: one object, or
 * one more for each result of a tool in it, with commas between and in front
 * unless `out` ends with '['.
 */
int pico_message_out(struct weft_str message, struct buf *out,
		     struct weft_error *err);

#endif
