/* options.h - structs of options that callers hand in: see weft.h. */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include "base/base.h"

/* Set up the caller's struct of options, as large as it says. */
void options_init(void *o, size_t size, const void *preset, size_t bytes);

/*
 * Copy a struct of options as large as we know it.  A caller built against a
 * later version has a larger one: what we do not know must be zero.
 */
int options_take(void *to, size_t bytes, const void *from,
		 struct weft_error *err);

#endif
