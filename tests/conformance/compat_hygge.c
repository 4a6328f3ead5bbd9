/* compat_hygge.c - what the cases of hygge's store share. */
#include "conformance/compat_hygge.h"

#include <stdio.h>
#include <stdlib.h>

struct weft_hygge_new_options hygge_options(const char *project)
{
	struct weft_hygge_new_options o;

	weft_hygge_new_options_init(&o, sizeof(o));
	o.project_dir = S(project);
	o.provider = S("anthropic");
	o.model = S("claude");
	return o;
}

int hygge_try_create(struct desk *d, const struct weft_hygge_new_options *o)
{
	struct weft_answer *answer = NULL;
	int r = weft_hygge_create_session(d->store, o, &answer, &d->err);

	weft_answer_free(answer);
	return r;
}

const char *hygge_create(struct desk *d, const struct weft_hygge_new_options *o)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_create_session(d->store, o, &answer, &d->err));
}

const char *hygge_new(struct desk *d, const char *project)
{
	struct weft_hygge_new_options o = hygge_options(project);

	return at(d, hygge_create(d, &o), "id");
}

const char *hygge_subagent(struct desk *d, const char *parent)
{
	struct weft_hygge_new_options o = hygge_options("/h/subagents");

	o.kind = S("subagent");
	o.parent_id = S(parent);
	return at(d, hygge_create(d, &o), "id");
}

int hygge_try_fork(struct desk *d, const char *from, const char *message)
{
	struct weft_hygge_fork_options o;
	struct weft_answer *answer = NULL;
	int r;

	weft_hygge_fork_options_init(&o, sizeof(o));
	o.from_session = S(from);
	o.from_message = S(message);
	o.provider = S("anthropic");
	o.model = S("claude");
	r = weft_hygge_fork_session(d->store, &o, &answer, &d->err);
	weft_answer_free(answer);
	return r;
}

const char *hygge_fork(struct desk *d, const char *from, const char *message)
{
	struct weft_hygge_fork_options o;
	struct weft_answer *answer;

	weft_hygge_fork_options_init(&o, sizeof(o));
	o.from_session = S(from);
	o.from_message = S(message);
	o.provider = S("anthropic");
	o.model = S("claude");
	return at(d,
		  CALL(d, answer,
		       weft_hygge_fork_session(d->store, &o, &answer, &d->err)),
		  "id");
}

int hygge_try_append(struct desk *d, const char *session, const char *message)
{
	struct weft_answer *answer = NULL;
	int r = weft_hygge_append_message(d->store, T(session), T(message),
					  &answer, &d->err);

	weft_answer_free(answer);
	return r;
}

const char *hygge_append(struct desk *d, const char *session,
			 const char *message)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_append_message(d->store, T(session), T(message),
					      &answer, &d->err));
}

const char *hygge_say_as(struct desk *d, const char *session, const char *role,
			 const char *text)
{
	char json[1024];
	int n = snprintf(json, sizeof(json),
			 "{\"role\":\"%s\",\"parts\":[{\"type\":\"text\","
			 "\"text\":\"%s\"}]}",
			 role, text);

	assert_true(n > 0 && (size_t)n < sizeof(json));
	return at(d, hygge_append(d, session, json), "id");
}

const char *hygge_say(struct desk *d, const char *session, const char *text)
{
	return hygge_say_as(d, session, "user", text);
}

const char *hygge_get(struct desk *d, const char *session)
{
	struct weft_answer *answer;

	return CALL(
		d, answer,
		weft_hygge_get_session(d->store, T(session), &answer, &d->err));
}

const char *hygge_is(struct desk *d, const char *session, const char *path)
{
	return at(d, hygge_get(d, session), path);
}

const char *hygge_texts(struct desk *d, const char *session)
{
	struct weft_answer *answer;
	const char *list =
		CALL(d, answer,
		     weft_hygge_messages_for_session(d->store, T(session),
						     &answer, &d->err));

	return each(d, list, "", "parts.0.text");
}

const char *hygge_window(struct desk *d, const char *session)
{
	struct weft_answer *answer;
	const char *w = CALL(d, answer,
			     weft_hygge_messages_since_latest_marker(
				     d->store, T(session), &answer, &d->err));
	const char *texts = each(d, w, "messages", "parts.0.text");
	char *out;

	if (strcmp(at(d, w, "marker"), "null") == 0)
		return texts;
	out = arena_alloc(&d->arena, 1024);
	assert_non_null(out);
	(void)snprintf(out, 1024, "[%s] %s", at(d, w, "marker.summary"), texts);
	return out;
}

const char *hygge_mark(struct desk *d, const char *session, const char *before,
		       const char *summary)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_add_compaction_marker(d->store, T(session),
						     T(before), T(summary), 999,
						     &answer, &d->err));
}

void hygge_delete(struct desk *d, const char *session)
{
	desk_ok(d,
		weft_hygge_soft_delete_session(d->store, T(session), &d->err));
}

void hygge_hide(struct desk *d, const char *session, const char *message)
{
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[\"%s\"]}",
			session, message);
}

struct weft_hygge_list_options hygge_all(void)
{
	struct weft_hygge_list_options o;

	weft_hygge_list_options_init(&o, sizeof(o));
	return o;
}

const char *hygge_list(struct desk *d, struct weft_hygge_list_options o,
		       const char *project)
{
	struct weft_answer *answer;

	o.project_dir = S(project);
	return each(
		d,
		CALL(d, answer,
		     weft_hygge_list_sessions(d->store, &o, &answer, &d->err)),
		"", "id");
}

const char *hygge_say_all(struct desk *d, const char *session,
			  const char *letters, size_t nth)
{
	const char *ret = NULL;

	for (size_t i = 0; letters[i]; i++) {
		char one[2] = { letters[i], '\0' };
		const char *id = hygge_say(d, session, one);

		if (i + 1 == nth)
			ret = id;
	}
	return ret;
}

const char *hygge_set_todos(struct desk *d, const char *session,
			    const char *items)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_replace_session_todos(
			    d->store, T(session), T(items), &answer, &d->err));
}

const char *hygge_todos(struct desk *d, const char *session)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_get_session_todos(d->store, T(session), &answer,
						 &d->err));
}
