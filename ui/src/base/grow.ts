// Typed arrays that grow, for tables of unknown size.

const LARGE = 65536; // smaller arrays are copied, which frees unused room

export class GrowU32 {
    a: Uint32Array<ArrayBuffer>;
    n = 0;
    constructor(room = 1024) {
        this.a = new Uint32Array(room);
    }
    /** Makes room for `more` numbers, so that a loop can write to `a` itself. */
    reserve(more: number): void {
        if (this.n + more <= this.a.length) return;
        const b = new Uint32Array(Math.max(this.a.length * 2, this.n + more));
        b.set(this.a.subarray(0, this.n));
        this.a = b;
    }
    push(v: number): void {
        if (this.n === this.a.length) this.reserve(1);
        this.a[this.n++] = v;
    }
    done(): Uint32Array {
        return this.n < LARGE ? this.a.slice(0, this.n) : this.a.subarray(0, this.n);
    }
}

export class GrowF64 {
    a: Float64Array<ArrayBuffer>;
    n = 0;
    constructor(room = 1024) {
        this.a = new Float64Array(room);
    }
    push(v: number): void {
        if (this.n === this.a.length) {
            const b = new Float64Array(this.n * 2);
            b.set(this.a);
            this.a = b;
        }
        this.a[this.n++] = v;
    }
    done(): Float64Array {
        return this.n < LARGE ? this.a.slice(0, this.n) : this.a.subarray(0, this.n);
    }
}
