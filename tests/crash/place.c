/* place.c - see place.h. */
#include "crash/place.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/json.h"

/* ---- places ---- */

char must_note[256];
const char *place_scheme = "jsonl";

void must_end(const char *what, const char *file, int line)
{
	if (must_note[0])
		(void)fprintf(stderr, "# with %s\n", must_note);
	(void)fprintf(stderr, "# %s:%d: not true: %s (%s)\n", file, line, what,
		      errno ? strerror(errno) : "no errno");
	abort();
}

void join_path(char out[512], const char *a, const char *b)
{
	int n = snprintf(out, 512, "%s/%s", a, b);

	must(n > 0 && n < 512);
}

/* A server is not ours to make: it is there, and gets a new schema. */
static void set_url(struct place *p)
{
	static unsigned count;
	const char *server = getenv("WEFT_TEST_PG");

	if (strcmp(place_scheme, "postgres") != 0) {
		(void)snprintf(p->url, sizeof(p->url), "%s:%s", place_scheme,
			       p->store);
		return;
	}
	must(server != NULL);
	(void)snprintf(p->url, sizeof(p->url), "%s&schema=p%d_%u", server,
		       (int)getpid(), ++count);
}

void place_make(struct place *p)
{
	const char *base = getenv("TMPDIR");
	int n = snprintf(p->root, sizeof(p->root), "%s/weft-place-XXXXXX",
			 base ? base : "/tmp");

	must(n > 0 && (size_t)n < sizeof(p->root));
	must(mkdtemp(p->root) != NULL);
	(void)snprintf(p->store, sizeof(p->store), "%s/store", p->root);
	set_url(p);
}

void place_remove(struct place *p)
{
	remove_tree(p->root);
}

void place_clear(struct place *p)
{
	remove_tree(p->root);
	must(mkdir(p->root, 0700) == 0);
	set_url(p);
}

int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	must(p != NULL);
	place_make(p);
	*state = p;
	return 0;
}

int place_teardown(void **state)
{
	place_remove(*state);
	free(*state);
	return 0;
}

unsigned scaled(unsigned n)
{
	const char *text = getenv("WEFT_TEST_SCALE");
	unsigned scale = text ? (unsigned)strtoul(text, NULL, 10) : 1;

	if (is_sanitized())
		n = n / 10 ? n / 10 : 1;
	return n * (scale ? scale : 1);
}

/* ---- time and chance ---- */

int64_t now_us(void)
{
	return clock_mono_us();
}

void sleep_ms(unsigned ms)
{
	(void)poll(NULL, 0, (int)ms);
}

static uint64_t chance = 1;

uint64_t random_seed(void)
{
	const char *text = getenv("WEFT_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) :
			       (uint64_t)now_us() * 2654435761u;

	(void)printf("# WEFT_TEST_SEED=%llu\n", (unsigned long long)seed);
	chance = seed | 1;
	return seed;
}

uint32_t random_below(uint32_t n)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (uint32_t)(chance >> 32) % n;
}

/* ---- the store ---- */

int try_open(const struct place *p, const char *options, uint32_t flags,
	     struct weft_store **ret, struct weft_error *err)
{
	struct weft_open_options o;
	char url[512];

	weft_open_options_init(&o, sizeof(o));
	o.flags = flags;
	(void)snprintf(url, sizeof(url), "%s%s%s", p->url,
		       !options            ? "" :
		       strchr(p->url, '?') ? "&" :
					     "?",
		       options ? options : "");
	return weft_open(url, &o, ret, err);
}

struct weft_store *open_place(const struct place *p, const char *options,
			      uint32_t flags)
{
	struct weft_store *s = NULL;
	struct weft_error err = { 0 };
	int r = try_open(p, options, flags, &s, &err);

	if (r < 0)
		(void)fprintf(stderr, "# open: %s\n", err.message);
	must(r == WEFT_OK);
	return s;
}

void close_place(struct weft_store *s)
{
	struct weft_error err = { 0 };
	int r = weft_close(s, &err);

	if (r < 0)
		(void)fprintf(stderr, "# close: %s\n", err.message);
	must(r == WEFT_OK);
}

static __attribute__((format(printf, 4, 0))) int ask_v(struct weft_store *s,
						       char **ret,
						       struct weft_error *err,
						       const char *format,
						       va_list args)
{
	struct weft_answer *answer = NULL;
	char *request = NULL;
	size_t len;
	int r, n = vasprintf(&request, format, args);

	must(n > 0);
	for (char *c = request; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	r = weft_call(s, request, (size_t)n, &answer, err);
	if (r == WEFT_OK) {
		*ret = strdup(weft_answer_text(answer, &len));
		must(*ret != NULL);
	}
	weft_answer_free(answer);
	free(request);
	return r;
}

int try_ask(struct weft_store *s, char **ret, struct weft_error *err,
	    const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = ask_v(s, ret, err, format, args);
	va_end(args);
	return r;
}

char *ask(struct weft_store *s, const char *format, ...)
{
	struct weft_error err = { 0 };
	char *answer = NULL;
	va_list args;
	int r;

	va_start(args, format);
	r = ask_v(s, &answer, &err, format, args);
	va_end(args);
	if (r < 0)
		(void)fprintf(stderr, "# %s: %s\n", format, err.message);
	must(r == WEFT_OK);
	return answer;
}

void begin_session(struct weft_store *s, const char *key)
{
	free(ask(s, "{'method':'new','key':'%s'}", key));
}

int try_say(struct weft_store *s, const char *session, const char *text,
	    const char *op, struct weft_receipt *ret, struct weft_error *err)
{
	struct weft_append_options o;
	char *json = NULL;
	int r, n = asprintf(&json,
			    "{\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			    "\"text\":\"%s\"}]}",
			    text);

	must(n > 0);
	weft_append_options_init(&o, sizeof(o));
	o.op = op;
	o.op_len = op ? strlen(op) : 0;
	r = weft_append(s, session, strlen(session), json, (size_t)n, &o, ret,
			err);
	free(json);
	return r;
}

uint64_t say_to(struct weft_store *s, const char *session, const char *text)
{
	struct weft_receipt receipt = { 0 };
	struct weft_error err = { 0 };
	int r = try_say(s, session, text, NULL, &receipt, &err);

	if (r < 0)
		(void)fprintf(stderr, "# say: %s\n", err.message);
	must(r == WEFT_OK);
	return receipt.seq;
}

size_t count_said(struct weft_store *s, const char *session, const char *text)
{
	struct weft_read_options o;
	struct weft_error err = { 0 };
	char quoted[256];
	size_t hits = 0;
	int len = snprintf(quoted, sizeof(quoted), "\"text\":\"%s\"", text);
	bool done = false;

	must(len > 0 && (size_t)len < sizeof(quoted));
	weft_read_options_init(&o, sizeof(o));
	while (!done) {
		struct weft_page *page = NULL;
		struct weft_event e = { 0 };
		int r = weft_read(s, session, strlen(session), &o, &page, &err);

		if (r < 0)
			(void)fprintf(stderr, "# read: %s\n", err.message);
		must(r == WEFT_OK);
		for (size_t i = 0; weft_page_event(page, i, &e); i++) {
			hits += e.body &&
				memmem(e.body, e.body_len, quoted, (size_t)len);
			o.first = e.last + 1;
		}
		done = weft_page_done(page) || weft_page_count(page) == 0;
		weft_page_free(page);
	}
	return hits;
}

bool is_clean(struct weft_store *s, bool aloud)
{
	char *report = ask(s, "{'method':'verify'}");
	bool clean = strncmp(report, "{\"ok\":true", 10) == 0;

	if (!clean && aloud)
		(void)fprintf(stderr, "# %.2000s\n", report);
	free(report);
	return clean;
}

char *file_of(struct weft_store *s, const char *session)
{
	char *answer = ask(s, "{'method':'show','session':'%s'}", session);
	struct weft_error err;
	yyjson_doc *doc = NULL;
	char *path;

	must(json_parse(str_of(answer), NULL, &doc, &err) == WEFT_OK);
	path = strdup(yyjson_get_str(
		yyjson_obj_get(yyjson_doc_get_root(doc), "path")));
	must(path != NULL);
	yyjson_doc_free(doc);
	free(answer);
	return path;
}

/* ---- children ---- */

pid_t start_child(void (*body)(void *ctx), void *ctx)
{
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	must(pid >= 0);
	if (pid > 0)
		return pid;
	/* A test that fails leaves nobody behind. */
	must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	body(ctx);
	(void)fflush(NULL);
	_exit(0);
}

void join_child(pid_t pid)
{
	int status = 0;

	must(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		(void)fprintf(stderr, "# child ended with %x\n",
			      (unsigned)status);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void kill_child(pid_t pid)
{
	int status = 0;

	must(kill(pid, SIGKILL) == 0);
	must(waitpid(pid, &status, 0) == pid);
	/* One that ended by itself has found something. */
	must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* ---- files ---- */

char *read_file(const char *path, size_t *ret_len)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes;
	ssize_t n;

	must(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size + 1);
	must(bytes != NULL);
	n = read(fd, bytes, (size_t)st.st_size);
	must(n == st.st_size);
	bytes[n] = '\0';
	*ret_len = (size_t)n;
	(void)close(fd);
	return bytes;
}

void write_all(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t at = 0;

	must(fd >= 0);
	while (at < len) {
		ssize_t n = write(fd, bytes + at, len - at);

		must(n > 0);
		at += (size_t)n;
	}
	(void)close(fd);
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void remove_tree(const char *path)
{
	must(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 ||
	     errno == ENOENT);
}

/* nftw takes no context. */
static struct {
	const char *from, *to;
	uint64_t sum;
	size_t n;
	char *first;
} walk;

static int copy_one(const char *path, const struct stat *st, int kind,
		    struct FTW *ftw)
{
	char to[512];
	size_t len;
	char *bytes;

	(void)ftw;
	(void)snprintf(to, sizeof(to), "%s%s", walk.to,
		       path + strlen(walk.from));
	if (kind == FTW_D)
		return mkdir(to, st->st_mode & 0777);
	bytes = read_file(path, &len);
	write_all(to, bytes, len);
	free(bytes);
	return 0;
}

void copy_tree(const char *from, const char *to)
{
	remove_tree(to);
	walk.from = from;
	walk.to = to;
	must(nftw(from, copy_one, 16, FTW_PHYS) == 0);
}

static void mix(const void *bytes, size_t n, uint64_t *sum)
{
	*sum = (*sum ^ hash_bytes(bytes, n)) * 0x9e3779b97f4a7c15u;
}

static int digest_one(const char *path, const struct stat *st, int kind,
		      struct FTW *ftw)
{
	uint64_t sum = 1;
	size_t len;
	char *bytes;

	(void)ftw;
	mix(path, strlen(path), &sum);
	mix(&st->st_mode, sizeof(st->st_mode), &sum);
	mix(&st->st_mtim, sizeof(st->st_mtim), &sum);
	if (kind == FTW_F) {
		bytes = read_file(path, &len);
		mix(bytes, len, &sum);
		free(bytes);
	}
	walk.sum += sum; /* in whatever order */
	return 0;
}

uint64_t digest_tree(const char *path)
{
	walk.sum = 0;
	must(nftw(path, digest_one, 16, FTW_PHYS) == 0);
	return walk.sum;
}

static int count_one(const char *path, const struct stat *st, int kind,
		     struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (kind == FTW_F && walk.n++ == 0 && walk.first)
		(void)snprintf(walk.first, 256, "%s", path);
	return 0;
}

size_t count_files(const char *path, char first[256])
{
	walk.n = 0;
	walk.first = first;
	must(nftw(path, count_one, 16, FTW_PHYS) == 0);
	return walk.n;
}

void *place_share(void **state, const char *session, size_t bytes)
{
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct weft_store *s;

	must(shared != MAP_FAILED);
	(void)place_setup(state);
	s = open_place(*state, NULL, 0);
	begin_session(s, session);
	close_place(s);
	return shared;
}

int place_unshare(void **state, void *shared, size_t bytes)
{
	(void)munmap(shared, bytes);
	return place_teardown(state);
}
