/* server/notify.h - what systemd wants to hear of a service with Type=notify: datagrams to $NOTIFY_SOCKET. */
#pragma once
#include "base/compiler.h"

typedef struct notify {
    const char *socket;   /* path, or @name of an abstract one; NULL: nobody listens */
    uint64_t watchdog_ns; /* how often we have to say that we live; 0: never */
} notify;

/* From NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID; `get` as getenv. */
notify notify_open(char *(*get)(const char *name));

/* "READY=1\nSTATUS=...".  Nothing comes back: who does not listen is not told. */
void notify_say(const notify *n, const char *fmt, ...) PRINTF(2, 3);
