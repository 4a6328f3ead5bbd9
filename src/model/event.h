/*
 * event.h - one event as one line of JSON, both ways.
 *
 * A line is, in this order, without white space:
 *
 *   {"seq":N,"ts":"...","type":"...","id":"...","w":N
 *   [,"n":N][,"more":N][,"op":"..."][,"at":"..."][,"bg":true]
 *   ,BODY,"crc":"xxxxxxxx"}
 *
 * where BODY are the members that belong to the type.  crc is crc32c over the
 * 16 bytes of the session's id and the line up to and without ,"crc".  It is
 * always the last 18 bytes: ,"crc":"xxxxxxxx"}.
 *
 * The first line of a file is no event but the file line:
 *
 *   {"weft":1,"session":"...","gen":N,"needs":[],"crc":"xxxxxxxx"}
 */
#ifndef MODEL_EVENT_H
#define MODEL_EVENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "weft/store.h"

#define EVENT_FORMAT    1
#define EVENT_CRC_CHARS 18
/* A line is never longer than its body, its escaped op, and this. */
#define EVENT_HEAD_MAX 256

const char *event_type_name(uint32_t type); /* "message", ... */
uint32_t event_type_parse(struct weft_str name);

/*
 * Make the line of `e` from its session, seq, ts_ms, at_ms, type, marker,
 * said, more, op, background and body.  Sets e->id, and e->bytes and e->body to the
 * line in the arena; a newline follows it there (at bytes.ptr[bytes.len]), so
 * that line and newline can be written as one.
 *
 * The line of a range that is GONE begins its body with "to":N.  An event of
 * type OTHER is sealed again under the name it has in e->bytes.
 */
int event_seal(struct store_event *e, struct arena *a, struct weft_error *err);

/*
 * Read one line, without its newline, of `session`'s file.  Never fails:
 * what cannot be read has state DAMAGED, seq 0, and only its bytes.  A line
 * that a person has edited out of the usual form is rewritten into the arena
 * in that form, sealed, and ALTERED or, if it had no checksum, UNSEALED.
 * Views point into `line` or the arena.
 *
 * If memory ran out the arena has failed, and *ret says nothing about the
 * line: look at arena_error() after the last line.
 */
void event_read(const struct weft_id *session, struct weft_str line,
		struct arena *a, struct store_event *ret);

/* The same for a line known to be sealed and unaltered since it was last
 * read: skips the checksum. */
void event_read_again(const struct weft_id *session, struct weft_str line,
		      struct arena *a, struct store_event *ret);

/* Only the number of a line, by its first bytes; 0 if it has none. */
uint64_t event_peek_seq(struct weft_str line);

struct file_line {
	struct weft_id session;
	uint64_t version; /* "weft" */
	uint64_t gen;
	bool sealed; /* the crc is right */
	bool known_needs;
	char first_need[32]; /* one we do not know */
};

/* Without a newline. */
void file_line_write(struct buf *b, const struct weft_id *session,
		     uint64_t gen);
/* False if it is no file line at all. */
bool file_line_read(struct weft_str line, struct file_line *ret);

#endif
