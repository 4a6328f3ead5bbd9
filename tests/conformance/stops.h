/*
 * stops.h - put the writes of a handle to sleep at the places that matter, so
 * that another handle can come in between.
 */
#ifndef CONFORMANCE_STOPS_H
#define CONFORMANCE_STOPS_H

#include <pthread.h>

#include "conformance/public.h"

enum place {
	NOWHERE,
	BEFORE_THE_WRITE, /* it is to be written, and nothing has begun */
	AFTER_THE_PLAN,   /* it is decided, and nothing is written yet */
	AFTER_A_GUESS,    /* the same, by what may have been only guessed */
	AFTER_A_DROP      /* the same, if it takes something away */
};

/* From now on, and until stop_no_more(), of one handle at a time. */
void stop_writes_of(struct weft_store *handle);
void stop_no_more(void);

/* Who comes to this place sleeps there until it is another one. */
void stop_at(enum place place);

/* Something that is done on a thread of its own. */
struct act {
	struct weft_store *store;
	const char *session;
	uint64_t token; /* of an append, or what a takeover was given */
	uint64_t seq;
	char request[256]; /* for the door */
	char answer[1000];
	int result;
	struct weft_error err;
	pthread_t thread;
	_Atomic bool done;
};

/* Wait until it sleeps there; false if it is done and has never been there. */
bool stop_until_asleep(const struct act *who);

void act_begin(struct act *a, void *(*run)(void *ctx));
void act_end(struct act *a);
/* Call the door. */
void *act_call(void *ctx);

#endif
