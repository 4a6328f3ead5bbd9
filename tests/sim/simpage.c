/*
 * simpage.c - the bytes of a file, in pages shared until one is written to.
 *
 * A page with one owner may be changed by it; one with more is never changed
 * again, so disks that share it need no common lock.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/simimpl.h"

void *sim_alloc(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p) {
		fputs("simdisk: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *sim_resize(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p) {
		fputs("simdisk: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *sim_grow(void *array, size_t count, size_t *room, size_t bytes)
{
	if (count < *room)
		return array;
	*room = *room ? 2 * *room : 8;
	return sim_resize(array, *room * bytes);
}

uint64_t sim_mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd;

	x ^= x >> 32;
	x *= 0xc4ceb9fe1a85ec53;
	return x ^ x >> 29;
}

uint64_t sim_hash(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = n;

	for (; n >= 8; n -= 8, p += 8)
		h = sim_mix(h, get_le64(p));
	for (; n > 0; n--, p++)
		h = sim_mix(h, *p);
	return h;
}

static void page_unref(struct simpage *p)
{
	if (p && atomic_fetch_sub(&p->refs, 1) == 1)
		free(p);
}

/* The page to write to, made or made our own first. */
static struct simpage *own_page(struct content *c, size_t i)
{
	struct simpage *old, *p;

	if (i >= c->n) {
		c->pages = sim_resize(c->pages,
				      (i + 1) * sizeof(struct simpage *));
		while (c->n <= i)
			c->pages[c->n++] = NULL;
	}
	old = c->pages[i];
	if (old && atomic_load(&old->refs) == 1) {
		atomic_store(&old->hash, 0);
		return old;
	}
	p = sim_alloc(sizeof(*p));
	atomic_init(&p->refs, 1);
	if (old)
		memcpy(p->bytes, old->bytes, SIM_PAGE);
	else
		c->used++;
	page_unref(old);
	c->pages[i] = p;
	return p;
}

void content_share(struct content *to, const struct content *from)
{
	*to = *from;
	to->pages = NULL;
	if (from->n == 0)
		return;
	to->pages = sim_alloc(from->n * sizeof(struct simpage *));
	for (size_t i = 0; i < from->n; i++) {
		to->pages[i] = from->pages[i];
		if (to->pages[i])
			atomic_fetch_add(&to->pages[i]->refs, 1);
	}
}

void content_done(struct content *c)
{
	for (size_t i = 0; i < c->n; i++)
		page_unref(c->pages[i]);
	free(c->pages);
	*c = (struct content){ 0 };
}

bool content_has_page(const struct content *c, uint64_t page)
{
	return page < c->n && c->pages[page];
}

size_t content_read(const struct content *c, void *to, size_t n, uint64_t at)
{
	unsigned char *out = to;
	size_t left;

	if (at >= c->size)
		return 0;
	n = (size_t)u64_min(n, c->size - at);
	for (left = n; left > 0;) {
		uint64_t page = at / SIM_PAGE;
		size_t in = at % SIM_PAGE;
		size_t k = (size_t)u64_min(left, SIM_PAGE - in);

		if (content_has_page(c, page))
			memcpy(out, c->pages[page]->bytes + in, k);
		else
			memset(out, 0, k);
		out += k;
		at += k;
		left -= k;
	}
	return n;
}

void content_put(struct content *c, uint64_t at, const void *bytes, size_t n)
{
	const unsigned char *from = bytes;

	assert(at + n <= SIM_FILE_MAX);
	while (n > 0) {
		size_t in = at % SIM_PAGE;
		size_t k = (size_t)u64_min(n, SIM_PAGE - in);

		memcpy(own_page(c, at / SIM_PAGE)->bytes + in, from, k);
		from += k;
		at += k;
		n -= k;
	}
}

void content_cut(struct content *c, uint64_t size)
{
	size_t whole = (size_t)(round_up(size, SIM_PAGE) / SIM_PAGE);
	size_t in = size % SIM_PAGE;

	for (size_t i = whole; i < c->n; i++) {
		c->used -= c->pages[i] ? 1 : 0;
		page_unref(c->pages[i]);
	}
	if (c->n > whole)
		c->n = whole;
	/* A file that grows again must not show what was cut off. */
	if (in && content_has_page(c, size / SIM_PAGE))
		memset(own_page(c, size / SIM_PAGE)->bytes + in, 0,
		       SIM_PAGE - in);
	c->size = size;
}

void content_copy_sector(struct content *to, const struct content *from,
			 uint64_t sector)
{
	uint64_t at = sector * SIM_SECTOR, page = at / SIM_PAGE;

	assert(content_has_page(from, page));
	content_put(to, at, from->pages[page]->bytes + at % SIM_PAGE,
		    SIM_SECTOR);
}

static uint64_t page_hash(struct simpage *p)
{
	uint64_t h = atomic_load(&p->hash);

	if (h == 0) {
		h = sim_hash(p->bytes, SIM_PAGE) | 1;
		atomic_store(&p->hash, h);
	}
	return h;
}

uint64_t content_hash(const struct content *c)
{
	static const unsigned char zeros[SIM_PAGE];
	uint64_t hole = sim_hash(zeros, SIM_PAGE) | 1;
	uint64_t h = c->size;

	for (size_t i = 0; i < c->n; i++) {
		uint64_t page = c->pages[i] ? page_hash(c->pages[i]) : hole;

		/* A hole and a page of zeros read the same, and so count the
		 * same. */
		if (page != hole)
			h = sim_mix(sim_mix(h, i), page);
	}
	return h;
}
