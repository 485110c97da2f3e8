// The search field: how many functions match and their share, the next and the previous one, and only their stacks.
import { RefObject } from 'preact';
import { percent } from '../model/units';
import type { Found } from './useFound';

export interface SearchBoxProps {
    input: RefObject<HTMLInputElement>;
    placeholder: string;
    text: string;
    found: Found;
    selected: number;
    whole: number;
    only: boolean; // only stacks with a match are shown
    partly: boolean; // a part of the tree is not loaded, and not searched
    onSearch(text: string): void;
    onStep(by: number): void;
    onOnly(): void;
}

export function SearchBox(p: SearchBoxProps) {
    const { list, match } = p.found,
        at = list.indexOf(p.selected) + 1,
        none = !list.length;
    const key = (e: KeyboardEvent) => {
        if (e.key === 'Enter' && match) p.onStep(e.shiftKey ? -1 : 1);
    };
    return (
        <div class={match ? 'search on' : 'search'}>
            <input
                ref={p.input}
                type="search"
                placeholder={p.placeholder}
                aria-label="Search"
                value={p.text}
                spellcheck={false}
                onInput={(e) => p.onSearch(e.currentTarget.value)}
                onKeyDown={key}
            />
            {match ? (
                <>
                    <output title="matching functions, and the share of the stacks that contain one">
                        {at ? `${at}/` : ''}
                        {list.length} ·{' '}
                        <span class="share">{p.found.total === null ? '…' : percent(p.found.total, p.whole)}</span>
                        {p.partly && ' of the loaded part'}
                    </output>
                    <button
                        class="icon"
                        title="Previous match (N)"
                        aria-label="Previous match"
                        disabled={none}
                        onClick={() => p.onStep(-1)}
                    >
                        ‹
                    </button>
                    <button
                        class="icon"
                        title="Next match (n)"
                        aria-label="Next match"
                        disabled={none}
                        onClick={() => p.onStep(1)}
                    >
                        ›
                    </button>
                    <button
                        class="only"
                        title="Only stacks with a match (o)"
                        aria-pressed={p.only}
                        data-do="only"
                        disabled={none && !p.only}
                        onClick={p.onOnly}
                    >
                        Only matches
                    </button>
                </>
            ) : (
                !p.text && <kbd>/</kbd>
            )}
            {p.text && (
                <button
                    class="icon"
                    title="Clear the search (Esc)"
                    aria-label="Clear the search"
                    data-do="clear"
                    onClick={() => {
                        p.onSearch('');
                        p.input.current?.focus();
                    }}
                >
                    ×
                </button>
            )}
        </div>
    );
}
