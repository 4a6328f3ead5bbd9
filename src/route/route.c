/* route.c - from an inbound message to its conversation. */
#include "route/route.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "route/lifecycle.h"
#include "route/norm.h"

#define SHOWN 64 /* characters of a value in `why` */

#define SHOW(s) STR_ARG(text_cut((s), SHOWN))

/* What rules look at. */
struct view {
	struct weft_str channel, account, space, chat, topic;
	struct identity sender;
	bool mentioned;
};

__attribute__((format(printf, 2, 0))) static struct weft_str line_of(
	struct arena *a, const char *format, va_list args)
{
	char line[600];

	(void)vsnprintf(line, sizeof(line), format, args);
	return arena_str(a, str_of(line));
}

void route_say(struct route *r, struct arena *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	name_list_push(&r->why, line_of(a, format, args), a);
	va_end(args);
}

void route_warn(struct route *r, struct arena *a, const char *format, ...)
{
	struct weft_str line;
	va_list args;

	va_start(args, format);
	line = line_of(a, format, args);
	va_end(args);
	name_list_push(&r->why, line, a);
	name_list_push(&r->warnings, line, a);
}

static struct view view_of(const struct config *c,
			   const struct route_context *context, struct arena *a)
{
	struct view v = {
		.channel = norm_clean(context->channel, a),
		.account = norm_account(context->account, a),
		.mentioned = context->mentioned,
	};

	v.sender = identity_of(&c->links, context->channel, context->sender_id,
			       dm_counts_names(c), a);
	/* Nothing of the result belongs to the configuration. */
	v.sender.name = arena_str(a, v.sender.name);
	v.space = scope_value(DIM_SPACE, context, &v.sender, false, a);
	v.chat = scope_value(DIM_CHAT, context, &v.sender, false, a);
	v.topic = scope_value(DIM_TOPIC, context, &v.sender, false, a);
	return v;
}

struct weft_str route_agent_name(struct weft_str name, struct arena *a)
{
	return norm_agent(norm_agent(name, a), a);
}

/* ---- who answers ---- */

static struct weft_str default_agent(const struct config *c, struct arena *a)
{
	const struct config_agent *v = c->agents.v;

	for (size_t i = 0; i < c->agents.n; i++) {
		if (v[i].is_default == CONFIG_TRUE && norm_trim(v[i].id).len)
			return route_agent_name(v[i].id, a);
	}
	return route_agent_name(c->agents.n ? v[0].id : STR(""), a);
}

/* The agent of this name, or the default one if there is none. */
static struct weft_str known_agent(const struct config *c, struct weft_str name,
				   struct arena *a, struct route *r)
{
	const struct config_agent *v = c->agents.v;
	struct weft_str agent = route_agent_name(name, a);

	if (norm_trim(name).len == 0)
		return default_agent(c, a);
	for (size_t i = 0; i < c->agents.n; i++) {
		if (str_eq(agent, route_agent_name(v[i].id, a)))
			return agent;
	}
	if (c->agents.n == 0)
		return agent;
	agent = default_agent(c, a);
	route_say(r, a,
		  "agent '%.*s' is not in agents.list: the default agent "
		  "'%.*s' answers",
		  SHOW(name), SHOW(agent));
	return agent;
}

/* One condition of a rule; says why if it does not hold. */
static bool holds(struct weft_str wanted, struct weft_str found,
		  const char *what, const char *rule, struct arena *a,
		  struct route *r)
{
	if (wanted.len == 0 || str_eq(wanted, found))
		return true;
	if (found.len)
		route_say(r, a, "%s: %s is '%.*s', not '%.*s'", rule, what,
			  SHOW(found), SHOW(wanted));
	else
		route_say(r, a, "%s: there is no %s, '%.*s' is wanted", rule,
			  what, SHOW(wanted));
	return false;
}

static bool rule_fits(const struct config_rule *rule, const struct view *v,
		      const char *label, struct arena *a, struct route *r)
{
	const struct config_when *w = &rule->when;
	struct weft_str account = norm_trim(w->account);
	const struct {
		struct weft_str wanted, found;
		const char *what;
	} texts[] = {
		{ norm_clean(w->channel, a), v->channel, "channel" },
		{ account.len ? norm_account(account, a) : STR(""), v->account,
		  "account" },
		{ norm_clean(w->space, a), v->space, "space" },
		{ norm_clean(w->chat, a), v->chat, "chat" },
		{ norm_clean(w->topic, a), v->topic, "topic" },
		{ norm_clean(w->sender, a), v->sender.name, "sender" },
	};
	bool any = w->mentioned != CONFIG_UNSET;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (!holds(texts[i].wanted, texts[i].found, texts[i].what,
			   label, a, r))
			return false;
		any |= texts[i].wanted.len > 0;
	}
	if (w->mentioned != CONFIG_UNSET &&
	    (w->mentioned == CONFIG_TRUE) != v->mentioned) {
		route_say(r, a, "%s: the agent was %smentioned", label,
			  v->mentioned ? "" : "not ");
		return false;
	}
	if (!any)
		route_say(r, a, "%s: has no condition, so it is not used",
			  label);
	return any;
}

/* The rule that decides, or NULL. */
static const struct config_rule *find_rule(const struct config *c,
					   const struct view *v,
					   struct arena *a, struct route *r)
{
	const struct config_rule *rules = c->rules.v;

	for (size_t i = 0; i < c->rules.n; i++) {
		struct weft_str name = norm_clean(rules[i].name, a);
		char label[160];

		(void)snprintf(label, sizeof(label), "rule %zu%s%.*s%s", i + 1,
			       name.len ? " '" : "",
			       STR_ARG(text_cut(name, 20)),
			       name.len ? "'" : "");
		if (!rule_fits(&rules[i], v, label, a, r))
			continue;
		route_say(r, a, "%s: fits", label);
		r->matched_by =
			name.len ? NORM_JOIN(a, STR("dispatch.rule:"), name) :
				   STR("dispatch.rule");
		return &rules[i];
	}
	return NULL;
}

static void choose_agent(const struct config *c, const struct route_request *q,
			 const struct view *v, struct arena *a, struct route *r)
{
	const struct config_rule *rule = NULL;

	r->matched_by = STR("default");
	if (norm_trim(q->agent).len) {
		r->matched_by = STR("agent");
		route_say(r, a, "agent '%.*s' is given: no rule is asked",
			  SHOW(q->agent));
		r->agent = known_agent(c, q->agent, a, r);
		return;
	}
	rule = find_rule(c, v, a, r);
	if (rule) {
		r->agent = known_agent(c, rule->agent, a, r);
		r->rule_dimensions = rule->dimensions;
		return;
	}
	r->agent = default_agent(c, a);
	route_say(r, a, "%s: the default agent '%.*s' answers",
		  c->rules.n ? "no rule fits" : "there are no rules",
		  SHOW(r->agent));
}

bool route_by_default(const struct route *r)
{
	return str_eq(r->matched_by, STR("default"));
}

struct name_list route_agents(const struct config *c, struct arena *a)
{
	const struct config_agent *v = c->agents.v;
	struct name_list l = { 0 };

	name_list_add(&l, default_agent(c, a), a);
	for (size_t i = 0; i < c->agents.n; i++)
		name_list_add(&l, route_agent_name(v[i].id, a), a);
	return l;
}

/* What a person may do: the first role that lists them. */
static struct weft_str role_of(const struct config *c,
			       const struct route_context *context,
			       const struct identity *sender, struct arena *a)
{
	const struct config_link *v = c->session.roles.v;
	struct weft_str raw = norm_clean(context->sender_id, a);
	struct weft_str channel = norm_clean(context->channel, a);
	struct weft_str on = NORM_JOIN(a, channel, STR(":"), raw);

	if (raw.len == 0)
		return STR("");
	for (size_t i = 0; i < c->session.roles.n; i++) {
		for (size_t k = 0; k < v[i].ids.n; k++) {
			struct weft_str id = norm_clean(v[i].ids.v[k], a);

			if (str_eq(id, sender->name) || str_eq(id, raw) ||
			    str_eq(id, on))
				return arena_str(a, norm_trim(v[i].name));
		}
	}
	return STR("");
}

/* ---- which conversation ---- */

static void say_sender(const struct route_context *c,
		       const struct identity *who, const struct config *config,
		       struct arena *a, struct route *r)
{
	struct weft_str id = norm_trim(c->sender_id);
	struct identity like;

	if (who->link) {
		route_say(r, a, "sender '%.*s' is '%.*s' by an identity link",
			  SHOW(id), SHOW(who->name));
		return;
	}
	if (id.len == 0 || config->links.n == 0)
		return;
	route_say(r, a, "sender '%.*s' is in no identity link", SHOW(id));
	like = identity_of(&config->links, STR(""), id, true, a);
	r->namesake = like.link && str_eq(like.name, who->name);
	if (r->namesake)
		route_warn(r, a,
			   "sender '%.*s' is called like an identity link and "
			   "could be taken for that person: give the link "
			   "another name",
			   SHOW(who->name));
}

/* The person's keys on the channels that their ids name. */
static void add_other_keys(const struct identity *who, struct arena *a,
			   struct route *r)
{
	for (size_t i = 0; i < who->link->n_ids; i++) {
		struct weft_str id = who->link->ids[i];
		const char *colon = memchr(id.ptr, ':', id.len);
		struct scope other = r->scope;
		struct weft_str key;

		if (!colon || colon == id.ptr || colon == id.ptr + id.len - 1)
			continue;
		other.channel =
			(struct weft_str){ id.ptr, (size_t)(colon - id.ptr) };
		other.account = STR("default");
		key = scope_key(scope_signature(&other, a), a);
		if (!str_eq(key, r->key))
			name_list_add(&r->other_keys, key, a);
	}
}

static void set_person(const struct identity *who, struct arena *a,
		       struct route *r)
{
	if (who->name.len == 0)
		return;
	r->person = scope_key(NORM_JOIN(a, STR("person|agent="), r->agent,
					STR("|sender="), who->name),
			      a);
	if (!who->link)
		return;
	r->linked = true;
	add_other_keys(who, a, r);
	route_say(r, a,
		  "sender is the only dimension: the person's other channels "
		  "lead here too");
}

static void say_dimensions(const struct dimensions *dims, struct arena *a,
			   struct route *r)
{
	size_t have = 0;

	for (size_t i = 0; i < dims->n; i++) {
		struct weft_str name = dimension_names[dims->v[i]];

		if (have < r->scope.n_dims &&
		    str_eq(r->scope.dims[have], name)) {
			route_say(r, a, "dimension %.*s: '%.*s'", STR_ARG(name),
				  SHOW(r->scope.values[have].value));
			have++;
		} else {
			route_say(r, a, "dimension %.*s: has no value here",
				  STR_ARG(name));
		}
	}
	if (r->scope.n_dims)
		return;
	r->shared = true;
	route_say(r, a,
		  "no dimension has a value: all of channel '%.*s' and account "
		  "'%.*s' is one conversation, whoever speaks",
		  SHOW(r->scope.channel), SHOW(r->scope.account));
}

static void by_dimensions(const struct route_context *c,
			  const struct dimensions *dims, const struct view *v,
			  struct arena *a, struct route *r)
{
	r->scope = scope_build(r->agent, c, dims, &v->sender, a);
	r->signature = scope_signature(&r->scope, a);
	r->key = scope_key(r->signature, a);
	say_dimensions(dims, a, r);
	if (dims->n == 1 && dims->v[0] == DIM_SENDER)
		set_person(&v->sender, a, r);
}

static const char *dm_scope_word(uint32_t dm_scope)
{
	static const char *const words[] = {
		[DM_SCOPE_UNSET] = "none",
		[DM_SCOPE_MAIN] = "main",
		[DM_SCOPE_PER_AGENT] = "per-agent",
		[DM_SCOPE_PER_CHANNEL] = "per-channel",
		[DM_SCOPE_PER_PEER] = "per-peer",
		[DM_SCOPE_PER_CHANNEL_PEER] = "per-channel-peer",
		[DM_SCOPE_PER_ACCOUNT_CHANNEL_PEER] =
			"per-account-channel-peer",
		[DM_SCOPE_GLOBAL] = "global",
	};

	return dm_scope < ARRAY_LEN(words) ? words[dm_scope] : "unknown";
}

static void find_conversation(const struct config *c,
			      const struct route_context *context,
			      const struct view *v, struct arena *a,
			      struct route *r)
{
	if (r->rule_dimensions.n) {
		route_say(r, a, "dimensions: those of the rule");
		by_dimensions(context, &r->rule_dimensions, v, a, r);
		return;
	}
	if (c->session.dm_scope == DM_SCOPE_UNSET) {
		route_say(r, a, "dimensions: session.dimensions%s",
			  c->session.dimensions.given ? "" : ", the default");
		by_dimensions(context, &c->dimensions, v, a, r);
		return;
	}
	dm_route(c, context, &v->sender, a, r);
	r->signature = scope_signature(&r->scope, a);
	route_say(r, a, "dm_scope %s: the key is '%.*s'",
		  dm_scope_word(c->session.dm_scope), SHOW(r->key));
	if (r->shared)
		route_say(r, a,
			  "the direct messages of all people are one "
			  "conversation here");
}

static bool is_direct(const struct route_context *c, struct arena *a)
{
	struct weft_str type = norm_clean(c->chat_type, a);

	return type.len == 0 || str_eq(type, STR("direct"));
}

/* A key of the caller's own takes the place of the one we found. */
int route_take_key(const struct route_request *q, struct arena *a,
		   struct route *r, struct weft_error *err)
{
	int e;

	if (norm_trim(q->session_key).len == 0)
		return WEFT_OK;
	e = text_check_line(q->session_key, SIZE_MAX, "session_key", err);
	if (e != WEFT_OK)
		return e;
	if (!names_is_explicit(q->session_key, a)) {
		name_list_add(&r->aliases, norm_clean(q->session_key, a), a);
		route_say(r, a,
			  "session key '%.*s' is neither sk_v1_... nor "
			  "agent:...: only one more name of this one",
			  SHOW(q->session_key));
		return WEFT_OK;
	}
	if (str_eq(q->session_key, r->key)) {
		route_say(r, a, "session key '%.*s' is this one",
			  SHOW(q->session_key));
		return WEFT_OK;
	}
	/* How we would have come to ours explains nothing. */
	r->why.n = r->why_agent;
	route_say(r, a,
		  "session key '%.*s' is given and taken as it is: neither "
		  "dimensions nor dm_scope are asked",
		  SHOW(q->session_key));
	r->key = arena_str(a, q->session_key);
	r->own_key = true;
	r->group = !is_direct(&q->context, a);
	r->shared = false;
	r->linked = false;
	r->person = STR("");
	r->other_keys = (struct name_list){ 0 };
	return WEFT_OK;
}

int route_choose(const struct config *c, const struct route_request *q,
		 struct arena *a, struct route *ret, struct weft_error *err)
{
	struct view v = view_of(c, &q->context, a);

	*ret = (struct route){ .channel = v.channel, .sender = v.sender.name };
	if (ret->channel.len == 0)
		ret->channel = STR("unknown");
	ret->who = person_of_sender(&v.sender, ret->channel, a);
	choose_agent(c, q, &v, a, ret);
	say_sender(&q->context, &v.sender, c, a, ret);
	ret->role = role_of(c, &q->context, &v.sender, a);
	if (ret->role.len)
		route_say(ret, a, "the role of '%.*s' is '%.*s'",
			  SHOW(ret->sender), SHOW(ret->role));
	return a->failed ? arena_error(a, err) : WEFT_OK;
}

int route_allocate(const struct config *c, const struct route_request *q,
		   struct arena *a, struct route *r, struct weft_error *err)
{
	struct view v = view_of(c, &q->context, a);

	r->why_agent = r->why.n;
	find_conversation(c, &q->context, &v, a, r);
	r->group = scope_is_shared(&r->scope);
	r->aliases = names_legacy(r->agent, &q->context, &v.sender, a);
	r->main_aliases = (struct name_list){ 0 };
	name_list_add(&r->main_aliases, names_main(r->agent, a), a);
	r->main_key = scope_key(names_main(r->agent, a), a);
	r->reset = lifecycle_policy(c, &q->context, a);
	return a->failed ? arena_error(a, err) : WEFT_OK;
}

int route_resolve(const struct config *c, const struct route_request *q,
		  struct arena *a, struct route *ret, struct weft_error *err)
{
	int r = route_choose(c, q, a, ret, err);

	if (r == WEFT_OK)
		r = route_allocate(c, q, a, ret, err);
	if (r == WEFT_OK)
		r = route_take_key(q, a, ret, err);
	if (r == WEFT_OK && a->failed)
		r = arena_error(a, err);
	return r;
}

bool route_fits(const struct route *r, const struct scope *stored,
		bool holds_person)
{
	struct scope anywhere = *stored;

	if (r->own_key)
		return true;
	if (!r->linked)
		return !holds_person && scope_eq(&r->scope, stored);
	anywhere.channel = r->scope.channel;
	anywhere.account = r->scope.account;
	return scope_eq(&r->scope, holds_person ? &anywhere : stored);
}

bool route_outranks(const struct route *r, const struct scope *stored)
{
	struct weft_str agent, rest;

	return !r->own_key && names_parse_legacy(r->key, &agent, &rest) &&
	       !names_is_main(r->key) && !scope_eq(&r->scope, stored);
}

bool route_may_claim(const struct route *r, struct weft_str alias)
{
	return !r->own_key && !r->shared && !names_is_main(alias) &&
	       !str_eq(alias, r->key);
}
