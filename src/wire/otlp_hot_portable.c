/* The portable variant of otlp_hot.inc, without vector instructions. */
#include "wire/otlp_hot.h"

#include "wire/varint.h"

#include "base/ban.h"

/* Decodes the varints [p, q) one by one; see packed_u32_fn. */
ALWAYS_INLINE ptrdiff_t packed_scalar(const uint8_t *p, const uint8_t *q, uint32_t *to,
                                      uint32_t *max)
{
    uint32_t *d = to, top = *max;
    uint64_t v;
    while (p < q) {
        p = take_varint(p, q, &v, false);
        if (UNLIKELY(!p)) return -1;
        *d++ = (uint32_t)v;
        top = (uint32_t)v > top ? (uint32_t)v : top;
    }
    *max = top;
    return p == q ? d - to : -1;
}

ptrdiff_t packed_u32_portable(const uint8_t *p, const uint8_t *q, uint32_t *to, uint32_t *max)
{
    return packed_scalar(p, q, to, max);
}

#define HOT(name) name##_portable
#define HOT_PACKED packed_scalar
#define HOT_FEW (-1) /* never */
#define HOT_PACKED_FEW packed_scalar
#define HOT_VARINT(p, q, v) take_varint((p), (q), (v), false)
#include "wire/otlp_hot.inc"
