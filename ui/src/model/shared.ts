// What the page around the viewer contributes to the menu Share.
import { Inputs } from './command';
import { Filter } from './filter';

export interface SharedFile {
    name: string;
    label: string;
    ending: string; // of the file's name
    get(f: Filter): Promise<Blob>;
}

/** What a file has to contain besides the filtered samples. */
export interface Wanted {
    transformed: boolean; // stacks are changed
    compared: boolean; // the other side of a comparison is shown
}

export type Format = 'pprof' | 'otlp' | 'html';

export interface Shared {
    /** A link to exactly the shown data. */
    link(): string;
    /** A file that the viewer does not make itself; null: the viewer makes it, or there is none. */
    file(format: Format, w: Wanted): ((f: Filter) => Promise<Blob>) | null;
    /** Other files. */
    more: SharedFile[];
    /** The inputs of a command over the samples of a type that pass the filter; `compared`: and of the other side. null: no
     *  option selects these samples. */
    inputs(f: Filter, type: string, compared: boolean): Inputs | null;
}
