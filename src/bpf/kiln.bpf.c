// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The BPF programs of `kiln record`.  One object, so that they share their maps; record/bpf_load.c
 * loads the ones that are needed. */
#include "bpf/lifetime.bpf.h"
#include "bpf/off_cpu.bpf.h"
#include "bpf/on_cpu.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
