/* The two collapsed lines of the drafts as a model, and their encoding in each dialect
 * (docs/spec/layouts.md):
 *   foo;bar;baz 100 region=us,trace_id=0x01020304...,span_id=0x99... 1687841528000000
 *   foo;bar 200 region=us */
#pragma once
#include "format/format.h"
#include "model/builder.h"
#include "../../support/test.h"

enum { EXAMPLE_START = 1, EXAMPLE_ID = 2, EXAMPLE_URL = 4 };

#define EXAMPLE_BEGIN UINT64_C(1687841520000000000)
#define EXAMPLE_TIME UINT64_C(1687841528000000000)
#define EXAMPLE_LENGTH UINT64_C(10000000000)

static inline uint32_t example_frame(builder *b, const char *name)
{
    line l = {.function =
                  builder_function(b, &(function){.name = builder_string(b, str_of(name))})};
    return builder_location(b, 0, 0, &l, 1, NULL, 0);
}

/* The model that the reader of collapsed text builds, with the additions of the flags of
 * `convert`. */
static inline model example_model(arena *a, unsigned with, const char *type, const char *unit)
{
    static const uint8_t trace[16] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
    builder b;
    assert_true(builder_init(&b, a));
    uint8_t span_id[8], id[16];
    memset(span_id, 0x99, sizeof span_id);
    for (uint8_t i = 0; i < 16; i++) id[i] = (uint8_t)(i + 1);
    builder_resource(&b, &(resource){.present = true,
                                     .schema_url = with & EXAMPLE_URL ? STR("todo") : (str){0}});
    builder_scope(&b, &(scope){.present = true});
    profile *p = builder_profile(&b);
    p->has_sample_type = true;
    if (with & EXAMPLE_START) p->time_unix_nano = EXAMPLE_BEGIN, p->duration_nano = EXAMPLE_LENGTH;
    if (with & EXAMPLE_ID) memcpy(p->profile_id, id, 16);
    uint32_t foo = example_frame(&b, "foo"), bar = example_frame(&b, "bar"),
             baz = example_frame(&b, "baz");
    uint32_t region = builder_attribute_str(&b, STR("region"), STR("us"));
    p->sample_type =
        (value_type){builder_string(&b, str_of(type)), builder_string(&b, str_of(unit))};
    int64_t v = 100;
    uint64_t t = EXAMPLE_TIME;
    builder_sample(&b, &(sample){.stack = builder_stack(&b, (uint32_t[]){baz, bar, foo}, 3),
                                 .link = builder_link(&b, trace, span_id),
                                 .attrs = &region,
                                 .n_attrs = 1,
                                 .values = &v,
                                 .n_values = 1,
                                 .times = &t,
                                 .n_times = 1});
    v = 200;
    builder_sample(&b, &(sample){.stack = builder_stack(&b, (uint32_t[]){bar, foo}, 2),
                                 .attrs = &region,
                                 .n_attrs = 1,
                                 .values = &v,
                                 .n_values = 1});
    model m;
    err e = {0};
    assert_true(builder_finish(&b, &m, &e));
    return m;
}

static const char example_a[] =
    "0aae010a0012a3010a00129e010a100102030405060708090a0b0c0d0e0f103a050a030001023a040a0200014a021a"
    "00"
    "4a041a0208014a041a0208025202080152020802520208035a005a1c0a100102030401020304010203040102030412"
    "08"
    "9999999999999999620062100a0e0a06726567696f6e12040a0275736a006a03666f6f6a036261726a0362617a721c"
    "52"
    "0200015a020100620201016a0364c801720980dcdad5d3e2ff02001a04746f646f";
static const char example_b[] = "0ad3010a0012c8010a0012c3010a100102030405060708090a0b0c0d0e0f101100"
                                "60c17ceb6a6c17190044cdd0ed6a6c"
                                "17429c010a060804100518011212120164400352010060016a06c0b1c7d98f3112"
                                "0b1202c80138014002520100220222"
                                "002204220208012204220208022a0210012a0210022a02100332003203666f6f32"
                                "03626172320362617a320363707532"
                                "0773616d706c65737a0302010082010e0a06726567696f6e12040a027573920100"
                                "92011c0a1001020304010203040102"
                                "030401020304120899999999999999991a04746f646f";
static const char example_c[] = "0a0f100118012201002880a0d9e61d38640a0a0801100222010040c8011a040804"
                                "18001a0408042001220022050a0303"
                                "020122040a0202012a002a041a0208012a041a0208022a041a0208033200320210"
                                "0132021002320210033a0042060805"
                                "120208065200521c0a100102030401020304010203040102030412089999999999"
                                "9999995a005a03666f6f5a03626172"
                                "5a0362617a5a0773616d706c65735a06726567696f6e5a027573620f088094ebdc"
                                "03110060c17ceb6a6c1781010044cd"
                                "d0ed6a6c17880180c8afa025";
static const char example_d[] = "0a520a0012480a0012440a001214080112010118012201642a0800b09759ed6a6c"
                                "17120908021201012202c801190060"
                                "c17ceb6a6c172080c8afa0253a100102030405060708090a0b0c0d0e0f101a0474"
                                "6f646f12780a00120012041a020801"
                                "12041a02080212041a0208031a001a0208011a0208021a0208032200221c0a1001"
                                "020304010203040102030401020304"
                                "120899999999999999992a002a03666f6f2a036261722a0362617a2a0672656769"
                                "6f6e32003208080412040a0275733a"
                                "003a050a030302013a040a020201";
