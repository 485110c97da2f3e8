/* sys/process.h - another process of this machine, looked at from outside.
 *
 * Failures are ERR_SYS: ESRCH when it is gone, EPERM or EACCES when it is not ours to look at. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    PROCESS_MAPS_BYTES = 64 << 20, /* of /proc/PID/maps that are read; the rest is cut */
    PROCESS_NAME_BYTES = 64,
};

/* All lines of /proc/PID/maps, in the arena. */
NODISCARD bool process_maps(int pid, arena *a, str *out, err *e);

/* Its threads, in ascending order. */
NODISCARD bool process_threads(int pid, arena *a, u32s *out, err *e);

/* What the kernel calls a thread; "" when it is gone. */
void process_thread_name(int pid, uint32_t tid, char name[PROCESS_NAME_BYTES]);

/* n bytes of its memory.  false: not readable (no `e`: readers of foreign memory expect it); errno
 * says why. */
NODISCARD bool process_read(int pid, uint64_t address, void *p, size_t n);

/* Stops one thread until process_resume (ptrace, which nobody else may be using on it).  Its registers
 * can be asked then and its memory does not change under the reader, unless other threads change it.
 * ETIMEDOUT after about a second. */
NODISCARD bool process_stop(uint32_t tid, err *e);
void process_resume(uint32_t tid);

/* Thread pointer of a stopped thread: fs_base, tpidr_el0.  ERR_UNSUPPORTED on other machines. */
NODISCARD bool process_thread_pointer(uint32_t tid, uint64_t *tp, err *e);

void process_pause_ms(unsigned ms);
