/*
 * Stands in for libFuzzer: runs a fuzz target once over the empty input and
 * over each file named, or found in a directory named, on the command line.
 * So every compiler, sanitizer and Valgrind sees the corpus in every test run.
 */
#include "fuzz.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a block of exactly its size, so that a read past its end is seen. */
static void run_file(const char *path)
{
	struct stat st;
	uint8_t *data;
	size_t size, done = 0;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", path);
	size = (size_t)st.st_size;
	data = malloc(size ? size : 1);
	if (!data)
		err(1, "%s", path);
	while (done < size) {
		ssize_t n = read(fd, data + done, size - done);

		if (n < 0)
			err(1, "%s", path);
		if (n == 0)
			errx(1, "%s: became shorter while read", path);
		done += (size_t)n;
	}
	close(fd);

	/* If the target crashes, the last name says on what. */
	printf("# %s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

/* Returns the number of inputs that were run. */
static size_t run_directory(const char *path)
{
	struct dirent **names;
	size_t inputs = 0;
	int n;

	n = scandir(path, &names, NULL, alphasort);
	if (n < 0)
		err(1, "%s", path);
	for (int i = 0; i < n; i++) {
		char file[PATH_MAX];

		if (names[i]->d_name[0] != '.') {
			int len = snprintf(file, sizeof(file), "%s/%s", path,
					   names[i]->d_name);

			if (len < 0 || (size_t)len >= sizeof(file))
				errx(1, "%s: path too long", path);
			run_file(file);
			inputs++;
		}
		free(names[i]);
	}
	free(names);
	return inputs;
}

int main(int argc, char **argv)
{
	size_t inputs = 0;

	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) < 0)
			err(1, "%s", argv[i]);
		if (S_ISDIR(st.st_mode)) {
			inputs += run_directory(argv[i]);
		} else {
			run_file(argv[i]);
			inputs++;
		}
	}
	if (inputs == 0)
		errx(1, "no inputs");
	printf("%zu inputs\n", inputs);
	return 0;
}
