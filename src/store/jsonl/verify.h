/* verify.h - looking for damage, and mending it. */
#ifndef STORE_JSONL_VERIFY_H
#define STORE_JSONL_VERIFY_H

#include "store/jsonl/jsonl.h"

/* Put what is wrong with one session's file into the report, and which blobs it
 * misses into `lost`: nobody can mend that. */
int verify_file(struct jsonl *js, const struct weft_id *id, struct file *f,
		uint64_t end, struct store_report *report,
		struct store_report *lost, struct weft_error *err);
/* Put sessions of the catalogue that have no file into the report. */
int verify_rows(struct jsonl *js, struct store_report *report,
		struct weft_error *err);
int verify_all(struct jsonl *js, struct store_report *report,
	       struct weft_error *err);

/* Rewrite every file that is not clean; needs checkpoint_lock. */
int repair_all(struct jsonl *js, struct store_report *report,
	       struct weft_error *err);

/* Set aside a log that cannot be read, and begin a new one. */
int repair_log(struct jsonl *js, struct weft_error *err);

#endif
