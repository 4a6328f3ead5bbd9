/*
 * test-route-property.c - random contexts under random configurations: two of
 * them lead to one conversation exactly where they should.
 *
 * What should be is said by an oracle that shares no code with route/: it
 * normalises with utf8proc and a list of its own, and describes a conversation
 * by its parts, each with its length, so that no separator can be forged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <utf8proc.h>

#include "crash/place.h"
#include "route/route.h"

#define CONFIGS  2000
#define CONTEXTS 56 /* under each */
#define TEXT_MAX 64
#define WHAT_MAX 600

/* ---- random things ---- */

static uint64_t seed;
static uint64_t begun; /* of what is tried now: WEFT_TEST_SEED */

static unsigned roll(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 11) % n);
}

/* Few, so that they meet often; and such as would be taken for others. */
static const char *const pieces[] = {
	"",
	"a",
	"A",
	"b",
	"5",
	"john",
	"John ",
	"group",
	"group:a",
	"a:b",
	"b:a",
	"a|b",
	"a|sender=b",
	"|",
	":",
	"%3a",
	"a%3ab",
	"%",
	"/",
	"a/5",
	"\xc3\x84",
	"\xc3\xa4",
	"\xc4\xb0",
	"i",
	"\xce\xa3",
	"\xcf\x83",
	"\xcf\x82",
	"\xc8\xba",
	"main",
	"unknown",
	"\343\200\200a\302\240",
	"telegram:5",
	"x:john",
	"@a:b",
	"\xe2\x80\x8b",
};

static const char *piece(void)
{
	return pieces[roll(ARRAY_LEN(pieces))];
}

static const char *const channels[] = { "telegram", "Telegram", "a",
					"a:@a",     "a:b",      "irc",
					"direct",   "" };
static const char *const types[] = { "direct", "Direct ", "",
				     "group",  "a",       "group:a" };

struct trial {
	const char *channel, *account, *chat_type, *chat, *topic, *space,
		*sender;
};

static struct trial make_trial(void)
{
	return (struct trial){
		.channel = channels[roll(ARRAY_LEN(channels))],
		.account = roll(3) ? "" : "b",
		.chat_type = types[roll(ARRAY_LEN(types))],
		.chat = piece(),
		.topic = roll(3) ? "" : piece(),
		.space = roll(2) ? "" : piece(),
		.sender = piece(),
	};
}

/* ---- the configuration ---- */

#define LINKS_MAX 3

struct setup {
	unsigned dm_scope; /* 0: dimensions */
	unsigned dims[4], n_dims;
	const char *links[LINKS_MAX][3]; /* name and two ids */
	unsigned n_links;
};

static const char *const dm_scopes[] = {
	NULL,
	"main",
	"per-agent",
	"per-channel",
	"per-peer",
	"per-channel-peer",
	"per-account-channel-peer",
	"global",
};
static const char *const dims[] = { "space", "chat", "topic", "sender" };

static const char *const names[] = { "john", "telegram:5", "A:b", "x" };
static const char *const ids[] = { "telegram:5", "a:b",  "5",   "irc:a",
				   "b",          "a:a",  "x:y", "irc:john",
				   "direct:5",   "a:b:a" };

static struct setup make_setup(void)
{
	struct setup s = {
		.dm_scope = roll(2) ? 0 : 1 + roll(7),
		.n_links = roll(LINKS_MAX + 1),
	};
	unsigned first_name = roll(ARRAY_LEN(names));

	/* Often nothing but the sender: there persons meet. */
	if (roll(3) == 0) {
		s.dims[s.n_dims++] = 3;
	} else {
		for (unsigned i = 0, at = roll(4); i < 4; i++) {
			if (roll(2))
				s.dims[s.n_dims++] = (at + i) % 4;
		}
	}
	for (unsigned i = 0; i < s.n_links; i++) {
		s.links[i][0] = names[(first_name + i) % ARRAY_LEN(names)];
		s.links[i][1] = ids[roll(ARRAY_LEN(ids))];
		s.links[i][2] = ids[roll(ARRAY_LEN(ids))];
	}
	return s;
}

static void configure(const struct setup *s, struct config *c, struct arena *a)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct config_input in = { 0 };
	struct weft_error err = { 0 };

	buf_init(&b, 0);
	buf_add_lit(&b, "{\"session\":{\"identity_links\":{");
	for (unsigned i = 0; i < s->n_links; i++)
		buf_printf(&b, "%s\"%s\":[\"%s\",\"%s\"]", i ? "," : "",
			   s->links[i][0], s->links[i][1], s->links[i][2]);
	buf_add_c(&b, '}');
	if (s->dm_scope)
		buf_printf(&b, ",\"dm_scope\":\"%s\"", dm_scopes[s->dm_scope]);
	else
		buf_add_lit(&b, ",\"dimensions\":[");
	for (unsigned i = 0; !s->dm_scope && i < s->n_dims; i++)
		buf_printf(&b, "%s\"%s\"", i ? "," : "", dims[s->dims[i]]);
	buf_add_str(&b, s->dm_scope ? STR("}}") : STR("]}}"));
	in.text = buf_str(&b);
	if (config_read(c, &in, a, &err) != WEFT_OK)
		fail_msg("%s: %s", buf_cstr(&b), err.message);
}

/* ---- the oracle ---- */

static bool is_white(int32_t code)
{
	static const int32_t white[] = {
		9,      10,     11,     12,     13,     32,     0x85,
		0xa0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
		0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028,
		0x2029, 0x202f, 0x205f, 0x3000,
	};

	for (size_t i = 0; i < ARRAY_LEN(white); i++) {
		if (white[i] == code)
			return true;
	}
	return false;
}

static void cleaned(const char *from, char to[TEXT_MAX])
{
	int32_t codes[TEXT_MAX];
	size_t n = 0, first = 0, len = 0;

	while (*from) {
		from += utf8proc_iterate((const unsigned char *)from, -1,
					 &codes[n]);
		n++;
	}
	while (first < n && is_white(codes[first]))
		first++;
	while (n > first && is_white(codes[n - 1]))
		n--;
	for (; first < n; first++)
		len += (size_t)utf8proc_encode_char(
			utf8proc_tolower(codes[first]),
			(unsigned char *)to + len);
	to[len] = '\0';
}

/* A description that grows by parts. */
struct what {
	char text[WHAT_MAX];
};

static void part(struct what *w, const char *s)
{
	size_t len = strlen(w->text);

	(void)snprintf(w->text + len, WHAT_MAX - len, "%zu:%s,", strlen(s), s);
}

struct clean {
	char channel[TEXT_MAX], type[TEXT_MAX], chat[TEXT_MAX], topic[TEXT_MAX],
		space[TEXT_MAX], sender[TEXT_MAX];
	const char *account;
	char person[TEXT_MAX];
	bool linked;
};

static bool ours(const struct setup *s)
{
	return s->dm_scope >= 1 && s->dm_scope <= 3;
}

static bool link_has(const struct setup *s, const struct clean *c,
		     const char *const link[3])
{
	const char *colon = strchr(c->sender, ':');

	for (int k = ours(s) ? 0 : 1; k < 3; k++) {
		char with[2 * TEXT_MAX], id[TEXT_MAX];

		cleaned(link[k], id);
		(void)snprintf(with, sizeof(with), "%s:%s", c->channel,
			       c->sender);
		if (strcmp(id, c->sender) == 0 ||
		    (c->channel[0] && strcmp(id, with) == 0) ||
		    (colon && colon != c->sender && colon[1] &&
		     strcmp(id, colon + 1) == 0))
			return true;
	}
	return false;
}

static struct clean clean_of(const struct setup *s, const struct trial *t)
{
	struct clean c = { .account = t->account[0] ? t->account : "default" };

	cleaned(t->channel, c.channel);
	cleaned(t->chat_type, c.type);
	cleaned(t->chat, c.chat);
	cleaned(t->topic, c.topic);
	cleaned(t->space, c.space);
	cleaned(t->sender, c.sender);
	memcpy(c.person, c.sender, TEXT_MAX);
	for (unsigned i = 0; i < s->n_links && c.sender[0]; i++) {
		if (!link_has(s, &c, s->links[i]))
			continue;
		cleaned(s->links[i][0], c.person);
		c.linked = true;
		break;
	}
	if (!c.channel[0])
		memcpy(c.channel, "unknown", 8);
	return c;
}

static void chat_with_topic(const struct clean *c, bool topic, char out[160])
{
	(void)snprintf(out, 160, "%s%s%s", c->chat,
		       topic && c->topic[0] ? "/" : "",
		       topic && c->topic[0] ? c->topic : "");
}

static void by_dimensions(const struct setup *s, const struct clean *c,
			  struct what *w)
{
	bool has_topic = false;
	char text[400], chat[160];

	for (unsigned i = 0; i < s->n_dims; i++)
		has_topic |= s->dims[i] == 2;
	chat_with_topic(c, !has_topic && !strcmp(c->channel, "telegram"), chat);
	if (c->linked && s->n_dims == 1 && s->dims[0] == 3) {
		part(w, "person");
		part(w, c->person);
		return;
	}
	part(w, c->channel);
	part(w, c->account);
	for (unsigned i = 0; i < s->n_dims; i++) {
		text[0] = '\0';
		if (s->dims[i] == 0 && c->space[0])
			(void)snprintf(text, sizeof(text), "space:%s",
				       c->space);
		/* That a type could hold a colon is part of the scheme. */
		if (s->dims[i] == 1 && c->chat[0])
			(void)snprintf(text, sizeof(text), "%s:%s",
				       c->type[0] ? c->type : "direct", chat);
		if (s->dims[i] == 2 && c->topic[0])
			(void)snprintf(text, sizeof(text), "topic:%s",
				       c->topic);
		if (s->dims[i] == 3)
			(void)snprintf(text, sizeof(text), "%s", c->person);
		if (text[0]) {
			part(w, dims[s->dims[i]]);
			part(w, text);
		}
	}
}

static void our_direct(const struct setup *s, const struct clean *c,
		       struct what *w)
{
	const char *colon = strchr(c->person, ':');

	part(w, "direct");
	if (s->dm_scope == 1)
		return;
	if (!c->linked) {
		part(w, c->channel);
		part(w, c->person[0] ? c->person :
			c->chat[0]   ? c->chat :
				       "unknown");
	} else if (colon) {
		/* A link that is called like an id is that id. */
		char channel[TEXT_MAX] = "";

		memcpy(channel, c->person, (size_t)(colon - c->person));
		part(w, channel);
		part(w, colon + 1);
	} else {
		part(w, c->person);
	}
}

static void by_dm_scope(const struct setup *s, const struct clean *c,
			struct what *w)
{
	bool direct = !c->type[0] || strcmp(c->type, "direct") == 0;
	char chat[160];

	if (!direct) {
		struct clean named = *c;

		if (!c->chat[0])
			memcpy(named.chat, "unknown", 8);
		chat_with_topic(&named,
				!ours(s) || !strcmp(c->channel, "telegram"),
				chat);
		part(w, "group");
		part(w, c->channel);
		part(w, c->type);
		part(w, chat);
	} else if (ours(s)) {
		our_direct(s, c, w);
	} else if (!c->person[0] || s->dm_scope == 7) {
		part(w, "main");
	} else {
		part(w, "direct");
		part(w, c->person);
		part(w, s->dm_scope >= 5 ? c->channel : "");
		part(w, s->dm_scope == 6 ? c->account : "");
	}
}

/* ---- what routing makes of it ---- */

static bool has(const struct name_list *l, struct weft_str name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_eq(l->v[i], name))
			return true;
	}
	return false;
}

/* Whether `b` finds the conversation that `a` began. */
static bool leads_to(const struct route *a, const struct route *b)
{
	bool known =
		str_eq(a->key, b->key) ||
		(a->linked && (has(&a->other_keys, b->key) ||
			       (b->linked && str_eq(a->person, b->person))));
	bool holds = a->linked && str_eq(a->person, b->person);

	return known && route_fits(b, &a->scope, holds);
}

struct tried {
	struct trial trial;
	struct clean clean;
	struct what what;
	struct route route;
};

static void show(const char *label, const struct tried *t)
{
	print_error("%s: channel '%s' account '%s' type '%s' chat '%s' topic "
		    "'%s' space '%s' sender '%s'\n  key %.*s\n  what %s\n",
		    label, t->trial.channel, t->trial.account,
		    t->trial.chat_type, t->trial.chat, t->trial.topic,
		    t->trial.space, t->trial.sender, STR_ARG(t->route.key),
		    t->what.text);
}

/* Somebody who is not linked, but has the name of a link for an id. */
static bool is_namesake(const struct setup *s, const struct clean *c)
{
	for (unsigned i = 0; i < s->n_links; i++) {
		char name[TEXT_MAX];

		cleaned(s->links[i][0], name);
		if (!c->linked && strcmp(c->sender, name) == 0)
			return true;
	}
	return false;
}

static void compare(const struct setup *s, const struct tried *a,
		    const struct tried *b)
{
	bool same = strcmp(a->what.text, b->what.text) == 0;
	bool separators =
		strpbrk(a->what.text, "|") || strpbrk(b->what.text, "|");

	/* Where the sender is one of several dimensions, a namesake cannot be
	 * told from the person. */
	if (is_namesake(s, &a->clean) || is_namesake(s, &b->clean)) {
		if (!s->dm_scope && s->n_dims == 1 && s->dims[0] == 3 &&
		    a->clean.linked && leads_to(&a->route, &b->route)) {
			show("person", a);
			show("namesake", b);
			fail_msg("seed %llu: a namesake reads what a "
				 "person said",
				 (unsigned long long)begun);
		}
		return;
	}
	if (leads_to(&a->route, &b->route) != same) {
		show("a", a);
		show("b", b);
		fail_msg("seed %llu: dm_scope %s: they should %sbe one "
			 "conversation",
			 (unsigned long long)begun,
			 s->dm_scope ? dm_scopes[s->dm_scope] : "none",
			 same ? "" : "not ");
	}
	/* One key for two conversations only where the scheme cannot help it,
	 * and never in keys of our own. */
	if (!same && str_eq(a->route.key, b->route.key) &&
	    (ours(s) || (!s->dm_scope && !separators))) {
		show("a", a);
		show("b", b);
		fail_msg("seed %llu: one key for both",
			 (unsigned long long)begun);
	}
}

static void route(const struct config *c, const struct setup *s,
		  struct tried *t, struct arena *a)
{
	struct route_request q = { 0 };

	t->trial = make_trial();
	t->clean = clean_of(s, &t->trial);
	t->what.text[0] = '\0';
	if (s->dm_scope)
		by_dm_scope(s, &t->clean, &t->what);
	else
		by_dimensions(s, &t->clean, &t->what);
	q.context = (struct route_context){
		.channel = str_of(t->trial.channel),
		.account = str_of(t->trial.account),
		.chat_type = str_of(t->trial.chat_type),
		.chat_id = str_of(t->trial.chat),
		.topic_id = str_of(t->trial.topic),
		.space_id = str_of(t->trial.space),
		.sender_id = str_of(t->trial.sender),
	};
	assert_int_equal(route_resolve(c, &q, a, &t->route, NULL), WEFT_OK);
}

static unsigned scale(void)
{
	const char *given = getenv("WEFT_TEST_SCALE");
	unsigned long n = given ? strtoul(given, NULL, 10) : 1;

	return n > 0 && n < 1000 ? (unsigned)n : 1;
}

static void conversations_are_one_exactly_where_they_should(void **state)
{
	static struct tried tried[CONTEXTS];
	CLEANUP(arena_done) struct arena a;
	uint64_t contexts = 0, same = 0;

	(void)state;
	arena_init(&a, 0);
	/* Not 0, from which nothing follows. */
	seed = random_seed() | 1;
	for (unsigned n = 0; n < CONFIGS * scale(); n++) {
		struct setup s;
		struct config c;

		begun = seed;
		s = make_setup();
		arena_reset(&a);
		configure(&s, &c, &a);
		for (size_t i = 0; i < CONTEXTS; i++, contexts++) {
			route(&c, &s, &tried[i], &a);
			for (size_t k = 0; k < i; k++) {
				same += strcmp(tried[i].what.text,
					       tried[k].what.text) == 0;
				compare(&s, &tried[i], &tried[k]);
				compare(&s, &tried[k], &tried[i]);
			}
		}
	}
	assert_true(contexts >= 100000);
	/* They do meet. */
	assert_true(same > contexts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			conversations_are_one_exactly_where_they_should),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
