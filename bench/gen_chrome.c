/* gen_chrome.c - writes a long Chromium trace, as about:tracing and DevTools save them.
 *
 *   gen_chrome MEGABYTES OUT.json
 *
 * The trace has processes with threads.  Each thread is a forest of nested complete events, some
 * with arguments, among instant events and begin/end pairs.  Field order, categories and the mix of
 * events are those of a real trace (Chrome 116).  Equal arguments give equal bytes.  The generator
 * shares no code with src/. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROCESSES = 3, THREADS = 6, MAX_DEPTH = 12 };

static const char *const names[] = {
    "RunTask",         "FunctionCall",
    "EvaluateScript",  "v8.compile",
    "UpdateLayerTree", "Layout",
    "Paint",           "ParseHTML",
    "TimerFire",       "EventDispatch",
    "MinorGC",         "Commit",
    "RasterTask",      "FireAnimationFrame",
    "XHRLoad",         "ThreadPool_RunTask",
};
static const char *const categories[] = {
    "disabled-by-default-devtools.timeline", "devtools.timeline", "devtools.timeline,v8",
    "disabled-by-default-devtools.timeline", "toplevel",          "blink,rail",
};
#define PICK(a, n) (a)[(n) % (sizeof(a) / sizeof *(a))]

static FILE *out;
static uint64_t state = 42, n_events;

static uint64_t rnd(void) /* splitmix64 */
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t below(uint32_t n) { return (uint32_t)((rnd() >> 32) * n >> 32); }

typedef struct thread {
    unsigned pid, tid;
    uint64_t now; /* us */
} thread;

static void put_args(void)
{
    if (below(10) < 6) {
        fputs("{\"args\":{},", out);
        return;
    }
    fprintf(out,
            "{\"args\":{\"data\":{\"columnNumber\":%u,\"frame\":\"%08" PRIX32 "%08" PRIX32
            "\",\"functionName\":\"\",\"lineNumber\":%u,\"scriptId\":\"%u\",\"url\":"
            "\"https://shop.example/static/js/%u.chunk.js\"}},",
            below(90000), below(1 << 30), below(64), 1 + below(400), 10 + below(90), below(40));
}

static void put_event(const thread *t, unsigned kind, uint64_t ts, const char *more)
{
    if (n_events++) fputs(",\n  ", out);
    put_args();
    fprintf(out, "\"cat\":\"%s\",%s\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64, PICK(categories, kind),
            more, t->pid, t->tid, ts);
}

static void put_complete(const thread *t, unsigned kind, uint64_t ts, uint64_t dur)
{
    char more[128];
    snprintf(more, sizeof more, "\"dur\":%" PRIu64 ",\"name\":\"%s\",\"ph\":\"X\",", dur,
             PICK(names, kind));
    put_event(t, kind, ts, more);
    fprintf(out, ",\"tdur\":%" PRIu64 ",\"tts\":%" PRIu64 "}", dur - dur / 16, ts / 8);
}

static void put_phase(const thread *t, unsigned kind, uint64_t ts, const char *phase)
{
    char more[128];
    snprintf(more, sizeof more, "\"name\":\"%s\",%s", PICK(names, kind), phase);
    put_event(t, kind, ts, more);
    fprintf(out, ",\"tts\":%" PRIu64 "}", ts / 8);
}

/* One task and the tasks it calls: children are inside it, with gaps between them. */
static void put_task(const thread *t, unsigned kind, uint64_t ts, uint64_t dur, unsigned depth)
{
    bool pair = below(20) == 0;
    if (pair)
        put_phase(t, kind, ts, "\"ph\":\"B\",");
    else
        put_complete(t, kind, ts, dur);
    if (below(12) == 0) put_phase(t, kind + 3, ts, "\"ph\":\"I\",\"s\":\"t\",");
    uint64_t at = ts + 1 + below(3), end = ts + dur;
    while (depth < MAX_DEPTH && dur > 20 && at + 4 < end && below(4)) {
        uint64_t room = end - at, share = 2 + below((uint32_t)room - 2) / 2;
        /* a parent has few kinds of children, as in real code */
        put_task(t, kind * 3 + 1 + below(100) / 70, at, share, depth + 1);
        at += share + 1 + below(8);
    }
    if (pair) put_phase(t, kind, end, "\"ph\":\"E\",");
}

static void put_names(const thread *t)
{
    static const char form[] = "%s{\"args\":{\"name\":\"%s\"},\"cat\":\"__metadata\",\"name\":"
                               "\"thread_name\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"ts\":0}";
    static const char *const ctx[] = {"CrRendererMain", "Compositor", "Chrome_IOThread",
                                      "ThreadPoolForegroundWorker"};
    fprintf(out, form, n_events++ ? ",\n  " : "", PICK(ctx, t->tid), t->pid, t->tid);
}

int main(int argc, char **argv)
{
    long want = argc == 3 ? strtol(argv[1], NULL, 10) * 1000000 : 0;
    out = want > 0 ? fopen(argv[2], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "usage: gen_chrome MEGABYTES OUT.json\n");
        return 2;
    }
    thread t[PROCESSES * THREADS];
    fputs("{\"traceEvents\": [\n  ", out);
    for (unsigned i = 0; i < PROCESSES * THREADS; i++) {
        t[i] = (thread){6488 + i / THREADS * 31, 259 + i * 1024, UINT64_C(9632390000)};
        put_names(&t[i]);
    }
    while (ftell(out) < want) {
        thread *me = &t[below(PROCESSES * THREADS)];
        uint64_t dur = 8 + below(below(8) ? 200 : 4000);
        put_task(me, below(4), me->now, dur, 1);
        me->now += dur + 1 + below(500);
    }
    fputs("\n],\n\"metadata\": {\"source\": \"gen_chrome\"}}\n", out);
    if (fclose(out) != 0) return 3;
    fprintf(stderr, "%" PRIu64 " events\n", n_events);
    return 0;
}
