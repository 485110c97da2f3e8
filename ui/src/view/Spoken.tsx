/** Announces the box under the keyboard cursor, because screen readers cannot see the boxes of a canvas. */
export const Spoken = (p: { name: string; text: string }) => (
    <div class="unseen" aria-live="polite" data-live={p.name}>
        {p.text}
    </div>
);
