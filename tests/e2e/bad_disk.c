/* kiln_bad_disk - kiln with the failing VFS (tests/support/bad_vfs.h), for serve_kill. The file
 * that KILN_BAD_DISK names has the bad_plan; the test shares it and may change it at any time. */
#include "../support/bad_vfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("KILN_BAD_DISK");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *p = fd < 0 ? MAP_FAILED
                     : mmap(NULL, sizeof *bad_now, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "kiln_bad_disk: KILN_BAD_DISK has no plan\n");
        _exit(2);
    }
    close(fd);
    bad_now = p;
    bad_no_sync = false;
    bad_vfs_register(true);
}

/* Wraps the sends of the server: the linker calls this instead of the real function (--wrap). */
ssize_t __real_send(int fd, const void *p, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *p, size_t n, int flags);

ssize_t __wrap_send(int fd, const void *p, size_t n, int flags)
{
    static long seen; /* syncs before the last response; one thread responds */
    long synced = __atomic_load_n(&bad_synced, __ATOMIC_ACQUIRE);
    bool after_sync = synced != seen;
    seen = synced;
    if (after_sync && bad_hits(BAD_DIE_ANSWER)) bad_end();
    ssize_t sent = __real_send(fd, p, n, flags);
    if (after_sync && bad_hits(BAD_DIE_ANSWERED)) bad_end();
    return sent;
}
