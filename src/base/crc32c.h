/* crc32c.h - the checksum of lines and frames (Castagnoli). */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include "base/base.h"

/*
 * Go on from `crc` (0 to begin) over `len` bytes.  Uses the processor's
 * instruction where there is one, three streams at a time for long input;
 * crc32c_portable is the same in plain C and always available.
 */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
