// The browser tests, one for each task of a user of the dashboard.

import { check } from "./browser.mjs";

/** Browser options of tests that need other ones than the default. */
export const options = {
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  dark: { colorScheme: "dark" },
};

/** Console messages that a test expects. */
export const expected = { keyed: /status of 401/, running: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET/ };

const PAGES = { run: "Run", matrix: "Matrix", patches: "Patches", metrics: "Metrics", modules: "Modules", sandboxes: "Sandboxes", events: "Events", settings: "Settings" };

async function screenshot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
}

async function checkAccessibility(page, violations, where) {
  const found = await violations(page);
  check(found.length === 0, `${where}: axe-core findings\n  ${found.join("\n  ")}`);
}

/** Waits until all data is loaded and drawn. */
async function waitUntilLoaded(page) {
  await page.waitForFunction(() => ![...document.querySelectorAll("main .dim")].some((element) => element.textContent === "…"));
  await page.waitForTimeout(400);
}

async function visit(page, address, name) {
  await page.goto(`${address}/#/${name}`);
  await page.getByRole("heading", { level: 1, name: PAGES[name] }).waitFor();
  await waitUntilLoaded(page);
}

/** Every page of a data directory with a finished run: no errors, accessible. */
export async function pages(page, address, violations) {
  for (const name of Object.keys(PAGES)) {
    await visit(page, address, name);
    check((await page.title()) === `${PAGES[name]} · menace`, `the title of ${name} is ${await page.title()}`);
    await checkAccessibility(page, violations, name);
    await screenshot(page, name);
  }
}

/** Without data, every page says why it is empty. */
export async function empty(page, address, violations) {
  for (const name of Object.keys(PAGES)) {
    await visit(page, address, name);
    await checkAccessibility(page, violations, `${name}, empty`);
    const text = await page.locator("main").innerText();
    check(["sandboxes", "settings"].includes(name) || text.includes("Unavailable: "), `${name} does not say why it is empty`);
  }
}

export async function dark(page, address, violations) {
  for (const name of ["run", "matrix", "patches", "metrics", "modules", "settings"]) {
    await visit(page, address, name);
    await checkAccessibility(page, violations, `${name}, dark`);
    if (name === "run") await screenshot(page, "run-dark");
  }
  // The selected theme overrides that of the system.
  await page.getByRole("combobox", { name: "Theme" }).selectOption("light");
  check((await page.evaluate(() => document.documentElement.dataset.theme)) === "light", "selecting a theme has no effect");
}

export async function phone(page, address, violations) {
  for (const name of Object.keys(PAGES)) {
    await visit(page, address, name);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(overflow <= 0, `${name} is ${overflow} pixels wider than a phone`);
    await checkAccessibility(page, violations, `${name}, phone`);
    if (name === "run") await screenshot(page, "phone");
  }
}

/** The matrix: filtering, sorting, keyboard navigation, and the details of a call. */
export async function matrix(page, address, violations) {
  await visit(page, address, "matrix");
  const rows = page.locator('[role="row"]');
  await rows.nth(1).waitFor();
  const status = page.locator(".controls [role=status]");
  const before = await status.innerText();
  const first = await rows.nth(1).locator(".name").innerText();
  await page.getByRole("searchbox", { name: "Filter" }).fill(first);
  await page.waitForFunction((before) => document.querySelector(".controls [role=status]")?.textContent !== before, before);
  check((await rows.nth(1).locator(".name").innerText()) === first, "the filter does not show the section");
  await page.getByRole("searchbox", { name: "Filter" }).fill("");
  // The lowest value is first; a click on the header reverses the order.
  const firstValue = async () => (await rows.nth(1).locator(".figure").first().innerText()).trim();
  const lowest = await firstValue();
  await page.getByRole("button", { name: "worst" }).click();
  await page.waitForTimeout(150);
  check(parseFloat(await firstValue()) >= parseFloat(lowest), "sorting has no effect");
  await page.getByRole("button", { name: "worst" }).click();
  await page.waitForTimeout(150);
  // Keyboard navigation.
  await page.locator('[data-at="0:0"]').focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForTimeout(100);
  check((await page.evaluate(() => document.activeElement?.getAttribute("data-at"))) === "1:0", "arrow keys do not move the focus");
  await page.keyboard.press("ArrowUp");
  await page.waitForTimeout(100);
  await page.keyboard.press("Enter");
  await page.locator("#detail h2").waitFor();
  const show = page.getByRole("button", { name: "Show this call" }).first();
  await show.waitFor();
  await show.click();
  await page.getByRole("heading", { name: "Outcome" }).waitFor();
  await page.locator("code", { hasText: "menace replay c_" }).first().waitFor();
  await waitUntilLoaded(page);
  await checkAccessibility(page, violations, "a call");
  await page.locator("#detail").scrollIntoViewIfNeeded();
  await screenshot(page, "call");
}

/** A patch with its eight conditions, which is reverted with a reason and kept again. */
export async function patches(page, address, violations) {
  await visit(page, address, "patches");
  await page.getByRole("combobox", { name: "State" }).selectOption("kept");
  await page.locator("tbody button.plain").first().click();
  await page.getByRole("heading", { name: "Conditions" }).waitFor();
  await page.locator("pre.diff").waitFor();
  const met = await page.locator("td.good", { hasText: "met" }).count();
  check(met === 8, `${met} of eight conditions are met`);
  await checkAccessibility(page, violations, "a patch");
  await screenshot(page, "patches");
  const decide = async (button, status) => {
    await page.getByRole("textbox", { name: "Reason" }).fill("reviewed it <b>again</b>");
    await page.getByRole("button", { name: button }).click();
    await page.getByText(status).waitFor();
  };
  await decide("Revert", "Recorded as reverted.");
  await page.locator("code", { hasText: "git revert" }).waitFor();
  await decide("Keep", "Recorded as kept.");
  check((await page.locator("li b").count()) === 0, "a reason was rendered as HTML");
}

/** HTML in function names, inputs and messages is rendered as text. */
export async function hostile(page, address, violations) {
  await page.addInitScript(() => {
    globalThis.alert = () => (globalThis.wasHit = true);
  });
  for (const name of ["run", "matrix", "patches", "metrics", "modules", "events", "settings"]) {
    await visit(page, address, name);
    check(!(await page.evaluate(() => globalThis.wasHit)), `${name} executed a script of the data`);
    check((await page.locator("main img, main script, main iframe, main svg").count()) === 0, `${name} rendered data as HTML`);
  }
  await visit(page, address, "matrix");
  await page.getByRole("searchbox", { name: "Filter" }).fill("evil");
  await page.locator('[role="row"] .name').first().click();
  await page.getByRole("button", { name: "Show this call" }).first().click();
  await page.getByRole("heading", { name: "Outcome" }).waitFor();
  await page.getByText("<img src=x onerror=").first().waitFor();
  check(!(await page.evaluate(() => globalThis.wasHit)), "a script in a message was executed");
  check((await page.locator("main img").count()) === 0, "a message was rendered as HTML");
  await checkAccessibility(page, violations, "hostile text");
}

/** A new event appears within 500 ms; its text has the time at which it was stored. */
export async function live(page, address) {
  await visit(page, address, "events");
  await page.getByText("live", { exact: true }).waitFor();
  console.log("listening");
  await page.getByText("seen in a browser").first().waitFor();
  const delay = await page.evaluate(() => Date.now()) - Number((await page.getByText(/seen in a browser \d+/).first().innerText()).match(/browser (\d+)/)[1]);
  console.log(`event shown after ${delay} ms`);
  check(delay <= 500, `the event was shown after ${delay} ms`);
}

/** A log is followed live and rendered as text; the calling test appends the second line. */
export async function logs(page, address, violations) {
  await visit(page, address, "events");
  await page.getByRole("combobox", { name: "Log" }).selectOption("loop");
  const box = page.getByRole("region", { name: "Log loop" });
  await box.getByText("first <img src=x").waitFor();
  console.log("listening");
  await box.getByText("second line").waitFor();
  await page.getByRole("searchbox", { name: "Search log" }).fill("second");
  await page.getByText("1 of 2 lines").waitFor();
  check((await box.locator("img").count()) === 0, "a line was rendered as HTML");
  await checkAccessibility(page, violations, "logs");
}

/** A run in progress: stages, progress, results and end. Its dashboard exits with it. */
export async function running(page, address, violations) {
  await visit(page, address, "run");
  await page.locator(".badge", { hasText: "running" }).waitFor();
  // The number of calls increases without a reload.
  const hasMoreCalls = (than) => Number(document.querySelector(".card dd")?.textContent?.replaceAll(",", "").match(/\d+/)?.[0] ?? 0) > than;
  await page.getByText("measuring").waitFor({ timeout: 60_000 });
  await page.waitForFunction(hasMoreCalls, 0, { timeout: 60_000 });
  const made = Number((await page.locator(".card dd").first().innerText()).replaceAll(",", "").match(/\d+/)[0]);
  await checkAccessibility(page, violations, "a run in progress");
  await screenshot(page, "live");
  await page.waitForFunction(hasMoreCalls, made, { timeout: 60_000 });
  await page.getByText(/proving|verifying/).waitFor({ timeout: 60_000 });
  await visit(page, address, "matrix");
  await page.locator('[role="row"]').nth(1).waitFor();
  await visit(page, address, "patches");
  await page.locator("tbody tr").first().waitFor({ timeout: 60_000 });
  await visit(page, address, "events");
  await page.locator("td", { hasText: "cycle:measured" }).first().waitFor({ timeout: 60_000 });
  await page.goto(`${address}/#/run`);
  await page.getByText("Stop reason:").waitFor({ timeout: 120_000 });
  await page.locator(".badge", { hasText: "finished" }).waitFor();
}

/** Sandboxes: create, terminal, files, stats, background processes, fork, stop, destroy. */
export async function sandboxes(page, address, violations) {
  await visit(page, address, "sandboxes");
  await page.getByRole("textbox", { name: "Name" }).fill("browser test");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Terminal: connected").waitFor();
  const terminal = page.locator(".terminal .xterm-helper-textarea");
  await terminal.focus();
  await page.keyboard.type("echo $((6 * 7)) > /workspace/answer.txt; cat /workspace/answer.txt\n");
  await page.locator(".xterm-rows", { hasText: /^[^]*\n?42/ }).or(page.locator(".xterm-rows").getByText("42", { exact: true })).first().waitFor();
  // xterm.js has its colours, although the content security policy forbids <style>.
  check((await page.evaluate(() => document.adoptedStyleSheets.some((sheet) => sheet.cssRules.length > 5))), "the terminal has no styles");
  await checkAccessibility(page, violations, "a terminal");
  await screenshot(page, "sandboxes");
  await page.getByRole("button", { name: "Files" }).click();
  await page.getByRole("button", { name: "answer.txt" }).click();
  await page.locator("pre.content", { hasText: "42" }).waitFor();
  await page.getByRole("button", { name: "Stats" }).click();
  await page.getByText("Processes and threads").waitFor();
  await page.locator("figure canvas").first().waitFor();
  await checkAccessibility(page, violations, "stats");
  await page.getByRole("button", { name: "Logs" }).click();
  await page.getByRole("textbox", { name: "Command" }).fill("echo from the background; sleep 1");
  await page.getByRole("button", { name: "Run in the background" }).click();
  await page.locator("pre.log", { hasText: "from the background" }).waitFor();
  await page.getByRole("button", { name: /^Fork / }).first().click();
  await page.waitForFunction(() => document.querySelectorAll("tbody button.bad").length === 2);
  await page.getByRole("button", { name: /^Stop / }).first().click();
  await page.locator("td", { hasText: "stopped" }).first().waitFor();
  for (let left = 2; left > 0; left -= 1) {
    await page.getByRole("button", { name: /^Destroy / }).first().click();
    await page.waitForFunction((left) => document.querySelectorAll("tbody button.bad").length < left, left);
  }
}

/** A server with API keys: the page asks for one, and everything works with it, including the terminal. */
export async function keyed(page, addressAndKey, violations) {
  const [address, key] = addressAndKey.split(" ");
  await page.goto(address);
  await page.getByRole("heading", { name: "API key required" }).waitFor();
  await checkAccessibility(page, violations, "the API key form");
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Use in this tab" }).click();
  await page.getByRole("link", { name: "Sandboxes" }).click();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Terminal: connected").waitFor();
  await page.getByRole("button", { name: /^Destroy / }).first().click();
  await page.getByText("No sandboxes.").waitFor();
}

/** Many rows: only visible ones are in the DOM, at every scroll position. script/bench dashboard measures the speed. */
export async function many(page, address) {
  await page.goto(`${address}/#/matrix`);
  const rows = page.locator('[role="row"]');
  await rows.nth(3).waitFor();
  const total = Number((await page.locator(".controls [role=status]").innerText()).replaceAll(",", "").match(/\d+/)[0]);
  check(total >= 1000, `only ${total} rows`);
  const checkRowCount = async (where) => {
    const rendered = await rows.count();
    check(rendered > 3 && rendered < 100, `${rendered} of ${total} rows are in the DOM ${where}`);
  };
  await checkRowCount("at the top");
  const first = await rows.nth(1).innerText();
  await page.locator("[role=grid]").evaluate((grid) => (grid.scrollTop = grid.scrollHeight / 2));
  await page.waitForFunction((first) => document.querySelectorAll('[role="row"]')[1]?.innerText !== first, first);
  await checkRowCount("in the middle");
  await page.getByRole("searchbox", { name: "Filter" }).fill("f123");
  await page.waitForFunction(() => document.querySelectorAll('[role="row"]').length > 1 && [...document.querySelectorAll('[role="row"] .name')].every((name) => name.textContent.includes("f123")));
}
