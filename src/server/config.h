/* server/config.h - how a server is set up: what the command line and the configuration file say.  The zero value is a server for this
 * machine alone, with the defaults that docs/serve.md lists. */
#pragma once
#include "base/str.h"
#include "net/http_server.h"
#include "server/ingest.h"
#include "store/store.h"

enum { CONFIG_LISTENS = 16 };

typedef struct server_config {
    str listen[CONFIG_LISTENS]; /* addresses; none: SERVER_LISTEN */
    size_t n_listen;
    const char *store;                      /* directory; NULL: the user's own */
    uint64_t max_age, max_bytes;            /* as in store_opts */
    tls_files tls;                          /* cert NULL: no TLS */
    const char *write_tokens, *read_tokens; /* files (server/guard.h); NULL: everybody may */
    bool insecure; /* other machines may talk to us without TLS and without a token */
    http_limits http;
    ingest_opts ingest;
} server_config;

/* gRPC, HTTP, and people: each speaks everything. */
#define SERVER_LISTEN                                                                              \
    {                                                                                              \
        "127.0.0.1:4317", "127.0.0.1:4318", "127.0.0.1:4040"                                       \
    }
