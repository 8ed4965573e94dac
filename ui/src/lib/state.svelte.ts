// State shared by all pages: what the server offers, the runs, and their events.

import { ApiError, errorMessage, getDashboard } from "./api";
import { subscribe, type RunEvent } from "./events";
import { router } from "./router.svelte";

export interface ServerInfo {
  menace: string;
  data: string;
  /** Reasons why something is unavailable. */
  missing: { runs: string | null; history: string | null; sandboxes: string | null };
}

export interface RunSummary {
  id: string;
  kind: "auto" | "run";
  parent: string | null;
  repository: string;
  state: "running" | "interrupted" | "finished";
  began_ms: number;
  ended_ms: number | null;
  planned: number;
}

/** Poll interval while there is no run. */
const POLL_MS = 3000;
/** Shortest time between two reloads of a page. */
const THROTTLE_MS = 1000;
/** Number of events kept for the page Events. */
const MAX_EVENTS = 5000;

class SharedState {
  about = $state.raw<ServerInfo | null>(null);
  runs = $state.raw<RunSummary[]>([]);
  events = $state.raw<RunEvent[]>([]);
  isConnected = $state(false);
  isKeyRequired = $state(false);
  error = $state<string | null>(null);
  /** Increases with events; pages reload when it changes. */
  changes = $state(0);
  #unsubscribe: (() => void) | null = null;
  #isThrottled = false;
  #isPending = false;
  #isRunListStale = false;

  async start() {
    try {
      this.about = await getDashboard<ServerInfo>("/about");
      this.isKeyRequired = false;
      this.error = null;
      await this.loadRuns();
      // A run may start after the page was opened.
      if (this.about.missing.runs) setTimeout(() => void this.start(), POLL_MS);
    } catch (error) {
      this.isKeyRequired = error instanceof ApiError && error.status === 401;
      this.error = this.isKeyRequired ? null : errorMessage(error);
    }
  }

  async loadRuns() {
    if (this.about?.missing.runs) return;
    this.runs = (await getDashboard<{ runs: RunSummary[] }>("/runs")).runs;
    this.#subscribe();
  }

  /** Reloads the server info too, because the first cycle creates the history. */
  async #reload() {
    this.about = await getDashboard<ServerInfo>("/about");
    await this.loadRuns();
  }

  #subscribe() {
    this.#unsubscribe ??= subscribe(
      (event) => {
        this.events = [...this.events.slice(-MAX_EVENTS), event];
        this.#isRunListStale ||= event.kind.startsWith("cycle:") || event.kind.startsWith("run:");
        this.#notify();
      },
      (isConnected) => (this.isConnected = isConnected),
    );
  }

  /** Throttles reloads: the first event triggers one immediately, later events share the next one. */
  #notify() {
    this.#isPending = this.#isThrottled;
    if (this.#isThrottled) return;
    this.#isThrottled = true;
    this.changes += 1;
    if (this.#isRunListStale) void this.#reload();
    this.#isRunListStale = false;
    setTimeout(() => {
      this.#isThrottled = false;
      if (this.#isPending) this.#notify();
    }, THROTTLE_MS);
  }

  /** Runs without those that hold the calls of a cycle of another run. */
  get topLevelRuns(): RunSummary[] {
    return this.runs.filter((run) => run.parent === null);
  }

  /** Selected run: the one in the address, or the latest. */
  get run(): RunSummary | null {
    const selected = router.get("run");
    return this.runs.find((run) => run.id === selected) ?? this.topLevelRuns[0] ?? null;
  }

  /** Id of the selected run, or of the run that it is a cycle of. */
  get runId(): string | null {
    return this.run?.parent ?? this.run?.id ?? null;
  }
}

export const shared = new SharedState();
