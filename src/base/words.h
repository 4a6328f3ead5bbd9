/*
 * words.h - the words of a text, as search compares them.
 *
 * A text is a row of units.  Where a script puts spaces between words, a unit
 * is a word: a run of letters, marks and digits.  Where it does not (Chinese,
 * Japanese, Korean, Thai, Lao, Khmer, Burmese and their like), a unit is a
 * sign: one character.  Everything else separates: "foo_bar" is foo and bar,
 * "v1.2" is v1 and 2.
 *
 * Units are folded, so that what people take for the same is the same:
 * compatibility forms resolved, accents and points dropped, case folded in
 * full ("Stra\u00dfe" is strasse).  Vowel signs and whatever else makes another
 * letter of a letter stay.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include "base/base.h"

#define WORD_BYTES_MAX 128 /* of a unit; what is longer is cut */

struct word {
	struct weft_str text; /* in the reader, until its next unit */
	size_t from, to;      /* the bytes of the text that it stands for */
	bool is_sign;
};

struct word_reader {
	struct weft_str text;
	size_t at;
	/* Of the characters that were folded last; signs are handed out one by
	 * one. */
	char folded[WORD_BYTES_MAX];
	size_t n_folded, n_given;
	size_t from, to;
};

/* Any bytes will do; what is not UTF-8 separates. */
void words_begin(struct word_reader *r, struct weft_str text);
bool words_next(struct word_reader *r, struct word *ret);

#endif
