/* Turns constants (classes, methods, stacks, threads) into entries of the model. Each entry is
 * created once per chunk. */
#include "format/jfr_internal.h"

#include "wire/carried.h"
#include "base/ban.h"

static jplan *plan_of(jfr *r, jtype *t, const char *const *names, size_t n, bool full)
{
    if (!t->plan && !t->broken) t->plan = jfr_plan(r, t, names, n, full);
    if (!t->plan && !t->broken) r->b.failed = true;
    return t->plan;
}

/* ---- classes ---- */

/* Turns "java/util/Map$Entry" into "java.util.Map$Entry". */
static str dotted(jfr *r, str s)
{
    if (!s.n || !memchr(s.p, '/', s.n)) return s;
    char *p = arena_alloc(r->a, s.n);
    if (!p) {
        r->b.failed = true;
        return (str){0};
    }
    for (size_t i = 0; i < s.n; i++) p[i] = s.p[i] == '/' ? '.' : s.p[i];
    return (str){p, s.n};
}

static jclass *class_of(jfr *r, jtype *t, uint64_t key)
{
    static const char *const names[] = {"name"};
    jentry *x = jfr_constant(t, key, USE_CLASS);
    if (!x) return NULL;
    if (x->memo) return &r->classes.v[x->memo - 1];
    jplan *p = plan_of(r, t, names, ARRAY_LEN(names), false);
    jclass *slot = vec_push(&r->chunk_a, &r->classes);
    if (!p || !slot) return r->b.failed = true, NULL;
    uint64_t s[JFR_SLOTS];
    jcur c = jfr_at(r, x->at);
    jfr_run(r, p, &c, s);
    slot->name = dotted(r, jfr_slot_text(r, p, 0, s));
    x->memo = (uint32_t)r->classes.n;
    return slot;
}

static const char *element_name(char c)
{
    switch (c) {
    case 'B': return "byte";
    case 'C': return "char";
    case 'D': return "double";
    case 'F': return "float";
    case 'I': return "int";
    case 'J': return "long";
    case 'S': return "short";
    case 'Z': return "boolean";
    default: return NULL;
    }
}

/* Turns "[[Ljava.lang.String;" into "java.lang.String[][]", "[B" into "byte[]". Other names are
 * unchanged. */
static str array_name(jfr *r, str s)
{
    size_t dims = 0;
    while (dims < s.n && s.p[dims] == '[') dims++;
    if (!dims || dims > 255 || dims == s.n) return s;
    str in = {s.p + dims, s.n - dims};
    const char *prim = in.n == 1 ? element_name(in.p[0]) : NULL;
    if (prim)
        in = str_of(prim);
    else if (in.n > 2 && in.p[0] == 'L' && in.p[in.n - 1] == ';')
        in = (str){in.p + 1, in.n - 2};
    else
        return s;
    char *p = arena_alloc(r->a, in.n + 2 * dims);
    if (!p) {
        r->b.failed = true;
        return (str){0};
    }
    memcpy(p, in.p, in.n);
    for (size_t i = 0; i < dims; i++) memcpy(p + in.n + 2 * i, "[]", 2);
    return (str){p, in.n + 2 * dims};
}

uint32_t jfr_class_attr(jfr *r, jtype *t, uint64_t key)
{
    jclass *c = class_of(r, t, key);
    if (!c || !c->name.n) return 0;
    if (!c->attr)
        c->attr = builder_attribute_str(&r->b, STR(KILN_ATTR_JFR_CLASS), array_name(r, c->name));
    return c->attr;
}

/* ---- methods ---- */

static str joined(jfr *r, str a, const char *sep, str b)
{
    if (!a.n) return b;
    size_t n = strlen(sep);
    char *p = arena_alloc(r->a, a.n + n + b.n);
    if (!p) {
        r->b.failed = true;
        return (str){0};
    }
    memcpy(p, a.p, a.n);
    memcpy(p + a.n, sep, n);
    if (b.n) memcpy(p + a.n + n, b.p, b.n);
    return (str){p, a.n + n + b.n};
}

/* async-profiler writes non-Java frames as methods of their library with this descriptor. */
static bool is_foreign(str descriptor) { return str_eq(descriptor, STR("()L;")); }

/* Returns function << 1 | is_foreign; 0 when there is no such method. The descriptor is dropped, so
 * that overloads of one name become one function, as in all other tools. */
static uint32_t method_of(jfr *r, jtype *t, uint64_t key)
{
    enum { TYPE, NAME, DESCRIPTOR };
    static const char *const names[] = {"type", "name", "descriptor"};
    jentry *x = jfr_constant(t, key, USE_METHOD);
    if (!x) return 0;
    if (x->memo) return x->memo - 1;
    jplan *p = plan_of(r, t, names, ARRAY_LEN(names), false);
    if (!p) return 0;
    uint64_t s[JFR_SLOTS];
    jcur c = jfr_at(r, x->at);
    jfr_run(r, p, &c, s);
    const jfield *of = p->field[TYPE];
    jclass *in = of && of->constant ? class_of(r, of->type, s[TYPE]) : NULL;
    str name = jfr_slot_text(r, p, NAME, s), descriptor = jfr_slot_text(r, p, DESCRIPTOR, s);
    bool foreign = is_foreign(descriptor);
    str full = joined(r, in ? in->name : (str){0}, ".", name);
    str system = foreign && in && in->name.n ? name : (str){0}; /* the symbol without its library */
    r->n_descriptors += descriptor.n && !foreign;
    if (!full.n) full = STR("[unknown]");
    function f = {.name = builder_string(&r->b, full),
                  .system_name = builder_string(&r->b, system)};
    uint32_t v = builder_function(&r->b, &f) << 1 | foreign;
    x->memo = v + 1;
    return v;
}

/* ---- frames and stacks ---- */

enum { FRAME_JVM, FRAME_NATIVE, FRAME_KERNEL, FRAME_MAYBE_NATIVE };

/* Returns the kind of a frame. The JDK has Interpreted, JIT compiled, Inlined and Native (a Java
 * method without bytecode). async-profiler adds C1 compiled, C++ and Kernel, and its Native means
 * machine code. */
static unsigned frame_kind(jfr *r, const jfield *f, uint64_t key)
{
    jentry *x = f && f->constant ? jfr_constant(f->type, key, USE_FRAME) : NULL;
    if (!x) return FRAME_JVM;
    if (x->memo) return x->memo - 1;
    str text = jfr_constant_text(r, f->type, x->at);
    unsigned kind = str_eq(text, STR("Kernel"))   ? FRAME_KERNEL
                    : str_eq(text, STR("C++"))    ? FRAME_NATIVE
                    : str_eq(text, STR("Native")) ? FRAME_MAYBE_NATIVE
                                                  : FRAME_JVM;
    x->memo = kind + 1;
    return kind;
}

static uint32_t frame_attr(jfr *r, unsigned kind)
{
    static const char *const names[] = {"jvm", "native", "kernel"};
    if (!r->frame_attr[kind])
        r->frame_attr[kind] =
            builder_attribute_str(&r->b, STR(ATTR_FRAME_TYPE), str_of(names[kind]));
    return r->frame_attr[kind];
}

enum { F_METHOD, F_LINE, F_TYPE };

static uint32_t make_location(jfr *r, const jplan *p, const uint64_t *s)
{
    const jfield *method = p->field[F_METHOD];
    uint32_t m = method && method->constant ? method_of(r, method->type, s[F_METHOD]) : 0;
    unsigned kind = frame_kind(r, p->field[F_TYPE], s[F_TYPE]);
    if (kind == FRAME_MAYBE_NATIVE) kind = m & 1 ? FRAME_NATIVE : FRAME_JVM;
    int64_t number = (int64_t)s[F_LINE];
    line l = {.function = m >> 1, .line = number > 0 ? number : 0};
    if (!l.function) { /* the recording lacks the method */
        function f = {.name = builder_string(&r->b, STR("[unknown]"))};
        l.function = builder_function(&r->b, &f);
    }
    uint32_t attr = frame_attr(r, kind);
    return builder_location(&r->b, 0, 0, &l, 1, &attr, 1);
}

static uint32_t location_of(jfr *r, const jplan *p, const uint64_t *s)
{
    uint64_t h = hash_mix(hash_mix(s[F_METHOD], s[F_LINE]), s[F_TYPE]);
    jframe_memo *m = &r->frames[h % JFR_FRAME_MEMOS];
    int32_t number = (int32_t)s[F_LINE];
    if (m->location && m->method == s[F_METHOD] && m->line == number && m->type == s[F_TYPE])
        return m->location;
    uint32_t at = make_location(r, p, s);
    *m = (jframe_memo){s[F_METHOD], s[F_TYPE], number, at};
    return at;
}

/* Reads n frames at c, leaf first. */
static uint32_t take_frames(jfr *r, jtype *t, jcur c)
{
    static const char *const names[] = {"method", "lineNumber", "type"};
    jplan *p = plan_of(r, t, names, ARRAY_LEN(names), true);
    uint32_t n = jcur_int(&c);
    if (!p || t->zero || n > (size_t)(c.end - c.p)) return 0; /* each frame has at least one byte */
    if (!r->frames) r->frames = arena_new(&r->chunk_a, jframe_memo, JFR_FRAME_MEMOS);
    r->locations.n = 0;
    if (!r->frames || !vec_reserve(&r->chunk_a, &r->locations, n)) return r->b.failed = true, 0;
    uint64_t s[JFR_SLOTS];
    for (uint32_t i = 0; i < n; i++) {
        jfr_run(r, p, &c, s);
        if (c.failed) return 0;
        r->locations.v[r->locations.n++] = location_of(r, p, s);
    }
    r->n_frames += n;
    return builder_stack(&r->b, r->locations.v, n);
}

bool jfr_stack(jfr *r, jtype *t, uint64_t key, uint32_t *stack, bool *truncated)
{
    enum { TRUNCATED, FRAMES };
    static const char *const names[] = {"truncated", "frames"};
    *stack = 0;
    *truncated = false;
    jentry *x = jfr_constant(t, key, USE_STACK);
    if (!x) return key == 0;
    if (!x->memo) {
        jplan *p = plan_of(r, t, names, ARRAY_LEN(names), false);
        if (!p) return false;
        uint64_t s[JFR_SLOTS];
        jcur c = jfr_at(r, x->at);
        jfr_run(r, p, &c, s);
        const jfield *f = p->field[FRAMES];
        bool has_frames = !c.failed && f && f->array && !f->constant && f->type && !f->type->broken;
        uint32_t i = has_frames ? take_frames(r, f->type, jfr_at(r, (uint32_t)s[FRAMES])) : 0;
        x->memo = (i << 1 | (s[TRUNCATED] != 0)) + 1;
    }
    *stack = (x->memo - 1) >> 1;
    *truncated = (x->memo - 1) & 1;
    return true;
}

/* ---- threads ---- */

static void thread_attr(jthread *t, uint32_t attr)
{
    if (attr) t->attrs[t->n++] = attr;
}

jthread jfr_thread(jfr *r, jtype *t, uint64_t key)
{
    enum { OS_NAME, OS_ID, JAVA_NAME, JAVA_ID };
    static const char *const names[] = {"osName", "osThreadId", "javaName", "javaThreadId"};
    jentry *x = jfr_constant(t, key, USE_THREAD);
    if (!x) return (jthread){0};
    if (x->memo) return r->threads.v[x->memo - 1];
    jplan *p = plan_of(r, t, names, ARRAY_LEN(names), false);
    jthread *to = vec_push(&r->chunk_a, &r->threads);
    if (!p || !to) return r->b.failed |= !to, (jthread){0};
    uint64_t s[JFR_SLOTS];
    jcur c = jfr_at(r, x->at);
    jfr_run(r, p, &c, s);
    str name = jfr_slot_text(r, p, JAVA_NAME, s);
    if (!name.n) name = jfr_slot_text(r, p, OS_NAME, s);
    if ((int64_t)s[OS_ID] > 0)
        thread_attr(to, builder_attribute_int(&r->b, STR(ATTR_THREAD_ID), (int64_t)s[OS_ID]));
    if (name.n) thread_attr(to, builder_attribute_str(&r->b, STR(ATTR_THREAD_NAME), name));
    if ((int64_t)s[JAVA_ID] > 0)
        thread_attr(
            to, builder_attribute_int(&r->b, STR(KILN_ATTR_JFR_THREAD_ID), (int64_t)s[JAVA_ID]));
    x->memo = (uint32_t)r->threads.n;
    return *to;
}

uint32_t jfr_state_attr(jfr *r, jtype *t, uint64_t key)
{
    jentry *x = jfr_constant(t, key, USE_STATE);
    if (!x) return 0;
    if (!x->memo) {
        str text = jfr_constant_text(r, t, x->at);
        uint32_t attr = text.n ? builder_attribute_str(&r->b, STR(ATTR_THREAD_STATE), text) : 0;
        x->memo = attr + 1;
    }
    return x->memo - 1;
}
