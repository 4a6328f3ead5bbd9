/*
 * A fuzz target is one file, fuzz-NAME.c, with this one function.  It takes
 * any bytes and returns 0; what it must not do is crash, leak or hang.
 */
#ifndef WEFT_TESTS_FUZZ_H
#define WEFT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
