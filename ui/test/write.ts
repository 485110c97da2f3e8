// Just enough protobuf to write profiles for tests.

export class Message {
    readonly b: number[] = [];

    private varint(v: number | bigint): void {
        let n = BigInt.asUintN(64, BigInt(v));
        while (n > 127n) {
            this.b.push(Number(n & 127n) | 128);
            n >>= 7n;
        }
        this.b.push(Number(n));
    }
    int(field: number, v: number | bigint): this {
        if (!v) return this;
        this.varint(field << 3);
        this.varint(v);
        return this;
    }
    bytes(field: number, data: ArrayLike<number>): this {
        this.varint((field << 3) | 2);
        this.varint(data.length);
        for (let i = 0; i < data.length; i++) this.b.push(data[i]);
        return this;
    }
    text(field: number, s: string): this {
        return this.bytes(field, new TextEncoder().encode(s));
    }
    message(field: number, m: Message): this {
        return this.bytes(field, m.b);
    }
    packed(field: number, list: (number | bigint)[]): this {
        const m = new Message();
        for (const v of list) m.varint(v);
        return this.message(field, m);
    }
    fixed(field: number, list: bigint[]): this {
        return this.bytes(field, new Uint8Array(BigUint64Array.from(list).buffer));
    }
}

/** One profile of type strings[n - 2] in strings[n - 1]. A stack is a list of strings, leaf first, each at its
 *  line 7; attributes are text. */
export function profilesData(
    strings: string[],
    stacks: number[][],
    samples: Message[],
    attributes: [string, string][],
): Uint8Array {
    const d = new Message(),
        n = strings.length;
    d.message(1, new Message());
    d.message(2, new Message());
    for (let i = 1; i < n; i++) d.message(2, new Message().message(3, new Message().int(1, i).int(2, 7)));
    d.message(3, new Message());
    for (let i = 1; i < n; i++) d.message(3, new Message().int(1, i));
    d.message(4, new Message());
    for (const s of strings) d.text(5, s);
    d.message(6, new Message());
    for (const [key, value] of attributes)
        d.message(6, new Message().int(1, strings.indexOf(key)).message(2, new Message().text(1, value)));
    d.message(7, new Message());
    for (const s of stacks) d.message(7, new Message().packed(1, s));
    const p = new Message().message(1, new Message().int(1, n - 2).int(2, n - 1));
    for (const s of samples) p.message(2, s);
    return Uint8Array.from(
        new Message().message(1, new Message().message(2, new Message().message(2, p))).message(2, d).b,
    );
}

/** All profiles of the first type. */
export const FIRST = { type: 0, resource: '', one: -1 };
