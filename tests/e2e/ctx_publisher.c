/* An independent publisher, written from the tables of the OTEPs without code of Kiln; for
 * ctx_oracle.
 *
 * Compiled in several ways (-DLIBRARY: the part with the variable; -DPROGRAM: the part that uses
 * it), so that the variable is bound by every TLS model.  PAYLOAD is the file with the
 * ProcessContext, encoded by Google's protobuf. Prints "ready PID" and runs until the end of
 * standard input.  With another argument it publishes late: it waits for a line, works for 150 ms,
 * publishes, works in a span for the number of ms in the argument, and prints "done 0". */
#ifndef PADDING
#define PADDING 8 /* extra thread-local bytes: a large number does not fit the static block */
#endif

#ifndef ALIGN
#define ALIGN 1
#endif

#ifdef LIBRARY
#include <stdint.h>
#include <string.h>

__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;
__thread char padding[PADDING] __attribute__((aligned(ALIGN)));

/* 0 trace-id, 16 span-id, 24 valid, 25 flags, 26 size, 28 entries */
__attribute__((visibility("default"))) void publisher_attach(uint8_t *record, uint8_t id)
{
    uint16_t size = 2 + 3 + 2 + 3 + 2 + 1 + 1;
    memset(record, id, 24);
    record[25] = 0;
    memcpy(record + 26, &size, 2);
    memcpy(record + 28,
           "\0\3old"
           "\0\3new"
           "\x01\1x"
           "\2",
           size); /* the same key twice; half an entry */
    __asm__ volatile("" ::: "memory");
    record[24] = 1;
    padding[0] = 1;
    otel_thread_ctx_v1 = record;
}
#endif

#ifdef PROGRAM
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef DLOPEN
void publisher_attach(uint8_t *record, uint8_t id);
#endif
static void (*attach)(uint8_t *, uint8_t);
static pthread_barrier_t in;

static void *worker(void *arg)
{
    static uint8_t records[8][640];
    uintptr_t i = (uintptr_t)arg;
    if (i) attach(records[i], (uint8_t)(0xa0 + i)); /* worker 0 never uses the variable */
    pthread_barrier_wait(&in);
    pause();
    return NULL;
}

static void publish(const char *path)
{
    static char payload[4096];
    int in_file = open(path, O_RDONLY);
    ssize_t n = read(in_file, payload, sizeof payload);
    int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (n < 0 || ftruncate(fd, 4096)) exit(3);
    char *h = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    madvise(h, 4096, MADV_DONTFORK);
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec,
             at = (uint64_t)(uintptr_t)payload;
    uint32_t version = 2, size = (uint32_t)n;
    const char *odd = getenv("PUBLISHER_HEADER");
    if (odd && !strcmp(odd, "version")) version = 1;
    if (odd && !strcmp(odd, "size")) size = 1 << 20;
    if (odd && !strcmp(odd, "pointer")) at = 0x1000;
    if (odd && !strcmp(odd, "changing")) now = 0;
    memcpy(h, "OTEL_CTX", 8);
    memcpy(h + 8, &version, 4);
    memcpy(h + 12, &size, 4);
    memcpy(h + 24, &at, 8);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(h + 16, &now, 8);
    prctl(0x53564d41, 0, h, 4096, "OTEL_CTX");
}

__attribute__((noinline)) static void work(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    for (long now = 0, end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms; now < end;) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = t.tv_sec * 1000 + t.tv_nsec / 1000000;
    }
}

static void publish_late(const char *path, long ms)
{
    static uint8_t record[640];
    char c;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    if (read(0, &c, 1) != 1) exit(3);
    work(150);
    publish(path);
    attach(record, 0xa7);
    work(ms);
    puts("done 0");
    fflush(stdout);
    while (read(0, &c, 1) > 0) continue;
    exit(0);
}

int main(int argc, char **argv)
{
#ifdef DLOPEN
    void *lib = dlopen(DLOPEN, RTLD_NOW | RTLD_LOCAL);
    if (!lib) return fprintf(stderr, "%s\n", dlerror()), 3;
    attach = (void (*)(uint8_t *, uint8_t))dlsym(lib, "publisher_attach");
#else
    attach = publisher_attach;
#endif
    if (argc > 2) publish_late(argv[1], atol(argv[2]));
    if (argc > 1) publish(argv[1]);
    pthread_barrier_init(&in, NULL, 4);
    for (uintptr_t i = 0; i < 3; i++) {
        pthread_t t;
        pthread_create(&t, NULL, worker, (void *)i);
    }
    pthread_barrier_wait(&in);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (char c; read(0, &c, 1) > 0;) continue;
    return 0;
}
#endif
