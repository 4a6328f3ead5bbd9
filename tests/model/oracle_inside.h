/* oracle_inside.h - what the files of the oracle share; see oracle.h. */
#ifndef ORACLE_INSIDE_H
#define ORACLE_INSIDE_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/oracle.h"

/* oracle.c */
void oracle_set_text(char *to, size_t room, const char *text);
#define SET(to, text) oracle_set_text((to), sizeof(to), (text))

struct oracle_event *oracle_add_event(struct oracle_session *s, char type,
				      int64_t now);
/* The beginning of `text`: so many characters, which are all of one code
 * point here. */
void oracle_cut(char *to, size_t room, const char *text, int characters);
/* The session that was made with this operation id, or -1. */
int oracle_made_by(const struct oracle *o, const char *op);
void oracle_begin(struct oracle *o, const struct oracle_start *start,
		  int64_t now, struct oracle_answer *ret);
/* May who shows this token write? */
int oracle_check_lease(const struct oracle_session *s, int token, int64_t now);
/* Hide or show one message. */
void oracle_hide(struct oracle_session *s, int target, bool hidden,
		 int64_t now);
/* What every change of a session begins with; nothing has changed yet. */
int oracle_find_live(struct oracle *o, int session, struct oracle_session **ret,
		     struct oracle_answer *answer);
/* The answer is the last event. */
void oracle_answer_event(const struct oracle_session *s,
			 struct oracle_answer *ret);

/* oracle_names.c */
struct oracle_name *oracle_find_name(struct oracle *o, const char *name);
void oracle_take_name(struct oracle *o, int session, const char *text,
		      bool is_key);

/* oracle_say.c */
bool oracle_starts_turn(const struct oracle_message *m);
void oracle_speak(struct oracle *o, int session, const struct oracle_message *m,
		  int64_t now);

/* oracle_keep.c */
/* Whether the next message begins a new conversation. */
bool oracle_is_over(const struct oracle *o, int session, int64_t now);

/* oracle_drop.c */
/* Purge these, and finish what was purged before; how many were refused. */
int oracle_purge_many(struct oracle *o, const int *sessions, int n,
		      int64_t now);

/* oracle_view.c */
bool oracle_is_shown(const struct oracle *o, int session, int number);
/* The n-th message from the end of first..last that is shown; 0: there are
 * fewer. */
int oracle_from_end(const struct oracle *o, int session, int first, int last,
		    int n);

/* Put what `from` has up to number `at` before the session's own events. */
void oracle_inherit(struct oracle_session *s, const struct oracle_session *from,
		    int at);

#endif
