/* help.c - --help. */
#include "cli/help.h"

#include <stdio.h>

#define LABEL_COLUMNS 24
#define WIDTH_MAX     80

static unsigned width_of(const struct out *o)
{
	return o->width < WIDTH_MAX ? o->width : WIDTH_MAX;
}

/* One paragraph, broken into lines; the first one goes on from `column`. */
static void wrap(struct out *o, struct weft_str text, unsigned indent,
		 unsigned column)
{
	while (text.len > 0) {
		const char *space = memchr(text.ptr, ' ', text.len);
		size_t n = space ? (size_t)(space - text.ptr) : text.len;

		if (column > indent && column + 1 + n > width_of(o)) {
			out_printf(o, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			out_add(o, STR(" "));
			column++;
		}
		out_add(o, (struct weft_str){ text.ptr, n });
		column += (unsigned)n;
		text = str_skip(text, space ? n + 1 : n);
	}
	out_add(o, STR("\n"));
}

/* Paragraphs, with an empty line between them. */
static void paragraphs(struct out *o, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t n = end ? (size_t)(end - text) : strlen(text);

		wrap(o, (struct weft_str){ text, n }, 0, 0);
		if (end)
			out_add(o, STR("\n"));
		text += end ? n + 2 : n;
	}
}

static void entry(struct out *o, struct weft_str label, const char *about)
{
	out_printf(o, "  %-*.*s", LABEL_COLUMNS - 2, STR_ARG(label));
	if (label.len > LABEL_COLUMNS - 4)
		out_printf(o, "\n%*s", LABEL_COLUMNS, "");
	wrap(o, str_of(about), LABEL_COLUMNS, LABEL_COLUMNS);
}

static void heading(struct out *o, const char *text)
{
	out_style(o, STYLE_BOLD);
	out_printf(o, "\n%s\n", text);
	out_style(o, STYLE_NONE);
}

static void option(struct out *o, const struct opt *opt)
{
	char label[128];
	char letter[8] = "    ";
	const char *takes = opt->values ? opt->values : opt->takes;

	if (opt->letter)
		(void)snprintf(letter, sizeof(letter), "-%c, ", opt->letter);
	(void)snprintf(label, sizeof(label), "%s--%s%s%s", letter, opt->name,
		       opt->takes ? " " : "", opt->takes ? takes : "");
	entry(o, str_of(label), opt->about);
}

static void options(struct out *o, const char *title, const struct opt *opts,
		    size_t n)
{
	if (n == 0)
		return;
	heading(o, title);
	for (size_t i = 0; i < n; i++)
		option(o, &opts[i]);
}

static void examples(struct out *o, const char *example)
{
	if (!example)
		return;
	heading(o, "Examples");
	while (*example) {
		const char *end = strchr(example, '\n');
		size_t n = end ? (size_t)(end - example) : strlen(example);

		out_add(o, STR("  "));
		out_add(o, (struct weft_str){ example, n });
		out_add(o, STR("\n"));
		example += end ? n + 1 : n;
	}
}

static void help_command(struct out *o, const struct command *c)
{
	struct arena a;

	arena_init(&a, 0);
	out_printf(o, "weft %s - %s\n\nUsage: ", c->name, c->summary);
	out_add(o, opt_usage(c, &a));
	out_add(o, STR("\n\n"));
	paragraphs(o, c->about);
	if (c->n_args)
		heading(o, "Arguments");
	for (size_t i = 0; i < c->n_args; i++)
		entry(o, str_of(c->args[i].name), c->args[i].about);
	options(o, "Options", c->opts, c->n_opts);
	options(o, "Options of every command", global_opts, GLOBAL_OPTS);
	examples(o, c->example);
	arena_done(&a);
}

static void help_program(struct out *o)
{
	out_add(o, STR("weft - keeps every conversation with agents, and gives "
		       "it back\n\nUsage: weft COMMAND [OPTION]... "
		       "[ARGUMENT]...\n"));
	heading(o, "Commands");
	for (size_t i = 0; i < n_commands; i++) {
		if (!commands[i]->hidden)
			entry(o, str_of(commands[i]->name),
			      commands[i]->summary);
	}
	options(o, "Options of every command", global_opts, GLOBAL_OPTS);
	out_add(o, STR("\n'weft COMMAND --help' says more about a command.\n"));
}

void help_print(struct out *o, const struct command *command)
{
	if (command)
		help_command(o, command);
	else
		help_program(o);
}
