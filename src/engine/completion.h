/*
 * completion.h - bursts of completions.
 *
 * Between begin and end on one thread, tickets given to weft_queue_done are
 * gathered; at the end each struct weft_queue gets its tickets with one lock
 * and one wake-up.  Outside of a burst each ticket is delivered at once.
 */
#ifndef ENGINE_COMPLETION_H
#define ENGINE_COMPLETION_H

void completion_begin(void);
void completion_end(void);

#endif
