/* Builds the OTLP resource from the environment, from what the program published, and from the
 * machine. */
#include "agent/resource.h"

#include "base/utf8.h"
#include "span/environment.h"
#include "sys/entropy.h"
#include "wire/carried.h"
#include "base/text.h"
#include "wire/host.h"
#include "base/ban.h"
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef struct making {
    arena *a;
    VEC(keyvalue) v;
    bool failed;
} making;

static str keep(arena *a, str s)
{
    char *p = arena_alloc(a, s.n);
    if (p && s.n) memcpy(p, s.p, s.n);
    return p ? (str){p, s.n} : STR("");
}

/* Adds an attribute unless the key already has a value. */
static void put(making *m, str key, any value)
{
    for (size_t i = 0; i < m->v.n; i++)
        if (str_eq(m->v.v[i].key, key)) return;
    keyvalue *kv = vec_push(m->a, &m->v);
    m->failed |= !kv;
    if (kv) *kv = (keyvalue){.key = key, .value = value};
}

static void put_str(making *m, const char *key, str s)
{
    if (s.n && utf8_ok(s.p, s.n))
        put(m, str_of(key), (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p});
}

static void put_environment(making *m, const char *list)
{
    char key[TEXT_MAX + 1], value[TEXT_MAX + 1];
    if (!environment_valid(list)) return;
    while (environment_next(&list, key, value)) {
        str v = keep(m->a, str_of(value));
        put(m, keep(m->a, str_of(key)), (any){.kind = ANY_STRING, .n = (uint32_t)v.n, .s = v.p});
    }
}

/* ---- detected attributes ---- */

static str service_of(arena *a, str program)
{
    static const char prefix[] = "unknown_service:";
    str base = str_base_name(program);
    if (!base.n || !utf8_ok(base.p, base.n)) return STR("unknown_service");
    char *p = arena_alloc(a, sizeof prefix - 1 + base.n);
    if (!p) return STR("unknown_service");
    memcpy(p, prefix, sizeof prefix - 1);
    memcpy(p + sizeof prefix - 1, base.p, base.n);
    return (str){p, sizeof prefix - 1 + base.n};
}

/* Returns a UUID of version 4. */
static str instance_of(arena *a, const uint8_t id[16])
{
    uint8_t b[16];
    char hex[33], *p = arena_alloc(a, 36);
    if (!p) return STR("");
    memcpy(b, id, 16);
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    hex_encode(b, 16, hex);
    for (size_t i = 0, k = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20) p[k++] = '-';
        p[k++] = hex[i];
    }
    return (str){p, 36};
}

static bool is_sdk(str key) { return str_starts(key, STR("telemetry.sdk.")); }

static void put_found(making *m, const resource_facts *f)
{
    put_str(m, "service.name", service_of(m->a, f->program));
    put_str(m, "service.instance.id", instance_of(m->a, f->instance));
    put(m, STR(ATTR_PROCESS_PID), (any){.kind = ANY_INT, .i = f->pid});
    put_str(m, "process.executable.name", str_base_name(f->program));
    put_str(m, "process.executable.path", f->program);
    put_str(m, ATTR_HOST_NAME, f->host);
    put_str(m, ATTR_HOST_ARCH, host_arch_of(f->machine));
    put_str(m, ATTR_OS_TYPE, STR("linux"));
    put_str(m, ATTR_CONTAINER_ID, container_id_of(f->cgroup));
}

bool resource_make(const agent_config *c, const resource_facts *f, const keyvalues *published,
                   arena *a, keyvalues *out)
{
    making m = {.a = a};
    put_str(&m, "telemetry.sdk.name", STR("kiln"));
    put_str(&m, "telemetry.sdk.language", STR("cpp"));
    put_str(&m, "telemetry.sdk.version", STR(KILN_VERSION));
    for (size_t i = 0; published && i < published->n; i++)
        if (!is_sdk(published->v[i].key)) put(&m, published->v[i].key, published->v[i].value);
    put_str(&m, "service.name", str_of(c->service_name));
    if (c->resource) put_environment(&m, c->resource);
    put_found(&m, f);
    *out = (keyvalues){m.v.v, m.v.n};
    return !m.failed;
}

/* ---- reading the machine ---- */

static str read_small(arena *a, const char *path)
{
    enum { MOST = 16 * 1024 };
    char *p = arena_alloc(a, MOST);
    int fd = p ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    size_t n = 0;
    for (ssize_t k = 1; fd >= 0 && n < MOST && k > 0; n += k > 0 ? (size_t)k : 0)
        k = read(fd, p + n, MOST - n);
    if (fd >= 0) close(fd);
    if (p) arena_trim(a, p, MOST, n);
    return (str){p, n};
}

bool resource_facts_read(arena *a, resource_facts *out)
{
    char path[4096], host[256] = "";
    struct utsname u = {0};
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    (void)gethostname(host, sizeof host - 1);
    (void)uname(&u);
    uint64_t id[2] = {entropy_u64(), entropy_u64()};
    str cgroup = read_small(a, "/proc/self/cgroup");
    if (!container_id_of(cgroup).n) cgroup = read_small(a, "/proc/self/mountinfo");
    *out = (resource_facts){.program = keep(a, (str){path, n > 0 ? (size_t)n : 0}),
                            .host = keep(a, str_of(host)),
                            .machine = keep(a, str_of(u.machine)),
                            .cgroup = keep(a, container_id_of(cgroup)),
                            .pid = (uint32_t)getpid()};
    memcpy(out->instance, id, sizeof id);
    return out->machine.n > 0;
}
