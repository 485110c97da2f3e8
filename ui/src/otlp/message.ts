// Writes protobuf messages. Fields with the value 0 are omitted.

const utf8 = new TextEncoder();

export class Message {
    private b = new Uint8Array(64);
    private n = 0;

    private room(more: number): void {
        if (this.n + more <= this.b.length) return;
        const wider = new Uint8Array(Math.max(this.b.length * 2, this.n + more));
        wider.set(this.b.subarray(0, this.n));
        this.b = wider;
    }

    get bytes(): Uint8Array {
        return this.b.subarray(0, this.n);
    }

    private varint(v: number | bigint): void {
        this.room(10);
        if (typeof v === 'number' && v >= 0 && v < 2 ** 31) {
            for (; v > 127; v >>>= 7) this.b[this.n++] = (v & 127) | 128;
            this.b[this.n++] = v;
            return;
        }
        let n = BigInt.asUintN(64, BigInt(v));
        for (; n > 127n; n >>= 7n) this.b[this.n++] = Number(n & 127n) | 128;
        this.b[this.n++] = Number(n);
    }

    int(field: number, v: number | bigint): this {
        if (!v) return this;
        this.varint(field << 3);
        this.varint(v);
        return this;
    }

    raw(field: number, data: Uint8Array): this {
        this.varint((field << 3) | 2);
        this.varint(data.length);
        this.room(data.length);
        this.b.set(data, this.n);
        this.n += data.length;
        return this;
    }

    /** Also writes empty text, which is an element of a list. */
    text(field: number, s: string): this {
        return this.raw(field, utf8.encode(s));
    }

    message(field: number, m: Message): this {
        return this.raw(field, m.bytes);
    }

    packed(field: number, list: ArrayLike<number | bigint>): this {
        if (!list.length) return this;
        const m = new Message();
        for (let i = 0; i < list.length; i++) m.varint(list[i]);
        return this.message(field, m);
    }

    fixed64(field: number, v: bigint): this {
        if (!v) return this;
        this.varint((field << 3) | 1);
        this.room(8);
        for (let k = 0n; k < 64n; k += 8n) this.b[this.n++] = Number((v >> k) & 255n);
        return this;
    }

    double(field: number, v: number): this {
        const bits = new BigUint64Array(new Float64Array([v]).buffer)[0];
        return bits ? this.fixed64(field, bits) : this.raw(field, new Uint8Array(0));
    }
}
