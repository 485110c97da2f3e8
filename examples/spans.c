/* Publishes the span of each thread, so that a profile can be queried by trace.
 *
 * Build: gcc spans.c $(pkg-config --cflags --libs kiln-span) -pthread
 * With the argument "wait" it keeps running: try `kiln ctx PID` in another terminal. */
#include <kiln/span.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In a real program the ids come from the tracer.  These are from the W3C's example. */
static const uint8_t trace_id[16] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                     0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
static const uint8_t server_span[8] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
static const uint8_t query_span[8] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb8};

static void query(void)
{
    kiln_span_scope s;
    kiln_span_enter(&s, trace_id, query_span, KILN_SPAN_SAMPLED);
    /* ... samples taken here have the span query_span ... */
    kiln_span_exit(&s);
}

/* The second half of a request runs on another thread, which attaches its context. */
static void *later(void *task)
{
    kiln_span_attach(task, NULL);
    query();
    kiln_span_detach(NULL, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    kiln_span_process ctx = {.size = sizeof ctx, .service_name = "spans-example"};
    kiln_span_code code = kiln_span_publish(&ctx);
    if (code) fprintf(stderr, "not published: %s\n", kiln_span_code_text(code));
    int route = kiln_span_key("http.route");

    kiln_span_scope request;
    kiln_span_enter(&request, trace_id, server_span, KILN_SPAN_SAMPLED);
    kiln_span_attr(route, "/cart", strlen("/cart"));
    query();
    kiln_span_context task;
    pthread_t t;
    kiln_span_current(&task);
    if (pthread_create(&t, NULL, later, &task) == 0) pthread_join(t, NULL);
    if (argc > 1 && !strcmp(argv[1], "wait")) {
        printf("kiln ctx %d\n", (int)getpid());
        fflush(stdout);
        pause();
    }
    kiln_span_exit(&request);

    kiln_span_counters lost = {.size = sizeof lost};
    kiln_span_count(&lost);
    return lost.attrs_dropped + lost.keys_refused ? 1 : 0;
}
