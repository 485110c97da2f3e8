// The binary encoding of answers: a head in JSON, in which columns are places behind it. docs/query-api.md.

export const COLUMNS = 'application/vnd.kiln.columns';
export type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array | number[];

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };

interface Place {
    column: string;
    at: number;
    n: number;
}

function columnAt(b: ArrayBuffer, data: number, c: Place): Column | string[] {
    const at = data + c.at,
        text = new TextDecoder();
    if (c.column === 'str') {
        const off = new Uint32Array(b, at, c.n + 1),
            from = at + off.byteLength;
        return Array.from({ length: c.n }, (_, i) =>
            text.decode(new Uint8Array(b, from + off[i], off[i + 1] - off[i])),
        );
    }
    if (c.column === 'i64') return Float64Array.from(new BigInt64Array(b, at, c.n), Number);
    const kind = KINDS[c.column as keyof typeof KINDS];
    if (!kind) throw new Error(`the server sends columns of ${c.column}, which this page does not know: load it again`);
    return new kind(b, at, c.n);
}

/** JSON whose `start` is kept exactly: as a number it would be good to a quarter of a microsecond. */
export function withStart<T>(json: string, revive?: (key: string, value: unknown) => unknown): T & { startNs: bigint } {
    const start = /"start":(\d+)/.exec(json);
    return { ...(JSON.parse(json, revive) as T), startNs: BigInt(start?.[1] ?? 0) };
}

export function readColumns<T>(b: ArrayBuffer): T & { startNs: bigint } {
    const view = new DataView(b),
        n = view.getUint32(8, true),
        data = view.getUint32(12, true);
    if (view.getUint32(0) !== 0x4b4c4e41 || view.getUint32(4, true) !== 1)
        throw new Error('the server answers in an encoding that this page does not know: load it again');
    const head = new TextDecoder().decode(new Uint8Array(b, 16, n));
    return withStart<T>(head, (_, x) => {
        const c = x as Partial<Place> | null;
        return c && typeof c === 'object' && typeof c.column === 'string' ? columnAt(b, data, c as Place) : x;
    });
}
