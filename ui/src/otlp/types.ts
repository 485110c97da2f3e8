// A decoded ProfilesData: the tables of the specification as typed arrays, samples as columns.

export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };

/** Strings are decoded on first use. */
export class Strings {
    private readonly seen: (string | undefined)[] = [];
    private static readonly utf8 = new TextDecoder();
    constructor(
        private readonly b: Uint8Array,
        readonly at: Uint32Array,
        readonly len: Uint32Array,
    ) {}
    get n(): number {
        return this.at.length;
    }
    get(i: number): string {
        if (i >= this.at.length) return '';
        return (this.seen[i] ??= Strings.utf8.decode(this.b.subarray(this.at[i], this.at[i] + this.len[i])));
    }
}

export interface Attribute {
    key: number; // string
    unit: number; // string
    value: Value;
}

export interface Mapping {
    start: bigint;
    limit: bigint;
    offset: bigint; // in the file
    filename: number; // string
    attributes: number[];
}

export interface Dictionary {
    strings: Strings;
    mappings: Mapping[];
    functions: { n: number; name: Uint32Array; systemName: Uint32Array; filename: Uint32Array; startLine: Uint32Array };
    /** Location i has lines lineOff[i] .. lineOff[i + 1], innermost first. */
    locations: {
        n: number;
        mapping: Uint32Array;
        addressLo: Uint32Array;
        addressHi: Uint32Array;
        lineOff: Uint32Array;
        lineFunction: Uint32Array;
        line: Uint32Array;
        column: Uint32Array;
        attributeOff: Uint32Array;
        attributes: Uint32Array;
    };
    /** Stack i has locations off[i] .. off[i + 1], leaf first. */
    stacks: { n: number; off: Uint32Array; locations: Uint32Array };
    attributes: Attribute[];
    links: { trace: string; span: string }[];
}

export interface Profile {
    type: string;
    unit: string;
    periodType: string;
    periodUnit: string;
    period: number;
    startUnixNs: bigint;
    durationNs: number;
    id: string;
    resource: number;
    scope: string;
    attributes: number[];
    original: { format: string; bytes: number }; // the source file; its bytes are not decoded

    /** Of a sum over several resources: the name of the resource of the samples up to `end`. */
    pieces: { end: number; name: string }[];

    n: number; // samples
    stack: Uint32Array;
    link: Uint32Array;
    /** Sum of the values; a timestamp without a value counts 1. Exact up to 2^53. */
    value: Float64Array;
    attributeOff: Uint32Array;
    attribute: Uint32Array;
    /** The observations of sample i are time[timeOff[i]] .. time[timeOff[i + 1]], with values timeValue[]. */
    timeOff: Uint32Array;
    time: Float64Array; // ns after Dataset.timeBase
    timeValue: Float64Array;
    /** The exact sum of all values, saturated at 64 bits. */
    total: bigint;
}

export interface Resource {
    attributes: { key: string; value: Value }[];
}

export interface Dataset {
    name: string;
    dict: Dictionary;
    resources: Resource[];
    profiles: Profile[];
    timeBase: bigint; // Unix ns
    ownDefault: boolean; // there is one scope, so its first profile is the default (P-42)
}
