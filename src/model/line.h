/*
 * line.h - what event.c, event_edited.c and file_line.c share about lines.
 * For nobody else.
 */
#ifndef MODEL_LINE_H
#define MODEL_LINE_H

#include "base/json.h"
#include "model/event.h"

/* The common fields of a line in its usual form; text is still escaped. */
struct line_head {
	uint64_t seq, marker, said, more;
	int64_t ts_ms, at_ms;
	bool background;
	struct weft_str type, id, op;
	size_t len; /* up to where the comma before the body would be */
};

/* False if the line does not begin with all of them in the usual form. */
bool line_head_parse(struct weft_str line, struct line_head *h);

/*
 * Fill in an event, all but its state, from a head and what lies between it
 * and the last `tail` bytes; false if that is no body.
 */
bool line_fill(const struct line_head *h, const struct weft_id *session,
	       struct weft_str line, size_t tail, struct arena *a,
	       struct store_event *ret);

/* Make the line of an event whose id is set; `type` is still escaped. */
int line_make(struct store_event *e, struct weft_str type, struct arena *a,
	      struct weft_error *err);

/* True if the last bytes have the form of a checksum, right or wrong. */
bool line_has_crc(struct weft_str line);
bool line_crc_ok(const struct weft_id *session, struct weft_str line);

/* Write the checksum of start..p, and the end of the line, at p. */
char *line_put_crc(char *p, const struct weft_id *session, const char *start);

/* Read a line that has no right checksum, or not the usual form. */
void line_read_edited(const struct weft_id *session, struct weft_str line,
		      struct arena *a, struct store_event *ret);

#endif
