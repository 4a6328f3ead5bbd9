/*
 * person.h - which person a text means: the user of a session, the sender of a
 * message, what somebody types behind --user.
 *
 * A person has one name: that of their identity link, or else channel and id,
 * "telegram:42".  So 42 on Telegram is not 42 on Discord, and a stranger who is
 * called like a link is not who the link is about.  A bare id says who it is
 * only together with the channel on which it was seen.
 */
#ifndef ROUTE_PERSON_H
#define ROUTE_PERSON_H

#include "route/scope.h"

/* The user of a conversation in which more than one person was heard. */
#define PERSON_SEVERAL "*"

struct person {
	struct weft_str name; /* empty: nobody is known */
	/* "telegram:42", or "42" if it counts on every channel. */
	struct name_list ids;
	/* No link and no channel says who it is: only a user that a program
	 * has given to a session is meant. */
	bool bare;
};

/* Whoever sends messages as `id` on `channel`, of which `who` is known. */
struct person person_of_sender(const struct identity *who,
			       struct weft_str channel, struct arena *a);

/* Whom a text alone means: the name of a link, an id of one, "channel:id", or
 * a name that a program has given. */
struct person person_of_text(const struct identity_links *links,
			     struct weft_str text, struct arena *a);

/* "telegram:42", of an id as a channel gives it. */
struct weft_str person_id(struct weft_str channel, struct weft_str id,
			  struct arena *a);

/* Whether a message of theirs says that it is from `id`, in a session of this
 * channel; the channel may be empty. */
bool person_sent(const struct person *p, struct weft_str id,
		 struct weft_str channel, struct arena *a);

/*
 * Whether `user` of a session is them.  Where routing has put it there, a bare
 * id is that of the session's channel; otherwise a program has given it.
 */
bool person_is_user(const struct person *p, struct weft_str user,
		    struct weft_str channel, bool routed, struct arena *a);

/* What to call them, for whom this is the user of a session. */
struct weft_str person_shown(const struct person *p, struct weft_str user,
			     struct weft_str channel, struct arena *a);

#endif
