/*
 * render_item.h - what the three steps of rendering hand to each other.  For
 * the files render*.c only.
 *
 * "Raw" text is the inside of a JSON string as it was written: it may go into
 * another JSON string as it is.
 */
#ifndef MODEL_RENDER_ITEM_H
#define MODEL_RENDER_ITEM_H

#include "base/json.h"
#include "model/render.h"

enum item_kind {
	ITEM_TEXT,
	ITEM_THINKING,
	ITEM_CALL,
	ITEM_RESULT,
	ITEM_IMAGE,
	ITEM_OPAQUE
};

/* One thing that was said. */
struct render_item {
	uint8_t kind; /* enum item_kind */
	bool is_error;
	/* CALL: value is raw text, not JSON.  RESULT: content was a list. */
	bool is_text, is_list;
	struct weft_str id;   /* CALL, RESULT */
	struct weft_str name; /* CALL */
	struct weft_str mark; /* THINKING: raw signature; IMAGE: raw type */
	/* TEXT, THINKING, IMAGE, RESULT: raw; CALL, OPAQUE: JSON. */
	struct weft_str value;
	const struct render_item *inner; /* RESULT: its list, text and image */
	size_t n_inner;

	/* CALL: set while tidying. */
	const struct render_item *answer; /* NULL: there is none */
	size_t answered;                  /* the `no` of its message */
	struct weft_str sent_id;          /* the id that the provider sees */
};

struct render_said {
	struct render_said *next, *before;
	uint64_t seq;
	uint32_t role;
	struct weft_str sender;    /* raw: what to call who said it */
	struct weft_str sender_id; /* raw: what to tell people apart by */
	struct render_item *items;
	size_t n_items;
	/* Set while tidying: */
	size_t no;         /* the how many-th it is */
	bool names_sender; /* the name goes in front */
};

uint64_t render_item_tokens(const struct render_item *item);

/* ---- scan ---- */

/* One message on its way. */
struct render_scan {
	struct render *render;
	struct weft_str body; /* as it is stored */
	struct weft_str text; /* the same in braces, in the scratch */
	const yyjson_doc *doc;
	struct render_said *said;
	bool own_model; /* what its model signed or sealed may be sent */
};

/* False if there is nothing to be sent of this part. */
bool render_scan_part(struct render_scan *s, yyjson_val *part,
		      struct render_item *ret);

/* Who said it. */
void render_scan_sender(struct render_scan *s, yyjson_val *from);

/* Data of the provider's that belongs to the message as a whole: how many
 * items that may be, and those that it is. */
size_t render_bound_count(const struct render_scan *s, yyjson_val *bound);
size_t render_scan_bound(struct render_scan *s, yyjson_val *bound,
			 struct render_item *items);

/* ---- tidy ---- */

/* One piece of what is sent. */
struct render_block {
	struct render_item *item;       /* of a result: its call */
	const struct render_said *said; /* NULL: a result */
};

/* Pieces of one side, without one of the other between them. */
struct render_group {
	bool user;
	size_t first, n;  /* blocks */
	size_t n_results; /* in front */
	size_t held;      /* calls before it are answered up to this message */
};

struct render_tidy {
	struct render *render;
	struct render_block *blocks;
	size_t n_blocks;
	struct render_group *groups;
	size_t n_groups;
	struct render_item **system; /* TEXT */
	size_t n_system;

	/* While tidying: */
	struct table ids; /* of struct id_entry, by id */
	bool open;        /* the last group is the assistant's, and open */
	size_t open_calls;
	const struct render_said *caller; /* of the last call in it */
	uint64_t turn;
	size_t group_no; /* ever opened: a mark for id_entry */
};

int render_tidy(struct render_tidy *t, struct render *r,
		struct weft_error *err);
void render_tidy_done(struct render_tidy *t); /* also for CLEANUP */

/* Leave out the oldest turns that the budget has no room for; false if there
 * are none. */
bool render_cut(struct render_tidy *t, uint64_t system_tokens);

/* Give each call the id that the provider sees (render_ids.c). */
int render_ids(struct render_tidy *t, struct weft_error *err);
/* A tool's name that every provider takes, as raw text. */
void render_add_name(struct buf *b, struct weft_str name);

/* ---- write ---- */

extern const struct weft_str render_no_result; /* raw: for a missing one */
extern const struct weft_str render_no_output; /* raw: for a blank one */
extern const struct weft_str render_no_user;   /* raw: for a missing user */

/* A comma in front of all but the first. */
static inline void render_comma(struct buf *b, bool *first)
{
	if (!*first)
		buf_add_c(b, ',');
	*first = false;
}

/* "text" of a block, with the sender's name where it belongs. */
void render_add_text(struct buf *b, const struct render_block *block);
/* A string whose escapes are there already. */
void render_add_string(struct buf *b, struct weft_str raw);
/* A result, or that there is none, as one string: the texts of a list with a
 * newline between them. */
void render_add_answer(struct buf *b, const struct render_item *answer);
/* A list in a result as a list; `type` is what its texts are called. */
void render_add_parts(struct buf *b, const struct render_item *result,
		      const char *type,
		      void (*add_image)(struct buf *b,
					const struct render_item *image));
/* "data:image/png;base64,..." */
void render_add_data_url(struct buf *b, const struct render_item *image);
/* "arguments" of a call: a string that is what was stored. */
void render_add_arguments(struct buf *b, const struct render_item *call);
/* A string of all that belongs to the system; nothing if that is nothing. */
bool render_add_system(struct buf *b, const struct render_tidy *t,
		       struct weft_str summary);

void render_anthropic(struct buf *b, const struct render_tidy *t,
		      struct weft_str summary);
void render_openai(struct buf *b, const struct render_tidy *t,
		   struct weft_str summary);
void render_responses(struct buf *b, const struct render_tidy *t,
		      struct weft_str summary);

#endif
