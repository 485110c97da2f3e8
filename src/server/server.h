/* server/server.h - the daemon: receives, keeps, answers; one loop, one store, a few threads for what takes a while. */
#pragma once
#include "server/config.h"

typedef struct server server;

typedef struct server_hooks {
    logger *log;
    void (*hang_up)(
        void *who,
        server *s); /* in the loop, after server_hang_up: calls server_reload; may be NULL */
    void *who;
} server_hooks;

/* Would server_open do?  Reads the files that the configuration names; opens no store and no socket. */
NODISCARD bool server_check(const server_config *c, err *e);

/* Opens the store and listens; the texts of *c must outlive it.  NULL: `e` says why (ERR_USAGE: an address that others reach, without TLS and token). */
NODISCARD server *server_open(const server_config *c, const server_hooks *h, err *e);

/* Serves until server_stop.  false: `e` says why it could not go on. */
NODISCARD bool server_run(server *s, err *e);

/* From any thread or signal handler: no new connections, what is under way is answered, then server_run returns. */
void server_stop(server *s);

/* From any thread or signal handler: the hook is called soon. */
void server_hang_up(server *s);

/* Takes over what may change while it runs (`live` of config_keys): the files of tokens and certificates are read again whatever
 * their names.  The log says what wants a restart.  false: nothing was changed.  *next is only read. */
NODISCARD bool server_reload(server *s, const server_config *next, err *e);

void server_close(server *s);

/* Where it listens, for people: "127.0.0.1:4317"; NULL behind the last one. */
const char *server_address(const server *s, size_t i);
