/* input.c - standard input, for commands that take a text or JSON from it. */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"

#define STDIN_BYTES_MAX MIB(1024)

static int read_stdin(struct cli *c, struct buf *to)
{
	for (;;) {
		char *room = buf_reserve(to, KIB(64));
		ssize_t n;

		if (!room)
			return buf_error(to, c->err);
		n = read(STDIN_FILENO, room, KIB(64));
		if (n == 0)
			return WEFT_OK;
		if (n < 0 && errno != EINTR)
			return fail_errno(c->err, errno, "standard input");
		to->len += n > 0 ? (size_t)n : 0;
		if (to->len > STDIN_BYTES_MAX)
			return fail(c->err, WEFT_LIMIT,
				    "standard input: more than %zu bytes",
				    (size_t)STDIN_BYTES_MAX);
	}
}

int cli_input(struct cli *c, const char *given, const char *label,
	      struct buf *to)
{
	int r = WEFT_OK;

	if (given) {
		buf_add_str(to, str_of(given));
	} else if (isatty(STDIN_FILENO) == 1) {
		return fail(c->err, WEFT_USAGE,
			    "%s: %s is missing; or give it on standard input",
			    c->line.command->name, label);
	} else {
		r = read_stdin(c, to);
		/* What should have written there has failed. */
		if (r == WEFT_OK && to->len == 0 && !to->error)
			return fail(c->err, WEFT_USAGE,
				    "%s: %s is missing, and standard input is "
				    "empty",
				    c->line.command->name, label);
		/* The newline that ends the last line is the shell's. */
		if (r == WEFT_OK && to->len > 0 && to->ptr[to->len - 1] == '\n')
			to->len--;
	}
	if (r == WEFT_OK)
		r = buf_error(to, c->err);
	if (r == WEFT_OK && !text_is_utf8(buf_str(to)))
		r = fail(c->err, WEFT_INVALID, "%s is not UTF-8", label);
	return r;
}
