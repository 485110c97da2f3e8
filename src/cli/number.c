/* Parses --weight, which `merge` and the commands with a selection share. */
#include "cli/number.h"

#include "base/words.h"
#include "base/ban.h"

bool weight_parse(str text, double *out, err *e)
{
    str rest;
    if (decimal_at(text, out, &rest) && !rest.n) return true;
    return err_set(e, ERR_USAGE, "--weight must be a number such as 2 or -1, not `%.*s`",
                   text.n > 40 ? 40 : (int)text.n, text.p);
}
