/* server/config.h - the configuration of a server, from the command line and a YAML file.  The zero
 * value is a server on loopback addresses with the defaults that docs/serve.md lists.
 *
 *   file ─ config_read ─► server_config ◄─ command line, which takes precedence
 *                              ├─ config_check: is it consistent?
 *                              └─ config_print: as a file, with all defaults */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "net/http_server.h"
#include "server/ingest.h"
#include "server/log.h"
#include "store/store.h"

enum { CONFIG_LISTENS = 16, CONFIG_KEYS = 64 };
#define CONFIG_MAX_BYTES ((size_t)256 << 10) /* maximum size of a file */

typedef struct config_list {
    str v[CONFIG_LISTENS];
    size_t n;
} config_list;

/* The receiver to forward to (server/forward.h). */
typedef struct forward_config {
    const char *to; /* URL; NULL: forward nothing */
    const char *protocol,
        *compression; /* for otlp/config.h; NULL: protocol by the port, no compression */
    tls_files tls;
    config_list headers; /* NAME=VALUE */
    const char *spool;   /* directory; NULL: no spool */
    uint64_t spool_max, queue, journal;
} forward_config;

typedef struct server_config {
    config_list listen;                     /* addresses; empty: SERVER_LISTEN */
    config_list hosts;                      /* names of this server (server/origin.h) */
    const char *store;                      /* directory */
    uint64_t max_age, max_bytes;            /* as in store_opts */
    uint64_t max_raw, max_raw_age;          /* compact_bytes, compact_age in store_opts */
    uint64_t min_age, max_backlog;          /* as in store_opts */
    bool drop_at_once;                      /* as in store_opts */
    tls_files tls;                          /* cert NULL: no TLS */
    const char *write_tokens, *read_tokens; /* files (server/guard.h); NULL: no token required */
    bool insecure; /* other hosts may connect without TLS and without a token */
    const char *source_link, *source_trim; /* links of the page to source code; NULL: none */
    const char *source_debuginfod;         /* URLs of servers with source code; NULL: none */
    const char *log_format;                /* for log_format_parse; NULL: text */
    const char *pyroscope;                 /* "off": no endpoints of Pyroscope; NULL or "on" */
    http_limits http;
    ingest_opts ingest;
    forward_config forward;
} server_config;

/* The default ports of gRPC, of HTTP and of the viewer; each accepts every protocol. */
#define SERVER_LISTEN                                                                              \
    {                                                                                              \
        "127.0.0.1:4317", "127.0.0.1:4318", "127.0.0.1:4040"                                       \
    }

typedef enum config_kind {
    KEY_TEXT,   /* const char * */
    KEY_SIZE,   /* bytes: 64MiB */
    KEY_TIME,   /* ns: 10s */
    KEY_COUNT,  /* a whole number */
    KEY_FLAG,   /* bool */
    KEY_CHOICE, /* const char *, one of `choices` */
    KEY_LIST,   /* config_list */
} config_kind;

/* One key of the file.  A dot separates the section from the key. */
typedef struct config_key {
    const char *name;
    config_kind kind;
    size_t at;           /* offsetof(server_config, ...) */
    size_t width;        /* size of a number */
    bool live;           /* a reload applies it; other keys require a restart */
    bool may_be_none;    /* "none" is UINT64_MAX: no limit */
    bool secret;         /* config_print omits the part after `=` */
    const char *usual;   /* the default, as written in a file; NULL: none */
    const char *choices; /* "text json" */
    const char *what;    /* for docs/serve.md */
} config_key;

const config_key *config_keys(size_t *n);

/* Reads YAML into *out and keeps the values of keys that the file does not set. Texts are allocated
 * in `a`. Messages of ERR_MALFORMED: "line 3, column 5: problem; advice". */
NODISCARD bool config_read(str yaml, arena *a, server_config *out, err *e);

/* Checks the settings without opening files. ERR_USAGE: a setting requires another one. */
NODISCARD bool config_check(const server_config *c, err *e);

/* Prints an equivalent file, without the values of headers. */
void config_print(const server_config *c, buf *out);

/* Prints the value of a key, or its default, as written in a file. */
void config_value(const server_config *c, const char *name, buf *out);

/* Returns whether the endpoints of Pyroscope are served. */
bool config_has_pyroscope(const server_config *c);

/* Returns whether both configurations have the same value for this key. */
bool config_same(const config_key *k, const server_config *a, const server_config *b);
