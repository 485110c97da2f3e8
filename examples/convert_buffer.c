/* Converts a file of any format to OTLP/JSON in memory and prints the losses.
 *
 *     cc convert_buffer.c $(pkg-config --cflags --libs kiln) -o convert_buffer
 *     ./convert_buffer checkout.otlp */
#include <kiln/kiln.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static char *load(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    enum { MOST = 16 << 20 };
    char *bytes = malloc(MOST);
    *n = bytes ? fread(bytes, 1, MOST, f) : 0;
    fclose(f);
    return bytes;
}

static void print_losses(const kiln_ledger *ledger)
{
    kiln_loss x = {.size = sizeof x};
    for (size_t i = 0; kiln_loss_at(ledger, i, &x); i++)
        printf("    %s, %" PRIu64 " times: %s %s\n", x.what, x.count,
               x.carried_as ? "now in" : "lost", x.carried_as ? x.carried_as : "");
    if (!kiln_ledger_lost(ledger)) puts("    nothing was lost");
}

static bool convert(const char *in, size_t n, kiln_ledger *ledger, kiln_error *e)
{
    kiln_read_options from = {.size = sizeof from, .ledger = ledger};
    kiln_write_options to = {.size = sizeof to, .format = "otlp-json", .ledger = ledger};
    kiln_bytes json;
    if (!kiln_convert(in, n, &from, &to, &json, e)) return false;
    printf("%zu bytes became %zu: %.*s...\n", n, json.n, json.n < 40 ? (int)json.n : 40, json.p);
    kiln_free_bytes(&json);
    return true;
}

int main(int argc, char **argv)
{
    size_t n = 0;
    char *in = load(argc > 1 ? argv[1] : "checkout.otlp", &n);
    kiln_ledger *ledger = kiln_ledger_new();
    kiln_error e;
    bool ok = in && ledger && convert(in, n, ledger, &e);
    if (ok) print_losses(ledger);
    char text[600];
    if (in && ledger && !ok) fprintf(stderr, "%s\n", kiln_error_text(&e, text, sizeof text));
    kiln_ledger_free(ledger);
    free(in);
    return ok ? 0 : 1;
}
