#include "agent/voice.h"

#include "agent/descriptors.h"
#include "base/ban.h"
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SENTENCE_BYTES = 400 };

/* Globals: there is one stderr.  A slot is taken by counting `used` up, and read when it is `ready`. */
static struct {
    _Atomic uint32_t used;
    _Atomic bool quiet;
    dev_t dev;
    ino_t ino;
    bool open;
    struct {
        _Atomic bool ready;
        char text[SENTENCE_BYTES];
    } slot[VOICE_SENTENCES];
} voice;

void voice_open(void)
{
    struct stat st;
    voice.open = fstat(STDERR_FILENO, &st) == 0;
    if (voice.open) voice.dev = st.st_dev, voice.ino = st.st_ino;
}

void voice_quiet(void) { atomic_store(&voice.quiet, true); }

static bool was_said(const char *sentence)
{
    for (size_t i = 0; i < VOICE_SENTENCES; i++)
        if (atomic_load(&voice.slot[i].ready) &&
            !strncmp(voice.slot[i].text, sentence, SENTENCE_BYTES - 1))
            return true;
    return false;
}

/* Nobody reads: the thread would wait for ever, or, if nobody ever will, get SIGPIPE; it may be the program's. */
static bool listens(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

static void print(const char *sentence, int fd)
{
    struct stat st;
    char line[SENTENCE_BYTES + 16];
    if (fstat(fd, &st) || st.st_dev != voice.dev || st.st_ino != voice.ino || !listens(fd)) return;
    int n = snprintf(line, sizeof line, "kiln: %s", sentence);
    size_t end = n < 0 ? 0 : (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[end] = '\n';
    if (write(fd, line, end + 1) < 0) return; /* nobody listens */
}

void voice_say(const char *sentence)
{
    if (was_said(sentence)) return;
    uint32_t i = atomic_fetch_add(&voice.used, 1);
    if (i >= VOICE_SENTENCES) {
        atomic_store(&voice.used, VOICE_SENTENCES);
        return;
    }
    snprintf(voice.slot[i].text, SENTENCE_BYTES, "%s", sentence);
    atomic_store(&voice.slot[i].ready, true);
    if (!voice.open || atomic_load(&voice.quiet)) return;
    int fd = descriptors_stderr();
    if (fd < 0) return;
    print(sentence, fd);
    close(fd);
}

size_t voice_said(const char *out[VOICE_SENTENCES])
{
    size_t n = 0;
    for (size_t i = 0; i < VOICE_SENTENCES; i++)
        if (atomic_load(&voice.slot[i].ready)) out[n++] = voice.slot[i].text;
    return n;
}

void voice_forked(void)
{
    for (size_t i = 0; i < VOICE_SENTENCES; i++) atomic_store(&voice.slot[i].ready, false);
    atomic_store(&voice.used, 0);
}
