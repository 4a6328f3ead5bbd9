/* config_settle.c - what follows from the fields of a configuration, and what
 * contradicts itself. */
#include "base/near.h"
#include "route/config.h"
#include "route/norm.h"

void config_warn(struct config *c, struct arena *a, struct weft_str text)
{
	if (c->warnings.n < CONFIG_WARNINGS_MAX)
		name_list_add(&c->warnings, text, a);
}

void config_add_mistake(struct config *c, struct arena *a,
			const struct config_mistake *m)
{
	if (!c->mistakes)
		c->mistakes = ARENA_ARRAY(a, struct config_mistake,
					  CONFIG_MISTAKES_MAX);
	if (!c->mistakes || c->n_mistakes == CONFIG_MISTAKES_MAX)
		return;
	/* What is said of a field that could not be read leads astray. */
	for (size_t i = 0; i < c->n_mistakes && m->field.len; i++) {
		if (str_eq(c->mistakes[i].field, m->field))
			return;
	}
	c->mistakes[c->n_mistakes++] = (struct config_mistake){
		.place = m->place,
		.field = arena_str(a, m->field),
		.message = arena_str(a, m->message),
	};
}

/* Warn of WEFT_SESION_DM_SCOPE: what is near a section was meant to be one. */
static void check_section(struct config *c, struct weft_str name,
			  struct weft_str low, struct arena *a)
{
	struct weft_str rest = str_skip(low, STR("weft_").len);
	const char *bar = rest.len ? memchr(rest.ptr, '_', rest.len) : NULL;
	const char *words[16], *near;
	size_t n = 0;

	if (!bar)
		return;
	for (; n < config_root.n_fields && n < ARRAY_LEN(words); n++)
		words[n] = config_root.fields[n].name;
	near = near_word(
		(struct weft_str){ rest.ptr, (size_t)(bar - rest.ptr) }, words,
		n);
	if (near)
		config_warn(
			c, a,
			arena_printf(a,
				     "$%.*s: there is no such section; did you "
				     "mean %s?",
				     STR_ARG(name),
				     config_env_name(near, bar + 1, a).ptr));
}

void config_check_variable(struct config *c, struct weft_str name,
			   struct arena *a)
{
	struct weft_str low = arena_str(a, norm_lower(name, a));
	bool known = false;

	for (size_t s = 0; s < config_root.n_fields; s++) {
		const struct config_field *section = &config_root.fields[s];
		const struct config_object *o = section->object;
		struct weft_str prefix =
			arena_printf(a, "weft_%s_", section->name);
		const char *words[16], *near;
		size_t n = 0;

		if (!prefix.len || !str_starts(low, prefix))
			continue;
		known = true;
		for (; n < o->n_fields && n < ARRAY_LEN(words); n++) {
			words[n] = o->fields[n].name;
			if (str_eq(str_skip(low, prefix.len), str_of(words[n])))
				return;
		}
		near = near_word(str_skip(low, prefix.len), words, n);
		config_warn(
			c, a,
			arena_printf(
				a, "$%.*s: %s has no such field%s%.*s%s",
				STR_ARG(name), section->name,
				near ? "; did you mean " : "",
				STR_ARG(near ? config_env_name(section->name,
							       near, a) :
					       STR("")),
				near ? "?" : ""));
	}
	if (!known && low.len > STR("weft_").len)
		check_section(c, name, low, a);
}

/* ---- dimensions and dm_scope ---- */

/* The dimensions that a dm_scope stands for; false if it has none. */
static bool dimensions_of(uint32_t dm_scope, struct dimensions *ret)
{
	*ret = (struct dimensions){ 0 };
	switch ((enum dm_scope)dm_scope) {
	case DM_SCOPE_GLOBAL:
		return true;
	case DM_SCOPE_PER_PEER:
		ret->v[ret->n++] = DIM_SENDER;
		return true;
	case DM_SCOPE_PER_CHANNEL:
		ret->v[ret->n++] = DIM_CHAT;
		return true;
	case DM_SCOPE_PER_CHANNEL_PEER:
		ret->v[ret->n++] = DIM_CHAT;
		ret->v[ret->n++] = DIM_SENDER;
		return true;
	default:
		return false;
	}
}

static bool same_dimensions(const struct dimensions *x,
			    const struct dimensions *y)
{
	return x->n == y->n && memcmp(x->v, y->v, x->n) == 0;
}

static void look_up(const struct config_texts *t, struct dimensions *d,
		    struct arena *a)
{
	*d = (struct dimensions){ 0 };
	for (size_t i = 0; i < t->n; i++)
		(void)dimensions_add(d, t->v[i], a);
}

static void settle_dimensions(struct config *c, const char *file,
			      struct arena *a)
{
	const struct config_place at = { file,
					 c->sources[FIELD_DM_SCOPE].line };
	struct config_session *s = &c->session;
	struct dimensions meant;

	look_up(&s->dimensions, &c->dimensions, a);
	if (s->dm_scope == DM_SCOPE_UNSET)
		return;
	if (!s->dimensions.given) {
		s->dimensions.n = 0;
		return;
	}
	/* The environment overrides the file, whichever field it names. */
	if (c->sources[FIELD_DIMENSIONS].from !=
	    c->sources[FIELD_DM_SCOPE].from) {
		if (c->sources[FIELD_DIMENSIONS].from == FROM_ENV)
			s->dm_scope = DM_SCOPE_UNSET;
		else
			s->dimensions = (struct config_texts){ 0 };
		return;
	}
	if (!dimensions_of(s->dm_scope, &meant) ||
	    !same_dimensions(&meant, &c->dimensions)) {
		config_blame(c, a, &at, STR("session.dm_scope"),
			     "contradicts session.dimensions; give only one of "
			     "them");
		return;
	}
	/* The same thing said twice. */
	s->dm_scope = DM_SCOPE_UNSET;
}

/* In the other style per-channel is a matter of dimensions. */
static void settle_style(struct config *c)
{
	struct config_session *s = &c->session;

	if (s->dm_scope_style != DM_STYLE_PICOCLAW ||
	    s->dm_scope != DM_SCOPE_PER_CHANNEL)
		return;
	s->dm_scope = DM_SCOPE_UNSET;
	(void)dimensions_of(DM_SCOPE_PER_CHANNEL, &c->dimensions);
}

/* ---- rules and links ---- */

static void settle_rules(struct config *c, struct arena *a)
{
	struct config_rule *v = c->rules.v;

	for (size_t i = 0; i < c->rules.n; i++)
		look_up(&v[i].session_dimensions, &v[i].dimensions, a);
}

struct identity_links config_links(const struct config_list *l, struct arena *a)
{
	const struct config_link *from = l->v;
	struct identity_link *v =
		ARENA_ARRAY(a, struct identity_link, l->n + 1);
	struct identity_links given = { .v = v, .n = v ? l->n : 0 };

	for (size_t i = 0; i < given.n; i++)
		v[i] = (struct identity_link){ .name = from[i].name,
					       .ids = from[i].ids.v,
					       .n_ids = from[i].ids.n };
	return identity_links_clean(&given, a);
}

void config_settle(struct config *c, const char *file, struct arena *a)
{
	settle_dimensions(c, file, a);
	settle_style(c);
	settle_rules(c, a);
	c->links = config_links(&c->session.identity_links, a);
	config_check(c, file, a);
}
