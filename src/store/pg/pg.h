/* pg.h - the inside of the postgres: store, shared by its files. */
#ifndef STORE_PG_PG_H
#define STORE_PG_PG_H

#include "store/sql/sql.h"

struct pg_conn;
struct pg_store;
struct pg_result;

/* Statements of the driver's own. */
enum pg_statement {
	PG_LOCK = Q_DRIVER, /* names, which may not be there */
	PG_SETTLE,          /* make sure that a commit never happens */
	PG_OTHERS,          /* a number that changes when others commit */
	PG_COMMIT,          /* our row in the table of commits */
	PG_PUT_WORDS,
	PG_FIND_WORDS,
	PG_FIND_WORDS_IN, /* some sessions */
	PG_DROP_WORDS,
	PG_CLEAR_WORDS
};

#define PG_STATEMENTS 64

struct pg_slot {
	uint32_t key; /* 0 is a statement, too: look at `used` */
	uint64_t used;
	uint32_t row_type; /* the server's number for it, or 0 */
};

/* `pg` is a PGconn; the files that talk to the server know what that is. */
struct pg_conn {
	struct sql_conn base; /* first */
	void *pg;
	enum sql_use use;
	struct pg_slot slots[PG_STATEMENTS];
	uint64_t runs;    /* round trips */
	uint64_t uses;    /* of prepared statements */
	bool piped;       /* a write is under way: statements need not wait */
	unsigned pending; /* statements whose answers were not read yet */
	bool broken;      /* connect again before anything else */
	bool late;        /* it has not answered in time: broken */
	bool slow;        /* what was sent may take as long as it likes */
	bool at_leisure;  /* and so may all that is sent */
	bool patient;     /* a server that is away is waited for */
	bool in_transaction;
	bool warned; /* the server had something to say */
	char warning[120];
};

/*
 * `bell` guards what waiting needs, and who of those who wait listens to the
 * server for all of them.
 */
struct pg_store {
	struct sql_store sql; /* first */
	char *url;            /* for libpq */
	char *secret;         /* the password in it, or NULL */
	char schema[64];
	unsigned partitions; /* of new tables */
	uint64_t answer_ms;  /* how long an answer may take; 0: any time */
	char channel[80];
	struct weft_id node;      /* who we are in the table of commits */
	uint64_t commits;         /* ours; under sql.writer */
	struct pg_conn *notifier; /* under sql.writer */

	pthread_mutex_t bell;
	pthread_cond_t rung;
	struct pg_conn *listener;
	bool listening;
	int wake_fd;
	uint64_t stamp;
	int64_t others; /* what PG_OTHERS said last */
	int64_t next_look_ms;
	int notifier_pid; /* whose notifications are no news */
	uint64_t wakes;   /* one more for each wake() */
	bool wake_unseen; /* no wait was under way: it ends the next */
};

static inline struct pg_store *pg_of(struct sql_store *s)
{
	return (struct pg_store *)(void *)s;
}

static inline struct pg_conn *pg_conn_of(struct sql_conn *c)
{
	return (struct pg_conn *)(void *)c;
}

extern const struct sql_driver pg_driver;

/* ---- connections (conn.c) ---- */

int pg_connect(struct pg_store *s, enum sql_use use, struct pg_conn **ret,
	       struct weft_error *err);
/* The same; waits for a server that is not ready, or not promoted yet. */
int pg_connect_patiently(struct pg_store *s, enum sql_use use,
			 struct pg_conn **ret, struct weft_error *err);
void pg_pause(void);                   /* between two attempts */
void pg_disconnect(struct pg_conn *k); /* takes NULL */
/* Connect again, if the connection is broken. */
int pg_mend(struct pg_conn *k, struct weft_error *err);
/* The text of a failure, without what is secret. */
int pg_say(const struct pg_store *s, int code, const char *text,
	   struct weft_error *err);

/* ---- running (run.c) ---- */

int pg_run(struct sql_conn *c, uint32_t key, const struct sql_rows *in,
	   sql_each *each, void *ctx, uint64_t *changed,
	   struct weft_error *err);
/* Any number of statements without parameters.  *tag is what the last one
 * says it did; may be NULL. */
int pg_exec(struct pg_conn *k, const char *sql, char tag[32],
	    struct weft_error *err);
/* The first column of the first row as text; empty if there is none. */
int pg_ask(struct pg_conn *k, const char *sql, char *ret, size_t size,
	   struct weft_error *err);

/* A number as the server sends it, of n bytes. */
int64_t pg_number(const char *p, int n);
/* What a failure means; `res` is a PGresult, or NULL. */
int pg_fail(struct pg_conn *k, const void *res, struct weft_error *err);

/* ---- waiting for an answer (answer.c) ---- */

/* The next one, a PGresult, like PQgetResult; NULL also if it is late. */
void *pg_next_answer(struct pg_conn *k);
/* The last one of what was sent; NULL if it was not, or there is none. */
void *pg_last_answer(struct pg_conn *k, int sent);

/* ---- statements that do not wait (pipe.c) ---- */

int pg_pipe_begin(struct pg_conn *k, struct weft_error *err);
int pg_pipe_send(struct pg_conn *k, const char *sql, struct weft_error *err);
/* Before something is sent: waits if too much is under way. */
int pg_pipe_room(struct pg_conn *k, struct weft_error *err);
/* Something was sent, or not. */
int pg_pipe_sent(struct pg_conn *k, int sent, struct weft_error *err);
/* Read all answers; of the last two the caller may want the PGresult. */
int pg_pipe_wait(struct pg_conn *k, void **ret_last, void **ret_before,
		 struct weft_error *err);
/* The last two were PG_COMMIT and COMMIT: BUSY if it was rolled back. */
int pg_pipe_commit(struct pg_conn *k, int64_t *ret_stamp,
		   struct weft_error *err);
/* Back to statements that wait. */
int pg_pipe_end(struct pg_conn *k, struct weft_error *err);

/* ---- words for search (words.c) ---- */

int pg_put_words(struct sql_conn *c, const struct word_batch *b,
		 struct weft_error *err);
int pg_find_words(struct sql_conn *c, const struct word_query *q, size_t limit,
		  struct arena *a, struct word_page *ret,
		  struct weft_error *err);
int pg_drop_words(struct sql_conn *c, const struct weft_id *sessions, size_t n,
		  struct weft_error *err);
int pg_clear_words(struct sql_conn *c, struct weft_error *err);

/* ---- the rest ---- */

/* Make sure that we have a row in the table of commits. */
int pg_join(struct pg_store *s, struct pg_conn *k, struct weft_error *err);
/* Make the tables, or bring them up to date; refuse what is newer. */
int pg_migrate(struct pg_conn *k, uint32_t flags, struct weft_error *err);

int pg_wait(struct store *s, uint64_t *stamp, int64_t timeout_ms,
	    struct weft_error *err);
void pg_wake(struct store *s);
void pg_committed(struct sql_store *s);
void pg_wait_done(struct pg_store *s);

#endif
