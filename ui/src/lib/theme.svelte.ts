// Light, dark, or as the system has it. Charts draw on canvases and ask here for colours.

type Theme = "system" | "light" | "dark";
const KEY = "menace-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme {
  const text = localStorage.getItem(KEY);
  return text === "light" || text === "dark" ? text : "system";
}

class Themes {
  chosen = $state<Theme>(stored());
  system = $state(dark.matches);

  get isDark(): boolean {
    return this.chosen === "system" ? this.system : this.chosen === "dark";
  }

  choose(theme: Theme) {
    this.chosen = theme;
    localStorage.setItem(KEY, theme);
    this.apply();
  }

  apply() {
    document.documentElement.dataset.theme = this.isDark ? "dark" : "light";
  }
}

export const theme = new Themes();
dark.addEventListener("change", () => {
  theme.system = dark.matches;
  theme.apply();
});
theme.apply();

const known = { isDark: theme.isDark, colours: new Map<string, string>() };

/** The value of a colour of style.css. A graph asks thousands of times, and the browser would lay the page out each time. */
export function colour(name: string): string {
  if (known.isDark !== theme.isDark) {
    known.isDark = theme.isDark;
    known.colours.clear();
  }
  const value = known.colours.get(name) ?? getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  known.colours.set(name, value);
  return value;
}
