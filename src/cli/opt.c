/* opt.c - read a command line by its tables. */
#include "cli/opt.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/near.h"

#define NUMBER_MAX ((UINT64_C(1) << 53) - 1)

const struct opt global_opts[GLOBAL_OPTS] = {
	[GLOBAL_STORE] = { .name = "store",
			   .takes = "URL",
			   .kind = OPT_TEXT,
			   .about = "the store, such as jsonl:DIR; default: "
				    "$WEFT_STORE, then the configuration, "
				    "then jsonl: in $XDG_DATA_HOME/weft" },
	[GLOBAL_CONFIG] = { .name = "config",
			    .takes = "FILE",
			    .kind = OPT_FILE,
			    .about = "the configuration; default: "
				     "$WEFT_CONFIG, then "
				     "$XDG_CONFIG_HOME/weft/config.json" },
	[GLOBAL_JSON] = { .name = "json",
			  .about = "print JSON, errors included" },
	[GLOBAL_DEBUG] = { .name = "debug",
			   .about = "explain on standard error what is "
				    "done; also with WEFT_DEBUG=1" },
	[GLOBAL_HELP] = { .name = "help",
			  .letter = 'h',
			  .about = "say what there is" },
	[GLOBAL_VERSION] = { .name = "version", .about = "print the version" },
};

/* A command line being read. */
struct reader {
	int argc;
	char **argv;
	int at; /* the argument that comes next */
	struct arena *arena;
	struct parsed *parsed;
	struct weft_error *err;
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

bool opt_next_value(const char **values, struct weft_str *ret)
{
	const char *bar;

	if (!*values || !**values)
		return false;
	bar = strchr(*values, '|');
	*ret = (struct weft_str){ *values, bar ? (size_t)(bar - *values) :
						 strlen(*values) };
	*values = bar ? bar + 1 : "";
	return true;
}

static bool is_value(const char *values, const char *s)
{
	struct weft_str value;

	while (opt_next_value(&values, &value)) {
		if (strlen(s) == value.len &&
		    memcmp(s, value.ptr, value.len) == 0)
			return true;
	}
	return false;
}

enum store_use opt_store_use(const struct parsed *p)
{
	const struct command *c = p->command;

	if (c->writes && (p->n_args == 0 || !is_value(c->writes, p->args[0])))
		return STORE_USE_READ;
	return c->store;
}

static int fail_command(struct reader *r, const char *name)
{
	const char *words[64];
	const char *near;
	size_t n = 0;

	for (size_t i = 0; i < n_commands && n < ARRAY_LEN(words); i++) {
		if (!commands[i]->hidden)
			words[n++] = commands[i]->name;
	}
	near = near_word(str_of(name), words, n);
	if (near)
		return fail(r->err, WEFT_USAGE,
			    "no command '%s'; did you mean '%s'?", name, near);
	return fail(r->err, WEFT_USAGE,
		    "no command '%s'; 'weft --help' lists them", name);
}

static int fail_option(struct reader *r, struct weft_str name)
{
	const struct command *c = r->parsed->command;
	const char *words[64];
	const char *near;
	size_t n = 0;

	for (size_t i = 0; i < GLOBAL_OPTS; i++)
		words[n++] = global_opts[i].name;
	for (size_t i = 0; c && i < c->n_opts && n < ARRAY_LEN(words); i++)
		words[n++] = c->opts[i].name;
	near = near_word(name, words, n);
	if (near)
		return fail(r->err, WEFT_USAGE,
			    "%s%sno option --%.*s; did you mean --%s?",
			    c ? c->name : "", c ? ": " : "", STR_ARG(name),
			    near);
	return fail(r->err, WEFT_USAGE,
		    "%s%sno option --%.*s; 'weft %s%s--help' lists them",
		    c ? c->name : "", c ? ": " : "", STR_ARG(name),
		    c ? c->name : "", c ? " " : "");
}

/* Remember one more occurrence of an option. */
static int give(struct reader *r, const struct opt *o, struct opt_given *given,
		const char *value)
{
	const char **v;

	if (given->n > 0 && !o->many && o->kind != OPT_SWITCH)
		return fail(r->err, WEFT_USAGE, "--%s is given twice", o->name);
	v = ARENA_ARRAY(r->arena, const char *, given->n + 1);
	if (!v)
		return arena_error(r->arena, r->err);
	if (given->n)
		memcpy(v, given->v, given->n * sizeof(*v));
	v[given->n++] = value;
	given->v = v;
	return WEFT_OK;
}

static int check_value(struct reader *r, const struct opt *o, const char *value)
{
	uint64_t n;

	if (o->kind == OPT_NUMBER && !str_to_u64(str_of(value), NUMBER_MAX, &n))
		return fail(r->err, WEFT_USAGE,
			    "--%s: expected a number, got '%s'", o->name,
			    value);
	if (o->values && !is_value(o->values, value))
		return fail(r->err, WEFT_USAGE,
			    "--%s: expected one of %s, got '%s'", o->name,
			    o->values, value);
	return WEFT_OK;
}

/* An option was met; `value` is what came with it ("--last=5"), or NULL. */
static int take(struct reader *r, const struct opt *o, struct opt_given *given,
		const char *value)
{
	int code;

	if (o->kind == OPT_SWITCH && value)
		return fail(r->err, WEFT_USAGE, "--%s takes no value", o->name);
	if (o->kind != OPT_SWITCH && !value) {
		if (r->at >= r->argc)
			return fail(r->err, WEFT_USAGE,
				    "--%s: expected %s behind it", o->name,
				    o->takes);
		value = r->argv[r->at++];
	}
	code = o->kind == OPT_SWITCH ? WEFT_OK : check_value(r, o, value);
	return code == WEFT_OK ? give(r, o, given, value ? value : "") : code;
}

static bool is_named(const struct opt *o, struct weft_str name, char letter)
{
	return letter ? o->letter == letter : str_eq(name, str_of(o->name));
}

/* Take the option with this name, or this letter if it is not 0. */
static int take_named(struct reader *r, struct weft_str name, char letter,
		      const char *value)
{
	const struct command *c = r->parsed->command;

	for (size_t i = 0; c && i < c->n_opts; i++) {
		if (is_named(&c->opts[i], name, letter))
			return take(r, &c->opts[i], &r->parsed->own[i], value);
	}
	for (size_t i = 0; i < GLOBAL_OPTS; i++) {
		if (is_named(&global_opts[i], name, letter))
			return take(r, &global_opts[i], &r->parsed->global[i],
				    value);
	}
	if (!letter)
		return fail_option(r, name);
	return fail(r->err, WEFT_USAGE,
		    "%s%sno option -%c; text that begins with a dash comes "
		    "behind --",
		    c ? c->name : "", c ? ": " : "", letter);
}

static int take_long(struct reader *r, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : strlen(text);

	return take_named(r, (struct weft_str){ text, n }, 0,
			  equals ? equals + 1 : NULL);
}

static int take_letters(struct reader *r, const char *letters)
{
	int code = WEFT_OK;

	for (; code == WEFT_OK && *letters; letters++)
		code = take_named(r, STR(""), *letters, NULL);
	return code;
}

static int take_word(struct reader *r, const char *word)
{
	struct parsed *p = r->parsed;

	if (p->command) {
		p->args[p->n_args++] = word;
		return WEFT_OK;
	}
	p->command = command_find(word);
	if (!p->command)
		return fail_command(r, word);
	p->own =
		ARENA_ARRAY(r->arena, struct opt_given, p->command->n_opts + 1);
	return p->own ? WEFT_OK : arena_error(r->arena, r->err);
}

int opt_parse(int argc, char **argv, struct arena *a, struct parsed *ret,
	      struct weft_error *err)
{
	struct reader r = {
		.argc = argc,
		.argv = argv,
		.at = 1,
		.arena = a,
		.parsed = ret,
		.err = err,
	};
	bool options = true;
	int code = WEFT_OK;

	*ret = (struct parsed){ 0 };
	ret->args = ARENA_ARRAY(a, const char *, (size_t)argc + 1);
	if (!ret->args)
		return arena_error(a, err);
	while (code == WEFT_OK && r.at < argc) {
		const char *word = argv[r.at++];

		if (!options || word[0] != '-' || word[1] == '\0')
			code = take_word(&r, word);
		else if (strcmp(word, "--") == 0)
			options = false;
		else if (word[1] == '-')
			code = take_long(&r, word + 2);
		else
			code = take_letters(&r, word + 1);
	}
	return code;
}

struct weft_str opt_usage(const struct command *c, struct arena *a)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_init(&b, KIB(4));
	buf_printf(&b, "weft %s [OPTION]...", c->name);
	for (size_t i = 0; i < c->n_args; i++) {
		const struct arg *arg = &c->args[i];
		const char *name = arg->values ? arg->values : arg->name;

		buf_printf(&b, arg->optional ? " [%s]" : " %s", name);
		if (arg->many)
			buf_add_lit(&b, "...");
	}
	return arena_str(a, buf_str(&b));
}

int opt_check_args(const struct parsed *p, struct weft_error *err)
{
	const struct command *c = p->command;
	size_t i = 0;

	for (; i < c->n_args; i++) {
		const struct arg *arg = &c->args[i];

		if (i >= p->n_args && !arg->optional)
			return fail(err, WEFT_USAGE,
				    "%s: %s is missing; 'weft %s --help' says "
				    "more",
				    c->name, arg->name, c->name);
		if (i < p->n_args && arg->values &&
		    !is_value(arg->values, p->args[i]))
			return fail(err, WEFT_USAGE,
				    "%s: expected one of %s, got '%s'", c->name,
				    arg->values, p->args[i]);
	}
	for (size_t k = 0; k < c->n_opts; k++) {
		if (c->opts[k].required && p->own[k].n == 0)
			return fail(err, WEFT_USAGE,
				    "%s: --%s %s is missing; 'weft %s --help' "
				    "says more",
				    c->name, c->opts[k].name, c->opts[k].takes,
				    c->name);
	}
	if (p->n_args > i && !(i > 0 && c->args[i - 1].many))
		return fail(err, WEFT_USAGE,
			    "%s: '%s' is too much; quote text that has spaces",
			    c->name, p->args[i]);
	return WEFT_OK;
}
