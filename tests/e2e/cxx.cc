/* The public header compiles as C++ without other headers and links as C: builds, writes, reads, checks. */
#include <kiln/kiln.h>

#include <cstdio>
#include <memory>
#include <string>

namespace
{

int n_tests = 0;

bool ok(bool good, const char *what)
{
    std::printf("%sok %d - %s\n", good ? "" : "not ", ++n_tests, what);
    return good;
}

struct Free {
    void operator()(kiln_profiles *p) const { kiln_profiles_free(p); }
    void operator()(kiln_report *r) const { kiln_report_free(r); }
    void operator()(kiln_bytes *b) const { kiln_free_bytes(b); }
};
using Profiles = std::unique_ptr<kiln_profiles, Free>;
using Report = std::unique_ptr<kiln_report, Free>;

std::string text(kiln_str s) { return std::string(s.p ? s.p : "", s.n); }

Profiles build(kiln_error *e)
{
    kiln_builder *b = kiln_builder_new(nullptr, e);
    kiln_member name = kiln_member_of("service.name", kiln_value_text(kiln_str_of("shop")));
    kiln_resource resource = {};
    resource.size = sizeof resource;
    resource.attributes = &name;
    resource.n_attributes = 1;
    kiln_builder_resource(b, &resource);
    kiln_profile profile = {};
    profile.size = sizeof profile;
    profile.sample_type = kiln_str_of("cpu");
    profile.sample_unit = kiln_str_of("ns");
    kiln_builder_profile(b, &profile);
    const uint32_t frames[] = {kiln_builder_frame(b, kiln_str_of("leaf"), kiln_str_of("a.cc"), 3),
                               kiln_builder_frame(b, kiln_str_of("main"), kiln_str_of("a.cc"), 9)};
    const int64_t value = 42;
    kiln_sample sample = {};
    sample.size = sizeof sample;
    sample.stack = kiln_builder_stack(b, frames, 2);
    sample.values = &value;
    sample.n_values = 1;
    kiln_builder_sample(b, &sample);
    return Profiles(kiln_builder_finish(b, e));
}

bool looks_right(const kiln_profiles *p)
{
    kiln_resource resource = {};
    resource.size = sizeof resource;
    if (!kiln_resource_at(p, 0, &resource)) return false;
    const kiln_value *v =
        kiln_member_find(resource.attributes, resource.n_attributes, kiln_str_of("service.name"));
    if (!v || v->kind != KILN_KIND_STRING || std::string(v->as.text, v->n) != "shop") return false;

    kiln_sample sample = {};
    sample.size = sizeof sample;
    if (!kiln_sample_at(p, 0, 0, &sample) || kiln_sample_total(&sample) != 42) return false;
    std::string stack;
    kiln_frames walk;
    kiln_frame f = {};
    f.size = sizeof f;
    for (kiln_frames_begin(p, sample.stack, &walk); kiln_frames_next(&walk, &f);)
        stack += text(f.function) + ";";
    return stack == "leaf;main;";
}

} // namespace

int main()
{
    kiln_error e;
    Profiles p = build(&e);
    ok(p && looks_right(p.get()), "builds and inspects");

    kiln_bytes bytes = {};
    kiln_write_options gzip = {};
    gzip.size = sizeof gzip;
    gzip.format = "otlp-json";
    gzip.compression = "gzip";
    ok(kiln_write(p.get(), &gzip, &bytes, &e), "writes");
    std::unique_ptr<kiln_bytes, Free> hold(&bytes);
    Profiles again(kiln_read(bytes.p, bytes.n, nullptr, &e));
    ok(again && looks_right(again.get()), "reads");

    Report r(kiln_check(bytes.p, bytes.n, nullptr, &e));
    ok(r && kiln_report_count(r.get(), KILN_SEVERITY_ERROR) == 0, "checks");

    const bool refused = !Profiles(kiln_read("{", 1, nullptr, &e));
    char why[600];
    ok(refused && e.code == KILN_MALFORMED && *kiln_error_text(&e, why, sizeof why),
       "reports the error");
    std::printf("1..%d\n", n_tests);
    return 0;
}
