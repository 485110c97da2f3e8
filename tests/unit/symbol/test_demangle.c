#include "support/test.h"

#include "symbol/demangle.h"

static const struct {
    const char *mangled, *full, *brief;
} cases[] = {
    {"main", "main", "main"},
    {"", "", ""},
    {"_ZN3foo3barEv", "foo::bar()", "foo::bar"},
    {"_ZNK3foo3barEv", "foo::bar() const", "foo::bar"},
    {"_Z3addIiEvT_", "void add<int>(int)", "add"},
    {"_ZN3foolsEi", "foo::operator<<(int)", "foo::operator<<"},
    {"_ZN3fooclEi", "foo::operator()(int)", "foo::operator()"},
    {"_ZN3fooltIiEEbT_", "bool foo::operator< <int>(int)", "foo::operator<"},
    {"_ZN3fooptEv", "foo::operator->()", "foo::operator->"},
    {"_ZN3foo3barB5cxx11Ev", "foo::bar[abi:cxx11]()", "foo::bar"},
    {"_ZN3foo3barEv.cold", "foo::bar() [clone .cold]", "foo::bar"},
    {"_ZNSt6vectorIiSaIiEE9push_backEOi",
     "std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"},
    {"_ZN3app12_GLOBAL__N_15outerEi", "app::(anonymous namespace)::outer(int)",
     "app::(anonymous namespace)::outer"},
    {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const",
     "main::{lambda#1}::operator()"},
    {"_ZZZN3appL3runEiENKUliE2_clEiENKUliE_clEi",
     "app::run(int)::{lambda(int)#4}::operator()(int) const::{lambda(int)#1}::operator()(int) "
     "const",
     "app::run::{lambda#4}::operator()::{lambda#1}::operator()"},
    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", "mycrate::foo::bar"},
    {"_RINvNtCs1234_4core3ptr13drop_in_placelE", "core::ptr::drop_in_place::<i32>",
     "core::ptr::drop_in_place"},
    {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place",
     "core::ptr::drop_in_place"},
    {"_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop"
     "17h0123456789abcdefE",
     "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
     "<alloc::vec::Vec as core::ops::drop::Drop>::drop"},
    {"_Znot a name", "_Znot a name", "_Znot a name"},
};

static void test_names(void **state)
{
    (void)state;
    arena a = {0};
    demangler full = {.mode = DEMANGLE_FULL, .a = &a}, brief = {.mode = DEMANGLE_SHORT, .a = &a},
              none = {.mode = DEMANGLE_NONE, .a = &a};
    for (unsigned again = 0; again < 2; again++)
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            str in = str_of(cases[i].mangled), f = demangle(&full, in), s = demangle(&brief, in);
            if (!str_eq(f, str_of(cases[i].full)))
                fail_msg("%s: %.*s", cases[i].mangled, STR_ARG(f));
            if (!str_eq(s, str_of(cases[i].brief)))
                fail_msg("%s: %.*s", cases[i].mangled, STR_ARG(s));
            assert_ptr_equal(demangle(&none, in).p, in.p);
        }
    assert_true(full.known.n <= ARRAY_LEN(cases));
    arena_free(&a);
}

static const struct {
    const char *scope, *name, *full, *brief;
} scoped[] = {
    {"", "work", "work", "work"},
    {"app::(anonymous namespace)::Box<int>", "put<long int>",
     "app::(anonymous namespace)::Box<int>::put<long int>", "app::(anonymous namespace)::Box::put"},
    {"app::run()::{lambda#1}", "operator()<int>", "app::run()::{lambda#1}::operator()<int>",
     "app::run::{lambda#1}::operator()"},
    {"main()::{lambda#1}", "~<lambda>", "main()::{lambda#1}::~<lambda>",
     "main::{lambda#1}::~<lambda>"},
    {"a", "f<int>", "a::f<int>", "a::f"},
};

static void assert_str(str got, const char *want)
{
    if (!str_eq(got, str_of(want))) fail_msg("%.*s, not %s", STR_ARG(got), want);
}

static void test_scopes(void **state)
{
    (void)state;
    arena a = {0};
    demangler full = {.mode = DEMANGLE_FULL, .a = &a}, brief = {.mode = DEMANGLE_SHORT, .a = &a},
              none = {.mode = DEMANGLE_NONE, .a = &a};
    for (size_t i = 0; i < ARRAY_LEN(scoped); i++) {
        str in = str_of(scoped[i].scope), name = str_of(scoped[i].name);
        assert_str(demangle_scoped(&full, in, name), scoped[i].full);
        assert_str(demangle_scoped(&brief, in, name), scoped[i].brief);
        assert_ptr_equal(demangle_scoped(&none, in, name).p, name.p);
    }
    arena tight = {.budget = 1};
    demangler poor = {.mode = DEMANGLE_FULL, .a = &tight};
    assert_str(demangle_scoped(&poor, STR("app"), STR("f")), "f");
    arena_free(&a);
}

/* Hostile names: deeply nested, or expanding to more text than fits in memory. */
static void test_hostile(void **state)
{
    (void)state;
    arena a = {0};
    demangler d = {.mode = DEMANGLE_FULL, .a = &a};
    buf deep = {0}, wide = {0}, args = {0};
    buf_z(&deep, "_Z1f");
    for (size_t i = 0; i < DEMANGLE_MAX_IN - 8; i++) buf_putc(&deep, 'P');
    buf_putc(&deep, 'i');
    (void)demangle(&d, buf_view(&deep));
    buf_z(&wide, "_Z1fN1aIiE1bE"); /* each argument contains the previous one twice */
    for (unsigned i = 0; i < 60; i++)
        buf_printf(&wide, "1xIS%c_S%c_E", '0' + (char)(i % 10), '0' + (char)(i % 10));
    (void)demangle(&d, buf_view(&wide));
    buf_z(&args, "_Z1f");
    for (unsigned i = 0; i < 2000; i++) buf_z(&args, "1xI");
    (void)demangle(&d, buf_view(&args));
    buf_free(&deep);
    buf_free(&wide);
    buf_free(&args);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_scopes),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
