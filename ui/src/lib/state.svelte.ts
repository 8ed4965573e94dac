// What all pages share: what the server has, the runs, and what happens.

import { ApiError, data } from "./api";
import { follow, type RunEvent } from "./events";
import { router } from "./router.svelte";

export interface About {
  menace: string;
  data: string;
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

/** How often it is asked whether there is a run, while there is none. */
const AGAIN_MS = 3000;
/** However much happens, pages ask again no more often than this. */
const REST_MS = 1000;
/** Events that are kept for the page of events. */
const KEPT = 5000;

class Shared {
  about = $state.raw<About | null>(null);
  runs = $state.raw<RunSummary[]>([]);
  events = $state.raw<RunEvent[]>([]);
  live = $state(false);
  needsKey = $state(false);
  problem = $state<string | null>(null);
  /** Counts what happened, so that pages know when to ask again. */
  changes = $state(0);
  #stop: (() => void) | null = null;
  #resting = false;
  #isLate = false;
  #isOther = false;

  async start() {
    try {
      this.about = await data<About>("/about");
      this.needsKey = false;
      this.problem = null;
      await this.readRuns();
      // A run may begin after the page was opened.
      if (this.about.missing.runs) setTimeout(() => void this.start(), AGAIN_MS);
    } catch (error) {
      this.needsKey = error instanceof ApiError && error.status === 401;
      this.problem = this.needsKey ? null : String(error instanceof Error ? error.message : error);
    }
  }

  async readRuns() {
    if (this.about?.missing.runs) return;
    this.runs = (await data<{ runs: RunSummary[] }>("/runs")).runs;
    this.#follow();
  }

  /** What there is may be more now: the first cycle writes a history. */
  async #again() {
    this.about = await data<About>("/about");
    await this.readRuns();
  }

  #follow() {
    this.#stop ??= follow(
      (event) => {
        this.events = [...this.events.slice(-KEPT), event];
        this.#isOther ||= event.kind.startsWith("cycle:") || event.kind.startsWith("run:");
        this.#tell();
      },
      (live) => (this.live = live),
    );
  }

  /** Pages hear of the first thing that happens at once, and of all that happens meanwhile together. */
  #tell() {
    this.#isLate = this.#resting;
    if (this.#resting) return;
    this.#resting = true;
    this.changes += 1;
    if (this.#isOther) void this.#again();
    this.#isOther = false;
    setTimeout(() => {
      this.#resting = false;
      if (this.#isLate) this.#tell();
    }, REST_MS);
  }

  /** Loops and runs of their own; the calls of the cycles of a loop belong to it. */
  get listed(): RunSummary[] {
    return this.runs.filter((run) => run.parent === null);
  }

  /** The run that is shown: the one of the address, or the last. */
  get run(): RunSummary | null {
    const named = router.get("run");
    return this.runs.find((run) => run.id === named) ?? this.listed[0] ?? null;
  }
}

export const shared = new Shared();
