// Decodes the bytes of a report or a file: base64 and gzip.

/** Newer browsers decode base64 themselves (ECMAScript 2026). */
const native = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
    if (native.fromBase64) return native.fromBase64(text);
    const s = atob(text.trim());
    const out = new Uint8Array(s.length);
    for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i);
    return out;
}

export const isGzip = (b: Uint8Array): boolean => b.length > 4 && b[0] === 0x1f && b[1] === 0x8b;
export const isZstd = (b: Uint8Array): boolean =>
    b.length > 4 && b[0] === 0x28 && b[1] === 0xb5 && b[2] === 0x2f && b[3] === 0xfd;

const MAX_BYTES = 2 ** 31 - 1; // the largest ArrayBuffer of all browsers; also stops decompression bombs

/** `progress` gets the share that is done; a gzip file ends with its size, modulo 2^32. */
export async function gunzip(
    b: Uint8Array<ArrayBuffer>,
    progress: (share: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
    const size = new DataView(b.buffer, b.byteOffset + b.length - 4).getUint32(0, true) || 1;
    const reader = new Blob([b]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
    const parts: Uint8Array[] = [];
    let n = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        n += value.length;
        if (n > MAX_BYTES) throw new Error('the decompressed profile is larger than 2 GiB');
        parts.push(value);
        progress(Math.min(n / size, 1));
    }
    const out = new Uint8Array(n);
    let at = 0;
    for (const p of parts) {
        out.set(p, at);
        at += p.length;
    }
    return out;
}

/** Compresses bytes as a file. */
export const gzip = (b: Uint8Array): Promise<Blob> =>
    new Response(new Blob([b as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new CompressionStream('gzip'))).blob();

export async function base64(b: Uint8Array): Promise<string> {
    const url = await new Promise<string>((done, failed) => {
        const r = new FileReader();
        r.onload = () => done(r.result as string);
        r.onerror = () => failed(r.error);
        r.readAsDataURL(new Blob([b as Uint8Array<ArrayBuffer>]));
    });
    return url.slice(url.indexOf(',') + 1);
}
