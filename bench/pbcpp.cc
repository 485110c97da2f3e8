/* pbcpp.cc - protobuf C++ with generated code and an arena whose block is reused.
 *
 * This is its best case: the block is large enough for every decode, and encoding writes the
 * computed sizes into an existing buffer. */
#include "contest.h"
#include "profiles.pb.h"
#include <google/protobuf/arena.h>
#include <memory>
#include <new>
#include <vector>

namespace {

using google::protobuf::Arena;
using google::protobuf::ArenaOptions;
using kiln::bench::ProfilesData;

constexpr size_t kBlockPerByte = 12, kBlockMin = 1 << 16;

struct Codec {
    explicit Codec(size_t n) : block_size(n * kBlockPerByte + kBlockMin), block(new char[block_size])
    {
        ArenaOptions o;
        o.initial_block = block.get();
        o.initial_block_size = block_size;
        arena.reset(new Arena(o));
    }
    size_t block_size;
    std::unique_ptr<char[]> block;      /* outlives the arena */
    std::unique_ptr<Arena> arena;
    ProfilesData *data = nullptr;
    std::vector<uint8_t> out;
};

void *Open(const material *in) { return new Codec(in->n); }

bool Decode(void *self, const material *in)
{
    auto *c = static_cast<Codec *>(self);
    c->arena->Reset();
    c->data = Arena::CreateMessage<ProfilesData>(c->arena.get());
    return c->data->ParseFromArray(in->p, static_cast<int>(in->n));
}

size_t Encode(void *self, const uint8_t **out)
{
    auto *c = static_cast<Codec *>(self);
    size_t n = c->data->ByteSizeLong();
    if (c->out.size() < n) c->out.resize(n);
    c->data->SerializeWithCachedSizesToArray(c->out.data());
    *out = c->out.data();
    return n;
}

void Close(void *self) { delete static_cast<Codec *>(self); }

}  // namespace

extern "C" contestants pbcpp_contestants(void)
{
    static const contestant v[] = {
        {"protobuf C++", ROLE_PEER, MATERIAL_OTLP, Open, Decode, Encode, Close},
    };
    return {v, sizeof v / sizeof *v};
}
