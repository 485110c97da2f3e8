// Shown while the store is empty: ways to send profiles to this server, as lines to copy.
import { useRef, useState } from 'preact/hooks';

/** Lines with a button that copies them. */
function Lines({ name, text }: { name: string; text: string }) {
    const code = useRef<HTMLElement>(null),
        [copied, setCopied] = useState(false);
    const copy = async () => {
        getSelection()?.selectAllChildren(code.current!); // also the way to copy by hand
        // Browsers offer the clipboard only to https and localhost.
        const ok = await navigator.clipboard?.writeText(text).then(
            () => true,
            () => false,
        );
        setCopied(ok || document.execCommand('copy'));
    };
    return (
        <div class="lines" data-lines={name}>
            <pre tabIndex={0} aria-label={`Commands: ${name}`}>
                <code ref={code}>{text}</code>
            </pre>
            <button class="pick" onClick={() => void copy()} aria-label={`Copy the commands: ${name}`}>
                {copied ? 'Copied' : 'Copy'}
            </button>
        </div>
    );
}

export function FirstSteps() {
    const { origin, protocol, hostname, port } = location,
        secure = protocol === 'https:',
        address = `${hostname}:${port || (secure ? 443 : 80)}`;
    return (
        <section class="first" data-first>
            <h1>No profiles are stored yet.</h1>
            <p>Send profiles to this server in one of three ways. They appear here within seconds.</p>
            <h2>Profile a program on this machine</h2>
            <Lines name="kiln" text={`kiln run --to ${origin} ./program\nsudo kiln record --to ${origin} --all`} />
            <h2>Configure an OTLP sender or a Collector</h2>
            <Lines
                name="sender"
                text={`export OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT=${origin}/v1development/profiles`}
            />
            <Lines
                name="collector"
                text={`# started with --feature-gates=service.profilesSupport
exporters:
  otlp_grpc/kiln: {endpoint: '${address}', tls: {insecure: ${!secure}}}
service:
  pipelines:
    profiles: {receivers: [otlp], exporters: [otlp_grpc/kiln]}`}
            />
            <h2>Store a file in any format that kiln reads</h2>
            <p>Drop it on this page, click ⇧ above, or send it:</p>
            <Lines
                name="file"
                text={`kiln send profile.pb.gz --to ${origin}\ncurl --data-binary @profile.pb.gz ${origin}/upload`}
            />
            <p class="dim">
                If the server requires a write token, set{' '}
                <code>OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer TOKEN"</code> for kiln and other OTLP senders.
            </p>
        </section>
    );
}
