/*
 * jsonl.h - inside the JSONL store.  Nobody outside this directory includes it.
 *
 * DESIGN
 *
 * A session is a file of lines.  What is new goes first into the shared log
 * (wal.h), one frame a batch, and is flushed there; only then are its lines
 * written to their files, which are synced in the background (checkpoint.c).
 * The catalogue (catalog.h) follows at checkpoints.  What lies between is the
 * overlay: records, names and marks that only the log and this memory know.
 * Every process that has the store open builds the same overlay, by reading
 * the frames of the others (follow.c).
 *
 * Locks inside a process, in this order, none of them held over a callback:
 *
 *   ckpt_mutex   one checkpoint, rewrite or other task at a time
 *   gate         between enter() and leave(); first come, first served
 *   writer       W: whoever changes records, names, the log's map
 *   search.lock  search.db
 *   catalog_lock the pointer to the catalogue (shared by its users)
 *   behind.gate  whoever writes lines that were left behind; first come,
 *                first served
 *   mutex        M: the tables; held for moments, never over I/O.  It may be
 *                taken again by who has it, so that several changes can be
 *                made to show at once
 *   behind.mutex B: the queue of what was left behind; held for moments
 *
 * A field marked W+M is changed with both and read with either.
 */
#ifndef STORE_JSONL_JSONL_H
#define STORE_JSONL_JSONL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/process.h"
#include "base/table.h"
#include "model/record.h"
#include "store/jsonl/catalog.h"
#include "store/jsonl/search_db.h"
#include "store/jsonl/wal.h"
#include "store/store.h"

#define PATH_BYTES 4096

/* An open session file; readers and the writer share it. */
struct live_file {
	struct file *f;
	atomic_int refs;
	atomic_ullong verified; /* lines that end before this were checked */
};

struct op_set;
struct behind;

/* A session in memory. */
struct live {
	struct table_node node;
	struct weft_id id;
	struct record_own own;  /* W+M */
	uint64_t lsn;           /* W+M: log position behind its last change */
	uint64_t gen, end;      /* W+M: of its file; end: known size */
	bool irregular;         /* W+M: numbers do not rise */
	bool torn;              /* W: the file does not end with a newline */
	bool strange;           /* W: the open file is not the one we know */
	bool created;           /* W+M: its file is new since the checkpoint */
	struct live_file *file; /* W+M, or NULL */
	uint64_t checked; /* W: the write for which the file was looked at */
	uint64_t pass;    /* W: the frame in which it was first touched */
	bool skip;        /* W: that frame is in the record already */
	bool is_dirty;    /* W+M: in the overlay: changed since ckpt */
	bool edited;      /* W+M: by somebody else since ckpt */
	struct store_hide *hides; /* W+M: marks of the overlay */
	size_t n_hides;
	struct op_set *ops; /* W: operation ids, or NULL: not read yet */
	struct live *newer, *older; /* M: by use */
	int64_t used_ms;            /* M */
	bool image;   /* its file is a copy in memory, with lines of the log */
	size_t batch; /* W: 1 + its index in the batch under way, or 0 */
	struct behind *behind; /* B: its last lines, not in the file yet */
	atomic_bool odd; /* when lines were written, the file was another */
};

/* A name of the overlay; with kind 0 the operation id of a session's
 * creation. */
struct live_name {
	struct table_node node;
	struct table_node of_session;
	struct weft_str name; /* owned */
	struct weft_id session;
	uint64_t ver, kind, lsn;
};

/* A lock that is handed on in the order of asking. */
struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint64_t next, serving;
};

/* Lines that the log has and their files not yet; see behind.c. */
struct behind_queue {
	struct gate gate;
	pthread_mutex_t mutex;
	pthread_cond_t work;
	struct behind *oldest, *newest; /* B */
	size_t n, bytes;                /* B: of all of them */
	size_t owed;                    /* B: entries, times PACE_PART */
	int64_t last_us;                /* B: when a batch was last written */
	int failed;                     /* B: why the last write was none */
	bool hurry;                     /* B: somebody else is there */
	bool stop;                      /* B */
	atomic_bool some;               /* there are any */
	atomic_bool more;               /* a batch is on its way */
	atomic_int paused;              /* how many want none to be left */
	uint64_t told; /* W: state.behind as we wrote it; 0: not what is here */
	bool forgotten; /* W: only the log has some of it */
	bool started;   /* W: the thread */
	pthread_t thread;
};

struct glimpse;
#define GLIMPSES 8

struct jsonl {
	struct store store; /* first */
	struct fs *fs;
	struct clock_source own_clock; /* a copy: the opener's may be gone */
	const struct clock_source *clock;
	char *dir;
	uint64_t process; /* that opened it */
	bool read_only, by_hand, single;
	bool may_lag;   /* lines may be left behind */
	bool unchecked; /* opened to be mended */
	bool is_frozen; /* read-only, and nobody can write to it */
	struct weft_id id;
	uint64_t boot;

	pthread_mutex_t ckpt_mutex;
	struct gate gate;
	pthread_mutex_t writer;
	pthread_rwlock_t catalog_lock;
	pthread_mutex_t mutex;

	struct wal wal;          /* W */
	bool inside;             /* W: between enter() and leave() */
	bool entered;            /* W: `st` is what wal/state says */
	struct wal_state st;     /* W: between enter() and leave() */
	int64_t plenty_until_us; /* W: until then the disk has room for */
	uint64_t plenty_bytes;   /* W: so much */
	uint64_t mine;        /* W+M: the overlay holds all frames up to here */
	uint64_t my_ckpt;     /* W+M: and nothing from before here */
	uint64_t my_rewrites; /* W+M */
	uint64_t write_no;    /* W */
	uint64_t pass;        /* W */
	struct catalog *catalog; /* catalog_lock */
	struct buf frame;        /* W: the frame being built */
	struct buf frame_read;   /* W: frames of others */
	struct behind_queue behind;
	struct arena arena; /* W: of the write under way */

	struct table sessions;        /* M */
	struct table names;           /* M */
	struct table names_of;        /* M: the same by session */
	struct live *newest, *oldest; /* M */
	size_t files_max; /* half of the descriptors of this process */
	size_t n_files;   /* M: open session files */
	uint64_t drops;   /* M: counts every removal from `sessions` */
	size_t n_dirty;   /* W+M */

	struct glimpse *glimpses[GLIMPSES]; /* M: NULL: free, or in use */
	size_t next_glimpse;                /* M */

	struct file *sync_file; /* held since opening, for file_sync_all */

	pthread_t thread; /* the checkpointer */
	bool has_thread;
	pthread_mutex_t thread_mutex;
	pthread_cond_t thread_cond;
	bool stop, asked, active, asleep; /* thread_mutex */

	struct search_db search; /* has a lock of its own */

	pthread_mutex_t watch_mutex;
	struct watch *watch; /* watch_mutex, or NULL */
	atomic_ullong checkpoints;
};

static inline struct jsonl *jsonl_of(struct store *s)
{
	return (struct jsonl *)(void *)s;
}

/* ---- layout.c: where things are ---- */

int path_join(char out[PATH_BYTES], const char *dir, const char *name,
	      struct weft_error *err);
int path_session(const struct jsonl *js, const struct weft_id *id,
		 char out[PATH_BYTES], struct weft_error *err);
/* The same, relative to the store. */
void path_session_local(const struct weft_id *id, char out[80]);
/* Make the directories of a session's file. */
int path_make_dirs(struct jsonl *js, const struct weft_id *id,
		   struct weft_error *err);
/* Call `each` for every session file, in order of its id. */
int path_each_session(struct jsonl *js,
		      int (*each)(void *ctx, const struct weft_id *id),
		      void *ctx, struct weft_error *err);

/* Check or make the directory and its weft.json. */
int layout_check(struct jsonl *js, bool create, bool *ret_exists,
		 struct weft_error *err);
int layout_create(struct jsonl *js, uint64_t segment_bytes,
		  struct weft_error *err);
int layout_read_format(struct jsonl *js, struct weft_error *err);
/* Whether a store is or can be there; nothing is made. */
int layout_look(struct jsonl *js, struct weft_error *err);
int layout_write_format(struct jsonl *js, struct weft_error *err);
int layout_make_dirs(struct jsonl *js, struct weft_error *err);

/* ---- gate.c ---- */

void gate_init(struct gate *g);
void gate_done(struct gate *g);
void gate_enter(struct gate *g);
void gate_leave(struct gate *g);

/* ---- live.c: sessions in memory ---- */

/* Find a session in memory; NULL if it is not there.  Needs M. */
struct live *live_find(struct jsonl *js, const struct weft_id *id);
/* Bring a session into memory that memory or the catalogue knows; NOT_FOUND.
 * Needs W. */
int live_load_known(struct jsonl *js, const struct weft_id *id,
		    struct live **ret, struct weft_error *err);
/* The same, if the catalogue has `row` of it.  Needs W since that was read. */
int live_load_row(struct jsonl *js, const struct catalog_row *row,
		  struct live **ret, struct weft_error *err);
/* The same, but one that nobody knows may have a file.  That may be one which
 * another process is writing just now: needs W between enter and leave. */
int live_load(struct jsonl *js, const struct weft_id *id, struct live **ret,
	      struct weft_error *err);
/* Put an empty one into memory.  Needs W. */
int live_add(struct jsonl *js, const struct weft_id *id, struct live **ret,
	     struct weft_error *err);
/*
 * See that its file is open, has a name and has the size we know; if not,
 * somebody has edited it: read it again.  Needs W.
 */
int live_check_file(struct jsonl *js, struct live *l, struct weft_error *err);
/* There is nothing at `path`, or what is there is a directory or the like. */
bool is_no_file(struct jsonl *js, const char *path);
int live_open_file(struct jsonl *js, struct live *l, unsigned flags,
		   struct weft_error *err);
void live_close_file(struct jsonl *js, struct live *l); /* needs W+M */
/* Take the record over, with the log position of the change.  Needs W. */
int live_set(struct jsonl *js, struct live *l, const struct session_rec *rec,
	     uint64_t lsn, struct weft_error *err);
int live_hide(struct jsonl *js, struct live *l, const struct store_hide *h,
	      struct weft_error *err);
/*
 * The one of the overlay that was used before `l` (NULL: the last one), or
 * NULL.  *left begins as n_dirty, so that those that are only in memory are not
 * passed by in vain.  Needs M.
 */
struct live *live_next_dirty(struct jsonl *js, struct live *l, size_t *left);
void live_mark_dirty(struct jsonl *js, struct live *l);
void live_use(struct jsonl *js, struct live *l); /* needs M */
/* Let go of what the limits do not allow and, if idle_ms is not 0, of what
 * was not used for so long.  Needs W. */
uint64_t live_evict(struct jsonl *js, uint64_t idle_ms);
/* Forget everything: another process was faster.  Needs W. */
void live_drop_all(struct jsonl *js);
void live_drop(struct jsonl *js, struct live *l); /* needs W */
/* What the catalogue has up to `ckpt` leaves the overlay.  Needs W. */
void live_prune(struct jsonl *js, uint64_t ckpt);

struct live_file *live_file_ref(struct live_file *f);
void live_file_unref(struct live_file *f);
void live_file_cleanup(struct live_file **f); /* for CLEANUP */

/* ---- live_name.c: names of the overlay ---- */

struct live_name *name_find(struct jsonl *js, struct weft_str name);
/* The first that this session holds, and the one after `n`.  Need M. */
struct live_name *name_first_of(struct jsonl *js, const struct weft_id *id);
struct live_name *name_next_of(const struct live_name *n);
int name_set(struct jsonl *js, const struct name_rec *name, uint64_t lsn,
	     struct weft_error *err);
int name_set_op(struct jsonl *js, struct weft_str op,
		const struct weft_id *session, uint64_t lsn,
		struct weft_error *err);
struct live_name *name_find_op(struct jsonl *js, struct weft_str op);
void names_drop_all(struct jsonl *js); /* needs W+M */
/* Those that the catalogue has, being from before `ckpt`.  Needs W+M. */
void names_prune(struct jsonl *js, uint64_t ckpt);

/* ---- fold.c: a file from its first line to its last ---- */

struct fold {
	struct record_own own;
	uint64_t gen, end;
	bool irregular, torn;
	uint64_t events;
	struct store_report *report; /* or NULL */
	/* Called with every name and mark that the events set; may be NULL. */
	int (*effect)(void *ctx, const struct store_op *op);
	/* Called with every event; may be NULL. */
	int (*each)(void *ctx, const struct store_event *e);
	void *ctx;
};

/* Read all of a session's file; own must be empty.  CORRUPT if there is no
 * line that can be used. */
int fold_file(struct jsonl *js, const struct weft_id *id, struct file *f,
	      struct fold *fold, struct weft_error *err);
void fold_done(struct fold *fold);

/* ---- glimpse.c: sessions that were seen on the way ---- */

/* One to be filled, before anything is read; NULL: none is to be had.  Ends
 * with glimpse_end, which takes NULL. */
struct glimpse *glimpse_begin(struct jsonl *js);
void glimpse_read(struct glimpse *g, struct catalog *c,
		  const struct weft_id *id);
void glimpse_end(struct jsonl *js, struct glimpse *g);
/* The record of a session that is not in memory, if it was seen; valid as long
 * as M is held.  Needs M. */
const struct session_rec *glimpse_find(struct jsonl *js,
				       const struct weft_id *id);
/* The same, to be held without M; NULL if there is none.  Ends with
 * glimpse_end. */
struct glimpse *glimpse_take(struct jsonl *js, const struct weft_id *id);
const struct catalog_row *glimpse_row(const struct glimpse *g);
void glimpses_done(struct jsonl *js);

/* ---- page.c: some lines of a file ---- */

struct page_source {
	struct weft_id session;
	struct live_file *file;
	uint64_t end;
	uint64_t fork_seq; /* the number before its first */
	uint64_t head_seq; /* about that of its last; a hint where to look */
	bool irregular;
};

int page_read(const struct page_source *src, const struct event_range *r,
	      uint64_t max_events, struct arena *a, struct event_page *ret,
	      struct weft_error *err);

/* ---- follow.c: entering the log, and what others have written ---- */

int js_check(const struct jsonl *js, struct weft_error *err); /* fork() */
int enter(struct jsonl *js, struct weft_error *err);
void leave(struct jsonl *js);
/* Tell all processes what js->st says.  Needs W between enter and leave. */
int put_state(struct jsonl *js, struct weft_error *err);
/* After a failed flush: no process writes any more.  Leaves. */
void stop(struct jsonl *js);
/* Read the frames that are not in the overlay yet.  Needs W. */
int catch_up(struct jsonl *js, struct weft_error *err);
/* The same between enter() and leave(), when nothing can move. */
int catch_up_inside(struct jsonl *js, struct weft_error *err);
/* Up to where the catalogue has followed the log. */
int get_applied(struct jsonl *js, uint64_t *ret, struct weft_error *err);
/* catch_up() for readers: does nothing, cheaply, when there is nothing new. */
int refresh(struct jsonl *js, struct weft_error *err);
/* Work an op that is neither an event nor a record into the overlay.  W. */
int apply_effect(struct jsonl *js, const struct store_op *op, uint64_t lsn,
		 struct weft_error *err);
int follow_frame(struct jsonl *js, const struct frame *f,
		 struct weft_error *err);

/* ---- replay.c: lines of the log into their files ---- */

/* Write one record where it belongs, whatever is there now. */
int replay_record(struct jsonl *js, const struct frame_record *r,
		  struct weft_error *err);
/* All that the log has of one session, after somebody replaced its file. */
int replay_session(struct jsonl *js, const struct weft_id *id,
		   struct weft_error *err);
/* The same into a file that is open already. */
int replay_into(struct file *f, const struct frame_record *r,
		struct weft_error *err);
/* Every record of a frame. */
int replay_frame(struct jsonl *js, const struct frame *f,
		 struct weft_error *err);
/* All records of a frame, one write each, into files known to be as expected;
 * or, if they may lag, leave them behind. */
int apply_frame(struct jsonl *js, const struct frame *f, bool may_lag,
		struct weft_error *err);

/* Give up the space that was kept for what is durable already. */
void give_up_reserve(struct jsonl *js);

/* ---- behind.c: lines of the log that are not in their files yet ---- */

void behind_init(struct behind_queue *q);
/* Leave nothing behind, and stop the thread.  Then everything is freed with
 * behind_done. */
int behind_stop(struct jsonl *js, struct weft_error *err);
void behind_done(struct behind_queue *q);

/* May the lines of a batch of so many sessions be left behind?  Needs W,
 * between enter() and leave(). */
bool behind_may_add(struct jsonl *js, size_t sessions);
/* Copy the lines of a session that a frame at `lsn` has, while the log writes
 * it: then behind_add() has less to do.  Needs W. */
void behind_prepare(struct jsonl *js, struct live *l, struct weft_str lines,
		    uint64_t lsn);
/* Leave one record behind; false: it must be written out.  Needs W. */
bool behind_add(struct jsonl *js, struct live *l, const struct frame_record *r,
		uint64_t lsn);
/* Write out what is behind of a session, or of all. */
int behind_settle(struct jsonl *js, const struct weft_id *id,
		  struct weft_error *err);
int behind_settle_all(struct jsonl *js, struct weft_error *err);
/* Before the same with the log held, so that nobody waits long for that. */
void behind_settle_most(struct jsonl *js);
/* The same if the last attempt failed. */
int behind_check(struct jsonl *js, struct weft_error *err);
bool behind_has(struct jsonl *js, const struct live *l);
/* Only the log has them from now on.  Needs W. */
void behind_forget_all(struct jsonl *js);
/* From here to behind_resume() nothing is left behind, also if it failed. */
int behind_pause(struct jsonl *js, struct weft_error *err);
void behind_resume(struct jsonl *js);

/* Set state.behind, for the next put_state().  Needs W. */
void behind_tell(struct jsonl *js);
/* Bring the files up to date if another process could not.  Needs BATCH. */
int behind_replay(struct jsonl *js, struct weft_error *err);

/* ---- write.c ---- */

/* NO_SPACE unless so many bytes can be written and everything in the log still
 * finds room in the files, whatever happens.  Needs W. */
int check_space(struct jsonl *js, uint64_t bytes, struct weft_error *err);

/* ---- checkpoint.c ---- */

/*
 * Leave nothing that only the log knows, and free its segments.  BUSY if
 * another process is at it.
 */
int checkpoint(struct jsonl *js, struct weft_error *err);
/* The same for who has the right to it (checkpoint_lock). */
int checkpoint_locked(struct jsonl *js, struct weft_error *err);
/* The same, unless the log has room for a frame of so many bytes when nobody
 * else is at it. */
int checkpoint_for_room(struct jsonl *js, uint64_t bytes,
			struct weft_error *err);
/* Whether a good part of the log has been used.  Needs W. */
bool checkpoint_is_due(const struct jsonl *js);
int checkpoint_start(struct jsonl *js, struct weft_error *err);
void checkpoint_stop(struct jsonl *js);
/* Something was written; now: do not wait until it is quiet. */
void checkpoint_ask(struct jsonl *js, bool now);

/* Take and give back the right to checkpoint and to rewrite files. */
int checkpoint_lock(struct jsonl *js, struct weft_error *err);
void checkpoint_unlock(struct jsonl *js);
/* The same, waiting for as long as one waits for the log. */
int checkpoint_wait(struct jsonl *js, struct weft_error *err);

/* ---- rewrite.c ---- */

/* A write that may rewrite and drop sessions (struct store_want). */
int rewrite_planned(struct jsonl *js, store_plan *plan, void *ctx,
		    struct weft_error *err);

/* ---- forget.c ---- */

/* Leave nothing of what was rewritten or dropped. */
int forget(struct jsonl *js, const struct store_report *report,
	   struct weft_error *err);

/* ---- write.c ---- */

/* Call the plan with a view of the store as it is between enter and leave. */
int call_plan(struct jsonl *js, store_plan *plan, void *ctx,
	      struct op_list *ops, struct weft_error *err);

/* ---- extend.c ---- */

/* Add a segment, so that a frame of so many bytes finds room; BUSY if the log
 * is as long as it may be: then a checkpoint must free some of it. */
int extend_log(struct jsonl *js, uint64_t need_bytes, struct weft_error *err);
/* Add a segment although there is room. */
int extend_log_ahead(struct jsonl *js, struct weft_error *err);

/* ---- settle.c: the steps of a checkpoint, and of recovery ---- */

struct settle_item {
	struct weft_id id;
	struct live_file *file; /* or NULL */
	bool created, edited;
	uint64_t end;
};

/* The sessions of the overlay; items are freed with settle_free.  Needs W. */
int settle_collect(struct jsonl *js, struct settle_item **ret, size_t *ret_n,
		   struct weft_error *err);
void settle_free(struct settle_item *v, size_t n);
/* Sync files, then directories. */
int settle_files(struct jsonl *js, struct settle_item *v, size_t n,
		 struct weft_error *err);
/* Then the overlay into the catalogue, complete up to `applied`. */
int settle_catalog(struct jsonl *js, const struct settle_item *v, size_t n,
		   uint64_t applied, struct weft_error *err);
void settle_reserve(struct jsonl *js);

/* ---- recover.c ---- */

/* What the writers before us said of the log; false after a restart of the
 * machine, when the state may be older than the frames. */
bool recover_state(struct jsonl *js, struct wal_state *ret);
/* Alone, with the lock: bring files, catalogue and log together. */
int recover(struct jsonl *js, struct weft_error *err);
/* For readers who may write nothing: the same in memory. */
int recover_in_memory(struct jsonl *js, struct weft_error *err);

/* ---- reindex.c ---- */

/* Open the catalogue; an unusable one is replaced by an empty one.  One that
 * is not complete may be another's who is at it. */
int open_catalog(struct jsonl *js, struct weft_error *err);
bool catalog_is_complete(struct jsonl *js);
int remove_catalog(struct jsonl *js, struct weft_error *err);
/* Another process has made a new one: open that. */
int reload_catalog(struct jsonl *js, struct weft_error *err);
/* If somebody has removed the file under us: open what is there now, or a new
 * one. */
int reopen_catalog(struct jsonl *js, struct weft_error *err);
/* A new and empty one in its place; it must be reindexed. */
int replace_catalog(struct jsonl *js, struct weft_error *err);
/* Derive everything again.  Needs checkpoint_lock. */
int reindex(struct jsonl *js, struct store_report *report,
	    struct weft_error *err);

/* ---- memfile.c ---- */

/* A file in memory that begins as a copy of `from` (or empty). */
int memfile_open(struct file *from, struct file **ret, struct weft_error *err);

/* ---- ops.c: operation ids of a session ---- */

int ops_find(struct jsonl *js, struct live *l, struct weft_str op,
	     struct op_hit *ret, struct weft_error *err);
/* Remember one; forgets old ones.  Nothing to do for a set not read yet. */
void ops_note(struct jsonl *js, struct live *l, const struct store_event *e);
void ops_free(struct op_set *s);

/* ---- search.c: the index of words ---- */

/* Empty it, if there is one. */
int search_clear(struct jsonl *js, struct weft_error *err);
/* The catalogue was made anew: look through all of it again. */
void search_rescan(struct jsonl *js);
/* The files of these are about to be rewritten: their words have to go.  With
 * the log held, and not the catalogue. */
int search_doom(struct jsonl *js, const struct weft_id *sessions, size_t n,
		struct weft_error *err);

int jsonl_get_behind(struct store *s, uint32_t make, size_t max,
		     struct arena *a, struct behind_page *ret,
		     struct weft_error *err);
int jsonl_put_words(struct store *s, uint64_t epoch, const struct word_batch *v,
		    size_t n, struct weft_error *err);
int jsonl_find_words(struct store *s, const struct word_query *q,
		     struct arena *a, struct word_page *ret,
		     struct weft_error *err);
int jsonl_drop_words(struct store *s, const struct weft_id *sessions, size_t n,
		     struct weft_error *err);

/* ---- the slots ---- */

int jsonl_write(struct store *s, const struct store_want *want,
		store_plan *plan, void *ctx, struct weft_error *err);
int jsonl_get_sessions(struct store *s, const struct weft_id *ids, size_t n,
		       struct arena *a, struct session_rec *out,
		       struct weft_error *err);
int jsonl_get_names(struct store *s, const struct weft_str *names, size_t n,
		    struct arena *a, struct name_rec *out,
		    struct weft_error *err);
int jsonl_get_names_of(struct store *s, const struct weft_id *ids, size_t n,
		       struct arena *a, struct session_names *out,
		       struct weft_error *err);
int jsonl_read_events(struct store *s, const struct event_range *r,
		      struct arena *a, struct event_page *ret,
		      struct weft_error *err);
int jsonl_get_hidden(struct store *s, const struct weft_id *session,
		     uint64_t first, uint64_t last, struct arena *a,
		     uint64_t **ret, size_t *ret_n, struct weft_error *err);
int jsonl_list(struct store *s, const struct list_query *q, struct arena *a,
	       struct session_page *ret, struct weft_error *err);
int jsonl_find_tag(struct store *s, uint64_t tag, struct arena *a,
		   struct weft_id **ret, size_t *ret_n, struct weft_error *err);
int jsonl_maintain(struct store *s, uint32_t task, struct store_report *report,
		   struct weft_error *err);

/* Look-ups that the view and the slots share. */
int lookup_name(struct jsonl *js, struct weft_str name, struct arena *a,
		struct name_rec *ret, struct weft_error *err);
/* Sessions whose parent is `id`, purged ones too, by id. */
int lookup_children(struct jsonl *js, const struct weft_id *id, struct arena *a,
		    struct session_rec **ret, size_t *ret_n,
		    struct weft_error *err);
int lookup_names_of(struct jsonl *js, const struct weft_id *ids, size_t n,
		    struct arena *a, struct session_names *out,
		    struct weft_error *err);
int lookup_hidden(struct jsonl *js, const struct weft_id *id, uint64_t first,
		  uint64_t last, struct arena *a, uint64_t **ret, size_t *ret_n,
		  struct weft_error *err);
/* A copy of its record; NOT_FOUND. */
int lookup_record(struct jsonl *js, const struct weft_id *id, struct arena *a,
		  struct session_rec *ret, struct weft_error *err);
/* Where to read a session's lines; the file is the caller's to unref. */
int lookup_source(struct jsonl *js, const struct weft_id *id,
		  struct page_source *ret, struct weft_error *err);

#endif
