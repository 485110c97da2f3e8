// The binary encoding of responses: a JSON head that lists the columns, followed by the columns (docs/query-api.md).

export const COLUMNS = 'application/vnd.kiln.columns';
export type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array | number[];

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };

/** The exact values of columns whose numbers may have lost digits. */
const exactly = new WeakMap<Column, BigInt64Array>();

/** Returns times in ns, which a number holds to a quarter of a microsecond only. */
export const exactOf = (c: Column): ArrayLike<bigint> =>
    exactly.get(c) ?? Array.from(c, (v) => BigInt(Math.round(v)));

interface Place {
    path: (string | number)[];
    type: string;
    at: number;
    n: number;
}

function columnAt(b: ArrayBuffer, data: number, c: Place): Column | string[] {
    const at = data + c.at,
        text = new TextDecoder();
    if (c.type === 'str') {
        const off = new Uint32Array(b, at, c.n + 1),
            from = at + off.byteLength;
        return Array.from({ length: c.n }, (_, i) =>
            text.decode(new Uint8Array(b, from + off[i], off[i + 1] - off[i])),
        );
    }
    if (c.type === 'i64') {
        const exact = new BigInt64Array(b, at, c.n),
            column = Float64Array.from(exact, Number);
        exactly.set(column, exact);
        return column;
    }
    const kind = KINDS[c.type as keyof typeof KINDS];
    if (!kind) throw new Error(`the server sends columns of the unknown type ${c.type}: reload the page`);
    return new kind(b, at, c.n);
}

/** Parses JSON and keeps `start` exact: as a JavaScript number it would lose up to a quarter of a microsecond. */
export function withStart<T>(json: string): T & { startNs: bigint } {
    const start = /"start":(\d+)/.exec(json);
    return { ...(JSON.parse(json) as T), startNs: BigInt(start?.[1] ?? 0) };
}

type Inside = Record<string | number, unknown>;

export function readColumns<T>(b: ArrayBuffer): T & { startNs: bigint } {
    const view = new DataView(b),
        n = view.getUint32(8, true),
        data = view.getUint32(12, true);
    if (view.getUint32(0) !== 0x4b4c4e41 || view.getUint32(4, true) !== 1)
        throw new Error('the server responds in an unknown encoding: reload the page');
    const head = new TextDecoder().decode(new Uint8Array(b, 16, n));
    const { answer, columns, startNs } = withStart<{ answer: T; columns: Place[] }>(head);
    for (const c of columns) {
        const inside = c.path.slice(0, -1).reduce((x, key) => x[key] as Inside, answer as Inside);
        inside[c.path[c.path.length - 1]] = columnAt(b, data, c);
    }
    return { ...answer, startNs };
}
