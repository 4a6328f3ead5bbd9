/* usage.c - what a message cost: tokens, and money as an exact number. */
#include "model/usage.h"

#include "base/error.h"
#include "model/object.h"

#define NANO_DIGITS     9
#define EXPONENT_CAP    100000 /* far past all that is not 0 or too much */
#define SIGNIFICANT_MAX 20     /* digits of 2^63, and one for rounding */

/* A decimal number as 0.d1d2d3... x 10^point, d1 not 0. */
struct decimal {
	char digits[SIGNIFICANT_MAX];
	size_t n;      /* digits kept; those cut off only follow */
	int64_t point; /* meaningless if n is 0 */
	bool negative;
};

static int64_t read_exponent(struct weft_str s)
{
	bool negative = s.len && s.ptr[0] == '-';
	int64_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '+' || s.ptr[i] == '-')
			continue;
		if (n < EXPONENT_CAP)
			n = n * 10 + (s.ptr[i] - '0');
	}
	return negative ? -n : n;
}

/* `s` has the form of a JSON number. */
static struct decimal read_decimal(struct weft_str s)
{
	struct decimal d = { .n = 0 };
	bool in_fraction = false;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (c == '-') {
			d.negative = true;
		} else if (c == '.') {
			in_fraction = true;
		} else if (c == 'e' || c == 'E') {
			d.point += read_exponent(str_skip(s, i + 1));
			break;
		} else if (c == '0' && d.n == 0) {
			d.point -= in_fraction;
		} else {
			d.point += !in_fraction;
			if (d.n < SIGNIFICANT_MAX)
				d.digits[d.n++] = c;
		}
	}
	return d;
}

bool money_parse(struct weft_str decimal, uint64_t *ret_nano)
{
	struct decimal d = read_decimal(decimal);
	uint64_t nano = 0;
	int64_t whole = d.point + NANO_DIGITS; /* digits before the point */

	if (d.n == 0 || (whole < 0 && !d.negative)) {
		*ret_nano = 0;
		return true;
	}
	if (d.negative || whole >= SIGNIFICANT_MAX)
		return false;
	for (size_t i = 0; i < (size_t)whole; i++)
		nano = nano * 10 +
		       (i < d.n ? (uint64_t)(d.digits[i] - '0') : 0);
	if ((size_t)whole < d.n && d.digits[whole] >= '5')
		nano++;
	if (nano > INT64_MAX)
		return false;
	*ret_nano = nano;
	return true;
}

static int read_cost(const struct object_member *m, struct totals *ret,
		     struct weft_error *err)
{
	if (yyjson_is_null(m->value))
		return WEFT_OK;
	if (!yyjson_is_num(m->value) && !yyjson_is_raw(m->value))
		return fail(
			err, WEFT_INVALID,
			"usage.cost_usd: expected a number or null, found %s",
			json_kind(m->value));
	if (!money_parse(m->raw, &ret->cost_nano))
		return fail(
			err, WEFT_INVALID,
			"usage.cost_usd: expected 0 to 9223372036, found %.*s",
			STR_ARG(m->raw));
	ret->unpriced = 0;
	return WEFT_OK;
}

/* Where the number of tokens of this name is kept, or NULL. */
static uint64_t *find_tokens(struct totals *t, struct weft_str name)
{
	if (str_eq(name, STR("input_tokens")))
		return &t->input_tokens;
	if (str_eq(name, STR("output_tokens")))
		return &t->output_tokens;
	if (str_eq(name, STR("cache_read_tokens")))
		return &t->cache_read_tokens;
	if (str_eq(name, STR("cache_write_tokens")))
		return &t->cache_write_tokens;
	return NULL;
}

int usage_read(yyjson_val *usage, struct weft_str raw, struct totals *ret,
	       struct weft_error *err)
{
	struct totals t = { .unpriced = 1 };
	struct object_member m;
	struct object_walk w;

	if (!yyjson_is_obj(usage))
		return fail(err, WEFT_INVALID,
			    "usage: expected an object, found %s",
			    json_kind(usage));
	object_walk_init(&w, usage, raw);
	while (object_walk_next(&w, &m)) {
		uint64_t *tokens = find_tokens(&t, m.name);
		int r = WEFT_OK;

		if (str_eq(m.name, STR("cost_usd")))
			r = read_cost(&m, &t, err);
		else if (tokens && !yyjson_is_null(m.value) &&
			 !value_u64(m.value, NUMBER_MAX, tokens))
			r = fail(err, WEFT_INVALID,
				 "usage.%.*s: expected a whole number from 0 "
				 "to 2^53 - 1",
				 STR_ARG(m.name));
		if (r != WEFT_OK)
			return r;
	}
	*ret = t;
	return WEFT_OK;
}

bool usage_is_nothing(const struct totals *t)
{
	return !t->input_tokens && !t->output_tokens && !t->cache_read_tokens &&
	       !t->cache_write_tokens && !t->cost_nano;
}

void usage_body(struct buf *b, struct weft_str usage)
{
	buf_add_lit(b, "\"usage\":");
	buf_add_one_line(b, usage);
}

void spent_read(yyjson_val *spent, struct totals *ret)
{
	const struct {
		const char *name;
		uint64_t *to;
	} fields[] = {
		{ "input_tokens", &ret->input_tokens },
		{ "output_tokens", &ret->output_tokens },
		{ "cache_read_tokens", &ret->cache_read_tokens },
		{ "cache_write_tokens", &ret->cache_write_tokens },
		{ "cost_nano", &ret->cost_nano },
		{ "unpriced", &ret->unpriced },
	};

	*ret = (struct totals){ .unpriced = 0 };
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		(void)value_u64(yyjson_obj_get(spent, fields[i].name),
				INT64_MAX, fields[i].to);
}
