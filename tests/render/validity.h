/*
 * validity.h - is this what a provider accepts?
 *
 * Written from the rules of the providers, not from the renderer, and shares
 * no code with it.
 */
#ifndef TESTS_RENDER_VALIDITY_H
#define TESTS_RENDER_VALIDITY_H

#include <yyjson.h>

struct verdict {
	char why[240]; /* what is wrong, where; empty: nothing */
};

/* True if `root` may be sent; else v->why says why not. */
bool valid_anthropic(yyjson_val *root, struct verdict *v);
bool valid_openai(yyjson_val *root, struct verdict *v);
bool valid_responses(yyjson_val *root, struct verdict *v);

#endif
