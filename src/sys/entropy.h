/* sys/entropy.h - numbers that nobody can foresee. */
#pragma once
#include "base/compiler.h"

/* 64 bits from the kernel: getrandom(2), else what execve left in the auxiliary vector. */
uint64_t entropy_u64(void);
