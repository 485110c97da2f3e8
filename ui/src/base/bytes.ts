// Decodes the bytes of a report or a file: base64 and gzip.

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
    const s = atob(text.trim());
    const out = new Uint8Array(s.length);
    for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i);
    return out;
}

export const isGzip = (b: Uint8Array): boolean => b.length > 2 && b[0] === 0x1f && b[1] === 0x8b;
export const isZstd = (b: Uint8Array): boolean =>
    b.length > 4 && b[0] === 0x28 && b[1] === 0xb5 && b[2] === 0x2f && b[3] === 0xfd;

const MAX_BYTES = 2 ** 31 - 1; // the largest ArrayBuffer of all browsers; also stops decompression bombs

export async function gunzip(b: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    const reader = new Blob([b]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
    const parts: Uint8Array[] = [];
    let n = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        n += value.length;
        if (n > MAX_BYTES) throw new Error('the decompressed profile is larger than 2 GiB');
        parts.push(value);
    }
    const out = new Uint8Array(n);
    let at = 0;
    for (const p of parts) {
        out.set(p, at);
        at += p.length;
    }
    return out;
}
