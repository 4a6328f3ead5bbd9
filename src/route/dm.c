/*
 * dm.c - readable keys by dm_scope.
 *
 * The first three values (main, per-agent, per-channel) are Weft's own.  Their
 * keys say who it is: the name of an identity link, or channel and id.  A
 * colon that could be taken for the end of a part is written as "%3a", and "%"
 * as "%25", so that two conversations never get one key.
 *
 * The others are those of older programs, byte for byte; there the stored
 * scope tells apart what a key may not.
 *
 * What is not part of a conversation's identity is empty in its scope.
 */
#include "route/norm.h"
#include "route/route.h"

/* What a key is made of. */
struct parts {
	uint32_t dm_scope;
	struct weft_str agent, channel, account;
	struct weft_str kind; /* of the chat; empty: direct */
	struct weft_str chat; /* with the topic, where that is part of it */
	struct identity sender;
	bool forum; /* the topic is part of the chat also in our own keys */
};

/* main of the other style is one conversation for each agent. */
static bool is_ours(const struct config_session *s)
{
	return (s->dm_scope == DM_SCOPE_MAIN &&
		s->dm_scope_style != DM_STYLE_PICOCLAW) ||
	       s->dm_scope == DM_SCOPE_PER_AGENT ||
	       s->dm_scope == DM_SCOPE_PER_CHANNEL;
}

bool dm_counts_names(const struct config *c)
{
	return is_ours(&c->session);
}

/* ---- parts of our own keys ---- */

/* Whether all of it could be the type of a chat. */
static bool is_kind(struct weft_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '-' || c == '%'))
			return false;
	}
	return true;
}

/* A type of chat that is_kind() knows. */
static struct weft_str safe_kind(struct weft_str kind, struct arena *a)
{
	static const char digits[] = "0123456789abcdef";
	char *to = arena_alloc(a, 3 * kind.len + 1);
	size_t n = 0;

	if (!to)
		return STR("");
	for (size_t i = 0; i < kind.len; i++) {
		unsigned char c = (unsigned char)kind.ptr[i];

		if (c != '%' && is_kind((struct weft_str){ kind.ptr + i, 1 })) {
			to[n++] = (char)c;
			continue;
		}
		to[n++] = '%';
		to[n++] = digits[c >> 4];
		to[n++] = digits[c & 15];
	}
	to[n] = '\0';
	return (struct weft_str){ to, n };
}

/* The id of a user: only its first colon could end a type of chat. */
static struct weft_str safe_user(struct weft_str id, struct arena *a)
{
	const char *colon = id.len ? memchr(id.ptr, ':', id.len) : NULL;
	struct weft_str head, rest;
	char *to;
	size_t n = 0;

	to = arena_alloc(a, 3 * id.len + 1);
	if (!to)
		return STR("");
	for (size_t i = 0; i < id.len; i++) {
		if (id.ptr[i] == '%') {
			memcpy(to + n, "%25", 3);
			n += 3;
		} else {
			to[n++] = id.ptr[i];
		}
	}
	to[n] = '\0';
	id = (struct weft_str){ to, n };
	colon = colon ? memchr(to, ':', n) : NULL;
	if (!colon)
		return id;
	head = (struct weft_str){ to, (size_t)(colon - to) };
	rest = str_skip(id, head.len + 1);
	return is_kind(head) ? NORM_JOIN(a, head, STR("%3a"), rest) : id;
}

/* Who it is: what our own keys end with.  A link that is called like one of
 * its ids is that id, so that adding it changes no key. */
static struct weft_str identity_text(const struct parts *p, struct arena *a)
{
	struct weft_str name = p->sender.name;
	const char *colon;

	if (!p->sender.link) {
		if (name.len == 0)
			name = p->chat;
		return NORM_JOIN(a, norm_no_colon(p->channel, a), STR(":"),
				 name.len ? safe_user(name, a) :
					    STR("unknown"));
	}
	colon = memchr(name.ptr, ':', name.len);
	if (!colon)
		return norm_no_colon(name, a);
	return NORM_JOIN(
		a,
		norm_no_colon((struct weft_str){ name.ptr,
						 (size_t)(colon - name.ptr) },
			      a),
		STR(":"),
		safe_user(str_skip(name, (size_t)(colon - name.ptr) + 1), a));
}

/* ---- scope and key ---- */

static void set_value(struct route *r, enum dimension dim,
		      struct weft_str value, struct arena *a)
{
	struct scope_value *v = ARENA_NEW(a, struct scope_value);

	if (!v)
		return;
	*v = (struct scope_value){ dimension_names[dim], value };
	r->scope.values = v;
	r->scope.dims = &dimension_names[dim];
	r->scope.n_values = r->scope.n_dims = 1;
}

static void our_direct(const struct parts *p, struct arena *a, struct route *r)
{
	struct weft_str who;

	if (p->dm_scope == DM_SCOPE_MAIN) {
		r->key = STR("main");
		r->shared = true;
		return;
	}
	who = identity_text(p, a);
	set_value(r, DIM_SENDER, who, a);
	r->key = who;
	if (p->dm_scope == DM_SCOPE_PER_AGENT) {
		r->scope.agent = p->agent;
		r->key = NORM_JOIN(a, STR("agent:"), p->agent, STR(":"), who);
	}
	if (!p->sender.name.len)
		route_say(r, a, "no sender is known: the chat stands for them");
}

static void our_group(const struct parts *p, struct arena *a, struct route *r)
{
	r->scope.channel = p->channel;
	set_value(r, DIM_CHAT,
		  NORM_JOIN(a, safe_kind(p->kind, a), STR(":"), p->chat), a);
	r->key = NORM_JOIN(a, norm_no_colon(p->channel, a), STR(":"),
			   safe_kind(p->kind, a), STR(":"), p->chat);
}

static void older_direct(const struct parts *p, struct arena *a,
			 struct route *r)
{
	struct weft_str peer = p->sender.name;

	r->scope.agent = p->agent;
	if (peer.len == 0 || p->dm_scope == DM_SCOPE_GLOBAL ||
	    p->dm_scope == DM_SCOPE_MAIN) {
		r->key = names_main(p->agent, a);
		r->shared = true;
		return;
	}
	set_value(r, DIM_SENDER, peer, a);
	r->key = NORM_JOIN(a, STR("agent:"), p->agent);
	if (p->dm_scope != DM_SCOPE_PER_PEER) {
		r->scope.channel = p->channel;
		r->key = NORM_JOIN(a, r->key, STR(":"), p->channel);
	}
	if (p->dm_scope == DM_SCOPE_PER_ACCOUNT_CHANNEL_PEER) {
		r->scope.account = p->account;
		r->key = NORM_JOIN(a, r->key, STR(":"), p->account);
	}
	r->key = NORM_JOIN(a, r->key, STR(":direct:"), peer);
}

static void older_group(const struct parts *p, struct arena *a, struct route *r)
{
	r->scope.agent = p->agent;
	r->scope.channel = p->channel;
	set_value(r, DIM_CHAT,
		  NORM_JOIN(a, safe_kind(p->kind, a), STR(":"), p->chat), a);
	r->key = NORM_JOIN(a, STR("agent:"), p->agent, STR(":"), p->channel,
			   STR(":"), p->kind, STR(":"), p->chat);
}

static struct parts take_parts(const struct config *c,
			       const struct route_context *context,
			       const struct identity *sender, struct arena *a)
{
	struct parts p = {
		.dm_scope = c->session.dm_scope,
		.channel = norm_clean(context->channel, a),
		.account = norm_account(context->account, a),
		.kind = norm_clean(context->chat_type, a),
		.chat = norm_clean(context->chat_id, a),
	};
	struct weft_str topic = norm_clean(context->topic_id, a);

	p.sender = *sender;
	p.forum = !is_ours(&c->session) || str_eq(p.channel, STR("telegram"));
	if (p.channel.len == 0)
		p.channel = STR("unknown");
	if (str_eq(p.kind, STR("direct")))
		p.kind = STR("");
	if (p.kind.len && p.chat.len == 0)
		p.chat = STR("unknown");
	if (topic.len && p.forum && p.kind.len)
		p.chat = NORM_JOIN(a, p.chat, STR("/"), topic);
	return p;
}

void dm_route(const struct config *c, const struct route_context *context,
	      const struct identity *sender, struct arena *a, struct route *ret)
{
	struct parts p = take_parts(c, context, sender, a);
	bool ours = is_ours(&c->session);

	p.agent = ret->agent;
	ret->scope = (struct scope){ .version = SCOPE_VERSION,
				     .agent = STR(""),
				     .channel = STR(""),
				     .account = STR("") };
	if (ours && p.kind.len)
		our_group(&p, a, ret);
	else if (ours)
		our_direct(&p, a, ret);
	else if (p.kind.len)
		older_group(&p, a, ret);
	else
		older_direct(&p, a, ret);
}
