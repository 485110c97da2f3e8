/* Copied stacks of perf.data: what the walk of the options gets, and what becomes of its frames. */
#include "perf_file.h"

#define NO_USER_CHAIN ((uint64_t)1 << 22)
enum {
    COPIED = STANDARD | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
    ARCH_FEATURE = 6,
    HOSTNAME_FEATURE = 3,
};
#define X86_REGS UINT64_C(0xff0fff) /* the mask that perf uses */
#define ARM_REGS UINT64_C(0x1ffffffff)

static attr_spec copied(uint64_t regs)
{
    attr_spec s = cpu_clock;
    s.sample_type = COPIED, s.bits |= NO_USER_CHAIN, s.regs_user = regs, s.stack_user = 32;
    return s;
}

static void feature(buf *b, uint64_t bit, const char *value)
{
    size_t at = begin(b, REC_FEATURE, 0), n = strlen(value) + 1, room = (n + 7) / 8 * 8;
    u64(b, bit), u32(b, (uint32_t)room), text8(b, value), end(b, at);
}

typedef struct copy_spec {
    uint16_t mode;
    uint64_t time, abi, regs; /* regs: value of register i is 0x1000 + i */
    uint64_t size, used;
} copy_spec;

static void copy_sample(buf *b, copy_spec c)
{
    size_t at = begin(b, REC_SAMPLE, c.mode);
    bool kernel = c.mode == MODE_KERNEL;
    u64(b, kernel ? 0xffffffff81000123 : 0x1008), u32(b, 7), u32(b, 7), u64(b, c.time);
    u32(b, 1), u32(b, 0), u64(b, 10), u64(b, kernel ? 2 : 0);
    if (kernel) u64(b, CONTEXT_KERNEL), u64(b, 0xffffffff81000123);
    u64(b, c.abi);
    for (unsigned i = 0; c.abi && i < 64; i++)
        if (c.regs >> i & 1) u64(b, 0x1000 + i);
    u64(b, c.size);
    for (uint64_t i = 0; i < c.size; i++) buf_putc(b, (char)i);
    if (c.size) u64(b, c.used);
    end(b, at);
}

/* ---- a walk that records its arguments ---- */

typedef struct fake {
    stack_walk callbacks;
    unsigned n_spaces, n_walks, n_maps;
    uint32_t versions[8];
    walk_map maps[8];
    bool refuse, forgetful, known_host;
    copied_stack last;
    char bytes[64];
    uint64_t pcs[4];
    size_t n_pcs;
    walk_end end;
} fake;

static bool has_space(void *ctx, uint32_t version)
{
    const fake *f = ctx;
    for (unsigned i = 0; i < f->n_spaces && !f->forgetful; i++)
        if (f->versions[i] == version) return true;
    return false;
}

static bool add_space(void *ctx, const walk_space *s)
{
    fake *f = ctx;
    if (f->refuse) return false;
    assert_true(f->n_spaces < 8 && s->n <= 8);
    f->versions[f->n_spaces++] = s->version;
    f->n_maps = (unsigned)s->n;
    f->known_host = str_eq(s->hostname, STR("here"));
    if (s->n) memcpy(f->maps, s->maps, s->n * sizeof *s->maps);
    return true;
}

static walked_stack walk(void *ctx, uint32_t version, const copied_stack *c)
{
    fake *f = ctx;
    assert_int_equal(version, f->versions[f->n_spaces - 1]);
    f->n_walks++;
    f->last = *c;
    assert_true(c->bytes.n <= sizeof f->bytes);
    if (c->bytes.n) memcpy(f->bytes, c->bytes.p, c->bytes.n);
    return (walked_stack){.pcs = f->pcs, .n = f->n_pcs, .end = f->end};
}

static void fake_init(fake *f, walk_end end)
{
    *f = (fake){.pcs = {0x1008, 0x401020, 0x401030}, .n_pcs = 3, .end = end};
    f->callbacks = (stack_walk){f, has_space, add_space, walk};
}

static buf recording(const char *arch, const attr_spec *s, const copy_spec *v, size_t n)
{
    buf data = {0};
    feature(&data, ARCH_FEATURE, arch);
    feature(&data, HOSTNAME_FEATURE, "here");
    comm(&data, 7, 7, "x", false, 0);
    mmap1(&data, 7, MODE_USER, 0x400000, 0x4000, 0x1000, "/bin/x", 0);
    mmap1(&data, 7, MODE_USER | MISC_MMAP_DATA, 0x800000, 0x1000, 0, "/bin/data", 0);
    mmap2(&data, 7, 0x402000, 0x1000, "/lib/y", 1);
    for (size_t i = 0; i < n; i++) copy_sample(&data, v[i]);
    buf b = pipe_of(s, 1, &data);
    buf_free(&data);
    return b;
}

static void read_with(const buf *b, fake *f, result *r)
{
    read_opts_into(buf_view(b), (read_opts){.walk = &f->callbacks}, 0, r);
    if (!r->ok) fail_msg("%s", r->e.msg);
}

static size_t depth(const model *m, const sample *s) { return dict_stack(&m->dict, s->stack).n; }

/* ---- registers ---- */

static void test_x86_registers(void **state)
{
    /* DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8..r15; perf: ax bx cx dx si di bp sp ip ... r8..r15 */
    static const uint64_t want[] = {0x1000, 0x1003, 0x1002, 0x1001, 0x1004, 0x1005, 0x1006, 0x1007,
                                    0x1010, 0x1011, 0x1012, 0x1013, 0x1014, 0x1015, 0x1016, 0x1017};
    (void)state;
    attr_spec s = copied(X86_REGS);
    buf b = recording("x86_64", &s, &(copy_spec){MODE_USER, 5, 2, X86_REGS, 32, 24}, 1);
    fake f;
    fake_init(&f, WALK_WHOLE);
    result r;
    read_with(&b, &f, &r);
    assert_int_equal(f.n_walks, 1);
    assert_int_equal(f.last.machine, WALK_X86_64);
    assert_int_equal(f.last.pc, 0x1008);
    assert_int_equal(f.last.known, 0xffff);
    assert_memory_equal(f.last.regs, want, sizeof want);
    assert_int_equal(f.last.bytes.n, 24);
    assert_false(f.last.partial);
    assert_int_equal(f.bytes[23], 23);
    arena_free(&r.a), buf_free(&b);
}

static void test_aarch64_registers(void **state)
{
    (void)state;
    attr_spec s = copied(ARM_REGS);
    buf b = recording("aarch64", &s, &(copy_spec){MODE_USER, 5, 2, ARM_REGS, 32, 32}, 1);
    fake f;
    fake_init(&f, WALK_WHOLE);
    result r;
    read_with(&b, &f, &r);
    assert_int_equal(f.last.machine, WALK_AARCH64);
    assert_int_equal(f.last.pc, 0x1020);
    assert_int_equal(f.last.known, UINT32_MAX);
    for (unsigned i = 0; i < WALK_REGS; i++) assert_int_equal(f.last.regs[i], 0x1000 + i);
    assert_true(f.last.partial);
    arena_free(&r.a), buf_free(&b);
}

/* perf record --user-regs may leave registers out; the positions of the others move. */
static void test_some_registers(void **state)
{
    (void)state;
    uint64_t regs = 1 << 1 | 1 << 7 | 1 << 8; /* bx, sp, ip */
    attr_spec s = copied(regs);
    buf b = recording("x86_64", &s, &(copy_spec){MODE_USER, 5, 2, regs, 32, 24}, 1);
    fake f;
    fake_init(&f, WALK_WHOLE);
    result r;
    read_with(&b, &f, &r);
    assert_int_equal(f.last.known, 1 << 3 | 1 << 7);
    assert_int_equal(f.last.regs[3], 0x1001);
    assert_int_equal(f.last.regs[7], 0x1007);
    arena_free(&r.a), buf_free(&b);
}

/* ---- maps and frames ---- */

static void test_maps(void **state)
{
    (void)state;
    attr_spec s = copied(X86_REGS);
    copy_spec v[] = {{MODE_USER, 5, 2, X86_REGS, 32, 24}, {MODE_USER, 6, 2, X86_REGS, 32, 24}};
    buf b = recording("x86_64", &s, v, 2);
    fake f;
    fake_init(&f, WALK_WHOLE);
    result r;
    read_with(&b, &f, &r);
    assert_int_equal(f.n_walks, 2);
    assert_int_equal(f.n_spaces, 1); /* passed on once */
    assert_true(f.known_host);
    assert_int_equal(f.n_maps, 3); /* the data is left out; /lib/y splits /bin/x */
    assert_int_equal(f.maps[0].limit, 0x402000);
    assert_int_equal(f.maps[1].start, 0x402000);
    assert_int_equal(f.maps[1].build_id.n, 4);
    assert_int_equal(f.maps[2].start, 0x403000);
    assert_int_equal(f.maps[2].offset, 0x4000);
    assert_true(str_eq(f.maps[2].filename, STR("/bin/x")));
    arena_free(&r.a);
    fake_init(&f, WALK_WHOLE);
    f.forgetful = true;
    read_with(&b, &f, &r);
    assert_int_equal(f.n_spaces, 2);
    arena_free(&r.a), buf_free(&b);
}

static void test_frames(void **state)
{
    (void)state;
    attr_spec spec = copied(X86_REGS);
    copy_spec v[] = {{MODE_USER, 5, 2, X86_REGS, 32, 24}, {MODE_KERNEL, 6, 2, X86_REGS, 32, 24}};
    buf b = recording("x86_64", &spec, v, 2);
    fake f;
    fake_init(&f, WALK_WHOLE);
    result r;
    read_with(&b, &f, &r);
    sample s = at(&r.m, 0, 0);
    assert_int_equal(depth(&r.m, &s), 3);
    assert_int_equal(frame(&r.m, &s, 0)->address, 0x1008);
    assert_int_equal(frame(&r.m, &s, 2)->address, 0x401030);
    assert_true(frame(&r.m, &s, 2)->mapping);
    assert_null(sample_attr(&r.m, &s, "kiln.stack.truncated"));
    s = at(&r.m, 0, 1);
    assert_int_equal(depth(&r.m, &s), 4);
    assert_int_equal(frame(&r.m, &s, 0)->address, 0xffffffff81000123);
    assert_int_equal(frame(&r.m, &s, 1)->address, 0x1008);
    assert_int_equal(lost(&r.l, LOSS_STACK_COPY), 0);
    assert_int_equal(lost(&r.l, LOSS_EVENT_DETAIL), 0); /* registers and stacks are used */
    arena_free(&r.a), buf_free(&b);
}

static const loss *entry(const ledger *l, bool carried)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].concept == LOSS_STACK_COPY && !l->v[i].carried_as == !carried) return &l->v[i];
    return NULL;
}

static void test_ends(void **state)
{
    (void)state;
    attr_spec spec = copied(X86_REGS);
    buf b = recording("x86_64", &spec, &(copy_spec){MODE_USER, 5, 2, X86_REGS, 32, 32}, 1);
    for (int end = WALK_CUT; end < WALK_REFUSED; end++) {
        fake f;
        fake_init(&f, (walk_end)end);
        result r;
        read_with(&b, &f, &r);
        sample s = at(&r.m, 0, 0);
        assert_int_equal(!sample_attr(&r.m, &s, "kiln.stack.truncated"), end != WALK_CUT);
        const loss *x = entry(&r.l, end == WALK_CUT);
        assert_non_null(x);
        assert_int_equal(x->count, 1);
        assert_string_equal(x->value, "/bin/x");
        assert_int_equal(depth(&r.m, &s), 3);
        arena_free(&r.a);
    }
    buf_free(&b);
}

/* Without a walk, or when it cannot start, a stack has its innermost frame. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        uint64_t regs, abi;
        bool refuse;
        unsigned n_lost;
    } cases[] = {
        {"x86_64", X86_REGS, 2, true, 1},          /* no memory for the space */
        {"x86_64", X86_REGS, 1, false, 1},         /* a 32-bit process */
        {"x86_64", X86_REGS, 0, false, 0},         /* a kernel thread has no user stack */
        {"armv7l", 0xffff, 2, false, 1},           /* another processor */
        {"x86_64", X86_REGS & ~128u, 2, false, 1}, /* without sp */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        attr_spec spec = copied(cases[i].regs);
        copy_spec v = {MODE_KERNEL, 5, cases[i].abi, cases[i].regs, 32, 24};
        buf b = recording(cases[i].arch, &spec, &v, 1);
        fake f;
        fake_init(&f, WALK_WHOLE);
        f.refuse = cases[i].refuse;
        result r;
        read_with(&b, &f, &r);
        sample s = at(&r.m, 0, 0);
        assert_int_equal(f.n_walks, 0);
        assert_int_equal(depth(&r.m, &s), cases[i].abi ? 2 : 1);
        assert_int_equal(lost(&r.l, LOSS_STACK_COPY), cases[i].n_lost);
        arena_free(&r.a);
        read_ok(&b, &r);
        assert_int_equal(lost(&r.l, LOSS_STACK_COPY), 0);
        assert_int_equal(lost(&r.l, LOSS_EVENT_DETAIL), 2); /* regs_user and stack_user */
        arena_free(&r.a), buf_free(&b);
    }
}

static void test_other_byte_order(void **state)
{
    (void)state;
    attr_spec s = copied(X86_REGS);
    swapped = true;
    buf b = recording("x86_64", &s, &(copy_spec){MODE_USER, 5, 2, X86_REGS, 32, 24}, 1);
    swapped = false;
    fake f;
    fake_init(&f, WALK_WHOLE);
    result r;
    read_with(&b, &f, &r);
    assert_int_equal(f.n_walks, 0);
    assert_int_equal(lost(&r.l, LOSS_STACK_COPY), 1);
    arena_free(&r.a), buf_free(&b);
}

/* ---- damage ---- */

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t size, used, want;
        bool partial;
    } cases[] = {{32, 32, 32, true}, {32, 0, 0, false}, {32, 33, 0, false}, {0, 0, 0, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        attr_spec s = copied(X86_REGS);
        copy_spec v = {MODE_USER, 5, 2, X86_REGS, cases[i].size, cases[i].used};
        buf b = recording("x86_64", &s, &v, 1);
        fake f;
        fake_init(&f, WALK_WHOLE);
        result r;
        read_with(&b, &f, &r);
        assert_int_equal(f.last.bytes.n, cases[i].want);
        assert_int_equal(f.last.partial, cases[i].partial);
        arena_free(&r.a), buf_free(&b);
    }
}

static void test_short_sample(void **state)
{
    (void)state;
    attr_spec s = copied(X86_REGS);
    buf b = recording("x86_64", &s, &(copy_spec){MODE_USER, 5, 2, X86_REGS, 32, 24}, 1);
    uint64_t huge = 1 << 20;
    memcpy(b.p + b.n - 48, &huge, 8); /* the size of the stack */
    fake f;
    fake_init(&f, WALK_WHOLE);
    result r;
    read_opts_into(buf_view(&b), (read_opts){.walk = &f.callbacks}, 0, &r);
    assert_false(r.ok);
    assert_non_null(strstr(r.e.msg, "ends inside its user stack"));
    assert_int_equal(f.n_walks, 0);
    arena_free(&r.a), buf_free(&b);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    attr_spec s = copied(X86_REGS);
    copy_spec v[] = {{MODE_USER, 5, 2, X86_REGS, 32, 24}, {MODE_KERNEL, 6, 2, X86_REGS, 32, 24}};
    buf b = recording("x86_64", &s, v, 2);
    bool once = false;
    for (size_t budget = 64; budget < 128 * 1024; budget += 64) {
        fake f;
        fake_init(&f, WALK_WHOLE);
        result r;
        read_opts_into(buf_view(&b), (read_opts){.walk = &f.callbacks}, budget, &r);
        if (!r.ok) assert_int_equal(r.e.code, ERR_MEMORY);
        once |= r.ok;
        arena_free(&r.a);
    }
    assert_true(once);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86_registers),  cmocka_unit_test(test_aarch64_registers),
        cmocka_unit_test(test_some_registers), cmocka_unit_test(test_maps),
        cmocka_unit_test(test_frames),         cmocka_unit_test(test_ends),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_other_byte_order),
        cmocka_unit_test(test_sizes),          cmocka_unit_test(test_short_sample),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
