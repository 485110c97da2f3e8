#!/usr/bin/python3
"""Facts about an OTLP profiles message of a known layout, decoded by Google's protobuf and nothing of ours.

    facts.py LAYOUT FILE          facts in terms of the current data model, as stable JSON
    facts.py --dump LAYOUT FILE   the message itself as canonical proto JSON

LAYOUT is v1_3 ... v1_10. Profiles of v1_3 ... v1_7 are split, one per sample type in the order of the list.
--pb2 DIR keeps the generated Python modules there, which saves a protoc run per call.

A frame is "function@file:line" (parts that are unknown are left out), a location without lines its hex address.
Lists go from the leaf to the root; the inlined lines of a location stand innermost first. `frame_types` and
`modules` (mapping file names) run parallel to `stack`. `legacy` holds what the current model has no field for.
"""
import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def load(layout, pb2_dir):
    if not os.path.exists(os.path.join(pb2_dir, layout + "_pb2.py")):
        subprocess.run(["protoc", "-I", os.path.join(HERE, "proto"), "--python_out", pb2_dir, layout + ".proto"],
                       check=True)
    sys.path.insert(0, pb2_dir)
    return importlib.import_module(layout + "_pb2")


class Reader:
    """The tables of one profile (v1.3 - v1.5) or of one message, and how its references resolve."""

    def __init__(self, layout, tables=None):
        self.layout = layout
        self.t = tables
        if tables is None:      # v1.3 - v1.5, outside of profiles: nothing refers to a table
            return
        three = layout == 3
        self.strings = list(tables.string_table)
        self.mappings = list(tables.mapping if three else tables.mapping_table)
        self.locations = list(tables.location if three else tables.location_table)
        self.functions = list(tables.function if three else tables.function_table)
        self.links = list(tables.link_table)
        self.units = {}
        if three:
            self.units = {self.strings[u.attribute_key]: self.strings[u.unit] for u in tables.attribute_units}
        elif layout < 8:
            self.units = {self.strings[u.attribute_key_strindex]: self.strings[u.unit_strindex]
                          for u in tables.attribute_units}
        # v1.3 only: any id at all makes every reference an id, with 0 = none (pprof's rule)
        self.by_id = three and any(x.id for t in (self.mappings, self.locations, self.functions) for x in t)

    def str(self, index):
        if index == 0 and not self.strings:
            return ""
        return at(self.strings, index)

    def entry(self, table, ref):
        if not self.by_id:
            return at(table, ref)
        return next((x for x in table if x.id == ref), None) if ref else None

    # ---- attributes

    def value(self, v):
        kind = v.WhichOneof("value")
        if kind is None:
            return None
        x = getattr(v, kind)
        if kind == "string_value_strindex":
            return self.str(x)
        if kind == "bytes_value":
            return {"bytes": x.hex()}
        if kind == "array_value":
            return [self.value(e) for e in x.values]
        if kind == "kvlist_value":
            return {"kvlist": self.key_values(x.values)}
        if kind == "double_value" and not math.isfinite(x):
            return {"double": str(x)}
        return x

    def key(self, kv):
        if self.layout >= 10 and kv.key_strindex:
            return self.str(kv.key_strindex)
        return kv.key

    def key_values(self, kvs):
        return {self.key(kv): self.value(kv.value) for kv in kvs}

    def attributes(self, indices):
        out = {}
        for i in indices:
            a = at(self.t.attribute_table, i)
            if self.layout >= 8:
                key, unit = self.str(a.key_strindex), self.str(a.unit_strindex)
            else:
                key, unit = self.key(a), self.units.get(a.key, "")
            v = self.value(a.value)
            out[key] = {"value": v, "unit": unit} if unit else v
        return out

    # ---- stacks

    def function(self, line):
        f = None
        if self.layout < 8 or line.function_index:
            f = self.entry(self.functions, line.function_index)
        if f is None:
            name = file = ""
        elif self.layout == 3:
            name, file = self.str(f.name) or self.str(f.system_name), self.str(f.filename)
        else:
            name, file = self.str(f.name_strindex) or self.str(f.system_name_strindex), self.str(f.filename_strindex)
        return name + ("@" + file if file else "") + (":%d" % line.line if line.line else "")

    def mapping(self, loc):
        if self.layout == 3:
            if self.by_id or loc.mapping_index:
                return self.entry(self.mappings, loc.mapping_index)
            m = self.mappings[0] if self.mappings else None     # 0 is mapping 0 only if it covers the address
            return m if m and m.memory_start <= loc.address < m.memory_limit else None
        if self.layout < 8:
            return at(self.mappings, loc.mapping_index) if loc.HasField("mapping_index") else None
        return at(self.mappings, loc.mapping_index) if loc.mapping_index else None

    def module(self, m):
        return None if m is None else self.str(m.filename if self.layout == 3 else m.filename_strindex)

    def frame_type(self, loc):
        if self.layout == 3:
            return self.str(loc.type_index) or None
        return self.attributes(loc.attribute_indices).get("profile.frame.type")

    def mapping_facts(self, m):
        out = {"file": self.module(m), "start": m.memory_start, "limit": m.memory_limit, "offset": m.file_offset}
        out["attributes"] = self.attributes(m.attributes if self.layout == 3 else m.attribute_indices)
        if self.layout == 3 and m.build_id:
            out["build_id"] = self.str(m.build_id)
            out["build_id_kind"] = "hash" if m.build_id_kind else "linker"
        return out

    def stack(self, profile, sample):
        if self.layout >= 8:
            s = at(self.t.stack_table, sample.stack_index) if sample.stack_index or self.t.stack_table else None
            refs = s.location_indices if s else []
        elif sample.locations_length:
            a, n = sample.locations_start_index, sample.locations_length
            if a < 0 or n < 0 or a + n > len(profile.location_indices):
                raise IndexError("slice %d+%d of %d location indices" % (a, n, len(profile.location_indices)))
            refs = profile.location_indices[a:a + n]
        else:
            refs = sample.location_index if self.layout == 3 else []
        return [x for x in (self.entry(self.locations, r) for r in refs) if x is not None]

    # ---- samples

    def link(self, sample):
        if self.layout == 3:
            index = sample.link or None
        elif self.layout < 8:
            index = sample.link_index if sample.HasField("link_index") else None
        else:
            index = sample.link_index or None
        if index is None:
            return None
        link = at(self.links, index)
        return link.trace_id.hex() + "/" + link.span_id.hex()

    def sample(self, profile, s, type_index, used):
        stack, types, modules = [], [], []
        for loc in self.stack(profile, s):
            m = self.mapping(loc)
            if m is not None and m not in used:
                used.append(m)
            lines = loc.lines if self.layout >= 9 else loc.line
            for frame in [self.function(l) for l in lines] or ["%#x" % loc.address]:
                stack.append(frame)
                types.append(self.frame_type(loc))
                modules.append(self.module(m))
        attributes = {}
        if self.layout == 3:
            for l in s.label:                                   # labels first, then attributes
                v = self.str(l.str) if l.str else l.num
                attributes[self.str(l.key)] = {"value": v, "unit": self.str(l.num_unit)} if l.num_unit else v
        attributes.update(self.attributes(s.attributes if self.layout == 3 else s.attribute_indices))
        values = list(s.values) if self.layout >= 8 else [s.value[type_index]]
        return {"stack": stack, "frame_types": types, "modules": modules, "values": values,
                "timestamps": list(s.timestamps_unix_nano), "link": self.link(s), "attributes": attributes}

    def value_type(self, vt):
        if self.layout == 3:
            return self.str(vt.type), self.str(vt.unit)
        return self.str(vt.type_strindex), self.str(vt.unit_strindex)

    def profiles(self, p, container):
        """p is the Profile; container is where id, times and attributes live (v1.3), else p again."""
        L, c = self.layout, container
        if L == 3:
            time, duration = c.start_time_unix_nano, c.end_time_unix_nano - c.start_time_unix_nano
            attributes = self.key_values(c.attributes)
        else:
            time, duration = (p.time_nanos, p.duration_nanos) if L < 8 else (p.time_unix_nano, p.duration_nano)
            attributes = self.key_values(p.attributes) if L == 4 else self.attributes(p.attribute_indices)
        legacy = {}
        if L <= 8:
            comments = [self.str(i) for i in (p.comment if L == 3 else p.comment_strindices)]
            if comments:
                legacy["comments"] = comments
        if L == 3 and p.drop_frames:
            legacy["drop_frames"] = self.str(p.drop_frames)
        if L == 3 and p.keep_frames:
            legacy["keep_frames"] = self.str(p.keep_frames)
        if L < 8 and p.sample_type:
            if L < 6:
                d = self.str(p.default_sample_type if L == 3 else p.default_sample_type_strindex)
            else:
                d = self.value_type(at(p.sample_type, p.default_sample_type_index))[0]
            if d:
                legacy["default_sample_type"] = d
        types = [p.sample_type] if L >= 8 else list(p.sample_type)
        period_type = self.value_type(p.period_type)
        for i, vt in enumerate(types):
            own = dict(legacy)
            if L <= 8 and vt.aggregation_temporality:
                own["temporality"] = ["unspecified", "delta", "cumulative"][vt.aggregation_temporality]
            used = []
            samples = [self.sample(p, s, i, used) for s in (p.samples if L >= 9 else p.sample)]
            name, unit = self.value_type(vt)
            out = {"sample_type": name, "unit": unit, "n_samples": len(samples),
                   "observations": sum(max(len(s["values"]), len(s["timestamps"])) for s in samples),
                   "total": sum(sum(s["values"]) if s["values"] else len(s["timestamps"]) for s in samples),
                   "time_unix_nano": time, "duration_nano": duration,
                   "period_type": period_type[0], "period_unit": period_type[1], "period": p.period,
                   "profile_id": c.profile_id.hex(), "dropped_attributes_count": c.dropped_attributes_count,
                   "original_payload_format": c.original_payload_format,
                   "original_payload": c.original_payload.hex(), "attributes": attributes,
                   "mappings": [self.mapping_facts(m) for m in used], "samples": samples}
            if own:
                out["legacy"] = own
            yield out


def at(table, index):
    if not 0 <= index < len(table):
        raise IndexError("index %d of %d entries" % (index, len(table)))
    return table[index]


def facts(layout, data):
    shared = None
    if layout == 6:
        shared = Reader(6, data)
    elif layout >= 7:
        shared = Reader(layout, data.dictionary)
    names = shared or Reader(layout)
    resources = []
    for rp in data.resource_profiles:
        r = {"attributes": names.key_values(rp.resource.attributes),
             "dropped_attributes_count": rp.resource.dropped_attributes_count, "schema_url": rp.schema_url,
             "scopes": []}
        if layout >= 6 and rp.resource.entity_refs:
            r["entity_refs"] = [{"schema_url": e.schema_url, "type": e.type, "id_keys": list(e.id_keys),
                                 "description_keys": list(e.description_keys)} for e in rp.resource.entity_refs]
        for sp in rp.scope_profiles:
            s = {"name": sp.scope.name, "version": sp.scope.version, "schema_url": sp.schema_url,
                 "attributes": names.key_values(sp.scope.attributes),
                 "dropped_attributes_count": sp.scope.dropped_attributes_count, "profiles": []}
            for p in sp.profiles:
                inner = p.profile if layout == 3 else p
                reader = shared or Reader(layout, inner)
                s["profiles"] += reader.profiles(inner, p)
            r["scopes"].append(s)
        resources.append(r)
    return {"layout": "1.%d" % layout, "resources": resources}


def pretty(x, indent=""):
    """JSON with sorted keys; what fits on a line stays on it."""
    flat = json.dumps(x, ensure_ascii=False, sort_keys=True)
    if len(flat) + len(indent) <= 118 or not isinstance(x, (dict, list)) or not x:
        return flat
    inner = indent + " "
    if isinstance(x, dict):
        rows = [json.dumps(k, ensure_ascii=False) + ": " + pretty(x[k], inner) for k in sorted(x)]
        return "{\n" + ",\n".join(inner + r for r in rows) + "\n" + indent + "}"
    return "[\n" + ",\n".join(inner + pretty(e, inner) for e in x) + "\n" + indent + "]"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--dump", action="store_true")
    ap.add_argument("--pb2", metavar="DIR")
    ap.add_argument("layout", choices=["v1_%d" % n for n in range(3, 11)])
    ap.add_argument("file")
    a = ap.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        data = load(a.layout, a.pb2 or tmp).ProfilesData()
        with open(a.file, "rb") as f:
            data.ParseFromString(f.read())
        if a.dump:
            from google.protobuf.json_format import MessageToDict
            print(pretty(MessageToDict(data)))
        else:
            print(pretty(facts(int(a.layout[3:]), data)))


if __name__ == "__main__":
    main()
