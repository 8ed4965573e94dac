// A browser that looks at a menace: every page has to be without errors and usable without eyes or a mouse.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ADDRESS_WAIT_MS = Number(process.env.WAIT_MS ?? 15_000);

/** Debian's Chromium. */
export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

/** A page that notes everything that goes wrong in it. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(ADDRESS_WAIT_MS);
  const problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  page.on("requestfailed", (request) => {
    // A stream of events ends when the page is left.
    if (!request.url().endsWith("/events/stream")) problems.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, context, problems };
}

/** What axe-core finds that is serious. It is evaluated from outside, so that the policy of the page stays as it is. */
export async function violations(page) {
  const has = await page.evaluate("typeof axe !== 'undefined'");
  if (!has) await page.evaluate(axe);
  const found = await page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ["violations"] })).violations);
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary?.split("\n")[1]?.trim()})`).join(" | ")}`);
}

/** Fails with all that is wrong. */
export function check(condition, message) {
  if (!condition) throw new Error(message);
}
