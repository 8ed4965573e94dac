// Router: the page and its parameters (run, section, …) are in the fragment of the address, so that it can be bookmarked and shared.

function parseFragment(): { page: string; values: URLSearchParams } {
  const [page = "", text = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { page: page || "run", values: new URLSearchParams(text) };
}

class Router {
  #current = $state.raw(parseFragment());

  constructor() {
    addEventListener("hashchange", () => (this.#current = parseFragment()));
  }

  get page(): string {
    return this.#current.page;
  }

  get(name: string): string | null {
    return this.#current.values.get(name);
  }

  /** Address of a page for the selected run. */
  href(page: string, values: Record<string, string | null> = {}): string {
    const run = this.get("run");
    const all = { ...(run ? { run } : {}), ...values };
    const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null && pair[1] !== "");
    const text = new URLSearchParams(given).toString();
    return `#/${page}${text && `?${text}`}`;
  }

  /** Changes parameters of the current page without a new entry in the browser history. */
  set(values: Record<string, string | null>) {
    const next = new URLSearchParams(this.#current.values);
    for (const [name, value] of Object.entries(values)) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    const text = next.toString();
    history.replaceState(null, "", `#/${this.page}${text && `?${text}`}`);
    this.#current = parseFragment();
  }

  go(page: string, values: Record<string, string | null> = {}) {
    location.hash = this.href(page, values);
  }
}

export const router = new Router();
