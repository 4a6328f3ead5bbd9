/*
 * config.c - the configuration file, and which store is meant: option,
 * environment, configuration, default.
 *
 * A file that is not there is an empty configuration; one that is wrong is an
 * error that names file, line and field.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"

#define CONFIG_BYTES_MAX MIB(1)

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

/* Blot out what lies between two places of a text. */
static void blot(char *from, const char *to)
{
	for (; from < to; from++)
		*from = '*';
}

const char *cli_shown_url(struct cli *c, const char *url)
{
	struct weft_str copy = arena_str(&c->arena, str_of(url));
	char *text, *p;

	if (!copy.ptr)
		return "";
	text = arena_alloc(&c->arena, copy.len + 1);
	if (!text)
		return "";
	memcpy(text, copy.ptr, copy.len + 1);
	p = strstr(text, "//");
	if (p) {
		char *at = strrchr(p, '@');
		char *colon = strchr(p + 2, ':');

		if (at && colon && colon < at)
			blot(colon + 1, at);
	}
	for (p = text; (p = strstr(p, "password=")); p += 9)
		blot(p + 9, p + 9 + strcspn(p + 9, "&"));
	return text;
}

const char *cli_url_field(struct cli *c)
{
	if (env("WEFT_STORE_URL"))
		return "WEFT_STORE_URL";
	return arena_printf(&c->arena, "%s: line %zu: store.url",
			    c->config_file,
			    config_line(&c->config, "store", "url"))
		.ptr;
}

static const char *choose_url(struct cli *c)
{
	const struct opt_given *given = &c->line.global[GLOBAL_STORE];

	c->url_from = "--store";
	if (given->n)
		return given->v[0];
	c->url_from = "WEFT_STORE";
	if (env("WEFT_STORE"))
		return env("WEFT_STORE");
	c->url_from = cli_url_field(c);
	if (c->config.store_url.len)
		return c->config.store_url.ptr;
	c->url_from = "the default";
	return default_url(c);
}

/* ---- the configuration ---- */

int cli_read_config(struct cli *c)
{
	struct config_input in = { .file = config_path(c), .env = env };
	char *text = NULL;
	int r = -ENOENT;

	c->config_file = in.file;
	if (in.file)
		r = fs_read_whole(fs_real(), in.file, CONFIG_BYTES_MAX, &text,
				  &in.text.len);
	c->configured = r == 0;
	if (r == 0)
		in.text.ptr = text;
	else if (r == -EFBIG)
		return fail(c->err, WEFT_LIMIT,
			    "%s: expected a configuration of at most %zu bytes",
			    in.file, (size_t)CONFIG_BYTES_MAX);
	else if (r != -ENOENT && r != -ENOTDIR)
		return fail_errno(c->err, r, "%s", in.file);
	r = config_read(&c->config, &in, &c->arena, c->err);
	mem_free(text);
	/* Who names a file means one that is there. */
	if (r == WEFT_OK && !c->configured && c->line.global[GLOBAL_CONFIG].n)
		config_warn(&c->config, &c->arena,
			    arena_printf(&c->arena,
					 "%s: there is no such file, so that "
					 "nothing is configured",
					 c->config_file));
	for (char **v = environ; r == WEFT_OK && *v; v++) {
		if (strncmp(*v, "WEFT_", 5) == 0)
			config_check_variable(
				&c->config,
				(struct weft_str){ *v, strcspn(*v, "=") },
				&c->arena);
	}
	return r;
}

/* The first is enough to make people look at all of them. */
static void print_warnings(const struct cli *c)
{
	CLEANUP(buf_done) struct buf line = { 0 }, safe = { 0 };
	size_t n = c->config.warnings.n;

	if (n == 0)
		return;
	buf_init(&line, KIB(16));
	buf_init(&safe, KIB(64));
	buf_add_str(&line, c->config.warnings.v[0]);
	if (n > 1)
		buf_printf(&line, "; 'weft config check' has %zu more", n - 1);
	out_neutralise(&safe, buf_str(&line));
	(void)fprintf(stderr, "weft: warning: %s\n", buf_cstr(&safe));
}

int cli_hand_over(struct cli *c)
{
	CLEANUP(buf_done) struct buf text = { 0 };
	int r;

	buf_init(&text, 0);
	config_write(&text, &c->config);
	r = buf_error(&text, c->err);
	if (r != WEFT_OK)
		return r;
	return weft_configure(c->store, text.ptr, text.len, c->err);
}

int cli_configure(struct cli *c)
{
	/* Read also where it changes nothing: a bad one is always an error. */
	int r = cli_read_config(c);

	if (r != WEFT_OK)
		return r;
	print_warnings(c);
	c->url = choose_url(c);
	if (c->arena.failed)
		return arena_error(&c->arena, c->err);
	if (!c->url)
		return fail(c->err, WEFT_USAGE,
			    "no store: $HOME is not set; use --store URL or "
			    "$WEFT_STORE");
	cli_debug(c, "configuration: %s%s",
		  c->config_file ? c->config_file : "none",
		  c->config_file && !c->configured ? " (there is none)" : "");
	cli_debug(c, "store: %s (from %s)", cli_shown_url(c, c->url),
		  c->url_from);
	return WEFT_OK;
}
