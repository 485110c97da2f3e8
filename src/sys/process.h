/* sys/process.h - inspects another process.
 *
 * Failures are ERR_SYS: ESRCH when the process has ended, EPERM or EACCES without permission. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    PROCESS_MAPS_BYTES = 64 << 20, /* maximum size of /proc/PID/maps; the rest is dropped */
    PROCESS_NAME_BYTES = 64,
};

/* Reads all lines of /proc/PID/maps into the arena. */
NODISCARD bool process_maps(int pid, arena *a, str *out, err *e);

/* Lists the threads of the process in ascending order. */
NODISCARD bool process_threads(int pid, arena *a, u32s *out, err *e);

/* Stores the kernel's name of a thread; "" when it has ended. */
void process_thread_name(int pid, uint32_t tid, char name[PROCESS_NAME_BYTES]);

/* Returns the process of a thread; 0: there is no such thread. */
uint32_t process_of_thread(uint32_t tid);

/* Returns whether the process runs.  Its first thread may end before the others, so a zombie with
 * threads is alive. */
bool process_is_alive(uint32_t pid);
bool process_is_kernel_thread(uint32_t pid);

/* Reads n bytes of the process's memory.  Returns false and sets errno when they are not readable
 * (no `e`, because callers expect failures). */
NODISCARD bool process_read(int pid, uint64_t address, void *p, size_t n);

/* Stops one thread until process_resume, with ptrace, so no other tracer may be attached.  Its
 * registers can be read, and its memory does not change unless other threads change it.  Fails with
 * ETIMEDOUT after about a second. */
NODISCARD bool process_stop(uint32_t tid, err *e);
void process_resume(uint32_t tid);

/* Sets *tp to the thread pointer of a stopped thread (fs_base, tpidr_el0).  Fails with
 * ERR_UNSUPPORTED on other architectures. */
NODISCARD bool process_thread_pointer(uint32_t tid, uint64_t *tp, err *e);

void process_pause_ms(unsigned ms);
