"""Senders to `kiln serve` for the tests in tests/e2e: grpc's own client (python3-grpcio), curl, and a wire tap between a sender and the
server. Code that protoc generated reads what they sent."""
import base64
import json
import os
import socket
import subprocess
import threading

from google.protobuf import json_format

from receivers import KILN, SRC, col, grpc, in_work, need, otlp
from served import HANG, profiles_of

VECTORS = os.path.join(SRC, 'tests', 'vectors')
CORPUS = os.environ.get('KILN_CORPUS', os.path.join(SRC, '..', 'shared', 'corpus'))
PACKAGES = ('v1development', 'v1experimental', 'v1')
PROFILES = 'opentelemetry.proto.collector.profiles.%s.ProfilesService'
LOGS = 'opentelemetry.proto.collector.logs.v1.LogsService'


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def write(name, data):
    """The path of a file with this content."""
    path = in_work(name)
    with open(path, 'wb') as f:
        f.write(data)
    return path


BASIC = read(os.path.join(VECTORS, 'v1_10', 'basic.bin'))


def sent(*messages):
    return [p for m in messages for p in profiles_of(otlp.ProfilesData.FromString(m))]


def numbered(n):
    """Messages whose profiles have distinct ids."""
    out = []
    for i in range(n):
        m = otlp.ProfilesData.FromString(BASIC)
        for k, p in enumerate(x for r in m.resource_profiles for y in r.scope_profiles for x in y.profiles):
            p.profile_id = (i * 100 + k + 1).to_bytes(16, 'big')
        out.append(m.SerializeToString())
    return out


def big_message(n=25000):
    """A message that spans many windows and frames."""
    big = otlp.ProfilesData.FromString(BASIC)
    p = big.resource_profiles[0].scope_profiles[0].profiles[0]
    one = otlp.Sample()
    one.CopyFrom(p.samples[0])
    del one.timestamps_unix_nano[:], one.values[:]
    for i in range(n):
        one.values[:], one.timestamps_unix_nano[:] = [i + 1], [p.time_unix_nano + i]
        p.samples.add().CopyFrom(one)
    return big.SerializeToString()


def converted(path):
    """The output of kiln convert in the current layout; layout_oracle and splunk_oracle check it."""
    out = in_work('converted.%s.otlp' % path.replace('/', '_'))
    p = subprocess.run([KILN, 'convert', '-q', '--to', 'otlp', path, out], stderr=subprocess.PIPE, check=False)
    return read(out) if p.returncode == 0 else None


def hex_ids(value):
    """OTLP/JSON uses hex where proto3 JSON uses base64."""
    if isinstance(value, list):
        return [hex_ids(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: base64.b64decode(v).hex() if k in ('traceId', 'spanId') else hex_ids(v) for k, v in value.items()}


def as_json(message):
    """A protoc message as OTLP/JSON."""
    return json.dumps(hex_ids(json_format.MessageToDict(message, use_integers_for_enums=True))).encode()


# ---- grpc's own client

def channel_to(s):
    if s.secure:
        creds = grpc.ssl_channel_credentials(read(in_work('ca.pem')))
        return grpc.secure_channel('localhost:%d' % s.port, creds)
    return grpc.insecure_channel('localhost:%d' % s.port)


def method(channel, service=PROFILES % 'v1development'):
    return channel.unary_unary('/%s/Export' % service, request_serializer=lambda b: b,
                               response_deserializer=col.ExportResponse.FromString)


def export(s, message, service=PROFILES % 'v1development', **more):
    """ExportResponse; grpc.RpcError on errors."""
    with channel_to(s) as channel:
        return method(channel, service)(message, **{'timeout': HANG, **more})


def refused(s, message, **more):
    try:
        r = export(s, message, **more)
    except grpc.RpcError as e:
        return e
    raise AssertionError('it was taken: %s' % r)


def status_of(body):
    """google.rpc.Status, and the RetryInfos in it."""
    st = col.Status.FromString(body)
    infos = [col.RetryInfo.FromString(d.value) for d in st.details if d.type_url == 'type.googleapis.com/google.rpc.RetryInfo']
    return st, infos


# ---- curl

PB, JSON = ('-H', 'Content-Type: application/x-protobuf'), ('-H', 'Content-Type: application/json')


def curl(s, path, data, *args):
    """(status, body); the data comes from a file."""
    name = write('curl.%d.%d' % (s.port, threading.get_ident()), data)
    p = subprocess.run(['curl', '-sS', '-o', name + '.out', '-w', '%{http_code}', '--data-binary', '@' + name, *args, s.url + path],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=HANG)
    need(p.returncode == 0, p.stderr.decode())
    return int(p.stdout), read(name + '.out') if os.path.exists(name + '.out') else b''


def curl_grpc(s, service, message, coding='identity', *args):
    """(grpc-status, grpc-message) of a call whose frame is built here."""
    name = write('curl.%d.%d' % (s.port, threading.get_ident()), bytes([coding != 'identity']) + len(message).to_bytes(4, 'big') + message)
    p = subprocess.run(['curl', '-sS', '--http2-prior-knowledge', '-D', '-', '-o', os.devnull, '--data-binary', '@' + name, '-H', 'te: trailers',
                        '-H', 'content-type: application/grpc', '-H', 'grpc-encoding: ' + coding, *args, '%s/%s/Export' % (s.url, service)],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=HANG)
    need(p.returncode == 0, p.stderr.decode())
    head = dict(x.split(': ', 1) for x in p.stdout.decode().split('\r\n') if ': ' in x)
    return int(head['grpc-status']), head.get('grpc-message', '')


def zstd(data):
    return subprocess.run(['zstd', '-qc'], input=data, stdout=subprocess.PIPE, check=True).stdout


# ---- wire tap

class Tap:
    """Forwards every byte between a sender and `to`, and records what the sender sent."""

    def __init__(self, to):
        self.listener, self.to, self.sent = socket.create_server(('localhost', 0)), to, []
        self.port = self.listener.getsockname()[1]
        self.open = [self.listener]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                a, _ = self.listener.accept()
            except OSError:
                return
            b, kept = socket.create_connection(('127.0.0.1', self.to.port), HANG), bytearray()
            b.settimeout(None)
            self.sent.append(kept)
            self.open += [a, b]
            for args in ((a, b, kept), (b, a, bytearray())):
                threading.Thread(target=self.pass_on, args=args, daemon=True).start()

    @staticmethod
    def pass_on(one, other, kept):
        try:
            while data := one.recv(1 << 16):
                kept += data
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def requests(self):
        """[(path, headers in lower case, body)] of all connections, in the form of HTTP/1.1."""
        return [r for data in self.sent for r in http_requests(bytes(data))]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for s in self.open:
            s.close()


def http_requests(data):
    out = []
    while data:
        head, _, data = data.partition(b'\r\n\r\n')
        first, *lines = head.decode('latin-1').split('\r\n')
        headers = {k.lower(): v.strip() for k, _, v in (x.partition(':') for x in lines)}
        if headers.get('transfer-encoding') == 'chunked':
            body, data = unchunk(data)
        else:
            n = int(headers.get('content-length', 0))
            body, data = data[:n], data[n:]
        out.append((first.split()[1], headers, body))
    return out


def unchunk(data):
    """(body, rest)"""
    body = b''
    while True:
        size, _, data = data.partition(b'\r\n')
        n = int(size, 16)
        body, data = body + data[:n], data[n + 2:]
        if not n:
            return body, data
