// xterm.js writes its colours into <style> elements, which the policy of this page forbids, as it should: text of others could be
// in them. Sheets that are made by scripts are allowed, so it gets a document whose <style> elements become such sheets.

function element(sheets: CSSStyleSheet[]): HTMLElement {
  const sheet = new CSSStyleSheet();
  sheets.push(sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const made = Document.prototype.createElement.call(document, "span");
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

interface Styled {
  document: Document;
  /** Does something; what it makes of the page's own document has sheets, too: version 6 of xterm.js forgets ours in one place. */
  during: (work: () => void) => void;
  /** Removes the sheets again. */
  end: () => void;
}

/** A document for xterm.js. */
export function styled(): Styled {
  const sheets: CSSStyleSheet[] = [];
  const proxy = new Proxy(document, {
    get(target, name) {
      if (name === "createElement") return (tag: string) => (tag === "style" ? element(sheets) : Document.prototype.createElement.call(target, tag));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  const end = () => (document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet)));
  const during = (work: () => void) => {
    document.createElement = proxy.createElement;
    try {
      work();
    } finally {
      // What is left is the method of all documents.
      delete (document as Partial<Document>).createElement;
    }
  };
  return { document: proxy, during, end };
}
