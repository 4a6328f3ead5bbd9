/*
 * oracle.h - what Weft should answer, worked out a second time.
 *
 * Plain arrays and strings, and nothing of Weft's source: whatever both agree
 * on, two people would have to have misunderstood in the same way.  Sessions
 * are numbered from 0 in the order of their creation; times come from the
 * caller.  Nothing here is meant to be fast.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oracle_code {
	ORACLE_OK,
	ORACLE_INVALID,
	ORACLE_NOT_FOUND,
	ORACLE_EXISTS,
	ORACLE_CONFLICT,
	ORACLE_STALE,
	ORACLE_OP_MISMATCH,
	ORACLE_DELETED,
	ORACLE_AMBIGUOUS,
	ORACLE_LEASED,
	ORACLE_MEMORY_NOT_FOUND
};

/* What somebody said. */
struct oracle_message {
	char role;         /* u(ser), a(ssistant), t(ool), s(ystem) */
	char text[1200];   /* of its text part; empty: it has none */
	bool results_only; /* of the user: nothing but results of tools */
	char image[16];    /* base64 behind the text, or empty */
	char from[16];     /* id of who said it, or empty */
	bool background;
	bool has_usage;
	long input, output;
	long cost_milli; /* thousandths of a dollar; -1: not known */
};

struct oracle_event {
	char type; /* S(ession) M(essage) P(atch) N(ame) R(edact) D(elete)
		      U: restored, K: marker, T(odos), L(ease), m(emory),
		      f(orget), C: what a purged one had cost, Z: purged,
		      G(one), 0: it is one of those that a G before it stands
		      for */
	int64_t ts;
	bool hidden; /* by this session itself */
	int marker;  /* in force before it, or 0 */
	int first;   /* K: where the window begins */
	char summary[64];
	char op[40];
	int more;          /* of the same request, still to come */
	bool was_message;  /* before it went */
	int to;            /* G: the last that it stands for */
	bool bare;         /* G: and says nothing of what they meant */
	char note[64];     /* m: its text; T: the statuses, a letter each */
	char note_id[32];  /* m: as the store calls it */
	int target;        /* f: what is forgotten */
	int64_t forgotten; /* m: when, or 0 */
	struct oracle_message message;
};

struct oracle_totals {
	long input, output, cost_milli, unpriced;
};

struct oracle_name {
	char name[96];
	int holder; /* -1: nobody's */
	bool is_key;
};

enum oracle_setting {
	SETTING_SLUG,
	SETTING_AGENT,
	SETTING_PROJECT,
	SETTING_CHANNEL,
	SETTING_USER,
	SETTING_METADATA, /* JSON, or empty */
	SETTING_PINNED,   /* "" or "1" */
	SETTINGS
};

#define ORACLE_ALIASES 24

/* What a session is made with. */
struct oracle_start {
	bool subagent, book;
	int parent; /* with subagent; -1: one that does not exist */
	char key[96];
	char aliases[ORACLE_ALIASES][96];
	int n_aliases;
	char settings[SETTINGS][192];
	char op[40];
	bool is_fork;
	int forked_from;
	int asked_at; /* of a fork: where it was asked for */
};

struct oracle_session {
	struct oracle_start start;
	char key[96];
	char settings[SETTINGS][192];
	/* events[0] has number 1; those up to `base` are copies of what a fork
	 * has inherited. */
	struct oracle_event *events;
	int n, base;
	int inherited;       /* messages, when it was forked */
	int parent;          /* of a fork */
	int marker;          /* in force, or 0 */
	int content;         /* number of the last message or redaction, or 0 */
	int messages, turns; /* not hidden */
	struct oracle_totals own, total;
	/* Previews: the text, empty while it is hidden, and the number of the
	 * message. */
	char first_user[1100], last_user[700], last_agent[700];
	int first_user_at, last_user_at, last_agent_at;
	int64_t created, updated, interaction,
		deleted;              /* deleted 0: it lives */
	struct oracle_name freed[80]; /* by its last deletion */
	int n_freed;
	char id[32];  /* as the store calls it: sorts what is of one time */
	int previous; /* 1 + the one that it was begun anew from, or 0 */
	bool scoped;  /* made by routing */
	bool purged;  /* nobody sees it; some of it may be left for forks */
	bool dropped; /* purged, and nothing is left */
	char lease_owner[16]; /* with lease_token 0: none was given */
	int lease_token;
	int64_t lease_until;
	char todos[64];   /* statuses, a letter each */
	bool has_todos;   /* they were set */
	int64_t expires;  /* 0: never */
	int64_t last_run; /* of maintenance, if this is its book */
};

/* What retention says; empty and 0 where it says nothing. */
struct oracle_rule {
	char kind; /* p(rimary), s(ubagent), b(ook) */
	char agent[16], channel[16];
	int idle_days, max_sessions;
};

#define ORACLE_RULES 4

/* When a direct conversation begins anew, and what is removed. */
struct oracle_policy {
	bool daily;
	int at_hour;
	int idle_minutes;
	int trash_days;
	struct oracle_rule rules[ORACLE_RULES];
	int n_rules;
};

struct oracle {
	struct oracle_session *sessions;
	int n;
	struct oracle_name names[128];
	int n_names;
	struct oracle_policy policy;
};

/* What an act came to. */
struct oracle_answer {
	int session;
	int first; /* number of the first event, or 0 */
	int count; /* how many there are */
	bool replayed, created;
};

struct oracle *oracle_new(void);
void oracle_free(struct oracle *o);

int oracle_create(struct oracle *o, const struct oracle_start *start,
		  int64_t now, struct oracle_answer *ret);
/* Messages that are said at once. */
struct oracle_words {
	struct oracle_message v[4];
	int n;
	char op[40]; /* or empty */
	int expect;  /* < 0: nothing is expected */
	int token;
};
int oracle_append(struct oracle *o, int session, const struct oracle_words *x,
		  int64_t now, struct oracle_answer *ret);
int oracle_patch(struct oracle *o, int session, int setting, const char *value,
		 int64_t now, struct oracle_answer *ret);
/* how: '+' add, '>' move, '-' remove */
int oracle_rename(struct oracle *o, int session, char how, const char *name,
		  int64_t now, struct oracle_answer *ret);
int oracle_redact(struct oracle *o, int session, const int *targets, int n,
		  bool undo, int token, int64_t now, struct oracle_answer *ret);
int oracle_delete(struct oracle *o, int session, int token, int64_t now,
		  struct oracle_answer *ret);
int oracle_restore(struct oracle *o, int session, int64_t now,
		   struct oracle_answer *ret);

/* at 0: at the last message. */
int oracle_fork(struct oracle *o, int session, int at, const char *slug,
		const char *op, int64_t now, struct oracle_answer *ret);

/* A change of the window: T(runcate) to `keep`, C(ompact) to `keep` with a
 * summary, E(mpty), H(istory) of n messages, U(ndo). */
struct oracle_change {
	char how;
	int keep;
	char summary[64];
	struct oracle_message messages[2];
	int n;
};
int oracle_window(struct oracle *o, int session, const struct oracle_change *c,
		  int token, int64_t now, struct oracle_answer *ret);

/* ---- leases, todos, memories (oracle_notes.c) ---- */

/* Whether somebody has it now. */
bool oracle_is_leased(const struct oracle_session *s, int64_t now);
/* how: A(cquire), N: renew, R(elease), T(akeover). */
int oracle_lease(struct oracle *o, int session, char how, const char *owner,
		 int token, int64_t ms, int64_t now, struct oracle_answer *ret);
int oracle_set_todos(struct oracle *o, int session, const char *statuses,
		     int token, int64_t now, struct oracle_answer *ret);
/* The book with this key, which may be a new one: of a project, or of all. */
int oracle_book(struct oracle *o, const char *key, const char *project,
		int64_t now);
int oracle_remember(struct oracle *o, int session, const char *text,
		    int64_t now, struct oracle_answer *ret);
int oracle_forget(struct oracle *o, int session, int number, int64_t now,
		  struct oracle_answer *ret);

/* ---- routing (oracle_route.c) ---- */

/* Where a message belongs: a key, and older names of the same conversation. */
struct oracle_route {
	char key[96];
	char aliases[ORACLE_ALIASES][96];
	int n_aliases;
	char user[64], channel[16]; /* who speaks, and where */
};
int oracle_route(struct oracle *o, const struct oracle_route *x, int64_t now,
		 struct oracle_answer *ret);
/* Begin anew under the same names. */
int oracle_reset(struct oracle *o, int session, int token, const char *op,
		 int64_t now, struct oracle_answer *ret);

/* ---- what time does (oracle_keep.c) ---- */

void oracle_set_policy(struct oracle *o, const struct oracle_policy *p);
/* at 0: never. */
int oracle_expire(struct oracle *o, int session, int64_t at, int64_t now,
		  struct oracle_answer *ret);

struct oracle_upkeep {
	bool ran;
	int looked, removed, purged, spared;
	int64_t last_run;
};
void oracle_maintain(struct oracle *o, bool if_due, bool dry, int64_t now,
		     struct oracle_upkeep *ret);

/* ---- erase, reclaim, purge (oracle_drop.c) ---- */

struct oracle_report {
	int sessions, events, blobs;
	int forks, held; /* forks that hold some, and events of that */
	int refused;
};

/* The session whose line it is. */
int oracle_owner(const struct oracle *o, int session, int number);
int oracle_erase(struct oracle *o, int session, const int *targets, int n,
		 int token, int64_t now, struct oracle_report *ret);
int oracle_reclaim(struct oracle *o, int session, int token, int64_t now,
		   struct oracle_report *ret);
int oracle_purge(struct oracle *o, int session, int token, int64_t now,
		 struct oracle_report *ret);
int oracle_purge_user(struct oracle *o, const char *user, int64_t now,
		      struct oracle_report *ret);
/* All that is there once more, to try something out. */
struct oracle *oracle_copy(const struct oracle *o);

/* Whether the session does not show its event `number`. */
bool oracle_hidden(const struct oracle *o, int session, int number);

/* The session, or NULL if nobody sees it. */
struct oracle_session *oracle_session(const struct oracle *o, int session);

/* Find a session by name or slug. */
int oracle_find(const struct oracle *o, const char *name, int *ret);
/* -1: nobody's. */
int oracle_holder(const struct oracle *o, const char *name);
/* The aliases that a session holds, sorted by their bytes. */
int oracle_aliases(const struct oracle *o, int session, char out[][96],
		   int max);

struct oracle_query {
	char exact[SETTINGS][64]; /* slug to user; empty: any */
	char text[64];            /* in slug, project or first words */
	int parent;               /* -1: any */
	bool primary, subagent;   /* none: all kinds, books too */
	bool deleted;             /* also those */
	bool by_creation;
};

/* The numbers of all sessions that match, newest first. */
int oracle_list(const struct oracle *o, const struct oracle_query *q, int *out);

#endif
