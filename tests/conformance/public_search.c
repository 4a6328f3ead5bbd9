/* public_search.c - finding what was said: words, what counts as there, the
 * order, pages, and an index that follows. */
#include "base/json.h"
#include "base/text.h"
#include "conformance/public.h"

/* What one search finds: "seq seq seq". */
static const char *found_once(struct desk *d, const char *query,
			      const char *more, const char *wait)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(buf_done) struct buf b, q;
	const char *answer;
	yyjson_arr_iter it;
	yyjson_val *hit;

	buf_init(&b, 0);
	buf_init(&q, 0);
	buf_add_json(&q, str_of(query));
	answer = desk_call(d, "{\"method\":\"search\",\"query\":%s%s%s}",
			   buf_cstr(&q), more, wait);
	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	yyjson_arr_iter_init(yyjson_obj_get(yyjson_doc_get_root(doc), "hits"),
			     &it);
	while ((hit = yyjson_arr_iter_next(&it))) {
		if (b.len)
			buf_add_c(&b, ' ');
		buf_add_u64(&b, yyjson_get_uint(yyjson_obj_get(hit, "seq")));
	}
	assert_int_equal(yyjson_get_uint(yyjson_obj_get(
				 yyjson_doc_get_root(doc), "behind")),
			 0);
	return arena_str(&d->arena, buf_str(&b)).ptr;
}

/* The same, whether it was read or is in the index.  `more` are members with a
 * comma before each. */
static const char *found_with(struct desk *d, const char *query,
			      const char *more)
{
	const char *read = found_once(d, query, more, "");

	assert_string_equal(found_once(d, query, more, ",\"wait\":true"), read);
	return read;
}

static const char *found(struct desk *d, const char *query)
{
	return found_with(d, query, "");
}

static const char *in(struct desk *d, const char *session)
{
	return arena_printf(&d->arena, ",\"session\":\"%s\"", session).ptr;
}

/* Append a message as JSON. */
static uint64_t tell(struct desk *d, const char *json)
{
	struct weft_receipt receipt;

	desk_ok(d, desk_try(d, d->id, json, NULL, &receipt));
	return receipt.seq;
}

static void words_of_every_script_are_found(void **state)
{
	struct desk *d = *state;
	static const struct {
		const char *query, *found;
	} table[] = {
		{ "cafe", "2" },
		{ "CAF\u00c9", "2" },
		{ "strasse", "2" },
		{ "STRASSE", "2" },
		{ "\u4f1a\u8bdd", "3" },
		{ "\u8bdd", "3" },
		{ "\u8bdd\u4f1a", "" },
		{ "\u6771\u4eac", "3" },
		{ "\u0e44\u0e17\u0e22", "4" },
		{ "\ud55c\uad6d", "4" },
		{ "foo", "5" },
		{ "foo_bar", "5" },
		{ "bar.baz", "5" },
		{ "baz.foo", "" },
		{ "v1.2", "5" },
		{ "bin/foo", "" },
		{ "now", "6" },
		{ "nobody", "" },
	};

	desk_say(d, d->id, "Caf\u00e9 in der Stra\u00dfe");
	desk_say(d, d->id,
		 "\u4f1a\u8bdd\u7ba1\u7406, \u6771\u4eac\u30bf\u30ef\u30fc");
	desk_say(d, d->id,
		 "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 "
		 "\ud55c\uad6d\uc5b4\ub97c");
	desk_say(d, d->id, "call foo_bar.baz() of v1.2");
	desk_say(d, d->id, "go \U0001f680 now");
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_string_equal(found(d, table[i].query), table[i].found);
}

static void queries_mean_what_they_say(void **state)
{
	struct desk *d = *state;
	static const struct {
		const char *query, *found;
	} table[] = {
		{ "fox", "4 3 2" },
		{ "fox brown", "3 2" },
		{ "brown fox", "3 2" },
		{ "\"brown fox\"", "2" },
		{ "\"fox is brown\"", "3" },
		{ "fox -brown", "4" },
		{ "fox -\"quick brown\"", "4 3" },
		{ "qui*", "4 2" },
		{ "quickl*", "4" },
		{ "quick", "2" },
		{ "\"the qui\"*", "4 2" },
		{ "  fox   ?! brown ", "3 2" },
		{ "fox *", "4 3 2" },
		{ "fox -", "4 3 2" },
		{ "fox -...", "4 3 2" },
		{ "\"\" fox", "4 3 2" },
		{ "brown-fox", "2" },
		{ "FOX AND", "" },
	};

	desk_say(d, d->id, "The quick brown fox");
	desk_say(d, d->id, "a fox, is brown");
	desk_say(d, d->id, "the quickly running fox");
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_string_equal(found(d, table[i].query), table[i].found);
}

static int try_query(struct desk *d, const char *members)
{
	return desk_try_call(d, "{\"method\":\"search\",%s}", members);
}

static void what_makes_no_sense_is_refused(void **state)
{
	struct desk *d = *state;

	desk_fails(d, try_query(d, "\"limit\":1"), WEFT_INVALID, "query");
	desk_fails(d, try_query(d, "\"query\":\"\""), WEFT_INVALID, "query");
	desk_fails(d, try_query(d, "\"query\":\" .,; \""), WEFT_INVALID,
		   "query");
	desk_fails(d, try_query(d, "\"query\":\"-fox\""), WEFT_INVALID,
		   "must not be there");
	desk_fails(d, try_query(d, "\"query\":\"a \\\"fox b\""), WEFT_INVALID,
		   "'fox b' has no end");
	desk_fails(d, try_query(d, "\"query\":\"a\",\"limit\":0"), WEFT_INVALID,
		   "limit");
	desk_fails(d, try_query(d, "\"query\":\"a\",\"limit\":1001"),
		   WEFT_LIMIT, "limit");
	desk_fails(d, try_query(d, "\"query\":\"a\",\"cursor\":\"ni.1.x\""),
		   WEFT_INVALID, "cursor");
	desk_fails(d, try_query(d, "\"query\":\"a\",\"kind\":\"book\""),
		   WEFT_INVALID, "kind");
	desk_fails(d, try_query(d, "\"query\":\"a\",\"session\":\"nobody\""),
		   WEFT_NOT_FOUND, "nobody");
}

/* Texts, tools and what they said; not thoughts, ids or opaque data. */
static void parts_that_say_something_are_searched(void **state)
{
	struct desk *d = *state;

	tell(d,
	     "{\"role\":\"assistant\",\"parts\":["
	     "{\"type\":\"thinking\",\"text\":\"musing\"},"
	     "{\"type\":\"text\",\"text\":\"saying\"},"
	     "{\"type\":\"tool_use\",\"id\":\"callid\",\"name\":\"read_file\","
	     "\"input\":{\"path\":\"src/main.c\",\"deep\":[{\"n\":4711}]}},"
	     "{\"type\":\"opaque\",\"format\":\"f\",\"data\":{\"a\":\"hidden\"}"
	     "}]}");
	tell(d, "{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_result\","
		"\"tool_use_id\":\"callid\",\"content\":[{\"type\":\"text\","
		"\"text\":\"int\\nmain\"}]}]}");
	tell(d, "{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_result\","
		"\"tool_use_id\":\"x\",\"content\":\"plainly\"}]}");
	assert_string_equal(found(d, "saying"), "2");
	assert_string_equal(found(d, "read_file"), "2");
	assert_string_equal(found(d, "main.c"), "2");
	assert_string_equal(found(d, "path 4711"), "2");
	assert_string_equal(found(d, "main"), "3 2");
	assert_string_equal(found(d, "\"int main\""), "3");
	assert_string_equal(found(d, "plainly"), "4");
	assert_string_equal(found(d, "musing"), "");
	assert_string_equal(found(d, "callid"), "");
	assert_string_equal(found(d, "hidden"), "");
	/* No phrase goes from one text to the next. */
	assert_string_equal(found(d, "\"saying read\""), "");
}

/* What is large is kept apart, and found all the same, up to a bound. */
static void large_texts_are_searched(void **state)
{
	struct desk *d = *state;
	CLEANUP(buf_done) struct buf b;

	buf_init(&b, 0);
	buf_add_lit(&b, "{\"role\":\"user\",\"content\":\"first ");
	for (size_t i = 0; i < 20000; i++)
		buf_add_lit(&b, "filling ");
	buf_add_lit(&b, "middle ");
	for (size_t i = 0; i < 20000; i++)
		buf_add_lit(&b, "filling ");
	buf_add_lit(&b, "last\"}");
	tell(d, buf_cstr(&b));
	assert_string_equal(found(d, "first"), "2");
	assert_string_equal(found(d, "middle"), "2");
	assert_string_equal(found(d, "last"), "");
}

static void what_is_redacted_is_not_found(void **state)
{
	struct desk *d = *state;
	uint64_t seq = desk_say(d, d->id, "a secret word");

	assert_string_equal(found(d, "secret"), "2");
	desk_call(
		d,
		"{\"method\":\"redact\",\"session\":\"%s\",\"messages\":[%u]}",
		d->id, (unsigned)seq);
	assert_string_equal(found(d, "secret"), "");
	desk_call(d,
		  "{\"method\":\"redact\",\"session\":\"%s\",\"messages\":[%u],"
		  "\"undo\":true}",
		  d->id, (unsigned)seq);
	assert_string_equal(found(d, "secret"), "2");
}

static void what_is_erased_or_purged_is_not_found(void **state)
{
	struct desk *d = *state;
	const char *other = desk_new(d, "");

	desk_say(d, d->id, "burn this");
	desk_say(d, d->id, "keep this");
	desk_say(d, other, "this, too");
	assert_int_equal(strlen(found(d, "this")), strlen("3 2 2"));
	desk_call(d,
		  "{\"method\":\"erase\",\"session\":\"%s\",\"messages\":[2]}",
		  d->id);
	assert_string_equal(found(d, "burn"), "");
	assert_string_equal(found(d, "keep"), "3");
	assert_string_equal(found(d, "too"), "2");
	desk_call(d, "{\"method\":\"purge\",\"session\":\"%s\"}", d->id);
	assert_string_equal(found(d, "this"), "2");
	desk_say(d, other, "and this");
	assert_string_equal(found(d, "this"), "3 2");
}

static void a_deleted_session_is_not_found(void **state)
{
	struct desk *d = *state;

	desk_say(d, d->id, "a lonely word");
	desk_call(d,
		  "{\"method\":\"rename\",\"session\":\"%s\","
		  "\"slug\":\"lonely\"}",
		  d->id);
	assert_string_equal(found(d, "lonely"), "3 2");
	desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", d->id);
	assert_string_equal(found(d, "lonely"), "");
	/* Who names it means it. */
	assert_string_equal(found_with(d, "lonely", in(d, d->id)), "3 2");
	desk_call(d, "{\"method\":\"restore\",\"session\":\"%s\"}", d->id);
	assert_string_equal(found(d, "lonely"), "3 2");
}

static void rename_to(struct desk *d, const char *slug)
{
	desk_call(d,
		  "{\"method\":\"rename\",\"session\":\"%s\",\"slug\":\"%s\"}",
		  d->id, slug);
}

static void the_title_that_holds_is_found_once(void **state)
{
	struct desk *d = *state;

	rename_to(d, "Trip to Lisbon");
	assert_string_equal(found(d, "lisbon"), "2");
	assert_string_equal(found_with(d, "lisbon", ",\"kind\":\"title\""),
			    "2");
	assert_string_equal(found_with(d, "lisbon", ",\"kind\":\"message\""),
			    "");
	rename_to(d, "Trip to Porto");
	assert_string_equal(found(d, "lisbon"), "");
	assert_string_equal(found(d, "porto"), "3");
	rename_to(d, "Trip to Lisbon");
	assert_string_equal(found(d, "lisbon"), "4");
	rename_to(d, "");
	assert_string_equal(found(d, "trip"), "");
	(void)desk_new(d, "\"slug\":\"Tripoli\"");
	assert_string_equal(found(d, "trip*"), "1");
}

static void memories_are_found_until_forgotten(void **state)
{
	struct desk *d = *state;
	const char *answer =
		desk_call(d, "{\"method\":\"memory_add\",\"title\":\"Tea\","
			     "\"content\":\"green, no sugar\"}");
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	const char *id;

	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	id = yyjson_get_str(
		yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(
				       yyjson_doc_get_root(doc), "memories")),
			       "id"));
	desk_call(d,
		  "{\"method\":\"memory_add\",\"session\":\"%s\","
		  "\"content\":\"black tea\"}",
		  d->id);
	assert_string_equal(found(d, "tea sugar"), "2");
	assert_string_equal(found(d, "tea"), "2 2");
	assert_string_equal(found_with(d, "tea", in(d, d->id)), "2");
	answer = desk_call(d, "{\"method\":\"search\",\"query\":\"sugar\"}");
	assert_non_null(strstr(answer, id));
	assert_non_null(strstr(answer, "\"kind\":\"memory\""));
	assert_non_null(strstr(answer, "\"scope\":\"global\""));
	desk_call(d, "{\"method\":\"memory_forget\",\"memory\":\"%s\"}", id);
	assert_string_equal(found(d, "sugar"), "");
	assert_string_equal(found(d, "tea"), "2");
}

/* A hit is its owner's; a fork is searched with what it inherits. */
static void forks_find_what_they_inherit(void **state)
{
	struct desk *d = *state;
	const char *fork;

	desk_say(d, d->id, "apple one");
	fork = desk_fork(d, d->id);
	desk_say(d, d->id, "apple two");
	desk_say(d, fork, "apple three");
	assert_string_equal(found_with(d, "apple", in(d, fork)), "4 2");
	assert_string_equal(found_with(d, "apple", in(d, d->id)), "3 2");
	assert_int_equal(strlen(found(d, "apple")), strlen("4 3 2"));
	desk_call(d,
		  "{\"method\":\"redact\",\"session\":\"%s\",\"messages\":[2]}",
		  fork);
	assert_string_equal(found_with(d, "apple", in(d, fork)), "4");
	assert_string_equal(found_with(d, "apple", in(d, d->id)), "3 2");
	desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", d->id);
	assert_string_equal(found(d, "apple"), "4");
	assert_string_equal(found_with(d, "one", in(d, fork)), "");
	desk_call(d,
		  "{\"method\":\"redact\",\"session\":\"%s\",\"messages\":[2],"
		  "\"undo\":true}",
		  fork);
	assert_string_equal(found_with(d, "one", in(d, fork)), "2");
}

static void filters_are_exact(void **state)
{
	struct desk *d = *state;
	const char *mine = desk_new(d, "\"user\":\"ann\",\"project_dir\":"
				       "\"/srv/a\"");

	desk_say(d, mine, "plum");
	desk_say(d, d->id, "plum");
	desk_say(d, d->id, "plum");
	assert_string_equal(found_with(d, "plum", ",\"user\":\"ann\""), "2");
	assert_string_equal(
		found_with(d, "plum", ",\"project_dir\":\"/srv/a\""), "2");
	assert_string_equal(found_with(d, "plum", ",\"user\":\"an\""), "");
	assert_int_equal(strlen(found(d, "plum")), strlen("3 2 2"));
}

/* Every page together, as "session/seq session/seq". */
static const char *all_pages(struct desk *d, const char *query, unsigned limit)
{
	CLEANUP(buf_done) struct buf all, cursor;
	unsigned pages = 0;

	buf_init(&all, 0);
	buf_init(&cursor, 0);
	do {
		CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
		const char *answer =
			desk_call(d,
				  "{\"method\":\"search\",\"query\":\"%s\","
				  "\"limit\":%u%s}",
				  query, limit, buf_cstr(&cursor));
		yyjson_val *root, *hit, *next;
		yyjson_arr_iter it;

		desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
		root = yyjson_doc_get_root(doc);
		yyjson_arr_iter_init(yyjson_obj_get(root, "hits"), &it);
		while ((hit = yyjson_arr_iter_next(&it)))
			buf_printf(
				&all, "%s/%llu ",
				yyjson_get_str(yyjson_obj_get(hit, "session")),
				(unsigned long long)yyjson_get_uint(
					yyjson_obj_get(hit, "seq")));
		next = yyjson_obj_get(root, "next");
		buf_reset(&cursor);
		if (yyjson_is_str(next))
			buf_printf(&cursor, ",\"cursor\":\"%s\"",
				   yyjson_get_str(next));
		assert_true(++pages < 100);
	} while (cursor.len);
	return arena_str(&d->arena, buf_str(&all)).ptr;
}

/* All at one time: then by session and number, falling. */
static void pages_follow_one_another(void **state)
{
	struct desk *d = *state;
	const char *other = desk_new(d, "");
	CLEANUP(buf_done) struct buf expected;
	const char *ids[2] = { other, d->id };

	if (strcmp(ids[0], ids[1]) < 0) {
		ids[0] = d->id;
		ids[1] = other;
	}
	buf_init(&expected, 0);
	for (size_t i = 0; i < 7; i++) {
		desk_say(d, d->id, i % 3 ? "pear" : "nothing");
		desk_say(d, other, "a pear");
	}
	for (size_t k = 0; k < 2; k++) {
		for (unsigned seq = 8; seq > 1; seq--) {
			if (ids[k] == other || (seq - 2) % 3)
				buf_printf(&expected, "%s/%u ", ids[k], seq);
		}
	}
	for (unsigned limit = 1; limit < 13; limit++)
		assert_string_equal(all_pages(d, "pear", limit),
				    buf_cstr(&expected));
	/* What comes later stands before. */
	d->now_ms += 1;
	desk_say(d, ids[1], "pear");
	buf_reset(&expected);
	buf_printf(&expected, "%s/9 ", ids[1]);
	assert_memory_equal(all_pages(d, "pear", 5), expected.ptr,
			    expected.len);
}

/* Messages numbered in words, so many at once. */
static void say_many(struct desk *d, const char *session, unsigned from,
		     unsigned n)
{
	CLEANUP(buf_done) struct buf b;
	struct weft_append_options o;
	struct weft_receipt receipt;

	weft_append_options_init(&o, sizeof(o));
	buf_init(&b, 0);
	buf_add_c(&b, '[');
	for (unsigned i = from; i < from + n; i++)
		buf_printf(&b,
			   "%s{\"role\":\"user\",\"content\":"
			   "\"common n%u mod%u\"}",
			   i > from ? "," : "", i, i % 10);
	buf_add_c(&b, ']');
	desk_ok(d, desk_try(d, session, buf_cstr(&b), &o, &receipt));
}

/* More than is read without an index; what comes then is found at once. */
static void the_index_follows(void **state)
{
	struct desk *d = *state;
	const char *other = desk_new(d, "");
	struct weft_store *second = NULL, *mine = d->store;

	say_many(d, d->id, 0, 700);
	say_many(d, other, 700, 100);
	assert_string_equal(found(d, "n7"), "9");
	assert_string_equal(found(d, "n799"), "101");
	assert_string_equal(found_with(d, "common mod3", ",\"limit\":3"),
			    strcmp(d->id, other) > 0 ? "695 685 675" :
						       "95 85 75");
	desk_say(d, d->id, "fresh");
	assert_string_equal(found(d, "fresh"), "702");
	say_many(d, d->id, 800, 400);
	assert_string_equal(found(d, "n1199"), "1102");
	assert_string_equal(found(d, "n800"), "703");
	/* Another opener, and one that may only read. */
	if (strncmp(d->url, "memory:", 7) == 0)
		return;
	desk_say(d, d->id, "later");
	for (uint32_t flags = 0; flags <= WEFT_OPEN_READ_ONLY;
	     flags += WEFT_OPEN_READ_ONLY) {
		desk_ok(d, desk_open_again(d, "", flags, &second));
		d->store = second;
		assert_string_equal(found(d, "n7"), "9");
		assert_string_equal(found(d, "later"), "1103");
		assert_string_equal(found(d, "common -mod* later"), "");
		d->store = mine;
		desk_ok(d, weft_close(second, &d->err));
	}
}

static void reindex_changes_nothing(void **state)
{
	struct desk *d = *state;
	const char *before;

	say_many(d, d->id, 0, 300);
	before = found(d, "mod7");
	desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(found(d, "mod7"), before);
	assert_string_equal(found(d, "mod7"), before);
	say_many(d, d->id, 300, 3);
	assert_string_equal(found(d, "n301"), "303");
}

static void snippets_are_cut_around_the_match(void **state)
{
	struct desk *d = *state;
	CLEANUP(buf_done) struct buf b;
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	const char *answer;
	struct weft_str snippet;

	buf_init(&b, 0);
	for (size_t i = 0; i < 100; i++)
		buf_add_lit(&b, "\u00e9\u00e8 \u6771\u4eac ");
	buf_add_lit(&b, "needle ");
	for (size_t i = 0; i < 100; i++)
		buf_add_lit(&b, "\u00e9\u00e8 ");
	desk_say(d, d->id, buf_cstr(&b));
	answer = desk_call(d, "{\"method\":\"search\",\"query\":\"needle\"}");
	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	snippet = json_str(
		yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(
				       yyjson_doc_get_root(doc), "hits")),
			       "snippet"));
	assert_true(text_is_utf8(snippet));
	assert_non_null(memmem(snippet.ptr, snippet.len, " needle ", 8));
	assert_true(str_starts(snippet, STR("...")));
	assert_memory_equal(snippet.ptr + snippet.len - 3, "...", 3);
	assert_in_range(snippet.len, 100, 600);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(words_of_every_script_are_found),
	PUBLIC_TEST(queries_mean_what_they_say),
	PUBLIC_TEST(what_makes_no_sense_is_refused),
	PUBLIC_TEST(parts_that_say_something_are_searched),
	PUBLIC_TEST(large_texts_are_searched),
	PUBLIC_TEST(what_is_redacted_is_not_found),
	PUBLIC_TEST(what_is_erased_or_purged_is_not_found),
	PUBLIC_TEST(a_deleted_session_is_not_found),
	PUBLIC_TEST(the_title_that_holds_is_found_once),
	PUBLIC_TEST(memories_are_found_until_forgotten),
	PUBLIC_TEST(forks_find_what_they_inherit),
	PUBLIC_TEST(filters_are_exact),
	PUBLIC_TEST(pages_follow_one_another),
	PUBLIC_TEST(the_index_follows),
	PUBLIC_TEST(reindex_changes_nothing),
	PUBLIC_TEST(snippets_are_cut_around_the_match),
};

const struct suite public_search_suite = { tests, ARRAY_LEN(tests) };
