// Formatting of numbers, counts and times. Values that were not measured are a dash.

export const NONE = "–";

export function fixed(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? NONE : value.toFixed(digits);
}

export function signed(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? NONE : `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(digits)}`;
}

export function grouped(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : value.toLocaleString("en-US");
}

// Plurals that the rules of `plural` do not give.
const IRREGULAR: Record<string, string> = { analysis: "analyses", child: "children", index: "indices", matrix: "matrices" };

/** Plural of a noun, or of the last word of several. */
export function plural(noun: string): string {
  const at = noun.lastIndexOf(" ") + 1;
  const [start, word] = [noun.slice(0, at), noun.slice(at)];
  if (IRREGULAR[word]) return start + IRREGULAR[word];
  if (/(s|x|z|ch|sh)$/.test(word)) return `${noun}es`;
  if (/[^aeiou]y$/.test(word)) return `${noun.slice(0, -1)}ies`;
  return `${noun}s`;
}

/** A number and its noun: `1 sandbox`, `1,204 sandboxes`. */
export function count(value: number | null | undefined, noun: string): string {
  return `${grouped(value)} ${value === 1 ? noun : plural(noun)}`;
}

export function percent(value: number | null | undefined, digits = 0): string {
  return value === null || value === undefined ? NONE : `${(value * 100).toFixed(digits)} %`;
}

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(value % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function milliseconds(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : value < 1000 ? `${value.toFixed(1)} ms` : seconds(value / 1000);
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${units[unit]}`;
}

export function time(at_ms: number | null | undefined): string {
  return at_ms === null || at_ms === undefined ? NONE : new Date(at_ms).toLocaleString();
}

export function clock(at_ms: number): string {
  return new Date(at_ms).toLocaleTimeString();
}

/** Wilson score interval at 95 %, the same as in crates/tracker. */
export function wilson(successes: number, n: number): [number, number] {
  const z = 1.959963984540054;
  const share = successes / n;
  const centre = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}
