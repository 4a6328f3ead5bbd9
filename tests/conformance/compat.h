/*
 * compat.h - what the cases of other session stores share.
 *
 * There are many of them and they are small, so that all share one store.  A
 * case makes its own sessions, under keys and projects of its own, and says in
 * its name which case of which program it is.  Where Weft answers otherwise on
 * purpose, the case says what and why.
 */
#ifndef CONFORMANCE_COMPAT_H
#define CONFORMANCE_COMPAT_H

#include "conformance/public.h"
#include "weft/compat.h"

/* The store that all cases share. */
int shared_setup(void **state);

#define CASE(number, run)                                          \
	{                                                          \
		.name = (number), .test_func = (run),              \
		.setup_func = shared_setup, .teardown_func = NULL, \
		.initial_state = NULL,                             \
	}

/* The text of an answer, which must be a success; it is freed. */
const char *taken_(struct desk *d, int r, struct weft_answer **answer,
		   const char *file, int line);
/* CALL(d, ret, weft_hygge_get_session(d->store, ..., ret, &d->err)) */
#define CALL(d, ret, call) \
	taken_((d), ((ret) = NULL, (call)), &(ret), __FILE__, __LINE__)

/* A member of a JSON object, by its path ("marker.first_kept"): a string as it
 * is, anything else as JSON, "-" if it is not there. */
const char *at(struct desk *d, const char *json, const char *path);
/* How many elements an array at a path has. */
size_t count_at(struct desk *d, const char *json, const char *path);
/* The member `name` of each element of the array at `path`: "a b c". */
const char *each(struct desk *d, const char *json, const char *path,
		 const char *name);

/* A pointer and its length. */
#define T(text) (text), strlen(text)

#endif
