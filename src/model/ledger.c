/* The loss ledger is a small array that is searched in order: it has few entries, and it must
 * never fail or allocate, because it is filled in error paths too. */
#include "model/ledger.h"

#include "base/ban.h"
#include <inttypes.h>

static const struct {
    const char *name, *what;
} concepts[] = {
#define X(id, name, what) {name, what},
    LOSS_CONCEPTS(X)
#undef X
};

static loss *find(ledger *l, loss_stage stage, loss_concept concept, const char *carried_as)
{
    for (size_t i = 0; i < l->n; i++) {
        loss *x = &l->v[i];
        if (x->concept == concept && x->stage == stage && !x->carried_as == !carried_as) return x;
    }
    return NULL;
}

void ledger_add_n(ledger *l, loss_stage stage, loss_concept concept, const char *carried_as,
                  uint64_t count, const char *path, str value)
{
    if (!l || !count) return;
    loss *x = find(l, stage, concept, carried_as);
    if (x) {
        x->count += count;
        return;
    }
    if (l->n == ARRAY_LEN(l->v)) return; /* cannot happen: there is one slot per key */
    x = &l->v[l->n++];
    *x = (loss){.concept = concept, .stage = stage, .count = count, .carried_as = carried_as};
    snprintf(x->path, sizeof x->path, "%s", path ? path : "");
    snprintf(x->value, sizeof x->value, "%.*s", STR_ARG(value));
}

void ledger_add(ledger *l, loss_stage stage, loss_concept concept, const char *carried_as,
                const char *path, str value)
{
    ledger_add_n(l, stage, concept, carried_as, 1, path, value);
}

void ledger_drop(ledger *l, loss_stage stage, loss_concept concept, const char *carried_as)
{
    loss *x = l ? find(l, stage, concept, carried_as) : NULL;
    bool same = x && str_eq(str_of(x->carried_as), str_of(carried_as));
    if (same) *x = l->v[--l->n];
}

void ledger_merge(ledger *to, const ledger *from)
{
    for (size_t i = 0; from && i < from->n; i++) {
        const loss *x = &from->v[i];
        ledger_add_n(to, x->stage, x->concept, x->carried_as, x->count, x->path, str_of(x->value));
    }
}

bool ledger_lost(const ledger *l)
{
    for (size_t i = 0; l && i < l->n; i++)
        if (!l->v[i].carried_as) return true;
    return false;
}

static bool is_damage(const loss *x)
{
    bool broken = x->concept == LOSS_TRUNCATED || x->concept == LOSS_DAMAGED ||
                  x->concept == LOSS_INDEX_REPAIRED || x->concept == LOSS_PROFILE_REFUSED;
    return broken && x->stage == STAGE_READ && !x->carried_as;
}

void ledger_merge_carried(ledger *to, const ledger *from, const char *as)
{
    for (size_t i = 0; i < from->n; i++) {
        const loss *x = &from->v[i];
        const char *carried = x->carried_as;
        if (!carried && x->stage == STAGE_READ && !is_damage(x)) carried = as;
        ledger_add_n(to, x->stage, x->concept, carried, x->count, x->path, str_of(x->value));
    }
}

bool ledger_damage(const ledger *l, char *out, size_t n)
{
    const loss *x = NULL;
    uint64_t all = 0;
    for (size_t i = 0; l && i < l->n; i++) {
        if (!x && is_damage(&l->v[i])) x = &l->v[i];
        if (x && l->v[i].concept == x->concept && l->v[i].stage == x->stage) all += l->v[i].count;
    }
    char times[48] = "";
    if (all > 1) snprintf(times, sizeof times, "%" PRIu64 " times, first ", all);
    if (x)
        snprintf(out, n, "%s (%s%s%s%s)", loss_what(x->concept), times, x->path,
                 *x->value ? ": " : "", x->value);
    else if (n)
        *out = '\0';
    return x != NULL;
}

const char *loss_name(loss_concept c) { return concepts[c].name; }
const char *loss_what(loss_concept c) { return concepts[c].what; }

const char *loss_stage_name(loss_stage s)
{
    static const char *const names[] = {"read", "write", "merge", "ingest"};
    return names[s];
}
