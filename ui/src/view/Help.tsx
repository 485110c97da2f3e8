const KEYS: [string, string][] = [
    ['/', 'search; /…/ is a regular expression'],
    ['n  N', 'next and previous match'],
    ['← → ↑ ↓', 'move between boxes, rows; in the flame chart: move in time'],
    ['Enter', 'zoom into the box; in the table: callers and callees'],
    ['Backspace', 'zoom out by one'],
    ['Esc', 'take back: search, then zoom, then selection, then filters'],
    ['+  −', 'flame chart: zoom'],
    ['i', 'icicle: root at the top'],
    ['s', 'callers and callees of the selection'],
    ['c', 'next way to colour'],
    ['d', 'comparison on or off'],
    ['t', 'dark or light'],
    ['?', 'this help'],
];

export function Help(p: { live: boolean; onClose(): void }) {
    return (
        <div class="overlay" onClick={p.onClose}>
            <div class="help" role="dialog" aria-label="Help" onClick={(e) => e.stopPropagation()}>
                <header>
                    <h2>Keys</h2>
                    <button class="icon" aria-label="Close" onClick={p.onClose}>
                        ×
                    </button>
                </header>
                <table>
                    <tbody>
                        {[[p.live ? '1 … 7' : '1 … 6', 'switch the view'], ...KEYS].map(([k, what]) => (
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
                        Click a box to zoom, click one below it to zoom out; drag on the chart to choose a time, with
                        Shift to compare with it. The address keeps what you see: send it along. Drop a file of any
                        format here to keep it.
                    </p>
                ) : (
                    <>
                        <p>
                            Click a box to zoom, click one below it to zoom out. The address keeps what you see: send it
                            along with the file. Drop another report or <code>.otlp</code> file here to open it or to
                            compare with it.
                        </p>
                        <p class="dim">
                            This file holds the whole profile: <code>kiln convert report.html profile.otlp</code>.
                        </p>
                    </>
                )}
            </div>
        </div>
    );
}
