/*
 * edits.c - people edit session files: with sed, with vim, by hand, also while
 * a process has them open.
 *
 * Everything that can be read survives, whoever closes or is killed next, and
 * appends go on with fresh numbers.
 */
#include <signal.h>
#include <sys/wait.h>

#include "crash/place.h"

#define BEFORE 5 /* messages before the edit */
#define AFTER  3 /* and after it */

/* One way to edit a file: a shell command with the file as $1. */
struct edit {
	const char *name, *command;
	int lost; /* the message that it may take away, or -1 */
};

static const struct edit edits[] = {
	{ "sed", "sed -i s/quick/slow/ \"$1\"", -1 },
	{ "sed that changes nothing", "sed -i s/nowhere/slow/ \"$1\"", -1 },
	{ "vim",
	  "vim.tiny -u NONE -es -c '%s/quick/slow/' -c wq \"$1\" >/dev/null",
	  -1 },
	{ "CRLF", "sed -i 's/$/\\r/' \"$1\"", -1 },
	{ "CRLF in place",
	  "sed 's/$/\\r/' \"$1\" >\"$1.x\" && cat \"$1.x\" >\"$1\"; rm "
	  "\"$1.x\"",
	  -1 },
	{ "a deleted line", "sed -i '/before 2 /d' \"$1\"", 2 },
	{ "a doubled line", "sed -i '/before 2 /p' \"$1\"", -1 },
	{ "swapped lines", "sed -i '/before 2 /{h;d};/before 3 /{G}' \"$1\"",
	  -1 },
	{ "a line by hand", "echo 'written by hand' >>\"$1\"", -1 },
	{ "half a line by hand", "printf 'written by hand' >>\"$1\"", -1 },
	{ "empty lines", "printf '\\n\\n' >>\"$1\"", -1 },
	{ "a shorter line before the others", "sed -i '2s/primary/pri/' \"$1\"",
	  -1 },
	{ "no newline at the end",
	  "perl -e 'truncate $ARGV[0], (-s $ARGV[0]) - 1' \"$1\"", -1 },
	{ "an older copy", "cat \"$1\" >\"$1.x\" && mv \"$1.x\" \"$1\"", -1 },
};

struct scene {
	struct place *place;
	const struct edit *edit;
	bool stale; /* the editor has read the file before the last message */
};

static void run_edit(const struct edit *e, const char *file)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0);
	if (pid == 0) {
		(void)execlp("sh", "sh", "-c", e->command, "sh", file,
			     (char *)NULL);
		_exit(127);
	}
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	     WEXITSTATUS(status) == 0);
}

/* The copy is edited, and takes the place of what was written since. */
static void edit_stale(struct weft_store *s, const struct edit *e,
		       const char *file)
{
	char copy[512];
	size_t len;
	char *bytes = read_file(file, &len);

	(void)snprintf(copy, sizeof(copy), "%s.copy", file);
	write_all(copy, bytes, len);
	free(bytes);
	run_edit(e, copy);
	(void)say_to(s, "edited", "meanwhile");
	must(rename(copy, file) == 0);
}

static void write_edit_write(void *ctx)
{
	const struct scene *scene = ctx;
	struct weft_store *s = open_place(scene->place, NULL, 0);
	char text[64], *file;
	uint64_t seq = 0;

	begin_session(s, "edited");
	file = file_of(s, "edited");
	for (int i = 0; i < BEFORE; i++) {
		(void)snprintf(text, sizeof(text), "before %d quick", i);
		seq = say_to(s, "edited", text);
	}
	if (scene->stale) {
		edit_stale(s, scene->edit, file);
		seq++;
	} else {
		run_edit(scene->edit, file);
	}
	for (int i = 0; i < AFTER; i++) {
		(void)snprintf(text, sizeof(text), "after %d", i);
		must(say_to(s, "edited", text) > seq);
		seq++;
	}
	free(file);
	(void)raise(SIGSTOP); /* killed here, or not */
	close_place(s);
}

static void check_scene(const struct scene *scene)
{
	struct weft_store *s = open_place(scene->place, NULL, 0);
	char quick[64], slow[64];
	size_t n;

	for (int i = 0; i < BEFORE; i++) {
		(void)snprintf(quick, sizeof(quick), "before %d quick", i);
		(void)snprintf(slow, sizeof(slow), "before %d slow", i);
		n = count_said(s, "edited", quick) +
		    count_said(s, "edited", slow);
		/* What only the log has is safe from deletion as well. */
		must(n == 1 || (n == 0 && i == scene->edit->lost));
	}
	must(count_said(s, "edited", "meanwhile") == scene->stale);
	for (int i = 0; i < AFTER; i++) {
		(void)snprintf(quick, sizeof(quick), "after %d", i);
		must(count_said(s, "edited", quick) == 1);
	}
	free(ask(s, "{'method':'repair'}"));
	must(is_clean(s, true));
	for (int i = 0; i < AFTER; i++) {
		(void)snprintf(quick, sizeof(quick), "after %d", i);
		must(count_said(s, "edited", quick) == 1);
	}
	must(count_said(s, "edited", "meanwhile") == scene->stale);
	close_place(s);
}

static void play(struct place *p, const struct edit *e, bool stale, bool killed)
{
	struct scene scene = { p, e, stale };
	pid_t pid;

	(void)printf("# %s%s%s\n", e->name, stale ? ", of an older copy" : "",
		     killed ? ", killed" : "");
	place_clear(p);
	pid = start_child(write_edit_write, &scene);
	must(waitpid(pid, NULL, WUNTRACED) == pid);
	if (killed) {
		kill_child(pid);
	} else {
		must(kill(pid, SIGCONT) == 0);
		join_child(pid);
	}
	check_scene(&scene);
}

static void edits_of_a_live_file_survive(void **state)
{
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		for (int how = 0; how < 4; how++)
			play(*state, &edits[i], how & 1, how & 2);
	}
}

/* ---- odd lines ---- */

static void line_separators_and_long_lines_survive(void **state)
{
	static const char separator[] = "a\xe2\x80\xa8z\xe2\x80\xa9\xc2\x85";
	const size_t big = 10u << 20;
	char *text = malloc(big + 1);
	struct weft_store *s;
	struct weft_receipt receipt;
	struct weft_error err = { 0 };

	must(text != NULL);
	memset(text, 'x', big);
	text[big] = '\0';
	place_clear(*state);
	s = open_place(*state, NULL, 0);
	begin_session(s, "odd");
	(void)say_to(s, "odd", separator);
	must(try_say(s, "odd", text, NULL, &receipt, &err) == WEFT_OK);
	(void)say_to(s, "odd", separator);
	for (int i = 0; i < 2; i++) {
		must(count_said(s, "odd", separator) == 2);
		must(is_clean(s, true));
		close_place(s);
		s = open_place(*state, NULL, 0);
	}
	must(say_to(s, "odd", "the end") == receipt.seq + 2);
	close_place(s);
	free(text);
}

/* ---- the catalogue ---- */

struct answers {
	char *v[5];
};

static struct answers ask_all(struct weft_store *s)
{
	return (struct answers){ {
		ask(s, "{'method':'list','deleted':true}"),
		ask(s, "{'method':'show','session':'one'}"),
		ask(s, "{'method':'show','session':'other'}"),
		ask(s, "{'method':'history','session':'nick'}"),
		ask(s, "{'method':'list','sort':'created'}"),
	} };
}

static void assert_same(struct answers *a, struct answers *b)
{
	for (size_t i = 0; i < 5; i++) {
		if (strcmp(a->v[i], b->v[i]) != 0)
			(void)fprintf(stderr, "# %s\n# %s\n", a->v[i], b->v[i]);
		must(strcmp(a->v[i], b->v[i]) == 0);
		free(b->v[i]);
	}
}

static void fill(struct weft_store *s)
{
	begin_session(s, "one");
	begin_session(s, "two");
	begin_session(s, "other");
	free(ask(s, "{'method':'alias','session':'one','alias':'nick'}"));
	free(ask(s, "{'method':'alias','session':'two','alias':'nick',"
		    "'how':'move'}"));
	free(ask(s, "{'method':'rename','session':'other','slug':'a slug'}"));
	for (int i = 0; i < 5; i++) {
		(void)say_to(s, "one", "hello");
		(void)say_to(s, "two", "hello");
	}
	free(ask(s, "{'method':'redact','session':'two','messages':[4]}"));
	free(ask(s, "{'method':'pin','session':'one'}"));
}

static void remove_catalog(const struct place *p)
{
	char path[512];

	join_path(path, p->store, "catalog.db");
	must(unlink(path) == 0);
}

static void without_its_catalogue_a_store_answers_the_same(void **state)
{
	struct place *p = *state;
	struct weft_store *s;
	struct answers before, after;

	place_clear(p);
	s = open_place(p, NULL, 0);
	fill(s);
	before = ask_all(s);
	close_place(s);
	/* Removed from a store at rest. */
	remove_catalog(p);
	s = open_place(p, NULL, 0);
	after = ask_all(s);
	assert_same(&before, &after);
	/* Under a running process, and a checkpoint follows. */
	remove_catalog(p);
	(void)say_to(s, "other", "one more");
	for (int i = 0; i < 5; i++)
		free(before.v[i]);
	before = ask_all(s);
	sleep_ms(1500);
	after = ask_all(s);
	assert_same(&before, &after);
	/* Under a running process that then reindexes. */
	remove_catalog(p);
	free(ask(s, "{'method':'reindex'}"));
	after = ask_all(s);
	assert_same(&before, &after);
	close_place(s);
	s = open_place(p, NULL, 0);
	after = ask_all(s);
	assert_same(&before, &after);
	must(is_clean(s, true));
	close_place(s);
	for (int i = 0; i < 5; i++)
		free(before.v[i]);
}

/* Messages read from the end, at most so many. */
static size_t count_last(struct weft_store *s, const char *session,
			 uint32_t max)
{
	struct weft_read_options o;
	struct weft_page *page;
	size_t n;

	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES | WEFT_READ_BACKWARDS;
	o.max = max;
	must(weft_read(s, session, strlen(session), &o, &page, NULL) ==
	     WEFT_OK);
	n = weft_page_count(page);
	weft_page_free(page);
	return n;
}

/* How many messages there are from number `first` on, page after page. */
static size_t count_from(struct weft_store *s, const char *session,
			 uint64_t first, uint32_t max)
{
	struct weft_read_options o;
	struct weft_page *page;
	struct weft_event e;
	size_t n = 0;
	int done = 0;

	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES;
	o.max = max;
	for (o.first = first; !done; o.first = e.last + 1) {
		must(weft_read(s, session, strlen(session), &o, &page, NULL) ==
		     WEFT_OK);
		done = weft_page_done(page) || weft_page_count(page) == 0;
		n += weft_page_count(page);
		if (weft_page_count(page))
			(void)weft_page_event(page, weft_page_count(page) - 1,
					      &e);
		weft_page_free(page);
	}
	return n;
}

/* Also when no more of it is looked at than its first or last lines. */
static void a_group_without_its_end_is_not_there(void **state)
{
	struct place *p = *state;
	char *text, *file, group[4096] = "[";
	struct weft_store *s;
	size_t len;

	place_clear(p);
	s = open_place(p, NULL, 0);
	begin_session(s, "cut");
	(void)say_to(s, "cut", "before");
	for (int i = 0; i < 60; i++)
		(void)snprintf(group + strlen(group),
			       sizeof(group) - strlen(group),
			       "{\"role\":\"user\",\"content\":\"%d\"}%c", i,
			       i < 59 ? ',' : ']');
	must(weft_append(s, "cut", 3, group, strlen(group), NULL, NULL, NULL) ==
	     WEFT_OK);
	file = file_of(s, "cut");
	close_place(s);
	text = read_file(file, &len);
	do
		len--;
	while (text[len - 1] != '\n');
	write_all(file, text, len);
	s = open_place(p, NULL, 0);
	for (uint32_t max = 1; max < 70; max += 7) {
		must(count_last(s, "cut", max) == 1);
		must(count_from(s, "cut", 1, max) == 1);
		/* From within. */
		must(count_from(s, "cut", 2 + max, max) == 0);
		must(count_from(s, "cut", 2 + max, 1) == 0);
	}
	close_place(s);
	free(text);
	free(file);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_of_a_live_file_survive),
		cmocka_unit_test(line_separators_and_long_lines_survive),
		cmocka_unit_test(a_group_without_its_end_is_not_there),
		cmocka_unit_test(
			without_its_catalogue_a_store_answers_the_same),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, place_setup, place_teardown);
}
