// A value loaded from the server, or the error why it could not be loaded.

import { ApiError, errorMessage } from "./api";

export class Resource<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<{ message: string; hint?: string } | null>(null);
  isLoading = $state(false);
  #latest = 0;

  /** Loads the value. A response that arrives after a later request was sent is dropped. */
  async load(fetchValue: () => Promise<T>) {
    this.#latest += 1;
    const number = this.#latest;
    this.isLoading = true;
    try {
      const value = await fetchValue();
      if (number !== this.#latest) return;
      this.value = value;
      this.error = null;
    } catch (error) {
      if (number !== this.#latest) return;
      this.value = null;
      this.error = { message: errorMessage(error) };
      if (error instanceof ApiError && error.hint) this.error.hint = error.hint;
    } finally {
      if (number === this.#latest) this.isLoading = false;
    }
  }
}
