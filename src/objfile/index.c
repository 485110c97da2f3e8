/* Opens an index block and looks addresses up in it.  A block may come from a cache file that was
 * damaged, so opening checks all sizes and the checksum, and a lookup still checks every position
 * it follows. */
#include "objfile/index.h"

#include "base/hash.h"
#include "objfile/index_build.h"
#include "base/ban.h"

_Static_assert(sizeof(index_header) == 80, "the layout of docs/symbols.md");
_Static_assert(sizeof(index_row) == 32 && sizeof(index_scope) == 32, "two to a cache line");

/* Sets *where to the aligned position of a table at or after *at, and *at to its end. Returns false
 * if they do not fit 64 bits. */
static bool place(uint64_t *at, uint64_t n, size_t size, uint64_t *where)
{
    uint64_t bytes, pad = INDEX_ALIGN - 1;
    if (ckd_add(at, *at, pad)) return false;
    *where = *at &= ~pad;
    return !ckd_mul(&bytes, n, (uint64_t)size) && !ckd_add(at, *at, bytes);
}

bool index_layout(const index_header *h, index_places *p)
{
    uint64_t at = sizeof *h;
    return place(&at, h->n_buckets, sizeof(uint32_t), &p->buckets) &&
           place(&at, h->n_rows, sizeof(index_row), &p->rows) &&
           place(&at, h->n_scopes, sizeof(index_scope), &p->scopes) &&
           place(&at, h->n_text, 1, &p->text) && (p->size = at, true);
}

uint64_t index_checksum(str block)
{
    size_t from = offsetof(index_header, checksum) + sizeof(uint64_t);
    return hash_bytes(block.p + from, block.n - from, INDEX_VERSION);
}

bool index_open(str bytes, index_view *out, err *e)
{
    if (!index_open_unread(bytes, out, e)) return false;
    if (index_checksum(bytes) == out->h.checksum) return true;
    *out = (index_view){0};
    return err_at(e, ERR_MALFORMED, 24, "the symbol index is damaged");
}

bool index_open_unread(str bytes, index_view *out, err *e)
{
    index_places p;
    *out = (index_view){0};
    if (bytes.n < sizeof out->h || (uintptr_t)bytes.p % 8)
        return err_at(e, ERR_MALFORMED, bytes.n, "too short for a symbol index");
    memcpy(&out->h, bytes.p, sizeof out->h);
    if (memcmp(out->h.magic, INDEX_MAGIC, sizeof out->h.magic) != 0 ||
        out->h.order != INDEX_ORDER || out->h.version != INDEX_VERSION)
        return err_at(e, ERR_MALFORMED, 0, "not a symbol index of version %d", INDEX_VERSION);
    if (out->h.shift > 63 || !index_layout(&out->h, &p) || p.size != bytes.n ||
        out->h.size != bytes.n || !out->h.n_text)
        return err_at(e, ERR_MALFORMED, 16, "the tables of the symbol index exceed its size");
    const void *b = bytes.p;
    const char *c = b;
    if (c[p.text + out->h.n_text - 1])
        return err_at(e, ERR_MALFORMED, p.text, "the names of the symbol index are not terminated");
    out->buckets = (const void *)(c + p.buckets);
    out->rows = (const void *)(c + p.rows);
    out->scopes = (const void *)(c + p.scopes);
    out->text = c + p.text;
    return true;
}

/* ---- lookup ---- */

str index_text_at(const index_view *x, uint32_t text)
{
    return str_of(text < x->h.n_text ? x->text + text : "");
}

/* Returns the row that contains an address; NULL if the address is before the first row. Bucket i
 * holds the number of rows before its code; the last bucket covers everything above. */
static const index_row *row_of(const index_view *x, uint64_t address)
{
    const index_row *v = x->rows;
    if (!x->h.n_rows || !x->h.n_buckets || address < v[0].address) return NULL;
    uint64_t b = (address - v[0].address) >> x->h.shift;
    size_t from = b < x->h.n_buckets ? x->buckets[b] : x->h.n_rows;
    size_t to = b + 1 < x->h.n_buckets ? x->buckets[b + 1] : x->h.n_rows;
    if (to > x->h.n_rows || from > to) return NULL; /* not a valid block */
    /* The row before the bucket is at or below the address; the search finds the last such row. */
    from -= from > 0;
    for (size_t n = to - from; n > 1;) {
        size_t half = n / 2;
        from += v[from + half].address <= address
                    ? half
                    : 0; /* without a branch, which could be mispredicted */
        n -= half;
    }
    return &v[from];
}

static const index_scope *scope_at(const index_view *x, uint32_t i)
{
    return i && i <= x->h.n_scopes ? &x->scopes[i - 1] : NULL;
}

size_t index_find(const index_view *x, uint64_t address, index_frame *out, size_t max)
{
    size_t n = 0;
    const index_row *row = row_of(x, address);
    if (!row || !max) return 0;
    index_frame f = {.file = row->file, .line = row->line, .column = row->column};
    uint32_t at = row->scope;
    for (const index_scope *s = scope_at(x, at); s && n < max; s = scope_at(x, at)) {
        f.linkage_name = s->linkage_name;
        f.name = s->name;
        f.enclosing = s->enclosing;
        f.start_line = s->start_line;
        out[n++] = f;
        f = (index_frame){.file = s->call_file, .line = s->call_line, .column = s->call_column};
        if (s->parent >= at)
            break; /* a caller precedes its callees; anything else could be a cycle */
        at = s->parent;
    }
    if (!n) {
        if (!row->symbol && !row->file) return 0;
        out[n++] = f;
    }
    /* The outermost frame gets its name from the symbol table, which also has functions without
     * debug information, and distinguishes clones (.cold, .isra), which have one name in DWARF. */
    if (row->symbol) out[n - 1].linkage_name = row->symbol;
    return n;
}
