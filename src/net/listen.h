/* net/listen.h - sockets that wait for connections. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* "127.0.0.1:4317", "[::1]:4317", "localhost:4317", ":4317" (everywhere), "4317" (this machine only).  Names are looked up, which
 * may wait.  A non-blocking listening socket, closed on exec; -1: `e` says why (ERR_USAGE: no address; ERR_SYS). */
NODISCARD int net_listen(str address, err *e);
/* Is it written as an address, with a port from 0 to 65535?  Looks nothing up.  ERR_USAGE. */
NODISCARD bool net_listen_check(str address, err *e);

/* Does the socket wait on this machine's own addresses only? */
bool net_is_loopback(int fd);

/* "127.0.0.1:4317" of a socket's own side; "" when it cannot be told. */
const char *net_local_text(int fd, char *out, size_t n);

/* Sockets that systemd opened for us (LISTEN_PID, LISTEN_FDS): their count, the first is 3.  Each is made non-blocking and
 * closed on exec. */
int net_listen_inherited(const char *listen_pid, const char *listen_fds);
