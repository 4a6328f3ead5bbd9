/*
 * place.h - a real directory with a store in it, and short words for using it
 * from several processes.
 *
 * Everything here checks itself: what must succeed and does not ends the test
 * (or the child) with a message.
 */
#ifndef CRASH_PLACE_H
#define CRASH_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/sanitized.h"
#include "weft/weft.h"

struct place {
	char root[128];  /* thrown away at the end */
	char store[160]; /* root/store */
	char url[176];   /* jsonl:root/store */
};

/* Of the stores that place_make makes: "jsonl" unless somebody sets it. */
extern const char *place_scheme;

/* Group set-up and tear-down: *state is a struct place. */
int place_setup(void **state);
int place_teardown(void **state);
/* The same for several processes: memory that they share, and a session. */
void *place_share(void **state, const char *session, size_t bytes);
int place_unshare(void **state, void *shared, size_t bytes);
void place_make(struct place *p);
void place_remove(struct place *p);
/* An empty store once more. */
void place_clear(struct place *p);

/* WEFT_TEST_SCALE, and a tenth (at least 1) of `n` under a sanitizer. */
unsigned scaled(unsigned n);

/* End this process, also a child, if `ok` is not true. */
#define must(ok) ((ok) ? (void)0 : must_end(#ok, __FILE__, __LINE__))
_Noreturn void must_end(const char *what, const char *file, int line);
extern char must_note[256]; /* what is being tried, told if it fails */

/* ---- the store ---- */

struct weft_store *open_place(const struct place *p, const char *options,
			      uint32_t flags);
int try_open(const struct place *p, const char *options, uint32_t flags,
	     struct weft_store **ret, struct weft_error *err);
void close_place(struct weft_store *s);
/* Call a method with ' for "; the answer is the caller's to free(). */
char *ask(struct weft_store *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for what may fail. */
int try_ask(struct weft_store *s, char **ret, struct weft_error *err,
	    const char *format, ...) __attribute__((format(printf, 4, 5)));
void begin_session(struct weft_store *s, const char *key);
/* Append one message of the user; op may be NULL. */
int try_say(struct weft_store *s, const char *session, const char *text,
	    const char *op, struct weft_receipt *ret, struct weft_error *err);
uint64_t say_to(struct weft_store *s, const char *session, const char *text);
/* How many events of a session say exactly this. */
size_t count_said(struct weft_store *s, const char *session, const char *text);
/* Does verify find nothing?  If not, and `aloud`, print what it found. */
bool is_clean(struct weft_store *s, bool aloud);

/* Where a session's file is; free() it. */
char *file_of(struct weft_store *s, const char *session);

/* ---- children ---- */

/* Run `body` in a child with `ctx`; it exits 0 when that returns. */
pid_t start_child(void (*body)(void *ctx), void *ctx);
/* Wait for a child that must end well. */
void join_child(pid_t pid);
/* kill -9 and reap. */
void kill_child(pid_t pid);

/* ---- files ---- */

char *read_file(const char *path, size_t *ret_len); /* free() it */
void write_all(const char *path, const char *bytes, size_t len);
void copy_tree(const char *from, const char *to);
void remove_tree(const char *path);
/* A number that changes if any name, mode or byte below `path` does. */
uint64_t digest_tree(const char *path);
/* How many regular files are below `path`, and the first one's name. */
size_t count_files(const char *path, char first[256]);
void join_path(char out[512], const char *a, const char *b);

int64_t now_us(void);
void sleep_ms(unsigned ms);
/* Repeatable: the seed is WEFT_TEST_SEED, or the time; it is printed, and
 * returned for who needs numbers of another kind. */
uint64_t random_seed(void);
uint32_t random_below(uint32_t n);

#endif
