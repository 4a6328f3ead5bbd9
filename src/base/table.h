/*
 * table.h - a chained hash table of nodes that live inside their objects.
 *
 * The table owns nothing but its buckets.  Find: walk table_first/table_next
 * of a hash and compare keys yourself.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/base.h"

struct table_node {
	struct table_node *next;
	uint64_t hash;
};

struct table {
	struct table_node **buckets;
	size_t n_buckets; /* a power of two, or 0 */
	size_t n;
};

/* The object around a node. */
#define TABLE_ENTRY(node, type, member) \
	((type *)(void *)((char *)(node)-offsetof(type, member)))

/* -1 if there was no memory; the node is then not in the table. */
int table_add(struct table *t, struct table_node *node, uint64_t hash);
void table_remove(struct table *t, struct table_node *node);

/* The first node with this hash, and the one after `node` with its hash. */
struct table_node *table_first(const struct table *t, uint64_t hash);
struct table_node *table_next(const struct table_node *node);

/* Call `each` with every node, in no order; it may remove and free the node
 * it is handed, and no other. */
void table_each(struct table *t, void (*each)(void *ctx, struct table_node *n),
		void *ctx);

void table_done(struct table *t); /* frees the buckets, not the objects */

#endif
