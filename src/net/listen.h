/* net/listen.h - opens listening sockets. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* Opens a non-blocking listening socket, closed on exec.  Addresses: "127.0.0.1:4317",
 * "[::1]:4317", "localhost:4317", ":4317" (all interfaces), "4317" (loopback only).  Name lookup
 * may block.  Returns -1 on failure (ERR_USAGE for an invalid address, otherwise ERR_SYS). */
NODISCARD int net_listen(str address, err *e);
/* Checks the syntax of an address without a lookup.  Fails with ERR_USAGE. */
NODISCARD bool net_listen_check(str address, err *e);

/* Returns whether the socket is bound to a loopback address. */
bool net_is_loopback(int fd);

/* Returns the local address of a socket, such as "127.0.0.1:4317", or "" when it is unknown. */
const char *net_local_text(int fd, char *out, size_t n);

/* Returns the number of sockets that systemd passed (LISTEN_PID, LISTEN_FDS); the first is
 * descriptor 3.  Makes each non-blocking and closed on exec. */
int net_listen_inherited(const char *listen_pid, const char *listen_fds);
