/* answer.h - answers that are made of other answers. */
#ifndef API_ANSWER_H
#define API_ANSWER_H

#include "base/buf.h"
#include "weft/weft.h"

/* Make an answer of `text`, which is empty then; *ret is as if weft_call had
 * given it. */
int answer_take(struct buf *text, struct weft_answer **ret,
		struct weft_error *err);

#endif
