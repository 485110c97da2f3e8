/* cli/options.h - the tables of commands and options.  The parser, --help, the man pages and the
 * completion scripts use them. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/words.h"

struct cli;

/* Exit codes.  Scripts rely on them. */
typedef enum exit_code {
    EXIT_FINE = 0,
    EXIT_BAD_INPUT = 1, /* bad input or a failed check */
    EXIT_USAGE = 2,
    EXIT_ENVIRONMENT = 3,  /* permission, disk, network */
    EXIT_GATE = 4,         /* --gate or --fail-on-regression found a regression */
    EXIT_CANNOT_RUN = 126, /* run, as in shells: the program exists but cannot be executed */
    EXIT_NOT_FOUND = 127,  /* run, as in shells: the program was not found */
} exit_code;

typedef struct option_list {
    str v[64];
    size_t n;
} option_list;

typedef struct option_count {
    bool given;
    uint32_t n;
} option_count;

typedef struct option_fraction {
    bool given;
    double v; /* 0 .. 1 */
} option_fraction;

/* Values of the options.  Zero means "not given". */
typedef struct cli_options {
    bool help, version, json, quiet, canonical, string_refs, strict, rules, profcheck, fix, man;
    bool check_dupes, check_orphans, no_check_shapes;
    unsigned keep_original;
    bool split, no_extras, percent, thread_frames, timestamps;
    const char *from, *to, *layout, *format, *output, *color, *diff;
    const char *profile_id, *start, *end, *schema_url, *sample_type, *time_anchor;
    bool force, no_cache, no_threads, no_symbolize;
    const char *demangle, *kallsyms, *perf_map, *symbolize_timeout;
    option_list only, ignore, debug_dir;
    uint64_t max_bytes, max_memory, max_payload, cache_size;

    /* queries (cli/query.h); since and until are --start and --end */
    const char *wanted_type, *wanted_id, *since, *until;
    const char *focus, *ignore_frames, *hide, *show, *show_from;
    const char *collapse, *collapse_library, *collapse_recursion, *collapse_direct_recursion;
    const char *focus_category, *begins_with, *ends_with;
    const char *tagfocus, *tagignore, *tagroot, *tagleaf, *thread, *trace_id, *span_id;
    const char *granularity, *unit, *step, *source_path, *trim_path;
    option_list resource, weights;
    bool source; /* a report contains source files */
    bool all, literal, keep_pruned, noinlines, by_functions, by_filefunctions, by_files, by_lines,
        by_addresses, by_cum, by_flat, no_trim, no_pager, icicle, inverted, heat;
    const char *palette, *title, *min_width;
    option_count nodecount, width;
    option_fraction nodefraction, edgefraction;

    /* diff */
    bool absolute, unchanged, fail_on_regression, gate_missing_ok, shares;
    const char *per;
    option_fraction fdr, spread;
    option_count noise;
    option_list gates, before, after;

    /* run */
    bool heap, wall, no_html;
    option_count hz;
    const char *every, *html, *summary; /* html, summary: "" if given without a value */

    /* record */
    option_list pids;
    bool whole_machine, off_cpu, kernel_stacks, aggregate;
    const char *cgroup, *comm, *duration, *off_cpu_min, *record_mode;

    /* send */
    const char *address, *protocol, *signal, *compression, *timeout, *wait, *ca, *cert, *key,
        *spool;
    option_list headers;
    uint64_t spool_size;

    /* serve */
    option_list listen, hosts;
    const char *store_dir, *max_age, *write_tokens, *read_tokens;
    const char *max_store;
    bool insecure, check_config;
    const char *config, *log_format, *forward;

    /* stores and servers as inputs (cli/stored.h) */
    const char *select, *token_file;
} cli_options;

typedef enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_TIMES,    /* unsigned: a flag that may be repeated */
    OPTION_TEXT,     /* const char * */
    OPTION_CHOICE,   /* const char *, one of `choices` */
    OPTION_READS,    /* const char *, a format that can be read */
    OPTION_WRITES,   /* const char *, a format that can be written */
    OPTION_PATH,     /* const char *, completed as a file */
    OPTION_MAYBE,    /* const char *, an optional file after `=`; "" without one */
    OPTION_SIZE,     /* uint64_t bytes: "64M", "1GiB", "1048576" */
    OPTION_LIST,     /* option_list: separated by commas, and may be repeated */
    OPTION_EACH,     /* option_list: may be repeated; commas are literal */
    OPTION_MANY,     /* option_list: all operands up to the next option */
    OPTION_COUNT,    /* option_count: a whole number */
    OPTION_FRACTION, /* option_fraction: 0.005, or 0.5% */
} option_kind;

typedef struct option_desc {
    const char *name; /* without the dashes */
    char letter;      /* or 0 */
    option_kind kind;
    size_t at;           /* offsetof(cli_options, ...) */
    unsigned commands;   /* bits 1 << command_id */
    const char *arg;     /* "FILE"; NULL for flags */
    const char *choices; /* "yaml json text", or NULL */
    const char *help;    /* one or two lines of prose */
} option_desc;

/* Returns whether the option takes a value, required or optional. */
static inline bool option_has_value(const option_desc *d)
{
    return d->kind != OPTION_FLAG && d->kind != OPTION_TIMES;
}

typedef enum command_id {
    COMMAND_RUN,
    COMMAND_RECORD,
    COMMAND_INFO,
    COMMAND_TOP,
    COMMAND_TREE,
    COMMAND_PEEK,
    COMMAND_LIST,
    COMMAND_TRACES,
    COMMAND_DIFF,
    COMMAND_SERIES,
    COMMAND_MERGE,
    COMMAND_CAT,
    COMMAND_CONVERT,
    COMMAND_CHECK,
    COMMAND_FLAME,
    COMMAND_SYMBOLIZE,
    COMMAND_CTX,
    COMMAND_SEND,
    COMMAND_SERVE,
    COMMAND_STORE,
    COMMAND_FORMATS,
    COMMAND_HELP,
    COMMAND_VERSION,
    COMMAND_COMPLETION,
    COMMAND_COUNT
} command_id;

typedef enum operand_kind {
    OPERAND_NONE,
    OPERAND_FILES,
    OPERAND_PROCESS,
    OPERAND_PROGRAM, /* a command line: options after its first word belong to it */
    OPERAND_COMMAND,
    OPERAND_SHELL
} operand_kind;

typedef struct command_example {
    const char *what, *line; /* line begins with "kiln " */
} command_example;

typedef struct command {
    const char *name;
    const char *args;    /* "FILE..." */
    const char *summary; /* one line, no full stop */
    const char *about;   /* paragraphs separated by an empty line, not wrapped */
    command_example examples[4];
    operand_kind operands;
    const char *actions; /* allowed values of the first operand, space-separated; NULL: any */
    size_t min_args, max_args;
    exit_code (*run)(struct cli *);
} command;

const command *commands(size_t *n);
const command *command_named(const char *name); /* NULL: none */
const option_desc *options(size_t *n);
static inline bool option_applies(const option_desc *o, command_id c)
{
    return o->commands >> c & 1;
}
command_id command_index(const command *c);

/* Appends the allowed values of an option, separated by spaces; nothing if any value is allowed.
 * Formats come from the registry. */
struct buf;
void option_choices(struct buf *b, const option_desc *d);

/* Parses argv[1..].  *cmd is NULL if no command was given.  Operands are in *args, which is argv
 * reordered. Fails with ERR_USAGE; the message names the closest existing command, option or
 * value. */
NODISCARD bool options_parse(int argc, char **argv, const command **cmd, cli_options *o,
                             const char ***args, size_t *n_args, err *e);

/* ---- generated texts (help.c, man.c, completion.c) ---- */
void help_overview(struct buf *b);
void help_command(struct buf *b, const command *c);
void man_page(struct buf *b, const command *c); /* NULL: kiln(1) */
void completion_bash(struct buf *b);
void completion_zsh(struct buf *b);

/* Wraps text at `width` and indents every line; empty lines separate paragraphs. */
void wrap_text(struct buf *b, const char *text, unsigned indent, unsigned width);
