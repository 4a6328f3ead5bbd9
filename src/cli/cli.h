/* cli.h - one run of the program, and what its commands share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "route/config.h"
#include "weft/weft.h"

struct cli {
	struct parsed line;
	bool json, debug;
	struct arena arena; /* for all that lives as long as the run */
	struct out out;
	struct config config;
	const char *config_file; /* where it is, or would be; or NULL */
	bool configured;         /* it is there */
	const char *url;         /* the store's */
	const char *url_from;    /* who says so */
	struct weft_store *store;
	/* Set by a command that has said itself what is wrong: the exit status
	 * although it returned WEFT_OK. */
	int exit_status;
	struct weft_error *err;
};

/* ---- what the command line says ---- */

static inline bool cli_has(const struct cli *c, size_t opt)
{
	return c->line.own[opt].n > 0;
}
/* The option's value, or NULL. */
static inline const char *cli_opt(const struct cli *c, size_t opt)
{
	return cli_has(c, opt) ? c->line.own[opt].v[0] : NULL;
}
uint64_t cli_number(const struct cli *c, size_t opt, uint64_t otherwise);
/* The i-th argument, or NULL. */
static inline const char *cli_arg(const struct cli *c, size_t i)
{
	return i < c->line.n_args ? c->line.args[i] : NULL;
}

/*
 * A text of the user's, checked: `given`, or if it is NULL what comes in on
 * standard input, without its last newline.  `label` is what it is called.
 */
int cli_input(struct cli *c, const char *given, const char *label,
	      struct buf *to);

/* With --debug: one line on standard error. */
void cli_debug(const struct cli *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- the store ---- */

/* Read the configuration (config.c): sets c->config. */
int cli_read_config(struct cli *c);
/* Read it and find out which store is meant: sets c->url. */
int cli_configure(struct cli *c);
/* A URL for people to see: without the password that may be in it. */
const char *cli_shown_url(struct cli *c, const char *url);
/* Where the configuration says which store: file, line and field. */
const char *cli_url_field(struct cli *c);
/* Tell the open store what the configuration says. */
int cli_hand_over(struct cli *c);
/* Open it; `use` is one of enum store_use. */
int cli_open_as(struct cli *c, enum store_use use);

/* ---- calling the door (request.c) ---- */

/* A request being written; errors are sticky until the call. */
struct req {
	struct cli *cli;
	struct buf b;
	bool first; /* nothing in this object yet */
	int error;
};

void req_init(struct req *q, struct cli *c, const char *method);
void req_done(struct req *q); /* for CLEANUP */
/* `label` is what people call it: "--slug", "SESSION".  NULL values are left
 * out. */
void req_text(struct req *q, const char *field, const char *label,
	      const char *value);
void req_opt(struct req *q, const char *field, size_t opt); /* text */
void req_number(struct req *q, const char *field, size_t opt);
void req_switch(struct req *q, const char *field, size_t opt);
void req_u64(struct req *q, const char *field, uint64_t value);
void req_raw(struct req *q, const char *field, struct weft_str json);
/* JSON that people typed, checked here so that the error names it. */
void req_json(struct req *q, const char *field, const char *label,
	      const char *json);
/* "PROVIDER/NAME" */
void req_model(struct req *q, const char *field, const char *label,
	       const char *value);
/* What follows goes into an object of its own, until req_close. */
void req_open(struct req *q, const char *field);
void req_close(struct req *q);
/* The argument SESSION. */
void req_session(struct req *q, size_t arg);
/* Only a value: text, or a message by its id or number. */
void req_add_text(struct req *q, const char *label, const char *value);
void req_ref(struct req *q, const char *value);
/* "messages": all arguments from `arg` on. */
void req_messages(struct req *q, size_t arg);
/* A field that is one, from an option. */
void req_message(struct req *q, const char *field, size_t opt);

/* What the door answered. */
struct answer {
	struct weft_answer *handle;
	struct weft_str text;
	yyjson_doc *doc; /* only after answer_parse */
};

int req_call(struct req *q, struct answer *ret);
void answer_done(struct answer *a); /* for CLEANUP */
/* NULL, with its error, if there is no memory. */
yyjson_val *answer_parse(struct cli *c, struct answer *a);

/* Members of an answer: text or "", number or 0. */
struct weft_str val_str(yyjson_val *object, const char *name);
uint64_t val_u64(yyjson_val *object, const char *name);
bool val_true(yyjson_val *object, const char *name);
/* The bytes of a member of an object as JSON text; empty if there is none. */
struct weft_str raw_member(struct weft_str object, const char *name);

/* Put the session's id in the place of whatever names it. */
int cli_resolve(struct cli *c, const char **session);

/* Call, and print the answer as one line of JSON or through `text`. */
int cli_answer(struct cli *c, struct req *q,
	       void (*text)(struct cli *c, yyjson_val *root));

/* The command is a method about the argument SESSION, with `only_token`,
 * `token_and_op` or without options: call it. */
int cli_about_session(struct cli *c,
		      void (*text)(struct cli *c, yyjson_val *root));

/* ---- words for people (text.c) ---- */

/* "2026-11-15 10:00" in local time from a time in JSON; "" for none. */
void text_time(struct weft_str time, char out[32], bool seconds);
void text_session(struct cli *c, yyjson_val *session);
/* Only its id: what scripts want to keep of a new session. */
void text_session_id(struct cli *c, yyjson_val *session);
/* On a terminal: how to get the next page, if there is one. */
void text_more(struct cli *c, yyjson_val *answer);
/* What went, or would go. */
void text_dropped(struct cli *c, yyjson_val *report);
void text_message(struct cli *c, yyjson_val *message);
/* What became of a window; and one of its changes. */
void text_marker(struct cli *c, yyjson_val *answer);
void text_one_marker(struct cli *c, yyjson_val *marker);

/* ---- what may take long (progress.c) ---- */

/* Call, with progress on a terminal. */
int progress_call(struct cli *c, struct req *q, struct answer *ret);
/* And print the report as JSON or through `text`; the exit status says if it
 * is not ok. */
int progress_report(struct cli *c, struct req *q,
		    void (*text)(struct cli *c, yyjson_val *report));
/* The same for verify, repair and reindex. */
int care_call(struct cli *c, const char *method);

#endif
