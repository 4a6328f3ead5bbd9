/* sanitized.h - whether this build is slow because it looks for mistakes. */
#ifndef SIM_SANITIZED_H
#define SIM_SANITIZED_H

#include <stdbool.h>

static inline bool is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return true;
#else
	return false;
#endif
#else
	return false;
#endif
}

#endif
