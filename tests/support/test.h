/* tests/support/test.h - cmocka with its headers, and access to the files that tests read. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

/* cmocka prints only 32 bits of the values that it compares; these macros print both sides in
 * full. */
#define assert_u64(got, want)                                                                      \
    do {                                                                                           \
        uint64_t got_ = (uint64_t)(got), want_ = (uint64_t)(want);                                 \
        if (got_ != want_)                                                                         \
            fail_msg("%s is %llu, expected %llu", #got, (unsigned long long)got_,                  \
                     (unsigned long long)want_);                                                   \
    } while (0)

/* `ok` or the error text. */
#define assert_ok(ok, e)                                                                           \
    do {                                                                                           \
        char text_[512];                                                                           \
        if (!(ok)) fail_msg("%s: %s", #ok, err_text((e), text_, sizeof text_));                    \
    } while (0)

static inline bool test_read(const char *path, buf *out)
{
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    char chunk[8192];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_put(out, chunk, n);
    bool ok = !ferror(f) && !out->failed;
    fclose(f);
    return ok;
}

static inline const char *test_source_root(void)
{
    const char *root = getenv("KILN_SRC");
    return root ? root : ".";
}

/* tests/vectors/NAME of the source tree; the caller frees it. */
static inline buf test_vector(const char *name)
{
    char path[512];
    buf b = {0};
    snprintf(path, sizeof path, "%s/tests/vectors/%s", test_source_root(), name);
    if (!test_read(path, &b)) fail_msg("cannot read %s (KILN_SRC is the source tree)", path);
    return b;
}
