/*
 * json.c - strict reading on top of yyjson.
 *
 * yyjson checks the grammar, UTF-8 and surrogates, on a copy that the document
 * owns.  It takes any depth and duplicate members, so both are looked for in
 * the finished tree.  Its values lie one behind the other, each container in
 * front of what it contains, so that one loop over them sees everything; a
 * stack of at most JSON_DEPTH_MAX ends says how deep it is.
 *
 * Long input is scanned for its depth first: "[[[[..." would otherwise become
 * a tree of many times its size before it is refused.
 */
#include "base/json.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#define PRESCAN_BYTES KIB(64)
#define PAIRWISE_MAX  16 /* members; a table is slower below */
#define NAME_SHOWN    64 /* characters of a name in a message */

static void *alc_malloc(void *ctx, size_t bytes)
{
	(void)ctx;
	return mem_alloc(bytes);
}

static void *alc_realloc(void *ctx, void *p, size_t old_bytes, size_t bytes)
{
	(void)ctx;
	(void)old_bytes;
	return mem_resize(p, bytes);
}

static void alc_free(void *ctx, void *p)
{
	(void)ctx;
	mem_free(p);
}

const yyjson_alc json_alc = {
	.malloc = alc_malloc,
	.realloc = alc_realloc,
	.free = alc_free,
};

/* A place in a text as people count it, from 1; columns are bytes. */
struct place {
	char text[64];
};

static struct place place_of(struct weft_str text, size_t at)
{
	const char *p = text.ptr;
	const char *end = p + (at < text.len ? at : text.len);
	size_t line = 1, column;
	const char *newline;
	struct place place;

	while (p < end && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		line++;
		p = newline + 1;
	}
	column = 1 + (size_t)(end - p);
	/* Whoever has a single line may be in the middle of a file: it knows
	 * which one it is. */
	if (text.len && memchr(text.ptr, '\n', text.len))
		(void)snprintf(place.text, sizeof(place.text),
			       "line %zu, column %zu", line, column);
	else
		(void)snprintf(place.text, sizeof(place.text), "column %zu",
			       column);
	return place;
}

/* True if half of a pair is escaped at `at`: \ud800 to \udfff. */
static bool is_surrogate(struct weft_str text, size_t at)
{
	const char *p = text.ptr + at;

	return text.len - at >= 4 && p[0] == '\\' && p[1] == 'u' &&
	       (p[2] | 0x20) == 'd' && (p[3] >= '8' || (p[3] | 0x20) >= 'a');
}

/* What is wrong with a string.  The place is that of the escape, or right
 * behind it, where the other half of a pair should be. */
static const char *string_reason(struct weft_str text, size_t at)
{
	if (!text_is_utf8(text))
		return "not UTF-8";
	if (at < text.len && (unsigned char)text.ptr[at] < 0x20)
		return "control character in a string";
	for (size_t back = 0; back <= 6 && back <= at && at < text.len;
	     back++) {
		if (is_surrogate(text, at - back))
			return "lone surrogate in a string";
	}
	return "invalid escape in a string";
}

/* yyjson's codes are variables, which a switch takes only from an optimizer. */
static const char *reason_of(struct weft_str text, const yyjson_read_err *e)
{
	const struct {
		yyjson_read_code code;
		const char *reason;
	} reasons[] = {
		{ YYJSON_READ_ERROR_EMPTY_CONTENT, "nothing there" },
		{ YYJSON_READ_ERROR_UNEXPECTED_CONTENT,
		  "something behind the value" },
		{ YYJSON_READ_ERROR_UNEXPECTED_END, "unexpected end" },
		{ YYJSON_READ_ERROR_JSON_STRUCTURE, "trailing comma" },
		{ YYJSON_READ_ERROR_INVALID_NUMBER, "invalid number" },
		{ YYJSON_READ_ERROR_LITERAL, "invalid word" },
	};

	if (e->code == YYJSON_READ_ERROR_INVALID_STRING)
		return string_reason(text, e->pos);
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].code == e->code)
			return reasons[i].reason;
	}
	if (str_starts(text, STR("\xef\xbb\xbf")))
		return "byte order mark";
	return "unexpected character";
}

static int fail_parse(struct weft_str text, const yyjson_read_err *e,
		      struct weft_error *err)
{
	struct place place;

	if (e->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fail_no_memory(err);
	place = place_of(text, e->pos);
	return fail(err, WEFT_INVALID, "not JSON: %s at %s", reason_of(text, e),
		    place.text);
}

/*
 * The string that starts at `i`: where it ends, or SIZE_MAX.  It does not end
 * before `from`.
 */
static size_t skip_string_from(struct weft_str text, size_t i, size_t from)
{
	while (from < text.len) {
		const char *quote =
			memchr(text.ptr + from, '"', text.len - from);
		size_t at, escapes = 0;

		if (!quote)
			break;
		at = (size_t)(quote - text.ptr);
		while (at - escapes > i + 1 &&
		       text.ptr[at - escapes - 1] == '\\')
			escapes++;
		if (escapes % 2 == 0)
			return at + 1;
		from = at + 1;
	}
	return SIZE_MAX;
}

static size_t skip_string(struct weft_str text, size_t i)
{
	return skip_string_from(text, i, i + 1);
}

/* Where `text` gets deeper than `max`, or SIZE_MAX; brackets need not match. */
static size_t find_too_deep(struct weft_str text, unsigned max)
{
	size_t depth = 0;

	for (size_t i = 0; i < text.len; i++) {
		switch (text.ptr[i]) {
		case '"':
			i = skip_string(text, i);
			if (i == SIZE_MAX)
				return SIZE_MAX;
			i--;
			break;
		case '[':
		case '{':
			if (++depth > max)
				return i;
			break;
		case ']':
		case '}':
			depth -= depth > 0;
			break;
		default:
			break;
		}
	}
	return SIZE_MAX;
}

static int fail_deep(struct weft_str text, unsigned max, struct weft_error *err)
{
	struct place place = place_of(text, find_too_deep(text, max));

	return fail(err, WEFT_LIMIT, "JSON more than %u levels deep at %s", max,
		    place.text);
}

/* One check of one document. */
struct check {
	yyjson_doc *doc;
	struct weft_str text;
	unsigned depth_max;
	struct weft_str *table; /* names of one large object, by hash */
	size_t table_room;
};

static void check_done(struct check *c)
{
	mem_free(c->table);
}

static int fail_twice(const struct check *c, yyjson_val *key,
		      struct weft_error *err)
{
	/* A string of the tree lies where it was in the text. */
	size_t at = (size_t)(yyjson_get_str(key) - c->doc->str_pool) - 1;
	struct place place = place_of(c->text, at);
	struct weft_str name = text_cut(json_str(key), NAME_SHOWN);

	return fail(err, WEFT_INVALID, "member \"%.*s\" twice at %s",
		    STR_ARG(name), place.text);
}

static yyjson_val *next_key(yyjson_val *key)
{
	return unsafe_yyjson_get_next(key + 1);
}

/* The first name that was there before, or NULL; n is PAIRWISE_MAX at most. */
static yyjson_val *find_twice_small(yyjson_val *object, size_t n)
{
	struct weft_str names[PAIRWISE_MAX];
	yyjson_val *key = unsafe_yyjson_get_first(object);

	for (size_t i = 0; i < n; i++, key = next_key(key)) {
		names[i] = json_str(key);
		for (size_t k = 0; k < i; k++) {
			if (str_eq(names[k], names[i]))
				return key;
		}
	}
	return NULL;
}

/* Put `name` into the table unless it is there already. */
static bool add_name(struct check *c, size_t room, struct weft_str name)
{
	size_t i = (size_t)hash_bytes(name.ptr, name.len) & (room - 1);

	for (; c->table[i].ptr; i = (i + 1) & (room - 1)) {
		if (str_eq(c->table[i], name))
			return false;
	}
	c->table[i] = name;
	return true;
}

static int check_large(struct check *c, yyjson_val *object, size_t n,
		       struct weft_error *err)
{
	yyjson_val *key = unsafe_yyjson_get_first(object);
	size_t room = 4 * PAIRWISE_MAX;

	while (room < 2 * n)
		room *= 2;
	if (room > c->table_room) {
		mem_free(c->table);
		c->table_room = 0;
		c->table = mem_alloc(room * sizeof(*c->table));
		if (!c->table)
			return fail_no_memory(err);
		c->table_room = room;
	}
	memset(c->table, 0, room * sizeof(*c->table));
	for (size_t i = 0; i < n; i++, key = next_key(key)) {
		if (!add_name(c, room, json_str(key)))
			return fail_twice(c, key, err);
	}
	return WEFT_OK;
}

static int check_names(struct check *c, yyjson_val *object,
		       struct weft_error *err)
{
	size_t n = yyjson_obj_size(object);
	yyjson_val *twice;

	if (n > PAIRWISE_MAX)
		return check_large(c, object, n, err);
	twice = find_twice_small(object, n);
	return twice ? fail_twice(c, twice, err) : WEFT_OK;
}

static int check_tree(struct check *c, struct weft_error *err)
{
	yyjson_val *ends[JSON_DEPTH_MAX];
	yyjson_val *end = unsafe_yyjson_get_next(c->doc->root);
	unsigned depth = 0;

	for (yyjson_val *v = c->doc->root; v < end; v++) {
		int r = WEFT_OK;

		if (!yyjson_is_ctn(v))
			continue;
		while (depth && v >= ends[depth - 1])
			depth--;
		if (depth == c->depth_max)
			return fail_deep(c->text, c->depth_max, err);
		ends[depth++] = unsafe_yyjson_get_next(v);
		if (yyjson_is_obj(v))
			r = check_names(c, v, err);
		if (r != WEFT_OK)
			return r;
	}
	return WEFT_OK;
}

/* yyjson's functions take a char * but do not write to it. */
static yyjson_doc *read_text(struct weft_str text, const yyjson_alc *alc,
			     yyjson_read_err *e)
{
	char *bytes;

	memcpy(&bytes, &text.ptr, sizeof(bytes));
	return yyjson_read_opts(bytes, text.len, YYJSON_READ_BIGNUM_AS_RAW, alc,
				e);
}

int json_parse(struct weft_str text, const struct json_limits *limits,
	       yyjson_doc **ret, struct weft_error *err)
{
	CLEANUP(check_done)
	struct check c = { .text = text, .depth_max = JSON_DEPTH_MAX };
	yyjson_read_err e;
	int r;

	if (limits && limits->bytes_max && text.len > limits->bytes_max)
		return fail(err, WEFT_LIMIT,
			    "JSON has %zu bytes, the limit is %zu", text.len,
			    limits->bytes_max);
	if (limits && limits->depth_max && limits->depth_max < JSON_DEPTH_MAX)
		c.depth_max = limits->depth_max;
	if (text.len == 0)
		return fail(err, WEFT_INVALID, "not JSON: nothing there");
	if (text.len > PRESCAN_BYTES &&
	    find_too_deep(text, c.depth_max) != SIZE_MAX)
		return fail_deep(text, c.depth_max, err);
	c.doc = read_text(text, &json_alc, &e);
	if (!c.doc)
		return fail_parse(text, &e, err);
	r = check_tree(&c, err);
	if (r != WEFT_OK) {
		yyjson_doc_free(c.doc);
		return r;
	}
	*ret = c.doc;
	return WEFT_OK;
}

void json_doc_cleanup(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}

yyjson_doc *json_parse_trusted(struct weft_str text, void *pool,
			       size_t pool_bytes)
{
	yyjson_read_err e = { .code = YYJSON_READ_ERROR_MEMORY_ALLOCATION };
	yyjson_doc *doc = NULL;
	yyjson_alc alc;

	/* The copy alone needs that much: do not try in vain. */
	if (pool_bytes > text.len &&
	    yyjson_alc_pool_init(&alc, pool, pool_bytes))
		doc = read_text(text, &alc, &e);
	if (!doc && e.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		doc = read_text(text, &json_alc, &e);
	return doc;
}

const char *json_kind(yyjson_val *v)
{
	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_OBJ:
		return "object";
	case YYJSON_TYPE_ARR:
		return "array";
	case YYJSON_TYPE_STR:
		return "string";
	case YYJSON_TYPE_BOOL:
		return "boolean";
	case YYJSON_TYPE_NUM:
	case YYJSON_TYPE_RAW: /* a number too large for the others */
		return "number";
	case YYJSON_TYPE_NULL:
		return "null";
	default:
		return "nothing";
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static size_t skip_space(struct weft_str text, size_t i)
{
	while (i < text.len && is_space(text.ptr[i]))
		i++;
	return i;
}

static size_t skip_container(struct weft_str text, size_t i)
{
	size_t depth = 0;

	while (i < text.len) {
		switch (text.ptr[i]) {
		case '"':
			i = skip_string(text, i);
			continue;
		case '[':
		case '{':
			depth++;
			break;
		case ']':
		case '}':
			if (--depth == 0)
				return i + 1;
			break;
		default:
			break;
		}
		i++;
	}
	return SIZE_MAX;
}

/* The value that starts at `i`: where it ends, or SIZE_MAX. */
static size_t skip_value(struct weft_str text, size_t i)
{
	size_t start = i;

	if (i >= text.len)
		return SIZE_MAX;
	switch (text.ptr[i]) {
	case '"':
		return skip_string(text, i);
	case '[':
	case '{':
		return skip_container(text, i);
	default:
		break;
	}
	while (i < text.len && !is_space(text.ptr[i]) && text.ptr[i] != ',' &&
	       text.ptr[i] != ']' && text.ptr[i] != '}')
		i++;
	return i > start ? i : SIZE_MAX;
}

/* Go to the next item of a container: true if something is there. */
static bool find_item(struct weft_str text, size_t *i, char open)
{
	bool first = *i == 0;

	*i = skip_space(text, *i);
	if (*i >= text.len || text.ptr[*i] != (first ? open : ','))
		return false;
	*i = skip_space(text, *i + 1);
	return *i < text.len;
}

static bool take_value(struct weft_str text, size_t i, size_t *pos,
		       struct weft_str *raw)
{
	size_t end = skip_value(text, i);

	if (end == SIZE_MAX)
		return false;
	*raw = (struct weft_str){ text.ptr + i, end - i };
	*pos = end;
	return true;
}

bool json_next_member(struct weft_str text, size_t *pos, struct weft_str *key,
		      struct weft_str *raw)
{
	size_t i = *pos, end;
	struct weft_str name;

	if (!find_item(text, &i, '{') || text.ptr[i] != '"')
		return false;
	end = skip_string(text, i);
	if (end == SIZE_MAX)
		return false;
	name = (struct weft_str){ text.ptr + i + 1, end - i - 2 };
	i = skip_space(text, end);
	if (i >= text.len || text.ptr[i] != ':')
		return false;
	if (!take_value(text, skip_space(text, i + 1), pos, raw))
		return false;
	*key = name;
	return true;
}

bool json_next_element(struct weft_str text, size_t *pos, struct weft_str *raw)
{
	size_t i = *pos;

	return find_item(text, &i, '[') && take_value(text, i, pos, raw);
}

struct weft_str json_member(struct weft_str text, const char *name)
{
	struct weft_str key, raw, wanted = str_of(name);
	size_t pos = 0;

	while (json_next_member(text, &pos, &key, &raw)) {
		if (str_eq(key, wanted))
			return raw;
	}
	return (struct weft_str){ NULL, 0 };
}

/* The bytes of a string: what it says is never longer than they are. */
static struct weft_str raw_string(const yyjson_doc *doc, struct weft_str text,
				  yyjson_val *v)
{
	/* A string of the tree lies where it was in the text. */
	size_t start = (size_t)(yyjson_get_str(v) - doc->str_pool) - 1;
	size_t end =
		skip_string_from(text, start, start + 1 + yyjson_get_len(v));

	return (struct weft_str){ text.ptr + start, end - start };
}

struct weft_str json_raw_value(const yyjson_doc *doc, struct weft_str text,
			       yyjson_val *key)
{
	yyjson_val *value = yyjson_obj_iter_get_val(key);
	struct weft_str raw;
	size_t i;

	if (yyjson_is_str(value))
		return raw_string(doc, text, value);
	raw = raw_string(doc, text, key);
	i = skip_space(text, (size_t)(raw.ptr - text.ptr) + raw.len);
	i = skip_space(text, i + 1); /* behind the colon */
	return (struct weft_str){ text.ptr + i, skip_value(text, i) - i };
}

void buf_add_minified(struct buf *b, struct weft_str json)
{
	size_t i = skip_space(json, 0);

	while (i < json.len && !b->error) {
		size_t start = i;

		while (i < json.len && !is_space(json.ptr[i])) {
			size_t end = i + 1;

			if (json.ptr[i] == '"')
				end = skip_string(json, i);
			i = end == SIZE_MAX ? json.len : end;
		}
		buf_add(b, json.ptr + start, i - start);
		i = skip_space(json, i);
	}
}

void buf_add_one_line(struct buf *b, struct weft_str json)
{
	if (json.len && (memchr(json.ptr, '\n', json.len) ||
			 memchr(json.ptr, '\r', json.len)))
		buf_add_minified(b, json);
	else
		buf_add_str(b, json);
}

void buf_add_val(struct buf *b, yyjson_val *v)
{
	size_t len;
	char *text;

	if (b->error)
		return;
	text = yyjson_val_write_opts(v, YYJSON_WRITE_NOFLAG, &json_alc, &len,
				     NULL);
	if (!text) {
		b->error = WEFT_NO_MEMORY;
		return;
	}
	buf_add(b, text, len);
	mem_free(text);
}
