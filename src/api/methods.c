/* methods.c - every method there is: the groups, in the order of the manual. */
#include "api/table.h"

static const struct method_group *const groups[] = {
	&methods_sessions, &methods_list,   &methods_route,
	&methods_messages, &methods_drop,   &methods_forks,
	&methods_markers,  &methods_lease,  &methods_memories,
	&methods_search,   &methods_todos,  &methods_turns,
	&methods_usage,    &methods_users,  &methods_cleanup,
	&methods_care,     &methods_limits, &methods_describe,
};

const struct method *method_at(size_t i)
{
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		if (i < groups[g]->n)
			return &groups[g]->rows[i];
		i -= groups[g]->n;
	}
	return NULL;
}

const struct method *method_find(struct weft_str name)
{
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		const struct method *rows = groups[g]->rows;

		for (size_t i = 0; i < groups[g]->n; i++) {
			if (str_eq(name, str_of(rows[i].name)))
				return &rows[i];
		}
	}
	return NULL;
}
