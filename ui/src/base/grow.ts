// Typed arrays that grow, for tables of unknown size.

export class GrowU32 {
    a: Uint32Array<ArrayBuffer>;
    n = 0;
    constructor(room = 1024) {
        this.a = new Uint32Array(room);
    }
    push(v: number): void {
        if (this.n === this.a.length) {
            const b = new Uint32Array(this.n * 2);
            b.set(this.a);
            this.a = b;
        }
        this.a[this.n++] = v;
    }
    done(): Uint32Array {
        return this.a.slice(0, this.n);
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
        return this.a.slice(0, this.n);
    }
}
