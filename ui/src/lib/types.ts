// Responses of the server, with the fields that pages use.

export interface Prediction { value: number; interval: [number, number] | null }

export interface Budget {
  seconds: number | null; max_seconds: number | null; tokens: number | null; max_tokens: number | null;
  money: number | null; max_money: number | null; cpu_seconds: number | null; cycles: number | null; max_cycles: number | null;
}

export interface CycleSummary {
  number: number; run: string; base: string; presets: string; at_ms: number; calls: number | null; failures: number | null;
  roi: number | null; forecast: [number, [number, number] | null] | null; seconds: number | null; proposals: number; kept: number;
}

export interface RunView {
  id: string; kind: "auto" | "run"; repository: string; state: string; began_ms: number; ended_ms: number | null; seed: string;
  progress: { stage: { name: string; text: string }; alive: boolean | null; budget: Budget; calls_run: string; planned: number };
  cycles: CycleSummary[];
  patches: { all: number; kept: number; rejected: number; reverted: number };
  kinds: Record<string, number>;
  found: {
    sections: number; reached: number; calls: number; seconds: number; failures: number; flaky: number; harness_errors: number;
    roi: number | null; unavailable: Record<string, string> | null; energy_source: string | null; converged: boolean | null;
  } | null;
  stopped: string | null;
}

export interface CallProgress {
  calls_run: string; made: number; planned: number; kinds: Record<string, number>;
  time_left: { seconds: number | null; because: string | null };
}

export interface Forecast {
  model?: string; steps?: Prediction[]; confidence?: number; reason?: string | null; mae?: number | null; places?: number; unavailable?: string;
}

export interface RoiView {
  repository: string | null; levels: number[]; deltas: number[]; predicted: (Prediction | null)[]; forecast: Forecast;
  raroi: { cycles?: { cycle: number; mean: number; least: number; most: number; modules: number }[]; unavailable?: string };
  modules: { module: string; roi: number | null; delta: number | null; raroi: number | null; complete: string | null; levels: number[] }[];
  scenarios: Record<string, { roi: number | null; delta: number | null; levels: number[] }>;
  complete: Record<string, string>;
}

export interface MatrixView {
  is_final: boolean; sections: string[]; columns: string[]; reasons: string[];
  /** Section, column, number of counted calls, number of successes, and the reason if the cell is void. */
  cells: [number, number, number, number, number | null][];
}

export interface FailureRow {
  section: string; path: string; line: number; scenario: string; kind: string; exception: string | null; message: string;
  input: string; count: number; reach: number; call: string | null; replay: string | null;
}

export interface CallRow {
  id: string; number: number; section: string; scenario: string; kind: string; wall_ms: number; input: string;
  exception: string | null; message: string | null;
}

export interface TracebackFrame { path: string; line: number; function: string; source: { lines?: [number, string][]; unavailable?: string } }

export interface CallView extends CallRow {
  frames: TracebackFrame[]; circumstances: Record<string, unknown>; seed: string; path: string; line: number; replay: string;
  detail: {
    reason?: string; value?: string; facts?: { exception: string; message: string; module: string };
    measures?: {
      wall_ms: number; cpu_user_ms?: number; cpu_system_ms?: number; peak_rss_bytes?: number; cpu_throttled_ms?: number;
      flows?: Record<string, unknown>[]; faults?: Record<string, unknown>[]; stdout?: string; stderr?: string; seen?: Record<string, unknown>;
    };
  };
}

export interface PatchRow {
  run: string; number: number; proposal: string; section: string; proposer: string; state: "kept" | "rejected" | "reverted"; at_ms: number;
  why: string; gain: number | null; interval: [number, number] | null; score: number | null; reason: string | null; commit: string | null;
}

export interface PatchView extends PatchRow {
  cause: string; diff: string; cost: { seconds: number; cpu_seconds: number; tokens: number; money: number | null };
  conditions: { number: number; name: string; state: string; figure: string }[] | null;
  scenarios: Record<string, [number, number, number]> | null;
  alignment: { flags: { rule: string; severity: string; message: string }[] } | null;
  figures: Record<string, number> | null; regression: { path: string; text: string } | null;
  decisions: { at_ms: number; state: string; reason: string }[] | null;
}
