/*
 * route.h - from an inbound message to its conversation, in one pure function.
 *
 * Who answers follows from the rules; which conversation it is, from the
 * dimensions or from dm_scope; and `why` says in words, step by step, how it
 * came to that.
 */
#ifndef ROUTE_ROUTE_H
#define ROUTE_ROUTE_H

#include "route/config.h"
#include "route/person.h"

struct route_request {
	struct route_context context;
	struct weft_str agent;       /* given: the rules are not asked */
	struct weft_str session_key; /* the caller's own key, or empty */
};

struct route {
	struct weft_str agent;
	struct weft_str matched_by; /* "default", "dispatch.rule:name", ... */

	struct scope scope;
	struct weft_str signature;
	struct weft_str key;
	struct name_list aliases; /* all that older programs would know */
	struct weft_str main_key;
	struct name_list main_aliases;
	struct name_list why;
	size_t why_agent;          /* how much of it is about who answers */
	struct name_list warnings; /* those of `why` that people should see */

	/* Where the sender is the only dimension: what the conversation of
	 * that person is called on all channels.  Only a linked person's has
	 * this name; others must not be taken for them. */
	struct weft_str person;
	/* Their keys on the channels that their ids name. */
	struct name_list other_keys;
	struct config_reset reset; /* when it begins anew by itself */

	/* Of the rule that decided; none: the configuration's count. */
	struct dimensions rule_dimensions;
	struct weft_str role;    /* of who speaks, or empty */
	struct weft_str sender;  /* who speaks, as scopes have it */
	struct person who;       /* the same, whatever the channel */
	struct weft_str channel; /* normalised */

	bool notes_agent; /* the person asked for this agent: remember it */
	bool linked;      /* the person has several ids */
	bool own_key;     /* the key is the caller's, whatever the scope is */
	bool shared;      /* several people's direct messages are in it */
	bool namesake;    /* called like a link, and not linked */
	bool group;       /* it is of a group, a channel, a space: nobody's */
};

/*
 * Find out where a message belongs; nothing of the result refers to the
 * configuration or the request.  Fails only without memory, or with
 * INVALID for a caller's key that cannot be a name.
 */
int route_resolve(const struct config *c, const struct route_request *q,
		  struct arena *a, struct route *ret, struct weft_error *err);

/*
 * The same in steps: who answers; which conversation it is, with all its names;
 * and the caller's own key in the place of ours, if there is one.
 */
int route_choose(const struct config *c, const struct route_request *q,
		 struct arena *a, struct route *ret, struct weft_error *err);
int route_allocate(const struct config *c, const struct route_request *q,
		   struct arena *a, struct route *r, struct weft_error *err);
int route_take_key(const struct route_request *q, struct arena *a,
		   struct route *r, struct weft_error *err);

/* Whether nothing but the configuration's default says who answers. */
bool route_by_default(const struct route *r);

/*
 * The name that scopes and keys know an agent by: they normalise it once more,
 * and a name that was cut behind a dash then loses the dash.
 */
struct weft_str route_agent_name(struct weft_str name, struct arena *a);

/* The agents of the configuration by their names, each once. */
struct name_list route_agents(const struct config *c, struct arena *a);

/*
 * Whether a conversation that was stored with this scope is the one that the
 * route means: a key alone does not prove it.  `holds_person`: it has the name
 * r->person.
 */
bool route_fits(const struct route *r, const struct scope *stored,
		bool holds_person);

/*
 * Whether the key is worth more than the same text as an alias of a
 * conversation with another scope: names of older programs are given as far as
 * they are free, and what was only given goes to whose key it is.
 */
bool route_outranks(const struct route *r, const struct scope *stored);

/* Whether one of the emitted aliases may become a name of the conversation:
 * the agent's own ("agent:main:main") never does, and nobody's name becomes
 * one of a conversation that several people share. */
bool route_may_claim(const struct route *r, struct weft_str alias);

/* ---- for the files of route/ ---- */

/* dm.c: scope and key by dm_scope. */
void dm_route(const struct config *c, const struct route_context *context,
	      const struct identity *sender, struct arena *a,
	      struct route *ret);
/* Whether the name of an identity link counts as one of its ids. */
bool dm_counts_names(const struct config *c);

/* Add a line to `why`; and one that is a warning as well. */
void route_say(struct route *r, struct arena *a, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void route_warn(struct route *r, struct arena *a, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
