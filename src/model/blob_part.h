/* blob_part.h - which field of a part may be a blob; for the files of blob.h. */
#ifndef MODEL_BLOB_PART_H
#define MODEL_BLOB_PART_H

#include "model/blob.h"
#include "model/object.h"

enum blob_enc { ENC_TEXT, ENC_B64, ENC_JSON };

/* A field that may be kept apart. */
struct blob_field {
	struct weft_str kind; /* of the part */
	struct weft_str name;
	uint32_t enc;  /* enum blob_enc, as it should be */
	bool is_prose; /* its beginning is worth keeping in "head" */
};

/* The field of this name of a part, or NULL if it always stays. */
const struct blob_field *blob_field_named(yyjson_val *part,
					  struct weft_str name);

/* A reference as it stands in a part. */
struct blob_note {
	struct blob_ref ref;
	uint32_t enc; /* enum blob_enc */
	struct weft_str head;
	const struct blob_field *field; /* that it stands for */
	bool readable;                  /* all of it is as it should be */
};

/* False if there is none in this part. */
bool blob_note_read(yyjson_val *part, struct blob_note *ret);
void blob_note_write(struct buf *b, const struct blob_note *note);

/*
 * One way through a body: everything is copied but what `swap` writes instead
 * of a part, 1, or leaves as it is, 0.
 */
struct blob_pass {
	struct buf out;
	int (*swap)(struct blob_pass *p, yyjson_val *part, struct weft_str raw);
	size_t n; /* parts that were swapped */
	const struct blob_place *place;
	struct arena *arena; /* that what is found goes to */
	struct weft_error *err;
	/* of blob_pack */
	uint64_t max;
	struct blob_refs refs;
	size_t room; /* of refs */
};

int blob_pass_run(struct blob_pass *p, struct weft_str body);

#endif
