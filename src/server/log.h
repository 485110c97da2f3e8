/* server/log.h - one line an event on standard error, for people or for machines.
 *
 *   text    kiln: listening on http://127.0.0.1:4317
 *   json    {"time":"2026-01-02T03:04:05.678Z","level":"info","event":"listen","message":"listening on ...","address":"..."}
 *   logfmt  time=2026-01-02T03:04:05.678Z level=info event=listen message="listening on ..." address=...
 *
 * Lines go out whole, from any thread.  What cannot be written is lost: a log never holds the server up. */
#pragma once
#include "base/buf.h"
#include "net/world.h"
#include <stdatomic.h>

typedef enum log_format { LOG_TEXT, LOG_JSON, LOG_LOGFMT } log_format;

NODISCARD bool log_format_parse(const char *text, log_format *out); /* NULL: text */

/* What happened; `events` of docs/serve.md. */
#define LOG_EVENTS(X)                                                                              \
    X(START, "start")                                                                              \
    X(LISTEN, "listen")                                                                            \
    X(READY, "ready")                                                                              \
    X(REFUSED, "refused")                                                                          \
    X(REJECTED, "rejected")                                                                        \
    X(RETENTION, "retention")                                                                      \
    X(QUARANTINE, "quarantine")                                                                    \
    X(STORE, "store")                                                                              \
    X(CERTIFICATE, "certificate")                                                                  \
    X(TOKENS, "tokens")                                                                            \
    X(RELOAD, "reload")                                                                            \
    X(FORWARD, "forward")                                                                          \
    X(DRAIN, "drain")                                                                              \
    X(STOP, "stop")

typedef enum log_event {
#define X(name, text) LOG_##name,
    LOG_EVENTS(X)
#undef X
} log_event;

/* A fact beside the sentence, for machines. */
typedef struct log_fact {
    const char *key;
    const char *text; /* NULL: the number */
    uint64_t number;
} log_fact;

enum { LOG_FACTS = 6 };

typedef struct log_line {
    log_event event;
    bool trouble;
    const char *sentence;
    log_fact facts[LOG_FACTS]; /* up to the first without a key */
} log_line;

typedef struct logger {
    int fd;
    _Atomic log_format format;
    const world *world; /* for its wall clock */
} logger;

void log_write(logger *l, const log_line *line);

/* The line with its end, as log_write writes it; `wall`: Unix ns. */
void log_print(buf *out, log_format f, const log_line *line, uint64_t wall);
