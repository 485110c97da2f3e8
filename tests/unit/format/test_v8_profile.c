/* Reads V8 profiles: models as text, losses, errors, truncation. */
#include "../../support/format_text.h"

#define NODE(id, name, more)                                                                       \
    "{\"id\":" #id ",\"callFrame\":{\"functionName\":\"" name "\"}" more "}"
#define TREE                                                                                       \
    NODE(1, "(root)", ",\"children\":[2,4]")                                                       \
    "," NODE(2, "a", ",\"children\":[3]") "," NODE(3, "", ",\"hitCount\":3") "," NODE(             \
        4, "(idle)", ",\"hitCount\":1")
#define J "{frame.type=v8js}"

static const read_case cpu[] = {
    {"nodes, samples, deltas",
     "{\"nodes\":[" TREE "],\"startTime\":10,\"endTime\":100,\"samples\":[3,2,3,4,1],"
     "\"timeDeltas\":[1,2,3,4,5]}",
     "wall/nanoseconds 11000+89000 time.epoch=unknown\n"
     " a" J ";(anonymous)" J " 2000@11000 4000@16000\n a" J " 3000@13000\n"
     " (idle)" J " 5000@20000\n  75000@25000\n"
     "samples/count 11000+89000 time.epoch=unknown\n"
     " a" J ";(anonymous)" J " @11000 @16000\n a" J " @13000\n (idle)" J " @20000\n  @25000\n",
     NULL},
    {"tables after samples, parents after children, a negative delta",
     "{\"samples\":[3,2],\"timeDeltas\":[10,-4],\"nodes\":[" NODE(3, "x", ",\"parent\":2") "," NODE(
         2, "y", ",\"parent\":1") "," NODE(1, "(root)", "") "]}",
     "wall/nanoseconds 6000+4001 time.epoch=unknown\n y" J " 4000@6000\n y" J ";x" J " 0@10000\n"
     "samples/count 6000+4001 time.epoch=unknown\n y" J " @6000\n y" J ";x" J " @10000\n",
     NULL},
    {"source location of a function, losses",
     "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\",\"scriptId\":\"7\",\"url\":\"u."
     "js\","
     "\"lineNumber\":0,\"columnNumber\":9},\"positionTicks\":[{\"line\":1,\"ticks\":2}],"
     "\"deoptReason\":\"why\"}],\"samples\":[1],\"timeDeltas\":[0],\"title\":\"t\"}",
     "wall/nanoseconds 0+1 time.epoch=unknown\n f<u.js>:1:10" J " 0@0\n"
     "samples/count 0+1 time.epoch=unknown\n f<u.js>:1:10" J " @0\n",
     "metadata 2 line_ticks 1 arbitrary_id 1"},
    {"the old layout",
     "{\"head\":{\"functionName\":\"(root)\",\"id\":1,\"children\":[{\"functionName\":\"a\",\"id\":"
     "2,"
     "\"lineNumber\":3,\"children\":[]}]},\"samples\":[2,1],\"timestamps\":[5,8,9]}",
     "wall/nanoseconds 5000+4000 time.epoch=unknown\n a:4" J " 3000@5000\n  1000@8000\n"
     "samples/count 5000+4000 time.epoch=unknown\n a:4" J " @5000\n  @8000\n",
     NULL},
    {"only hits", "{\"nodes\":[" TREE "],\"startTime\":0,\"endTime\":1}",
     "samples/count\n a" J ";(anonymous)" J " 3\n (idle)" J " 1\n"
     "wall/nanoseconds\n a" J ";(anonymous)" J " 750\n (idle)" J " 250\n",
     NULL},
    {"samples without times", "{\"nodes\":[" TREE "],\"samples\":[3,3,4]}",
     "samples/count\n a" J ";(anonymous)" J " 2\n (idle)" J " 1\n", NULL},
    {"fewer deltas", "{\"nodes\":[" TREE "],\"samples\":[3,3,4],\"timeDeltas\":[1]}",
     "wall/nanoseconds 1000+1 time.epoch=unknown\n a" J ";(anonymous)" J " 0@1000\n"
     "samples/count 1000+1 time.epoch=unknown\n a" J ";(anonymous)" J " @1000\n",
     "truncated 2"},
    {"wrapped", "{\"profile\":{\"nodes\":[" TREE "],\"samples\":[4]}}",
     "samples/count\n (idle)" J " 1\n", NULL},

    /* An invalid reference loses only its own subtree and is counted in the ledger. */
    {"an undefined node", "{\"nodes\":[" TREE "],\"samples\":[9,4,4]}",
     "samples/count\n (idle)" J " 2\n  1\n", "index_repaired 1"},
    {"an undefined node, with times",
     "{\"nodes\":[" TREE "],\"samples\":[9,4],\"timeDeltas\":[1,2]}",
     "wall/nanoseconds 1000+2001 time.epoch=unknown\n  2000@1000\n (idle)" J " 0@3000\n"
     "samples/count 1000+2001 time.epoch=unknown\n  @1000\n (idle)" J " @3000\n",
     "index_repaired 1"},
    {"an undefined child", "{\"nodes\":[" NODE(1, "a", ",\"children\":[2]") "],\"samples\":[1]}",
     "samples/count\n a" J " 1\n", "index_repaired 1"},
    {"an undefined parent", "{\"nodes\":[" NODE(1, "a", ",\"parent\":7") "],\"samples\":[1]}",
     "samples/count\n a" J " 1\n", "index_repaired 1"},
    {"an id twice", "{\"nodes\":[" NODE(1, "a", "") "," NODE(1, "b", "") "],\"samples\":[1]}",
     "samples/count\n a" J " 1\n", "index_repaired 1"},
    {"two parents", "{\"nodes\":[" TREE "," NODE(5, "x", ",\"children\":[3]") "],\"samples\":[3]}",
     "samples/count\n a" J ";(anonymous)" J " 1\n", "index_repaired 1"},
    {"a cycle",
     "{\"nodes\":[" NODE(1, "a", ",\"parent\":2") "," NODE(2, "b",
                                                           ",\"parent\":1") "],"
                                                                            "\"samples\":[1]}",
     "samples/count\n b" J ";a" J " 1\n", "index_repaired 1"},
    {"no nodes", "{}", NULL, "the profile has neither nodes nor a head"},
    {"a delta that is not a number", "{\"timeDeltas\":[1,true]}", NULL,
     "expected a number, found true (byte 17, at timeDeltas[1])"},
    {"truncated", "{\"nodes\":[{\"id\":", NULL,
     "the input ends where a value should be (byte 16, at nodes[0])"},
};

static const read_case heap[] = {
    {"sizes",
     "{\"head\":{\"callFrame\":{\"functionName\":\"(root)\"},\"selfSize\":0,\"children\":[{"
     "\"children\":"
     "[{\"callFrame\":{\"functionName\":\"b\"},\"selfSize\":5,\"id\":3}],\"selfSize\":7,"
     "\"callFrame\":{"
     "\"functionName\":\"a\"},\"id\":2}]},\"samples\":[{\"size\":5,\"nodeId\":3,\"ordinal\":1}]}",
     "inuse_space/bytes\n a" J " 7\n a" J ";b" J " 5\n", "event 1"},
    {"a negative delta", "{\"head\":{\"callFrame\":{\"functionName\":\"f\"},\"selfSize\":-3}}",
     "inuse_space/bytes\n f" J " -3\n", NULL},
    {"not a node", "{\"head\":[]}", NULL, "expected a node, found an array (byte 8, at head)"},
};

static void test_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cpu); i++) check_read(&format_cpuprofile, &cpu[i]);
}

static void test_heap(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heap); i++) check_read(&format_heapprofile, &heap[i]);
}

static void test_every_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) check_truncation(&format_cpuprofile, str_of(cpu[i].in));
    check_truncation(&format_heapprofile, str_of(heap[0].in));
}

static void test_every_budget(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) check_budgets(&format_cpuprofile, str_of(cpu[i].in));
    check_budgets(&format_heapprofile, str_of(heap[0].in));
}

/* A tree deeper than the tokenizer's limit. */
static void test_deep(void **state)
{
    (void)state;
    buf in = {0};
    buf_z(&in, "{\"head\":");
    for (int i = 0; i < 400; i++) buf_z(&in, "{\"selfSize\":1,\"children\":[");
    arena a = {0};
    model m;
    err e = {0};
    layout_verdict v;
    assert_false(format_heapprofile.read(&format_heapprofile, buf_view(&in), &(read_opts){0}, &a,
                                         &m, &v, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.msg, "nested deeper than 512 levels");
    buf_free(&in);
    arena_free(&a);
}

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        bool cpu, heap;
    } t[] = {
        {"{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":", true, false},
        {"{\"head\":{\"functionName\":\"\",\"hitCount\":", true, false},
        {"{\"head\":{\"callFrame\":{},\"selfSize\":0", false, true},
        {"{\"nodes\":[]}", false, false},
        {"{\"nodes\":[],\"timeDeltas\":[]}", true, false},
        {"{\"resourceProfiles\":[],\"nodes\":[],\"timeDeltas\":[]}", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        assert_int_equal(format_cpuprofile.detect(str_of(t[i].in)) > 0, t[i].cpu);
        assert_int_equal(format_heapprofile.detect(str_of(t[i].in)) > 0, t[i].heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),          cmocka_unit_test(test_heap),
        cmocka_unit_test(test_every_prefix), cmocka_unit_test(test_every_budget),
        cmocka_unit_test(test_deep),         cmocka_unit_test(test_detect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
