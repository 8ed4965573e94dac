// Which page is shown, and of which run: the part of the address after #, so that it can be kept and sent.

function parsed(): { page: string; values: URLSearchParams } {
  const [page = "", text = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { page: page || "run", values: new URLSearchParams(text) };
}

class Router {
  #now = $state.raw(parsed());

  constructor() {
    addEventListener("hashchange", () => (this.#now = parsed()));
  }

  get page(): string {
    return this.#now.page;
  }

  get(name: string): string | null {
    return this.#now.values.get(name);
  }

  /** The address of a page; the run stays. */
  href(page: string, values: Record<string, string | null> = {}): string {
    const run = this.get("run");
    const all = { ...(run ? { run } : {}), ...values };
    const known = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null && pair[1] !== "");
    const text = new URLSearchParams(known).toString();
    return `#/${page}${text && `?${text}`}`;
  }

  /** Changes values of the address of this page, without a new entry in the history of the browser. */
  set(values: Record<string, string | null>) {
    const next = new URLSearchParams(this.#now.values);
    for (const [name, value] of Object.entries(values)) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    const text = next.toString();
    history.replaceState(null, "", `#/${this.page}${text && `?${text}`}`);
    this.#now = parsed();
  }

  go(page: string, values: Record<string, string | null> = {}) {
    location.hash = this.href(page, values);
  }
}

export const router = new Router();
