/* compat_pico.h - what the cases of PicoClaw's store share. */
#ifndef CONFORMANCE_COMPAT_PICO_H
#define CONFORMANCE_COMPAT_PICO_H

#include "conformance/compat.h"

static inline void add(struct desk *d, const char *key, const char *role,
		       const char *content)
{
	desk_ok(d, weft_pico_add_message(d->store, T(key), T(role), T(content),
					 &d->err));
}

static inline void add_full(struct desk *d, const char *key,
			    const char *message)
{
	desk_ok(d, weft_pico_add_full_message(d->store, T(key), T(message),
					      &d->err));
}

/* One message of the user for each letter. */
static inline void add_all(struct desk *d, const char *key, const char *letters)
{
	for (; *letters; letters++) {
		char one[2] = { *letters, '\0' };

		add(d, key, "user", one);
	}
}

static inline const char *history(struct desk *d, const char *key)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_pico_get_history(d->store, T(key), &answer, &d->err));
}

/* "a b c" */
static inline const char *contents(struct desk *d, const char *key)
{
	return each(d, history(d, key), "", "content");
}

static inline const char *summary(struct desk *d, const char *key)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_pico_get_summary(d->store, T(key), &answer, &d->err));
}

static inline void set_summary(struct desk *d, const char *key,
			       const char *text)
{
	desk_ok(d, weft_pico_set_summary(d->store, T(key), T(text), &d->err));
}

#endif
