/* Reads libraries, functions and stacks of a Firefox profile. Raw profiles have one text per frame,
 * which is parsed here; processed profiles have tables. */
#include "format/gecko.h"

#include "wire/carried.h"
#include "base/text.h"
#include "base/search.h"
#include "base/ban.h"

/* ---- libraries ---- */

static bool lib_number(json *j, uint64_t *out)
{
    if (json_next(j) != JSON_NUMBER) return json_skip_open(j);
    return json_to_u64(j, UINT64_MAX, out);
}

static bool lib_field(json *j, gecko_reader *r, gecko_lib *l)
{
    if (json_is(j, "start")) return lib_number(j, &l->start);
    if (json_is(j, "end")) return lib_number(j, &l->end);
    if (json_is(j, "offset")) return lib_number(j, &l->offset);
    if (json_is(j, "name")) return json_take_text(j, r->work, &l->name);
    if (json_is(j, "path")) return json_take_text(j, r->work, &l->path);
    if (json_is(j, "breakpadId")) return json_take_text(j, r->work, &l->breakpad);
    if (json_is(j, "codeId")) return json_take_text(j, r->work, &l->code);
    return json_skip_value(j);
}

static bool lib_list(json *j, gecko_reader *r, gecko_process *p)
{
    if (!json_expect_array(j)) return false;
    while (json_element(j)) {
        gecko_lib l = {0};
        if (j->tok != JSON_OBJECT) return json_expected(j, "a library");
        while (json_key(j))
            if (!lib_field(j, r, &l)) return err_in(j->e, "libs[%zu]", p->libs.n);
        gecko_lib *slot = vec_push(r->work, &p->libs);
        if (!slot) return err_memory(j->e);
        *slot = l;
    }
    return !j->bad;
}

/* Reads the list of version 3, a string that contains JSON. */
static bool read_lib_text(gecko_reader *r, gecko_process *p, err *e)
{
    json j = json_open_slice(p->libs_text, r->work, e);
    if (p->libs_text.bytes.p[0] != '"') return lib_list(&j, r, p);
    if (json_next(&j) != JSON_STRING) return false;
    json inner = json_open_slice((json_slice){j.text, j.at}, r->work, e);
    return !j.text.n || lib_list(&inner, r, p);
}

static bool is_hex(str s, bool lower)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool digit = c >= '0' && c <= '9', low = c >= 'a' && c <= 'f', up = c >= 'A' && c <= 'F';
        if (!digit && !low && (lower || !up)) return false;
    }
    return s.n > 0;
}

/* Converts a Breakpad id to the first 16 bytes of a GNU build id, in hex. A Breakpad id has these
 * as an upper-case GUID, whose first three numbers are little-endian, followed by an age. */
static bool build_id_of_breakpad(str s, char out[33])
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    if (s.n < 33 || !is_hex(s, false)) return false;
    for (size_t i = 0; i < 32; i++) {
        char c = s.p[order[i / 2] * 2 + i % 2];
        out[i] = c >= 'A' && c <= 'F' ? (char)(c | 0x20) : c;
    }
    out[32] = '\0';
    return true;
}

static uint32_t mapping_of_lib(gecko_reader *r, gecko_process *p, size_t i)
{
    if (i >= p->libs.n) return 0;
    gecko_lib *l = &p->libs.v[i];
    if (l->mapping) return l->mapping - 1;
    uint32_t attrs[2], n = 0;
    char id[33];
    bool gnu = l->code.n >= 32 && is_hex(l->code, true);
    if (gnu)
        attrs[n++] = builder_attribute_str(&r->b, STR(ATTR_BUILD_ID_GNU), l->code);
    else if (p->is_linux && build_id_of_breakpad(l->breakpad, id))
        attrs[n++] = builder_attribute_str(&r->b, STR(ATTR_BUILD_ID_GNU), str_of(id));
    if (l->breakpad.n) {
        attrs[n++] = builder_attribute_str(&r->b, STR(KILN_ATTR_BUILD_ID_BREAKPAD), l->breakpad);
        ledger_add(r->l, STAGE_READ, LOSS_BUILD_ID_KIND, KILN_ATTR_BUILD_ID_BREAKPAD,
                   "libs[].breakpadId", l->breakpad);
    }
    mapping m = {
        .memory_start = l->start,
        .memory_limit = l->end,
        .file_offset = l->offset,
        .filename = builder_string(&r->b, l->path.n ? l->path : l->name),
    };
    l->mapping = builder_mapping(&r->b, &m, attrs, n) + 1;
    return l->mapping - 1;
}

/* Finds the library that contains the address in by_start[], which is ordered by address. */
static uint32_t mapping_of_address(gecko_reader *r, gecko_process *p, uint64_t address)
{
    size_t low = SEARCH(0, p->by_start.n, i, p->by_start.v[i].start <= address);
    if (!low || address >= p->by_start.v[low - 1].end) return 0;
    return mapping_of_lib(r, p, p->by_start.v[low - 1].lib);
}

static int by_start(const void *left, const void *right)
{
    const gecko_range *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->lib < b->lib ? -1 : a->lib > b->lib;
}

static bool sort_libs(gecko_reader *r, gecko_process *p, err *e)
{
    if (!vec_reserve(r->work, &p->by_start, p->libs.n)) return err_memory(e);
    for (size_t i = 0; i < p->libs.n; i++)
        if (p->libs.v[i].start < p->libs.v[i].end)
            p->by_start.v[p->by_start.n++] = (gecko_range){p->libs.v[i].start, p->libs.v[i].end, i};
    if (p->by_start.n) qsort(p->by_start.v, p->by_start.n, sizeof *p->by_start.v, by_start);
    return true;
}

/* ---- raw frames: everything is in one text ---- */

/* Parses "0x7f4e288478ec". */
static bool parse_address(str s, uint64_t *v)
{
    *v = 0;
    if (s.n < 3 || s.n > 18 || s.p[0] != '0' || s.p[1] != 'x') return false;
    for (size_t i = 2; i < s.n; i++) {
        int d = hex_digit(s.p[i]);
        if (d < 0) return false;
        *v = *v << 4 | (unsigned)d;
    }
    return true;
}

/* Removes ":123" from the end of *s and sets *v to the number. */
static bool cut_number(str *s, int64_t *v)
{
    size_t i = s->n;
    while (i > 0 && s->p[i - 1] >= '0' && s->p[i - 1] <= '9') i--;
    if (i == s->n || i == 0 || s->p[i - 1] != ':' || s->n - i > 9) return false;
    *v = 0;
    for (size_t k = i; k < s->n; k++) *v = *v * 10 + (s->p[k] - '0');
    s->n = i - 1;
    return true;
}

typedef struct raw_name {
    str name, file, lib;
    int64_t line, column;
} raw_name;

/* Parses "func (url:line:col)[source]", "func (in lib)" or a plain name. */
static raw_name parse_name(str s)
{
    raw_name out = {.name = s};
    str body = s;
    if (body.n && body.p[body.n - 1] == ']') {
        size_t i = body.n - 1;
        while (i > 0 && body.p[i - 1] >= '0' && body.p[i - 1] <= '9') i--;
        if (i > 0 && body.p[i - 1] == '[') body.n = i - 1;
    }
    if (!body.n || body.p[body.n - 1] != ')') return out;
    size_t i = body.n;
    while (i > 1 && !(body.p[i - 1] == '(' && body.p[i - 2] == ' ')) i--;
    if (i < 3) return out;
    str inside = {body.p + i, body.n - i - 1};
    if (str_starts(inside, STR("in "))) {
        out.name.n = i - 2;
        out.lib = (str){inside.p + 3, inside.n - 3};
        return out;
    }
    int64_t last = 0, before = 0;
    bool one = cut_number(&inside, &last), two = one && cut_number(&inside, &before);
    if (!one && !memchr(inside.p, '/', inside.n)) return out; /* a name such as "operator()(int)" */
    out.name.n = i - 2;
    out.file = inside;
    out.line = two ? before : last;
    out.column = two ? last : 0;
    return out;
}

static uint32_t raw_location(gecko_reader *r, gecko_process *p, str s, int64_t line_no,
                             int64_t column)
{
    builder *b = &r->b;
    uint64_t address;
    if (parse_address(s, &address))
        return builder_location(b, mapping_of_address(r, p, address), address, NULL, 0, NULL, 0);
    raw_name n = parse_name(s);
    function f = {.name = builder_string(b, n.name), .filename = builder_string(b, n.file)};
    /* The text has the position of the function; the columns of the table have that of the call. */
    f.start_line = line_no > 0 ? n.line : 0;
    line l = {
        .function = builder_function(b, &f),
        .line = line_no > 0 ? line_no : n.line,
        .column = column > 0    ? column
                  : line_no > 0 ? 0
                                : n.column,
    };
    mapping m = {.filename = builder_string(b, n.lib)};
    bool kernel = str_starts(n.lib, STR("[kernel"));
    uint32_t attr = kernel ? builder_attribute_str(b, STR(ATTR_FRAME_TYPE), STR("kernel")) : 0;
    return builder_location(b, builder_mapping(b, &m, NULL, 0), 0, &l, 1, &attr, kernel);
}

/* ---- processed frames ---- */

enum { F_FUNC, F_ADDRESS, F_INLINE, F_LINE, F_COLUMN, F_SYMBOL, F_LIB, F_LOCATION, N_FRAME };
enum { N_NAME, N_FILE, N_SOURCE, N_RESOURCE, N_LINE, N_FUNC };

typedef struct tables {
    gecko_reader *r;
    gecko_process *p;
    gecko_column frame[N_FRAME], func[N_FUNC], resource_lib[1], symbol_lib[1], source_name[1],
        stack[3];
    gecko_strings strings;
    size_t n_frames, n_stacks;
} tables;

static str text_at(const tables *t, int64_t i)
{
    return i >= 0 && (uint64_t)i < t->strings.n ? t->strings.v[i] : (str){0};
}

static int64_t positive(int64_t v) { return v > 0 ? v : 0; }

/* Returns the library of a frame's code, for which newer versions have a field. */
static int64_t lib_of(const tables *t, int64_t f, int64_t func)
{
    int64_t lib = gecko_at(&t->frame[F_LIB], f);
    if (lib < 0) lib = gecko_at(&t->symbol_lib[0], gecko_at(&t->frame[F_SYMBOL], f));
    if (lib < 0) lib = gecko_at(&t->resource_lib[0], gecko_at(&t->func[N_RESOURCE], func));
    return lib;
}

static line processed_line(tables *t, int64_t f, int64_t func)
{
    builder *b = &t->r->b;
    str file = text_at(t, gecko_at(&t->func[N_FILE], func));
    if (!file.n)
        file = text_at(t, gecko_at(&t->source_name[0], gecko_at(&t->func[N_SOURCE], func)));
    function fn = {
        .name = builder_string(b, text_at(t, gecko_at(&t->func[N_NAME], func))),
        .filename = builder_string(b, file),
        .start_line = positive(gecko_at(&t->func[N_LINE], func)),
    };
    return (line){
        .function = builder_function(b, &fn),
        .line = positive(gecko_at(&t->frame[F_LINE], f)),
        .column = positive(gecko_at(&t->frame[F_COLUMN], f)),
    };
}

/* Returns the location of a frame. `outer`: the location that the frame was inlined into, or 0. */
static uint32_t processed_location(tables *t, int64_t f, uint32_t outer)
{
    enum { MAX_INLINED = 64 };
    builder *b = &t->r->b;
    int64_t func = gecko_at(&t->frame[F_FUNC], f), address = gecko_at(&t->frame[F_ADDRESS], f),
            lib = lib_of(t, f, func);
    uint64_t unnamed;
    str name = text_at(t, gecko_at(&t->func[N_NAME], func));
    uint32_t mapping_i = lib >= 0 ? mapping_of_lib(t->r, t->p, (size_t)lib) : 0;
    if (mapping_i && address >= 0 && !outer && parse_address(name, &unnamed))
        return builder_location(b, mapping_i, (uint64_t)address, NULL, 0, NULL, 0);
    line lines[MAX_INLINED];
    size_t n = 1;
    lines[0] = processed_line(t, f, func);
    if (outer) {
        span s = b->m.dict.locations.v[outer].lines;
        for (uint32_t i = 0; i < s.n && n < MAX_INLINED; i++)
            lines[n++] = b->m.dict.lines.v[s.at + i];
    }
    uint64_t at = mapping_i && address > 0 ? (uint64_t)address : 0;
    return builder_location(b, mapping_i, at, lines, n, NULL, 0);
}

/* ---- stacks ---- */

static bool load(tables *t, const gecko_slices *s, err *e)
{
    static const char *const frame_names[] = {"func",   "address",      "inlineDepth", "line",
                                              "column", "nativeSymbol", "lib",         "location"},
                             *const func_names[] = {"name", "fileName", "source", "resource",
                                                    "lineNumber"},
                             *const stack_names[] = {"prefix", "prefixOffset", "frame"};
    for (size_t i = 0; i < N_FRAME; i++) t->frame[i].name = frame_names[i];
    for (size_t i = 0; i < N_FUNC; i++) t->func[i].name = func_names[i];
    for (size_t i = 0; i < 3; i++) t->stack[i].name = stack_names[i];
    t->resource_lib[0].name = "lib";
    t->symbol_lib[0].name = "libIndex";
    t->source_name[0].name = "filename";
    gecko_reader *r = t->r;
    size_t rows;
    if (!gecko_table(s->frames, t->frame, N_FRAME, &t->n_frames, r->work, &r->rounded, e))
        return err_in(e, "frameTable");
    if (!gecko_table(s->funcs, t->func, N_FUNC, &rows, r->work, &r->rounded, e))
        return err_in(e, "funcTable");
    if (!gecko_table(s->resources, t->resource_lib, 1, &rows, r->work, &r->rounded, e))
        return err_in(e, "resourceTable");
    if (!gecko_table(s->symbols, t->symbol_lib, 1, &rows, r->work, &r->rounded, e))
        return err_in(e, "nativeSymbols");
    if (!gecko_table(s->sources, t->source_name, 1, &rows, r->work, &r->rounded, e))
        return err_in(e, "sources");
    if (!gecko_table(s->stacks, t->stack, 3, &t->n_stacks, r->work, &r->rounded, e))
        return err_in(e, "stackTable");
    return gecko_string_table(s->strings, &t->strings, r->work, e) || err_in(e, "stringTable");
}

bool gecko_skip_damaged(gecko_reader *r, err *e)
{
    if (e->code != ERR_MALFORMED) return false;
    if (!r->n_damaged++) r->first_damage = *e;
    *e = (err){0};
    return true;
}

/* A row of the stack table. An inlined call has its caller's address and the next depth. */
typedef struct stack_row {
    uint32_t under; /* node of the caller */
    uint32_t loc;
    int64_t address, depth;
} stack_row;

static bool prefix_of(const tables *t, size_t i, int64_t *prefix, err *e)
{
    int64_t offset = gecko_at(&t->stack[1], (int64_t)i);
    *prefix = gecko_at(&t->stack[0], (int64_t)i);
    if (offset > 0 && (uint64_t)offset <= i) *prefix = (int64_t)i - offset;
    if (offset > 0 && (uint64_t)offset > i) *prefix = (int64_t)i;
    if (*prefix == -1) *prefix = GECKO_NONE;
    if (*prefix == GECKO_NONE || (*prefix >= 0 && (uint64_t)*prefix < i)) return true;
    return err_set(e, ERR_MALFORMED, "stackTable: row %zu comes before its prefix", i);
}

/* Adds a row. A row without a frame is replaced by its caller; a row whose caller is unknown
 * becomes a root. */
static bool put_row(tables *t, size_t i, stack_row *rows, uint32_t *nodes, uint32_t *raw, err *e)
{
    int64_t prefix, f = gecko_at(&t->stack[2], (int64_t)i);
    stack_row *row = &rows[i];
    bool ok = prefix_of(t, i, &prefix, e);
    if (!ok) prefix = GECKO_NONE;
    const stack_row *up = prefix >= 0 ? &rows[prefix] : NULL;
    if (f < 0 || (uint64_t)f >= t->n_frames) {
        *row = up ? *up : (stack_row){.address = -1, .depth = -1};
        nodes[i] = up ? nodes[prefix] : 0;
        return err_set(e, ERR_MALFORMED, "stackTable: row %zu has no frame", i);
    }
    row->address = gecko_at(&t->frame[F_ADDRESS], f);
    row->depth = gecko_at(&t->frame[F_INLINE], f);
    bool is_raw = t->frame[F_LOCATION].present;
    bool inlined = !is_raw && up && row->depth > 0 && row->address >= 0 &&
                   up->address == row->address && up->depth == row->depth - 1;
    row->under = inlined ? up->under : up ? nodes[prefix] : 0;
    if (inlined || !raw[f]) {
        int64_t s = gecko_at(&t->frame[F_LOCATION], f);
        row->loc = is_raw ? raw_location(t->r, t->p, text_at(t, s), gecko_at(&t->frame[F_LINE], f),
                                         gecko_at(&t->frame[F_COLUMN], f))
                          : processed_location(t, f, inlined ? up->loc : 0);
        if (!inlined) raw[f] = row->loc + 1;
    } else {
        row->loc = raw[f] - 1;
    }
    nodes[i] = nest_child(&t->r->tree, row->under, row->loc);
    return ok;
}

static bool read_libs(gecko_reader *r, gecko_process *p, err *e)
{
    if (p->libs_read || !p->libs_text.bytes.n) return true;
    p->libs_read = true;
    return read_lib_text(r, p, e) && sort_libs(r, p, e);
}

bool gecko_read_stacks(gecko_reader *r, gecko_process *p, const gecko_slices *s, gecko_stacks *out,
                       err *e)
{
    tables *t = arena_new(r->work, tables, 1);
    if (!t) return err_memory(e);
    t->r = r;
    t->p = p;
    if (!read_libs(r, p, e) || !load(t, s, e)) return false;
    stack_row *rows = arena_new(r->work, stack_row, t->n_stacks);
    uint32_t *made = arena_new(r->work, uint32_t, t->n_frames);
    out->node.v = arena_new(r->work, uint32_t, t->n_stacks);
    out->node.n = out->node.cap = t->n_stacks;
    if (!rows || !made || !out->node.v) return err_memory(e);
    size_t n_damaged = 0;
    for (size_t i = 0; i < t->n_stacks && !r->b.failed; i++) {
        if (put_row(t, i, rows, out->node.v, made, e)) continue;
        if (++n_damaged == t->n_stacks || !gecko_skip_damaged(r, e))
            return false; /* all rows are invalid */
    }
    return !r->b.failed || err_memory(e);
}
