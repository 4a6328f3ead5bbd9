/* text.h - rules for text that people write: UTF-8, folding, cutting. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/arena.h"

/* True if `s` is well-formed UTF-8 (no surrogates, nothing over U+10FFFF). */
bool text_is_utf8(struct weft_str s);

/*
 * The bytes of the well-formed character that `s` begins with, 1 to 4; 0 if
 * it begins with none.
 */
size_t text_char_len(struct weft_str s);

/* True if there is nothing to be seen in `s`: white space alone, or nothing.
 * What is not UTF-8 is something. */
bool text_is_blank(struct weft_str s);

/*
 * The longest beginning of `s` that has at most `max` characters as a reader
 * counts them (grapheme clusters), so that no character is cut in two.
 * `s` is well-formed UTF-8.
 */
struct weft_str text_cut(struct weft_str s, size_t max);

/* Without the white space of Unicode (25 code points) at both ends. */
struct weft_str text_trim(struct weft_str s);

/*
 * `s` for comparing without regard to case, marks and form: decomposed,
 * stripped of marks, case folded.  What is not UTF-8 is kept as it is.
 */
int text_fold(struct weft_str s, struct arena *a, struct weft_str *ret,
	      struct weft_error *err);

/*
 * Check a short text that people and programs give as a name: well-formed
 * UTF-8, no control characters (NUL and newline among them), at most `max`
 * bytes.  `field` is named in the error.
 */
int text_check_line(struct weft_str s, size_t max, const char *field,
		    struct weft_error *err);

/*
 * How many, in words: "1 session", "2 sessions".  `noun` is one whose plural
 * ends in s.  COUNT() brings its own room, good until the end of the block:
 *	printf("%s, %s\n", COUNT(n, "session"), COUNT(m, "event"));
 */
#define COUNT_CHARS 64
const char *text_count(char room[COUNT_CHARS], uint64_t n, const char *noun);
#define COUNT(n, noun) text_count((char[COUNT_CHARS]){ "" }, (n), (noun))

#endif
