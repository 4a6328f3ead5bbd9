/*
 * watch.c - print the messages of a session as they come.
 *
 *     cc -o watch watch.c $(pkg-config --cflags --libs weft)
 *     ./watch jsonl:/tmp/weft-example hello
 *
 * Whoever writes them: threads of this program or other processes.  With a
 * third argument it ends after so many messages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/weft.h>

/* Print the messages first..last, page by page; *count goes up by each. */
static int print_range(struct weft_store *store, const char *session,
		       uint64_t first, uint64_t last, unsigned long *count,
		       struct weft_error *err)
{
	struct weft_read_options options;
	int done = 0;

	weft_read_options_init(&options, sizeof(options));
	options.flags = WEFT_READ_MESSAGES;
	options.first = first;
	options.last = last;
	while (!done) {
		struct weft_page *page;
		struct weft_event e;
		size_t i;
		int r = weft_read(store, session, strlen(session), &options,
				  &page, err);

		if (r < 0)
			return r;
		for (i = 0; weft_page_event(page, i, &e); i++) {
			printf("%lu: {%.*s}\n", (unsigned long)e.seq,
			       (int)e.body_len, e.body);
			options.first = e.last + 1;
			++*count;
		}
		done = weft_page_done(page);
		weft_page_free(page);
	}
	fflush(stdout);
	return WEFT_OK;
}

/* Wait, print, and so on, until there were `wanted` messages. */
static int watch(struct weft_store *store, const char *session,
		 unsigned long wanted, struct weft_error *err)
{
	unsigned long count = 0;
	uint64_t seq = 0, head = 0;
	int r = WEFT_OK;

	while (r == WEFT_OK && count < wanted) {
		/* Returns at once if there is something after seq. */
		r = weft_wait(store, session, strlen(session), seq, -1, &head,
			      err);
		if (r == WEFT_OK)
			r = print_range(store, session, seq + 1, head, &count,
					err);
		seq = head;
	}
	return r;
}

int main(int argc, char **argv)
{
	struct weft_open_options options;
	struct weft_store *store = NULL;
	struct weft_error err;
	int r;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: watch URL SESSION [COUNT]\n");
		return 2;
	}
	weft_open_options_init(&options, sizeof(options));
	options.flags = WEFT_OPEN_READ_ONLY;
	r = weft_open(argv[1], &options, &store, &err);
	if (r == WEFT_OK)
		r = watch(store, argv[2],
			  argc == 4 ? strtoul(argv[3], NULL, 10) : -1UL, &err);
	if (r < 0)
		fprintf(stderr, "watch: %s\n", err.message);
	weft_close(store, NULL);
	return weft_code_exit_status(r);
}
