/*
 * config_check.c - what is wrong with a configuration although each field by
 * itself is right: what cannot work is refused, what will not do what it seems
 * to is warned about.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "model/record.h"
#include "route/config.h"
#include "route/norm.h"

/* Where each is compared with each: longer lists were not written by hand. */
#define COMPARED_MAX 500

/* "FILE: line 7: ", as far as that is known. */
static struct weft_str place_text(const struct config_place *p, struct arena *a)
{
	struct weft_str line =
		p->line ? arena_printf(a, "line %zu: ", p->line) : STR("");

	return arena_printf(a, "%s%s%.*s", p->origin ? p->origin : "",
			    p->origin ? ": " : "", STR_ARG(line));
}

/* Warn of something that was read there. */
__attribute__((format(printf, 4, 5))) static void warn_of(
	struct config *c, struct arena *a, const struct config_place *p,
	const char *format, ...)
{
	struct weft_str at = place_text(p, a);
	char text[600];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	config_warn(c, a, arena_printf(a, "%.*s%s", STR_ARG(at), text));
}

void config_blame(struct config *c, struct arena *a,
		  const struct config_place *p, struct weft_str field,
		  const char *what)
{
	struct weft_str at = place_text(p, a);
	struct config_mistake m = { .place = *p, .field = field };

	m.message = arena_printf(a, "%.*s%.*s: %s", STR_ARG(at), STR_ARG(field),
				 what);
	config_add_mistake(c, a, &m);
}

#define SHOWN   64
#define SHOW(s) STR_ARG(text_cut((s), SHOWN))

/* ---- agents ---- */

static void check_agents(struct config *c, struct arena *a)
{
	const struct config_agent *v = c->agents.v, *chosen = NULL;
	struct weft_str *ids = ARENA_ARRAY(a, struct weft_str, COMPARED_MAX);

	for (size_t i = 0; ids && i < c->agents.n && i < COMPARED_MAX; i++) {
		struct weft_str id = norm_agent(v[i].id, a);

		ids[i] = id;

		if (!str_eq(id, norm_account(v[i].id, a)))
			warn_of(c, a, &v[i].place,
				"agents.list[%zu].id: nothing of \"%.*s\" can "
				"be part of an id, so it is \"main\"",
				i + 1, SHOW(v[i].id));
		for (size_t k = 0; k < i; k++) {
			if (str_eq(id, ids[k]))
				warn_of(c, a, &v[i].place,
					"agents.list[%zu].id: \"%.*s\" is the "
					"same as agents.list[%zu].id",
					i + 1, SHOW(v[i].id), k + 1);
		}
		if (v[i].is_default != CONFIG_TRUE)
			continue;
		if (chosen)
			warn_of(c, a, &v[i].place,
				"agents.list[%zu].default: \"%.*s\" is the "
				"default already; the first counts",
				i + 1, SHOW(chosen->id));
		else
			chosen = &v[i];
	}
}

/* ---- rules ---- */

static bool has_condition(const struct config_when *w)
{
	return w->channel.len || w->account.len || w->space.len ||
	       w->chat.len || w->topic.len || w->sender.len ||
	       w->mentioned != CONFIG_UNSET;
}

static bool is_listed(const struct config *c, struct weft_str agent,
		      struct arena *a)
{
	const struct config_agent *v = c->agents.v;

	for (size_t i = 0; i < c->agents.n; i++) {
		if (str_eq(norm_agent(v[i].id, a), norm_agent(agent, a)))
			return true;
	}
	return c->agents.n == 0 || agent.len == 0;
}

/* Spaces, chats and topics are compared together with their type. */
static void check_types(struct config *c, size_t i, struct arena *a)
{
	const struct config_rule *rule =
		(const struct config_rule *)c->rules.v + i;
	const struct {
		struct weft_str text;
		const char *field, *like;
	} v[] = {
		{ rule->when.space, "space", "workspace:" },
		{ rule->when.chat, "chat", "group:" },
		{ rule->when.topic, "topic", "topic:" },
	};

	for (size_t k = 0; k < ARRAY_LEN(v); k++) {
		struct weft_str s = v[k].text;
		bool fits = s.len && memchr(s.ptr, ':', s.len);

		if (strcmp(v[k].field, "topic") == 0)
			fits = str_starts(norm_clean(s, a), STR("topic:"));
		if (s.len && !fits)
			warn_of(c, a, &rule->place,
				"dispatch.rules[%zu].when.%s: expected type "
				"and id like \"%s%.*s\", found \"%.*s\", which "
				"nothing fits",
				i + 1, v[k].field, v[k].like, SHOW(s), SHOW(s));
	}
}

static void check_rules(struct config *c, struct arena *a)
{
	const struct config_rule *v = c->rules.v;

	for (size_t i = 0; i < c->rules.n; i++) {
		if (!has_condition(&v[i].when))
			warn_of(c, a, &v[i].place,
				"dispatch.rules[%zu]: has no condition, so it "
				"is never used",
				i + 1);
		/* One that only sets dimensions needs no agent. */
		if (v[i].agent.len == 0 && v[i].dimensions.n == 0)
			warn_of(c, a, &v[i].place,
				"dispatch.rules[%zu].agent: expected who "
				"answers, found nothing; the default agent "
				"does",
				i + 1);
		if (!is_listed(c, v[i].agent, a))
			warn_of(c, a, &v[i].place,
				"dispatch.rules[%zu]: agent \"%.*s\" is not in "
				"agents.list; the default agent answers",
				i + 1, SHOW(v[i].agent));
		check_types(c, i, a);
	}
}

/* ---- people ---- */

/* A name and its ids; `path` is the field that has it. */
static void check_link(struct config *c, const struct config_link *link,
		       const char *path, struct arena *a)
{
	bool any = false;

	for (size_t k = 0; k < link->ids.n; k++)
		any |= link->ids.v[k].len > 0;
	if (norm_trim(link->name).len == 0)
		warn_of(c, a, &link->place,
			"%s: a name is empty, so it is not "
			"used",
			path);
	else if (!any)
		warn_of(c, a, &link->place, "%s.%.*s: has no ids", path,
			SHOW(norm_trim(link->name)));
}

/* An id in two of them is the first one's. */
static void check_twice(struct config *c, const struct config_link *link,
			const struct identity_links *all, const char *path,
			struct weft_str id, struct arena *a)
{
	const struct identity_link *first = identity_find(all, id);
	struct weft_str own = norm_clean(link->name, a);

	if (first && !str_eq(first->name, own))
		warn_of(c, a, &link->place,
			"%s: \"%.*s\" is in \"%.*s\" and in \"%.*s\"; the "
			"first counts",
			path, SHOW(id), SHOW(first->name), SHOW(own));
}

/* The name of another link among the ids leads nowhere: links are not
 * followed. */
static void check_chain(struct config *c, const struct config_link *link,
			struct weft_str id, struct arena *a)
{
	const struct identity_link *other = identity_named(&c->links, id);
	struct weft_str own = norm_clean(link->name, a);

	if (other && !str_eq(other->name, own))
		warn_of(c, a, &link->place,
			"session.identity_links.%.*s: \"%.*s\" is the name of "
			"another link; links are not followed, so give the ids "
			"themselves",
			SHOW(own), SHOW(id));
}

static void check_people(struct config *c, const struct config_list *l,
			 const char *path, struct arena *a)
{
	struct identity_links all = config_links(l, a);
	const struct config_link *v = l->v;

	for (size_t i = 0; i < l->n; i++) {
		check_link(c, &v[i], path, a);
		if (norm_trim(v[i].name).len == 0)
			continue;
		for (size_t k = 0; k < v[i].ids.n; k++) {
			struct weft_str id = norm_clean(v[i].ids.v[k], a);

			check_twice(c, &v[i], &all, path, id, a);
			if (l == &c->session.identity_links)
				check_chain(c, &v[i], id, a);
		}
	}
}

/* Told when several people speak, and by `weft config check`. */
static void note_shared(struct config *c, const char *file, struct arena *a)
{
	const struct config_session *s = &c->session;
	size_t field = s->dm_scope == DM_SCOPE_UNSET ? FIELD_DIMENSIONS :
						       FIELD_DM_SCOPE;
	const struct config_place place = { file, c->sources[field].line };
	struct weft_str at = place.line ? place_text(&place, a) : STR("");

	if (s->dm_scope == DM_SCOPE_MAIN || s->dm_scope == DM_SCOPE_GLOBAL)
		name_list_add(&c->notes,
			      arena_printf(a,
					   "%.*ssession.dm_scope: the direct "
					   "messages of all people are one "
					   "conversation; they read each "
					   "other's",
					   STR_ARG(at)),
			      a);
	else if (s->dm_scope == DM_SCOPE_UNSET && c->dimensions.n == 0)
		name_list_add(&c->notes,
			      arena_printf(a,
					   "%.*ssession.dimensions: with none, "
					   "all people on a channel are in one "
					   "conversation; they read each "
					   "other's",
					   STR_ARG(at)),
			      a);
}

/* ---- when conversations begin anew ---- */

static void check_reset(struct config *c, const struct config_reset *reset,
			struct weft_str path, struct arena *a)
{
	path = text_cut(path, 2 * SHOWN);
	if (reset->mode == RESET_IDLE && reset->idle_minutes == 0)
		config_blame(c, a, &reset->place,
			     NORM_JOIN(a, path, STR(".idle_minutes")),
			     "expected a number from 1 with mode idle, found "
			     "0");
	if (reset->mode == RESET_UNSET && reset->idle_minutes)
		config_blame(c, a, &reset->place,
			     NORM_JOIN(a, path, STR(".mode")),
			     "expected one of none|daily|idle, found nothing");
	if (reset->mode == RESET_NONE && reset->idle_minutes)
		warn_of(c, a, &reset->place,
			"%.*s.idle_minutes: does nothing with mode none",
			SHOW(path));
}

static void check_channel_resets(struct config *c, struct arena *a)
{
	const struct config_channel_reset *v = c->lifecycle.by_channel.v;

	for (size_t i = 0; i < c->lifecycle.by_channel.n; i++) {
		struct weft_str name = norm_clean(v[i].channel, a);

		check_reset(c, &v[i].reset,
			    arena_printf(a, "lifecycle.reset_by_channel.%.*s",
					 STR_ARG(name)),
			    a);
		for (size_t k = 0; k < i && i < COMPARED_MAX; k++) {
			if (str_eq(name, norm_clean(v[k].channel, a)))
				warn_of(c, a, &v[i].reset.place,
					"lifecycle.reset_by_channel: \"%.*s\" "
					"is there twice; the first counts",
					SHOW(name));
		}
	}
}

static void check_resets(struct config *c, struct arena *a)
{
	const struct {
		const struct config_reset *reset;
		struct weft_str path;
	} v[] = {
		{ &c->lifecycle.reset, STR("lifecycle.reset") },
		{ &c->lifecycle.direct, STR("lifecycle.reset_by_type.direct") },
		{ &c->lifecycle.group, STR("lifecycle.reset_by_type.group") },
		{ &c->lifecycle.thread, STR("lifecycle.reset_by_type.thread") },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		check_reset(c, v[i].reset, v[i].path, a);
	check_channel_resets(c, a);
}

/* ---- the server ---- */

/* ADDRESS:PORT, where an IPv6 address is in brackets. */
static bool is_listen(struct weft_str s)
{
	const char *colon = s.len ? memrchr(s.ptr, ':', s.len) : NULL;
	struct weft_str host, port;
	uint64_t n;

	if (!colon)
		return false;
	host = (struct weft_str){ s.ptr, (size_t)(colon - s.ptr) };
	port = str_skip(s, host.len + 1);
	if (!str_to_u64(port, UINT16_MAX, &n))
		return false;
	if (host.len && host.ptr[0] == '[')
		return host.len > 2 && host.ptr[host.len - 1] == ']';
	return host.len && !memchr(host.ptr, ':', host.len) &&
	       !memchr(host.ptr, ' ', host.len);
}

static void check_server(struct config *c, const char *file, struct arena *a)
{
	size_t line = config_line(c, "server", "listen");
	const struct config_place at = { line ? file : "$WEFT_SERVER_LISTEN",
					 line };

	if (c->server_listen.len && !is_listen(c->server_listen))
		config_blame(c, a, &at, STR("server.listen"),
			     arena_printf(a,
					  "expected an address and a port like "
					  "\"127.0.0.1:8080\", found \"%.*s\"",
					  SHOW(c->server_listen))
				     .ptr);
}

/* ---- what is removed ---- */

/* Whether a condition of an earlier rule holds wherever the later one's
 * does. */
static bool covers(struct weft_str earlier, struct weft_str later,
		   struct arena *a)
{
	earlier = norm_clean(earlier, a);
	return earlier.len == 0 || str_eq(earlier, norm_clean(later, a));
}

static void check_retention(struct config *c, struct arena *a)
{
	const struct config_retention_rule *v = c->retention.rules.v;

	for (size_t i = 1; i < c->retention.rules.n && i < COMPARED_MAX; i++) {
		for (size_t k = 0; k < i; k++) {
			/* One without a kind is not about books. */
			bool kind = v[k].kind ? v[k].kind == v[i].kind :
						v[i].kind != KIND_BOOK;

			if (!kind || !covers(v[k].agent, v[i].agent, a) ||
			    !covers(v[k].channel, v[i].channel, a) ||
			    !covers(v[k].account, v[i].account, a) ||
			    !covers(v[k].chat_type, v[i].chat_type, a))
				continue;
			warn_of(c, a, &v[i].place,
				"retention.rules[%zu]: is never used, since "
				"retention.rules[%zu] comes first and fits all "
				"that it fits",
				i + 1, k + 1);
			break;
		}
	}
}

void config_check(struct config *c, const char *file, struct arena *a)
{
	check_resets(c, a);
	check_server(c, file, a);
	check_agents(c, a);
	check_rules(c, a);
	check_people(c, &c->session.identity_links, "session.identity_links",
		     a);
	check_people(c, &c->session.roles, "session.roles", a);
	check_retention(c, a);
	note_shared(c, file, a);
}
