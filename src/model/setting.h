/*
 * setting.h - the fields of a session that can be changed after it began.
 * For the files of model/ only.
 */
#ifndef MODEL_SETTING_H
#define MODEL_SETTING_H

#include "weft/store.h"

enum setting_rule {
	SETTING_LINE,   /* short text; null is empty */
	SETTING_OBJECT, /* a JSON object; null and {} are none */
	SETTING_ARRAY,  /* a JSON array; null is none */
	SETTING_MODEL,  /* {provider, name}; null is none */
	SETTING_BOOL,
	SETTING_TIME /* null is none */
};

struct setting {
	const char *name;
	uint8_t rule;    /* enum setting_rule */
	uint16_t offset; /* in struct session_rec; of the provider */
};

/* NULL if there is none of this name. */
const struct setting *setting_find(struct weft_str name);

#endif
