/*
 * lab.h - stores on a simulated disk, and the truth about what they were told.
 *
 * A lab is one disk with a few processes, each of which may have the store
 * open, and a list of deeds: every write and every blob that was asked for,
 * with the answer.  The disk can be looked at in any state (check_disk): every
 * deed that was answered with OK must be there whole, one that was under way
 * whole or not at all, and nothing else.
 */
#ifndef CRASH_LAB_H
#define CRASH_LAB_H

#include "conformance/conformance.h"
#include "sim/simdisk.h"

#define LAB_DIR       "/s"
#define LAB_PROCESSES 4
#define LAB_SEGMENT   KIB(64)

/* One event that a deed adds. */
struct fact {
	struct weft_id session;
	uint64_t seq;
	uint32_t type;
	uint64_t body;         /* its hash */
	char name[24];         /* of a key or alias, or empty */
	uint64_t ver;          /* of that name */
	struct weft_id holder; /* of that name from now on */
	size_t hurt_since;     /* damaged on purpose: 1 + the deed, or 0 */
};

enum answer {
	ANSWER_NONE,    /* under way */
	ANSWER_DONE,    /* acknowledged */
	ANSWER_REFUSED, /* failed, and nothing may be there */
	ANSWER_MAYBE    /* UNKNOWN, or its process died: all or nothing */
};

struct deed {
	enum answer answer;
	int code;
	size_t first, n; /* its facts */
	bool is_blob;
	struct blob_ref blob;
};

struct lab {
	struct fixture f; /* its clock, arena and error; see planner.c */
	struct simdisk *disk;
	struct fs *fs[LAB_PROCESSES];
	struct store *store[LAB_PROCESSES];
	struct store_limits limits;
	uint32_t flags; /* for opening, besides the usual ones */

	struct fact *facts;
	size_t n_facts, room_facts;
	struct deed *deeds;
	size_t n_deeds, room_deeds;

	/* The write being put together. */
	struct draft *draft;
	unsigned process;
	bool grouped;   /* its lines of one session are an atomic group */
	char where[80]; /* in a test with rounds, for its message */

	/* Called after every step, if set. */
	void (*after)(void *ctx);
	void *after_ctx;
	/* Called before and after the store is, if set. */
	void (*arm)(void *ctx, bool on);
	void *arm_ctx;
};

struct lab *lab_new(void);
void lab_free(struct lab *l); /* closes what is open */

/* Each returns what the store said. */
int lab_open(struct lab *l, unsigned process);
int lab_close(struct lab *l, unsigned process);
int lab_task(struct lab *l, unsigned process, enum store_task task);
int lab_blob(struct lab *l, unsigned process, const char *text);

/* Put a write together; lab_commit asks for it. */
void lab_start(struct lab *l, unsigned process);
struct weft_id lab_create(struct lab *l, const char *key);
struct weft_id lab_create_with(struct lab *l, const struct session_rec *start);
void lab_say(struct lab *l, const struct weft_id *s, size_t bytes);
void lab_spend(struct lab *l, const struct weft_id *s, unsigned tokens);
void lab_event(struct lab *l, const struct weft_id *s, uint32_t type,
	       const char *body);
/* A message that refers to a blob. */
void lab_refer(struct lab *l, const struct weft_id *s,
	       const struct blob_ref *blob);
void lab_name(struct lab *l, const struct weft_id *s, const char *name);
void lab_hide(struct lab *l, const struct weft_id *s, uint64_t target);
int lab_commit(struct lab *l);

/* Enter the log, and write nothing. */
int lab_touch(struct lab *l, unsigned process);

/* One line in one write. */
int lab_say_one(struct lab *l, unsigned process, const struct weft_id *s,
		size_t bytes);

/* The last number of a session, by what was acknowledged. */
uint64_t lab_head(const struct lab *l, const struct weft_id *s);

/* The path of a session's file. */
void lab_path(struct lab *l, const struct weft_id *s, char out[128]);

/* From now on this event may be damaged or gone; its number stays. */
void lab_hurt(struct lab *l, const struct weft_id *s, uint64_t seq);

/*
 * The first deed whose answer was "maybe" becomes done or refused, by what an
 * open store says.  An empty text, or what is wrong.
 */
const char *lab_resolve(struct lab *l, unsigned process);

/*
 * The n-th sync of a file from now on fails and loses what it was to write.
 * Not of a directory: a file system whose directories cannot be written stops
 * by itself, and does not call lost names clean.  Takes the disk's hook.
 */
struct lost_sync {
	uint64_t n, seen;
};
void lab_lose_sync(struct lab *l, struct lost_sync *at);

/* An event that somebody has put into the file, good for nothing. */
void lab_intrude(struct lab *l, const struct weft_id *s);

/* ---- checking ---- */

/* A moment of the truth: deeds before `done` were answered. */
struct moment {
	size_t done;
	bool under_way; /* deed number `done` had begun */
};

struct moment lab_now(const struct lab *l);

/* Each returns an empty text, or what is wrong; valid until the next call. */

/* What an open store shows; ret_more: is the deed under way there? */
const char *check_store(struct lab *l, struct store *s, struct moment at,
			bool *ret_more);
/*
 * Open the store on a disk nobody uses and check all of it; if `deep`, then
 * index it again, write to it, close it, pull the plug, do without the
 * catalogue.
 */
const char *check_disk(struct lab *l, struct simdisk *d, struct moment at,
		       bool deep);
/* The same for what a power cut would leave now, without all that is pending
 * and with some of it. */
const char *check_cuts(struct lab *l, uint64_t seed);

/* Was what was wrong an error that a call returned? */
bool check_met_error(void);

/* Everything a store answers with, as one number; 0 and *problem, or not. */
uint64_t digest(struct lab *l, struct store *s, const char **problem);

/* Fail the test unless `text` is empty. */
void must_be_fine_(struct lab *l, const char *text, const char *file, int line);
#define must_be_fine(l, text) must_be_fine_((l), (text), __FILE__, __LINE__)
#define lab_ok(l, call)       assert_ok(&(l)->f, call)

/* Rounds of a test: fewer under a sanitizer, more with WEFT_TEST_SCALE. */
unsigned rounds(unsigned normal);

int lab_setup(void **state);
int lab_teardown(void **state);
#define LAB_TEST(test) \
	cmocka_unit_test_setup_teardown(test, lab_setup, lab_teardown)

#endif
