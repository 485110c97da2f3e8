/* Builds a CPU profile of a small web service and writes it as OTLP.
 *
 *     cc build_and_write.c $(pkg-config --cflags --libs kiln) -o build_and_write
 *     ./build_and_write ignored.otlp out.otlp */
#include <kiln/kiln.h>

#include <stdio.h>

#define MS INT64_C(1000000)
#define START UINT64_C(1760000000000000000) /* Unix ns */

/* Stacks are lists of locations, the leaf first; the builder merges equal entries. */
static uint32_t serve(kiln_builder *b, const char *leaf, int64_t line)
{
    uint32_t stack[] = {
        kiln_builder_frame(b, kiln_str_of(leaf), kiln_str_of("shop/cart.c"), line),
        kiln_builder_frame(b, kiln_str_of("handle_request"), kiln_str_of("shop/http.c"), 88),
        kiln_builder_frame(b, kiln_str_of("main"), kiln_str_of("shop/main.c"), 21),
    };
    return kiln_builder_stack(b, stack, 3);
}

/* The builder stores the first error, so checking kiln_builder_finish is enough. */
static kiln_profiles *build(kiln_error *e)
{
    kiln_builder *b = kiln_builder_new(NULL, e);
    if (!b) return NULL;

    kiln_member service = kiln_member_of("service.name", kiln_value_text(kiln_str_of("shop")));
    kiln_builder_resource(b, &(kiln_resource){
                                 .size = sizeof(kiln_resource),
                                 .attributes = &service,
                                 .n_attributes = 1,
                             });
    kiln_builder_scope(b, &(kiln_scope){
                              .size = sizeof(kiln_scope),
                              .name = kiln_str_of("build_and_write"),
                          });
    kiln_builder_profile(b, &(kiln_profile){
                                .size = sizeof(kiln_profile),
                                .sample_type = kiln_str_of("cpu"),
                                .sample_unit = kiln_str_of("ns"),
                                .period_type = kiln_str_of("cpu"),
                                .period_unit = kiln_str_of("ns"),
                                .period = 10 * MS,
                                .time_unix_nano = START,
                                .duration_nano = 1000 * MS,
                            });

    kiln_value name = kiln_value_text(kiln_str_of("worker-1"));
    uint32_t thread = kiln_builder_attribute(b, kiln_str_of("thread.name"), &name, kiln_str_of(""));
    kiln_sample s = {.size = sizeof s, .attributes = &thread, .n_attributes = 1};

    /* Each observation of a stack adds one value and one timestamp to its sample. */
    s.stack = serve(b, "price_cart", 140);
    s.values = (int64_t[]){10 * MS, 10 * MS, 20 * MS};
    s.times = (uint64_t[]){START + 30 * MS, START + 50 * MS, START + 700 * MS};
    s.n_values = s.n_times = 3;
    kiln_builder_sample(b, &s);

    s.stack = serve(b, "add_tax", 171);
    s.values = (int64_t[]){10 * MS};
    s.times = (uint64_t[]){START + 120 * MS};
    s.n_values = s.n_times = 1;
    kiln_builder_sample(b, &s);
    return kiln_builder_finish(b, e);
}

int main(int argc, char **argv)
{
    const char *path = argc > 2 ? argv[2] : "out.otlp";
    kiln_error e;
    kiln_profiles *p = build(&e);
    bool ok = p && kiln_write_file(p, path, NULL, &e);
    char text[600];
    if (ok)
        printf("wrote %s\n", path);
    else
        fprintf(stderr, "%s: %s\n", path, kiln_error_text(&e, text, sizeof text));
    kiln_profiles_free(p);
    return ok ? 0 : 1;
}
