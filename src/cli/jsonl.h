/* jsonl.h - append messages from standard input, one a line. */
#ifndef CLI_JSONL_H
#define CLI_JSONL_H

#include "cli/cli.h"

struct jsonl {
	const char *session; /* or NULL: each line names its own */
	uint64_t token;      /* of a lease, or 0 */
	/* For all lines together; only of an atomic append. */
	const char *op;  /* or NULL */
	uint64_t expect; /* or WEFT_NO_EXPECT */
};

/*
 * Each line by itself: one line of output for each line of input, in order,
 * written when that append is durable.  Goes on after errors; the exit status
 * is that of the first.
 */
int jsonl_each(struct cli *c, const struct jsonl *j);

/* All lines or none; on failure one line that says which one was at fault. */
int jsonl_atomic(struct cli *c, const struct jsonl *j);

/* What both print. */
void jsonl_print_receipt(struct cli *c, uint64_t seq, const char *id,
			 const char *session, bool replayed);
void jsonl_print_error(struct cli *c, const struct weft_error *err,
		       uint64_t line);

/* The longest line worth reading: a message, and room for what goes with it. */
int jsonl_line_max(struct cli *c, size_t *ret);

#endif
