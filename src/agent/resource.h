/* agent/resource.h - who is being profiled: the attributes of the OTLP resource. */
#pragma once
#include "agent/config.h"
#include "model/model.h"

/* What is asked of the machine; tests hand in their own. */
typedef struct resource_facts {
    str program;       /* path of the executable; "": not known */
    str host, machine; /* gethostname, uname -m */
    str cgroup;        /* text of /proc/self/cgroup and /proc/self/mountinfo */
    uint32_t pid;
    uint8_t instance[16]; /* random: becomes service.instance.id */
} resource_facts;

NODISCARD bool resource_facts_read(arena *a, resource_facts *out);

/* The attributes, in `a`.  What the program published itself (`published`, OTEP 4719; may be NULL) wins
 * over the environment, the environment over what we find; keys that say which SDK it is are ours. */
NODISCARD bool resource_make(const agent_config *c, const resource_facts *f,
                             const keyvalues *published, arena *a, keyvalues *out);
