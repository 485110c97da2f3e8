#!/usr/bin/python3
"""Compares OTLP/JSON, YAML and text with google.protobuf, for tests/vectors/*/*.bin of every layout.

Google's json_format must read Kiln's JSON as the same message, and Kiln must read its JSON (camel and
snake case) as the same; text_format must read Kiln's text, PyYAML its YAML.  $JSON_TOOL is
tests/e2e/json_tool.c; prints TAP."""
import base64, glob, json, math, os, shutil, subprocess, sys, tempfile

src = os.environ.get("KILN_SRC", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
tool = os.environ.get("JSON_TOOL", os.path.join(os.environ.get("KILN_BUILD", "build"), "tests/json_tool"))

try:
    import yaml
    from google.protobuf import json_format, text_format
except ImportError as missing:
    print(f"1..0 # SKIP {missing}")
    sys.exit(0)

if not shutil.which("protoc"):
    print("1..0 # SKIP no protoc")
    sys.exit(0)

IDS = {"traceId", "spanId", "profileId", "trace_id", "span_id", "profile_id"}
n = 0


def ok(good, name, why=""):
    global n
    n += 1
    print(f"{'ok' if good else 'not ok'} {n} - {name}")
    if not good and why:
        print("\n".join("# " + line for line in str(why).splitlines()[:20]))


def run(how, layout, data):
    """Returns the output of json_tool for data; an error ends the comparison."""
    r = subprocess.run([tool, how, layout], input=data, capture_output=True)
    if r.returncode:
        raise ValueError(f"{how}: {r.stderr.decode()}")
    return r.stdout


def ids(value, change):
    """Returns the JSON value with every id converted: OTLP JSON uses hex, proto3 JSON base64."""
    if isinstance(value, list):
        return [ids(v, change) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: change(k, v) if k in IDS else ids(v, change) for k, v in value.items()}


def to_base64(_, v):
    return base64.b64encode(bytes.fromhex(v)).decode()


def to_hex(key, v):
    # profileId stays base64, as the specification requires; kiln also accepts hex, which the Collector writes
    return v if key in ("profileId", "profile_id") else base64.b64decode(v).hex().upper()


def plain(msg):
    """Returns the expected YAML of the message."""

    def one(f, v):
        if f.type == f.TYPE_MESSAGE:
            return plain(v)
        if f.type == f.TYPE_BYTES and f.name in IDS:
            return v.hex()
        return "NaN!" if isinstance(v, float) and math.isnan(v) else v

    return {f.name: [one(f, x) for x in v] if f.label == f.LABEL_REPEATED else one(f, v) for f, v in msg.ListFields()}


def denan(v):
    if isinstance(v, dict):
        return {k: denan(x) for k, x in v.items()}
    if isinstance(v, list):
        return [denan(x) for x in v]
    return "NaN!" if isinstance(v, float) and math.isnan(v) else v


def same(a, b):
    return a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True)


def check(name, action):
    try:
        good, why = action()
    except Exception as e:  # pylint: disable=broad-except
        good, why = False, repr(e)
    ok(good, name, why)


def judge(cls, layout, path):
    name = "/".join(path.split("/")[-2:])
    data = open(path, "rb").read()
    msg = cls.FromString(data)

    def our_json():
        text = run("to-json", layout, data).decode()
        got = json_format.Parse(json.dumps(ids(json.loads(text), to_base64)), cls())
        return same(got, msg), text

    def back():
        got = cls.FromString(run("to-pb", layout, run("to-json", layout, data)))
        return same(got, msg), got

    def their_json(snake):
        d = json_format.MessageToDict(msg, use_integers_for_enums=True, preserving_proto_field_name=snake)
        text = json.dumps(ids(d, to_hex), indent=snake or None)
        return same(cls.FromString(run("to-pb", layout, text.encode())), msg), text

    def names_decide():
        want = "1.10" if layout == "1.9" else layout
        got = run("layout", layout, run("to-json", layout, data)).decode()
        return got == want, got

    def our_text():
        text = run("to-text", layout, data).decode()
        return same(text_format.Parse(text, cls()), msg), text

    def our_yaml():
        text = run("to-yaml", layout, data).decode()
        return denan(yaml.safe_load(text)) == plain(msg), text

    check(f"{name}: json_format reads Kiln's JSON", our_json)
    check(f"{name}: Kiln reads its own JSON", back)
    check(f"{name}: Kiln reads json_format's JSON", lambda: their_json(False))
    check(f"{name}: Kiln reads json_format's JSON with snake_case keys, indented", lambda: their_json(True))
    check(f"{name}: text_format reads Kiln's text", our_text)
    check(f"{name}: PyYAML reads Kiln's YAML", our_yaml)
    if os.path.basename(path) == "basic.bin":
        check(f"{name}: the names of the keys give the layout", names_decide)


with tempfile.TemporaryDirectory() as tmp:
    protos = sorted(glob.glob(f"{src}/tests/vectors/proto/v*.proto"))
    subprocess.run(["protoc", f"-I{src}/tests/vectors/proto", f"--python_out={tmp}", *protos], check=True)
    sys.path.insert(0, tmp)
    for proto in protos:
        version = os.path.basename(proto)[:-6]
        module = __import__(version + "_pb2")
        layout = version[1:].replace("_", ".")
        for path in sorted(glob.glob(f"{src}/tests/vectors/{version}/*.bin")):
            judge(module.ProfilesData, layout, path)
print(f"1..{n}")
