/* blob_unpack.c - make a packed message whole again, or say what is lost. */
#include "base/base64.h"
#include "base/error.h"
#include "base/hash.h"
#include "model/blob_part.h"

#define HEX_SHOWN 12 /* characters of a hash in a text for people */

/* ---- what is lost ---- */

/* Nobody would take these with other content than they had. */
static bool becomes_text(const struct blob_note *note)
{
	return str_eq(note->field->kind, STR("image")) ||
	       str_eq(note->field->kind, STR("thinking")) ||
	       str_eq(note->field->kind, STR("opaque"));
}

static void add_lost(struct buf *b, const struct blob_note *note,
		     const char *why)
{
	char hex[2 * SHA256_BYTES + 1];

	hex_format(note->ref.sha256, SHA256_BYTES, hex);
	buf_printf(b, "\"lost\":{\"sha256\":\"%s\",\"bytes\":", hex);
	buf_add_u64(b, note->ref.bytes);
	buf_printf(b, ",\"why\":\"%s\"}", why);
}

/* A text for the model and for people, as a JSON string. */
static void add_lost_text(struct buf *b, const struct blob_note *note,
			  const char *why)
{
	char hex[2 * SHA256_BYTES + 1];

	hex_format(note->ref.sha256, SHA256_BYTES, hex);
	buf_add_c(b, '"');
	if (note->head.len && !becomes_text(note)) {
		buf_add_json_inside(b, note->head);
		buf_add_lit(b, "... ");
	}
	buf_add_lit(b, "[lost: ");
	buf_add_str(b, note->field->kind);
	buf_printf(b, " of %llu bytes, blob %.*s is %s]\"",
		   (unsigned long long)note->ref.bytes, HEX_SHOWN, hex, why);
}

/* The value of the field that is lost. */
static void add_lost_value(struct buf *b, const struct blob_note *note,
			   const char *why)
{
	bool is_json = note->field->enc == ENC_JSON;

	if (is_json)
		buf_add_lit(b, "{\"_lost\":");
	add_lost_text(b, note, why);
	if (is_json)
		buf_add_c(b, '}');
}

static void add_text_instead(struct buf *b, const struct blob_note *note,
			     const char *why)
{
	buf_add_lit(b, "{\"type\":\"text\",\"text\":");
	add_lost_text(b, note, why);
	buf_add_c(b, ',');
	add_lost(b, note, why);
	buf_add_c(b, '}');
}

/* ---- what is there ---- */

/* How long the field gets, about. */
static uint64_t length_of(const struct blob_note *note)
{
	return note->enc == ENC_B64 ? note->ref.bytes / 3 * 4 + 4 :
				      note->ref.bytes + 2;
}

/* NULL: here it is; else why it cannot be had. */
static int get_blob(struct blob_pass *p, const struct blob_note *note,
		    struct arena *a, struct weft_str *ret, const char **ret_why)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_error err = { 0 };
	int r;

	*ret_why = NULL;
	if (!note->readable) {
		*ret_why = "not to be understood";
		return WEFT_OK;
	}
	if (length_of(note) > p->max || p->out.len > p->max - length_of(note)) {
		*ret_why = "too large";
		return WEFT_OK;
	}
	r = p->place->get(p->place->ctx, &note->ref, a, ret, &err);
	if (r == WEFT_OK && note->enc == ENC_JSON)
		r = json_parse(*ret, NULL, &doc, &err);
	if (r == WEFT_NOT_FOUND)
		*ret_why = "missing";
	else if (r == WEFT_CORRUPT || r == WEFT_INVALID || r == WEFT_LIMIT)
		*ret_why = "damaged";
	else if (r < 0 && p->err)
		*p->err = err;
	return *ret_why ? WEFT_OK : r;
}

static void add_value(struct buf *b, const struct blob_note *note,
		      struct weft_str bytes)
{
	if (note->enc == ENC_JSON) {
		buf_add_one_line(b, bytes);
	} else if (note->enc == ENC_B64) {
		buf_add_c(b, '"');
		base64_encode(b, bytes);
		buf_add_c(b, '"');
	} else {
		buf_add_json(b, bytes);
	}
}

static int unpack_part(struct blob_pass *p, yyjson_val *part,
		       struct weft_str raw)
{
	CLEANUP(arena_done) struct arena scratch;
	struct weft_str bytes = { NULL, 0 };
	struct buf *b = &p->out;
	struct object_member m;
	struct object_walk w;
	struct blob_note note;
	const char *why;
	int r;

	arena_init(&scratch, 0);
	if (!blob_note_read(part, &note))
		return 0;
	r = get_blob(p, &note, &scratch, &bytes, &why);
	if (r < 0)
		return r;
	if (why && becomes_text(&note)) {
		add_text_instead(b, &note, why);
		return 1;
	}
	buf_add_c(b, '{');
	object_walk_init(&w, part, raw);
	for (bool first = true; object_walk_next(&w, &m); first = false) {
		bool here = str_eq(m.name, STR("blob"));

		buf_add_str(b, first ? STR("\"") : STR(",\""));
		buf_add_str(b, here ? note.field->name : m.raw_name);
		buf_add_lit(b, "\":");
		if (!here)
			buf_add_str(b, m.raw);
		else if (why)
			add_lost_value(b, &note, why);
		else
			add_value(b, &note, bytes);
	}
	if (why) {
		buf_add_c(b, ',');
		add_lost(b, &note, why);
	}
	buf_add_c(b, '}');
	return 1;
}

int blob_unpack(struct weft_str body, size_t max,
		const struct blob_place *place, struct arena *a,
		struct weft_str *ret, struct weft_error *err)
{
	struct blob_pass p = {
		.swap = unpack_part,
		.place = place,
		.arena = a,
		.err = err,
		.max = max,
	};
	struct weft_str whole = body;
	int r;

	buf_init(&p.out, 0);
	r = blob_pass_run(&p, body);
	if (r == WEFT_OK) {
		whole = arena_str(a, buf_str(&p.out));
		if (!whole.ptr)
			r = arena_error(a, err);
	}
	/* Somebody's edit that is no JSON: as it is. */
	if (r == WEFT_CORRUPT)
		r = WEFT_OK;
	buf_done(&p.out);
	if (r == WEFT_OK)
		*ret = whole;
	return r;
}
