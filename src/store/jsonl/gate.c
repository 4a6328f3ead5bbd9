/* gate.c - a lock that is handed on in the order of asking. */
#include "store/jsonl/jsonl.h"

void gate_init(struct gate *g)
{
	*g = (struct gate){ 0 };
	(void)pthread_mutex_init(&g->mutex, NULL);
	(void)pthread_cond_init(&g->cond, NULL);
}

void gate_done(struct gate *g)
{
	(void)pthread_cond_destroy(&g->cond);
	(void)pthread_mutex_destroy(&g->mutex);
}

void gate_enter(struct gate *g)
{
	uint64_t ticket;

	(void)pthread_mutex_lock(&g->mutex);
	ticket = g->next++;
	while (g->serving != ticket)
		(void)pthread_cond_wait(&g->cond, &g->mutex);
	(void)pthread_mutex_unlock(&g->mutex);
}

void gate_leave(struct gate *g)
{
	(void)pthread_mutex_lock(&g->mutex);
	g->serving++;
	if (g->serving != g->next)
		(void)pthread_cond_broadcast(&g->cond);
	(void)pthread_mutex_unlock(&g->mutex);
}
