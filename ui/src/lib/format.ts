// Numbers and times as people read them. What was not measured is a dash.

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

/** The 95 % interval of Wilson, as crates/tracker has it. */
export function wilson(well: number, n: number): [number, number] {
  const z = 1.959963984540054;
  const share = well / n;
  const centre = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}
