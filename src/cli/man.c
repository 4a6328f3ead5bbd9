/* man.c - man pages, from the same tables as --help. */
#include <ctype.h>
#include <stdio.h>

#include "cli/help.h"
#include "weft/weft.h"

/* Text for roff: what it would take for a request or a hyphen is escaped. */
static void text(struct out *o, struct weft_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		bool start = i == 0 || s.ptr[i - 1] == '\n';

		if (start && (s.ptr[i] == '.' || s.ptr[i] == '\''))
			out_add(o, STR("\\&"));
		if (s.ptr[i] == '\\')
			out_add(o, STR("\\e"));
		else if (s.ptr[i] == '-')
			out_add(o, STR("\\-"));
		else
			out_add(o, (struct weft_str){ &s.ptr[i], 1 });
	}
}

static void line(struct out *o, const char *s)
{
	text(o, str_of(s));
	out_add(o, STR("\n"));
}

static void title(struct out *o, const char *name, const char *summary)
{
	out_add(o, STR(".\\\" Made from the tables of the program.\n.TH "));
	for (const char *p = name; *p; p++)
		out_printf(o, "%c", toupper((unsigned char)*p));
	out_printf(o, " 1 \"\" \"weft %s\" \"Weft\"\n.SH NAME\n",
		   weft_version());
	text(o, str_of(name));
	out_add(o, STR(" \\- "));
	line(o, summary);
}

static void paragraphs(struct out *o, const char *about)
{
	while (*about) {
		const char *end = strstr(about, "\n\n");
		size_t n = end ? (size_t)(end - about) : strlen(about);

		text(o, (struct weft_str){ about, n });
		out_add(o, STR("\n"));
		if (end)
			out_add(o, STR(".PP\n"));
		about += end ? n + 2 : n;
	}
}

static void option(struct out *o, const struct opt *opt)
{
	out_add(o, STR(".TP\n\\fB"));
	if (opt->letter) {
		out_printf(o, "\\-%c", opt->letter);
		out_add(o, STR("\\fR, \\fB"));
	}
	out_add(o, STR("\\-\\-"));
	text(o, str_of(opt->name));
	out_add(o, STR("\\fR"));
	if (opt->takes) {
		out_add(o, opt->values ? STR(" ") : STR(" \\fI"));
		text(o, str_of(opt->values ? opt->values : opt->takes));
		out_add(o, STR("\\fR"));
	}
	out_add(o, STR("\n"));
	line(o, opt->about);
}

static void arguments(struct out *o, const struct command *c)
{
	if (c->n_args)
		out_add(o, STR(".SH ARGUMENTS\n"));
	for (size_t i = 0; i < c->n_args; i++) {
		out_add(o, STR(".TP\n\\fI"));
		text(o, str_of(c->args[i].name));
		out_add(o, STR("\\fR\n"));
		line(o, c->args[i].about);
	}
}

static void options(struct out *o, const struct command *c)
{
	out_add(o, STR(".SH OPTIONS\n"));
	for (size_t i = 0; c && i < c->n_opts; i++)
		option(o, &c->opts[i]);
	for (size_t i = 0; i < GLOBAL_OPTS; i++)
		option(o, &global_opts[i]);
}

static void exit_status(struct out *o)
{
	static const struct {
		const char *wire, *about;
		int status;
	} codes[] = {
#define ROW(name, value, wire, exit_status, http, about) \
	{ wire, about, exit_status },
		WEFT_CODES(ROW)
#undef ROW
	};

	out_add(o, STR(".SH EXIT STATUS\n"));
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		if (i == 0 || codes[i].status != codes[i - 1].status)
			out_printf(o, ".TP\n%d\n", codes[i].status);
		else
			out_add(o, STR(".br\n"));
		text(o, str_of(codes[i].wire));
		out_add(o, STR(": "));
		line(o, codes[i].about);
	}
}

static void man_command(struct out *o, const struct command *c)
{
	struct arena a;
	char name[64];

	arena_init(&a, 0);
	(void)snprintf(name, sizeof(name), "weft-%s", c->name);
	title(o, name, c->summary);
	out_add(o, STR(".SH SYNOPSIS\n"));
	text(o, opt_usage(c, &a));
	out_add(o, STR("\n.SH DESCRIPTION\n"));
	paragraphs(o, c->about);
	arguments(o, c);
	options(o, c);
	if (c->example) {
		out_add(o, STR(".SH EXAMPLES\n.nf\n"));
		line(o, c->example);
		out_add(o, STR(".fi\n"));
	}
	out_add(o, STR(".SH SEE ALSO\n.BR weft (1)\n"));
	arena_done(&a);
}

/* Variables and files that every command looks at. */
static void environment(struct out *o)
{
	static const struct {
		const char *name, *about;
	} variables[] = {
		{ "WEFT_STORE", "the store, unless there is --store" },
		{ "WEFT_CONFIG",
		  "the configuration, unless there is --config" },
		{ "WEFT_STORE_URL", "instead of store.url in the "
				    "configuration" },
		{ "WEFT_DEBUG", "1: the same as --debug" },
		{ "XDG_DATA_HOME", "where the default store is: "
				   "$XDG_DATA_HOME/weft, or "
				   "~/.local/share/weft" },
		{ "XDG_CONFIG_HOME", "where the configuration is: "
				     "$XDG_CONFIG_HOME/weft/config.json, or "
				     "~/.config/weft/config.json" },
		{ "NO_COLOR", "if it is not empty: no colours" },
	};

	out_add(o, STR(".SH ENVIRONMENT\n"));
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		out_printf(o, ".TP\n.B %s\n", variables[i].name);
		line(o, variables[i].about);
	}
	out_add(o, STR(".SH FILES\nThe configuration is a JSON object: "
		       "{\"store\":{\"url\":\"jsonl:/srv/weft\"}}.\n"
		       "If it is not there it is empty.\n"));
}

static void man_program(struct out *o)
{
	title(o, "weft", "keep conversations with agents, and give them back");
	out_add(o, STR(".SH SYNOPSIS\nweft COMMAND [OPTION]... "
		       "[ARGUMENT]...\n.SH DESCRIPTION\n"));
	paragraphs(o, "Weft keeps sessions: conversations between people, "
		      "agents and tools, each an append-only stream of "
		      "events. What it has acknowledged survives a power cut, "
		      "and nothing is ever changed in secret.\n\nA session is "
		      "named by its id, its key, an alias, its title, or the "
		      "beginning of its id; the first of these that fits "
		      "counts.");
	out_add(o, STR(".SH COMMANDS\n"));
	for (size_t i = 0; i < n_commands; i++) {
		if (commands[i]->hidden)
			continue;
		out_add(o, STR(".TP\n.BR weft\\-"));
		text(o, str_of(commands[i]->name));
		out_add(o, STR(" (1)\n"));
		line(o, commands[i]->summary);
	}
	options(o, NULL);
	exit_status(o);
	environment(o);
}

void man_print(struct out *o, const struct command *command)
{
	if (command)
		man_command(o, command);
	else
		man_program(o);
}
