/*
 * search.c - the method "search".
 *
 * A cursor is text that means nothing to its holder: the time, session and
 * number of the last event that was looked at.
 */
#include "model/search.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/api.h"
#include "base/error.h"
#include "base/id.h"

#define SEARCH_DEFAULT 50

static const char *const kind_names[] = {
	[SEARCH_NOTHING] = "",
	[SEARCH_MESSAGE] = "message",
	[SEARCH_TITLE] = "title",
	[SEARCH_MEMORY] = "memory",
};

static void encode_cursor(struct buf *b, const struct word_hit *h)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(&h->session, id);
	buf_printf(b, "\"s.%s%" PRIu64 ".%s.%" PRIu64 "\"",
		   h->at_ms < 0 ? "-" : "",
		   (uint64_t)(h->at_ms < 0 ? -h->at_ms : h->at_ms), id, h->seq);
}

/* The text before the next dot, which is taken off. */
static struct weft_str cut_field(struct weft_str *s)
{
	const char *dot = s->len ? memchr(s->ptr, '.', s->len) : NULL;
	size_t n = dot ? (size_t)(dot - s->ptr) : s->len;
	struct weft_str field = { s->ptr, n };

	*s = str_skip(*s, dot ? n + 1 : n);
	return field;
}

static bool cursor_parse(struct weft_str s, struct word_hit *ret)
{
	bool begins = str_eq(cut_field(&s), STR("s"));
	struct weft_str at = cut_field(&s), id = cut_field(&s);
	bool before = str_starts(at, STR("-"));
	uint64_t ms;

	if (!begins || !str_to_u64(str_skip(at, before), INT64_MAX, &ms) ||
	    !id_parse(id, &ret->session) ||
	    !str_to_u64(s, API_INTEGER_MAX, &ret->seq))
		return false;
	ret->at_ms = before ? -(int64_t)ms : (int64_t)ms;
	return true;
}

static void encode_hit(struct buf *b, const struct search_hit *h)
{
	const struct session_rec *rec = h->rec;

	buf_add_lit(b, "{\"session\":");
	encode_id(b, &h->place.session);
	buf_printf(b, ",\"seq\":%" PRIu64 ",\"id\":", h->place.seq);
	encode_id(b, &h->id);
	buf_printf(b, ",\"kind\":\"%s\",\"role\":", kind_names[h->kind]);
	encode_text_or_null(b, h->role);
	buf_add_lit(b, ",\"scope\":");
	if (h->kind != SEARCH_MEMORY)
		buf_add_lit(b, "null");
	else if (rec->kind != KIND_BOOK)
		buf_add_lit(b, "\"session\"");
	else if (rec->project_dir.len)
		buf_add_lit(b, "\"project\"");
	else
		buf_add_lit(b, "\"global\"");
	buf_add_lit(b, ",\"slug\":");
	buf_add_json(b, rec->slug);
	buf_add_lit(b, ",\"project_dir\":");
	buf_add_json(b, rec->project_dir);
	buf_add_lit(b, ",\"created_at\":");
	encode_time(b, h->place.at_ms);
	buf_add_lit(b, ",\"snippet\":");
	buf_add_json(b, h->snippet);
	buf_add_c(b, '}');
}

static int fill_ask(struct call *c, struct search_ask *ask,
		    struct word_hit *after)
{
	uint64_t limit = call_u64(c, "limit", SEARCH_DEFAULT);
	struct weft_str kind = call_str(c, "kind");
	int r = search_parse(call_str(c, "query"), &c->arena, &ask->query,
			     c->err);

	if (r < 0)
		return r;
	if (limit == 0 || limit > c->limits->page)
		return fail(c->err, limit ? WEFT_LIMIT : WEFT_INVALID,
			    "limit: expected 1 to %llu (page), found %llu",
			    (unsigned long long)c->limits->page,
			    (unsigned long long)limit);
	ask->limit = (size_t)limit;
	ask->user = call_str(c, "user");
	ask->project_dir = call_str(c, "project_dir");
	ask->wait = call_bool(c, "wait");
	for (uint32_t i = SEARCH_MESSAGE; i <= SEARCH_MEMORY; i++) {
		if (str_eq(kind, str_of(kind_names[i])))
			ask->kinds = UINT64_C(1) << i;
	}
	if (call_has(c, "cursor")) {
		if (!cursor_parse(call_str(c, "cursor"), after))
			return fail(c->err, WEFT_INVALID,
				    "cursor: not from a search");
		ask->after = after;
	}
	return call_has(c, "session") ? call_session_id(c, &ask->session) :
					WEFT_OK;
}

static int method_search(struct call *c)
{
	struct search_ask ask = { .limit = 0 };
	struct search_page page = { .n = 0 };
	struct word_hit after;
	int r = fill_ask(c, &ask, &after);

	if (r == WEFT_OK)
		r = engine_search(c->engine, &ask, &c->arena, &page, c->err);
	if (r < 0)
		return r;
	buf_add_lit(&c->out, "{\"hits\":[");
	for (size_t i = 0; i < page.n; i++) {
		if (i > 0)
			buf_add_c(&c->out, ',');
		encode_hit(&c->out, &page.v[i]);
	}
	buf_add_lit(&c->out, "],\"next\":");
	if (page.more)
		encode_cursor(&c->out, &page.last);
	else
		buf_add_lit(&c->out, "null");
	buf_printf(&c->out, ",\"behind\":%" PRIu64 "}", page.behind);
	return WEFT_OK;
}

/* ---- the rows of the table ---- */

static const struct field fields_search[] = {
	{ .name = "query",
	  .about =
		  "words, all of which must be there; \"a phrase\"; begin* for "
		  "what begins a word; -word for what must not be there",
	  .type = TYPE_TEXT,
	  .required = 1 },
	{ .name = "session",
	  .about = "only in this session and in what it inherits",
	  .type = TYPE_LINE },
	{ .name = "kind",
	  .about = "only messages, titles of sessions, or memories",
	  .type = TYPE_CHOICE,
	  .values = "message|title|memory" },
	{ .name = "project_dir",
	  .about = "only in sessions about this directory",
	  .type = TYPE_LINE },
	{ .name = "user",
	  .about = "only in sessions of this user",
	  .type = TYPE_LINE },
	{ .name = "limit",
	  .about = "at most so many; default 50, at most page",
	  .type = TYPE_INTEGER },
	{ .name = "cursor",
	  .about = "go on behind this page, as next says",
	  .type = TYPE_LINE },
	{ .name = "wait",
	  .about = "first index all that is not indexed yet, however long "
		   "that takes",
	  .type = TYPE_BOOLEAN },
};

static const struct method rows[] = {
	{ .name = "search",
	  .about = "Find messages, titles and memories by their words, newest "
		   "first.",
	  .answer = "`{\"hits\":[{\"session\",\"seq\",\"id\",\"kind\","
		    "\"role\",\"scope\",\"slug\",\"project_dir\","
		    "\"created_at\",\"snippet\"}],\"next\",\"behind\"}`; next "
		    "is a cursor, or null; behind is how many events are not "
		    "indexed yet and were not searched",
	  .right = RIGHT_READ,
	  FIELDS(fields_search),
	  .run = method_search },
};

const struct method_group methods_search = METHOD_GROUP(rows);
