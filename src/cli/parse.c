/* Parses the command line.  Errors name the closest existing command, option or value; commands of
 * perf, pprof and similar tools get a hint to the command of kiln that does the same. */
#include "cli/options.h"

#include "base/buf.h"
#include "base/ban.h"
#include <sys/stat.h>
#include <unistd.h>

/* Returns a hint for a command of perf, pprof, go tool, flamegraph or a similar tool, or NULL. */
static const char *hint_for(const char *name)
{
    static const struct {
        const char *name, *hint;
    } others[] = {
        {"report",
         "`kiln top FILE` prints a table, `kiln flame FILE -o report.html` writes a report"},
        {"web", "`kiln flame FILE -o report.html` writes a report, `kiln serve` has a web page"},
        {"http", "`kiln flame FILE -o report.html` writes a report, `kiln serve` has a web page"},
        {"flamegraph", "`kiln flame FILE -o flame.svg` draws one"},
        {"stat", "`kiln info FILE` summarizes a file; kiln does not count hardware events"},
        {"script", "`kiln traces FILE` prints samples, `kiln convert FILE out.perf-script` writes "
                   "perf script"},
        {"annotate", "`kiln list FUNCTION FILE` prints source code with values"},
        {"disasm", "`kiln list FUNCTION FILE` prints source lines; kiln does not disassemble"},
        {"stackcollapse", "`kiln convert FILE out.folded` writes folded stacks"},
        {"collapse", "`kiln convert FILE out.folded` writes folded stacks"},
        {"upload", "`kiln send FILE --to URL` sends a file"},
        {"push", "`kiln send FILE --to URL` sends a file"},
        {"validate", "`kiln check FILE` checks a file against the specification"},
        {"lint", "`kiln check FILE` checks a file against the specification"},
        {"dump", "`kiln cat FILE` prints the message"},
        {"view", "`kiln flame FILE` shows it in the terminal, -o report.html writes a report"},
        {"open", "`kiln flame FILE` shows it in the terminal, -o report.html writes a report"},
        {"server", "`kiln serve` starts the server"},
        {"attach", "`kiln record -p PID` records a running process"},
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (!strcmp(name, others[i].name)) return others[i].hint;
    return NULL;
}

static bool unknown_command(const char *name, err *e)
{
    const char *hint = hint_for(name);
    if (hint) return err_set(e, ERR_USAGE, "unknown command `%s`; %s", name, hint);
    nearest n = nearest_to(str_of(name));
    size_t n_commands;
    const command *c = commands(&n_commands);
    for (size_t i = 0; i < n_commands; i++) nearest_offer(&n, str_of(c[i].name), c[i].name);
    if (n.name)
        return err_set(e, ERR_USAGE, "unknown command `%s`; did you mean `%s`?", name, n.name);
    return err_set(e, ERR_USAGE, "unknown command `%s`; `kiln help` lists the commands", name);
}

static bool unknown_option(const command *cmd, str name, err *e)
{
    nearest n = nearest_to(name);
    size_t n_options;
    const option_desc *o = options(&n_options);
    for (size_t i = 0; cmd && i < n_options; i++)
        if (option_applies(&o[i], command_index(cmd)))
            nearest_offer(&n, str_of(o[i].name), o[i].name);
    if (n.name)
        return err_set(e, ERR_USAGE, "unknown option `--%.*s`; did you mean `--%s`?", STR_ARG(name),
                       n.name);
    if (!cmd)
        return err_set(e, ERR_USAGE, "unknown option `--%.*s`; try `kiln --help`", STR_ARG(name));
    return err_set(e, ERR_USAGE, "unknown option `--%.*s`; `kiln help %s` lists the options",
                   STR_ARG(name), cmd->name);
}

/* Returns whether `value` is one of the space-separated words.  Also looks for the nearest word in
 * *n. */
static bool is_choice(str words, str value, nearest *n)
{
    bool found = false;
    for (size_t at = 0; at < words.n && !found;) {
        const char *end = memchr(words.p + at, ' ', words.n - at);
        size_t len = end ? (size_t)(end - words.p) - at : words.n - at;
        str word = {words.p + at, len};
        found = str_eq(word, value);
        nearest_offer(n, word, word.p);
        at += len + 1;
    }
    return found;
}

enum { FEW_CHOICES = 60 }; /* longer lists are not printed */

static bool bad_choice(const option_desc *d, str words, const char *value, const nearest *n, err *e)
{
    char list[FEW_CHOICES * 2];
    size_t k = 0;
    if (words.n > FEW_CHOICES && n->name)
        return err_set(e, ERR_USAGE, "--%s does not support `%s`; did you mean `%.*s`?", d->name,
                       value, (int)strcspn(n->name, " "), n->name);
    if (words.n > FEW_CHOICES)
        return err_set(e, ERR_USAGE, "--%s does not support `%s`; `kiln formats` lists the formats",
                       d->name, value);
    for (size_t i = 0; i < words.n; i++) {
        if (words.p[i] == ' ') list[k++] = ',';
        list[k++] = words.p[i];
    }
    return err_set(e, ERR_USAGE, "--%s must be one of %.*s, not `%s`", d->name, (int)k, list,
                   value);
}

static bool check_choice(const option_desc *d, const char *value, err *e)
{
    buf words = {0};
    option_choices(&words, d);
    buf_putc(&words, '\0'); /* the nearest name is printed up to a space or NUL */
    if (words.failed) return err_set(e, ERR_SYS, "out of memory");
    nearest n = nearest_to(str_of(value));
    str list = {words.p, words.n - 1};
    bool ok = is_choice(list, str_of(value), &n) || bad_choice(d, list, value, &n, e);
    buf_free(&words);
    return ok;
}

/* Splits the value at the separators, if any, and adds the parts. */
static bool add_to_list(option_list *l, const char *value, const char *separators, err *e)
{
    for (const char *p = value; *p;) {
        size_t n = strcspn(p, separators);
        if (n && l->n == ARRAY_LEN(l->v))
            return err_set(e, ERR_USAGE, "a list has more than %zu entries", ARRAY_LEN(l->v));
        if (n) l->v[l->n++] = (str){p, n};
        p += n + (p[n] != 0);
    }
    return true;
}

static bool take_count(const option_desc *d, const char *value, option_count *out, err *e)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; value[i] >= '0' && value[i] <= '9' && v <= UINT32_MAX; i++)
        v = v * 10 + (uint64_t)(value[i] - '0');
    *out = (option_count){true, (uint32_t)v};
    if (i && !value[i] && v <= UINT32_MAX) return true;
    return err_set(e, ERR_USAGE, "--%s must be a whole number, not `%s`", d->name, value);
}

static bool take_fraction(const option_desc *d, const char *value, option_fraction *out, err *e)
{
    char *end;
    double v = strtod(value, &end);
    bool percent = *end == '%';
    *out = (option_fraction){true, percent ? v / 100 : v};
    if (end != value && !end[percent] && out->v >= 0 && out->v <= 1) return true;
    return err_set(e, ERR_USAGE, "--%s must be a number from 0 to 1 or a percentage, not `%s`",
                   d->name, value);
}

static bool assign(const option_desc *d, const char *value, cli_options *o, err *e)
{
    void *field = (char *)o + d->at;
    switch (d->kind) {
    case OPTION_FLAG: *(bool *)field = true; return true;
    case OPTION_TIMES: ++*(unsigned *)field; return true;
    case OPTION_LIST: return add_to_list(field, value, ",", e);
    case OPTION_EACH:
    case OPTION_MANY:
        if (!*value) return err_set(e, ERR_USAGE, "--%s needs a value", d->name);
        return add_to_list(field, value, "", e);
    case OPTION_COUNT: return take_count(d, value, field, e);
    case OPTION_FRACTION: return take_fraction(d, value, field, e);
    case OPTION_SIZE:
        if (size_parse(str_of(value), field) && *(uint64_t *)field) return true;
        return err_set(e, ERR_USAGE, "--%s must be a size such as 512M or 2GiB, not `%s`", d->name,
                       value);
    case OPTION_CHOICE:
    case OPTION_READS:
    case OPTION_WRITES:
        if (!check_choice(d, value, e)) return false;
        break;
    case OPTION_TEXT:
    case OPTION_MAYBE:
    case OPTION_PATH: break;
    }
    *(const char **)field = value;
    return true;
}

/* Returns whether the names are equal; `_` counts as `-`, as in pprof's show_from. */
static bool same_name(const char *a, str b)
{
    for (size_t i = 0; i < b.n; i++)
        if (!a[i] || a[i] != (b.p[i] == '_' ? '-' : b.p[i])) return false;
    return !a[b.n];
}

static const option_desc *find_option(const command *cmd, str name, char letter)
{
    size_t n;
    const option_desc *all = options(&n);
    for (size_t i = 0; i < n; i++) {
        const option_desc *d = &all[i];
        bool same = letter ? d->letter == letter : same_name(d->name, name);
        if (same && (!cmd || option_applies(d, command_index(cmd)))) return d;
    }
    return NULL;
}

typedef struct parser {
    int argc, i;
    char **argv;
    const command *cmd;
    cli_options *o;
    const option_desc *many; /* the option that takes all operands up to the next option, or NULL */
    err *e;
} parser;

/* Assigns the value of an option: the text after `=`, or the next argument. */
static bool give(parser *p, const option_desc *d, const char *attached)
{
    p->many = d->kind == OPTION_MANY ? d : NULL;
    if (!option_has_value(d) && attached)
        return err_set(p->e, ERR_USAGE, "--%s does not take a value", d->name);
    if (d->kind == OPTION_MAYBE && !attached) attached = "";
    if (option_has_value(d) && !attached) {
        if (p->i + 1 >= p->argc)
            return err_set(p->e, ERR_USAGE, "--%s requires a value: %s", d->name, d->arg);
        attached = p->argv[++p->i];
    }
    return assign(d, attached, p->o, p->e);
}

static bool long_option(parser *p, const char *text)
{
    size_t n = strcspn(text, "=");
    str name = {text, n};
    const option_desc *d = find_option(p->cmd, name, 0);
    if (!d || (!p->cmd && option_has_value(d) && !str_eq(name, STR("color"))))
        return unknown_option(p->cmd, name, p->e);
    return give(p, d, text[n] == '=' ? text + n + 1 : NULL);
}

/* Parses -q, -qh, -oFILE and -o FILE. */
static bool letters(parser *p, const char *text)
{
    for (; *text; text++) {
        const option_desc *d = find_option(p->cmd, (str){0}, *text);
        if (!d)
            return err_set(p->e, ERR_USAGE,
                           "unknown option `-%c`; `kiln help%s%s` lists the options", *text,
                           p->cmd ? " " : "", p->cmd ? p->cmd->name : "");
        if (!option_has_value(d)) {
            if (!give(p, d, NULL)) return false;
            continue;
        }
        return give(p, d, text[1] ? text + 1 : NULL);
    }
    return true;
}

static bool check_args(const command *cmd, const cli_options *o, size_t n, err *e)
{
    if (o->help) return true;
    if (n < cmd->min_args)
        return err_set(e, ERR_USAGE, "%s needs %s; for example: %s", cmd->name, cmd->args,
                       cmd->examples[0].line);
    if (n > cmd->max_args) return err_set(e, ERR_USAGE, "too many arguments for %s", cmd->name);
    return true;
}

/* Returns whether standard input is a file or a pipe.  /dev/null does not count, so that a missing
 * file name is an error. */
static bool input_is_given(void)
{
    struct stat s;
    return !fstat(STDIN_FILENO, &s) && (S_ISREG(s.st_mode) || S_ISFIFO(s.st_mode));
}

/* Adds "-" as operand if the command needs one file and none is named. */
static void take_standard_input(const command *cmd, const cli_options *o, const char **args,
                                size_t *n)
{
    bool reads = cmd->operands == OPERAND_FILES && cmd->min_args == 1 && !cmd->actions;
    if (command_index(cmd) == COMMAND_CHECK) reads = !o->rules; /* --rules needs no file */
    if (reads && !o->help && *n == 0 && input_is_given()) args[(*n)++] = "-";
}

bool options_parse(int argc, char **argv, const command **cmd, cli_options *o, const char ***args,
                   size_t *n_args, err *e)
{
    parser p = {.argc = argc, .i = 1, .argv = argv, .o = o, .e = e};
    *cmd = NULL;
    *n_args = 0;
    *args = (const char **)(uintptr_t)argv + 1; /* operands move to the front of argv[1..] */
    bool only_operands = false;
    for (; p.i < argc; p.i++) {
        const char *a = argv[p.i];
        bool ok = true;
        if (!only_operands && !strcmp(a, "--")) {
            only_operands = true;
        } else if (!only_operands && !p.cmd && !strcmp(a, "--version")) {
            o->version = true;
        } else if (!only_operands && a[0] == '-' && a[1] == '-') {
            ok = long_option(&p, a + 2);
        } else if (!only_operands && a[0] == '-' && a[1]) {
            ok = letters(&p, a + 1);
        } else if (!p.cmd) {
            *cmd = p.cmd = command_named(a);
            ok = p.cmd || unknown_command(a, e);
        } else if (p.many) {
            ok = assign(p.many, a, o, e);
        } else {
            (*args)[(*n_args)++] = a;
            if (p.cmd->operands == OPERAND_PROGRAM) only_operands = true;
        }
        if (!ok) return false;
    }
    if (p.cmd) take_standard_input(p.cmd, o, *args, n_args);
    return !p.cmd || check_args(p.cmd, o, *n_args, e);
}
