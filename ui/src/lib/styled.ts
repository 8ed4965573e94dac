// xterm.js writes its colours into <style> elements, which the policy of this page forbids, as it should: text of others could be
// in them. Sheets that are made by scripts are allowed, so it gets a document whose <style> elements become such sheets.

function element(sheets: CSSStyleSheet[]): HTMLElement {
  const sheet = new CSSStyleSheet();
  sheets.push(sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const made = document.createElement("span");
  made.hidden = true;
  let text = "";
  Object.defineProperty(made, "textContent", {
    get: () => text,
    set: (value: string) => {
      text = value;
      sheet.replaceSync(value);
    },
  });
  Object.defineProperty(made, "sheet", { get: () => sheet });
  return made;
}

/** A document for xterm.js, and what removes its sheets again. */
export function styled(): { document: Document; end: () => void } {
  const sheets: CSSStyleSheet[] = [];
  const proxy = new Proxy(document, {
    get(target, name) {
      if (name === "createElement") return (tag: string) => (tag === "style" ? element(sheets) : target.createElement(tag));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  const end = () => (document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet)));
  return { document: proxy, end };
}
