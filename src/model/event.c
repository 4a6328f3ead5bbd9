/*
 * event.c - one event as one line of JSON, both ways.
 *
 * Reading takes one of two ways.  A line whose checksum is right was written
 * by event_seal and has its form: the common fields are picked from its first
 * bytes, and nobody looks into the body.  Any other line was written or
 * changed by somebody else; event-edit.c reads it as JSON.
 */
#include "model/event.h"

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/id.h"
#include "model/line.h"

#define DIGITS_MAX 20

static const struct weft_str type_names[EVENT_TYPES] = {
	[EVENT_SESSION] = STR_INIT("session"),
	[EVENT_MESSAGE] = STR_INIT("message"),
	[EVENT_MARKER] = STR_INIT("marker"),
	[EVENT_REDACT] = STR_INIT("redact"),
	[EVENT_PATCH] = STR_INIT("patch"),
	[EVENT_NAME] = STR_INIT("name"),
	[EVENT_MEMORY] = STR_INIT("memory"),
	[EVENT_FORGET] = STR_INIT("forget"),
	[EVENT_TODOS] = STR_INIT("todos"),
	[EVENT_LEASE] = STR_INIT("lease"),
	[EVENT_TURN] = STR_INIT("turn"),
	[EVENT_DELETE] = STR_INIT("delete"),
	[EVENT_RESTORE] = STR_INIT("restore"),
	[EVENT_PURGE] = STR_INIT("purge"),
	[EVENT_USAGE] = STR_INIT("usage"),
	[EVENT_GONE] = STR_INIT("gone"),
};

const char *event_type_name(uint32_t type)
{
	if (type == EVENT_OTHER || type >= EVENT_TYPES)
		return "other";
	return type_names[type].ptr;
}

uint32_t event_type_parse(struct weft_str name)
{
	/* By far the most frequent. */
	if (str_eq(name, STR("message")))
		return EVENT_MESSAGE;
	for (uint32_t i = EVENT_OTHER + 1; i < EVENT_TYPES; i++) {
		if (str_eq(name, type_names[i]))
			return i;
	}
	return EVENT_OTHER;
}

/* ---- writing ---- */

#define PUT_LIT(p, literal) put_bytes((p), (literal), sizeof(literal) - 1)

static char *put_bytes(char *p, const char *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

static char *put_u64(char *p, uint64_t n)
{
	char digits[DIGITS_MAX];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return put_bytes(p, digits + at, sizeof(digits) - at);
}

static char *put_time(char *p, int64_t ms)
{
	char text[TIME_CHARS + 1];

	time_format(ms, text);
	return put_bytes(p, text, TIME_CHARS);
}

/* All eight digits at once: every line that is read is compared with them. */
static char *put_hex32(char *p, uint32_t v)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	uint64_t x = __builtin_bswap32(v);

	/* One digit to a byte, the highest in the lowest one. */
	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x >> 4 | x << 8) & (each * 0x0f);
	x += each * '0' + (((x + each * 6) >> 4) & each) * ('a' - '0' - 10);
	put_le64(p, x);
	return p + 8;
}

/* How many bytes an operation id takes up inside its quotes. */
static size_t escaped_len(struct weft_str s)
{
	size_t n = s.len;

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c < 0x20)
			n += 5;
		else
			n += c == '"' || c == '\\';
	}
	return n;
}

static char *put_escaped(char *p, struct weft_str s)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c < 0x20) {
			p = PUT_LIT(p, "\\u00");
			*p++ = hex[c >> 4];
			*p++ = hex[c & 15];
			continue;
		}
		if (c == '"' || c == '\\')
			*p++ = '\\';
		*p++ = (char)c;
	}
	return p;
}

static char *put_head(char *p, const struct store_event *e,
		      struct weft_str type)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(&e->id, id);
	p = PUT_LIT(p, "{\"seq\":");
	p = put_u64(p, e->seq);
	p = PUT_LIT(p, ",\"ts\":\"");
	p = put_time(p, e->ts_ms);
	p = PUT_LIT(p, "\",\"type\":\"");
	p = put_bytes(p, type.ptr, type.len);
	p = PUT_LIT(p, "\",\"id\":\"");
	p = put_bytes(p, id, WEFT_ID_CHARS);
	p = PUT_LIT(p, "\",\"w\":");
	p = put_u64(p, e->marker);
	if (e->said) {
		p = PUT_LIT(p, ",\"n\":");
		p = put_u64(p, e->said);
	}
	if (e->more) {
		p = PUT_LIT(p, ",\"more\":");
		p = put_u64(p, e->more);
	}
	if (e->op.len) {
		p = PUT_LIT(p, ",\"op\":\"");
		p = put_escaped(p, e->op);
		*p++ = '"';
	}
	if (e->at_ms) {
		p = PUT_LIT(p, ",\"at\":\"");
		p = put_time(p, e->at_ms);
		*p++ = '"';
	}
	if (e->background)
		p = PUT_LIT(p, ",\"bg\":true");
	return p;
}

static uint32_t line_crc(const struct weft_id *session, struct weft_str line)
{
	uint32_t crc = crc32c(0, session->b, sizeof(session->b));

	return crc32c(crc, line.ptr, line.len);
}

char *line_put_crc(char *p, const struct weft_id *session, const char *start)
{
	struct weft_str line = { start, (size_t)(p - start) };
	uint32_t crc = line_crc(session, line);

	p = PUT_LIT(p, ",\"crc\":\"");
	p = put_hex32(p, crc);
	return PUT_LIT(p, "\"}");
}

int line_make(struct store_event *e, struct weft_str type, struct arena *a,
	      struct weft_error *err)
{
	size_t room =
		EVENT_HEAD_MAX + type.len + escaped_len(e->op) + e->body.len;
	char *start, *p, *body;

	start = arena_alloc(a, room);
	if (!start)
		return arena_error(a, err);
	p = put_head(start, e, type);
	if (e->body.len)
		*p++ = ',';
	body = p;
	if (e->body.len)
		p = put_bytes(p, e->body.ptr, e->body.len);
	p = line_put_crc(p, &e->session, start);
	*p = '\n';
	e->bytes = (struct weft_str){ start, (size_t)(p - start) };
	e->body.ptr = body;
	return WEFT_OK;
}

int event_seal(struct store_event *e, struct arena *a, struct weft_error *err)
{
	struct weft_str type = { NULL, 0 };
	struct line_head head;

	if (e->seq == 0 || e->seq > ID_SEQ_MAX)
		return fail(err, WEFT_LIMIT, "event number %llu is not usable",
			    (unsigned long long)e->seq);
	if (e->type > EVENT_OTHER && e->type < EVENT_TYPES)
		type = type_names[e->type];
	else if (line_head_parse(e->bytes, &head))
		type = head.type;
	else
		return fail(err, WEFT_INVALID, "event %llu has no known type",
			    (unsigned long long)e->seq);
	e->id = id_of_event(&e->session, e->ts_ms, e->seq);
	return line_make(e, type, a, err);
}

/* ---- reading ---- */

/* What is left of a line. */
struct cursor {
	const char *p, *end;
};

static inline struct cursor cursor_of(struct weft_str s)
{
	const char *start = s.len ? s.ptr : "";

	return (struct cursor){ start, start + s.len };
}

#define TAKE(c, literal) take_bytes((c), (literal), sizeof(literal) - 1)

static inline bool take_bytes(struct cursor *c, const char *bytes, size_t n)
{
	if ((size_t)(c->end - c->p) < n || memcmp(c->p, bytes, n) != 0)
		return false;
	c->p += n;
	return true;
}

/* A number as JSON writes it: no zero in front. */
static bool take_u64(struct cursor *c, uint64_t max, uint64_t *ret)
{
	const char *start = c->p;
	uint64_t n = 0;

	while (c->p < c->end && *c->p >= '0' && *c->p <= '9') {
		/* 17 digits are past every number there is, and fit. */
		if (c->p - start == 17)
			return false;
		n = n * 10 + (uint64_t)(*c->p++ - '0');
	}
	if (c->p == start || (*start == '0' && c->p - start > 1) || n > max)
		return false;
	*ret = n;
	return true;
}

static bool take_time(struct cursor *c, int64_t *ret)
{
	struct weft_str text = { c->p, TIME_CHARS };

	if ((size_t)(c->end - c->p) < TIME_CHARS || !time_parse(text, ret))
		return false;
	c->p += TIME_CHARS;
	return TAKE(c, "\"");
}

/* The inside of a string that has begun, and its closing quote. */
static bool take_string(struct cursor *c, struct weft_str *ret)
{
	const char *start = c->p;

	for (; c->p < c->end && *c->p != '"'; c->p++) {
		if (*c->p == '\\')
			c->p++;
	}
	if (c->p >= c->end)
		return false;
	*ret = (struct weft_str){ start, (size_t)(c->p - start) };
	c->p++;
	return true;
}

static bool take_options(struct cursor *c, struct line_head *h)
{
	h->said = 0;
	h->more = 0;
	h->op = (struct weft_str){ NULL, 0 };
	h->at_ms = 0;
	if (TAKE(c, ",\"n\":")) {
		if (!take_u64(c, ID_SEQ_MAX, &h->said) || h->said == 0)
			return false;
	}
	if (TAKE(c, ",\"more\":")) {
		if (!take_u64(c, UINT32_MAX, &h->more) || h->more == 0)
			return false;
	}
	if (TAKE(c, ",\"op\":\"")) {
		if (!take_string(c, &h->op) || h->op.len == 0)
			return false;
	}
	if (TAKE(c, ",\"at\":\"")) {
		if (!take_time(c, &h->at_ms) || h->at_ms == 0)
			return false;
	}
	h->background = TAKE(c, ",\"bg\":true");
	return true;
}

static bool take_id(struct cursor *c, struct weft_str *ret)
{
	if (c->end - c->p <= WEFT_ID_CHARS)
		return false;
	*ret = (struct weft_str){ c->p, WEFT_ID_CHARS };
	c->p += WEFT_ID_CHARS;
	return TAKE(c, "\"");
}

/* On the way of every line that is read: nothing is cleared first. */
bool line_head_parse(struct weft_str line, struct line_head *h)
{
	struct cursor c = cursor_of(line);

	if (!TAKE(&c, "{\"seq\":") || !take_u64(&c, ID_SEQ_MAX, &h->seq) ||
	    h->seq == 0)
		return false;
	if (!TAKE(&c, ",\"ts\":\"") || !take_time(&c, &h->ts_ms))
		return false;
	if (!TAKE(&c, ",\"type\":\"") || !take_string(&c, &h->type))
		return false;
	if (!TAKE(&c, ",\"id\":\"") || !take_id(&c, &h->id))
		return false;
	if (!TAKE(&c, ",\"w\":") || !take_u64(&c, ID_SEQ_MAX, &h->marker))
		return false;
	if (!take_options(&c, h))
		return false;
	h->len = (size_t)(c.p - line.ptr);
	return true;
}

/* The checksum's member, whatever its eight characters; NULL: there is none. */
static const char *crc_member(struct weft_str line)
{
	const char *tail;

	if (line.len < EVENT_CRC_CHARS)
		return NULL;
	tail = line.ptr + line.len - EVENT_CRC_CHARS;
	return memcmp(tail, ",\"crc\":\"", 8) == 0 &&
			       memcmp(tail + 16, "\"}", 2) == 0 ?
		       tail :
		       NULL;
}

bool line_has_crc(struct weft_str line)
{
	const char *tail = crc_member(line);

	if (!tail)
		return false;
	for (int i = 8; i < 16; i++) {
		if (!((tail[i] >= '0' && tail[i] <= '9') ||
		      (tail[i] >= 'a' && tail[i] <= 'f')))
			return false;
	}
	return true;
}

bool line_crc_ok(const struct weft_id *session, struct weft_str line)
{
	const char *tail = crc_member(line);
	struct weft_str before;
	char crc[8];

	if (!tail)
		return false;
	before = (struct weft_str){ line.ptr, line.len - EVENT_CRC_CHARS };
	(void)put_hex32(crc, line_crc(session, before));
	return memcmp(crc, tail + 8, sizeof(crc)) == 0;
}

/* What a line of type gone stands for: "to" is the first of its body. */
static void read_gone(struct store_event *e)
{
	struct cursor c = cursor_of(e->body);
	uint64_t to;

	if (TAKE(&c, "\"to\":") && take_u64(&c, ID_SEQ_MAX, &to) && to > e->seq)
		e->last = to;
}

bool line_fill(const struct line_head *h, const struct weft_id *session,
	       struct weft_str line, size_t tail, struct arena *a,
	       struct store_event *ret)
{
	size_t start = h->len;

	/* The body is behind a comma; there may be none. */
	if (start > line.len - tail)
		return false;
	if (start < line.len - tail && line.ptr[start++] != ',')
		return false;
	*ret = (struct store_event){
		.session = *session,
		.id = id_of_event(session, h->ts_ms, h->seq),
		.seq = h->seq,
		.last = h->seq,
		.ts_ms = h->ts_ms,
		.at_ms = h->at_ms,
		.marker = h->marker,
		.said = h->said,
		.type = event_type_parse(h->type),
		.more = (uint32_t)h->more,
		.background = h->background,
		.op = h->op,
		.bytes = line,
		.body = { line.ptr + start, line.len - tail - start },
	};
	if (h->op.len && memchr(h->op.ptr, '\\', h->op.len) &&
	    json_unescape(h->op, a, &ret->op, NULL) != WEFT_OK)
		return false;
	if (ret->type == EVENT_GONE)
		read_gone(ret);
	return true;
}

static bool read_sealed(const struct weft_id *session, struct weft_str line,
			struct arena *a, struct store_event *ret)
{
	struct line_head head;

	if (line.len < EVENT_CRC_CHARS || !line_head_parse(line, &head) ||
	    !line_fill(&head, session, line, EVENT_CRC_CHARS, a, ret))
		return false;
	ret->state = ret->type == EVENT_GONE ? STATE_GONE : STATE_OK;
	return true;
}

/* An editor's line end may have got a carriage return. */
static struct weft_str without_cr(struct weft_str line)
{
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

void event_read(const struct weft_id *session, struct weft_str line,
		struct arena *a, struct store_event *ret)
{
	line = without_cr(line);
	if (!line_crc_ok(session, line) || !read_sealed(session, line, a, ret))
		line_read_edited(session, line, a, ret);
}

void event_read_again(const struct weft_id *session, struct weft_str line,
		      struct arena *a, struct store_event *ret)
{
	line = without_cr(line);
	if (!read_sealed(session, line, a, ret))
		line_read_edited(session, line, a, ret);
}

uint64_t event_peek_seq(struct weft_str line)
{
	struct cursor c = cursor_of(line);
	uint64_t seq;

	if (!TAKE(&c, "{\"seq\":") || !take_u64(&c, ID_SEQ_MAX, &seq))
		return 0;
	return seq;
}
