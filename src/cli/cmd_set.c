/* cmd_set.c - weft set */
#include <stdio.h>

#include "base/error.h"
#include "base/near.h"
#include "cli/cli.h"
#include "cli/commands.h"

/* How the value of a field is written on the command line. */
enum value_kind { VALUE_TEXT, VALUE_JSON, VALUE_MODEL, VALUE_BOOL, VALUE_TIME };

static const struct {
	const char *name;
	enum value_kind kind;
} fields[] = {
	{ "slug", VALUE_TEXT },       { "agent", VALUE_TEXT },
	{ "model", VALUE_MODEL },     { "project_dir", VALUE_TEXT },
	{ "user", VALUE_TEXT },       { "channel", VALUE_TEXT },
	{ "user_role", VALUE_TEXT },  { "metadata", VALUE_JSON },
	{ "tools", VALUE_JSON },      { "pinned", VALUE_BOOL },
	{ "expires_at", VALUE_TIME },
};

static const struct arg args[] = {
	ARG_SESSION,
	{ .name = "FIELD=VALUE",
	  .about = "slug, agent, project_dir, user, channel or user_role and "
		   "a text; model=PROVIDER/NAME; metadata or tools and JSON; "
		   "pinned=true or false; expires_at and a time such as "
		   "2026-11-15T10:00:00Z. Nothing behind the = takes the "
		   "value away",
	  .many = 1 },
};

static int fail_field(struct cli *c, struct weft_str name)
{
	const char *words[ARRAY_LEN(fields)];
	const char *near;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		words[i] = fields[i].name;
	near = near_word(name, words, ARRAY_LEN(words));
	if (near)
		return fail(c->err, WEFT_USAGE,
			    "set: no field '%.*s'; did you mean '%s'?",
			    STR_ARG(name), near);
	return fail(c->err, WEFT_USAGE,
		    "set: no field '%.*s'; 'weft set --help' lists them",
		    STR_ARG(name));
}

static void add_value(struct req *q, size_t field, const char *value)
{
	const char *name = fields[field].name;

	if (*value == '\0' && fields[field].kind != VALUE_TEXT) {
		req_raw(q, name, STR("null"));
		return;
	}
	switch (fields[field].kind) {
	case VALUE_JSON:
		req_json(q, name, name, value);
		break;
	case VALUE_MODEL:
		req_model(q, name, name, value);
		break;
	case VALUE_BOOL:
		if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
			req_raw(q, name, str_of(value));
		else if (q->error == WEFT_OK)
			q->error = fail(q->cli->err, WEFT_USAGE,
					"%s: expected true or false, got '%s'",
					name, value);
		break;
	default:
		req_text(q, name, name, value);
		break;
	}
}

static int add_change(struct cli *c, struct req *q, const char *change)
{
	const char *equals = strchr(change, '=');
	struct weft_str name;

	if (!equals)
		return fail(c->err, WEFT_USAGE,
			    "set: expected FIELD=VALUE, got '%s'", change);
	name = (struct weft_str){ change, (size_t)(equals - change) };
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (str_eq(name, str_of(fields[i].name))) {
			add_value(q, i, equals + 1);
			return WEFT_OK;
		}
	}
	return fail_field(c, name);
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "set");
	req_session(&q, 0);
	req_open(&q, "changes");
	for (size_t i = 1; i < c->line.n_args; i++) {
		int r = add_change(c, &q, c->line.args[i]);

		if (r != WEFT_OK)
			return r;
	}
	req_close(&q);
	return cli_answer(c, &q, text_session);
}

const struct command cmd_set = {
	.name = "set",
	.summary = "change what a session is set to",
	.about = "Changes one or more fields of a session, all or none. What "
		 "is set to what it was already writes nothing.",
	.example = "weft set work model=anthropic/claude pinned=true\n"
		   "weft set work 'metadata={\"ticket\":7}' expires_at=",
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};
