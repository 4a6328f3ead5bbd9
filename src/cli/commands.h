/* commands.h - one file for each command, cmd_NAME.c, has its row. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/opt.h"

extern const struct command cmd_agent;
extern const struct command cmd_alias;
extern const struct command cmd_api_doc;
extern const struct command cmd_append;
extern const struct command cmd_backup;
extern const struct command cmd_bench;
extern const struct command cmd_cleanup;
extern const struct command cmd_clear;
extern const struct command cmd_compact;
extern const struct command cmd_completion;
extern const struct command cmd_config;
extern const struct command cmd_delete;
extern const struct command cmd_erase;
extern const struct command cmd_fork;
extern const struct command cmd_help;
extern const struct command cmd_history;
extern const struct command cmd_lease;
extern const struct command cmd_list;
extern const struct command cmd_man;
extern const struct command cmd_markers;
extern const struct command cmd_memory;
extern const struct command cmd_message;
extern const struct command cmd_move;
extern const struct command cmd_new;
extern const struct command cmd_pin;
extern const struct command cmd_purge;
extern const struct command cmd_reclaim;
extern const struct command cmd_redact;
extern const struct command cmd_redo;
extern const struct command cmd_reindex;
extern const struct command cmd_collect;
extern const struct command cmd_rename;
extern const struct command cmd_repair;
extern const struct command cmd_reset;
extern const struct command cmd_restore;
extern const struct command cmd_route;
extern const struct command cmd_search;
extern const struct command cmd_set;
extern const struct command cmd_show;
extern const struct command cmd_stats;
extern const struct command cmd_tail;
extern const struct command cmd_todo;
extern const struct command cmd_tree;
extern const struct command cmd_truncate;
extern const struct command cmd_turn;
extern const struct command cmd_undo;
extern const struct command cmd_unpin;
extern const struct command cmd_usage;
extern const struct command cmd_verify;

/* The argument that most commands begin with. */
#define ARG_SESSION                                                         \
	{                                                                   \
		.name = "SESSION",                                          \
		.about = "an id, key, alias or title, or the beginning of " \
			 "an id, 6 characters or more",                     \
	}

#define ARG_MESSAGES                                                      \
	{                                                                 \
		.name = "MESSAGE",                                        \
		.about = "the number of a message, or its id", .many = 1, \
	}

/* The option of all that a lease keeps others from. */
#define OPTION_TOKEN                                               \
	{                                                          \
		.name = "token", .takes = "N", .kind = OPT_NUMBER, \
		.about = "the token of a lease",                   \
	}

#define OPTION_OP                                                   \
	{                                                           \
		.name = "op", .takes = "O", .kind = OPT_TEXT,       \
		.about = "operation id: the same one again writes " \
			 "nothing",                                 \
	}

#define OPTION_DRY_RUN                                               \
	{                                                            \
		.name = "dry-run", .about = "only say what would go" \
	}

#define OPTION_LIMIT                                               \
	{                                                          \
		.name = "limit", .takes = "N", .kind = OPT_NUMBER, \
		.about = "at most N; default 50"                   \
	}

/* Commands that take nothing but a session, and perhaps these options: see
 * cli_about_session. */
extern const struct arg only_session[1];
extern const struct opt only_token[1];
extern const struct opt token_and_op[2];

#endif
