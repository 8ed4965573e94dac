// xterm.js writes its colours into <style> elements, which the content security policy forbids. Style sheets constructed by scripts
// are allowed, so xterm.js gets a document whose <style> elements are backed by constructed sheets.

function createStyleElement(sheets: CSSStyleSheet[]): HTMLElement {
  const sheet = new CSSStyleSheet();
  sheets.push(sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const element = Document.prototype.createElement.call(document, "span");
  element.hidden = true;
  let text = "";
  Object.defineProperty(element, "textContent", {
    get: () => text,
    set: (value: string) => {
      text = value;
      sheet.replaceSync(value);
    },
  });
  Object.defineProperty(element, "sheet", { get: () => sheet });
  return element;
}

interface StyledDocument {
  document: Document;
  /** Patches `createElement` of the real document during a call: xterm.js 6 ignores `documentOverride` in one place. */
  withPatchedDocument: (callback: () => void) => void;
  /** Removes the style sheets. */
  dispose: () => void;
}

/** Creates a document for xterm.js. */
export function createStyledDocument(): StyledDocument {
  const sheets: CSSStyleSheet[] = [];
  const proxy = new Proxy(document, {
    get(target, name) {
      if (name === "createElement") return (tag: string) => (tag === "style" ? createStyleElement(sheets) : Document.prototype.createElement.call(target, tag));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  const dispose = () => (document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet)));
  const withPatchedDocument = (callback: () => void) => {
    document.createElement = proxy.createElement;
    try {
      callback();
    } finally {
      // Uncovers the method of the prototype.
      delete (document as Partial<Document>).createElement;
    }
  };
  return { document: proxy, withPatchedDocument, dispose };
}
