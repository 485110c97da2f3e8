// Asks a kiln server. A server that wants a token is told the one that a person typed, which this tab alone remembers.

import { COLUMNS, readColumns, withStart } from './columns';

export type Right = 'read' | 'write';

export class NeedsToken extends Error {
    constructor(readonly right: Right) {
        super(
            right === 'read'
                ? 'this server wants a token from whoever looks'
                : 'this server wants a token from whoever sends',
        );
    }
}

const key = (r: Right) => `kiln.token.${r}`;

export const setToken = (r: Right, token: string): void => sessionStorage.setItem(key(r), token);

async function ask(right: Right, path: string, init: RequestInit): Promise<Response> {
    const token = sessionStorage.getItem(key(right));
    let r: Response;
    try {
        r = await fetch(path, {
            ...init,
            headers: { ...init.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) },
        });
    } catch (e) {
        if ((e as Error).name === 'AbortError') throw e;
        throw new Error('the server does not answer');
    }
    if (r.status === 401) throw new NeedsToken(right);
    if (!r.ok) throw new Error(await reason(r));
    return r;
}

async function reason(r: Response): Promise<string> {
    const text = (await r.text()).trim();
    try {
        const said = JSON.parse(text) as { error?: string; message?: string };
        return said.error ?? said.message ?? text;
    } catch {
        return text || `the server answers ${r.status}`;
    }
}

export type Params = Record<string, string | number>;

function address(path: string, params: Params): string {
    const q = new URLSearchParams();
    for (const [k, v] of Object.entries(params)) if (v !== '') q.set(k, String(v));
    const text = q.toString();
    return `/api/v1/${path}${text && `?${text}`}`;
}

export const getJson = async <T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> =>
    (await ask('read', address(path, params), { signal })).json() as Promise<T>;

export const getBytes = async (path: string, params: Params, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> =>
    new Uint8Array(await (await ask('read', address(path, params), { signal })).arrayBuffer());

/** An answer whose columns came as arrays of numbers (docs/query-api.md, "The binary encoding"), or as JSON. */
export async function getColumns<T>(
    path: string,
    params: Params,
    signal?: AbortSignal,
): Promise<T & { startNs: bigint }> {
    const r = await ask('read', address(path, params), { signal, headers: { accept: COLUMNS } }),
        type = r.headers.get('content-type') ?? '';
    return type.startsWith(COLUMNS) ? readColumns<T>(await r.arrayBuffer()) : withStart<T>(await r.text());
}

export interface Uploaded {
    recognised: string;
    profiles: number;
    duplicates: number; // of these: stored before
    damage?: string; // what was left out of a damaged file
    service: string; // empty: it names none
    first: number; // Unix ns; 0: it does not say when it was measured, and counts as of now
    last: number;
}

/** A file of any format that kiln reads. Recordings without a date of their own get that of the file. */
export const upload = async (file: File): Promise<Uploaded> =>
    (
        await ask('write', `/upload?modified=${file.lastModified}`, { method: 'POST', body: file })
    ).json() as Promise<Uploaded>;

/** What became of it: "perf.data: 2 profiles (perf-data)". */
export function uploadedText(name: string, r: Uploaded): string {
    const all = `${name}: ${r.profiles} ${r.profiles === 1 ? 'profile' : 'profiles'} (${r.recognised})`;
    const before = r.duplicates === r.profiles ? ', stored before' : `, ${r.duplicates} of them stored before`;
    const damage = r.damage ? `; damaged or incomplete, the whole parts are stored: ${r.damage}` : '';
    return all + (r.duplicates ? before : '') + damage;
}
