// Colour theme: light, dark, or that of the system. Charts on canvases read their colours here.

type Theme = "system" | "light" | "dark";
const KEY = "menace-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function storedTheme(): Theme {
  const text = localStorage.getItem(KEY);
  return text === "light" || text === "dark" ? text : "system";
}

class ThemeState {
  selected = $state<Theme>(storedTheme());
  isSystemDark = $state(dark.matches);

  get isDark(): boolean {
    return this.selected === "system" ? this.isSystemDark : this.selected === "dark";
  }

  select(theme: Theme) {
    this.selected = theme;
    localStorage.setItem(KEY, theme);
    this.apply();
  }

  apply() {
    document.documentElement.dataset.theme = this.isDark ? "dark" : "light";
  }
}

export const theme = new ThemeState();
dark.addEventListener("change", () => {
  theme.isSystemDark = dark.matches;
  theme.apply();
});
theme.apply();

const cache = { isDark: theme.isDark, colours: new Map<string, string>() };

/** Value of a colour of style.css. Cached, because `getComputedStyle` may trigger a layout and a graph reads thousands of colours. */
export function colour(name: string): string {
  if (cache.isDark !== theme.isDark) {
    cache.isDark = theme.isDark;
    cache.colours.clear();
  }
  const value = cache.colours.get(name) ?? getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  cache.colours.set(name, value);
  return value;
}
