/* near.h - what a mistyped word was probably meant to be. */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

#include "base/base.h"

/* The word of words[0..n) that differs from `s` by a typing error, or NULL. */
const char *near_word(struct weft_str s, const char *const *words, size_t n);

#endif
