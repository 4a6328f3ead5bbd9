/* complete.c - completion for shells, from the same tables as --help. */
#include "cli/help.h"

/* "one|two" as words. */
static void words(struct out *o, const char *values)
{
	struct weft_str value;

	while (opt_next_value(&values, &value)) {
		out_add(o, value);
		if (*values)
			out_add(o, STR(" "));
	}
}

/* ---- bash ---- */

/* What to offer behind an option that takes something. */
static void bash_value(struct out *o, const char *command,
		       const struct opt *opt)
{
	if (opt->kind == OPT_SWITCH)
		return;
	out_printf(o, "\t%s:--%s) ", command, opt->name);
	if (opt->values) {
		out_add(o, STR("COMPREPLY=($(compgen -W '"));
		words(o, opt->values);
		out_add(o, STR("' -- \"$word\")); "));
	} else if (opt->kind == OPT_FILE) {
		out_add(o, STR("COMPREPLY=($(compgen -f -- \"$word\")); "));
	} else if (opt->kind == OPT_DIRECTORY) {
		out_add(o, STR("COMPREPLY=($(compgen -d -- \"$word\")); "));
	}
	out_add(o, STR("return ;;\n"));
}

static void bash_options(struct out *o, const struct opt *opts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (opts[i].letter)
			out_printf(o, " -%c", opts[i].letter);
		out_printf(o, " --%s", opts[i].name);
	}
}

static void bash_command(struct out *o, const struct command *c)
{
	out_printf(o, "\t%s) words='", c->name);
	for (size_t i = 0; i < c->n_args; i++) {
		if (c->args[i].values)
			words(o, c->args[i].values);
	}
	bash_options(o, c->opts, c->n_opts);
	bash_options(o, global_opts, GLOBAL_OPTS);
	out_add(o, STR("' ;;\n"));
}

void complete_bash(struct out *o)
{
	out_add(o, STR("# Completion for bash; made by 'weft completion "
		       "bash'.\n"
		       "_weft() {\n"
		       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before command= "
		       "words= i\n"
		       "\tbefore=${COMP_WORDS[COMP_CWORD-1]}\n"
		       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		       "\t\tcase ${COMP_WORDS[i]} in\n"
		       "\t\t--store | --config) ((i++)) ;;\n"
		       "\t\t-*) ;;\n"
		       "\t\t*) command=${COMP_WORDS[i]}; break ;;\n"
		       "\t\tesac\n"
		       "\tdone\n"
		       "\tCOMPREPLY=()\n"
		       "\tcase $command:$before in\n"));
	for (size_t i = 0; i < n_commands; i++) {
		for (size_t k = 0;
		     !commands[i]->hidden && k < commands[i]->n_opts; k++)
			bash_value(o, commands[i]->name, &commands[i]->opts[k]);
	}
	for (size_t k = 0; k < GLOBAL_OPTS; k++)
		bash_value(o, "*", &global_opts[k]);
	out_add(o, STR("\tesac\n\tcase $command in\n\t'') words='"));
	for (size_t i = 0; i < n_commands; i++) {
		if (!commands[i]->hidden)
			out_printf(o, "%s ", commands[i]->name);
	}
	bash_options(o, global_opts, GLOBAL_OPTS);
	out_add(o, STR("' ;;\n"));
	for (size_t i = 0; i < n_commands; i++) {
		if (!commands[i]->hidden)
			bash_command(o, commands[i]);
	}
	out_add(o, STR("\tesac\n"
		       "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
		       "}\n"
		       "complete -F _weft weft\n"));
}

/* ---- zsh ---- */

/* Text inside of a specification between single quotes. */
static void zsh_text(struct out *o, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			out_add(o, STR("'\\''"));
		else if (*s == '[' || *s == ']' || *s == ':' || *s == '\\')
			out_printf(o, "\\%c", *s);
		else
			out_printf(o, "%c", *s);
	}
}

static void zsh_value(struct out *o, const struct opt *opt)
{
	if (opt->kind == OPT_SWITCH)
		return;
	out_add(o, STR(":"));
	zsh_text(o, opt->takes);
	out_add(o, STR(":"));
	if (opt->values) {
		out_add(o, STR("("));
		words(o, opt->values);
		out_add(o, STR(")"));
	} else if (opt->kind == OPT_FILE) {
		out_add(o, STR("_files"));
	} else if (opt->kind == OPT_DIRECTORY) {
		out_add(o, STR("_files -/"));
	}
}

static void zsh_option(struct out *o, const struct opt *opt)
{
	const char *many = opt->many ? "*" : "";

	if (opt->letter) {
		out_printf(o, "\t\t'%s-%c[", many, opt->letter);
		zsh_text(o, opt->about);
		out_add(o, STR("]"));
		zsh_value(o, opt);
		out_add(o, STR("' \\\n"));
	}
	out_printf(o, "\t\t'%s--%s[", many, opt->name);
	zsh_text(o, opt->about);
	out_add(o, STR("]"));
	zsh_value(o, opt);
	out_add(o, STR("' \\\n"));
}

static void zsh_argument(struct out *o, const struct arg *arg, size_t i)
{
	if (arg->many)
		out_add(o, STR("\t\t'*:"));
	else
		out_printf(o, "\t\t'%zu:%s", i + 1, arg->optional ? ":" : "");
	zsh_text(o, arg->name);
	out_add(o, STR(":"));
	if (arg->values) {
		out_add(o, STR("("));
		words(o, arg->values);
		out_add(o, STR(")"));
	}
	out_add(o, STR("' \\\n"));
}

static void zsh_command(struct out *o, const struct command *c)
{
	out_printf(o, "\t%s)\n\t\t_arguments -S \\\n", c->name);
	for (size_t i = 0; i < c->n_opts; i++)
		zsh_option(o, &c->opts[i]);
	for (size_t i = 0; i < GLOBAL_OPTS; i++)
		zsh_option(o, &global_opts[i]);
	for (size_t i = 0; i < c->n_args; i++)
		zsh_argument(o, &c->args[i], i);
	out_add(o, STR("\t\t&& return 0 ;;\n"));
}

void complete_zsh(struct out *o)
{
	out_add(o, STR("#compdef weft\n"
		       "# Completion for zsh; made by 'weft completion zsh'.\n"
		       "local context state state_descr line\n"
		       "typeset -A opt_args\n"
		       "local -a commands\n"
		       "commands=(\n"));
	for (size_t i = 0; i < n_commands; i++) {
		if (commands[i]->hidden)
			continue;
		out_printf(o, "\t'%s:", commands[i]->name);
		zsh_text(o, commands[i]->summary);
		out_add(o, STR("'\n"));
	}
	out_add(o, STR(")\n_arguments -C \\\n"));
	for (size_t i = 0; i < GLOBAL_OPTS; i++)
		zsh_option(o, &global_opts[i]);
	out_add(o, STR("\t\t'1:command:->command' '*::argument:->argument' && "
		       "return 0\n"
		       "case $state in\n"
		       "command) _describe command commands ;;\n"
		       "argument)\n"
		       "\tcase $words[1] in\n"));
	for (size_t i = 0; i < n_commands; i++) {
		if (!commands[i]->hidden)
			zsh_command(o, commands[i]);
	}
	out_add(o, STR("\tesac ;;\nesac\n"));
}
