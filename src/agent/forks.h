/* agent/forks.h - fork handlers: the parent continues, and the child starts again
 * (capture_forked). */
#pragma once
#include "base/err.h"

/* Registers the fork handlers. */
NODISCARD bool forks_open(err *e);
