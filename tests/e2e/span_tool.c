/* A program with spans, for ctx_oracle.  Uses the installed header only.
 *   span_tool hold            publishes, two threads in nested scopes
 *   span_tool threads N       N threads, each in its own scope
 *   span_tool spin            changes process and thread context constantly
 *   span_tool fork            a child without its own context, and its parent with one
 *   span_tool exec            publishes, then execs itself as `idle`
 *   span_tool idle            publishes nothing
 *   span_tool late            works, publishes, works in a scope, adds another key, works with it, ends
 *   span_tool taken           prints the result of publishing after another publisher
 * Prints "ready PID" and runs until the end of standard input. */
#include <kiln/span.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void ready(void)
{
    char c;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) > 0) continue;
    _exit(0);
}

static void enter(kiln_span_scope *s, unsigned b)
{
    uint8_t id[16];
    memset(id, (int)b, sizeof id);
    kiln_span_enter(s, id, id, KILN_SPAN_SAMPLED);
}

static void publish(const char *name, const char *version)
{
    kiln_span_pair resource[] = {{"deployment.environment.name", "test \xc3\xa9"}};
    kiln_span_pair extra[] = {{"kiln.test", "extra"}};
    kiln_span_process p = {0};
    p.size = sizeof p;
    p.service_name = name;
    p.service_version = version;
    p.resource = resource;
    p.n_resource = 1;
    p.attributes = extra;
    p.n_attributes = 1;
    kiln_span_code code = kiln_span_publish(&p);
    if (code) printf("%s\n", kiln_span_code_text(code));
}

static pthread_barrier_t in;

static void *worker(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;
    kiln_span_scope s;
    char value[16];
    snprintf(value, sizeof value, "%u", i);
    enter(&s, 1 + i % 255);
    kiln_span_attr(kiln_span_key("worker"), value, strlen(value));
    pthread_barrier_wait(&in);
    pause();
    return NULL;
}

static void threads(unsigned n)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    pthread_barrier_init(&in, NULL, n + 1);
    for (unsigned i = 0; i < n; i++) {
        pthread_t t;
        if (pthread_create(&t, &small, worker, (void *)(uintptr_t)i)) exit(3);
    }
    pthread_barrier_wait(&in);
}

static void hold(void)
{
    kiln_span_scope a, b;
    int route = kiln_span_key("http.route"), user = kiln_span_key("user.id");
    publish("checkout", "1.2.3");
    threads(1);
    prctl(PR_SET_NAME, "main \xff"); /* names need not be UTF-8 */
    enter(&a, 0x11);
    kiln_span_attr(route, "/cart", 5);
    enter(&b, 0x22);
    kiln_span_attr(user, "\xe2\x82\xac 42", 6);
    kiln_span_attr(route, "/cart/pay", 9);
    ready();
}

static void *spin(void *arg)
{
    int k = kiln_span_key("spin");
    (void)arg;
    for (unsigned i = 0;; i++) {
        kiln_span_scope s;
        char text[200];
        enter(&s, 1 + i % 250);
        memset(text, 'a' + (int)(i % 26), sizeof text);
        kiln_span_attr(k, text, i % sizeof text);
        kiln_span_attr(k, text, (i / 2) % sizeof text);
        kiln_span_exit(&s);
    }
    return NULL;
}

static void *update(void *arg)
{
    (void)arg;
    for (unsigned i = 0;; i++) {
        char text[300];
        memset(text, 'a' + (int)(i % 26), sizeof text);
        text[1 + i % 299] = '\0';
        publish(text, text);
        if (i % 64 == 0) usleep(100); /* otherwise no reader would find the context unchanged */
    }
    return NULL;
}

static void work(unsigned ms)
{
    struct timespec t;
    uint64_t end = 0, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
        if (!end) end = now + ms;
    } while (now < end);
}

static void late(void)
{
    kiln_span_scope s;
    work(100);
    publish("late", "1");
    enter(&s, 7);
    work(150);
    kiln_span_attr(kiln_span_key("late.key"), "late value", 10);
    work(150);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    pthread_t t;
    if (!strcmp(mode, "hold")) hold();
    if (!strcmp(mode, "late")) late();
    if (!strcmp(mode, "threads")) {
        publish("many", "1");
        threads((unsigned)strtoul(argv[2], NULL, 10));
    }
    if (!strcmp(mode, "spin")) {
        publish("a", "a");
        pthread_create(&t, NULL, spin, NULL);
        pthread_create(&t, NULL, update, NULL);
    }
    if (!strcmp(mode, "fork")) {
        publish("parent", "1");
        if (fork() > 0) pause();
    }
    if (!strcmp(mode, "exec")) {
        publish("before", "1");
        execl("/proc/self/exe", "span_tool", "idle", (char *)NULL);
    }
    if (!strcmp(mode, "taken")) {
        int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
        if (ftruncate(fd, 4096) || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            return 3;
        publish("second", "1");
    }
    ready();
}
