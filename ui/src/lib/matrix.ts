// Rows of the matrix. Sorting and filtering ten thousand of them has to keep up with typing.

import type { MatrixView } from "./types";

export interface MatrixCell { n: number; successes: number; reason: number | null }

export interface MatrixRow {
  section: string;
  lowercase: string;
  cells: (MatrixCell | undefined)[];
  /** Totals over the cells that are not void. */
  n: number;
  mean: number | null;
  worst: number | null;
}

export function matrixRows(view: MatrixView): MatrixRow[] {
  const rows: MatrixRow[] = view.sections.map((section) => ({ section, lowercase: section.toLowerCase(), cells: [], n: 0, mean: null, worst: null }));
  for (const [section, column, n, successes, reason] of view.cells) rows[section]!.cells[column] = { n, successes, reason };
  for (const row of rows) {
    const counted = row.cells.filter((cell): cell is MatrixCell => cell !== undefined && cell.n > 0);
    if (counted.length === 0) continue;
    const shares = counted.map((cell) => cell.successes / cell.n);
    row.n = counted.reduce((sum, cell) => sum + cell.n, 0);
    row.mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    row.worst = Math.min(...shares);
  }
  return rows;
}

/** Sort key: `worst`, `mean`, `section`, `n`, or the number of a column. */
export type SortKey = "worst" | "mean" | "section" | "n" | number;

function sortValue(row: MatrixRow, key: Exclude<SortKey, "section">): number | null {
  if (key === "worst") return row.worst;
  if (key === "mean") return row.mean;
  if (key === "n") return row.n;
  const cell = row.cells[key];
  return cell && cell.n > 0 ? cell.successes / cell.n : null;
}

/** Rows whose section contains all words of `filter`, sorted. Rows without a value come last in both directions. */
export function filterAndSort(all: MatrixRow[], filter: string, key: SortKey, descending: boolean): MatrixRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? all.filter((row) => words.every((word) => row.lowercase.includes(word))) : [...all];
  const sign = descending ? -1 : 1;
  const byName = (a: MatrixRow, b: MatrixRow) => (a.lowercase < b.lowercase ? -1 : a.lowercase > b.lowercase ? 1 : 0);
  if (key === "section") return found.sort((a, b) => sign * byName(a, b));
  const keyed = found.map((row) => [row, sortValue(row, key)] as const);
  keyed.sort(([a, left], [b, right]) => {
    if (left === null || right === null) return left === right ? byName(a, b) : left === null ? 1 : -1;
    return left === right ? byName(a, b) : sign * (left - right);
  });
  return keyed.map(([row]) => row);
}
