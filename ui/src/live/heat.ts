// The query for a heat map.
import { Heat, ROWS, columnFor } from '../model/heat';
import { getColumns } from './client';
import { Column } from './columns';
import { where } from './queries';
import { Span } from './range';
import { Selector } from './selector';

export interface HeatAnswer {
    heat: Heat;
    base: bigint; // Unix ns of heat.from = 0
    partial: boolean;
    why: string;
}

interface Raw {
    column: number;
    columns: number;
    rows: number;
    sum: Column;
    partial: boolean;
    why?: string;
}

/** Queries sums by cell of time; the columns are as wide as in a report. */
export async function heatOver(s: Selector, span: Span, signal?: AbortSignal): Promise<HeatAnswer> {
    const column = columnFor((span[1] - span[0]) * 1e6),
        a = await getColumns<Raw>('heat', { ...where(s, span), column: `${column}ns`, rows: ROWS }, signal);
    const cell = Float64Array.from(a.sum, Math.abs),
        most = cell.reduce((m, v) => Math.max(m, v), 0);
    return {
        heat: { from: 0, column: a.column, columns: a.columns, rows: a.rows, cell, most },
        base: a.startNs,
        partial: a.partial,
        why: a.why ?? '',
    };
}
