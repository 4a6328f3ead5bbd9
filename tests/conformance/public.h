/*
 * public.h - what the tests of weft.h share.
 *
 * They see what a program sees: include/weft/weft.h, and JSON.
 */
#ifndef CONFORMANCE_PUBLIC_H
#define CONFORMANCE_PUBLIC_H

#include "conformance/conformance.h"
#include "weft/weft.h"

/* A store opened as programs do it, fresh for each test. */
struct desk {
	char dir[256];
	char url[512];
	struct weft_store *store;
	struct weft_error err;
	int64_t now_ms;
	char id[WEFT_ID_CHARS + 1]; /* of a session that is there */
	struct arena arena;
};

int desk_setup(void **state);
int desk_teardown(void **state);

#define PUBLIC_TEST(test) \
	cmocka_unit_test_setup_teardown(test, desk_setup, desk_teardown)

/* Open the desk's store once more. */
int desk_open_again(struct desk *d, const char *options, uint32_t flags,
		    struct weft_store **ret);
/* Close and open with options; there is a new session in any case. */
void desk_reopen(struct desk *d, const char *options);

/* A new session, made with these members: "\"key\":\"k\"", or "". */
const char *desk_new(struct desk *d, const char *members);

/* A fork of a session, with all that was said in it. */
const char *desk_fork(struct desk *d, const char *session);

/* Call the door; the answer must be a success. */
const char *desk_call(struct desk *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int desk_try_call(struct desk *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append and look at the code. */
int desk_try(struct desk *d, const char *session, const char *json,
	     const struct weft_append_options *o, struct weft_receipt *ret);
/* Append a message of the user, which must succeed; its number. */
uint64_t desk_say(struct desk *d, const char *session, const char *text);

/* A session as it is shown. */
const char *desk_show(struct desk *d, const char *session);
/* A member of an answer, as text; "" if it is null or not there. */
const char *desk_member(struct desk *d, const char *json, const char *name);

/* The text of a configuration. */
void desk_configure(struct desk *d, const char *text);
/* A direct message; what else there is, the test sets. */
struct weft_route_options desk_from(const char *channel, const char *sender);
struct weft_routed desk_route(struct desk *d,
			      const struct weft_route_options *o);

/* The texts of all messages that a session shows: "a b c". */
const char *desk_texts(struct desk *d, const char *session);

/* The number of the last event. */
uint64_t desk_head(struct desk *d, const char *session);

void desk_ok_(struct desk *d, int r, const char *file, int line);
#define desk_ok(d, call) desk_ok_((d), (call), __FILE__, __LINE__)

/* It fails with `code`, and its message has `part`. */
void desk_fails_(struct desk *d, int r, int code, const char *part,
		 const char *file, int line);
#define desk_fails(d, call, code, part) \
	desk_fails_((d), (call), (code), (part), __FILE__, __LINE__)

#endif
