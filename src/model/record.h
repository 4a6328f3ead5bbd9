/*
 * record.h - the session record as a table of fields.
 *
 * Whoever needs every field of a record (columns in SQL, JSON for people, a
 * deep copy, a comparison) walks this table, so that a new field is one line.
 */
#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include "base/arena.h"
#include "weft/store.h"

struct buf;

enum field_kind {
	FIELD_ID,   /* struct weft_id */
	FIELD_U64,  /* uint64_t */
	FIELD_TIME, /* int64_t, milliseconds */
	FIELD_STR,  /* struct weft_str */
	FIELD_JSON  /* struct weft_str that is empty or holds JSON */
};

struct record_field {
	const char *name;
	uint8_t kind; /* enum field_kind */
	uint16_t offset;
};

extern const struct record_field record_fields[];
extern const size_t record_n_fields;

static inline void *record_at(struct session_rec *r,
			      const struct record_field *f)
{
	return (char *)r + f->offset;
}

static inline const void *record_at_const(const struct session_rec *r,
					  const struct record_field *f)
{
	return (const char *)r + f->offset;
}

/* Copy `from` with all its text into the arena. */
int record_copy(struct session_rec *to, const struct session_rec *from,
		struct arena *a, struct weft_error *err);

/* The same by hand: how many bytes its text needs, and the copy. */
size_t record_text_bytes(const struct session_rec *rec);
void record_copy_text(struct session_rec *to, const struct session_rec *from,
		      char *text);

bool record_eq(const struct session_rec *a, const struct session_rec *b);

/* A summary of at most so many bytes is kept in the record. */
#define RECORD_SUMMARY_MAX 1024

/* What the marker in force says; first 0: not known. */
void record_set_window(struct session_rec *rec, uint64_t first,
		       struct weft_str summary, uint64_t summary_bytes);

/* Whether the record has all of that. */
bool record_knows_window(const struct session_rec *rec);

/*
 * A record that owns its text on the heap, for caches.  record_own_update
 * makes `own` equal to `from`; only text whose pointer or content differs is
 * copied.  On failure `own` is unchanged.
 */
struct record_own {
	struct session_rec rec;
};
int record_own_update(struct record_own *own, const struct session_rec *from,
		      struct weft_error *err);
void record_own_done(struct record_own *own);

/*
 * A record as bytes, for a store that keeps it in one piece: the fields in the
 * order of the table, without their names.  So bytes are of use only together
 * with the table that they were made by.  Unpacked text points into them; false
 * if they are not a record.
 */
void record_pack(const struct session_rec *rec, struct buf *out);
bool record_unpack(struct weft_str bytes, struct session_rec *ret);

void totals_add(struct totals *to, const struct totals *more);
void totals_take(struct totals *from, const struct totals *less);
bool totals_are_zero(const struct totals *t);

const char *session_kind_name(uint64_t kind); /* "primary", ... */
bool session_kind_parse(struct weft_str s, uint64_t *ret);

#endif
