// What the page around the viewer contributes to the menu Share.
import { Inputs } from './command';
import { Filter } from './filter';

export interface SharedFile {
    name: string;
    label: string;
    ending: string; // of the file's name
    get(f: Filter): Promise<Blob>;
}

export interface Shared {
    /** A link to exactly the shown data. */
    link(): string;
    /** Files that the viewer does not make itself. */
    files: SharedFile[];
    /** The inputs of a command over the samples of a type that pass the filter; `compared`: and of the other side. null: no
     *  option selects these samples. */
    inputs(f: Filter, type: string, compared: boolean): Inputs | null;
}
