/* describe.c - the door describes itself, from the rows that it goes by. */
#include "api/api.h"

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
		[TYPE_LINE] = "line",       [TYPE_CHOICE] = "choice",
		[TYPE_INTEGER] = "integer", [TYPE_BOOLEAN] = "boolean",
		[TYPE_TIME] = "time",       [TYPE_OBJECT] = "object",
		[TYPE_ARRAY] = "array",     [TYPE_LINES] = "lines",
		[TYPE_MODEL] = "model",     [TYPE_REF] = "message",
		[TYPE_REFS] = "messages",   [TYPE_TEXT] = "text",
	};

	return names[type];
}

static const char *right_name(uint32_t right)
{
	static const char *const names[] = {
		[RIGHT_READ] = "read",
		[RIGHT_WRITE] = "write",
		[RIGHT_ADMIN] = "admin",
	};

	return names[right];
}

static void add_member(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, ",\"%s\":", name);
	encode_text_or_null(b, str_of(value));
}

static void encode_field(struct buf *b, const struct field *f)
{
	buf_add_lit(b, "{\"name\":");
	buf_add_json(b, str_of(f->name));
	add_member(b, "type", type_name(f->type));
	buf_add_lit(b, ",\"required\":");
	buf_add_str(b, f->required ? STR("true") : STR("false"));
	add_member(b, "values", f->values);
	add_member(b, "limit", f->limit);
	add_member(b, "about", f->about);
	buf_add_c(b, '}');
}

static int method_methods(struct call *c)
{
	const struct method *m;
	struct buf *b = &c->out;

	buf_add_lit(b, "{\"methods\":[");
	for (size_t i = 0; (m = method_at(i)); i++) {
		buf_add_str(b, i ? STR(",{\"name\":") : STR("{\"name\":"));
		buf_add_json(b, str_of(m->name));
		add_member(b, "right", right_name(m->right));
		add_member(b, "about", m->about);
		add_member(b, "answer", m->answer);
		buf_add_lit(b, ",\"fields\":[");
		for (size_t k = 0; k < m->n_fields; k++) {
			if (k > 0)
				buf_add_c(b, ',');
			encode_field(b, &m->fields[k]);
		}
		buf_add_lit(b, "]}");
	}
	buf_add_lit(b, "]}");
	return WEFT_OK;
}

/* ---- the rows of the table ---- */

static const struct method rows[] = {
	{ .name = "methods",
	  .about = "Describe every method: this page, as JSON.",
	  .answer = "`{\"methods\":[{\"name\",\"right\",\"about\",\"answer\","
		    "\"fields\":[{\"name\",\"type\",\"required\",\"values\","
		    "\"limit\",\"about\"}]}]}`",
	  .right = RIGHT_READ,
	  .run = method_methods },
};

const struct method_group methods_describe = METHOD_GROUP(rows);
