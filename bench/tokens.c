/* tokens.c - the base line for a long JSON file: yajl reads every token of it, in pieces, and
 * stores nothing.
 *
 *     tokens FILE                     prints the number of tokens
 *
 * Numbers stay text, strings are not copied; UTF-8 is validated, as in Kiln's reader. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

enum { PIECE = 1 << 20 };

static int count(void *n) { return ++*(uint64_t *)n != 0; }
static int on_boolean(void *n, int v) { return (void)v, count(n); }
static int on_number(void *n, const char *s, size_t len) { return (void)s, (void)len, count(n); }
static int on_string(void *n, const unsigned char *s, size_t len)
{
    return (void)s, (void)len, count(n);
}

static const yajl_callbacks callbacks = {
    .yajl_null = count,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = count,
    .yajl_map_key = on_string,
    .yajl_end_map = count,
    .yajl_start_array = count,
    .yajl_end_array = count,
};

int main(int argc, char **argv)
{
    static unsigned char piece[PIECE];
    uint64_t n_tokens = 0;
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    yajl_handle h = yajl_alloc(&callbacks, NULL, &n_tokens);
    if (fd < 0 || !h) {
        fprintf(stderr, "usage: tokens FILE\n");
        return 2;
    }
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0)
        if (yajl_parse(h, piece, (size_t)n) != yajl_status_ok) return 1;
    if (n < 0 || yajl_complete_parse(h) != yajl_status_ok) return 1;
    yajl_free(h);
    close(fd);
    printf("%ju\n", (uintmax_t)n_tokens);
    return 0;
}
