/*
 * refuse.c - stores that must not be opened, or not be written to: each a
 * clear error, and nothing changed.
 */
#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/crc32c.h"
#include "base/id.h"
#include "crash/place.h"
#include "sim/simdisk.h"
#include "store/jsonl/wal.h"
#include "store/store.h"

#define NOBODY 65534

/* Must fail so, saying that, and leave everything as it was. */
static void refuse(const struct place *p, const char *options, uint32_t flags,
		   int code, const char *says)
{
	struct weft_error err = { 0 };
	struct weft_store *s = NULL;
	uint64_t before = digest_tree(p->root);
	int r = try_open(p, options, flags, &s, &err);

	if (r != code || !strstr(err.message, says))
		(void)fprintf(stderr, "# %d: '%s' instead of '%s'\n", r,
			      err.message, says);
	must(r == code && err.code == code);
	must(strstr(err.message, says) != NULL);
	must(digest_tree(p->root) == before);
}

static void make_store(struct place *p)
{
	struct weft_store *s;

	place_clear(p);
	s = open_place(p, NULL, 0);
	begin_session(s, "a");
	(void)say_to(s, "a", "hello");
	close_place(s);
}

/* Somebody makes it anew, or has stopped while at it. */
static void who_waits_for_a_catalogue_gives_up(void **state)
{
	struct place *p = *state;
	struct weft_error err = { 0 };
	struct weft_store *s = NULL;
	struct file *lock = NULL;
	char path[512];

	make_store(p);
	join_path(path, p->store, "catalog.db");
	must(unlink(path) == 0);
	join_path(path, p->store, "wal/lock");
	must(file_open(fs_real(), path, FILE_READ | FILE_WRITE, &lock) == 0);
	must(file_lock(lock, WAL_CKPT, 1, FILE_LOCKED) == 0);
	must(try_open(p, "busy_ms=50", 0, &s, &err) == WEFT_BUSY);
	must(strstr(err.message, "catalogue") != NULL);
	file_close(lock);
	s = open_place(p, "busy_ms=50", 0);
	must(count_said(s, "a", "hello") == 1);
	close_place(s);
}

static void what_is_no_store_is_left_alone(void **state)
{
	struct place *p = *state;
	char path[512];

	place_clear(p);
	refuse(p, NULL, WEFT_OPEN_NO_CREATE, WEFT_NOT_FOUND, "no store");
	refuse(p, NULL, WEFT_OPEN_READ_ONLY, WEFT_NOT_FOUND, "no store");
	refuse(p, NULL, WEFT_OPEN_REPAIR, WEFT_NOT_FOUND, "no store");
	write_all(p->store, "text", 4);
	refuse(p, NULL, 0, WEFT_INVALID, "is a file");
	refuse(p, NULL, WEFT_OPEN_REPAIR, WEFT_INVALID, "is a file");
	must(unlink(p->store) == 0);
	must(mkdir(p->store, 0700) == 0);
	join_path(path, p->store, "letter.txt");
	write_all(path, "text", 4);
	refuse(p, NULL, 0, WEFT_INVALID, "letter.txt");
}

static void write_format(const struct place *p, const char *from,
			 const char *to)
{
	char path[512], *bytes, *at, *changed = NULL;
	size_t len;

	join_path(path, p->store, "weft.json");
	bytes = read_file(path, &len);
	at = strstr(bytes, from);
	must(at != NULL);
	must(asprintf(&changed, "%.*s%s%s", (int)(at - bytes), bytes, to,
		      at + strlen(from)) > 0);
	write_all(path, changed, strlen(changed));
	free(changed);
	free(bytes);
}

static void what_is_newer_is_left_alone(void **state)
{
	static const uint32_t flags[] = { 0, WEFT_OPEN_READ_ONLY,
					  WEFT_OPEN_REPAIR };
	struct place *p = *state;

	for (size_t i = 0; i < 3; i++) {
		make_store(p);
		write_format(p, "\"weft\":1", "\"weft\":2");
		refuse(p, NULL, flags[i], WEFT_IO, "update weft");
		make_store(p);
		write_format(p, "\"needs\":[]", "\"needs\":[\"magic\"]");
		refuse(p, NULL, flags[i], WEFT_IO, "magic");
	}
}

static void what_needs_more_is_not_written_to(void **state)
{
	struct place *p = *state;
	struct weft_receipt receipt;
	struct weft_error err = { 0 };
	struct weft_store *s;
	char *file, *bytes, *at, *head = NULL, *changed = NULL, *now;
	struct weft_id id;
	size_t len, now_len;

	make_store(p);
	s = open_place(p, NULL, 0);
	file = file_of(s, "a");
	close_place(s);
	bytes = read_file(file, &len);
	at = strstr(bytes, "\"needs\":[]");
	must(at != NULL);
	*at = '\0';
	/* Sealed as a newer weft would. */
	must(asprintf(&head, "%s\"needs\":[\"magic\"]", bytes) > 0);
	must(id_parse((struct weft_str){ head + 21, WEFT_ID_CHARS }, &id));
	must(asprintf(&changed, "%s,\"crc\":\"%08x\"}\n%s", head,
		      crc32c(crc32c(0, &id, sizeof(id)), head, strlen(head)),
		      strchr(at + 1, '\n') + 1) > 0);
	free(head);
	write_all(file, changed, strlen(changed));
	s = open_place(p, NULL, 0);
	must(try_say(s, "a", "more", NULL, &receipt, &err) < 0);
	must(strstr(err.message, "magic") != NULL);
	must(!is_clean(s, false));
	free(ask(s, "{'method':'repair'}"));
	close_place(s);
	now = read_file(file, &now_len);
	must(now_len == strlen(changed) && memcmp(now, changed, now_len) == 0);
	free(now);
	free(changed);
	free(bytes);
	free(file);
}

/* ---- whose it is ---- */

static int own_one(const char *path, const struct stat *st, int kind,
		   struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return chown(path, NOBODY, NOBODY);
}

static void become_nobody(void)
{
	must(setgroups(0, NULL) == 0);
	must(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static void as_nobody_refused(void *ctx)
{
	become_nobody();
	refuse(ctx, NULL, 0, WEFT_IO, "user");
	refuse(ctx, NULL, WEFT_OPEN_READ_ONLY, WEFT_IO, "user");
}

/* Its own, but not to be written to. */
static void as_nobody_read_only(void *ctx)
{
	struct weft_store *s;

	become_nobody();
	refuse(ctx, NULL, 0, WEFT_READ_ONLY, "ermission denied");
	s = open_place(ctx, NULL, WEFT_OPEN_READ_ONLY);
	must(count_said(s, "a", "hello") == 1);
	close_place(s);
}

static void take_rights(const struct place *p, const char *mode)
{
	char command[512];

	(void)snprintf(command, sizeof(command), "chmod -R %s %s", mode,
		       p->store);
	must(system(command) == 0);
}

static void what_belongs_to_others_is_left_alone(void **state)
{
	struct place *p = *state;

	if (geteuid() != 0)
		(void)fprintf(stderr, "# only the superuser can be somebody "
				      "else: run this test as root\n");
	must(geteuid() == 0);
	make_store(p);
	must(chmod(p->root, 0755) == 0 && chmod(p->store, 0755) == 0);
	take_rights(p, "a+rX");
	join_child(start_child(as_nobody_refused, p));
	make_store(p);
	must(chmod(p->root, 0755) == 0);
	must(nftw(p->store, own_one, 16, FTW_PHYS) == 0);
	/* Not even the superuser, whose files nobody could write to. */
	refuse(p, NULL, 0, WEFT_IO, "belongs to user 65534");
	refuse(p, NULL, WEFT_OPEN_REPAIR, WEFT_IO, "belongs to user 65534");
	take_rights(p, "a-w");
	join_child(start_child(as_nobody_read_only, p));
	take_rights(p, "u+w");
}

/* ---- read only ---- */

static void write_and_wait(void *ctx)
{
	struct weft_store *s = open_place(ctx, NULL, 0);

	begin_session(s, "new");
	(void)say_to(s, "a", "not yet in the catalogue");
	(void)raise(SIGSTOP);
}

/* The lines of the last frames, as after a power cut: only in the log. */
static void cut_file(const struct place *p)
{
	struct weft_store *s = open_place(p, NULL, WEFT_OPEN_READ_ONLY);
	char *file = file_of(s, "a"), *bytes, state[512];
	size_t len;

	close_place(s);
	bytes = read_file(file, &len);
	must(memmem(bytes, len, "not yet", 7) != NULL);
	len = (size_t)(strstr(bytes, "\"hello\"") - bytes);
	len += strcspn(bytes + len, "\n") + 1;
	write_all(file, bytes, len);
	/* The state is not synced, so it is gone as well. */
	join_path(state, p->store, "wal/state");
	must(unlink(state) == 0);
	free(bytes);
	free(file);
}

static void read_what_was_left(const struct place *p)
{
	uint64_t before = digest_tree(p->root);
	struct weft_store *s = open_place(p, NULL, WEFT_OPEN_READ_ONLY);
	struct weft_receipt receipt;
	struct weft_error err = { 0 };

	must(count_said(s, "a", "hello") == 1);
	must(count_said(s, "a", "not yet in the catalogue") == 1);
	free(ask(s, "{'method':'show','session':'new'}"));
	must(is_clean(s, true));
	must(try_say(s, "a", "no", NULL, &receipt, &err) == WEFT_READ_ONLY);
	close_place(s);
	must(digest_tree(p->root) == before);
}

static void a_reader_sees_what_a_killed_writer_left(void **state)
{
	struct place *p = *state;
	pid_t pid;

	make_store(p);
	pid = start_child(write_and_wait, p);
	must(waitpid(pid, NULL, WUNTRACED) == pid);
	kill_child(pid);
	read_what_was_left(p);
	cut_file(p);
	read_what_was_left(p);
	/* And nothing of it is lost to the next writer. */
	close_place(open_place(p, NULL, 0));
	read_what_was_left(p);
}

struct reader {
	const struct place *place;
	int fd;
};

static void read_along(void *ctx)
{
	const struct reader *w = ctx;
	struct weft_store *s = open_place(w->place, NULL, WEFT_OPEN_READ_ONLY);
	struct weft_error err = { 0 };
	uint64_t head = 0;

	must(count_said(s, "a", "later") == 0);
	must(write(w->fd, "x", 1) == 1);
	must(weft_wait(s, "a", 1, 2, 20000, &head, &err) == WEFT_OK);
	must(count_said(s, "a", "later") == 1);
	close_place(s);
}

static void a_reader_follows_a_writer_of_another_process(void **state)
{
	struct place *p = *state;
	struct weft_store *s;
	struct reader w = { .place = p };
	int ends[2];
	char c;
	pid_t pid;

	make_store(p);
	must(pipe(ends) == 0);
	w.fd = ends[1];
	/* The state is there before the reader comes. */
	s = open_place(p, NULL, 0);
	pid = start_child(read_along, &w);
	must(read(ends[0], &c, 1) == 1);
	must(say_to(s, "a", "later") == 3);
	join_child(pid);
	close_place(s);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* ---- disks ---- */

static void on_a_small_disk(struct place *p)
{
	struct weft_error err = { 0 };
	struct weft_receipt receipt;
	struct weft_store *s = open_place(p, "segment_bytes=65536", 0);
	static char text[40001];
	unsigned n = 0;
	int r = WEFT_OK;

	memset(text, 'x', sizeof(text) - 1);
	begin_session(s, "a");
	while (n < 1000 && r == WEFT_OK) {
		r = try_say(s, "a", text, NULL, &receipt, &err);
		n += r == WEFT_OK;
	}
	if (r != WEFT_NO_SPACE)
		(void)fprintf(stderr, "# after %u: %s\n", n, err.message);
	must(r == WEFT_NO_SPACE && n > 3);
	close_place(s);
	s = open_place(p, NULL, 0);
	must(count_said(s, "a", "") == 0);
	must(is_clean(s, true));
	/* It may have found room, but not for ever. */
	for (n = 0; n < 50; n++) {
		r = try_say(s, "a", text, NULL, &receipt, &err);
		if (r == WEFT_NO_SPACE)
			break;
		must(r == WEFT_OK);
	}
	must(r == WEFT_NO_SPACE);
	close_place(s);
}

/* The superuser of a world of its own, who is this user outside. */
static bool become_own_root(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return false;
	write_all("/proc/self/setgroups", "deny", 4);
	write_all("/proc/self/uid_map", map,
		  (size_t)snprintf(map, sizeof(map), "0 %u 1", uid));
	write_all("/proc/self/gid_map", map,
		  (size_t)snprintf(map, sizeof(map), "0 %u 1", gid));
	return true;
}

/* In a world of its own, where mounts end with the process. */
static void mount_small_disk(const struct place *p)
{
	bool own = unshare(CLONE_NEWNS) == 0 || become_own_root();
	bool mounted =
		own && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		mount("tmpfs", p->root, "tmpfs", 0, "size=3m,mode=0700") == 0;

	if (!mounted)
		(void)fprintf(stderr,
			      "# this test has to mount a small disk, and may "
			      "not: %s.  Run it as root, in a container with "
			      "--cap-add SYS_ADMIN, or allow user namespaces "
			      "(sysctl kernel.unprivileged_userns_clone=1)\n",
			      strerror(errno));
	must(mounted);
}

static void mount_and_try(void *ctx)
{
	struct place *p = ctx;

	mount_small_disk(p);
	on_a_small_disk(p);
	must(umount(p->root) == 0);
	must(mount("tmpfs", p->root, "tmpfs", 0, "size=16m,mode=0700") == 0);
	{
		struct weft_store *s = open_place(p, NULL, 0);

		begin_session(s, "a");
		(void)say_to(s, "a", "hello");
		close_place(s);
	}
	must(mount(NULL, p->root, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	refuse(p, NULL, 0, WEFT_READ_ONLY, "read-only file system");
	{
		struct weft_store *s = open_place(p, NULL, WEFT_OPEN_READ_ONLY);

		must(count_said(s, "a", "hello") == 1);
		close_place(s);
	}
}

static void full_and_read_only_disks_are_told(void **state)
{
	place_clear(*state);
	join_child(start_child(mount_and_try, *state));
}

static int open_simulated(struct simdisk *d, uint32_t flags, struct store **ret,
			  struct weft_error *err)
{
	struct store_open o = { .flags = flags, .fs = simdisk_process(d) };

	return store_open_url("jsonl:/s", &o, ret, err);
}

static void a_network_is_for_one_only(void **state)
{
	struct simdisk *d = simdisk_new();
	struct weft_error err = { 0 };
	struct store *s = NULL, *other = NULL;

	(void)state;
	simdisk_set_kind(d, "nfs", true, false);
	assert_int_equal(open_simulated(d, STORE_CREATE, &s, &err), WEFT_IO);
	assert_non_null(strstr(err.message, "network file system (nfs)"));
	assert_int_equal(
		open_simulated(d, STORE_CREATE | STORE_SINGLE, &s, &err),
		WEFT_OK);
	assert_int_equal(open_simulated(d, STORE_SINGLE, &other, &err),
			 WEFT_BUSY);
	assert_int_equal(store_close(s, &err), WEFT_OK);
	simdisk_free(d);
}

/* Who knows that it is the only one need not wait for others. */
static void one_opener_knows_that_it_is_alone(void **state)
{
	static const struct {
		uint32_t flags;
		uint32_t lone;
	} cases[] = {
		{ STORE_CREATE, 0 },
		{ STORE_SINGLE, 1 },
		{ STORE_READ_ONLY, 0 },
		{ STORE_READ_ONLY | STORE_SINGLE, 0 },
	};
	struct simdisk *d = simdisk_new();
	struct weft_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct store *s = NULL;

		assert_int_equal(open_simulated(d, cases[i].flags, &s, &err),
				 WEFT_OK);
		assert_int_equal(s->lone, cases[i].lone);
		assert_int_equal(store_close(s, &err), WEFT_OK);
	}
	simdisk_free(d);
}

static int check_mode(const char *path, const struct stat *st, int kind,
		      struct FTW *ftw)
{
	mode_t expected = kind == FTW_D ? 0700 : 0600;

	if (ftw->level > 0 && (st->st_mode & 0777) != expected) {
		(void)fprintf(stderr, "# %s: %o\n", path, st->st_mode & 0777);
		return -1;
	}
	return 0;
}

static void nobody_else_can_read_it_whatever_the_umask(void **state)
{
	static const mode_t masks[] = { 0, 022, 0077 };
	struct place *p = *state;

	for (size_t i = 0; i < 3; i++) {
		mode_t before = umask(masks[i]);

		make_store(p);
		(void)umask(before);
		must(nftw(p->root, check_mode, 16, FTW_PHYS) == 0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_store_is_left_alone),
		cmocka_unit_test(what_is_newer_is_left_alone),
		cmocka_unit_test(what_needs_more_is_not_written_to),
		cmocka_unit_test(a_reader_sees_what_a_killed_writer_left),
		cmocka_unit_test(a_reader_follows_a_writer_of_another_process),
		cmocka_unit_test(full_and_read_only_disks_are_told),
		cmocka_unit_test(one_opener_knows_that_it_is_alone),
		cmocka_unit_test(a_network_is_for_one_only),
		cmocka_unit_test(who_waits_for_a_catalogue_gives_up),
		cmocka_unit_test(nobody_else_can_read_it_whatever_the_umask),
		/* Last: without rights it ends the program. */
		cmocka_unit_test(what_belongs_to_others_is_left_alone),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, place_setup, place_teardown);
}
