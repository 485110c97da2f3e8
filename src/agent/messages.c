/* Prints messages on the program's stderr and remembers them for the report. */
#include "agent/messages.h"

#include "agent/descriptors.h"
#include "base/ban.h"
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 400 };

/* The state is global, because a process has one stderr.  A message reserves a slot by incrementing
 * `used`; the slot is readable when it is `ready`. */
static struct {
    _Atomic uint32_t used;
    _Atomic bool quiet;
    dev_t dev;
    ino_t ino;
    bool open;
    struct {
        _Atomic bool ready;
        char text[MESSAGE_BYTES];
    } slot[MESSAGES_MAX];
} messages;

void messages_open(void)
{
    struct stat st;
    messages.open = fstat(STDERR_FILENO, &st) == 0;
    if (messages.open) messages.dev = st.st_dev, messages.ino = st.st_ino;
}

void messages_quiet(void) { atomic_store(&messages.quiet, true); }

static bool was_printed(const char *text)
{
    for (size_t i = 0; i < MESSAGES_MAX; i++)
        if (atomic_load(&messages.slot[i].ready) &&
            !strncmp(messages.slot[i].text, text, MESSAGE_BYTES - 1))
            return true;
    return false;
}

/* Returns false for a full pipe, to which a write would block, and for a pipe without readers,
 * which would raise SIGPIPE. */
static bool is_writable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

static void print(const char *text, int fd)
{
    struct stat st;
    char line[MESSAGE_BYTES + 16];
    if (fstat(fd, &st) || st.st_dev != messages.dev || st.st_ino != messages.ino ||
        !is_writable(fd))
        return;
    int n = snprintf(line, sizeof line, "kiln: %s", text);
    size_t end = n < 0 ? 0 : (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[end] = '\n';
    if (write(fd, line, end + 1) < 0) return; /* the pipe has no reader any more */
}

void messages_print(const char *text)
{
    if (was_printed(text)) return;
    uint32_t i = atomic_fetch_add(&messages.used, 1);
    if (i >= MESSAGES_MAX) {
        atomic_store(&messages.used, MESSAGES_MAX);
        return;
    }
    snprintf(messages.slot[i].text, MESSAGE_BYTES, "%s", text);
    atomic_store(&messages.slot[i].ready, true);
    if (!messages.open || atomic_load(&messages.quiet)) return;
    int fd = descriptors_stderr();
    if (fd < 0) return;
    print(text, fd);
    close(fd);
}

size_t messages_list(const char *out[MESSAGES_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < MESSAGES_MAX; i++)
        if (atomic_load(&messages.slot[i].ready)) out[n++] = messages.slot[i].text;
    return n;
}

void messages_forked(void)
{
    for (size_t i = 0; i < MESSAGES_MAX; i++) atomic_store(&messages.slot[i].ready, false);
    atomic_store(&messages.used, 0);
}
