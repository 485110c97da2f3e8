/* Builds a CPU profile of a small web service and writes it as OTLP.
 *
 *     cc build_and_write.c $(pkg-config --cflags --libs kiln) -o build_and_write
 *     ./build_and_write ignored.otlp out.otlp */
#include <kiln/kiln.h>

#include <stdio.h>

enum { MS = 1000000 };

/* Stacks are lists of locations, the leaf first; equal entries become one by themselves. */
static uint32_t serve(kiln_builder *b, const char *leaf, int64_t line)
{
    uint32_t stack[] = {
        kiln_builder_frame(b, kiln_str_of(leaf), kiln_str_of("shop/cart.c"), line),
        kiln_builder_frame(b, kiln_str_of("handle_request"), kiln_str_of("shop/http.c"), 88),
        kiln_builder_frame(b, kiln_str_of("main"), kiln_str_of("shop/main.c"), 21),
    };
    return kiln_builder_stack(b, stack, 3);
}

/* The first mistake is remembered, so only the end has to be looked at. */
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
                                .time_unix_nano = 1760000000000000000,
                                .duration_nano = 1000ull * MS,
                            });

    kiln_value name = kiln_value_text(kiln_str_of("worker-1"));
    uint32_t thread =
        kiln_builder_attribute(b, kiln_str_of("thread.name"), &name, kiln_str_of(""));
    uint32_t price = serve(b, "price_cart", 140), tax = serve(b, "add_tax", 171);
    for (int i = 0; i < 30; i++)
        kiln_builder_sample(b, &(kiln_sample){
                                   .size = sizeof(kiln_sample),
                                   .stack = i % 3 ? price : tax,
                                   .values = (int64_t[]){10 * MS},
                                   .n_values = 1,
                                   .attributes = &thread,
                                   .n_attributes = 1,
                               });
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
