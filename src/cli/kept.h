/* cli/kept.h - profiles that a store or a server keeps, in place of a file:
 *
 *   http://localhost:4040?query=cpu{service.name="shop"}&start=now-1h     asked of kiln serve
 *   /var/lib/kiln/store?query=...                                         read from its directory, also while it writes
 *
 * The words behind the question mark are those of the query API (docs/query-api.md).  Where an argument does not say one,
 * --select (query), --start, --end, --trace-id, --span-id and --profile-id do. */
#pragma once
#include "cli/cli.h"
#include "query/select.h"
#include "server/params.h"

/* What the command looks at: the less, the less has to be read and sent. */
typedef enum kept_need {
    KEPT_ALL,        /* every sample with timestamps, link and attributes */
    KEPT_ATTRIBUTES, /* sums by stack and attributes */
    KEPT_SUMS,       /* sums by stack */
} kept_need;

typedef struct kept_place {
    const char *arg;   /* as it was written */
    const char *where; /* without what is behind the question mark */
    bool server;
    params words;
    kept_need need;
} kept_place;

/* Is the argument one of the two?  A file that is called like that is a file. */
bool kept_is(const char *arg);

/* Takes the argument apart and adds what the options say; memory is the arena's.  ERR_USAGE: a word that nobody knows. */
NODISCARD bool kept_parse(const cli_options *o, const char *arg, arena *a, kept_place *out, err *e);

/* false: there is --select, and no argument that it could choose from; reported. */
bool kept_asked(cli *c);

/* Says that nothing there fits, and how to see what is there. */
void kept_say_nothing(cli *c, const char *arg);

/* The need of a question with these options that could do with `least`. */
kept_need kept_need_of(const cli_options *o, kept_need least);

/* What is left to choose of what came: all profiles of a type count, and what chose them need not choose again. */
void kept_chosen(const cli_options *o, select_opts *s);

/* The type that is meant when nobody says (store_main_type): "cpu/nanoseconds"; "": not known. */
enum { KEPT_TYPE = 256 };

/* OTLP, perhaps packed, at most max_bytes of it.  Memory of `a` is used on the way.  false: reported. */
bool kept_read(cli *c, const kept_place *k, arena *a, size_t max_bytes, buf *out,
               char type[KEPT_TYPE]);

/* ---- kept_store.c, kept_server.c ---- */
bool kept_read_store(cli *c, const kept_place *k, arena *a, size_t max_bytes, buf *out,
                     char type[KEPT_TYPE]);
bool kept_read_server(cli *c, const kept_place *k, arena *a, size_t max_bytes, buf *out,
                      char type[KEPT_TYPE]);
