/* story.c - see story.h. */
#include "crash/story.h"

#include <stdio.h>

#include "base/hash.h"
#include "engine/engine.h"
#include "store/store.h"

#define DAY       INT64_C(86400000)
#define S         "'session':'one'"
#define SAY(text) "{'role':'user','content':'" text "'}"
#define IMAGE                                                               \
	"{'role':'user','parts':[{'type':'text','text':'a long text about " \
	"zebras'},{'type':'image','image_mime_type':'i/p','image_base64':"  \
	"'iVBORw0K'}]}"
#define SPENT                                                             \
	"{'role':'assistant','content':'done','usage':{'input_tokens':7," \
	"'output_tokens':3}}"
#define ROUTE(chat)                                                          \
	"'route','channel':'telegram','chat_type':'direct','chat_id':'" chat \
	"','sender_id':'" chat "'"

/* Rules of retention that the last steps live by. */
static const char config[] =
	"{\"retention\":{\"rules\":[{\"kind\":\"subagent\"},"
	"{\"idle_days\":30}],\"trash_days\":7}}";

const struct scene story[] = {
	{ .call = "'new','key':'one','aliases':['uno'],'project_dir':'/p'" },
	{ .call = "'append'," S ",'op':'o1','message':" SAY("hello zanzibar") },
	{ .call = "'append'," S ",'messages':[" IMAGE "," SAY("second") "]" },
	{ .call = "'append'," S ",'op':'o1','message':" SAY("hello zanzibar") },
	{ .call = "'search','query':'zebras','wait':true" },
	/* Leases, and writes that they let through or do not. */
	{ .call = "'lease'," S ",'how':'acquire','owner':'me'" },
	{ .call = "'append'," S ",'token':6,'message':" SAY("fenced") },
	{ .call = "'lease'," S ",'how':'acquire','owner':'you'",
	  .refused = true },
	{ .call = "'append'," S ",'token':9,'message':" SAY("late"),
	  .refused = true },
	{ .call = "'lease'," S ",'how':'renew','owner':'me','token':6",
	  .later_ms = 1000 },
	{ .call = "'lease'," S ",'how':'takeover','owner':'you'" },
	{ .call = "'append'," S ",'token':6,'message':" SAY("late"),
	  .refused = true },
	{ .call = "'lease'," S ",'how':'release','owner':'you','token':9" },
	/* Forks and markers. */
	{ .call = "'fork'," S ",'slug':'fork','op':'o2'" },
	{ .call = "'append','session':'fork','message':" IMAGE },
	{ .call = NULL },
	{ .call = "'compact'," S ",'keep':1,'summary':'what was'" },
	{ .call = "'truncate','session':'fork','keep':1" },
	{ .call = "'set_history'," S
		  ",'messages':[" SAY("anew") "," SAY("more") "]" },
	{ .call = "'undo'," S },
	{ .call = "'redo'," S },
	{ .call = "'clear','session':'fork'" },
	/* What a subagent spends climbs. */
	{ .call = "'new','key':'sub','kind':'subagent','parent':'one'" },
	{ .call = "'append','session':'sub','message':" SPENT },
	{ .call = "'usage_add'," S ",'usage':{'input_tokens':3}" },
	{ .call = "'turn'," S ",'state':'begun'" },
	{ .call = "'turn'," S ",'state':'ended'" },
	/* What is noted. */
	{ .call = "'todos_set'," S
		  ",'todos':[{'content':'a','status':'pending'}]" },
	{ .call = "'memory_add','scope':'session'," S
		  ",'content':'a giraffe'" },
	{ .call = "'memory_add','scope':'global','content':'another'",
	  .in_steps = true },
	{ .call = "'search','query':'giraffe','wait':true" },
	{ .call = "'redact'," S ",'messages':[4]" },
	{ .call = "'redact'," S ",'messages':[4],'undo':true" },
	{ .call = "'alias','how':'move','session':'sub','alias':'uno'" },
	{ .call = "'delete','session':'fork'" },
	{ .call = NULL },
	/* What is taken away. */
	{ .call = "'erase'," S ",'messages':[3]", .in_steps = true },
	{ .call = "'search','query':'zanzibar','wait':true" },
	{ .call = "'reclaim'," S, .in_steps = true },
	{ .call = "'collect'", .in_steps = true },
	{ .call = "'new','key':'two'" },
	{ .call = "'append','session':'two','messages':[" IMAGE
		  "," SAY("kilimanjaro") "]" },
	{ .call = "'search','query':'kilimanjaro','wait':true" },
	{ .call = "'purge','session':'two'", .in_steps = true },
	{ .call = "'search','query':'kilimanjaro','wait':true" },
	/* Conversations found by scope; an older one is taken over once. */
	{ .call = ROUTE("5") },
	{ .call = ROUTE("5") },
	{ .call = "'new','key':'agent:main:telegram:direct:7'" },
	{ .call = "'append','session':'agent:main:telegram:direct:7','message'"
		  ":" SAY("long ago") },
	{ .call = ROUTE("7") },
	{ .call = "'reset'," S },
	{ .call = "'append'," S ",'message':" SAY("begun anew") },
	/* Maintenance throws away, and later purges. */
	{ .call = "'cleanup'",
	  .later_ms = 31 * DAY,
	  .in_steps = true,
	  .spares = true },
	{ .call = "'cleanup'",
	  .later_ms = 8 * DAY,
	  .in_steps = true,
	  .spares = true },
};
const size_t story_n = ARRAY_LEN(story);

static const char *const words[] = { "zanzibar", "zebras",      "giraffe",
				     "anew",     "kilimanjaro", "long" };

/* ---- the stage ---- */

int stage_open(struct stage *t, struct lab *l, struct simdisk *disk)
{
	struct store_open o = {
		.path = str_of(LAB_DIR),
		.flags = STORE_CREATE | STORE_BY_HAND,
		.limits = l->limits,
		.clock = &l->f.clock,
		.fs = simdisk_process(disk),
	};
	struct store *store = NULL;
	int r;

	*t = (struct stage){ .l = l };
	o.limits.blob_bytes = 16;
	o.limits.busy_ms = 5;
	r = store_limits_fill(&o.limits, &t->err);
	if (r == WEFT_OK)
		r = store_jsonl.open(&o, &store, &t->err);
	if (r == WEFT_OK)
		r = engine_start(store, &l->f.clock, 0, &t->e, &t->err);
	if (r == WEFT_OK)
		r = weft_store_around(t->e, &t->s, &t->err);
	if (r == WEFT_OK)
		r = weft_configure(t->s, config, strlen(config), &t->err);
	return r;
}

int stage_close(struct stage *t)
{
	int r = t->s ? weft_close(t->s, &t->err) : WEFT_OK;

	t->s = NULL;
	t->e = NULL;
	return r;
}

static int call(struct stage *t, const char *text, struct weft_answer **ret)
{
	char request[1000];
	int n = snprintf(request, sizeof(request), "{'method':%s}", text);

	assert_in_range(n, 1, sizeof(request) - 1);
	for (char *p = request; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return weft_call(t->s, request, (size_t)n, ret, &t->err);
}

static int task(struct stage *t, enum store_task what,
		struct store_report *report)
{
	struct store *s = engine_store(t->e);

	return s->ops->maintain(s, what, report, &t->err);
}

int stage_play(struct stage *t, const struct scene *scene)
{
	struct store_report report = { .arena = &t->l->f.arena };
	struct weft_answer *answer = NULL;
	int r;

	arena_reset(&t->l->f.arena);
	if (!scene->call)
		return task(t, TASK_CHECKPOINT, &report);
	r = call(t, scene->call, &answer);
	weft_answer_free(answer);
	return r;
}

uint64_t stage_digest(struct stage *t)
{
	const char *problem;
	uint64_t n = digest(t->l, engine_store(t->e), &problem);

	must_be_fine(t->l, problem);
	return n;
}

uint64_t stage_found(struct stage *t, bool wait)
{
	uint64_t h = 1;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct weft_answer *answer = NULL;
		char text[80];
		size_t n;
		const char *found;

		(void)snprintf(text, sizeof(text),
			       "'search','query':'%s','wait':%s", words[i],
			       wait ? "true" : "false");
		if (call(t, text, &answer) < 0)
			print_error("%s: %s\n", text, t->err.message);
		assert_non_null(answer);
		found = weft_answer_text(answer, &n);
		h = h * UINT64_C(0x9e3779b97f4a7c15) ^ hash_bytes(found, n);
		weft_answer_free(answer);
	}
	return h;
}

void stage_verify(struct stage *t)
{
	struct store_report report = { .arena = &t->l->f.arena };
	uint64_t before;

	arena_reset(&t->l->f.arena);
	assert_int_equal(task(t, TASK_VERIFY, &report), WEFT_OK);
	for (size_t i = 0; i < report.n_problems; i++)
		print_error("%s%.*s: %.*s\n", t->l->where,
			    STR_ARG(report.problems[i].file),
			    STR_ARG(report.problems[i].reason));
	assert_int_equal(report.n_problems, 0);
	before = stage_digest(t);
	assert_int_equal(task(t, TASK_REINDEX, &report), WEFT_OK);
	assert_true(stage_digest(t) == before);
}
