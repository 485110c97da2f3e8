/* agent/forks.h - what a fork does to the capture: parent goes on, child begins anew (capture_forked). */
#pragma once
#include "base/err.h"

/* From now on forks are noticed. */
NODISCARD bool forks_open(err *e);
