/* cmd_config.c - weft config */
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
		 "environment (WEFT_SECTION_FIELD), or the default. A mistake "
		 "is an error that names line and field; what is not known, "
		 "or will not do what it seems to, is a warning.\n\n"
		 "docs/ROUTING.md shows what to write for which use.",
	.example = "weft config check\n"
		   "WEFT_SESSION_DM_SCOPE=per-agent weft config check --json",
	ARGS(args),
	.run = run,
};
