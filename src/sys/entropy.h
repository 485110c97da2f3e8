/* sys/entropy.h - unpredictable numbers. */
#pragma once
#include "base/compiler.h"

/* Returns 64 random bits: from getrandom(2), or from the auxiliary vector. */
uint64_t entropy_u64(void);
