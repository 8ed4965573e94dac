// Something that is asked for, again when what it depends on changes: what came, or why nothing did.

import { ApiError } from "./api";

export class Loaded<T> {
  value = $state.raw<T | null>(null);
  problem = $state.raw<{ message: string; hint?: string } | null>(null);
  busy = $state(false);
  #number = 0;

  /** Asks. An answer that comes after the next question is dropped. */
  async ask(question: () => Promise<T>) {
    this.#number += 1;
    const number = this.#number;
    this.busy = true;
    try {
      const value = await question();
      if (number !== this.#number) return;
      this.value = value;
      this.problem = null;
    } catch (error) {
      if (number !== this.#number) return;
      this.value = null;
      this.problem = { message: error instanceof Error ? error.message : String(error) };
      if (error instanceof ApiError && error.hint) this.problem.hint = error.hint;
    } finally {
      if (number === this.#number) this.busy = false;
    }
  }
}
