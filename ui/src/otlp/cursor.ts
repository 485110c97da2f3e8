// A cursor over protobuf bytes. It cannot leave its message: reading past the end is an error with a position.

export class Cursor {
    pos: number;
    field = 0;
    wire = 0;
    /** The 64 bits of the last varint or fixed64: low and high half. */
    lo = 0;
    hi = 0;

    constructor(
        readonly b: Uint8Array,
        from = 0,
        public end = b.length,
    ) {
        this.pos = from;
    }

    fail(what: string): never {
        throw new Error(`${what} (byte ${this.pos})`);
    }

    /** Moves to the next field. Returns false at the end of the message. */
    next(): boolean {
        if (this.pos >= this.end) return false;
        const tag = this.u32();
        this.field = tag >>> 3;
        this.wire = tag & 7;
        if (!this.field) this.fail('a field has number 0');
        return true;
    }

    /** Reads a varint into lo and hi. */
    varint(): void {
        let lo = 0,
            hi = 0,
            shift = 0;
        for (;;) {
            if (this.pos >= this.end) this.fail('a number runs past the end of its message');
            const c = this.b[this.pos++];
            if (shift < 28) lo |= (c & 127) << shift;
            else if (shift === 28) {
                lo |= (c & 127) << 28;
                hi |= (c & 127) >> 4;
            } else if (shift < 64) hi |= (c & 127) << (shift - 32);
            else this.fail('a number has more than ten bytes');
            if (c < 128) break;
            shift += 7;
        }
        this.lo = lo >>> 0;
        this.hi = hi >>> 0;
    }

    /** Reads the low 32 bits of a varint: an index or a length. */
    u32(): number {
        const c = this.pos < this.end ? this.b[this.pos] : 128;
        if (c < 128) {
            this.pos++;
            return c;
        }
        this.varint();
        return this.lo;
    }

    fixed64(): void {
        if (this.end - this.pos < 8) this.fail('eight bytes run past the end of their message');
        const b = this.b,
            p = this.pos;
        this.lo = (b[p] | (b[p + 1] << 8) | (b[p + 2] << 16) | (b[p + 3] << 24)) >>> 0;
        this.hi = (b[p + 4] | (b[p + 5] << 8) | (b[p + 6] << 16) | (b[p + 7] << 24)) >>> 0;
        this.pos += 8;
    }

    /** Returns the last 64 bits as a number: exact up to 2^53. */
    unsigned(): number {
        return this.hi * 4294967296 + this.lo;
    }
    signed(): number {
        return (this.hi | 0) * 4294967296 + this.lo;
    }
    big(): bigint {
        return (BigInt(this.hi) << 32n) | BigInt(this.lo);
    }

    /** Reads the length of a LEN field and returns its end; the cursor is then at its first byte. */
    until(): number {
        if (this.wire !== 2) this.fail(`field ${this.field} has wire type ${this.wire} instead of 2`);
        const n = this.u32();
        if (n > this.end - this.pos)
            this.fail(`field ${this.field} has ${n} bytes, but only ${this.end - this.pos} are left`);
        return this.pos + n;
    }

    /** Enters the message of a LEN field and returns the end of the outer one, for leave(). Unlike message(), this
     *  allocates nothing. */
    enter(): number {
        const inner = this.until(),
            outer = this.end;
        this.end = inner;
        return outer;
    }
    leave(outer: number): void {
        this.pos = this.end;
        this.end = outer;
    }

    /** Returns a cursor over the message of a LEN field; this cursor moves past it. */
    message(): Cursor {
        const end = this.until();
        const c = new Cursor(this.b, this.pos, end);
        this.pos = end;
        return c;
    }

    bytes(): Uint8Array {
        const end = this.until(),
            at = this.pos;
        this.pos = end;
        return this.b.subarray(at, end);
    }

    /** Reads a scalar field into lo and hi. */
    scalar(): void {
        if (this.wire !== 0) this.fail(`field ${this.field} has wire type ${this.wire} instead of 0`);
        this.varint();
    }
    index(): number {
        this.scalar();
        return this.lo;
    }

    skip(): void {
        if (this.wire === 0) this.varint();
        else if (this.wire === 1) this.fixed64();
        else if (this.wire === 2) this.pos = this.until();
        else if (this.wire === 5) {
            if (this.end - this.pos < 4) this.fail('four bytes run past the end of their message');
            this.pos += 4;
        } else this.fail(`field ${this.field} has wire type ${this.wire}`);
    }
}
