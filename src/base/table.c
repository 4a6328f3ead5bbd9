/* table.c - see table.h. */
#include "base/table.h"

#include "base/mem.h"

static size_t bucket_of(const struct table *t, uint64_t hash)
{
	return (size_t)hash & (t->n_buckets - 1);
}

/* Double the buckets; a table that cannot grow goes on with longer chains. */
static int grow(struct table *t)
{
	size_t n = t->n_buckets ? t->n_buckets * 2 : 16;
	struct table_node **old = t->buckets;
	size_t n_old = t->n_buckets;
	struct table_node **fresh = mem_zero(n, sizeof(*fresh));

	if (!fresh)
		return n_old ? 0 : -1;
	t->buckets = fresh;
	t->n_buckets = n;
	for (size_t i = 0; i < n_old; i++) {
		struct table_node *node = old[i];

		while (node) {
			struct table_node *next = node->next;
			size_t b = bucket_of(t, node->hash);

			node->next = t->buckets[b];
			t->buckets[b] = node;
			node = next;
		}
	}
	mem_free(old);
	return 0;
}

int table_add(struct table *t, struct table_node *node, uint64_t hash)
{
	size_t b;

	if (t->n >= t->n_buckets && grow(t) < 0)
		return -1;
	b = bucket_of(t, hash);
	node->hash = hash;
	node->next = t->buckets[b];
	t->buckets[b] = node;
	t->n++;
	return 0;
}

void table_remove(struct table *t, struct table_node *node)
{
	struct table_node **at = &t->buckets[bucket_of(t, node->hash)];

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	t->n--;
}

static struct table_node *with_hash(struct table_node *node, uint64_t hash)
{
	while (node && node->hash != hash)
		node = node->next;
	return node;
}

struct table_node *table_first(const struct table *t, uint64_t hash)
{
	return t->n_buckets ? with_hash(t->buckets[bucket_of(t, hash)], hash) :
			      NULL;
}

struct table_node *table_next(const struct table_node *node)
{
	return with_hash(node->next, node->hash);
}

void table_each(struct table *t, void (*each)(void *ctx, struct table_node *n),
		void *ctx)
{
	for (size_t i = 0; i < t->n_buckets; i++) {
		struct table_node *node = t->buckets[i];

		while (node) {
			struct table_node *next = node->next;

			each(ctx, node);
			node = next;
		}
	}
}

void table_done(struct table *t)
{
	mem_free(t->buckets);
	*t = (struct table){ 0 };
}
