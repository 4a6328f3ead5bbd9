/* config_read.c - read a configuration by its tables. */
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "base/near.h"
#include "base/text.h"
#include "route/config.h"
#include "route/norm.h"

#define TEXT_BYTES_MAX 4096
#define VALUE_SHOWN    64 /* characters of a wrong value in a message */
#define PATH_BYTES     200
#define WORDS_MAX      16

/* One text that is being read. */
struct reader {
	struct config *config;
	const char *origin;   /* the file or the variable, or NULL */
	struct weft_str text; /* for the numbers of lines; empty: none */
	struct arena *a;
	struct weft_error *err;
	char path[PATH_BYTES]; /* "dispatch.rules[2].when" */
	size_t path_len;
	/* Lines are counted on from the last place that was asked for. */
	size_t counted, line;
	struct weft_error why; /* what `err` is, until all is read */
};

/* ---- where we are ---- */

static size_t line_of(struct reader *r, const char *at)
{
	size_t end;

	if (!r->text.len)
		return 0;
	end = (size_t)(at - r->text.ptr);
	if (end < r->counted)
		r->counted = r->line = 0;
	for (; r->counted < end; r->counted++)
		r->line += r->text.ptr[r->counted] == '\n';
	return r->line + 1;
}

/* "FILE: line 7: ", or "$WEFT_SESSION_DM_SCOPE: " */
static struct weft_str where(struct reader *r, struct weft_str at)
{
	const char *origin = r->origin ? r->origin : "";
	const char *colon = r->origin ? ": " : "";

	if (!r->text.len)
		return arena_printf(r->a, "%s%s", origin, colon);
	return arena_printf(r->a, "%s%sline %zu: ", origin, colon,
			    line_of(r, at.ptr));
}

/* Go down to a member or an element; returns what path_leave wants back. */
static size_t path_enter(struct reader *r, struct weft_str name)
{
	size_t before = r->path_len;
	int n = snprintf(r->path + before, PATH_BYTES - before, "%s%.*s",
			 before ? "." : "", STR_ARG(text_cut(name, 64)));

	if (n > 0)
		r->path_len = before + (size_t)n < PATH_BYTES ?
				      before + (size_t)n :
				      PATH_BYTES - 1;
	return before;
}

static size_t path_enter_index(struct reader *r, size_t i)
{
	size_t before = r->path_len;
	int n = snprintf(r->path + before, PATH_BYTES - before, "[%zu]", i + 1);

	if (n > 0)
		r->path_len = before + (size_t)n < PATH_BYTES ?
				      before + (size_t)n :
				      PATH_BYTES - 1;
	return before;
}

static void path_leave(struct reader *r, size_t before)
{
	r->path_len = before;
	r->path[before] = '\0';
}

/* ---- what is wrong ---- */

static struct weft_str kind_of(struct weft_str raw, struct arena *a)
{
	switch (raw.ptr[0]) {
	case '{':
		return STR("an object");
	case '[':
		return STR("an array");
	case '"':
		return raw.len <= VALUE_SHOWN ? raw : STR("a string");
	default:
		return arena_str(a, text_cut(raw, VALUE_SHOWN));
	}
}

static int fail_value(struct reader *r, struct weft_str raw,
		      const char *expected)
{
	struct weft_str found = kind_of(raw, r->a), at = where(r, raw);

	return fail(r->err, WEFT_INVALID, "%.*s%s: expected %s, found %.*s",
		    STR_ARG(at), r->path, expected, STR_ARG(found));
}

/* "; did you mean "this"?", or all that there are. */
static struct weft_str known_words(struct reader *r, const char *const *words,
				   size_t n, const char *near)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	if (near)
		return arena_printf(r->a, "; did you mean \"%s\"?", near);
	buf_init(&b, KIB(1));
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i ? "|" : "; there are only ", words[i]);
	return arena_str(r->a, buf_str(&b));
}

static void warn_unknown(struct reader *r, const struct config_object *o,
			 struct weft_str key)
{
	const char *words[WORDS_MAX];
	struct weft_str at = where(r, key), known;
	size_t n = 0;

	for (; n < o->n_fields && n < WORDS_MAX; n++)
		words[n] = o->fields[n].name;
	known = known_words(r, words, n, near_word(key, words, n));
	key = text_cut(key, VALUE_SHOWN);
	config_warn(r->config, r->a,
		    arena_printf(r->a, "%.*sunknown %s \"%s%s%.*s\"%.*s",
				 STR_ARG(at), r->path_len ? "field" : "section",
				 r->path, r->path_len ? "." : "", STR_ARG(key),
				 STR_ARG(known)));
}

/* What was wrong with a value is noted, and the rest is read. */
static int go_on(struct reader *r, int e)
{
	struct config_mistake m = {
		.place = { r->origin, r->text.len ? r->line + 1 : 0 },
		.field = { r->path, r->path_len },
		.message = str_of(r->why.message),
	};

	if (e != WEFT_INVALID)
		return e;
	config_add_mistake(r->config, r->a, &m);
	return WEFT_OK;
}

/* ---- values ---- */

/* All texts here are names: short, and of one line. */
static int check_line(struct reader *r, struct weft_str raw, struct weft_str s)
{
	int e = text_check_line(s, TEXT_BYTES_MAX, r->path, r->err);
	struct weft_str at = where(r, raw);

	return e == WEFT_OK ?
		       e :
		       fail_prefix(r->err, WEFT_INVALID, "%.*s",
				   (int)(at.len < 2 ? 0 : at.len - 2), at.ptr);
}

static int read_text(struct reader *r, struct weft_str raw,
		     struct weft_str *ret)
{
	struct weft_str s;
	int e;

	if (raw.ptr[0] != '"')
		return fail_value(r, raw, "a string");
	e = json_unescape((struct weft_str){ raw.ptr + 1, raw.len - 2 }, r->a,
			  &s, r->err);
	if (e != WEFT_OK)
		return e;
	s = norm_trim(s);
	e = check_line(r, raw, s);
	if (e != WEFT_OK)
		return e;
	*ret = arena_str(r->a, s);
	return ret->ptr ? WEFT_OK : arena_error(r->a, r->err);
}

/* Which of "one|two" it is, from 1; 0 if none. */
static uint32_t word_index(const char *values, struct weft_str s)
{
	struct weft_str rest = str_of(values);

	for (uint32_t i = 1; rest.len; i++) {
		const char *bar = memchr(rest.ptr, '|', rest.len);
		size_t n = bar ? (size_t)(bar - rest.ptr) : rest.len;

		if (str_eq(s, (struct weft_str){ rest.ptr, n }))
			return i;
		rest = str_skip(rest, bar ? n + 1 : n);
	}
	return 0;
}

static int fail_word(struct reader *r, struct weft_str raw, const char *values)
{
	char expected[200];

	(void)snprintf(expected, sizeof(expected), "one of %s", values);
	return fail_value(r, raw, expected);
}

static int read_word(struct reader *r, const struct config_field *f,
		     struct weft_str raw, struct weft_str *ret, uint32_t *index)
{
	struct weft_str text = { NULL, 0 };
	int e;

	if (raw.ptr[0] != '"')
		return fail_word(r, raw, f->values);
	e = read_text(r, raw, &text);
	if (e != WEFT_OK)
		return e;
	*ret = norm_clean(text, r->a);
	*index = word_index(f->values, *ret);
	return *index ? WEFT_OK : fail_word(r, raw, f->values);
}

static int read_number(struct reader *r, const struct config_field *f,
		       struct weft_str raw, uint64_t *ret)
{
	char expected[100];
	uint64_t n;

	if (str_to_u64(raw, f->max, &n) && n >= f->min) {
		*ret = n;
		return WEFT_OK;
	}
	(void)snprintf(expected, sizeof(expected), "a number from %llu to %llu",
		       (unsigned long long)f->min, (unsigned long long)f->max);
	return fail_value(r, raw, expected);
}

static int read_bool(struct reader *r, struct weft_str raw, uint32_t *ret)
{
	if (str_eq(raw, STR("true")))
		*ret = CONFIG_TRUE;
	else if (str_eq(raw, STR("false")))
		*ret = CONFIG_FALSE;
	else
		return fail_value(r, raw, "true or false");
	return WEFT_OK;
}

static size_t count_elements(struct weft_str raw)
{
	struct weft_str element, key;
	size_t pos = 0, n = 0;

	if (raw.ptr[0] == '[') {
		while (json_next_element(raw, &pos, &element))
			n++;
	} else {
		while (json_next_member(raw, &pos, &key, &element))
			n++;
	}
	return n;
}

/* Whether a word was probably meant to be one of "one|two". */
static bool is_near(const char *values, struct weft_str word, struct arena *a)
{
	const char *words[WORDS_MAX];
	struct weft_str rest = str_of(values);
	size_t n = 0;

	for (; rest.len && n < WORDS_MAX; n++) {
		const char *bar = memchr(rest.ptr, '|', rest.len);
		size_t len = bar ? (size_t)(bar - rest.ptr) : rest.len;

		words[n] = arena_str(a, (struct weft_str){ rest.ptr, len }).ptr;
		if (!words[n])
			return true;
		rest = str_skip(rest, bar ? len + 1 : len);
	}
	return near_word(word, words, n) != NULL;
}

/*
 * One of several words.  A word that other programs may know is left out, with
 * a warning; one that is mistyped must not be.  *ret_n is 0 or 1.
 */
static int read_one_of(struct reader *r, const struct config_field *f,
		       struct weft_str raw, struct weft_str *ret, size_t *ret_n)
{
	struct weft_str text, at;
	uint32_t index;
	int e;

	*ret_n = 1;
	if (raw.ptr[0] != '"')
		return fail_word(r, raw, f->values);
	e = read_text(r, raw, &text);
	if (e != WEFT_OK)
		return e;
	text = norm_clean(text, r->a);
	if (word_index(f->values, text) || is_near(f->values, text, r->a))
		return read_word(r, f, raw, ret, &index);
	at = where(r, raw);
	raw = kind_of(raw, r->a);
	config_warn(r->config, r->a,
		    arena_printf(
			    r->a, "%.*s%s: %.*s is left out; there are only %s",
			    STR_ARG(at), r->path, STR_ARG(raw), f->values));
	*ret_n = 0;
	return WEFT_OK;
}

/* An array of strings; with `f` of words. */
static int read_texts(struct reader *r, const struct config_field *f,
		      struct weft_str raw, struct config_texts *ret)
{
	struct weft_str element = raw, *v;
	size_t pos = 0, n = 0, one = 1;
	bool wrong = false;
	int e = WEFT_OK;

	if (raw.ptr[0] != '[')
		return fail_value(r, raw, "an array of strings");
	v = ARENA_ARRAY(r->a, struct weft_str, count_elements(raw) + 1);
	if (!v)
		return arena_error(r->a, r->err);
	*ret = (struct config_texts){ .v = v, .given = 1 };
	for (; e == WEFT_OK && json_next_element(raw, &pos, &element); n++) {
		size_t before = path_enter_index(r, n);

		e = f ? read_one_of(r, f, element, &v[ret->n], &one) :
			read_text(r, element, &v[ret->n]);
		ret->n += one;
		wrong |= e != WEFT_OK;
		e = go_on(r, e);
		path_leave(r, before);
	}
	/* Nothing left is not what was meant: it would put all people
	 * together. */
	if (e == WEFT_OK && f && n && ret->n == 0 && !wrong)
		e = fail_word(r, element, f->values);
	return e;
}

/* ---- structs ---- */

static int read_object(struct reader *r, const struct config_object *o,
		       struct weft_str raw, void *to);

static int read_key(struct reader *r, struct weft_str key, struct weft_str *ret)
{
	int e = json_unescape(key, r->a, ret, r->err);

	if (e == WEFT_OK)
		e = check_line(r, key, norm_trim(*ret));
	if (e == WEFT_OK)
		*ret = arena_str(r->a, *ret);
	return e != WEFT_OK ? e :
	       ret->ptr     ? WEFT_OK :
			      arena_error(r->a, r->err);
}

static int read_links(struct reader *r, struct weft_str raw,
		      struct config_list *ret)
{
	struct config_link *v;
	struct weft_str key, value;
	size_t pos = 0;
	int e = WEFT_OK;

	if (raw.ptr[0] != '{')
		return fail_value(r, raw, "an object of names and their ids");
	v = ARENA_ARRAY(r->a, struct config_link, count_elements(raw) + 1);
	if (!v)
		return arena_error(r->a, r->err);
	*ret = (struct config_list){ .v = v, .given = 1 };
	while (e == WEFT_OK && json_next_member(raw, &pos, &key, &value)) {
		size_t before = path_enter(r, key);

		v[ret->n].place =
			(struct config_place){ r->origin, line_of(r, key.ptr) };
		e = read_key(r, key, &v[ret->n].name);
		if (e == WEFT_OK)
			e = read_texts(r, NULL, value, &v[ret->n].ids);
		e = go_on(r, e);
		ret->n++;
		path_leave(r, before);
	}
	return e;
}

/* Structs from an array, or from an object by their names. */
static int read_list(struct reader *r, const struct config_field *f,
		     struct weft_str raw, struct config_list *ret)
{
	const struct config_object *o = f->object;
	bool by_name = f->type == CONFIG_BY_NAME;
	struct weft_str key = { NULL, 0 }, value;
	size_t pos = 0;
	char *v;
	int e = WEFT_OK;

	if (ret->given)
		return fail_value(r, raw, "nothing, as it is given twice");
	if (raw.ptr[0] != (by_name ? '{' : '['))
		return fail_value(r, raw, by_name ? "an object" : "an array");
	v = arena_zero(r->a, count_elements(raw) + 1, o->bytes);
	if (!v)
		return arena_error(r->a, r->err);
	*ret = (struct config_list){ .v = v, .given = 1 };
	while (e == WEFT_OK &&
	       (by_name ? json_next_member(raw, &pos, &key, &value) :
			  json_next_element(raw, &pos, &value))) {
		char *item = v + ret->n * o->bytes;
		size_t before = by_name ? path_enter(r, key) :
					  path_enter_index(r, ret->n);

		if (by_name) {
			e = read_key(r, key, (struct weft_str *)(void *)item);
			item += sizeof(struct weft_str);
		}
		if (e == WEFT_OK)
			e = read_object(r, o, value, item);
		e = go_on(r, e);
		ret->n++;
		path_leave(r, before);
	}
	return e;
}

static int read_value(struct reader *r, const struct config_field *f,
		      struct weft_str raw, char *base)
{
	void *to = base + f->at;
	struct weft_str ignored;

	switch ((enum config_type)f->type) {
	case CONFIG_TEXT:
		return read_text(r, raw, to);
	case CONFIG_WORD:
		return read_word(r, f, raw, &ignored, to);
	case CONFIG_NUMBER:
		return read_number(r, f, raw, to);
	case CONFIG_BOOL:
		return read_bool(r, raw, to);
	case CONFIG_TEXTS:
		return read_texts(r, NULL, raw, to);
	case CONFIG_WORDS:
		return read_texts(r, f, raw, to);
	case CONFIG_OBJECT:
		return read_object(r, f->object, raw, to);
	case CONFIG_LIST:
	case CONFIG_BY_NAME:
		return read_list(r, f, raw, to);
	case CONFIG_LINKS:
		return read_links(r, raw, to);
	}
	return WEFT_OK;
}

static const struct config_field *find_field(const struct config_object *o,
					     struct weft_str name)
{
	for (size_t i = 0; i < o->n_fields; i++) {
		if (str_eq(name, str_of(o->fields[i].name)))
			return &o->fields[i];
	}
	return NULL;
}

/* What a struct has before it is read. */
static int set_defaults(struct reader *r, const struct config_object *o,
			char *base)
{
	int e = WEFT_OK;

	for (size_t i = 0; i < o->n_fields && e == WEFT_OK; i++) {
		const struct config_field *f = &o->fields[i];

		if (f->type == CONFIG_OBJECT)
			e = set_defaults(r, f->object, base + f->at);
		else if (f->otherwise)
			e = read_value(r, f, str_of(f->otherwise), base);
		/* A default is not something that was given. */
		if (f->type == CONFIG_WORDS)
			((struct config_texts *)(void *)(base + f->at))->given =
				0;
	}
	return e;
}

/* Where the value of `section`.`f` was found. */
static void note_source(struct reader *r, const struct config_field *f,
			struct config_source source)
{
	size_t i = 0;

	for (size_t s = 0; s < config_root.n_fields; s++) {
		const struct config_object *o = config_root.fields[s].object;

		for (size_t k = 0; k < o->n_fields; k++, i++) {
			if (&o->fields[k] == f && i < CONFIG_SOURCES_MAX)
				r->config->sources[i] = source;
		}
	}
}

size_t config_line(const struct config *c, const char *section,
		   const char *field)
{
	size_t i = 0;

	for (size_t s = 0; s < config_root.n_fields; s++) {
		const struct config_field *f = &config_root.fields[s];

		for (size_t k = 0; k < f->object->n_fields; k++, i++) {
			if (strcmp(f->name, section) == 0 &&
			    strcmp(f->object->fields[k].name, field) == 0)
				return c->sources[i].line;
		}
	}
	return 0;
}

static int read_member(struct reader *r, const struct config_object *o,
		       struct weft_str key, struct weft_str raw, void *to)
{
	const struct config_field *f = find_field(o, key);
	struct config_source source;
	size_t before;
	int e;

	if (!f) {
		if (!o->ignored || !str_eq(key, str_of(o->ignored)))
			warn_unknown(r, o, key);
		return WEFT_OK;
	}
	if (str_eq(raw, STR("null")))
		return WEFT_OK;
	source = (struct config_source){ r->text.len ? FROM_FILE : FROM_ENV,
					 line_of(r, key.ptr) };
	before = path_enter(r, key);
	e = go_on(r, read_value(r, f, raw, to));
	path_leave(r, before);
	note_source(r, f, source);
	return e;
}

/* A field without which an object is of no use. */
static int fail_missing(struct reader *r, struct weft_str object,
			const char *name)
{
	struct weft_str found = json_member(object, name);
	size_t before = path_enter(r, str_of(name));
	struct weft_str at = where(r, object);
	int e = found.len ? fail_value(r, found, "a text that is not empty") :
			    fail(r->err, WEFT_INVALID,
				 "%.*s%s: expected a text, found nothing",
				 STR_ARG(at), r->path);

	/* One that could not be read is not missing. */
	e = go_on(r, e);
	path_leave(r, before);
	return e;
}

/* Note where a struct comes from, for what is said of it later. */
static void note_place(struct reader *r, const struct config_object *o,
		       struct weft_str raw, char *to)
{
	if (o->place)
		*(struct config_place *)(void *)(to + o->place) =
			(struct config_place){ r->origin, line_of(r, raw.ptr) };
}

static int read_object(struct reader *r, const struct config_object *o,
		       struct weft_str raw, void *to)
{
	struct weft_str key, value;
	size_t pos = 0;
	int e = WEFT_OK;

	if (raw.ptr[0] != '{')
		return fail_value(r, raw, "an object");
	if (o->bytes) {
		e = set_defaults(r, o, to);
		if (e != WEFT_OK)
			return e;
	}
	note_place(r, o, raw, to);
	while (e == WEFT_OK && json_next_member(raw, &pos, &key, &value))
		e = read_member(r, o, key, value, to);
	for (size_t i = 0; i < o->n_fields && e == WEFT_OK; i++) {
		const struct config_field *f = &o->fields[i];
		const struct weft_str *s = (void *)((char *)to + f->at);

		if (f->needed && s->len == 0)
			e = fail_missing(r, raw, f->name);
	}
	return e;
}

/* ---- the whole ---- */

/* What is no JSON says its line itself, unless it is the only one. */
static int fail_file(struct reader *r, int code)
{
	bool one = !r->text.len || !memchr(r->text.ptr, '\n', r->text.len);

	if (code == WEFT_NO_MEMORY || (!r->origin && !one))
		return code;
	return fail_prefix(r->err, WEFT_INVALID, "%s%s%s",
			   r->origin ? r->origin : "",
			   r->origin && one ? ": " : "", one ? "line 1" : "");
}

static int read_file(struct reader *r)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_str raw = norm_trim(r->text), at;
	int e = json_parse(r->text, NULL, &doc, r->err);

	if (e != WEFT_OK)
		return fail_file(r, e);
	if (raw.ptr[0] != '{') {
		at = where(r, raw);
		return fail(r->err, WEFT_INVALID,
			    "%.*sexpected an object, found %s", STR_ARG(at),
			    json_kind(yyjson_doc_get_root(doc)));
	}
	return read_object(r, &config_root, raw, r->config);
}

struct weft_str config_env_name(const char *section, const char *field,
				struct arena *a)
{
	struct weft_str name = arena_printf(a, "WEFT_%s_%s", section, field);
	char *p = arena_alloc(a, name.len + 1);

	if (!p || !name.ptr)
		return STR("");
	for (size_t i = 0; i <= name.len; i++) {
		char c = name.ptr[i];

		p[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
	}
	return (struct weft_str){ p, name.len };
}

/* Whether the value of a variable is the text itself, and no JSON. */
static bool is_plain(const struct config_field *f)
{
	return f->type == CONFIG_TEXT || f->type == CONFIG_WORD;
}

static int read_variable(struct reader *r, const struct config_field *f,
			 struct weft_str value)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(buf_done) struct buf quoted = { 0 };
	size_t before;
	int e;

	buf_init(&quoted, MIB(1));
	if (is_plain(f)) {
		buf_add_json(&quoted, value);
		e = buf_error(&quoted, r->err);
		value = buf_str(&quoted);
	} else {
		e = json_parse(value, NULL, &doc, r->err);
		value = norm_trim(value);
		/* What does not even begin like JSON is of the wrong kind. */
		if (e == WEFT_INVALID && value.len && !strchr("[{", *value.ptr))
			e = WEFT_OK;
		if (e != WEFT_OK)
			e = fail_prefix(r->err, e, "%s: %s.%s", r->origin,
					r->path, f->name);
	}
	if (e != WEFT_OK)
		return e;
	/* It takes the place of what the file says. */
	if (f->type == CONFIG_LIST || f->type == CONFIG_BY_NAME)
		((struct config_list *)(void *)((char *)r->config + f->at))
			->given = 0;
	before = path_enter(r, str_of(f->name));
	e = read_value(r, f, value, (char *)r->config);
	path_leave(r, before);
	note_source(r, f, (struct config_source){ FROM_ENV, 0 });
	return e;
}

static int read_environment(struct reader *r,
			    const char *(*env)(const char *name))
{
	int e = WEFT_OK;

	for (size_t s = 0; s < config_root.n_fields; s++) {
		const struct config_field *section = &config_root.fields[s];
		const struct config_object *o = section->object;
		size_t before = path_enter(r, str_of(section->name));

		for (size_t k = 0; k < o->n_fields && e == WEFT_OK; k++) {
			struct weft_str name = config_env_name(
				section->name, o->fields[k].name, r->a);
			const char *value = name.len ? env(name.ptr) : NULL;

			if (!value)
				continue;
			r->origin = arena_printf(r->a, "$%s", name.ptr).ptr;
			e = go_on(r, read_variable(r, &o->fields[k],
						   str_of(value)));
		}
		path_leave(r, before);
	}
	return e;
}

/* The first mistake is the error, and says how many there are. */
static int fail_mistakes(const struct config *c, struct weft_error *err)
{
	struct weft_str first = c->mistakes[0].message;

	return c->n_mistakes == 1 ?
		       fail(err, WEFT_INVALID, "%.*s", STR_ARG(first)) :
		       fail(err, WEFT_INVALID, "%.*s (and %zu more)",
			    STR_ARG(first), c->n_mistakes - 1);
}

int config_read(struct config *c, const struct config_input *in,
		struct arena *a, struct weft_error *err)
{
	struct reader r = { .config = c, .a = a };
	int e;

	r.err = &r.why;
	*c = (struct config){ 0 };
	e = set_defaults(&r, &config_root, (char *)c);
	if (e == WEFT_OK && in->text.ptr) {
		r.origin = in->file;
		r.text = in->text;
		e = go_on(&r, read_file(&r));
	}
	if (e == WEFT_OK && in->env) {
		r.text = (struct weft_str){ NULL, 0 };
		e = read_environment(&r, in->env);
	}
	if (e == WEFT_OK)
		config_settle(c, in->file, a);
	if (e != WEFT_OK && err)
		*err = r.why;
	if (e == WEFT_OK && a->failed)
		e = arena_error(a, err);
	return e == WEFT_OK && c->n_mistakes ? fail_mistakes(c, err) : e;
}
