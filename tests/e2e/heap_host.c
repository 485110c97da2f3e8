/* heap_host [WITHOUT_PVALLOC] - calls every allocation function and prints the properties of the
 * result that the C library guarantees.  The heap library must not change the output.  (jemalloc
 * has no pvalloc: libc's is then called, and jemalloc's free crashes on its block.) */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

/* The program does on purpose what the analyzer reports: realloc to size 0, leaks after failures, vfork.
 * NOLINTBEGIN(clang-analyzer-*) */

static volatile size_t half = SIZE_MAX / 2, too_much = (size_t)PTRDIFF_MAX - 4096;

static void say(const char *name, const void *p, size_t align, size_t n)
{
    printf("%s(%zu): %s, aligned: %d, room: %d, errno %d\n", name, n, p ? "block" : "none",
           !((uintptr_t)p % align), malloc_usable_size((void *)(uintptr_t)p) >= n, errno);
    errno = 0;
}

static bool zeros(const char *p, size_t n)
{
    while (n && !p[n - 1]) n--;
    return !n;
}

static void blocks(size_t n, bool with_pvalloc)
{
    errno = 0;
    char *volatile p = malloc(n);
    say("malloc", p, 16, n);
    memset(p, 7, n);
    free(p);
    p = calloc(n, 1);
    say("calloc", p, 16, n);
    printf("zeros: %d\n", zeros(p, n));
    free(p);
    for (size_t align = 8; align <= 8192; align *= 4) {
        void *q = NULL;
        printf("posix_memalign: %d\n", posix_memalign(&q, align, n));
        say("posix_memalign", q, align, n);
        free(q);
        p = aligned_alloc(align, n);
        say("aligned_alloc", p, align, n);
        free(p);
        p = memalign(align, n);
        say("memalign", p, align, n);
        free(p);
    }
    p = valloc(n);
    say("valloc", p, 4096, n);
    free(p);
    if (!with_pvalloc) return;
    p = pvalloc(n);
    say("pvalloc", p, 4096, n);
    free(p);
}

static void sizes(void)
{
    unsigned sum = 0;
    char *p = NULL;
    for (size_t n = 1; n < 20 << 20; n = n * 5 / 3 + 1) {
        p = realloc(p, n);
        for (size_t i = n * 3 / 5 > 2 ? n * 3 / 5 - 2 : 0; i < n; i++) p[i] = (char)(i * 31);
        for (size_t i = 0; i < n; i += n / 64 + 1) sum = sum * 33 + (unsigned char)p[i];
    }
    for (size_t n = 10 << 20; n > 1; n /= 2) {
        p = realloc(p, n);
        for (size_t i = 0; i < n; i += n / 64 + 1) sum = sum * 33 + (unsigned char)p[i];
    }
    p = reallocarray(p, 100, 7);
    printf("after all sizes: %u\n", sum);
    free(p);
}

static void failures(void)
{
    errno = 0;
    char *volatile p = malloc(10);
    void *volatile q = malloc(too_much);
    say("malloc", q, 1, 0);
    q = calloc(half, 3);
    say("calloc", q, 1, 0);
    q = realloc(p, too_much);
    say("realloc", q, 1, 0);
    q = reallocarray(p, half, 3);
    say("reallocarray", q, 1, 0);
    q = memalign(64, too_much);
    say("memalign", q, 1, 0);
    q = valloc(too_much);
    say("valloc", q, 1, 0);
    void *r = NULL;
    printf("posix_memalign: %d %d\n", posix_memalign(&r, 3, 10), posix_memalign(&r, 64, too_much));
    say("posix_memalign", r, 1, 0);
    errno = 77;
    free(p);
    free(NULL);
    printf("errno after free: %d\n", errno);
    p = malloc(5);
    q = realloc(p, 0);
    printf("realloc to nothing: %s\n", q ? "block" : "none");
}

static void library(void)
{
    char *text = NULL, *line = NULL;
    size_t room = 0;
    FILE *f = open_memstream(&text, &room);
    for (int i = 0; i < 5000; i++) fprintf(f, "%d ", i);
    fclose(f);
    char *copy = strdup(text), *part = strndup(text, 20), *made = NULL;
    wchar_t *wide = wcsdup(L"wide");
    if (asprintf(&made, "%s|%zu|%ls", part, strlen(copy), wide) < 0) made = NULL;
    printf("%s\n", made);
    f = fmemopen(copy, strlen(copy), "r");
    size_t n = 0;
    printf("line: %zd\n", getline(&line, &n, f));
    fclose(f);
    free(text), free(copy), free(part), free(made), free(wide), free(line);
}

static void *thread(void *arg)
{
    void **v = arg;
    for (int i = 0; i < 1000; i++) v[i] = memset(malloc((size_t)i + 1), i, (size_t)i + 1);
    return arg;
}

static void threads(void)
{
    static void *v[4][1000];
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, thread, v[i]);
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        for (int k = 0; k < 1000; k++) {
            sum += ((unsigned char *)v[i][k])[k];
            free(v[i][k]);
        }
    }
    printf("from threads: %u\n", sum);
}

static void children(void)
{
    void *p = malloc(1000);
    fflush(stdout);
    for (int i = 0; i < 20; i++) {
        pid_t pid = i % 2 ? fork() : vfork();
        if (!pid) {
            if (i % 2) {
                free(p);
                for (int k = 0; k < 100; k++) free(malloc(1000));
            }
            _exit(i);
        }
        int status;
        waitpid(pid, &status, 0);
        printf("child: %d\n", WEXITSTATUS(status));
    }
    free(p);
}

__attribute__((constructor)) static void early(void) { free(strdup("before main")); }
__attribute__((destructor)) static void late(void) { free(strdup("after main")); }
static void at_exit(void) { free(strdup("at exit")); }

int main(int argc, char **argv)
{
    (void)argv;
    atexit(at_exit);
    static const size_t n[] = {1, 16, 24, 100, 1000, 5000, 100000, 1 << 20};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) blocks(n[i], argc < 2);
    sizes();
    failures();
    library();
    threads();
    children();
    return 0;
}
/* NOLINTEND(clang-analyzer-*) */
