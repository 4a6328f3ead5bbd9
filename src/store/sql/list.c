/* list.c - the statement of a list query; see list.h. */
#include "store/sql/list.h"

#include <assert.h>

#include "base/id.h"
#include "store/sql/columns.h"
#include "store/sql/split.h"

#define DAY_MS (24 * 60 * 60 * 1000)

/* Parameters, by number. */
enum {
	P_KINDS = 1,
	P_PARENT,
	P_PROJECT,
	P_AGENT,
	P_CHANNEL,
	P_USER,
	P_SLUG,
	P_FOLDED,
	P_ID_LOW,
	P_ID_HIGH,
	P_CURSOR_MS,
	P_CURSOR_ID,
};

enum shape {
	SHAPE_ONE_KIND = 1 << 0,
	SHAPE_KINDS = 1 << 1,
	SHAPE_PARENT = 1 << 2,
	SHAPE_PROJECT = 1 << 3,
	SHAPE_AGENT = 1 << 4,
	SHAPE_CHANNEL = 1 << 5,
	SHAPE_USER = 1 << 6,
	SHAPE_SLUG = 1 << 7,
	SHAPE_FOLDED = 1 << 8,
	SHAPE_IDS = 1 << 9,
	SHAPE_FEW_IDS = 1 << 10,
	SHAPE_CREATION = 1 << 11,
	SHAPE_DELETED = 1 << 12,
	SHAPE_CURSOR = 1 << 13,
	SHAPE_BACKWARDS = 1 << 14,
	SHAPE_PURGED = 1 << 15,
	SHAPE_FILTER_AT = 16, /* 1 + the filter whose index it goes by, or 0 */
};

/* Exact texts: where they are in the query and what to bind them to. */
static const struct {
	size_t offset;
	uint32_t shape;
	int parameter;
	const char *column, *index;
} texts[] = {
	/* The first ones may be chosen as the one to go by, those that mostly
	 * have few sessions before others. */
	{ offsetof(struct list_query, user), SHAPE_USER, P_USER, "\"user\"",
	  "sessions_user" },
	{ offsetof(struct list_query, project_dir), SHAPE_PROJECT, P_PROJECT,
	  "project_dir", "sessions_project" },
	{ offsetof(struct list_query, channel), SHAPE_CHANNEL, P_CHANNEL,
	  "channel", "sessions_channel" },
	{ offsetof(struct list_query, agent), SHAPE_AGENT, P_AGENT, "agent",
	  "sessions_agent" },
	{ offsetof(struct list_query, slug), SHAPE_SLUG, P_SLUG, "slug",
	  "sessions_slug" },
};
static_assert(LIST_FILTERS < ARRAY_LEN(texts), "slugs have their own way");

static struct weft_str text_of(const struct list_query *q, size_t i)
{
	struct weft_str s;

	memcpy(&s, (const char *)q + texts[i].offset, sizeof(s));
	return s;
}

static bool has_ids(const struct list_query *q)
{
	return !id_is_zero(&q->id_low) || !id_is_zero(&q->id_high);
}

/* An id begins with its time: a short span of it holds few sessions. */
static bool has_few_ids(const struct list_query *q)
{
	return id_time_ms(&q->id_high) - id_time_ms(&q->id_low) <= DAY_MS;
}

uint32_t list_shape(const struct list_query *q)
{
	uint32_t shape = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (text_of(q, i).len > 0)
			shape |= texts[i].shape;
	}
	if (q->kinds)
		shape |= q->kinds & (q->kinds - 1) ? SHAPE_KINDS :
						     SHAPE_ONE_KIND;
	if (!id_is_zero(&q->parent))
		shape |= SHAPE_PARENT;
	if (q->folded.len > 0)
		shape |= SHAPE_FOLDED;
	if (has_ids(q))
		shape |= has_few_ids(q) ? SHAPE_IDS | SHAPE_FEW_IDS : SHAPE_IDS;
	if (q->sort == LIST_BY_CREATION)
		shape |= SHAPE_CREATION;
	if (q->deleted != LIST_LIVE)
		shape |= SHAPE_DELETED;
	if (q->deleted == LIST_WITH_PURGED)
		shape |= SHAPE_PURGED;
	if (!id_is_zero(&q->cursor_id))
		shape |= SHAPE_CURSOR;
	if (q->backwards)
		shape |= SHAPE_BACKWARDS;
	return shape;
}

bool list_shape_is_empty(uint32_t shape)
{
	return shape & SHAPE_BACKWARDS && !(shape & SHAPE_CURSOR);
}

bool list_has_filter(uint32_t shape, size_t i)
{
	return shape & texts[i].shape && !(shape >> SHAPE_FILTER_AT) &&
	       !(shape &
		 (SHAPE_PARENT | SHAPE_SLUG | SHAPE_FEW_IDS | SHAPE_PURGED));
}

int list_filter_parameter(size_t i)
{
	return texts[i].parameter;
}

void list_add_few_sql(struct buf *b, size_t i)
{
	buf_printf(b,
		   "SELECT count(*)<%d FROM (SELECT 1 FROM sessions"
		   " INDEXED BY %s WHERE %s=?1 AND %s<>'' LIMIT %d)",
		   LIST_FEW, texts[i].index, texts[i].column, texts[i].column,
		   LIST_FEW);
}

uint32_t list_shape_by(uint32_t shape, size_t i)
{
	return shape | (uint32_t)(i + 1) << SHAPE_FILTER_AT;
}

static const char *index_of(uint32_t shape)
{
	bool creation = shape & SHAPE_CREATION;

	if (shape >> SHAPE_FILTER_AT)
		return texts[(shape >> SHAPE_FILTER_AT) - 1].index;

	if (shape & SHAPE_PARENT)
		return "sessions_parent";
	if (shape & SHAPE_SLUG)
		return "sessions_slug";
	/* No other index has those that were purged. */
	if (shape & (SHAPE_FEW_IDS | SHAPE_PURGED))
		return "sessions_id";
	if (shape & SHAPE_ONE_KIND && !(shape & SHAPE_DELETED))
		return creation ? "live_creation" : "live_interaction";
	return creation ? "all_creation" : "all_interaction";
}

/* In PostgreSQL: whether it goes through all sessions in their order, or fetches
 * some and sorts them. */
static bool goes_in_steps(uint32_t shape)
{
	return !(shape & (SHAPE_CREATION | SHAPE_PARENT | SHAPE_SLUG |
			  SHAPE_FEW_IDS | SHAPE_PURGED)) &&
	       !(shape >> SHAPE_FILTER_AT);
}

static void add_tables(struct buf *b, uint32_t shape, enum sql_dialect dialect)
{
	if (dialect == SQL_SQLITE)
		buf_printf(b, " FROM sessions INDEXED BY %s WHERE ",
			   index_of(shape));
	else {
		split_add_list(b, goes_in_steps(shape),
			       shape & SHAPE_ONE_KIND &&
				       !(shape & SHAPE_DELETED));
		buf_add_lit(b, " AND ");
	}
	buf_add_str(b, shape & SHAPE_PURGED ? STR("purged_at>=0") :
					      STR("purged_at=0"));
}

void list_add_sql(struct buf *b, uint32_t shape, enum sql_dialect dialect)
{
	const char *by =
		shape & SHAPE_CREATION ? "created_at" : "last_interaction_at";
	const char *direction = shape & SHAPE_BACKWARDS ? "" : " DESC";
	bool steps = dialect == SQL_POSTGRES && goes_in_steps(shape);

	add_tables(b, shape, dialect);
	if (!(shape & SHAPE_DELETED))
		buf_add_lit(b, " AND deleted_at=0");
	if (shape & SHAPE_ONE_KIND)
		buf_add_lit(b, " AND kind=?1");
	if (shape & SHAPE_KINDS)
		buf_add_lit(b, " AND kind BETWEEN 0 AND 63"
			       " AND (?1>>CAST(kind&63 AS INTEGER)&1)=1");
	if (shape & SHAPE_PARENT)
		buf_add_lit(b, " AND parent=?2");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		/* Not empty: that is how the indexes are made. */
		if (shape & texts[i].shape)
			buf_printf(b, " AND %s=?%d AND %s<>''", texts[i].column,
				   texts[i].parameter, texts[i].column);
	}
	if (shape & SHAPE_FOLDED)
		buf_add_str(b, dialect == SQL_SQLITE ?
				       STR(" AND instr(fold,?8)>0") :
				       STR(" AND position(?8 in fold)>0"));
	if (shape & SHAPE_IDS)
		buf_add_lit(b, " AND id BETWEEN ?9 AND ?10");
	if (shape & SHAPE_CURSOR)
		buf_printf(b, " AND (%s,id)%c(?11,?12)", by,
			   shape & SHAPE_BACKWARDS ? '>' : '<');
	/* What the index says of the order, coarse as it is. */
	if (steps && shape & SHAPE_CURSOR)
		buf_printf(b, " AND recent%s(?11>>" SPLIT_STEP_BITS ")",
			   shape & SHAPE_BACKWARDS ? ">=" : "<=");
	buf_add_lit(b, " ORDER BY ");
	if (steps)
		buf_printf(b, "recent%s,", direction);
	buf_printf(b, "%s%s,id%s", by, direction, direction);
}

void list_parameters(const struct list_query *q, uint32_t shape,
		     struct sql_value v[LIST_PARAMETERS])
{
	memset(v, 0, LIST_PARAMETERS * sizeof(*v));
	if (shape & SHAPE_ONE_KIND)
		v[P_KINDS - 1] = sql_int(__builtin_ctzll(q->kinds));
	if (shape & SHAPE_KINDS)
		v[P_KINDS - 1] = sql_int((int64_t)q->kinds);
	if (shape & SHAPE_PARENT)
		v[P_PARENT - 1] = sql_id(&q->parent);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (shape & texts[i].shape)
			v[texts[i].parameter - 1] = sql_text(text_of(q, i));
	}
	/* As bytes, like the column: so that instr() does not look for
	 * characters where there may be none. */
	if (shape & SHAPE_FOLDED)
		v[P_FOLDED - 1] = sql_bytes(q->folded.ptr, q->folded.len);
	if (shape & SHAPE_IDS) {
		v[P_ID_LOW - 1] = sql_id(&q->id_low);
		v[P_ID_HIGH - 1] = sql_id(&q->id_high);
	}
	if (shape & SHAPE_CURSOR) {
		v[P_CURSOR_MS - 1] = sql_int(q->cursor_ms);
		v[P_CURSOR_ID - 1] = sql_id(&q->cursor_id);
	}
}
