/* public_maintain.c - maintenance as programs call it. */
#include "engine/internal.h"

#define REPORT_BYTES_MAX MIB(64)

int weft_maintain(struct weft_store *store, int64_t now_ms,
		  struct weft_maintenance *ret, struct weft_error *err)
{
	const struct maintain_ask ask = { .now_ms = now_ms, .if_due = true };
	CLEANUP(arena_done) struct arena a;
	struct maintain_report report;
	struct engine *e;
	int r = handle_engine(store, &e, err);

	arena_init(&a, REPORT_BYTES_MAX);
	if (r == WEFT_OK)
		r = engine_maintain(e, &ask, &a, &report, err);
	if (r != WEFT_OK || !ret)
		return r;
	*ret = (struct weft_maintenance){
		.ran = report.ran,
		.looked = report.looked,
		.suspended = report.suspended,
		.removed = report.removed.count,
		.purged = report.purged.count,
		.spared = report.spared.count,
		.last_run_ms = report.last_run_at,
		.next_run_ms = report.next_run_at,
	};
	return WEFT_OK;
}
