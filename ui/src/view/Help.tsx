const KEYS: [string, string][] = [
    ['/', 'search; /…/ is a regular expression'],
    ['n  N', 'next and previous match; Enter in the search field, too'],
    ['o', 'only stacks that match the search, or all again'],
    ['← → ↑ ↓', 'move between boxes or rows; in the flame chart, move in time'],
    ['Enter', 'zoom to the box; in the table and the call tree, show callers and callees'],
    ['*', 'in the call tree, open the hottest path; ← and → close and open a row'],
    ['m  Shift+F10', 'menu of the selected frame: focus, merge, drop, collapse; its letters choose'],
    ['u', 'undo the last transform'],
    ['v', 'inverted: callers above each function'],
    ['Backspace', 'zoom out by one level'],
    ['Esc', 'clear the search, then the zoom, the selection, the transforms, the filters'],
    ['+  −', 'zoom the flame chart'],
    ['i', 'icicle: show the root at the top'],
    ['s', 'callers and callees of the selected function'],
    ['c', 'next colour scheme'],
    ['d', 'comparison on or off'],
    ['t', 'dark or light'],
    ['?', 'this help'],
];

/** Flame graphs, wall against CPU, observation against sample, in six sentences. */
const ABOUT = [
    'A flame graph adds up all recorded call stacks: a box is a function, the box above it a function that it calls.',
    'The width of a box is its share of the total, and the order from left to right is not time.',
    'The free width above a box is its own work: wide boxes with nothing above them are the place to look.',
    'CPU profiles count the time in which code runs, wall-clock profiles also the time in which it waits.',
    'An observation is one measurement, such as one tick of the profiler; a sample is a stack with all of its observations.',
    'A function with few observations may be there by chance: ten are precise to a third, a thousand to three percent.',
];

export function Help(p: { live: boolean; onClose(): void }) {
    return (
        <div class="overlay" onClick={p.onClose}>
            <div class="help" role="dialog" aria-label="Help" onClick={(e) => e.stopPropagation()}>
                <header>
                    <h2>Help</h2>
                    <button class="icon" aria-label="Close" onClick={p.onClose}>
                        ×
                    </button>
                </header>
                <div data-about>
                    {ABOUT.map((sentence) => (
                        <p key={sentence}>{sentence}</p>
                    ))}
                </div>
                <h3>Keys</h3>
                <table>
                    <tbody>
                        {[[p.live ? '1 … 8' : '1 … 7', 'switch the view'], ...KEYS].map(([k, what]) => (
                            <tr key={k}>
                                <td>
                                    {k.split('  ').map((x) => (
                                        <kbd key={x}>{x}</kbd>
                                    ))}
                                </td>
                                <td>{what}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
                {p.live ? (
                    <p>
                        Click a box to zoom in, click a box below it to zoom out. Drag on the chart to select a time
                        range; hold Shift while dragging to compare with it. The address of the page describes what you
                        see, so that you can share it. Drop a profile in any format here to store it.
                    </p>
                ) : (
                    <>
                        <p>
                            Click a box to zoom in, click a box below it to zoom out. The address of the page describes
                            what you see; share it together with the file. Drop another report or an <code>.otlp</code>{' '}
                            file here to open it or to compare with it.
                        </p>
                        <p class="dim">
                            This file contains the whole profile. <code>kiln convert report.html profile.otlp</code>{' '}
                            extracts it.
                        </p>
                    </>
                )}
            </div>
        </div>
    );
}
