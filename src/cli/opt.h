/*
 * opt.h - what a command takes, as a table, and the command line read by it.
 *
 * Parsing, --help, man pages and completion all come from the same tables.
 */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include "base/arena.h"

enum opt_kind {
	OPT_SWITCH, /* takes nothing */
	OPT_TEXT,
	OPT_NUMBER, /* 0 to 2^53 - 1 */
	OPT_FILE,   /* text that completes as a file */
	OPT_DIRECTORY
};

struct opt {
	const char *name;   /* "last" for --last */
	const char *takes;  /* what follows, "N"; NULL for a switch */
	const char *about;  /* one sentence without a full stop */
	const char *values; /* "weft|text", or NULL: anything */
	uint8_t kind;       /* enum opt_kind */
	uint8_t many;       /* may be given more than once */
	uint8_t required;   /* must be given */
	char letter;        /* 'f' for -f, or 0 */
};

struct arg {
	const char *name; /* "SESSION" */
	const char *about;
	const char *values; /* "add|move|remove", or NULL */
	uint8_t optional;
	uint8_t many; /* the last one only */
};

/* What a command does with a store. */
enum store_use {
	STORE_USE_NONE,
	STORE_USE_READ,
	STORE_USE_WRITE,  /* one that is there */
	STORE_USE_REPAIR, /* also if it cannot be opened */
	STORE_USE_CREATE  /* and makes it if there is none */
};

struct cli;

struct command {
	const char *name;
	const char *summary; /* for lists: "show a session" */
	const char *about;   /* paragraphs, with an empty line between them */
	const char *example; /* lines of a shell, or NULL */
	const struct opt *opts;
	size_t n_opts;
	const struct arg *args;
	size_t n_args;
	uint8_t store;      /* enum store_use */
	const char *writes; /* "add|set": it only reads unless one of these
			       comes first; NULL: it does what `store` says */
	uint8_t hidden;
	/* WEFT_OK or a code, with its message in c->err. */
	int (*run)(struct cli *c);
};

#define OPTS(list) .opts = (list), .n_opts = ARRAY_LEN(list)
#define ARGS(list) .args = (list), .n_args = ARRAY_LEN(list)

/* Options that every command has. */
enum {
	GLOBAL_STORE,
	GLOBAL_CONFIG,
	GLOBAL_JSON,
	GLOBAL_DEBUG,
	GLOBAL_HELP,
	GLOBAL_VERSION,
	GLOBAL_OPTS
};
extern const struct opt global_opts[GLOBAL_OPTS];

/* All commands there are (main.c), by name. */
extern const struct command *const commands[];
extern const size_t n_commands;
const struct command *command_find(const char *name);

/* How often an option was given, and with what. */
struct opt_given {
	const char **v;
	size_t n;
};

struct parsed {
	const struct command *command; /* NULL: none was named */
	struct opt_given global[GLOBAL_OPTS];
	struct opt_given *own; /* by the command's table */
	const char **args;
	size_t n_args;
};

/*
 * Read a command line.  Options may stand anywhere; "--" ends them.  Errors
 * are WEFT_USAGE and say what to type instead.
 */
int opt_parse(int argc, char **argv, struct arena *a, struct parsed *ret,
	      struct weft_error *err);

/* Whether the arguments fit what the command takes. */
int opt_check_args(const struct parsed *p, struct weft_error *err);

/* The usage line of a command: "weft show [OPTION]... SESSION". */
struct weft_str opt_usage(const struct command *c, struct arena *a);

/* Step through the words of "one|two": false at the end. */
bool opt_next_value(const char **values, struct weft_str *ret);
/* What a command line wants of a store. */
enum store_use opt_store_use(const struct parsed *p);

#endif
