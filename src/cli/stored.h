/* cli/stored.h - profiles of a store or a server as an input:
 *
 *   http://localhost:4040?query=cpu{service.name="shop"}&start=now-1h     queried from kiln serve
 *   /var/lib/kiln/store?query=...                                         read from its directory, even while kiln serve writes
 *
 * The parameters after the question mark are those of the query API (docs/query-api.md).  Defaults
 * come from --select (query), --start, --end, --trace-id, --span-id and --profile-id. */
#pragma once
#include "cli/cli.h"
#include "query/select.h"
#include "store/params.h"

/* How much detail a command needs; less detail means less to read and to send. */
typedef enum stored_need {
    STORED_ALL,        /* every sample with timestamps, link and attributes */
    STORED_ATTRIBUTES, /* sums by stack and attributes */
    STORED_SUMS,       /* sums by stack */
} stored_need;

typedef struct stored_source {
    const char *arg;   /* as given */
    const char *where; /* up to the question mark */
    bool server;
    params words;
    stored_need need;
} stored_source;

/* Returns whether the argument is a server or a store.  An existing file with such a name counts as
 * a file. */
bool stored_is(const char *arg);

/* Parses the argument and adds parameters from the options.  Allocates from the arena.  Fails with
 * ERR_USAGE for an unknown parameter. */
NODISCARD bool stored_parse(const cli_options *o, const char *arg, arena *a, stored_source *out,
                            err *e);

/* Returns false, after reporting it, if --select is given without a server or store to select
 * from. */
bool stored_check_select(cli *c);

/* Reports that no stored profile matches, and how to list the stored profiles. */
void stored_report_nothing(cli *c, const char *arg);

/* Returns the detail that these options require, at least `least`. */
stored_need stored_need_of(const cli_options *o, stored_need least);

/* Removes from *o what the store or server has already applied. */
void stored_select(const cli_options *o, select_opts *s);

/* Size of the text of a default type (store_main_type): "cpu/nanoseconds", or "" if not known. */
enum { STORED_TYPE = 256 };

/* Reads OTLP, possibly compressed, of at most max_bytes.  Uses `a` for temporary memory.  Returns
 * false after reporting a failure. */
bool stored_read(cli *c, const stored_source *k, arena *a, size_t max_bytes, buf *out,
                 char type[STORED_TYPE]);

/* Reads the model of a store's directory into the arena.  Returns false after reporting a
 * failure. */
bool stored_read_model(cli *c, const stored_source *k, arena *a, model *out,
                       char type[STORED_TYPE]);

/* ---- stored_store.c, stored_server.c ---- */
bool stored_read_store(cli *c, const stored_source *k, arena *a, size_t max_bytes, buf *out,
                       char type[STORED_TYPE]);
bool stored_read_server(cli *c, const stored_source *k, arena *a, size_t max_bytes, buf *out,
                        char type[STORED_TYPE]);
