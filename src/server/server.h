/* server/server.h - the daemon: receives, keeps, answers; one loop, one store, a few threads for what takes a while. */
#pragma once
#include "server/config.h"

typedef struct server server;

/* One line for people and logs; `trouble`: something is wrong. */
typedef struct server_voice {
    void (*say)(void *who, bool trouble, const char *line);
    void *who;
} server_voice;

/* Opens the store and listens.  NULL: `e` says why (ERR_USAGE: an address that others reach, without TLS and token). */
NODISCARD server *server_open(const server_config *c, const server_voice *v, err *e);

/* Serves until server_stop.  false: `e` says why it could not go on. */
NODISCARD bool server_run(server *s, err *e);

/* From any thread or signal handler: no new connections, what is under way is answered, then server_run returns. */
void server_stop(server *s);

void server_close(server *s);

/* Where it listens, for people: "127.0.0.1:4317"; NULL behind the last one. */
const char *server_address(const server *s, size_t i);
