/*
 * catalog_cache.c - pages of a large catalogue, kept for reading.
 *
 * DESIGN
 *
 * A look-up among a million sessions goes down through a few inner pages of two
 * trees to two outer pages that nobody has read for long, nor will soon.  To
 * SQLite's cache all pages are alike.  It keeps the inner ones only if it is so
 * large that each look at it, and each page read into it, misses the
 * processor's caches, which costs as much as reading one page more.
 *
 * So there are three kinds of pages.  Those that are read again soon, as the
 * tops of the trees and what a list is made of, are left to SQLite, whose cache
 * is the quickest for few pages.  Inner pages are kept here: there is room for
 * those of a million sessions with four names each.  All others pass through a
 * small ring, the same few bytes again and again.
 *
 * A page is looked for in one set of a few, one by one, and replaces one of
 * them by turns, but none that SQLite looks at.  Room that was never used is
 * not taken from the system.
 */
#include "base/mem.h"
#include "store/jsonl/catalog_db.h"

#define WAYS 8 /* pages of a set */

#define KEPT_SETS 384 /* 12 MiB */
#define RING_SETS 4   /* 128 KiB */

/* SQLite may look a little past the end of a page that is damaged. */
#define PAST_PAGE_BYTES 256

/* How often a page is asked for until it is left to SQLite, if not too many
 * others were in between. */
#define OFTEN_OUTER 2
#define OFTEN_INNER 16

#define SEEN 1024 /* pages that were asked for last, more or less */
#define LEFT 2048 /* pages that are left to SQLite, more or less */

#define LINE_BYTES 64 /* of the processor's caches */

struct set {
	uint32_t numbers[WAYS]; /* of pages; 0: none */
	uint8_t pins[WAYS];     /* how often SQLite looks at it */
	uint8_t turn;           /* who is replaced next */
};

struct shelf {
	uint32_t n_sets;
	struct set *sets;
	unsigned char *pages;
};

struct seen {
	uint32_t number, times;
};

struct page_cache {
	struct shelf kept, ring;
	struct seen seen[SEEN];
	uint32_t left[LEFT];
};

static size_t shelf_bytes(const struct shelf *h)
{
	return (size_t)h->n_sets * WAYS * CATALOG_PAGE_BYTES;
}

static bool shelf_init(struct shelf *h, uint32_t n_sets)
{
	h->n_sets = n_sets;
	h->sets = mem_zero(n_sets, sizeof(*h->sets));
	h->pages = mem_alloc(shelf_bytes(h) + PAST_PAGE_BYTES);
	return h->sets && h->pages;
}

static void shelf_done(struct shelf *h)
{
	mem_free(h->sets);
	mem_free(h->pages);
}

static void shelf_clear(struct shelf *h)
{
	memset(h->sets, 0, h->n_sets * sizeof(*h->sets));
}

struct page_cache *page_cache_new(void)
{
	struct page_cache *c = mem_zero(1, sizeof(*c));

	if (c && (!shelf_init(&c->kept, KEPT_SETS) ||
		  !shelf_init(&c->ring, RING_SETS))) {
		page_cache_free(c);
		return NULL;
	}
	return c;
}

void page_cache_free(struct page_cache *c)
{
	if (!c)
		return;
	shelf_done(&c->kept);
	shelf_done(&c->ring);
	mem_free(c);
}

/* Pages of one tree are often at even distances. */
static uint32_t mix(uint32_t number, uint32_t below)
{
	uint32_t mixed = number * UINT32_C(0x9e3779b1);

	return (uint32_t)((uint64_t)mixed * below >> 32);
}

static unsigned char *page_at(const struct shelf *h, const struct set *s,
			      unsigned way)
{
	size_t i = (size_t)(s - h->sets) * WAYS + way;

	return h->pages + i * CATALOG_PAGE_BYTES;
}

static unsigned char *shelf_get(const struct shelf *h, uint32_t number)
{
	struct set *s = &h->sets[mix(number, h->n_sets)];

	for (unsigned i = 0; i < WAYS; i++) {
		if (s->numbers[i] != number || s->pins[i] == UINT8_MAX)
			continue;
		s->pins[i]++;
		return page_at(h, s, i);
	}
	return NULL;
}

static unsigned char *shelf_add(const struct shelf *h, uint32_t number)
{
	struct set *s = &h->sets[mix(number, h->n_sets)];

	for (unsigned n = 0; n < WAYS; n++) {
		unsigned i = s->turn++ % WAYS;

		if (s->pins[i])
			continue;
		s->numbers[i] = number;
		s->pins[i] = 1;
		return page_at(h, s, i);
	}
	return NULL;
}

static bool shelf_has(const struct shelf *h, const unsigned char *page)
{
	return (uintptr_t)page - (uintptr_t)h->pages < shelf_bytes(h);
}

static void shelf_release(const struct shelf *h, const unsigned char *page,
			  bool forget)
{
	size_t i = (size_t)(page - h->pages) / CATALOG_PAGE_BYTES;
	struct set *s = &h->sets[i / WAYS];

	s->pins[i % WAYS]--;
	if (forget)
		s->numbers[i % WAYS] = 0;
}

void page_cache_clear(struct page_cache *c)
{
	shelf_clear(&c->kept);
	shelf_clear(&c->ring);
	memset(c->left, 0, sizeof(c->left));
}

bool page_cache_leaves(const struct page_cache *c, uint32_t number)
{
	return c->left[mix(number, LEFT)] == number;
}

static void see(struct page_cache *c, uint32_t number, uint32_t often)
{
	struct seen *s = &c->seen[mix(number, SEEN)];

	if (s->number != number)
		*s = (struct seen){ .number = number };
	if (++s->times >= often)
		c->left[mix(number, LEFT)] = number;
}

/* SQLite is about to go to and fro in it: the way there is long only once. */
static void bring_near(const unsigned char *page)
{
	for (size_t i = 0; i < CATALOG_PAGE_BYTES; i += LINE_BYTES)
		__builtin_prefetch(page + i);
}

unsigned char *page_cache_get(struct page_cache *c, uint32_t number)
{
	unsigned char *page = shelf_get(&c->kept, number);

	if (page) {
		see(c, number, OFTEN_INNER);
		bring_near(page);
		return page;
	}
	page = shelf_get(&c->ring, number);
	if (page)
		see(c, number, OFTEN_OUTER);
	return page;
}

unsigned char *page_cache_add(struct page_cache *c, uint32_t number)
{
	return shelf_add(&c->ring, number);
}

/* By the first byte of a page in SQLite's format. */
static bool is_inner(const unsigned char *page)
{
	return page[0] == 2 || page[0] == 5;
}

unsigned char *page_cache_keep(struct page_cache *c, uint32_t number,
			       unsigned char *page)
{
	unsigned char *kept = NULL;

	if (is_inner(page))
		kept = shelf_add(&c->kept, number);
	else
		see(c, number, OFTEN_OUTER);
	if (!kept)
		return page;
	memcpy(kept, page, CATALOG_PAGE_BYTES);
	shelf_release(&c->ring, page, true);
	return kept;
}

void page_cache_forget(struct page_cache *c, unsigned char *page)
{
	shelf_release(&c->ring, page, true);
}

void page_cache_release(struct page_cache *c, const unsigned char *page)
{
	shelf_release(shelf_has(&c->kept, page) ? &c->kept : &c->ring, page,
		      false);
}
