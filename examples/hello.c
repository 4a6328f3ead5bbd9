/*
 * hello.c - open a store, say something, read everything back.
 *
 *     cc -o hello hello.c $(pkg-config --cflags --libs weft)
 *     ./hello jsonl:/tmp/weft-example
 *
 * Run it again: the session is there, and grows.
 */
#include <stdio.h>
#include <string.h>

#include <weft/weft.h>

/* The session is found by its key, or made. */
static int make_session(struct weft_store *store, struct weft_error *err)
{
	const char *request = "{\"method\":\"new\",\"key\":\"hello\","
			      "\"slug\":\"An example\"}";
	struct weft_answer *answer;
	int r = weft_call(store, request, strlen(request), &answer, err);

	if (r < 0)
		return r;
	printf("session: %s\n", weft_answer_text(answer, NULL));
	weft_answer_free(answer);
	return WEFT_OK;
}

/* When weft_append returns, the message survives a power cut. */
static int say(struct weft_store *store, const char *message,
	       struct weft_error *err)
{
	struct weft_receipt receipt;
	int r = weft_append(store, "hello", 5, message, strlen(message), NULL,
			    &receipt, err);

	if (r == WEFT_OK)
		printf("message %lu is durable: %s\n",
		       (unsigned long)receipt.seq, receipt.id);
	return r;
}

/* A page holds as much as is sensible; go on behind its last event. */
static int read_back(struct weft_store *store, struct weft_error *err)
{
	struct weft_read_options options;
	int done = 0;

	weft_read_options_init(&options, sizeof(options));
	options.flags = WEFT_READ_MESSAGES;
	while (!done) {
		struct weft_page *page;
		struct weft_event e;
		size_t i;
		int r = weft_read(store, "hello", 5, &options, &page, err);

		if (r < 0)
			return r;
		for (i = 0; weft_page_event(page, i, &e); i++) {
			printf("%lu: {%.*s}\n", (unsigned long)e.seq,
			       (int)e.body_len, e.body);
			options.first = e.last + 1;
		}
		done = weft_page_done(page);
		weft_page_free(page);
	}
	return WEFT_OK;
}

int main(int argc, char **argv)
{
	struct weft_store *store = NULL;
	struct weft_error err;
	int r;

	if (argc != 2) {
		fprintf(stderr, "usage: hello URL\n");
		return 2;
	}
	r = weft_open(argv[1], NULL, &store, &err);
	if (r == WEFT_OK)
		r = make_session(store, &err);
	if (r == WEFT_OK)
		r = say(store,
			"{\"role\":\"user\",\"content\":\"Where to in May?\"}",
			&err);
	if (r == WEFT_OK)
		r = say(store,
			"{\"role\":\"assistant\",\"content\":\"Lisbon.\"}",
			&err);
	if (r == WEFT_OK)
		r = read_back(store, &err);
	if (r < 0)
		fprintf(stderr, "hello: %s\n", err.message);
	weft_close(store, NULL);
	return weft_code_exit_status(r);
}
