// The keyboard cursor of a canvas: a frame around a box, its tooltip, and its announcement.
import { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Spoken } from './Spoken';
import { Tip } from './Tip';

/** A box in the content of the scrolled element, CSS pixels. */
export interface CursorBox {
    left: number;
    top: number;
    width: number;
    height: number;
}

export interface CursorProps {
    name: string; // of the picture
    at: CursorBox | null;
    text: string; // for screen readers
    children: ComponentChildren; // of the tooltip
}

const LEAST = 4; // px: narrower boxes get a frame of this width

export function Cursor(p: CursorProps) {
    const { at } = p,
        box = useRef<HTMLDivElement>(null),
        [place, setPlace] = useState({ x: 0, y: 0 });
    useLayoutEffect(() => {
        box.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
        const r = box.current?.getBoundingClientRect();
        if (r) setPlace({ x: r.left, y: r.bottom });
    }, [at?.left, at?.top, at?.width, at?.height]);
    return (
        <>
            <Spoken name={p.name} text={at ? p.text : ''} />
            {at && (
                <div
                    class="cursor"
                    ref={box}
                    style={{
                        left: `${at.left}px`,
                        top: `${at.top}px`,
                        width: `${Math.max(at.width, LEAST)}px`,
                        height: `${at.height}px`,
                    }}
                />
            )}
            {at && (
                <Tip x={place.x} y={place.y}>
                    {p.children}
                </Tip>
            )}
        </>
    );
}
