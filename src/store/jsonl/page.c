/*
 * page.c - some lines of a session's file, found by their numbers.
 *
 * DESIGN: numbers rise through the file, so the place of a number is found by
 * looking at any place, going to the next line start, and reading its number.
 * The next place is where the number would be if all lines were of one length,
 * which takes a few looks at a file of any size; now and then it is the middle,
 * so that it never takes many.  No index is kept.  Reading backwards takes pieces from the end, looks back in each
 * for as many lines as are wanted, and reads those forwards.  A file whose numbers do not rise is read whole (index.h).
 */
#include "base/error.h"
#include "base/mem.h"
#include "model/event.h"
#include "store/jsonl/index.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/lines.h"

#define PIECE_FIRST KIB(16)
#define PAGE_BYTES  MIB(16)
#define PROBE_BYTES KIB(4)
#define NEAR_BYTES  KIB(16)
#define PIECE_MAX   KIB(256)
#define LINE_BYTES  256  /* few lines are shorter */
#define ROOM_MAX    2048 /* events, before there are any */

/* Within so many bytes a line says its type. */
#define LINE_HEAD_BYTES 96

static const char line_start[] = "\n{\"seq\":";

struct reading {
	const struct page_source *src;
	const struct event_range *range;
	struct arena *arena;
	struct event_page *page;
	size_t room;      /* of page->v */
	size_t max;       /* events */
	size_t max_bytes; /* of all lines together */
	size_t bytes;
	uint64_t before;    /* the number of the line before */
	uint64_t group;     /* the first number of the group it is in */
	uint32_t more;      /* lines to come of that group */
	uint64_t torn_from; /* first number of a group that is not whole */
	uint64_t stop;      /* where the first line begins that is not taken */
	uint64_t begin;     /* where the first event begins in the file */
	size_t lines;       /* read so far, and */
	size_t seen;        /* their bytes */
	bool full;
	bool out_of_order;
	bool all_ok; /* every line so far had its checksum right */
	struct weft_error *err;
};

/* ---- one event ---- */

static bool is_wanted(const struct reading *g, const struct store_event *e)
{
	if (e->last < g->range->first || e->seq > g->range->last)
		return false;
	if (e->state == STATE_DAMAGED || e->state == STATE_GONE)
		return true;
	return g->range->types == 0 || (g->range->types >> e->type & 1);
}

/* Room for so many events at first: for all of a page, if there are so many
 * lines. */
static size_t first_room(const struct reading *g)
{
	uint64_t lines = g->src->end / LINE_BYTES + 1;

	return (size_t)u64_min(ROOM_MAX, u64_min(g->max, lines) + 1);
}

/* Where the next event goes; NULL without memory. */
static struct store_event *next_slot(struct reading *g)
{
	struct event_page *p = g->page;

	if (p->n == g->room) {
		size_t room = g->room ? g->room * 2 : first_room(g);
		struct store_event *v =
			arena_alloc(g->arena, room * sizeof(*v));

		if (!v)
			return NULL;
		if (p->n)
			memcpy(v, p->v, p->n * sizeof(*v));
		p->v = v;
		g->room = room;
	}
	return &p->v[p->n];
}

/* Numbers that are missing before `e`, which is in the next slot, take their
 * place before it. */
static struct store_event *take_gap(struct reading *g, struct store_event *e)
{
	struct store_event gap = {
		.session = g->src->session,
		.seq = g->before + 1,
		.last = e->seq - 1,
		.state = STATE_DAMAGED,
	};
	struct store_event behind = *e;

	if (!is_wanted(g, &gap))
		return e;
	*e = gap;
	g->page->n++;
	e = next_slot(g);
	if (e)
		*e = behind;
	return e;
}

/* Read a line in its turn, right into its slot. */
static int take_line(struct reading *g, struct weft_str text, bool again)
{
	struct store_event *e = next_slot(g);

	if (!e)
		return arena_error(g->arena, g->err);
	if (again)
		event_read_again(&g->src->session, text, g->arena, e);
	else
		event_read(&g->src->session, text, g->arena, e);
	g->all_ok = g->all_ok && e->state == STATE_OK;
	g->lines++;
	g->seen += text.len + 1;
	if (e->seq == 0) {
		uint64_t seq = event_peek_seq(text);

		e->seq = seq > g->before ? seq : g->before + 1;
		e->last = e->seq;
	}
	if (e->seq <= g->before) {
		g->out_of_order = true;
		return WEFT_OK;
	}
	if (e->seq > g->before + 1) {
		e = take_gap(g, e);
		if (!e)
			return arena_error(g->arena, g->err);
	}
	if (g->more == 0)
		g->group = e->seq;
	g->more = e->more;
	g->before = e->last;
	if (is_wanted(g, e)) {
		g->bytes += text.len;
		g->page->n++;
	}
	return WEFT_OK;
}

/* Is there no room for another line of so many bytes, or no need? */
static bool is_full(const struct reading *g, size_t bytes)
{
	return g->page->n >= g->max || g->before >= g->range->last ||
	       (g->page->n > 0 && g->bytes + bytes > g->max_bytes);
}

/* Read the lines of a piece of the file that begins and ends with a line. */
static int take_piece(struct reading *g, struct weft_str piece, uint64_t at,
		      bool stop_when_full)
{
	uint64_t verified = atomic_load(&g->src->file->verified);
	size_t pos = 0;

	/* What is behind a gap in what was checked is not remembered. */
	g->all_ok = at <= u64_max(verified, g->begin);
	while (pos < piece.len && !g->out_of_order) {
		char *nl = memchr(piece.ptr + pos, '\n', piece.len - pos);
		size_t end = nl ? (size_t)(nl - piece.ptr) : piece.len;
		struct weft_str text = { piece.ptr + pos, end - pos };
		bool again = at + end < verified;
		int r;

		if (stop_when_full && is_full(g, text.len)) {
			g->full = true;
			break;
		}
		pos = end + 1;
		if (text.len == 0 || (text.len == 1 && text.ptr[0] == '\r'))
			continue;
		r = take_line(g, text, again);
		if (r < 0)
			return r;
	}
	g->stop = at + pos;
	if (g->stop >= g->src->end && g->more > 0)
		g->torn_from = g->group;
	if (g->all_ok && at + pos > verified)
		atomic_store(&g->src->file->verified, at + pos);
	return WEFT_OK;
}

/* ---- finding a place ---- */

/* Where the line behind the file line begins. */
static int first_line(struct reading *g, uint64_t *ret)
{
	struct file_line head;
	int r = file_line_of(g->src->file->f, &head, ret);

	g->begin = *ret;
	return r < 0 ? fail_errno(g->err, -r, "read a session's file") :
		       WEFT_OK;
}

/*
 * The first line that starts behind `from` and before `to` and shows its
 * number: 1 with its place and number, 0 if there is none.
 */
static int probe(struct reading *g, uint64_t from, uint64_t to,
		 uint64_t *ret_at, uint64_t *ret_seq)
{
	const size_t n_start = sizeof(line_start) - 1;
	char bytes[PROBE_BYTES + 32];

	while (from < to) {
		ssize_t n =
			file_read(g->src->file->f, bytes, sizeof(bytes), from);
		char *hit;
		uint64_t at;

		if (n < 0)
			return fail_errno(g->err, (int)-n,
					  "read a session's file");
		hit = n > 0 ? memmem(bytes, (size_t)n, line_start, n_start) :
			      NULL;
		if (!hit || hit - bytes > (ssize_t)PROBE_BYTES) {
			from += PROBE_BYTES;
			continue;
		}
		at = from + (uint64_t)(hit - bytes) + 1;
		if (at >= to)
			return 0;
		*ret_at = at;
		*ret_seq = event_peek_seq((struct weft_str){
			hit + 1, (size_t)(bytes + n - hit - 1) });
		if (*ret_seq != 0)
			return 1;
		from = at;
	}
	return 0;
}

/* What is known of the place of a number: at or behind the line at `low`, and
 * before `high`. */
struct bounds {
	uint64_t low, high;
	uint64_t low_seq, high_seq; /* the latter about, or 0: not known */
};

/*
 * Where to look next for `seq`: in turns a little before the place where it
 * should be and a little behind, so that both ends come nearer.
 */
static uint64_t place_to_look(const struct bounds *b, uint64_t seq,
			      unsigned looks)
{
	uint64_t bytes = b->high - b->low, middle = b->low + bytes / 2;
	uint64_t at, slack;

	if (looks % 4 == 3 || b->high_seq <= seq || seq < b->low_seq)
		return middle;
	at = (uint64_t)((double)bytes * (double)(seq - b->low_seq) /
			(double)(b->high_seq - b->low_seq));
	slack = NEAR_BYTES / 4 + u64_min(at, bytes - u64_min(at, bytes)) / 64;
	if (looks % 2 == 0 && at > slack)
		return b->low + at - slack;
	at = u64_max(at + slack, NEAR_BYTES);
	return at < bytes ? b->low + at : middle;
}

/*
 * A line start at or before the line with number `seq`, and not far from it;
 * *ret_before is the number of the line before it.
 */
static int find_place(struct reading *g, uint64_t seq, uint64_t *ret_at,
		      uint64_t *ret_before)
{
	struct bounds b = {
		.high = g->src->end,
		.low_seq = g->src->fork_seq + 1,
		.high_seq = g->src->head_seq + 1,
	};
	int r = first_line(g, &b.low);

	*ret_before = g->src->fork_seq;
	for (unsigned looks = 0; r == WEFT_OK && b.high > b.low + NEAR_BYTES &&
				 seq > *ret_before + 1;
	     looks++) {
		uint64_t from = place_to_look(&b, seq, looks);
		uint64_t at = 0, found = 0;

		r = probe(g, from, b.high, &at, &found);
		if (r == 1 && found <= seq) {
			b.low = at;
			b.low_seq = found;
			*ret_before = found - 1;
		} else if (r >= 0) {
			b.high = from;
			b.high_seq = r == 1 ? found : b.high_seq;
		}
		r = r < 0 ? r : WEFT_OK;
	}
	*ret_at = b.low;
	return r;
}

/* ---- forwards ---- */

/* Read a piece at `at` that ends with a whole line; longer if one line is. */
static int read_piece(struct reading *g, uint64_t at, size_t want,
		      struct weft_str *ret)
{
	uint64_t left = g->src->end - at;

	for (;;) {
		size_t n = (size_t)u64_min(want, left);
		char *bytes = arena_alloc(g->arena, n);
		ssize_t got;
		char *nl;

		if (!bytes)
			return arena_error(g->arena, g->err);
		got = file_read(g->src->file->f, bytes, n, at);
		if (got < 0)
			return fail_errno(g->err, (int)-got,
					  "read a session's file");
		nl = got > 0 ? memrchr(bytes, '\n', (size_t)got) : NULL;
		if ((uint64_t)got >= left || (size_t)got < n) {
			*ret = (struct weft_str){ bytes, (size_t)got };
			return WEFT_OK;
		}
		if (nl) {
			*ret = (struct weft_str){ bytes,
						  (size_t)(nl - bytes) + 1 };
			return WEFT_OK;
		}
		want *= 2;
	}
}

/* How much to read for the rest of the page, going by the lines so far. */
static size_t piece_size(const struct reading *g)
{
	size_t line = g->lines ? g->seen / g->lines + 1 : 1024;
	size_t want = (g->max - g->page->n + 1) * line;

	return (size_t)u64_min(PIECE_MAX, u64_max(want, PROBE_BYTES));
}

/* Does a line begin here that stands for several that were taken away?  Such a
 * one was written over a group that was whole. */
static bool begins_gone(struct weft_str s)
{
	static const char type[] = ",\"type\":\"gone\"";

	return memmem(s.ptr, u64_min(s.len, LINE_HEAD_BYTES), type,
		      sizeof(type) - 1) != NULL;
}

/* Count the lines of a piece that begins with one, up to `max`; *ret_left is
 * what follows the last. */
static uint32_t count_lines(struct weft_str piece, uint32_t max,
			    struct weft_str *ret_left)
{
	uint32_t n = 0;
	const char *nl;

	while (n < max && (nl = memchr(piece.ptr, '\n', piece.len)) != NULL) {
		n = begins_gone(piece) ? max : n + 1;
		piece = str_skip(piece, (size_t)(nl - piece.ptr) + 1);
	}
	*ret_left = piece;
	return n;
}

/* A page that ends inside a group: does the file have so many lines more? */
static int look_for_group_end(struct reading *g)
{
	uint64_t at = g->stop;
	uint32_t lines = g->more;

	while (lines > 0 && at < g->src->end) {
		struct weft_str piece = { 0 }, left;
		int r = read_piece(g, at, PROBE_BYTES, &piece);

		if (r < 0)
			return r;
		if (piece.len == 0)
			break;
		at += piece.len;
		lines -= count_lines(piece, lines, &left);
		/* The last line need not have an end. */
		if (lines > 0 && at >= g->src->end && left.len > 0)
			lines = begins_gone(left) ? 0 : lines - 1;
	}
	if (lines > 0) {
		g->torn_from = g->group;
		g->page->done = 1;
	}
	return WEFT_OK;
}

static int read_forwards(struct reading *g)
{
	uint64_t at = 0;
	int r = find_place(g, g->range->first, &at, &g->before);

	while (r == WEFT_OK && at < g->src->end && !g->full &&
	       !g->out_of_order) {
		struct weft_str piece = { 0 };

		r = read_piece(g, at, piece_size(g), &piece);
		if (r < 0 || piece.len == 0)
			break;
		r = take_piece(g, piece, at, true);
		at += piece.len;
	}
	g->page->done = !g->full || g->before >= g->range->last;
	if (r == WEFT_OK && g->full && g->more > 0 && !g->out_of_order)
		r = look_for_group_end(g);
	return r;
}

/* ---- backwards ---- */

/*
 * Where the last `lines` lines of a piece begin that show their numbers; 0 if
 * there are not so many.
 */
static size_t start_of_last(struct weft_str piece, size_t lines)
{
	size_t end = piece.len;

	while (lines > 0 && end > 0) {
		const char *nl = memrchr(piece.ptr, '\n', end - 1);

		if (!nl)
			return 0;
		end = (size_t)(nl - piece.ptr);
		if (event_peek_seq(str_skip(piece, end + 1)) == 0)
			continue;
		if (--lines == 0)
			return end + 1;
	}
	return 0;
}

/*
 * The last lines before `end`, as many as `want` bytes of the file hold, or a
 * longer one, but at most `lines`: *ret_at is where they begin, g->before the
 * number of the line before them.
 */
static int read_piece_before(struct reading *g, uint64_t first, uint64_t end,
			     size_t want, size_t lines, struct weft_str *ret,
			     uint64_t *ret_at)
{
	for (;;) {
		uint64_t from = end - u64_min(want, end - first);
		size_t n = (size_t)(end - from), skip;
		char *bytes = arena_alloc(g->arena, n);
		struct weft_str piece = { bytes, n };
		ssize_t got;

		if (!bytes)
			return arena_error(g->arena, g->err);
		got = file_read(g->src->file->f, bytes, n, from);
		if (got < 0)
			return fail_errno(g->err, (int)-got,
					  "read a session's file");
		if ((size_t)got < n)
			return fail(g->err, WEFT_BUSY,
				    "a session's file was cut while it was "
				    "read: try again");
		skip = start_of_last(piece, lines);
		if (skip == 0 && from > first) {
			/* Start at a line whose number can be seen. */
			char *hit = memmem(bytes, n, line_start,
					   sizeof(line_start) - 1);

			skip = hit ? (size_t)(hit - bytes) + 1 : n;
		}
		if (skip < n) {
			*ret = str_skip(piece, skip);
			g->before = from + skip == first ?
					    g->src->fork_seq :
					    event_peek_seq(*ret) - 1;
			g->more = 0;
			*ret_at = from + skip;
			return WEFT_OK;
		}
		want *= 2;
	}
}

static void reverse(struct store_event *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct store_event e = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = e;
	}
}

/* Cut a page that was read backwards to what was asked for. */
static void cut_page(struct reading *g)
{
	struct event_page *p = g->page;
	size_t bytes = 0;

	for (size_t i = 0; i < p->n; i++) {
		bytes += p->v[i].bytes.len;
		if (i >= g->max || (i > 0 && bytes > g->max_bytes)) {
			p->n = i;
			p->done = 0;
			return;
		}
	}
}

/* Where in the piece the first line begins that has a larger number. */
static size_t skip_up_to(struct weft_str piece, uint64_t seq)
{
	size_t pos = 0;

	while (pos < piece.len && event_peek_seq(str_skip(piece, pos)) <= seq) {
		char *nl = memchr(piece.ptr + pos, '\n', piece.len - pos);

		pos = nl ? (size_t)(nl - piece.ptr) + 1 : piece.len;
	}
	return pos;
}

/* Where to begin: behind the line with the last number asked for. */
static int find_end(struct reading *g, uint64_t *ret)
{
	struct weft_str piece = { 0 };
	uint64_t before;
	int r;

	*ret = g->src->end;
	if (g->range->last >= ID_SEQ_MAX ||
	    (g->src->head_seq && g->range->last >= g->src->head_seq))
		return WEFT_OK;
	r = find_place(g, g->range->last + 1, ret, &before);
	if (r == WEFT_OK && *ret < g->src->end)
		r = read_piece(g, *ret, NEAR_BYTES, &piece);
	/* A little too far is as good: what is not wanted is left out. */
	*ret += skip_up_to(piece, g->range->last);
	return r;
}

/* A group at the end of a file that is not whole is not there at all. */
static void drop_torn_group(struct reading *g)
{
	struct event_page *p = g->page;
	size_t kept = 0;

	if (g->torn_from == 0)
		return;
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].seq < g->torn_from)
			p->v[kept++] = p->v[i];
	}
	p->n = kept;
}

/*
 * Take the lines before `end`.  If the file ends with a group that is not
 * whole and begins before them, more are needed to know where.
 */
static int take_before(struct reading *g, uint64_t first, uint64_t end,
		       uint64_t *ret_at, uint64_t *ret_lowest)
{
	size_t want = g->lines ? piece_size(g) : PIECE_FIRST;
	size_t lines = g->max - g->page->n, n = g->page->n, bytes = g->bytes;

	for (;;) {
		struct weft_str piece = { 0 };
		int r = read_piece_before(g, first, end, want, lines, &piece,
					  ret_at);

		if (r < 0)
			return r;
		*ret_lowest = g->before;
		r = take_piece(g, piece, *ret_at, false);
		if (r < 0 || g->out_of_order || *ret_at == first ||
		    g->torn_from == 0 || g->torn_from > *ret_lowest + 1) {
			drop_torn_group(g);
			return r;
		}
		g->page->n = n;
		g->bytes = bytes;
		g->torn_from = 0;
		want = 2 * u64_max(want, piece.len);
		lines = SIZE_MAX;
	}
}

static int read_backwards(struct reading *g)
{
	uint64_t first = 0, end = 0;
	int r = first_line(g, &first);

	if (r == WEFT_OK)
		r = find_end(g, &end);
	g->page->done = 1;
	while (r == WEFT_OK && end > first) {
		size_t n = g->page->n;
		uint64_t at = first, lowest = 0;

		r = take_before(g, first, end, &at, &lowest);
		if (r < 0 || g->out_of_order)
			break;
		reverse(g->page->v + n, g->page->n - n);
		end = at;
		if (lowest < g->range->first)
			break;
		if (g->page->n >= g->max || g->bytes >= g->max_bytes) {
			g->page->done = end <= first;
			break;
		}
	}
	cut_page(g);
	return r;
}

/* ---- files that are out of order ---- */

static int take_sorted(struct reading *g, const struct line_index *x)
{
	int r = WEFT_OK;

	g->before = g->src->fork_seq;
	for (size_t i = 0; i < x->n && r == WEFT_OK; i++) {
		struct weft_str text;

		if (x->v[i].seq <= g->before)
			continue;
		text = arena_str(g->arena, x->v[i].text);
		if (!text.ptr)
			return arena_error(g->arena, g->err);
		r = take_line(g, text, false);
	}
	return r;
}

static int read_out_of_order(struct reading *g)
{
	CLEANUP(line_index_done) struct line_index x = { 0 };
	int r = line_index_read(&x, &g->src->session, g->src->file->f,
				g->src->end, g->err);

	*g->page = (struct event_page){ .done = 1 };
	g->room = 0;
	g->bytes = 0;
	g->more = 0;
	if (r == WEFT_OK)
		r = take_sorted(g, &x);
	if (r == WEFT_OK && g->range->backwards)
		reverse(g->page->v, g->page->n);
	cut_page(g);
	return r;
}

int page_read(const struct page_source *src, const struct event_range *r,
	      uint64_t max_events, struct arena *a, struct event_page *ret,
	      struct weft_error *err)
{
	struct event_page page = { 0 };
	struct reading g = {
		.src = src,
		.range = r,
		.arena = a,
		.page = &page,
		.max = r->max_events && r->max_events < max_events ?
			       r->max_events :
			       (size_t)max_events,
		.max_bytes = r->max_bytes ? r->max_bytes : PAGE_BYTES,
		.out_of_order = src->irregular,
		.err = err,
	};
	int status = WEFT_OK;

	if (r->first > r->last) {
		ret->v = NULL;
		ret->n = 0;
		ret->done = 1;
		return WEFT_OK;
	}
	if (!g.out_of_order)
		status = r->backwards ? read_backwards(&g) : read_forwards(&g);
	if (status == WEFT_OK && g.out_of_order)
		status = read_out_of_order(&g);
	if (status == WEFT_OK) {
		drop_torn_group(&g);
		*ret = page;
	}
	return status;
}
