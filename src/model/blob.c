/* blob.c - references to blobs: find them, and pack what is large. */
#include "model/blob.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/blob_part.h"

#define HEAD_CHARS 256 /* as many as a preview may have */
#define HEX_CHARS  ((size_t)2 * SHA256_BYTES)

#define TAIL        ",\"blobs\":"
#define TAIL_DIGITS 20

static const struct blob_field fields[] = {
	{ STR_INIT("text"), STR_INIT("text"), ENC_TEXT, true },
	{ STR_INIT("thinking"), STR_INIT("text"), ENC_TEXT, true },
	{ STR_INIT("tool_use"), STR_INIT("input"), ENC_JSON, false },
	{ STR_INIT("tool_use"), STR_INIT("input_text"), ENC_TEXT, true },
	{ STR_INIT("tool_result"), STR_INIT("content"), ENC_TEXT, true },
	{ STR_INIT("image"), STR_INIT("image_base64"), ENC_B64, false },
	{ STR_INIT("opaque"), STR_INIT("data"), ENC_JSON, false },
};

static const struct weft_str enc_names[] = {
	[ENC_TEXT] = STR_INIT("text"),
	[ENC_B64] = STR_INIT("b64"),
	[ENC_JSON] = STR_INIT("json"),
};

/* ---- references ---- */

const struct blob_field *blob_field_named(yyjson_val *part,
					  struct weft_str name)
{
	struct weft_str kind = json_str(yyjson_obj_get(part, "type"));

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (str_eq(fields[i].kind, kind) &&
		    str_eq(fields[i].name, name))
			return &fields[i];
	}
	return NULL;
}

/* The field that a reference in this part stands for, or NULL. */
static const struct blob_field *field_of(yyjson_val *part, uint32_t enc)
{
	struct weft_str kind = json_str(yyjson_obj_get(part, "type"));
	const struct blob_field *found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		bool is_json = fields[i].enc == ENC_JSON;

		if (!str_eq(fields[i].kind, kind))
			continue;
		if (!found || is_json == (enc == ENC_JSON))
			found = &fields[i];
	}
	return found;
}

static bool read_enc(yyjson_val *v, uint32_t *ret)
{
	for (uint32_t i = 0; i < ARRAY_LEN(enc_names); i++) {
		if (str_eq(json_str(v), enc_names[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

bool blob_note_read(yyjson_val *part, struct blob_note *ret)
{
	yyjson_val *blob = yyjson_obj_get(part, "blob");
	struct blob_note n = { .enc = ENC_TEXT };

	if (!yyjson_is_obj(blob))
		return false;
	n.readable = hex_parse(json_str(yyjson_obj_get(blob, "sha256")),
			       n.ref.sha256, SHA256_BYTES) &&
		     value_u64(yyjson_obj_get(blob, "bytes"), NUMBER_MAX,
			       &n.ref.bytes) &&
		     read_enc(yyjson_obj_get(blob, "enc"), &n.enc);
	n.head = json_str(yyjson_obj_get(blob, "head"));
	n.field = field_of(part, n.enc);
	/* Who has put the field back by hand has the last word. */
	if (!n.field ||
	    yyjson_obj_getn(part, n.field->name.ptr, n.field->name.len))
		return false;
	n.readable &= (n.enc == ENC_JSON) == (n.field->enc == ENC_JSON) &&
		      (n.enc != ENC_B64 || n.field->enc == ENC_B64);
	*ret = n;
	return true;
}

void blob_note_write(struct buf *b, const struct blob_note *note)
{
	char hex[HEX_CHARS + 1];

	hex_format(note->ref.sha256, SHA256_BYTES, hex);
	buf_add_lit(b, "{\"sha256\":\"");
	buf_add(b, hex, HEX_CHARS);
	buf_add_lit(b, "\",\"bytes\":");
	buf_add_u64(b, note->ref.bytes);
	buf_add_lit(b, ",\"enc\":\"");
	buf_add_str(b, enc_names[note->enc]);
	buf_add_c(b, '"');
	if (note->head.len) {
		buf_add_lit(b, ",\"head\":");
		buf_add_json(b, note->head);
	}
	buf_add_c(b, '}');
}

bool blob_is_packed(struct weft_str body, uint32_t state)
{
	const size_t tail = sizeof(TAIL) - 1;
	size_t n = body.len, digits = 0;

	if (state == STATE_ALTERED || state == STATE_UNSEALED)
		return body.len && memmem(body.ptr, body.len, "\"blob\"", 6);
	while (n > 0 && body.ptr[n - 1] >= '0' && body.ptr[n - 1] <= '9' &&
	       digits < TAIL_DIGITS) {
		n--;
		digits++;
	}
	return digits > 0 && n >= tail &&
	       memcmp(body.ptr + n - tail, TAIL, tail) == 0;
}

/* ---- going through a body ---- */

static int pass_parts(struct blob_pass *p, yyjson_val *parts,
		      struct weft_str raw, bool nested);

/* A result with parts of its own. */
static int pass_result(struct blob_pass *p, yyjson_val *part,
		       struct weft_str raw)
{
	struct object_member m;
	struct object_walk w;
	int r = WEFT_OK;

	buf_add_c(&p->out, '{');
	object_walk_init(&w, part, raw);
	for (bool first = true; r == WEFT_OK && object_walk_next(&w, &m);
	     first = false) {
		buf_add_str(&p->out, first ? STR("\"") : STR(",\""));
		buf_add_str(&p->out, m.raw_name);
		buf_add_lit(&p->out, "\":");
		if (str_eq(m.name, STR("content")))
			r = pass_parts(p, m.value, m.raw, true);
		else
			buf_add_str(&p->out, m.raw);
	}
	buf_add_c(&p->out, '}');
	return r;
}

static int pass_part(struct blob_pass *p, yyjson_val *part, struct weft_str raw,
		     bool nested)
{
	yyjson_val *type = yyjson_obj_get(part, "type");
	int r;

	if (!nested && yyjson_equals_str(type, "tool_result") &&
	    yyjson_is_arr(yyjson_obj_get(part, "content")))
		return pass_result(p, part, raw);
	r = p->swap(p, part, raw);
	if (r == 0)
		buf_add_str(&p->out, raw);
	p->n += r > 0;
	return r < 0 ? r : WEFT_OK;
}

static int pass_parts(struct blob_pass *p, yyjson_val *parts,
		      struct weft_str raw, bool nested)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(parts);
	struct weft_str element;
	yyjson_val *part;
	size_t pos = 0;
	int r = WEFT_OK;

	if (!yyjson_is_arr(parts)) {
		buf_add_str(&p->out, raw);
		return WEFT_OK;
	}
	buf_add_c(&p->out, '[');
	for (bool first = true;
	     r == WEFT_OK && (part = yyjson_arr_iter_next(&it)) &&
	     json_next_element(raw, &pos, &element);
	     first = false) {
		if (!first)
			buf_add_c(&p->out, ',');
		r = pass_part(p, part, element, nested);
	}
	buf_add_c(&p->out, ']');
	return r;
}

int blob_pass_run(struct blob_pass *p, struct weft_str body)
{
	CLEANUP(arena_done) struct arena scratch;
	CLEANUP(body_object_done) struct body_object o = { .doc = NULL };
	struct object_member m;
	struct object_walk w;
	int r;

	arena_init(&scratch, 0);
	r = body_object_parse(&o, body, &scratch, p->err);
	if (r != WEFT_OK)
		return r;
	object_walk_init(&w, o.root, o.text);
	while (r == WEFT_OK && object_walk_next(&w, &m)) {
		if (str_eq(m.name, STR("blobs")))
			continue;
		if (!str_eq(m.name, STR("parts"))) {
			object_add_raw(&p->out, &m);
			continue;
		}
		buf_add_str(&p->out, p->out.len ? STR(",\"parts\":") :
						  STR("\"parts\":"));
		r = pass_parts(p, m.value, m.raw, false);
	}
	return r == WEFT_OK ? buf_error(&p->out, p->err) : r;
}

/* ---- packing ---- */

static int keep_ref(struct blob_pass *p, const struct blob_ref *ref)
{
	if (p->refs.n == p->room) {
		size_t room = p->room ? 2 * p->room : 4;
		struct blob_ref *v =
			ARENA_ARRAY(p->arena, struct blob_ref, room);

		if (!v)
			return arena_error(p->arena, p->err);
		if (p->refs.n)
			memcpy(v, p->refs.v, p->refs.n * sizeof(*v));
		p->refs.v = v;
		p->room = room;
	}
	p->refs.v[p->refs.n++] = *ref;
	return WEFT_OK;
}

/* Whether this member of a part is to go, and as what. */
static bool is_large(const struct blob_pass *p, const struct blob_field *f,
		     const struct object_member *m)
{
	if (!f)
		return false;
	if (f->enc == ENC_JSON)
		return m->raw.len > p->max;
	if (!yyjson_is_str(m->value))
		return false;
	return f->enc == ENC_B64 || yyjson_get_len(m->value) > p->max;
}

static int put_field(struct blob_pass *p, const struct blob_field *f,
		     const struct object_member *m)
{
	struct blob_note note = { .enc = f->enc, .field = f };
	struct weft_str bytes =
		f->enc == ENC_JSON ? m->raw : json_str(m->value);
	CLEANUP(arena_done) struct arena scratch;
	size_t n_decoded;
	char *decoded;
	int r;

	arena_init(&scratch, 0);
	if (f->is_prose)
		note.head = text_cut(bytes, HEAD_CHARS);
	if (f->enc == ENC_B64) {
		decoded = arena_alloc(&scratch, base64_bytes(bytes.len) + 1);
		if (!decoded)
			return arena_error(&scratch, p->err);
		if (base64_decode(bytes, decoded, &n_decoded))
			bytes = (struct weft_str){ decoded, n_decoded };
		else
			note.enc = ENC_TEXT;
	}
	r = p->place->put(p->place->ctx, bytes, &note.ref, p->err);
	if (r == WEFT_OK)
		r = keep_ref(p, &note.ref);
	buf_add_lit(&p->out, "\"blob\":");
	blob_note_write(&p->out, &note);
	return r;
}

static int pack_part(struct blob_pass *p, yyjson_val *part, struct weft_str raw)
{
	size_t start = p->out.len;
	struct object_member m;
	struct object_walk w;
	bool swapped = false;

	buf_add_c(&p->out, '{');
	object_walk_init(&w, part, raw);
	for (bool first = true; object_walk_next(&w, &m); first = false) {
		const struct blob_field *f = blob_field_named(part, m.name);

		if (!first)
			buf_add_c(&p->out, ',');
		if (!swapped && is_large(p, f, &m)) {
			int r = put_field(p, f, &m);

			if (r < 0)
				return r;
			swapped = true;
			continue;
		}
		buf_add_c(&p->out, '"');
		buf_add_str(&p->out, m.raw_name);
		buf_add_lit(&p->out, "\":");
		buf_add_str(&p->out, m.raw);
	}
	buf_add_c(&p->out, '}');
	if (!swapped && !p->out.error)
		p->out.len = start;
	return swapped;
}

int blob_pack(struct weft_str body, uint64_t max,
	      const struct blob_place *place, struct arena *a,
	      struct weft_str *ret, struct blob_refs *ret_refs,
	      struct weft_error *err)
{
	struct blob_pass p = {
		.swap = pack_part,
		.place = place,
		.arena = a,
		.err = err,
		.max = max,
	};
	struct weft_str packed = body;
	int r;

	buf_init(&p.out, 0);
	r = blob_pass_run(&p, body);
	if (r == WEFT_OK && p.n > 0) {
		buf_add_lit(&p.out, TAIL);
		buf_add_u64(&p.out, p.n);
		r = buf_error(&p.out, err);
		packed = r == WEFT_OK ? arena_str(a, buf_str(&p.out)) : body;
		if (!packed.ptr)
			r = arena_error(a, err);
	}
	buf_done(&p.out);
	if (r < 0)
		return r;
	*ret = packed;
	*ret_refs = p.refs;
	return WEFT_OK;
}

/* ---- listing ---- */

static int list_parts(struct blob_pass *p, yyjson_val *parts, bool nested)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(parts);
	yyjson_val *part;
	int r = WEFT_OK;

	while (r == WEFT_OK && (part = yyjson_arr_iter_next(&it))) {
		struct blob_note note;

		if (blob_note_read(part, &note) && note.readable)
			r = keep_ref(p, &note.ref);
		if (r == WEFT_OK && !nested &&
		    yyjson_equals_str(yyjson_obj_get(part, "type"),
				      "tool_result"))
			r = list_parts(p, yyjson_obj_get(part, "content"),
				       true);
	}
	return r;
}

int blob_list_parts(yyjson_val *parts, struct arena *a, struct blob_refs *ret,
		    struct weft_error *err)
{
	struct blob_pass p = { .arena = a, .err = err };
	int r = list_parts(&p, parts, false);

	if (r == WEFT_OK)
		*ret = p.refs;
	return r;
}

int blob_list(struct weft_str body, struct arena *a, struct blob_refs *ret,
	      struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o = { .doc = NULL };
	int r = body_object_parse(&o, body, a, err);

	*ret = (struct blob_refs){ 0 };
	if (r == WEFT_CORRUPT)
		return WEFT_OK;
	if (r != WEFT_OK)
		return r;
	return blob_list_parts(yyjson_obj_get(o.root, "parts"), a, ret, err);
}
