/* near.c - what a mistyped word was probably meant to be. */
#include "base/near.h"

#define WORD_MAX 32

/*
 * How many letters must be put in, taken out, replaced or swapped with their
 * neighbour to get from a to b.
 */
static unsigned distance(struct weft_str a, struct weft_str b)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (unsigned k = 0; k <= b.len; k++)
		row[k] = k;
	for (unsigned i = 1; i <= a.len; i++) {
		unsigned *oldest = before;

		before = last;
		last = row;
		row = oldest;
		row[0] = i;
		for (unsigned k = 1; k <= b.len; k++) {
			unsigned n =
				last[k - 1] + (a.ptr[i - 1] != b.ptr[k - 1]);

			n = last[k] + 1 < n ? last[k] + 1 : n;
			n = row[k - 1] + 1 < n ? row[k - 1] + 1 : n;
			if (i > 1 && k > 1 && a.ptr[i - 1] == b.ptr[k - 2] &&
			    a.ptr[i - 2] == b.ptr[k - 1] &&
			    before[k - 2] + 1 < n)
				n = before[k - 2] + 1;
			row[k] = n;
		}
	}
	return row[b.len];
}

const char *near_word(struct weft_str s, const char *const *words, size_t n)
{
	const char *best = NULL;
	/* One mistake in three letters is a typing error, two are a guess. */
	unsigned best_distance = s.len < 4 ? 1 : 2;

	if (s.len == 0 || s.len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct weft_str word = str_of(words[i]);
		unsigned d;

		if (word.len > WORD_MAX)
			continue;
		d = distance(s, word);
		if (d <= best_distance && (!best || d < best_distance)) {
			best = words[i];
			best_distance = d;
		}
	}
	return best;
}
