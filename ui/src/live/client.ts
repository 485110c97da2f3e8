// Requests to a kiln server. If the server requires a token, the user enters one, which is stored for this tab only.

import { COLUMNS, readColumns, withStart } from './columns';

export type Right = 'read' | 'write';

export class NeedsToken extends Error {
    /** `rejected`: the request had a token, which is wrong. */
    constructor(
        readonly right: Right,
        readonly rejected = false,
    ) {
        super(
            right === 'read' ? 'this server requires a token for viewing' : 'this server requires a token for changes',
        );
    }
}

const key = (r: Right) => `kiln.token.${r}`;

export const setToken = (r: Right, token: string): void => sessionStorage.setItem(key(r), token);

export const hasToken = (r: Right): boolean => sessionStorage.getItem(key(r)) !== null;

async function request(right: Right, path: string, init: RequestInit): Promise<Response> {
    const token = sessionStorage.getItem(key(right));
    let r: Response;
    try {
        r = await fetch(path, {
            ...init,
            headers: { ...init.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) },
        });
    } catch (e) {
        if ((e as Error).name === 'AbortError') throw e;
        throw new Error('the server does not respond');
    }
    if (r.status === 401) {
        if (token && sessionStorage.getItem(key(right)) === token) sessionStorage.removeItem(key(right));
        throw new NeedsToken(right, !!token);
    }
    if (!r.ok) throw new Error(await reason(r));
    return r;
}

async function reason(r: Response): Promise<string> {
    const text = (await r.text()).trim();
    try {
        const body = JSON.parse(text) as { error?: string; message?: string };
        return body.error ?? body.message ?? text;
    } catch {
        return text || `the server responded with status ${r.status}`;
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
    (await request('read', address(path, params), { signal })).json() as Promise<T>;

export const getBytes = async (path: string, params: Params, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> =>
    new Uint8Array(await (await request('read', address(path, params), { signal })).arrayBuffer());

export const getText = async (path: string, params: Params): Promise<string> =>
    (await request('read', address(path, params), {})).text();

/** A response with columns, in the binary encoding (docs/query-api.md) or as JSON. */
export async function getColumns<T>(
    path: string,
    params: Params,
    signal?: AbortSignal,
): Promise<T & { startNs: bigint }> {
    const r = await request('read', address(path, params), { signal, headers: { accept: COLUMNS } }),
        type = r.headers.get('content-type') ?? '';
    return type.startsWith(COLUMNS) ? readColumns<T>(await r.arrayBuffer()) : withStart<T>(await r.text());
}

/** Changes something that the server stores. */
export async function sendChange(
    method: 'PUT' | 'DELETE',
    path: string,
    body = '',
    headers: Record<string, string> = {},
): Promise<void> {
    await request('write', `/api/v1/${path}`, {
        method,
        headers: { 'content-type': 'text/plain', ...headers },
        ...(body && { body }),
    });
}

export interface Uploaded {
    recognised: string;
    profiles: number;
    duplicates: number; // of these, already stored
    damage?: string; // parts of a damaged file that were skipped
    service: string; // empty: not known
    first: number; // Unix ns; 0: no date, stored as of now
    last: number;
}

/** Uploads a file in any format that kiln reads. A recording without a date gets the date of its file. */
export const upload = async (file: File): Promise<Uploaded> =>
    (
        await request('write', `/upload?modified=${file.lastModified}`, { method: 'POST', body: file })
    ).json() as Promise<Uploaded>;

/** The message about an upload: "perf.data: 2 profiles (perf-data)". */
export function uploadedText(name: string, r: Uploaded): string {
    const all = `${name}: ${r.profiles} ${r.profiles === 1 ? 'profile' : 'profiles'} (${r.recognised})`;
    const before = r.duplicates === r.profiles ? ', already stored' : `, ${r.duplicates} of them already stored`;
    const damage = r.damage ? `; the file is damaged or incomplete, its intact parts are stored: ${r.damage}` : '';
    return all + (r.duplicates ? before : '') + damage;
}
