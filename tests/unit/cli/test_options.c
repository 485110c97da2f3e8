/* The command-line parser and the texts generated from its tables. */
#include "cli/options.h"

#include "base/buf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

typedef struct parsed {
    bool ok;
    const command *cmd;
    cli_options o;
    const char **args;
    size_t n_args;
    err e;
} parsed;

/* Parses a command line that is split at spaces. */
static parsed parse(const char *line)
{
    static char text[256];
    static char *argv[32];
    snprintf(text, sizeof text, "%s", line);
    int argc = 0;
    for (char *p = text; *p && argc < 31;) {
        argv[argc++] = p;
        p += strcspn(p, " ");
        if (*p) *p++ = '\0';
    }
    argv[argc] = NULL;
    parsed r = {0};
    r.ok = options_parse(argc, argv, &r.cmd, &r.o, &r.args, &r.n_args, &r.e);
    return r;
}

static void test_forms(void **state)
{
    (void)state;
    parsed r = parse("kiln convert a.otlp --to otlp-json -o x.json --canonical b.otlp -q");
    assert_true(r.ok);
    assert_string_equal(r.cmd->name, "convert");
    assert_string_equal(r.o.to, "otlp-json");
    assert_string_equal(r.o.output, "x.json");
    assert_true(r.o.canonical && r.o.quiet);
    assert_int_equal(r.n_args, 2);
    assert_string_equal(r.args[0], "a.otlp");
    assert_string_equal(r.args[1], "b.otlp");

    r = parse("kiln convert --to=otlp-1.9 -ox.otlp -- -strange-name");
    assert_true(r.ok);
    assert_string_equal(r.o.to, "otlp-1.9");
    assert_string_equal(r.o.output, "x.otlp");
    assert_string_equal(r.args[0], "-strange-name");

    r = parse("kiln check --only P-01,P-02 --only=P-06 -");
    assert_true(r.ok);
    assert_int_equal(r.o.only.n, 3);
    assert_true(str_eq(r.o.only.v[2], STR("P-06")));
    assert_string_equal(r.args[0], "-");

    r = parse("kiln");
    assert_true(r.ok && !r.cmd);
    r = parse("kiln --version");
    assert_true(r.ok && r.o.version);
    r = parse("kiln --help");
    assert_true(r.ok && r.o.help && !r.cmd);
    r = parse("kiln info --help"); /* needs no file */
    assert_true(r.ok && r.o.help);
}

/* Options after the first word belong to the program. */
static void test_program(void **state)
{
    (void)state;
    parsed r = parse("kiln run --html --json=x.json -o a.otlp ./app --html -o b -- c");
    assert_true(r.ok);
    assert_string_equal(r.o.html, "");
    assert_string_equal(r.o.summary, "x.json");
    assert_string_equal(r.o.output, "a.otlp");
    assert_int_equal(r.n_args, 6);
    assert_string_equal(r.args[0], "./app");
    assert_string_equal(r.args[1], "--html");
    assert_string_equal(r.args[4], "--");

    r = parse("kiln run --html=a.html -- --app --wall");
    assert_true(r.ok);
    assert_string_equal(r.o.html, "a.html");
    assert_false(r.o.wall);
    assert_string_equal(r.args[0], "--app");

    r = parse("kiln run --wall --hz 500");
    assert_false(r.ok);
    assert_string_equal(r.e.msg,
                        "run needs PROGRAM [ARG]...; for example: kiln run ./app --its --options");
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"kiln inof x", "unknown command `inof`; did you mean `info`?"},
        {"kiln conv x", "unknown command `conv`; did you mean `convert`?"},
        {"kiln frobnicate", "unknown command `frobnicate`; `kiln help` lists the commands"},
        {"kiln info --jsno x", "unknown option `--jsno`; did you mean `--json`?"},
        {"kiln info --strict x", "unknown option `--strict`; did you mean `--select`?"},
        {"kiln info --zzzzzz x", "unknown option `--zzzzzz`; `kiln help info` lists the options"},
        {"kiln info -z x", "unknown option `-z`; `kiln help info` lists the options"},
        {"kiln --nonsense", "unknown option `--nonsense`; try `kiln --help`"},
        {"kiln info", "info needs FILE...; for example: kiln info app.otlp"},
        {"kiln version x", "too many arguments for version"},
        {"kiln info --from", "--from requires a value: FORMAT"},
        {"kiln info --from=otpl x", "--from does not support `otpl`; did you mean `otlp`?"},
        {"kiln info --from=zzzzzzzz x",
         "--from does not support `zzzzzzzz`; `kiln formats` lists the formats"},
        {"kiln cat --format=xml x",
         "--format must be one of yaml, json, text, arrays-yaml, not `xml`"},
        {"kiln info --json=yes x", "--json does not take a value"},
        {"kiln info --max-bytes=lots x",
         "--max-bytes must be a size such as 512M or 2GiB, not `lots`"},
        {"kiln info --max-bytes 0 x", "--max-bytes must be a size such as 512M or 2GiB, not `0`"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        parsed r = parse(cases[i].line);
        assert_false(r.ok);
        assert_int_equal(r.e.code, ERR_USAGE);
        if (strcmp(r.e.msg, cases[i].message) != 0)
            fail_msg("%s: the message is `%s`", cases[i].line, r.e.msg);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: rejected */
    } cases[] = {
        {"1", 1},
        {"512", 512},
        {"4K", 4096},
        {"4k", 4096},
        {"4KiB", 4096},
        {"3M", 3u << 20},
        {"2GiB", 2ull << 30},
        {"1T", 1ull << 40},
        {"7B", 7},
        {"16KB", 16384},
        {"", 0},
        {"K", 0},
        {"1.5G", 0},
        {"-1", 0},
        {"1Q", 0},
        {"99999999999999999999", 0},
        {"18446744073709551615", UINT64_MAX},
        {"99999999T", 0},
        {"1iB", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t v = 0;
        bool ok = size_parse(str_of(cases[i].text), &v);
        if (ok != (cases[i].bytes != 0) || (ok && v != cases[i].bytes))
            fail_msg("%s", cases[i].text);
    }
}

static void test_distance(void **state)
{
    (void)state;
    assert_int_equal(edit_distance(STR("info"), STR("info")), 0);
    assert_int_equal(edit_distance(STR("inof"), STR("info")), 1);
    assert_int_equal(edit_distance(STR("nfo"), STR("info")), 1);
    assert_int_equal(edit_distance(STR(""), STR("info")), 4);
    assert_int_equal(edit_distance(STR("check"), STR("cat")), 4);
}

/* ---- generated texts ---- */

static void each_line_fits(const buf *b)
{
    size_t start = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (b->p[i] != '\n') continue;
        if (i - start > 80) fail_msg("%.*s", (int)(i - start), b->p + start);
        start = i + 1;
    }
}

static void test_help_fits_and_has_an_example(void **state)
{
    (void)state;
    size_t n, n_options;
    const command *c = commands(&n);
    const option_desc *o = options(&n_options);
    buf b = {0};
    help_overview(&b);
    each_line_fits(&b);
    for (size_t i = 0; i < n; i++) {
        buf_reset(&b);
        help_command(&b, &c[i]);
        each_line_fits(&b);
        buf_putc(&b, '\0');
        assert_non_null(c[i].examples[0].line);
        for (size_t k = 0; k < n_options; k++) {
            char name[40];
            snprintf(name, sizeof name, "--%s", o[k].name);
            if (option_applies(&o[k], (command_id)i)) assert_non_null(strstr(b.p, name));
        }
    }
    buf_free(&b);
}

/* Within one command, a letter or a name has one meaning. */
static void test_table_is_unambiguous(void **state)
{
    (void)state;
    size_t n;
    const option_desc *o = options(&n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            if (!(o[i].commands & o[k].commands)) continue;
            if (!strcmp(o[i].name, o[k].name)) fail_msg("--%s twice", o[i].name);
            if (o[i].letter && o[i].letter == o[k].letter) fail_msg("-%c twice", o[i].letter);
        }
        assert_int_equal(o[i].arg == NULL, !option_has_value(&o[i]));
        assert_int_equal(o[i].choices != NULL, o[i].kind == OPTION_CHOICE);
    }
}

static void test_man_and_completion_name_everything(void **state)
{
    (void)state;
    size_t n;
    const command *c = commands(&n);
    buf man = {0}, bash = {0}, zsh = {0};
    man_page(&man, NULL);
    for (size_t i = 0; i < n; i++) man_page(&man, &c[i]);
    completion_bash(&bash);
    completion_zsh(&zsh);
    buf_putc(&man, '\0'), buf_putc(&bash, '\0'), buf_putc(&zsh, '\0');
    for (size_t i = 0; i < n; i++) {
        assert_non_null(strstr(man.p, c[i].name));
        assert_non_null(strstr(bash.p, c[i].name));
        assert_non_null(strstr(zsh.p, c[i].name));
    }
    assert_non_null(strstr(man.p, "\\fB\\-\\-max\\-bytes\\fR=\\fISIZE\\fR"));
    assert_non_null(strstr(bash.p, "--max-bytes"));
    assert_non_null(strstr(zsh.p, "--max-bytes=["));
    buf_free(&man), buf_free(&bash), buf_free(&zsh);
}

static void test_wrap(void **state)
{
    (void)state;
    buf b = {0};
    wrap_text(&b, "one two three four\n\nfive averyverylongwordthatdoesnotfit six", 2, 12);
    buf_putc(&b, '\0');
    assert_string_equal(
        b.p,
        "  one two\n  three four\n\n  five\n  averyverylo\n  ngwordthatd\n  oesnotfit\n  six\n");
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_help_fits_and_has_an_example),
        cmocka_unit_test(test_table_is_unambiguous),
        cmocka_unit_test(test_man_and_completion_name_everything),
        cmocka_unit_test(test_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
