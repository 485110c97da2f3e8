/* record/bpf_skeleton.h - the BPF programs as bpftool embeds them.  The generated code does not
 * compile with our warnings. */
#pragma once
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#include <kiln.skel.h>
#pragma GCC diagnostic pop
