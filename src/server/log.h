/* server/log.h - one line for each event on standard error, as text, JSON or logfmt.
 *
 *   text    kiln: listening on http://127.0.0.1:4317
 *   json    {"time":"2026-01-02T03:04:05.678Z","level":"info","event":"listen","message":"listening on ...","address":"..."}
 *   logfmt  time=2026-01-02T03:04:05.678Z level=info event=listen message="listening on ..." address=...
 *
 * Each line is written whole, from any thread. Lines that cannot be written at once are lost: the
 * log never blocks the server. */
#pragma once
#include "base/buf.h"
#include "net/world.h"
#include <stdatomic.h>

typedef enum log_format { LOG_TEXT, LOG_JSON, LOG_LOGFMT } log_format;

NODISCARD bool log_format_parse(const char *text, log_format *out); /* NULL: text */

/* The events that docs/serve.md lists. */
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

/* A field of a JSON or logfmt line. */
typedef struct log_field {
    const char *key;
    const char *text; /* NULL: use the number */
    uint64_t number;
} log_field;

enum { LOG_FIELDS = 6 };

typedef struct log_line {
    log_event event;
    bool warning;
    const char *message;
    log_field fields[LOG_FIELDS]; /* the first field without a key ends the list */
} log_line;

typedef struct logger {
    int fd;
    _Atomic log_format format;
    const world *world; /* has the wall clock */
} logger;

void log_write(logger *l, const log_line *line);

/* Appends the line as log_write writes it; `wall`: Unix ns. */
void log_print(buf *out, log_format f, const log_line *line, uint64_t wall);
