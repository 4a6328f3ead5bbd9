/* help.h - what the tables say, as help, man pages and completion. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/opt.h"
#include "cli/out.h"

/* `command` NULL: the program as a whole. */
void help_print(struct out *o, const struct command *command);
void man_print(struct out *o, const struct command *command);

void complete_bash(struct out *o);
void complete_zsh(struct out *o);

#endif
