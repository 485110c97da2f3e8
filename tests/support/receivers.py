"""Receivers of OTLP for the tests in tests/e2e: grpc's own server (python3-grpcio) and python's http.server, which parse requests with
protoc's code and return every possible response; raw sockets; certificates that openssl creates here; and the loop that prints TAP."""
import concurrent.futures
import functools
import http.server
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

os.environ.setdefault('GRPC_VERBOSITY', 'NONE')  # failing handshakes are expected
try:
    import grpc
except ImportError:
    print('1..0 # SKIP no python3-grpcio')
    sys.exit(0)

SRC = os.environ.get('KILN_SRC', os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get('KILN_BUILD', os.path.join(SRC, 'build'))
KILN = os.environ.get('KILN', os.path.join(BUILD, 'kiln'))
PROTO = os.path.join(SRC, 'tests', 'vectors', 'proto')
SERVICES = {'profiles': 'opentelemetry.proto.collector.profiles.v1development.ProfilesService',
            'logs': 'opentelemetry.proto.collector.logs.v1.LogsService'}
PATHS = {'profiles': '/v1development/profiles', 'logs': '/v1/logs'}

work = tempfile.mkdtemp(prefix='kiln-receivers-')
subprocess.run(['protoc', '-I', PROTO, '--python_out', work, 'v1_10.proto', 'collector.proto', 'logs.proto'], check=True)
sys.path.insert(0, work)
import collector_pb2 as col  # noqa: E402
import logs_pb2  # noqa: E402
import v1_10_pb2 as otlp  # noqa: E402

REQUEST = {'profiles': otlp.ProfilesData, 'logs': logs_pb2.LogsData}


class Fail(Exception):
    pass


def need(good, what):
    if not good:
        raise Fail(what)


class Skip(Exception):
    """Why the test cannot run here."""


def in_work(name):
    return os.path.join(work, name)


# ---- receivers

class Grpc:
    """answers: a list of functions (context) -> ExportResponse; the last one is repeated."""

    def __init__(self, *answers, tls=None, client_ca=None, signal='profiles', port=0):
        self.answers, self.raw, self.seen, self.times, self.metadata, self.peers = list(answers), [], [], [], [], []
        parse = REQUEST[signal].FromString
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2),
                                  options=[('grpc.max_receive_message_length', 64 << 20)])
        handler = grpc.unary_unary_rpc_method_handler(self.export, request_deserializer=lambda b: (b, parse(b)),
                                                      response_serializer=col.ExportResponse.SerializeToString)
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICES[signal], {'Export': handler}),))
        # All receivers use 127.0.0.1: clients try ::1 first, where another receiver could have the same port.
        if tls:
            creds = grpc.ssl_server_credentials([tls], root_certificates=client_ca, require_client_auth=client_ca is not None)
            self.port = self.server.add_secure_port('127.0.0.1:%d' % port, creds)
        else:
            self.port = self.server.add_insecure_port('127.0.0.1:%d' % port)
        self.server.start()

    def export(self, request, context):
        self.times.append(time.monotonic())
        self.raw.append(request[0])
        self.seen.append(request[1])
        self.metadata.append(dict(context.invocation_metadata()))
        self.peers.append(context.peer())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(context)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop(0)


def accept(_):
    return col.ExportResponse()


def partial(rejected, message):
    return lambda _: col.ExportResponse(partial_success=col.PartialSuccess(rejected=rejected, error_message=message))


def abort(code, message, delay=None):
    def answer(context):
        if delay is not None:
            info = col.RetryInfo(retry_delay=col.Duration(seconds=int(delay), nanos=int(delay % 1 * 1e9)))
            status = col.Status(code=code.value[0], message=message, details=[
                col.Any(type_url='type.googleapis.com/google.rpc.RetryInfo', value=info.SerializeToString())])
            context.set_trailing_metadata((('grpc-status-details-bin', status.SerializeToString()),))
        context.abort(code, message)
    return answer


class Http:
    """answers: functions (handler, body) -> None that write the response."""

    def __init__(self, *answers, tls=None):
        outer = self
        self.answers, self.seen, self.times, self.headers, self.paths, self.peers = list(answers), [], [], [], [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                body = self.rfile.read(int(self.headers['content-length']))
                outer.times.append(time.monotonic())
                outer.seen.append(body)
                outer.headers.append(self.headers)
                outer.paths.append(self.path)
                outer.peers.append(self.client_address)
                (outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0])(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('localhost', 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # ignores clients that were killed
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def reply(status, body=b'', kind='application/x-protobuf', **headers):
    def answer(h):
        h.send_response(status)
        h.send_header('Content-Type', kind)
        h.send_header('Content-Length', str(len(body)))
        for k, v in headers.items():
            h.send_header(k.replace('_', '-'), v)
        h.end_headers()
        h.wfile.write(body)
    return answer


class Raw:
    """A raw socket: talk(connection)."""

    def __init__(self, talk, port=0):
        self.listener = socket.create_server(('localhost', port))
        self.port = self.listener.getsockname()[1]
        self.talk, self.open = talk, []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(c)
            threading.Thread(target=self.one, args=(c,), daemon=True).start()

    def one(self, c):
        try:
            self.talk(c)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for c in self.open:
            c.close()


def say_and_close(data):
    def talk(c):
        c.recv(65536)
        c.sendall(data)
        c.shutdown(socket.SHUT_WR)
        while c.recv(65536):  # closing with unread bytes would discard sent data
            pass
        c.close()
    return talk


reserved = []


def closed_port():
    """A port that refuses connections and stays reserved; Grpc(port=) can use it."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as grpc's own server
    s.bind(('127.0.0.1', 0))
    reserved.append(s)
    return s.getsockname()[1]


def url(server, scheme='http'):
    return '%s://localhost:%d' % (scheme, server.port)


# ---- certificates

def openssl(*args):
    subprocess.run(['openssl', *args], cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificate(name, ca, *dates):
    """NAME.key and NAME.pem for localhost, signed by `ca`."""
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', name + '.key',
            '-out', name + '.csr', '-subj', '/CN=localhost')
    with open(in_work(name + '.ext'), 'w', encoding='utf-8') as f:
        f.write('subjectAltName=DNS:localhost\n')
    openssl('x509', '-req', '-in', name + '.csr', '-CA', ca + '.pem', '-CAkey', ca + '.key', '-CAcreateserial', '-out',
            name + '.pem', *(dates or ('-days', '2')), '-extfile', name + '.ext')


def make_ca(name):
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', name + '.key',
            '-out', name + '.pem', '-subj', '/CN=kiln test ' + name, '-days', '2')


def make_certificates():
    make_ca('ca')
    for name in ('server', 'client'):
        make_certificate(name, 'ca')


def pair(name):
    with open(in_work(name + '.key'), 'rb') as k, open(in_work(name + '.pem'), 'rb') as c:
        return k.read(), c.read()


def tls_context():
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(in_work('server.pem'), in_work('server.key'))
    return c


# ---- TAP

def once(f):
    """Several tests share one run; the first one starts it."""
    lock, kept = threading.Lock(), {}

    @functools.wraps(f)
    def get(*args):
        with lock:
            gate = kept.setdefault(args, {'lock': threading.Lock()})
        with gate['lock']:
            if 'value' not in gate:
                try:
                    gate['value'] = f(*args)
                except Exception as e:  # noqa: BLE001  all tests get the error
                    gate['value'] = e
        if isinstance(gate['value'], Exception):
            raise gate['value']
        return gate['value']
    return get


def tell(line):
    """Writes one whole line from any thread; print() writes the line end separately."""
    sys.stdout.write(line + '\n')
    sys.stdout.flush()


def attempt(test):
    """('', '') on success, else ('not ', why) or ('', why it was skipped)."""
    try:
        test()
    except Skip as e:
        return '', str(e)
    except Fail as e:
        return 'not ', str(e) or 'failed'
    except Exception as e:  # noqa: BLE001  any exception fails the test
        return 'not ', '%s: %s' % (type(e).__name__, e)
    return '', ''


def run_tests(tests, workers=6):
    """tests: [(name, function)]; runs several at once, because they mostly wait. Returns the exit code."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for i, ((name, _), (bad, why)) in enumerate(zip(tests, pool.map(attempt, [t for _, t in tests])), 1):
            for line in why.splitlines() if bad else ():
                tell('# ' + line[:1500])
            tell('%sok %d - %s%s' % (bad, i, name, ' # SKIP ' + why if why and not bad else ''))
            failed += bool(bad)
    tell('1..%d' % len(tests))
    shutil.rmtree(work, ignore_errors=True)
    return int(failed > 0)
