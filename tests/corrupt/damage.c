/*
 * damage.c - a byte changed here, a file cut there.
 *
 * Whatever is damaged: opening and reading give data, a report or a clear
 * error, never a crash, and never is another session hurt.  Repair leaves a
 * store that verify calls clean, loses no good line, keeps the bad bytes, and
 * has nothing to do the second time.
 *
 * Every byte of a session file is changed, and the file cut at each length; of
 * the log and the catalogue every byte of what says where things are, and of
 * the rest some, which are others in each run (WEFT_TEST_SEED).
 */
#include <signal.h>
#include <sys/wait.h>

#include "crash/place.h"
#include "store/jsonl/frame.h"

#define GOOD_MESSAGES   4
#define VICTIM_MESSAGES 4
#define OPTIONS         "segment_bytes=131072"

static char template[160]; /* a store to be copied */
static char *victim_file;  /* of the store, not of the template */

/* ---- a store worth damaging ---- */

static void fill(struct weft_store *s)
{
	char text[64];

	begin_session(s, "good");
	begin_session(s, "victim");
	free(ask(s, "{'method':'alias','session':'victim','alias':'prey'}"));
	for (int i = 0; i < GOOD_MESSAGES; i++) {
		(void)snprintf(text, sizeof(text), "good %d", i);
		(void)say_to(s, "good", text);
	}
	for (int i = 0; i < VICTIM_MESSAGES; i++) {
		(void)snprintf(text, sizeof(text), "victim %d \\u00e9\\u2028",
			       i);
		(void)say_to(s, "victim", text);
	}
}

static void fill_and_wait(void *ctx)
{
	struct weft_store *s = open_place(ctx, OPTIONS, 0);

	fill(s);
	/* Until no line is left behind: each reader would wait for it. */
	sleep_ms(500);
	(void)raise(SIGSTOP); /* the parent kills it here */
}

static void keep_as_template(const struct place *p)
{
	(void)snprintf(template, sizeof(template), "%s/template", p->root);
	copy_tree(p->store, template);
}

static int setup_closed(void **state)
{
	struct weft_store *s;

	(void)place_setup(state);
	s = open_place(*state, OPTIONS, 0);
	fill(s);
	victim_file = file_of(s, "victim");
	close_place(s);
	keep_as_template(*state);
	return 0;
}

/* One left by kill -9: the log has live frames. */
static int setup_killed(void **state)
{
	struct weft_store *s;
	pid_t pid;

	(void)place_setup(state);
	pid = start_child(fill_and_wait, *state);
	must(waitpid(pid, NULL, WUNTRACED) == pid);
	kill_child(pid);
	keep_as_template(*state);
	s = open_place(*state, OPTIONS, WEFT_OPEN_READ_ONLY);
	victim_file = file_of(s, "victim");
	close_place(s);
	return 0;
}

static int teardown(void **state)
{
	free(victim_file);
	return place_teardown(state);
}

/* ---- damaging it ---- */

enum how { FLIP_LOW, FLIP_HIGH, NEWLINE, CUT, HOWS };

/* The damaged bytes in place of the good ones. */
static void damage(const char *path, const char *bytes, size_t len, size_t at,
		   enum how how)
{
	static const char flips[] = { 0x01, (char)0x80 };
	char *copy = malloc(len + 1);

	must(copy != NULL);
	(void)snprintf(must_note, sizeof(must_note), "%.200s, byte %zu, how %d",
		       path, at, how);
	memcpy(copy, bytes, len);
	if (how == NEWLINE)
		copy[at] = '\n';
	else if (how != CUT)
		copy[at] = (char)(copy[at] ^ flips[how]);
	write_all(path, copy, how == CUT ? at : len);
	free(copy);
}

/* Everything of the session that was left alone. */
static void check_good(struct weft_store *s)
{
	char text[64];

	for (int i = 0; i < GOOD_MESSAGES; i++) {
		(void)snprintf(text, sizeof(text), "good %d", i);
		must(count_said(s, "good", text) == 1);
	}
}

/* Data or a clear error. */
static void look_at(struct weft_store *s, const char *session)
{
	static const char *const methods[] = { "show", "history", "events" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		struct weft_error err = { 0 };
		char *answer = NULL;
		int r = try_ask(s, &answer, &err,
				"{'method':'%s','session':'%s'}", methods[i],
				session);

		if (r != WEFT_OK && r != WEFT_CORRUPT && r != WEFT_NOT_FOUND)
			(void)fprintf(stderr, "# %s: %s\n", methods[i],
				      err.message);
		must(r == WEFT_OK || r == WEFT_CORRUPT || r == WEFT_NOT_FOUND);
		must(r == WEFT_OK || err.message[0]);
		free(answer);
	}
}

/* Open for reading, look at everything, close. */
static void read_damaged(const struct place *p, bool good_must_be_there)
{
	struct weft_error err = { 0 };
	struct weft_store *s = NULL;
	char *report = NULL;
	int r = try_open(p, OPTIONS, WEFT_OPEN_READ_ONLY, &s, &err);

	if (r < 0) {
		if (good_must_be_there || (r != WEFT_CORRUPT && r != WEFT_IO))
			(void)fprintf(stderr, "# open: %s\n", err.message);
		must(!good_must_be_there);
		must(r == WEFT_CORRUPT || r == WEFT_IO);
		must(err.message[0]);
		return;
	}
	if (good_must_be_there)
		check_good(s);
	else
		look_at(s, "good");
	look_at(s, "victim");
	r = try_ask(s, &report, &err, "{'method':'verify'}");
	must(r == WEFT_OK || r == WEFT_CORRUPT);
	free(report);
	close_place(s);
}

/* Which bytes of a file are the ones that say where things are. */
typedef bool is_head(const char *bytes, size_t len, size_t at);

static bool no_head(const char *bytes, size_t len, size_t at)
{
	(void)bytes;
	(void)len;
	(void)at;
	return false;
}

/* Of a frame in use: its header, and the first record's. */
static bool is_log_head(const char *bytes, size_t len, size_t at)
{
	size_t in_unit = at % FRAME_UNIT;

	(void)len;
	return in_unit < FRAME_HEAD + FRAME_RECORD_HEAD &&
	       bytes[at - in_unit] != '\0';
}

/* Of SQLite's file, and of the pages of its trees. */
static bool is_page_head(const char *bytes, size_t len, size_t at)
{
	size_t page = (size_t)(unsigned char)bytes[16] << 8 |
		      (unsigned char)bytes[17];

	(void)len;
	return at < 108 || (page > 1 && at % page < 8);
}

/*
 * Change the bytes of the heads, one after the other, and each `stride`-th of
 * the others from a random one on.  Each in one way, and as a cut; where there
 * are few, in all ways.
 */
static void read_with_every_damage(const struct place *p, const char *path,
				   is_head *head, size_t stride,
				   bool good_must_be_there)
{
	const size_t from = random_below((uint32_t)stride);
	const size_t every = is_sanitized() ? 17 : 1; /* of the heads */
	size_t len, n = 0;
	char *bytes = read_file(path, &len);

	for (size_t at = 0; at < len; at++) {
		bool in_head = head(bytes, len, at) && at % every == 0;

		if (!in_head && (at + from) % stride != 0)
			continue;
		for (enum how how = 0; how < HOWS; how++) {
			bool look = n++ % 128 == 0;
			uint64_t before;

			if ((in_head || stride == 1) && how != CUT &&
			    (at + from) % CUT != how)
				continue;
			damage(path, bytes, len, at, how);
			before = look ? digest_tree(p->store) : 0;
			read_damaged(p, good_must_be_there);
			must(!look || digest_tree(p->store) == before);
		}
	}
	write_all(path, bytes, len);
	free(bytes);
}

static void reading_a_damaged_session_hurts_no_other(void **state)
{
	copy_tree(template, ((struct place *)*state)->store);
	read_with_every_damage(*state, victim_file, no_head,
			       is_sanitized() ? 7 : 1, true);
}

static void reading_beside_a_damaged_catalogue(void **state)
{
	const struct place *p = *state;
	char path[512];

	copy_tree(template, p->store);
	join_path(path, p->store, "catalog.db");
	read_with_every_damage(p, path, is_page_head,
			       is_sanitized() ? 2003 : 509, false);
}

static void reading_with_a_damaged_log(void **state)
{
	static const char *const names[] = { "wal/state", "wal/control",
					     "wal/00000001", "weft.json" };
	const size_t strides[] = { 1, 127, 2039, 1 };
	const struct place *p = *state;

	for (size_t i = 0; i < 4; i++) {
		char path[512];

		copy_tree(template, p->store);
		join_path(path, p->store, names[i]);
		read_with_every_damage(p, path, i == 2 ? is_log_head : no_head,
				       strides[i] * (is_sanitized() ? 5 : 1),
				       false);
	}
}

/* ---- repairing it ---- */

/* Are these bytes in the file, or in one of damaged/? */
static bool is_kept(const struct place *p, const char *line, size_t len)
{
	char dir[512], command[1400], path[512];
	size_t n, found = 0;
	char *bytes;
	FILE *list;

	/* Without a line that can be read it is in damaged/ as a whole. */
	if (access(victim_file, R_OK) == 0) {
		bytes = read_file(victim_file, &n);
		found = memmem(bytes, n, line, len) != NULL;
		free(bytes);
	}
	join_path(dir, p->store, "damaged");
	(void)snprintf(command, sizeof(command), "find %s -type f", dir);
	list = popen(command, "r");
	must(list != NULL);
	while (fgets(path, sizeof(path), list)) {
		path[strcspn(path, "\n")] = '\0';
		bytes = read_file(path, &n);
		found += memmem(bytes, n, line, len) != NULL;
		free(bytes);
	}
	(void)pclose(list);
	return found > 0;
}

/* Every whole line of `was` is kept; the damaged ones in damaged/. */
static void check_lines(const struct place *p, const char *was, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const char *nl = memchr(was + at, '\n', len - at);
		size_t end = nl ? (size_t)(nl - was) : len;

		/* The file line is ours to make again. */
		if (at > 0 && end > at && !is_kept(p, was + at, end - at)) {
			(void)fprintf(stderr, "# lost: %.*s\n", (int)(end - at),
				      was + at);
			must(false);
		}
		at = end + 1;
	}
}

static void repair_clean(struct weft_store *s)
{
	char *report;

	free(ask(s, "{'method':'repair'}"));
	must(is_clean(s, true));
	report = ask(s, "{'method':'repair'}");
	if (!strstr(report, "\"changed\":0"))
		(void)fprintf(stderr, "# again: %s\n", report);
	must(strstr(report, "\"changed\":0") != NULL);
	free(report);
}

static void repair_damaged(const struct place *p)
{
	struct weft_receipt receipt;
	struct weft_error err = { 0 };
	struct weft_store *s;
	size_t len;
	char *was = read_file(victim_file, &len);
	int r;

	s = open_place(p, OPTIONS, WEFT_OPEN_REPAIR);
	look_at(s, "good");
	look_at(s, "victim");
	repair_clean(s);
	check_lines(p, was, len);
	check_good(s);
	/* What is left of it goes on. */
	r = try_say(s, "victim", "and on", NULL, &receipt, &err);
	must(r == WEFT_OK || r == WEFT_NOT_FOUND);
	must(r != WEFT_OK || count_said(s, "victim", "and on") == 1);
	must(is_clean(s, true));
	close_place(s);
	free(was);
}

static void repair_with_damage(const struct place *p, const char *path,
			       unsigned rounds)
{
	size_t len;
	char *bytes;

	copy_tree(template, p->store);
	bytes = read_file(path, &len);
	for (unsigned i = 0; i < rounds; i++) {
		size_t at = (i * (len / rounds) + i * 7) % len;

		copy_tree(template, p->store);
		damage(path, bytes, len, at, (enum how)(i % HOWS));
		repair_damaged(p);
	}
	free(bytes);
}

static void repair_mends_a_session(void **state)
{
	repair_with_damage(*state, victim_file, scaled(80));
}

static void repair_mends_a_catalogue(void **state)
{
	const struct place *p = *state;
	char path[512];

	join_path(path, p->store, "catalog.db");
	repair_with_damage(p, path, scaled(32));
}

/* ---- the log ---- */

/* What was acknowledged is in the files, whatever happens to the log. */
static void check_everything(const struct place *p, uint32_t flags)
{
	struct weft_store *s = open_place(p, OPTIONS, flags);
	char text[64];

	check_good(s);
	for (int i = 0; i < VICTIM_MESSAGES; i++) {
		(void)snprintf(text, sizeof(text), "victim %d \\u00e9\\u2028",
			       i);
		must(count_said(s, "victim", text) == 1);
	}
	if (flags & WEFT_OPEN_REPAIR)
		repair_clean(s);
	must(is_clean(s, true));
	(void)say_to(s, "victim", "and on");
	close_place(s);
}

static void open_with_damage(const struct place *p, const char *name,
			     unsigned rounds, size_t reach)
{
	char path[512];
	size_t len;
	char *bytes;

	copy_tree(template, p->store);
	join_path(path, p->store, name);
	bytes = read_file(path, &len);
	if (reach > len)
		reach = len;
	for (unsigned i = 0; i < rounds; i++) {
		struct weft_error err = { 0 };
		struct weft_store *s = NULL;
		int r;

		copy_tree(template, p->store);
		damage(path, bytes, len, i * reach / rounds,
		       (enum how)(i % HOWS));
		r = try_open(p, OPTIONS, 0, &s, &err);
		if (r == WEFT_OK) {
			close_place(s);
			check_everything(p, 0);
			continue;
		}
		must(r == WEFT_CORRUPT || r == WEFT_IO);
		/* A newer format, as it seems, is not for us to mend. */
		if (r == WEFT_CORRUPT)
			check_everything(p, WEFT_OPEN_REPAIR);
	}
	free(bytes);
}

static void a_damaged_log_is_stepped_over_or_set_aside(void **state)
{
	open_with_damage(*state, "wal/00000001", scaled(40), 49152);
	open_with_damage(*state, "wal/state", scaled(20), 80);
	open_with_damage(*state, "wal/control", scaled(24), 8192);
	open_with_damage(*state, "weft.json", scaled(32), 80);
}

static void without_control_or_weft_json(void **state)
{
	static const char *const names[] = { "wal/control", "weft.json",
					     "wal/00000001", "wal/state" };
	const struct place *p = *state;

	/* Every set of them is gone, or full of nothing. */
	for (unsigned set = 1; set < 16; set++) {
		for (unsigned how = 0; how < 2; how++) {
			copy_tree(template, p->store);
			for (unsigned i = 0; i < 4; i++) {
				static const char nothing[8192];
				char path[512];

				join_path(path, p->store, names[i]);
				if ((set >> i & 1) && how)
					write_all(path, nothing,
						  sizeof(nothing));
				else if (set >> i & 1)
					must(unlink(path) == 0);
			}
			check_everything(p, WEFT_OPEN_REPAIR);
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest closed[] = {
		cmocka_unit_test(reading_a_damaged_session_hurts_no_other),
		cmocka_unit_test(reading_beside_a_damaged_catalogue),
		cmocka_unit_test(repair_mends_a_session),
		cmocka_unit_test(repair_mends_a_catalogue),
	};
	const struct CMUnitTest killed[] = {
		cmocka_unit_test(reading_with_a_damaged_log),
		cmocka_unit_test(a_damaged_log_is_stepped_over_or_set_aside),
		cmocka_unit_test(without_control_or_weft_json),
	};

	/* Damage is damage: no need to wait for a disk. */
	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 0);
	(void)random_seed();
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (argc > 1 && strcmp(argv[1], "killed") == 0)
		return cmocka_run_group_tests(killed, setup_killed, teardown);
	return cmocka_run_group_tests(closed, setup_closed, teardown);
}
