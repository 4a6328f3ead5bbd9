/* limits.c - every limit of a store, with what it limits. */
#include "api/api.h"

#include <assert.h>

#define LIMIT(name, about)                                        \
	{                                                         \
#name, offsetof(struct store_limits, name), about \
	}

static const struct {
	const char *name;
	size_t at;
	const char *about;
} limits[] = {
	LIMIT(message_bytes, "bytes of one message"),
	LIMIT(batch_messages, "messages that are appended at once"),
	LIMIT(parts, "parts of one message"),
	LIMIT(json_depth, "levels of JSON in JSON"),
	LIMIT(name_bytes, "bytes of a key, an alias and other names"),
	LIMIT(slug_bytes, "bytes of a title"),
	LIMIT(names, "names of one session"),
	LIMIT(metadata_bytes, "bytes of metadata"),
	LIMIT(op_bytes, "bytes of an operation id"),
	LIMIT(ops_remembered, "events of a session whose operation ids are "
			      "known at least"),
	LIMIT(queue, "requests that wait to be written"),
	LIMIT(page, "events or sessions in one answer"),
	LIMIT(active_sessions, "sessions held in memory"),
	LIMIT(open_files, "files held open"),
	LIMIT(idle_ms, "milliseconds until an idle session leaves memory"),
	LIMIT(fork_depth, "forks of forks"),
	LIMIT(subagent_depth, "subagents of subagents"),
	LIMIT(segment_bytes, "bytes of the log's first segment"),
	LIMIT(segment_bytes_max, "bytes to which segments grow under load"),
	LIMIT(busy_ms, "milliseconds to wait for another process"),
	LIMIT(lease_ms, "milliseconds of a lease that says nothing else"),
	LIMIT(lease_ms_min, "milliseconds of the shortest lease"),
	LIMIT(lease_ms_max, "milliseconds of the longest lease"),
	LIMIT(todos, "things to do in one session"),
	LIMIT(memory_bytes, "bytes of a memory"),
	LIMIT(blob_bytes, "bytes of a part that stay in its line; what is "
			  "larger is kept as a blob"),
	LIMIT(summary_bytes, "bytes of a summary"),
	LIMIT(window_messages, "messages of a window: of more, the last ones "
			       "are given"),
};

/* A limit that is not in the table would not be in the documents. */
static_assert(sizeof(struct store_limits) ==
		      ARRAY_LEN(limits) * sizeof(uint64_t),
	      "every limit is in the table");

static int method_limits(struct call *c)
{
	buf_add_lit(&c->out, "{\"limits\":{");
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		uint64_t n;

		memcpy(&n, (const char *)c->limits + limits[i].at, sizeof(n));
		buf_printf(&c->out, "%s\"%s\":%llu", i ? "," : "",
			   limits[i].name, (unsigned long long)n);
	}
	buf_add_lit(&c->out, "},\"about\":{");
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		buf_printf(&c->out, "%s\"%s\":", i ? "," : "", limits[i].name);
		buf_add_json(&c->out, str_of(limits[i].about));
	}
	buf_add_lit(&c->out, "}}");
	return WEFT_OK;
}

/* ---- the rows of the table ---- */

static const struct method rows[] = {
	{ .name = "limits",
	  .about = "Say which limits the store has.",
	  .answer = "`{\"limits\":{name: number},\"about\":{name: text}}`",
	  .right = RIGHT_READ,
	  .run = method_limits },
};

const struct method_group methods_limits = METHOD_GROUP(rows);
