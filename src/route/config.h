/*
 * config.h - the one configuration file, read into plain structs.
 *
 * DESIGN
 *
 * The file is a JSON object of sections, and every section a table of fields
 * (config_table.c): name, type, bounds, default, what it means, and where it
 * goes in struct config.  The reader, the JSON Schema and the list of values in
 * force all come from these tables, so that they cannot differ.
 *
 * A mistake is an error that names file, line and field, and says what was
 * expected.  A field that is not known is only warned about: files of other
 * programs hold more than Weft needs.
 *
 * A field can be overridden by the environment: WEFT_SECTION_FIELD.
 *
 * No input or output here: whoever reads the file hands its text over.
 */
#ifndef ROUTE_CONFIG_H
#define ROUTE_CONFIG_H

#include "route/scope.h"

/* ---- what there is to configure ---- */

/* Of a field that may be left out. */
enum config_bool { CONFIG_UNSET, CONFIG_FALSE, CONFIG_TRUE };

struct config_texts {
	const struct weft_str *v;
	size_t n;
	uint32_t given;
};

/* Where something was read, for what is said of it. */
struct config_place {
	const char *origin; /* the file or the variable; NULL: no name */
	size_t line;        /* 0: it has none */
};

/* Structs of one kind, one behind the other. */
struct config_list {
	void *v;
	size_t n;
	uint32_t given;
};

enum dm_scope {
	DM_SCOPE_UNSET,
	DM_SCOPE_MAIN,
	DM_SCOPE_PER_AGENT,
	DM_SCOPE_PER_CHANNEL,
	DM_SCOPE_PER_PEER,
	DM_SCOPE_PER_CHANNEL_PEER,
	DM_SCOPE_PER_ACCOUNT_CHANNEL_PEER,
	DM_SCOPE_GLOBAL
};
#define DM_SCOPE_WORDS                                                      \
	"main|per-agent|per-channel|per-peer|per-channel-peer|per-account-" \
	"channel-peer|global"

enum dm_scope_style { DM_STYLE_UNSET, DM_STYLE_WEFT, DM_STYLE_PICOCLAW };

struct config_link { /* of session.identity_links */
	struct weft_str name;
	struct config_texts ids;
	struct config_place place;
};

struct config_session {
	struct config_texts dimensions;
	struct config_list identity_links; /* struct config_link */
	uint32_t dm_scope;                 /* enum dm_scope */
	uint32_t dm_scope_style;           /* enum dm_scope_style */
	struct config_list roles;          /* struct config_link */
};

struct config_agent {
	struct weft_str id, name;
	uint32_t is_default; /* enum config_bool */
	struct config_place place;
};

struct config_when {
	struct weft_str channel, account, space, chat, topic, sender;
	uint32_t mentioned; /* enum config_bool */
};

struct config_rule {
	struct weft_str name, agent;
	struct config_when when;
	struct config_texts session_dimensions;
	struct dimensions dimensions; /* the same, looked up */
	struct config_place place;
};

enum reset_mode { RESET_UNSET, RESET_NONE, RESET_DAILY, RESET_IDLE };

struct config_reset {
	uint32_t mode; /* enum reset_mode */
	uint64_t at_hour, idle_minutes;
	struct config_place place;
};

struct config_channel_reset { /* of lifecycle.reset_by_channel */
	struct weft_str channel;
	struct config_reset reset;
};

#define SUSPEND_MINUTES 30 /* if nothing else is said */

struct config_lifecycle {
	uint64_t suspend_minutes, maintenance_hour;
	struct config_reset reset;
	struct config_reset direct, group, thread; /* reset_by_type */
	struct config_list by_channel; /* struct config_channel_reset */
};

struct config_retention_rule {
	uint32_t kind; /* enum session_kind, 0: any */
	struct weft_str agent, channel;
	struct weft_str account, chat_type;          /* of the scope */
	uint64_t idle_days, max_sessions, max_bytes; /* 0: no limit */
	struct config_place place;
};

struct config_retention {
	struct config_list rules; /* struct config_retention_rule */
	uint64_t trash_days;
};

/* What is wrong with a configuration. */
struct config_mistake {
	struct config_place place;
	struct weft_str field; /* empty: all of it */
	struct weft_str message;
};

/* Where a value comes from. */
enum config_from { FROM_DEFAULT, FROM_FILE, FROM_ENV };
struct config_source {
	uint32_t from; /* enum config_from */
	size_t line;
};

#define CONFIG_SOURCES_MAX 32
#define FIELD_DIMENSIONS   0 /* their places among the sources */
#define FIELD_DM_SCOPE     2

struct config {
	struct config_session session;
	struct config_list agents; /* struct config_agent */
	uint32_t sticky_agent;     /* enum config_bool */
	struct config_list rules;  /* struct config_rule */
	struct config_lifecycle lifecycle;
	struct config_retention retention;
	struct weft_str store_url;
	struct weft_str server_listen;

	/* What follows from it. */
	struct dimensions dimensions;
	struct identity_links links; /* normalised */
	/* What must be mended first: nothing else of it counts then. */
	struct config_mistake *mistakes;
	size_t n_mistakes;
	struct name_list warnings;
	/* What only matters when several people speak: told when they do, and
	 * to whoever asks. */
	struct name_list notes;
	struct config_source sources[CONFIG_SOURCES_MAX]; /* by field */
};

/* ---- reading it ---- */

/* What a configuration is read from. */
struct config_input {
	const char *file;     /* for messages; NULL: none */
	struct weft_str text; /* ptr NULL: nothing is configured */
	/* The value of a variable or NULL; NULL: there is no environment. */
	const char *(*env)(const char *name);
};

/*
 * Warn of a variable that looks like an override ("WEFT_SESSION_DMSCOPE"), and
 * is none.
 */
void config_check_variable(struct config *c, struct weft_str name,
			   struct arena *a);

/* The line of the file that gives a field; 0 if none does. */
size_t config_line(const struct config *c, const char *section,
		   const char *field);

/*
 * What is not given has its default.  INVALID: c->mistakes has all that is
 * wrong, and the error is the first of it.
 */
int config_read(struct config *c, const struct config_input *in,
		struct arena *a, struct weft_error *err);

#define CONFIG_WARNINGS_MAX 100
void config_warn(struct config *c, struct arena *a, struct weft_str text);

/* Add a mistake, unless one of that field is known; so many at most. */
#define CONFIG_MISTAKES_MAX 100
void config_add_mistake(struct config *c, struct arena *a,
			const struct config_mistake *m);

/* What follows from the fields as they were read (config_settle.c). */
void config_settle(struct config *c, const char *file, struct arena *a);

/* A list of struct config_link, normalised. */
struct identity_links config_links(const struct config_list *l,
				   struct arena *a);

/* What cannot work is refused, and what will surprise people is warned about
 * (config_check.c). */
void config_check(struct config *c, const char *file, struct arena *a);
/* A mistake in a field that was read there: the message begins with both. */
void config_blame(struct config *c, struct arena *a,
		  const struct config_place *p, struct weft_str field,
		  const char *what);

/* ---- the tables ---- */

enum config_type {
	CONFIG_TEXT,    /* struct weft_str */
	CONFIG_WORD,    /* uint32_t: which of `values`, from 1 */
	CONFIG_NUMBER,  /* uint64_t from min to max */
	CONFIG_BOOL,    /* uint32_t, enum config_bool */
	CONFIG_TEXTS,   /* struct config_texts */
	CONFIG_WORDS,   /* the same, each one of `values` */
	CONFIG_OBJECT,  /* a struct with the fields of `object` */
	CONFIG_LIST,    /* struct config_list of these */
	CONFIG_BY_NAME, /* the same from an object, each with its name first */
	CONFIG_LINKS    /* struct config_list of struct config_link */
};

struct config_object {
	const struct config_field *fields;
	size_t n_fields;
	const char *ignored; /* a member that is for other programs, or NULL */
	size_t bytes;        /* of the struct, where there are several */
	size_t place;        /* of its struct config_place, 0: it has none */
};

struct config_field {
	const char *name;
	const char *about;
	const char *values;    /* WORD, WORDS: "one|two" */
	const char *otherwise; /* the default as JSON, or NULL: none */
	const struct config_object *object;
	uint64_t min, max;
	size_t at;      /* in the struct that it is part of */
	uint8_t type;   /* enum config_type */
	uint8_t needed; /* may not be left out */
	uint8_t again;  /* another place for a field that has its own */
};

/* Sections are fields of the whole; theirs count through from 0. */
extern const struct config_object config_root;

/* ---- writing it (config_write.c) ---- */

/* The values in force as the text of a configuration file. */
void config_write(struct buf *b, const struct config *c);
/* One value of it. */
void config_write_value(struct buf *b, const struct config_field *f,
			const void *at);
/* A JSON Schema of the file, for editors. */
void config_write_schema(struct buf *b);
/* "WEFT_SESSION_DM_SCOPE" */
struct weft_str config_env_name(const char *section, const char *field,
				struct arena *a);

#endif
