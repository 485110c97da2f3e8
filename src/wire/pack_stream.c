/* The streaming variant of pack_quick: zlib at its fastest level. */
#include "wire/compress.h"

#include <stdlib.h>
#include <zlib.h>
#include "base/ban.h"

enum { ROOM = 64 * 1024, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

struct packer {
    z_stream z;
};

packer *packer_open(void)
{
    packer *p = calloc(1, sizeof *p);
    if (p && deflateInit2(&p->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                          Z_DEFAULT_STRATEGY) == Z_OK)
        return p;
    free(p);
    return NULL;
}

/* Compresses all of z->next_in, whose length zlib counts in 32 bits. */
static bool deflate_all(z_stream *z, int flush, buf *out)
{
    do {
        if (!buf_reserve(out, ROOM)) return false;
        z->next_out = (uint8_t *)out->p + out->n;
        z->avail_out = ROOM;
        if (deflate(z, flush) == Z_STREAM_ERROR) return false;
        out->n += ROOM - z->avail_out;
    } while (!z->avail_out);
    return true;
}

bool packer_put(packer *p, str in, bool last, buf *out, err *e)
{
    enum { STEP = 1 << 30 };
    do {
        size_t n = in.n < STEP ? in.n : STEP;
        p->z.next_in = (uint8_t *)(uintptr_t)in.p;
        p->z.avail_in = (uInt)n;
        in = (str){in.n ? in.p + n : in.p, in.n - n};
        if (!deflate_all(&p->z, last && !in.n ? Z_FINISH : Z_NO_FLUSH, out))
            return err_set(e, ERR_MEMORY, "out of memory while compressing");
    } while (in.n);
    return true;
}

void packer_close(packer *p)
{
    if (p) deflateEnd(&p->z);
    free(p);
}
