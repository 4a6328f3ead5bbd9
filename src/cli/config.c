/*
 * config.c - which store is meant: option, environment, configuration, default.
 *
 * The configuration is a JSON object of sections: {"store":{"url":"..."}}.  A
 * field of it can be overridden by WEFT_SECTION_FIELD.  A file that is not
 * there is an empty configuration; one that is wrong is an error that names
 * file, line and field.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/near.h"
#include "cli/cli.h"

#define CONFIG_BYTES_MAX MIB(1)

/* Every field there is. */
static const struct config_field {
	const char *section, *name, *env;
} fields[] = {
	{ "store", "url", "WEFT_STORE_URL" },
};

/* A configuration file. */
struct config {
	struct cli *cli;
	const char *path;
	struct weft_str text;
	const char *values[ARRAY_LEN(fields)]; /* or NULL */
};

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* $XDG_..., or a directory below $HOME; NULL if there is neither. */
static const char *xdg(struct cli *c, const char *name, const char *below_home)
{
	const char *base = env(name), *home = env("HOME");

	/* The rule for these variables: what is not absolute does not count. */
	if (base && base[0] == '/')
		return base;
	return home ? arena_printf(&c->arena, "%s/%s", home, below_home).ptr :
		      NULL;
}

static size_t line_of(const struct config *f, const char *at)
{
	size_t line = 1;

	for (const char *p = f->text.ptr; p < at; p++)
		line += *p == '\n';
	return line;
}

/* ---- reading the file ---- */

static int fail_field(struct config *f, struct weft_str at, const char *problem,
		      struct weft_str name, const char *near)
{
	return fail(f->cli->err, WEFT_INVALID,
		    "%s: line %zu: %s \"%.*s\"%s%s%s", f->path,
		    line_of(f, at.ptr), problem, STR_ARG(name),
		    near ? "; did you mean \"" : "", near ? near : "",
		    near ? "\"?" : "");
}

static int config_value(struct config *f, size_t i, struct weft_str raw)
{
	struct weft_str value;
	char name[64];
	int r;

	(void)snprintf(name, sizeof(name), "%s.%s", fields[i].section,
		       fields[i].name);
	if (raw.ptr[0] != '"')
		return fail_field(f, raw, "expected a string for", str_of(name),
				  NULL);
	r = json_unescape((struct weft_str){ raw.ptr + 1, raw.len - 2 },
			  &f->cli->arena, &value, f->cli->err);
	if (r != WEFT_OK)
		return r;
	if (memchr(value.ptr, '\0', value.len))
		return fail_field(f, raw, "a NUL in", str_of(name), NULL);
	f->values[i] = arena_str(&f->cli->arena, value).ptr;
	return f->values[i] ? WEFT_OK :
			      arena_error(&f->cli->arena, f->cli->err);
}

static int config_section(struct config *f, struct weft_str section,
			  struct weft_str object)
{
	struct weft_str key, raw;
	size_t pos = 0;

	if (object.ptr[0] != '{')
		return fail_field(f, object, "expected an object for", section,
				  NULL);
	while (json_next_member(object, &pos, &key, &raw)) {
		const char *words[ARRAY_LEN(fields)];
		size_t n = 0, i = 0;
		int r;

		for (; i < ARRAY_LEN(fields); i++) {
			if (!str_eq(section, str_of(fields[i].section)))
				continue;
			if (str_eq(key, str_of(fields[i].name)))
				break;
			words[n++] = fields[i].name;
		}
		if (i == ARRAY_LEN(fields))
			return fail_field(f, key, "unknown field", key,
					  near_word(key, words, n));
		r = config_value(f, i, raw);
		if (r != WEFT_OK)
			return r;
	}
	return WEFT_OK;
}

static bool is_section(struct weft_str name)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (str_eq(name, str_of(fields[i].section)))
			return true;
	}
	return false;
}

static int config_sections(struct config *f)
{
	struct weft_str key, raw;
	size_t pos = 0;

	while (json_next_member(f->text, &pos, &key, &raw)) {
		const char *words[ARRAY_LEN(fields)];
		int r;

		for (size_t i = 0; i < ARRAY_LEN(fields); i++)
			words[i] = fields[i].section;
		if (!is_section(key))
			return fail_field(
				f, key, "unknown section", key,
				near_word(key, words, ARRAY_LEN(words)));
		r = config_section(f, key, raw);
		if (r != WEFT_OK)
			return r;
	}
	return WEFT_OK;
}

static int config_read(struct config *f)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_error *err = f->cli->err;
	char *text;
	int r;

	r = fs_read_whole(fs_real(), f->path, CONFIG_BYTES_MAX, &text,
			  &f->text.len);
	if (r == -ENOENT || r == -ENOTDIR)
		return WEFT_OK;
	if (r < 0)
		return fail_errno(err, r, "%s", f->path);
	f->text.ptr = text;
	r = json_parse(f->text, NULL, &doc, err);
	if (r != WEFT_OK)
		r = fail_prefix(err, WEFT_INVALID, "%s", f->path);
	else if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
		r = fail(err, WEFT_INVALID,
			 "%s: line 1: expected an object, got %s", f->path,
			 json_kind(yyjson_doc_get_root(doc)));
	else
		r = config_sections(f);
	mem_free(text);
	return r;
}

/* ---- the store ---- */

/* jsonl: and a path in which nothing means anything else. */
static const char *default_url(struct cli *c)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	const char *data = xdg(c, "XDG_DATA_HOME", ".local/share");

	if (!data)
		return NULL;
	buf_init(&b, SIZE_MAX);
	buf_add_lit(&b, "jsonl:");
	for (const char *p = data; *p; p++) {
		if (*p == '%' || *p == '?')
			buf_printf(&b, "%%%02X", (unsigned char)*p);
		else
			buf_add_c(&b, *p);
	}
	buf_add_lit(&b, "/weft");
	return arena_str(&c->arena, buf_str(&b)).ptr;
}

static const char *config_path(struct cli *c)
{
	const struct opt_given *given = &c->line.global[GLOBAL_CONFIG];
	const char *base;

	if (given->n)
		return given->v[0];
	if (env("WEFT_CONFIG"))
		return env("WEFT_CONFIG");
	base = xdg(c, "XDG_CONFIG_HOME", ".config");
	return base ? arena_printf(&c->arena, "%s/weft/config.json", base).ptr :
		      NULL;
}

static const char *choose_url(struct cli *c, const struct config *f,
			      const char **ret_from)
{
	const struct opt_given *given = &c->line.global[GLOBAL_STORE];

	*ret_from = "--store";
	if (given->n)
		return given->v[0];
	*ret_from = "WEFT_STORE";
	if (env("WEFT_STORE"))
		return env("WEFT_STORE");
	*ret_from = fields[0].env;
	if (env(fields[0].env))
		return env(fields[0].env);
	*ret_from = f->path;
	if (f->values[0])
		return f->values[0];
	*ret_from = "the default";
	return default_url(c);
}

int cli_configure(struct cli *c)
{
	struct config f = { .cli = c, .path = config_path(c) };
	const char *from;
	int r;

	/* Read also where it changes nothing: a bad one is always an error. */
	if (f.path) {
		r = config_read(&f);
		if (r != WEFT_OK)
			return r;
	}
	c->url = choose_url(c, &f, &from);
	if (c->arena.failed)
		return arena_error(&c->arena, c->err);
	if (!c->url)
		return fail(c->err, WEFT_USAGE,
			    "no store: $HOME is not set; use --store URL or "
			    "$WEFT_STORE");
	cli_debug(c, "configuration: %s", f.path ? f.path : "none");
	cli_debug(c, "store: %s (from %s)", c->url, from);
	return WEFT_OK;
}
