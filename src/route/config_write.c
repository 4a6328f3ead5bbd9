/* config_write.c - a configuration as text, and what one may look like. */
#include "base/json.h"
#include "base/mem.h"
#include "route/config.h"

/* ---- values ---- */

static void write_word(struct buf *b, const char *values, uint32_t index)
{
	for (uint32_t i = 1; i < index && values; i++) {
		values = strchr(values, '|');
		values = values ? values + 1 : NULL;
	}
	if (!index || !values) {
		buf_add_lit(b, "null");
		return;
	}
	buf_add_c(b, '"');
	buf_add(b, values, strcspn(values, "|"));
	buf_add_c(b, '"');
}

static void write_bool(struct buf *b, uint32_t value)
{
	if (value == CONFIG_UNSET)
		buf_add_lit(b, "null");
	else
		buf_add_str(b,
			    value == CONFIG_TRUE ? STR("true") : STR("false"));
}

static void write_texts(struct buf *b, const struct config_texts *t)
{
	if (!t->given && t->n == 0) {
		buf_add_lit(b, "null");
		return;
	}
	buf_add_c(b, '[');
	for (size_t i = 0; i < t->n; i++) {
		if (i)
			buf_add_c(b, ',');
		buf_add_json(b, t->v[i]);
	}
	buf_add_c(b, ']');
}

static void write_links(struct buf *b, const struct config_list *l)
{
	const struct config_link *v = l->v;

	buf_add_c(b, '{');
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			buf_add_c(b, ',');
		buf_add_json(b, v[i].name);
		buf_add_c(b, ':');
		write_texts(b, &v[i].ids);
	}
	buf_add_c(b, '}');
}

static void write_object(struct buf *b, const struct config_object *o,
			 const char *base);

/*
 * Only what was given; what was not has the same meaning again.  Of an object
 * that begins with a word, such as a mode, that word decides.
 */
static bool is_set(const struct config_field *f, const void *at)
{
	const struct config_field *first;

	switch ((enum config_type)f->type) {
	case CONFIG_TEXT:
		return ((const struct weft_str *)at)->len > 0;
	case CONFIG_WORD:
	case CONFIG_BOOL:
		return *(const uint32_t *)at != 0;
	case CONFIG_TEXTS:
	case CONFIG_WORDS:
		return ((const struct config_texts *)at)->given != 0;
	case CONFIG_OBJECT:
		first = f->object->fields;
		return first->type != CONFIG_WORD ||
		       is_set(first, (const char *)at + first->at);
	default:
		return true;
	}
}

static void write_list(struct buf *b, const struct config_field *f,
		       const struct config_list *l)
{
	bool by_name = f->type == CONFIG_BY_NAME;
	const char *item = l->v;

	buf_add_c(b, by_name ? '{' : '[');
	for (size_t i = 0; i < l->n; i++, item += f->object->bytes) {
		const char *base = item;

		if (i)
			buf_add_c(b, ',');
		if (by_name) {
			buf_add_json(
				b,
				*(const struct weft_str *)(const void *)item);
			buf_add_c(b, ':');
			base += sizeof(struct weft_str);
		}
		write_object(b, f->object, base);
	}
	buf_add_c(b, by_name ? '}' : ']');
}

void config_write_value(struct buf *b, const struct config_field *f,
			const void *at)
{
	switch ((enum config_type)f->type) {
	case CONFIG_TEXT: {
		const struct weft_str *s = at;

		if (s->len)
			buf_add_json(b, *s);
		else
			buf_add_lit(b, "null");
		break;
	}
	case CONFIG_WORD:
		write_word(b, f->values, *(const uint32_t *)at);
		break;
	case CONFIG_NUMBER:
		buf_add_u64(b, *(const uint64_t *)at);
		break;
	case CONFIG_BOOL:
		write_bool(b, *(const uint32_t *)at);
		break;
	case CONFIG_TEXTS:
	case CONFIG_WORDS:
		write_texts(b, at);
		break;
	case CONFIG_OBJECT:
		if (is_set(f, at))
			write_object(b, f->object, at);
		else
			buf_add_lit(b, "null");
		break;
	case CONFIG_LIST:
	case CONFIG_BY_NAME:
		write_list(b, f, at);
		break;
	case CONFIG_LINKS:
		write_links(b, at);
		break;
	}
}

static void write_object(struct buf *b, const struct config_object *o,
			 const char *base)
{
	char before = '{';

	for (size_t i = 0; i < o->n_fields; i++) {
		const struct config_field *f = &o->fields[i];

		if (f->again || !is_set(f, base + f->at))
			continue;
		buf_add_c(b, before);
		buf_add_json(b, str_of(f->name));
		buf_add_c(b, ':');
		config_write_value(b, f, base + f->at);
		before = ',';
	}
	if (before == '{')
		buf_add_c(b, '{');
	buf_add_c(b, '}');
}

void config_write(struct buf *b, const struct config *c)
{
	write_object(b, &config_root, (const char *)c);
}

/* ---- the schema ---- */

/* One of some words, without braces. */
static void schema_words(struct buf *b, const char *values)
{
	buf_add_lit(b, "\"type\":\"string\",\"enum\":[");
	for (const char *p = values; *p;) {
		size_t n = strcspn(p, "|");

		buf_printf(b, "%s\"%.*s\"", p == values ? "" : ",", (int)n, p);
		p += n + (p[n] == '|');
	}
	buf_add_c(b, ']');
}

static void schema_object(struct buf *b, const struct config_object *o);

/* What the value of a field looks like, without braces. */
static void schema_type(struct buf *b, const struct config_field *f)
{
	switch ((enum config_type)f->type) {
	case CONFIG_TEXT:
		buf_add_lit(b, "\"type\":\"string\"");
		break;
	case CONFIG_WORD:
		schema_words(b, f->values);
		break;
	case CONFIG_NUMBER:
		buf_printf(b,
			   "\"type\":\"integer\",\"minimum\":%llu,"
			   "\"maximum\":%llu",
			   (unsigned long long)f->min,
			   (unsigned long long)f->max);
		break;
	case CONFIG_BOOL:
		buf_add_lit(b, "\"type\":\"boolean\"");
		break;
	case CONFIG_TEXTS:
		buf_add_lit(b, "\"type\":\"array\",\"items\":"
			       "{\"type\":\"string\"}");
		break;
	case CONFIG_WORDS:
		buf_add_lit(b, "\"type\":\"array\",\"items\":{");
		schema_words(b, f->values);
		buf_add_c(b, '}');
		break;
	case CONFIG_OBJECT:
		schema_object(b, f->object);
		break;
	case CONFIG_LIST:
		buf_add_lit(b, "\"type\":\"array\",\"items\":{");
		schema_object(b, f->object);
		buf_add_c(b, '}');
		break;
	case CONFIG_BY_NAME:
		buf_add_lit(b, "\"type\":\"object\",\"additionalProperties\":"
			       "{");
		schema_object(b, f->object);
		buf_add_c(b, '}');
		break;
	case CONFIG_LINKS:
		buf_add_lit(b, "\"type\":\"object\",\"additionalProperties\":"
			       "{\"type\":\"array\",\"items\":"
			       "{\"type\":\"string\"}}");
		break;
	}
}

static void schema_field(struct buf *b, const struct config_field *f)
{
	buf_add_json(b, str_of(f->name));
	buf_add_lit(b, ":{\"description\":");
	buf_add_json(b, str_of(f->about));
	buf_add_c(b, ',');
	schema_type(b, f);
	if (f->otherwise)
		buf_printf(b, ",\"default\":%s", f->otherwise);
	buf_add_c(b, '}');
}

static void schema_object(struct buf *b, const struct config_object *o)
{
	bool needed = false;

	buf_add_lit(b, "\"type\":\"object\",\"properties\":{");
	for (size_t i = 0; i < o->n_fields; i++) {
		if (i)
			buf_add_c(b, ',');
		schema_field(b, &o->fields[i]);
	}
	if (o->ignored)
		buf_printf(b,
			   ",\"%s\":{\"description\":\"for other programs; it "
			   "is not read\"}",
			   o->ignored);
	buf_add_lit(b, "},\"additionalProperties\":false");
	for (size_t i = 0; i < o->n_fields; i++) {
		if (!o->fields[i].needed)
			continue;
		buf_add_str(b, needed ? STR(",") : STR(",\"required\":["));
		buf_add_json(b, str_of(o->fields[i].name));
		needed = true;
	}
	if (needed)
		buf_add_c(b, ']');
}

/* The text with a line for each member, for people. */
static void add_pretty(struct buf *b, struct weft_str json)
{
	yyjson_doc *doc = json_parse_trusted(json, NULL, 0);
	size_t len = 0;
	char *text = yyjson_val_write_opts(yyjson_doc_get_root(doc),
					   YYJSON_WRITE_PRETTY_TWO_SPACES,
					   &json_alc, &len, NULL);

	if (text)
		buf_add(b, text, len);
	else
		b->error = WEFT_NO_MEMORY;
	buf_add_c(b, '\n');
	mem_free(text);
	yyjson_doc_free(doc);
}

void config_write_schema(struct buf *b)
{
	CLEANUP(buf_done) struct buf json = { 0 };

	buf_init(&json, MIB(1));
	buf_add_lit(&json, "{\"$schema\":"
			   "\"https://json-schema.org/draft/2020-12/schema\","
			   "\"title\":\"The configuration of Weft\",");
	schema_object(&json, &config_root);
	buf_add_c(&json, '}');
	if (json.error)
		b->error = json.error;
	else
		add_pretty(b, buf_str(&json));
}
