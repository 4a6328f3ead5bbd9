/*
 * compat_hygge.h - what the cases of hygge's store share.
 *
 * They are numbered as hygge's own tests are read, 001 to 158.  Each runs in a
 * project of its own, "/h/NNN", so that lists see nothing of the others.
 */
#ifndef CONFORMANCE_COMPAT_HYGGE_H
#define CONFORMANCE_COMPAT_HYGGE_H

#include "conformance/compat.h"

/* A session in a project: its id. */
const char *hygge_new(struct desk *d, const char *project);
/* A subagent of a session: its id. */
const char *hygge_subagent(struct desk *d, const char *parent);
/* A fork at a message: its id, or why there is none. */
const char *hygge_fork(struct desk *d, const char *from, const char *message);
int hygge_try_fork(struct desk *d, const char *from, const char *message);
/* Any; the options as they are. */
const char *hygge_create(struct desk *d,
			 const struct weft_hygge_new_options *o);
int hygge_try_create(struct desk *d, const struct weft_hygge_new_options *o);
/* Options for a session that can be made. */
struct weft_hygge_new_options hygge_options(const char *project);

/* Append a text of the user, or of whom `role` says: the message's id. */
const char *hygge_say(struct desk *d, const char *session, const char *text);
const char *hygge_say_as(struct desk *d, const char *session, const char *role,
			 const char *text);
/* Append any message as JSON: the message. */
const char *hygge_append(struct desk *d, const char *session,
			 const char *message);
int hygge_try_append(struct desk *d, const char *session, const char *message);

const char *hygge_get(struct desk *d, const char *session);
/* A member of a session. */
const char *hygge_is(struct desk *d, const char *session, const char *path);
/* "a b c": what is said in it, by its first parts. */
const char *hygge_texts(struct desk *d, const char *session);
/* The same of the window, with its marker as "[summary] ". */
const char *hygge_window(struct desk *d, const char *session);
/* Make a marker at a message: the marker. */
const char *hygge_mark(struct desk *d, const char *session, const char *before,
		       const char *summary);
void hygge_delete(struct desk *d, const char *session);
/* Hide a message. */
void hygge_hide(struct desk *d, const char *session, const char *message);

/* The list of a project, everything else as it is in `o`: "id id id". */
const char *hygge_list(struct desk *d, struct weft_hygge_list_options o,
		       const char *project);
struct weft_hygge_list_options hygge_all(void);

/* Say one message for each letter; the id of the `nth`, from 1. */
const char *hygge_say_all(struct desk *d, const char *session,
			  const char *letters, size_t nth);
/* The list of a session, after it was set and as it is. */
const char *hygge_set_todos(struct desk *d, const char *session,
			    const char *items);
const char *hygge_todos(struct desk *d, const char *session);

#define S(text) ((struct weft_str){ (text), strlen(text) })

/* An id that nothing has. */
#define NOBODY "01ZZZZZZZZZZZZZZZZZZZZZZZZ"

#endif
