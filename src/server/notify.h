/* server/notify.h - state messages to systemd for a service with Type=notify: datagrams to
 * $NOTIFY_SOCKET. */
#pragma once
#include "base/compiler.h"

typedef struct notify {
    const char *socket;   /* path, or @name of an abstract socket; NULL: not under systemd */
    uint64_t watchdog_ns; /* watchdog interval; 0: none */
} notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; `get` works like getenv. */
notify notify_open(char *(*get)(const char *name));

/* Sends "READY=1\nSTATUS=...".  Failures are ignored. */
void notify_send(const notify *n, const char *fmt, ...) PRINTF(2, 3);
