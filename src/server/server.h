/* server/server.h - the daemon: receives and stores profiles and serves queries, with one event
 * loop, one store and a few threads for slow work. */
#pragma once
#include "server/config.h"

typedef struct server server;

typedef struct server_hooks {
    logger *log;
    /* Called in the loop after server_hang_up; should call server_reload.  May be NULL. */
    void (*hang_up)(void *ctx, server *s);
    void *ctx;
} server_hooks;

/* Checks a configuration and the files that it names; opens no store and no socket. */
NODISCARD bool server_check(const server_config *c, err *e);

/* Opens the store and listens; the texts of *c must outlive the server. Returns NULL on failure
 * (ERR_USAGE: an address is reachable from other hosts without TLS and tokens). */
NODISCARD server *server_open(const server_config *c, const server_hooks *h, err *e);

/* Serves until server_stop. Returns false on failure. */
NODISCARD bool server_run(server *s, err *e);

/* Stops the server: it accepts no new connections and finishes open requests, then server_run
 * returns. Callable from any thread or signal handler. */
void server_stop(server *s);

/* Causes a call of the hook hang_up. Callable from any thread or signal handler. */
void server_hang_up(server *s);

/* Applies the settings that may change at run time (`live` of config_keys) and always reloads token
 * and certificate files. Logs the keys that require a restart. Returns false when nothing was
 * changed. */
NODISCARD bool server_reload(server *s, const server_config *next, err *e);

void server_close(server *s);

/* Returns the i-th address that the server listens on, "127.0.0.1:4317"; NULL after the last. */
const char *server_address(const server *s, size_t i);
