/* server/config.h - how a server is set up: what the command line and the configuration file say.  The zero value is a server for this
 * machine alone, with the defaults that docs/serve.md lists.
 *
 *   file ─ config_read ─► server_config ◄─ command line, which wins
 *                              ├─ config_check: do its parts fit together?
 *                              └─ config_print: the same as a file, defaults filled in */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "net/http_server.h"
#include "server/ingest.h"
#include "server/log.h"
#include "store/store.h"

enum { CONFIG_LISTENS = 16, CONFIG_KEYS = 64 };
#define CONFIG_MAX_BYTES ((size_t)256 << 10) /* of a file */

typedef struct config_list {
    str v[CONFIG_LISTENS];
    size_t n;
} config_list;

/* Where to pass on what was received (server/forward.h). */
typedef struct forward_config {
    const char *to;                     /* URL; NULL: nowhere */
    const char *protocol, *compression; /* as otlp/config.h parses them; NULL: by the port; none */
    tls_files tls;
    config_list headers; /* NAME=VALUE */
    const char *spool;   /* directory; NULL: the journal alone */
    uint64_t spool_max, queue, journal;
} forward_config;

typedef struct server_config {
    config_list listen;                     /* addresses; none: SERVER_LISTEN */
    config_list hosts;                      /* names that are ours (server/origin.h) */
    const char *store;                      /* directory */
    uint64_t max_age, max_bytes;            /* as in store_opts */
    uint64_t max_raw, max_raw_age;          /* the same */
    uint64_t min_age, max_backlog;          /* the same */
    bool drop_at_once;                      /* the same */
    tls_files tls;                          /* cert NULL: no TLS */
    const char *write_tokens, *read_tokens; /* files (server/guard.h); NULL: everybody may */
    bool insecure;          /* other machines may talk to us without TLS and without a token */
    const char *log_format; /* as log_format_parse has it; NULL: text */
    http_limits http;
    ingest_opts ingest;
    forward_config forward;
} server_config;

/* gRPC, HTTP, and people: each speaks everything. */
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

/* One key of the file.  A dot stands for a mapping inside a mapping. */
typedef struct config_key {
    const char *name;
    config_kind kind;
    size_t at;           /* offsetof(server_config, ...) */
    size_t width;        /* bytes of a number there */
    bool live;           /* a reload changes it; others want a restart */
    bool may_be_none;    /* "none" is UINT64_MAX: no limit */
    bool secret;         /* values behind `=` are not printed */
    const char *usual;   /* what 0 and NULL stand for, as a person writes it; NULL: nothing */
    const char *choices; /* "text json" */
    const char *what;    /* for docs/serve.md */
} config_key;

const config_key *config_keys(size_t *n);

/* YAML over what *out has; texts lie in `a`.  ERR_MALFORMED: "line 3, column 5: what is wrong; what to do". */
NODISCARD bool config_read(str yaml, arena *a, server_config *out, err *e);

/* ERR_USAGE: a part that makes no sense without another one.  Looks at no file. */
NODISCARD bool config_check(const server_config *c, err *e);

/* As a file that means the same.  Passwords in headers are left out. */
void config_print(const server_config *c, buf *out);

/* What holds for the key of this name, as a person writes it: what was given, or the usual. */
void config_value(const server_config *c, const char *name, buf *out);

/* Do both say the same for this key? */
bool config_same(const config_key *k, const server_config *a, const server_config *b);
