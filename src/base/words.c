/* words.c - the words of a text, as search compares them. */
#include "base/words.h"

#include <utf8proc.h>

/* Code points of one unit, decomposed; those behind them are cut anyway. */
#define POINTS_MAX 160

enum kind { KIND_GAP, KIND_WORD, KIND_SIGN, KIND_INSIDE };

/* ---- what a character is ---- */

/* Scripts without spaces between words, as ranges of code points. */
static const struct {
	int32_t first, last;
} sign_ranges[] = {
	{ 0x0e00, 0x0eff },   /* Thai, Lao */
	{ 0x1000, 0x109f },   /* Burmese */
	{ 0x1100, 0x11ff },   /* Hangul, in pieces */
	{ 0x1780, 0x17ff },   /* Khmer */
	{ 0x1950, 0x19ff },   /* Tai Le, New Tai Lue, Khmer symbols */
	{ 0x1a20, 0x1aaf },   /* Tai Tham */
	{ 0x1b00, 0x1b7f },   /* Balinese */
	{ 0x2e80, 0x2fdf },   /* radicals */
	{ 0x3005, 0x3007 },   /* Han marks of repetition, zero */
	{ 0x3021, 0x302f },   /* Hangzhou numerals, tone marks */
	{ 0x3031, 0x303c },   /* kana repeat marks */
	{ 0x3040, 0x31ff },   /* kana, Bopomofo, Hangul letters */
	{ 0x3400, 0x4dbf },   /* Han */
	{ 0x4e00, 0xa4cf },   /* Han, Yi */
	{ 0xa960, 0xa9df },   /* Hangul, Javanese */
	{ 0xa9e0, 0xa9ff },   /* Burmese */
	{ 0xaa60, 0xaadf },   /* Burmese, Tai Viet */
	{ 0xac00, 0xd7ff },   /* Hangul */
	{ 0xf900, 0xfaff },   /* Han, compatibility */
	{ 0xff65, 0xffdc },   /* narrow kana and Hangul */
	{ 0x1aff0, 0x1b16f }, /* kana */
	{ 0x20000, 0x3ffff }, /* Han */
};

static bool is_spaceless(int32_t c)
{
	size_t low = 0, high = ARRAY_LEN(sign_ranges);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sign_ranges[middle].last < c)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ARRAY_LEN(sign_ranges) && sign_ranges[low].first <= c;
}

static bool is_ascii_word(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

static enum kind kind_of(int32_t c)
{
	switch (utf8proc_category(c)) {
	case UTF8PROC_CATEGORY_LU:
	case UTF8PROC_CATEGORY_LL:
	case UTF8PROC_CATEGORY_LT:
	case UTF8PROC_CATEGORY_LM:
	case UTF8PROC_CATEGORY_LO:
	case UTF8PROC_CATEGORY_ND:
	case UTF8PROC_CATEGORY_NL:
	case UTF8PROC_CATEGORY_NO:
		return is_spaceless(c) ? KIND_SIGN : KIND_WORD;
	case UTF8PROC_CATEGORY_MN:
	case UTF8PROC_CATEGORY_MC:
	case UTF8PROC_CATEGORY_ME:
		/* A mark belongs to what is before it. */
		return is_spaceless(c) ? KIND_SIGN : KIND_INSIDE;
	case UTF8PROC_CATEGORY_CF:
		/* Soft hyphens and joiners are not seen; the space that is
		 * not seen is one. */
		return c == 0x200b ? KIND_GAP : KIND_INSIDE;
	default:
		return KIND_GAP;
	}
}

/* The character at `at`: its bytes and what it is.  Bytes that are no
 * character are gaps, one by one. */
static enum kind look(struct weft_str s, size_t at, int32_t *ret_c,
		      size_t *ret_n)
{
	unsigned char first = (unsigned char)s.ptr[at];
	utf8proc_ssize_t n;

	*ret_c = first;
	*ret_n = 1;
	if (first < 0x80)
		return is_ascii_word(first) ? KIND_WORD : KIND_GAP;
	n = utf8proc_iterate((const utf8proc_uint8_t *)s.ptr + at,
			     (utf8proc_ssize_t)(s.len - at), ret_c);
	if (n <= 0)
		return KIND_GAP;
	*ret_n = (size_t)n;
	return kind_of(*ret_c);
}

/* ---- folding ---- */

/*
 * Accents and points, by how they combine: overlays, Hebrew and Arabic points,
 * and all that is attached, above or below.  The others are part of a letter:
 * vowel signs (0), nuktas, kana voicing, viramas, the marks of Thai, Lao and
 * Tibetan.
 */
static bool is_accent(int32_t c)
{
	const utf8proc_property_t *p = utf8proc_get_property(c);

	return p->category == UTF8PROC_CATEGORY_ME || p->combining_class == 1 ||
	       (p->combining_class >= 10 && p->combining_class <= 36) ||
	       p->combining_class >= 200;
}

/*
 * What a character is made of may be more than letters: a fraction, say.  A
 * mark that would be alone goes, too: in a sign, if it is of another script, it
 * would be a sign of its own; at the beginning of a word it is on a letter of
 * which nothing is left.
 */
static bool is_dropped(int32_t c, bool alone)
{
	enum kind kind;

	if (c < 0x80)
		return !is_ascii_word((unsigned char)c);
	kind = kind_of(c);
	return kind == KIND_GAP || (alone && kind == KIND_INSIDE) ||
	       is_accent(c);
}

/* Append what `c` is made of to v[n..POINTS_MAX); returns the new n. */
static size_t add_parts(int32_t c, bool in_sign, int32_t v[POINTS_MAX],
			size_t n)
{
	const utf8proc_option_t options = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT |
					  UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
	int32_t parts[32]; /* the longest decomposition has 18 */
	int boundary = 0;
	utf8proc_ssize_t count = utf8proc_decompose_char(
		c, parts, ARRAY_LEN(parts), options, &boundary);

	if (count > (utf8proc_ssize_t)ARRAY_LEN(parts))
		return n;
	for (utf8proc_ssize_t i = 0; i < count && n < POINTS_MAX; i++) {
		if (!is_dropped(parts[i], in_sign || n == 0))
			v[n++] = parts[i];
	}
	return n;
}

/* Marks on one letter into their canonical order, so that it does not matter
 * in which they were typed. */
static void order_marks(int32_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		int32_t c = v[i];
		int class = utf8proc_get_property(c)->combining_class;
		size_t at = i;

		if (class == 0)
			continue;
		while (at > 0 &&
		       utf8proc_get_property(v[at - 1])->combining_class >
			       class) {
			v[at] = v[at - 1];
			at--;
		}
		v[at] = c;
	}
}

/* Fold text[from..to) into the reader. */
static void fold(struct word_reader *r, bool is_sign)
{
	int32_t v[POINTS_MAX];
	utf8proc_ssize_t composed;
	size_t n = 0;

	for (size_t at = r->from; at < r->to && n < POINTS_MAX;) {
		int32_t c;
		size_t bytes;

		(void)look(r->text, at, &c, &bytes);
		n = add_parts(c, is_sign, v, n);
		at += bytes;
	}
	order_marks(v, n);
	composed = utf8proc_normalize_utf32(v, (utf8proc_ssize_t)n,
					    UTF8PROC_COMPOSE | UTF8PROC_STABLE);
	for (utf8proc_ssize_t i = 0; i < composed; i++) {
		unsigned char bytes[4];
		size_t len = (size_t)utf8proc_encode_char(v[i], bytes);

		if (len > sizeof(r->folded) - r->n_folded)
			break;
		memcpy(r->folded + r->n_folded, bytes, len);
		r->n_folded += len;
	}
}

/* The same for ASCII, of which most text is. */
static void fold_ascii(struct word_reader *r)
{
	size_t n = r->to - r->from;

	if (n > sizeof(r->folded))
		n = sizeof(r->folded);
	for (size_t i = 0; i < n; i++) {
		char c = r->text.ptr[r->from + i];

		r->folded[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	r->n_folded = n;
}

/* ---- reading ---- */

void words_begin(struct word_reader *r, struct weft_str text)
{
	*r = (struct word_reader){ .text = text };
}

/* Go to the next word or sign; KIND_GAP at the end. */
static enum kind skip_gap(struct word_reader *r)
{
	while (r->at < r->text.len) {
		int32_t c;
		size_t n;
		enum kind kind = look(r->text, r->at, &c, &n);

		if (kind == KIND_WORD || kind == KIND_SIGN)
			return kind;
		r->at += n;
	}
	return KIND_GAP;
}

/* Over a word; true if all of it is ASCII. */
static bool take_word(struct word_reader *r)
{
	bool ascii = true;

	r->from = r->at;
	while (r->at < r->text.len) {
		int32_t c;
		size_t n;
		enum kind kind = look(r->text, r->at, &c, &n);

		if (kind != KIND_WORD && kind != KIND_INSIDE)
			break;
		ascii = ascii && n == 1;
		r->at += n;
	}
	r->to = r->at;
	return ascii;
}

/* Over what a reader takes for one character: marks and the pieces of a
 * Hangul syllable are folded together. */
static void take_sign(struct word_reader *r)
{
	int32_t before, c, state = 0;
	size_t n;

	r->from = r->at;
	(void)look(r->text, r->at, &before, &n);
	r->at += n;
	while (r->at < r->text.len) {
		enum kind kind = look(r->text, r->at, &c, &n);

		if ((kind != KIND_SIGN && kind != KIND_INSIDE) ||
		    utf8proc_grapheme_break_stateful(before, c, &state))
			break;
		before = c;
		r->at += n;
	}
	r->to = r->at;
}

/* Hand out the next of the signs that were folded. */
static void give_sign(struct word_reader *r, struct word *ret)
{
	const char *p = r->folded + r->n_given;
	size_t n = 1;

	while (r->n_given + n < r->n_folded &&
	       ((unsigned char)p[n] & 0xc0) == 0x80)
		n++;
	r->n_given += n;
	*ret = (struct word){ { p, n }, r->from, r->to, true };
}

bool words_next(struct word_reader *r, struct word *ret)
{
	while (r->n_given == r->n_folded) {
		enum kind kind = skip_gap(r);

		r->n_given = r->n_folded = 0;
		if (kind == KIND_GAP)
			return false;
		if (kind == KIND_SIGN) {
			take_sign(r);
			fold(r, true);
			continue; /* it may have been nothing but marks */
		}
		if (take_word(r))
			fold_ascii(r);
		else
			fold(r, false);
		if (!r->n_folded)
			continue;
		r->n_given = r->n_folded;
		*ret = (struct word){
			{ r->folded, r->n_folded }, r->from, r->to, false
		};
		return true;
	}
	give_sign(r, ret);
	return true;
}
