/* Recognises servers and stores as arguments, and merges parameters of the argument with the
 * options. */
#include "cli/stored.h"

#include "../../support/test.h"
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/kiln-kept-XXXXXX";

static int make_place(void **state)
{
    (void)state;
    return !mkdtemp(dir) || chdir(dir) || mkdir("store", 0700) || mkdir("a?b=c", 0700) ||
           fclose(fopen("file?query=x", "w"));
}

static int remove_place(void **state)
{
    (void)state;
    return rmdir("store") || rmdir("a?b=c") || unlink("file?query=x") || chdir("/") || rmdir(dir);
}

static void test_is(void **state)
{
    (void)state;
    static const struct {
        const char *arg;
        bool is;
    } cases[] = {
        {"http://localhost:4040", true},
        {"HTTPS://host/a?query=x", true},
        {"localhost:4040", false},
        {"store", true},
        {"store/?start=now-1h", true},
        {"store?", true},
        {"a?b=c", true}, /* an existing directory whose name contains a question mark */
        {"file?query=x", false},
        {"nothing?query=x", false},
        {"-", false},
        {"", false},
        {"/dev/null", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (stored_is(cases[i].arg) != cases[i].is) fail_msg("%s", cases[i].arg);
}

/* Compares the parameters as they are sent, or the error. */
static void test_words(void **state)
{
    (void)state;
#define ID "0af7651916cd43dd8448eb211c80319c"
    static const struct {
        const char *arg;
        cli_options o;
        const char *where, *words;
    } cases[] = {
        {"http://h:1/x", {0}, "http://h:1/x", ""},
        {"http://h?query=cpu{a=\"b c\"}&start=now-1h#top",
         {0},
         "http://h",
         "?query=cpu%7Ba%3D%22b%20c%22%7D&start=now-1h"},
        {"store",
         {.select = "cpu", .since = "now-1h", .until = "now"},
         "store",
         "?query=cpu&start=now-1h&end=now"},
        {"store?query=wall&end=5",
         {.select = "cpu", .since = "1", .until = "2"},
         "store",
         "?query=wall&end=5&start=1"},
        {"store", {.since = "+1s", .until = "+2s", .wanted_id = "0af7"}, "store", ""},
        {"store",
         {.trace_id = ID, .span_id = "12", .wanted_id = ID},
         "store",
         "?trace_id=" ID "&span_id=12&profile_id=" ID},
        {"store?from=now-5m&to=now&refresh=5&query=cpu",
         {0},
         "store",
         "?start=now-5m&end=now&query=cpu"},
        {"a?b=c", {0}, "a?b=c", ""},
        {"store?querry=x",
         {0},
         NULL,
         "unknown parameter `querry`; use query, start, end, trace_id, span_id or profile_id"},
        {"store?query=%x", {0}, NULL, "% is not followed by two hex digits (byte 0)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        stored_source k;
        err e = {0};
        buf b = {0};
        char text[300];
        bool ok = stored_parse(&cases[i].o, cases[i].arg, &a, &k, &e);
        if (ok)
            params_write(&k.words, &b);
        else
            buf_z(&b, err_text(&e, text, sizeof text));
        buf_putc(&b, '\0');
        assert_string_equal(b.p, cases[i].words);
        assert_int_equal(ok, cases[i].where != NULL);
        if (ok) assert_string_equal(k.where, cases[i].where);
        if (!ok) assert_int_equal(e.code, ERR_USAGE);
        buf_free(&b);
        arena_free(&a);
    }
}

static void test_needs(void **state)
{
    (void)state;
    static const struct {
        cli_options o;
        stored_need need;
    } cases[] = {
        {{0}, STORED_SUMS},
        {{.since = "now-1h", .trace_id = ID, .wanted_id = ID}, STORED_SUMS},
        {{.thread = "worker"}, STORED_ATTRIBUTES},
        {{.tagroot = "thread.name"}, STORED_ATTRIBUTES},
        {{.tagleaf = "thread.name,trace_id"}, STORED_ALL},
        {{.tagfocus = "x"}, STORED_ALL},
        {{.since = "+1s"}, STORED_ALL},
        {{.wanted_id = "0af7"}, STORED_ALL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(stored_need_of(&cases[i].o, STORED_SUMS), cases[i].need);
        assert_int_equal(stored_need_of(&cases[i].o, STORED_ALL), STORED_ALL);
    }
    select_opts s = {.start = 5, .end = 6, .trace_id = STR(ID), .profile_id = STR("0af7")};
    stored_select(&(cli_options){.since = "now-1h", .until = "+2s", .wanted_id = "0af7"}, &s);
    assert_true(s.all && !s.start && s.end == 6 && !s.trace_id.n && s.profile_id.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_is), cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_needs)};
    return cmocka_run_group_tests_name("stored", tests, make_place, remove_place);
}
