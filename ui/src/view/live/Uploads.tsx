// Files that were dropped on the page or chosen. Each is sent to the server unchanged.
import { useEffect, useRef, useState } from 'preact/hooks';

export function Uploads(p: { onFiles(f: File[]): void }) {
    const [over, setOver] = useState(false),
        input = useRef<HTMLInputElement>(null);
    useEffect(() => {
        const files = (e: DragEvent) => e.dataTransfer?.types.includes('Files') ?? false;
        const stop = (e: DragEvent) => {
            if (files(e)) (e.preventDefault(), setOver(e.type === 'dragover'));
        };
        const drop = (e: DragEvent) => {
            stop(e);
            if (e.dataTransfer?.files.length) p.onFiles([...e.dataTransfer.files]);
        };
        addEventListener('dragover', stop);
        addEventListener('dragleave', stop);
        addEventListener('drop', drop);
        return () => {
            removeEventListener('dragover', stop);
            removeEventListener('dragleave', stop);
            removeEventListener('drop', drop);
        };
    });
    return (
        <>
            <button
                class="icon"
                title="Upload a file in any format (or drop it here)"
                aria-label="Upload"
                data-do="upload"
                onClick={() => input.current!.click()}
            >
                ⇧
            </button>
            <input
                ref={input}
                type="file"
                multiple
                hidden
                onChange={(e) => {
                    const list = [...(e.currentTarget.files ?? [])];
                    e.currentTarget.value = '';
                    if (list.length) p.onFiles(list);
                }}
            />
            {over && (
                <div class="overlay drop">
                    <b>Drop to store it on the server</b>
                </div>
            )}
        </>
    );
}
