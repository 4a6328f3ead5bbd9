/* cmd_config.c - weft config */
#include <stdio.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	{ .name = "WHAT",
	  .about = "check: read the configuration and show every value in "
		   "force; schema: print a JSON Schema of the file, for "
		   "editors",
	  .values = "check|schema" },
};

static struct weft_str source_text(struct cli *c, const char *section,
				   const char *field,
				   const struct config_source *source)
{
	switch ((enum config_from)source->from) {
	case FROM_FILE:
		return arena_printf(&c->arena, "line %zu", source->line);
	case FROM_ENV:
		return config_env_name(section, field, &c->arena);
	case FROM_DEFAULT:
		break;
	}
	return STR("default");
}

/* One value in force. */
struct value {
	const char *section, *field;
	struct weft_str json, source;
};

static void print_value(struct cli *c, const struct value *v, bool first)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	if (!c->json) {
		out_printf(&c->out, "%s.%s = ", v->section, v->field);
		out_text(&c->out, v->json);
		out_style(&c->out, STYLE_DIM);
		out_printf(&c->out, "  (%s)", v->source.ptr);
		out_style(&c->out, STYLE_NONE);
		out_add(&c->out, STR("\n"));
		return;
	}
	buf_init(&b, 0);
	buf_printf(&b, "%s{\"field\":\"%s.%s\",\"value\":", first ? "" : ",",
		   v->section, v->field);
	buf_add_str(&b, v->json);
	buf_add_lit(&b, ",\"source\":");
	buf_add_json(&b, v->source);
	buf_add_c(&b, '}');
	out_add(&c->out, buf_str(&b));
}

static void print_values(struct cli *c)
{
	size_t i = 0;

	for (size_t s = 0; s < config_root.n_fields; s++) {
		const struct config_field *section = &config_root.fields[s];
		const struct config_object *o = section->object;

		for (size_t k = 0; k < o->n_fields; k++, i++) {
			const struct config_field *f = &o->fields[k];
			CLEANUP(buf_done) struct buf b = { 0 };
			struct value v = {
				section->name, f->name, { NULL, 0 }, { NULL, 0 }
			};

			if (f->again)
				continue;
			buf_init(&b, 0);
			config_write_value(&b, f,
					   (const char *)&c->config + f->at);
			v.json = buf_str(&b);
			v.source = source_text(c, section->name, f->name,
					       &c->config.sources[i]);
			print_value(c, &v, i == 0);
		}
	}
}

static void print_warning(struct cli *c, struct weft_str text, bool first)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	if (!c->json) {
		out_style(&c->out, STYLE_RED);
		out_add(&c->out, STR("warning: "));
		out_style(&c->out, STYLE_NONE);
		out_one_line(&c->out, text);
		out_add(&c->out, STR("\n"));
		return;
	}
	buf_init(&b, 0);
	if (!first)
		buf_add_c(&b, ',');
	buf_add_json(&b, text);
	out_add(&c->out, buf_str(&b));
}

static void print_warnings(struct cli *c)
{
	const struct name_list *lists[] = { &c->config.warnings,
					    &c->config.notes };
	bool first = true;

	if (c->json)
		out_add(&c->out, STR("],\"warnings\":["));
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		for (size_t i = 0; i < lists[k]->n; i++, first = false)
			print_warning(c, lists[k]->v[i], first);
	}
	if (c->json)
		out_add(&c->out, STR("]}\n"));
}

static void add_mistake(struct buf *b, const struct config_mistake *m)
{
	buf_add_lit(b, "{\"file\":");
	if (m->place.origin)
		buf_add_json(b, str_of(m->place.origin));
	else
		buf_add_lit(b, "null");
	buf_add_lit(b, ",\"line\":");
	if (m->place.line)
		buf_add_u64(b, m->place.line);
	else
		buf_add_lit(b, "null");
	buf_add_lit(b, ",\"field\":");
	buf_add_json(b, m->field);
	buf_add_lit(b, ",\"message\":");
	buf_add_json(b, m->message);
	buf_add_c(b, '}');
}

/* Everything that is wrong: as an answer for programs, and for people a line
 * each, the last of which is the error of the command. */
static int print_mistakes(struct cli *c)
{
	const struct config_mistake *v = c->config.mistakes;
	CLEANUP(buf_done) struct buf b = { 0 };
	size_t n = c->config.n_mistakes;

	buf_init(&b, 0);
	buf_add_lit(&b, "{\"file\":");
	buf_add_json(&b, str_of(c->config_file ? c->config_file : ""));
	buf_add_lit(&b, ",\"errors\":[");
	for (size_t i = 0; i < n && c->json; i++) {
		if (i)
			buf_add_c(&b, ',');
		add_mistake(&b, &v[i]);
	}
	buf_add_lit(&b, "]}\n");
	if (c->json) {
		out_add(&c->out, buf_str(&b));
		return fail(c->err, WEFT_INVALID, "%.*s",
			    STR_ARG(v[0].message));
	}
	for (size_t i = 0; i + 1 < n; i++) {
		buf_reset(&b);
		out_neutralise(&b, v[i].message);
		(void)fprintf(stderr, "weft: %s\n", buf_cstr(&b));
	}
	return fail(c->err, WEFT_INVALID, "%.*s", STR_ARG(v[n - 1].message));
}

static void print_file(struct cli *c)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_init(&b, 0);
	buf_add_lit(&b, "{\"file\":");
	if (c->config_file)
		buf_add_json(&b, str_of(c->config_file));
	else
		buf_add_lit(&b, "null");
	buf_add_lit(&b, ",\"values\":[");
	if (c->json)
		out_add(&c->out, buf_str(&b));
	else if (c->config_file)
		out_printf(&c->out, "# %s%s\n", c->config_file,
			   c->configured ? "" : " (there is none)");
}

/* A URL that names no store is an error; a store that cannot be where it says,
 * which the next machine may have, a warning. */
static int check_store_url(struct cli *c)
{
	struct weft_error place;
	const char *field = cli_url_field(c);
	int r;

	if (c->config.store_url.len == 0)
		return WEFT_OK;
	r = weft_check_url(c->config.store_url.ptr, &place, c->err);
	if (r < 0)
		return fail_prefix(c->err, r, "%s", field);
	if (place.code < 0)
		config_warn(&c->config, &c->arena,
			    arena_printf(&c->arena, "%s: %s", field,
					 place.message));
	return WEFT_OK;
}

static int run(struct cli *c)
{
	CLEANUP(buf_done) struct buf schema = { 0 };
	int r;

	if (strcmp(cli_arg(c, 0), "schema") == 0) {
		buf_init(&schema, 0);
		config_write_schema(&schema);
		out_add(&c->out, buf_str(&schema));
		return buf_error(&schema, c->err);
	}
	r = cli_read_config(c);
	if (r != WEFT_OK && c->config.n_mistakes)
		return print_mistakes(c);
	if (r == WEFT_OK)
		r = check_store_url(c);
	if (r != WEFT_OK)
		return r;
	if (c->config.store_url.len)
		c->config.store_url =
			str_of(cli_shown_url(c, c->config.store_url.ptr));
	print_file(c);
	print_values(c);
	print_warnings(c);
	return c->arena.failed ? arena_error(&c->arena, c->err) : WEFT_OK;
}

const struct command cmd_config = {
	.name = "config",
	.summary = "check the configuration",
	.about = "Reads the configuration and shows each value in force and "
		 "where it comes from: a line of the file, a variable of the "
		 "environment (WEFT_SECTION_FIELD), or the default. Every "
		 "mistake is an error that names line and field, with --json "
		 "in \"errors\"; what is not known, or will not do what it "
		 "seems to, is a warning; so is a store.url where no store can "
		 "be. Nothing is made, and no server is asked.\n\n"
		 "docs/ROUTING.md shows what to write for which use.",
	.example = "weft config check\n"
		   "WEFT_SESSION_DM_SCOPE=per-agent weft config check --json",
	ARGS(args),
	.run = run,
};
