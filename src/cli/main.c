/* main.c - weft: a table of commands. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"

/* clang-format off */
const struct command *const commands[] = {
	&cmd_new,
	&cmd_append,
	&cmd_history,
	&cmd_show,
	&cmd_message,
	&cmd_list,
	&cmd_search,
	&cmd_tail,
	&cmd_rename,
	&cmd_set,
	&cmd_agent,
	&cmd_alias,
	&cmd_pin,
	&cmd_unpin,
	&cmd_delete,
	&cmd_restore,
	&cmd_redact,
	&cmd_erase,
	&cmd_reclaim,
	&cmd_purge,
	&cmd_todo,
	&cmd_memory,
	&cmd_usage,
	&cmd_lease,
	&cmd_fork,
	&cmd_tree,
	&cmd_compact,
	&cmd_truncate,
	&cmd_turn,
	&cmd_cleanup,
	&cmd_clear,
	&cmd_undo,
	&cmd_redo,
	&cmd_markers,
	&cmd_verify,
	&cmd_repair,
	&cmd_reindex,
	&cmd_collect,
	&cmd_stats,
	&cmd_backup,
	&cmd_move,
	&cmd_bench,
	&cmd_route,
	&cmd_reset,
	&cmd_config,
	&cmd_help,
	&cmd_completion,
	&cmd_man,
	&cmd_api_doc,
};
/* clang-format on */

const size_t n_commands = ARRAY_LEN(commands);

uint64_t cli_number(const struct cli *c, size_t opt, uint64_t otherwise)
{
	uint64_t n = otherwise;

	if (cli_has(c, opt))
		(void)str_to_u64(str_of(cli_opt(c, opt)), UINT64_MAX, &n);
	return n;
}

void cli_debug(const struct cli *c, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (!c->debug)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *p = text; *p; p++)
		*p = (unsigned char)*p < 0x20 ? '?' : *p;
	(void)fprintf(stderr, "weft: debug: %s\n", text);
}

/* ---- the store ---- */

static int open_with(struct cli *c, uint32_t flags)
{
	struct weft_open_options options;
	sigset_t all, before;
	int r;

	weft_open_options_init(&options, sizeof(options));
	options.flags = flags;
	/* Signals are for this thread, not for those that begin here. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = weft_open(c->url, &options, &c->store, c->err);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int cli_open_as(struct cli *c, enum store_use use)
{
	int r;

	if (use == STORE_USE_NONE)
		return WEFT_OK;
	r = cli_configure(c);
	if (r != WEFT_OK)
		return r;
	r = open_with(c, use == STORE_USE_CREATE ? 0 : WEFT_OPEN_NO_CREATE);
	/* A store that opens may be mended while others use it. */
	if (r == WEFT_CORRUPT && use == STORE_USE_REPAIR) {
		cli_debug(c, "%s; mending that first", c->err->message);
		r = open_with(c, WEFT_OPEN_REPAIR);
	}
	/* Whoever only reads needs no right to write. */
	if (r == WEFT_READ_ONLY && use == STORE_USE_READ) {
		cli_debug(c, "%s; opening it for reading only",
			  c->err->message);
		r = open_with(c, WEFT_OPEN_READ_ONLY);
	}
	if (r == WEFT_NOT_FOUND && strncmp(c->url, "memory:", 7) != 0) {
		char text[sizeof(c->err->message)];

		(void)snprintf(text, sizeof(text), "%s", c->err->message);
		r = fail(c->err, r, "%.400s; 'weft new' makes one", text);
	}
	/* A mistake in the URL: say where it is written. */
	return r == WEFT_INVALID ? fail_prefix(c->err, r, "%s", c->url_from) :
				   r;
}

/* ---- one run ---- */

static void print_error(bool json, const struct weft_error *err)
{
	CLEANUP(buf_done) struct buf text = { 0 }, safe = { 0 };

	buf_init(&text, KIB(16));
	buf_init(&safe, KIB(64));
	if (json) {
		buf_printf(&text, "{\"error\":{\"code\":\"%s\",\"message\":",
			   weft_code_name(err->code));
		buf_add_json(&text, str_of(err->message));
		buf_add_lit(&text, "}}");
		out_neutralise_json(&safe, buf_str(&text));
	} else {
		buf_printf(&text, "weft: %s", err->message);
		out_neutralise(&safe, buf_str(&text));
	}
	(void)fprintf(stderr, "%s\n", buf_cstr(&safe));
}

static int run_command(struct cli *c)
{
	struct weft_error closing = { 0 };
	int r = opt_check_args(&c->line, c->err);

	if (r == WEFT_OK)
		r = cli_open_as(c, opt_store_use(&c->line));
	if (r == WEFT_OK)
		r = c->line.command->run(c);
	/* What was acknowledged is safe whatever this says. */
	if (weft_close(c->store, &closing) != WEFT_OK)
		(void)fprintf(stderr, "weft: closing the store: %s\n",
			      closing.message);
	return r;
}

static int run_line(struct cli *c)
{
	const struct parsed *p = &c->line;

	if (p->global[GLOBAL_VERSION].n) {
		out_printf(&c->out, "weft %s\n", weft_version());
		return WEFT_OK;
	}
	if (p->global[GLOBAL_HELP].n) {
		help_print(&c->out, p->command);
		return WEFT_OK;
	}
	if (!p->command)
		return fail(c->err, WEFT_USAGE,
			    "which command? 'weft --help' lists them");
	return run_command(c);
}

/* Also where the command line cannot be read: an error must know it. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	const char *debug = getenv("WEFT_DEBUG");
	struct weft_error err = { 0 }, flush_err = { 0 };
	struct cli c = { .err = &err, .json = wants_json(argc, argv) };
	int r, flushed;

	/* A reader that goes away is an answer of write(), not our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	arena_init(&c.arena, 0);
	out_init(&c.out, STDOUT_FILENO);
	r = opt_parse(argc, argv, &c.arena, &c.line, &err);
	if (r == WEFT_OK) {
		c.json = c.line.global[GLOBAL_JSON].n > 0;
		c.debug = c.line.global[GLOBAL_DEBUG].n > 0 ||
			  (debug && strcmp(debug, "1") == 0);
		r = run_line(&c);
	}
	flushed = out_flush(&c.out, &flush_err);
	if (r == WEFT_OK && flushed != WEFT_OK) {
		r = flushed;
		err = flush_err;
	}
	if (r != WEFT_OK)
		print_error(c.json, &err);
	out_done(&c.out);
	arena_done(&c.arena);
	return r == WEFT_OK ? c.exit_status : weft_code_exit_status(r);
}
