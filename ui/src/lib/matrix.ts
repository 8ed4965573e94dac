// The cells of a run as rows that are quick to sort and filter: ten thousand of them, at each key that is typed.

import type { MatrixView } from "./types";

export interface Cell { n: number; well: number; reason: number | null }

export interface Row {
  section: string;
  lower: string;
  cells: (Cell | undefined)[];
  /** Over all cells that count. */
  n: number;
  mean: number | null;
  worst: number | null;
}

export function rows(view: MatrixView): Row[] {
  const all: Row[] = view.sections.map((section) => ({ section, lower: section.toLowerCase(), cells: [], n: 0, mean: null, worst: null }));
  for (const [section, column, n, well, reason] of view.cells) all[section]!.cells[column] = { n, well, reason };
  for (const row of all) {
    const counted = row.cells.filter((cell): cell is Cell => cell !== undefined && cell.n > 0);
    if (counted.length === 0) continue;
    const shares = counted.map((cell) => cell.well / cell.n);
    row.n = counted.reduce((sum, cell) => sum + cell.n, 0);
    row.mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    row.worst = Math.min(...shares);
  }
  return all;
}

/** `worst`, `mean`, `section`, `n`, or the number of a column. */
export type Order = "worst" | "mean" | "section" | "n" | number;

function figure(row: Row, order: Exclude<Order, "section">): number | null {
  if (order === "worst") return row.worst;
  if (order === "mean") return row.mean;
  if (order === "n") return row.n;
  const cell = row.cells[order];
  return cell && cell.n > 0 ? cell.well / cell.n : null;
}

/** Rows that have all words, in an order; rows without a figure come last either way. */
export function chosen(all: Row[], words: string, order: Order, descending: boolean): Row[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = wanted.length ? all.filter((row) => wanted.every((word) => row.lower.includes(word))) : [...all];
  const sign = descending ? -1 : 1;
  const byName = (a: Row, b: Row) => (a.lower < b.lower ? -1 : a.lower > b.lower ? 1 : 0);
  if (order === "section") return found.sort((a, b) => sign * byName(a, b));
  const keyed = found.map((row) => [row, figure(row, order)] as const);
  keyed.sort(([a, left], [b, right]) => {
    if (left === null || right === null) return left === right ? byName(a, b) : left === null ? 1 : -1;
    return left === right ? byName(a, b) : sign * (left - right);
  });
  return keyed.map(([row]) => row);
}
