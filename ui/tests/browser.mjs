// Browser for the tests: it records errors and runs accessibility checks.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TIMEOUT_MS = Number(process.env.WAIT_MS ?? 15_000);

/** Starts Chromium. */
export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

/** Opens a page and collects its errors, warnings, failed requests and dialogs. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  page.on("requestfailed", (request) => {
    // The event stream is aborted when the page is left.
    if (!request.url().endsWith("/events/stream")) problems.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, context, problems };
}

/** Serious and critical axe-core findings. axe-core is evaluated by the debugger, so the content security policy stays in place. */
export async function violations(page) {
  const isLoaded = await page.evaluate("typeof axe !== 'undefined'");
  if (!isLoaded) await page.evaluate(axe);
  const found = await page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ["violations"] })).violations);
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary?.split("\n")[1]?.trim()})`).join(" | ")}`);
}

/** Throws `message` if the condition is false. */
export function check(condition, message) {
  if (!condition) throw new Error(message);
}
