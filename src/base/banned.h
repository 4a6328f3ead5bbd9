/*
 * Functions that do not compile here, because they overflow, hide errors or
 * share static memory between threads.  The build includes this file before
 * every source; it reads the headers that declare them first, so that only
 * our own uses are caught.
 */
#ifndef WEFT_BASE_BANNED_H
#define WEFT_BASE_BANNED_H

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A use becomes an error that says what to write instead. */
#define BANNED(function, instead)                                    \
	({                                                           \
		_Static_assert(0, #function " is banned: " instead); \
		0;                                                   \
	})

/* No bound, or a bound that leaves the string without its end. */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef stpcpy
#undef stpncpy
#define strcpy(...)  BANNED(strcpy, "use base/buf.h, or memcpy with a length")
#define strcat(...)  BANNED(strcat, "use base/buf.h")
#define strncpy(...) BANNED(strncpy, "use memcpy with a length")
#define strncat(...) BANNED(strncat, "use base/buf.h")
#define stpcpy(...)  BANNED(stpcpy, "use base/buf.h")
#define stpncpy(...) BANNED(stpncpy, "use memcpy with a length")

#undef sprintf
#undef vsprintf
#undef gets
#define sprintf(...)  BANNED(sprintf, "use snprintf and check its result")
#define vsprintf(...) BANNED(vsprintf, "use vsnprintf and check its result")
#define gets(...)     BANNED(gets, "use getline or read")

/* Answers in memory that threads share. */
#undef strtok
#undef gmtime
#undef localtime
#undef ctime
#undef ctime_r
#undef asctime
#undef asctime_r
#define strtok(...)    BANNED(strtok, "walk the string with memchr")
#define gmtime(...)    BANNED(gmtime, "use gmtime_r")
#define localtime(...) BANNED(localtime, "use localtime_r")
#define ctime(...)     BANNED(ctime, "use strftime")
#define ctime_r(...)   BANNED(ctime_r, "use strftime")
#define asctime(...)   BANNED(asctime, "use strftime")
#define asctime_r(...) BANNED(asctime_r, "use strftime")

/* No way to tell a bad number from zero. */
#undef atoi
#undef atol
#undef atoll
#undef atof
#define atoi(...)  BANNED(atoi, "use strtol and check its end")
#define atol(...)  BANNED(atol, "use strtol and check its end")
#define atoll(...) BANNED(atoll, "use strtoll and check its end")
#define atof(...)  BANNED(atof, "use strtod and check its end")

/* Stack that nobody counts; names that somebody else may take first. */
#undef alloca
#undef mktemp
#undef tmpnam
#undef tempnam
#define alloca(...)  BANNED(alloca, "use an arena")
#define mktemp(...)  BANNED(mktemp, "use mkstemp or mkdtemp")
#define tmpnam(...)  BANNED(tmpnam, "use mkstemp or mkdtemp")
#define tempnam(...) BANNED(tempnam, "use mkstemp or mkdtemp")

#endif
