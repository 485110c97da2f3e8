// The selections that the server stores under names.
import { getJson, sendChange } from './client';

export interface SavedEntry {
    name: string;
    link: string; // query and fragment of an address
    changed: number; // Unix ns
}

export interface SavedList {
    changes: 'open' | 'token' | 'none'; // what a change requires; none: the list is read-only
    saved: SavedEntry[];
}

export const MOST_NAME = 200; // bytes

const path = (name: string) => `saved/${encodeURIComponent(name)}`;

export const listSaved = (): Promise<SavedList> => getJson<SavedList>('saved');

/** Fails if the name is taken, unless `replace`. */
export const saveAs = (name: string, link: string, replace: boolean): Promise<void> =>
    sendChange('PUT', path(name), link, replace ? {} : { 'if-none-match': '*' });

export const renameSaved = (from: string, to: string): Promise<void> =>
    sendChange('PUT', `${path(to)}?from=${encodeURIComponent(from)}`);

export const deleteSaved = (name: string): Promise<void> => sendChange('DELETE', path(name));
