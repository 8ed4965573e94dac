// The tests themselves, one for each thing that somebody does with the dashboard.

import { check } from "./browser.mjs";

/** What the browser is like in a test, if it is not like usual. */
export const options = {
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  dark: { colorScheme: "dark" },
};

/** What a browser says about requests that are refused on purpose. */
export const expected = { keyed: /status of 401/, loop: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET/ };

const PAGES = { run: "Run", matrix: "Matrix", patches: "Patches", metrics: "Metrics", modules: "Modules", sandboxes: "Sandboxes", events: "Events", settings: "Settings" };

async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
}

async function accessible(page, violations, where) {
  const found = await violations(page);
  check(found.length === 0, `${where}: axe says\n  ${found.join("\n  ")}`);
}

/** Nothing is asked any more, and what came is drawn. */
async function settled(page) {
  await page.waitForFunction(() => ![...document.querySelectorAll("main .dim")].some((one) => one.textContent === "…"));
  await page.waitForTimeout(400);
}

async function visit(page, address, name) {
  await page.goto(`${address}/#/${name}`);
  await page.getByRole("heading", { level: 1, name: PAGES[name] }).waitFor();
  await settled(page);
}

/** Every page of a data directory with a finished loop: no errors, usable by all. */
export async function pages(page, address, violations) {
  for (const name of Object.keys(PAGES)) {
    await visit(page, address, name);
    check((await page.title()) === `${PAGES[name]} · menace`, `the title of ${name} is ${await page.title()}`);
    await accessible(page, violations, name);
    await shot(page, name);
  }
}

/** A server that has nothing to show yet says so on every page. */
export async function empty(page, address, violations) {
  for (const name of Object.keys(PAGES)) {
    await visit(page, address, name);
    await accessible(page, violations, `${name}, empty`);
    const says = await page.locator("main").innerText();
    check(["sandboxes", "settings"].includes(name) || says.includes("Unavailable, because"), `${name} does not say why it is empty`);
  }
}

export async function dark(page, address, violations) {
  for (const name of ["run", "matrix", "patches", "metrics", "modules", "settings"]) {
    await visit(page, address, name);
    await accessible(page, violations, `${name}, dark`);
    if (name === "run") await shot(page, "run-dark");
  }
  // The switch counts more than the system.
  await page.getByRole("combobox", { name: "Colours" }).selectOption("light");
  check((await page.evaluate(() => document.documentElement.dataset.theme)) === "light", "the switch does nothing");
}

export async function phone(page, address, violations) {
  for (const name of Object.keys(PAGES)) {
    await visit(page, address, name);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(wide <= 0, `${name} is ${wide} pixels wider than a phone`);
    await accessible(page, violations, `${name}, phone`);
    if (name === "run") await shot(page, "phone");
  }
}

/** Sections by scenarios: filter, sort, the keyboard, and the way to a call. */
export async function matrix(page, address, violations) {
  await visit(page, address, "matrix");
  const rows = page.locator('[role="row"]');
  await rows.nth(1).waitFor();
  const status = page.locator(".controls [role=status]");
  const before = await status.innerText();
  const first = await rows.nth(1).locator(".name").innerText();
  await page.getByRole("searchbox", { name: "Filter" }).fill(first);
  await page.waitForFunction((before) => document.querySelector(".controls [role=status]")?.textContent !== before, before);
  check((await rows.nth(1).locator(".name").innerText()) === first, "the filter shows something else");
  await page.getByRole("searchbox", { name: "Filter" }).fill("");
  // The worst is first, and a click on the header turns that round.
  const worst = async () => (await rows.nth(1).locator(".figure").first().innerText()).trim();
  const least = await worst();
  await page.getByRole("button", { name: "worst" }).click();
  await page.waitForTimeout(150);
  check(parseFloat(await worst()) >= parseFloat(least), "sorting does nothing");
  await page.getByRole("button", { name: "worst" }).click();
  await page.waitForTimeout(150);
  // By the keyboard alone.
  await page.locator('[data-at="0:0"]').focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForTimeout(100);
  check((await page.evaluate(() => document.activeElement?.getAttribute("data-at"))) === "1:0", "arrows do not move");
  await page.keyboard.press("ArrowUp");
  await page.waitForTimeout(100);
  await page.keyboard.press("Enter");
  await page.locator("#detail h2").waitFor();
  const show = page.getByRole("button", { name: "Show this call" }).first();
  await show.waitFor();
  await show.click();
  await page.getByText("What came of it").waitFor();
  await page.locator("code", { hasText: "menace replay c_" }).first().waitFor();
  await settled(page);
  await accessible(page, violations, "a call");
  await page.locator("#detail").scrollIntoViewIfNeeded();
  await shot(page, "call");
}

/** A patch with its eight conditions; taken back with a reason, and kept again. */
export async function patches(page, address, violations) {
  await visit(page, address, "patches");
  await page.getByRole("combobox", { name: "State" }).selectOption("kept");
  await page.locator("tbody button.plain").first().click();
  await page.getByRole("heading", { name: "Conditions" }).waitFor();
  await page.locator("pre.diff").waitFor();
  const holding = await page.locator("td.good", { hasText: "holds" }).count();
  check(holding === 8, `${holding} of eight conditions hold`);
  await accessible(page, violations, "a patch");
  await shot(page, "patches");
  const decide = async (button, said) => {
    await page.getByRole("textbox", { name: "Reason" }).fill("looked at it <b>again</b>");
    await page.getByRole("button", { name: button }).click();
    await page.getByText(said).waitFor();
  };
  await decide("Take it back", "It counts as taken back.");
  await page.locator("code", { hasText: "git revert" }).waitFor();
  await decide("Keep it again", "It counts as kept.");
  check((await page.locator("li b").count()) === 0, "a reason became part of the page");
}

/** Function names, inputs and messages that want to become part of the page stay text. */
export async function hostile(page, address, violations) {
  await page.addInitScript(() => {
    globalThis.alert = () => (globalThis.wasHit = true);
  });
  for (const name of ["run", "matrix", "patches", "metrics", "modules", "events", "settings"]) {
    await visit(page, address, name);
    check(!(await page.evaluate(() => globalThis.wasHit)), `${name} ran what it showed`);
    check((await page.locator("main img, main script, main iframe, main svg").count()) === 0, `${name} made elements of what it showed`);
  }
  await visit(page, address, "matrix");
  await page.getByRole("searchbox", { name: "Filter" }).fill("evil");
  await page.locator('[role="row"] .name').first().click();
  await page.getByRole("button", { name: "Show this call" }).first().click();
  await page.getByText("What came of it").waitFor();
  await page.getByText("<img src=x onerror=").first().waitFor();
  check(!(await page.evaluate(() => globalThis.wasHit)), "a message was run");
  check((await page.locator("main img").count()) === 0, "a message became an element");
  await accessible(page, violations, "hostile text");
}

/** What happens while somebody looks is seen at once; stdin says when it happened. */
export async function live(page, address) {
  await visit(page, address, "events");
  await page.getByText("live", { exact: true }).waitFor();
  console.log("listening");
  await page.getByText("seen in a browser").first().waitFor();
  const took = await page.evaluate(() => Date.now()) - Number((await page.getByText(/seen in a browser \d+/).first().innerText()).match(/browser (\d+)/)[1]);
  console.log(`seen after ${took} ms`);
  check(took <= 500, `it took ${took} ms`);
}

/** What a service says is there as it is said, and is text; somebody outside adds the second line. */
export async function logs(page, address, violations) {
  await visit(page, address, "events");
  await page.getByRole("combobox", { name: "Log" }).selectOption("loop");
  const box = page.getByRole("region", { name: "The log loop" });
  await box.getByText("first <img src=x").waitFor();
  console.log("listening");
  await box.getByText("second line").waitFor();
  await page.getByRole("searchbox", { name: "Words" }).fill("second");
  await page.getByText("1 of 2 lines").waitFor();
  check((await box.locator("img").count()) === 0, "a line became an element");
  await accessible(page, violations, "logs");
}

/** A loop while it runs: what it does, how far it is, what it finds, and how it ends. Its dashboard ends with it. */
export async function loop(page, address, violations) {
  await visit(page, address, "run");
  await page.locator(".badge", { hasText: "running" }).waitFor();
  // More calls than there were, without anybody touching the page.
  const isMore = (than) => Number(document.querySelector(".card dd")?.textContent?.replaceAll(",", "").match(/\d+/)?.[0] ?? 0) > than;
  await page.getByText("measuring").waitFor({ timeout: 60_000 });
  await page.waitForFunction(isMore, 0, { timeout: 60_000 });
  const made = Number((await page.locator(".card dd").first().innerText()).replaceAll(",", "").match(/\d+/)[0]);
  await accessible(page, violations, "a run that goes on");
  await shot(page, "live");
  await page.waitForFunction(isMore, made, { timeout: 60_000 });
  await page.getByText("proving").waitFor({ timeout: 60_000 });
  await visit(page, address, "matrix");
  await page.locator('[role="row"]').nth(1).waitFor();
  await visit(page, address, "patches");
  await page.locator("tbody tr").first().waitFor({ timeout: 60_000 });
  await visit(page, address, "events");
  await page.locator("td", { hasText: "cycle:measured" }).first().waitFor({ timeout: 60_000 });
  await page.goto(`${address}/#/run`);
  await page.getByText("Why it stopped:").waitFor({ timeout: 120_000 });
  await page.locator(".badge", { hasText: "finished" }).waitFor();
}

/** Sandboxes: made, typed into, looked into, measured, copied, stopped, destroyed. */
export async function sandboxes(page, address, violations) {
  await visit(page, address, "sandboxes");
  await page.getByRole("textbox", { name: "Name" }).fill("by hand");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Terminal: connected").waitFor();
  const terminal = page.locator(".terminal .xterm-helper-textarea");
  await terminal.focus();
  await page.keyboard.type("echo $((6 * 7)) > /workspace/answer.txt; cat /workspace/answer.txt\n");
  await page.locator(".xterm-rows", { hasText: /^[^]*\n?42/ }).or(page.locator(".xterm-rows").getByText("42", { exact: true })).first().waitFor();
  // The colours of xterm.js are there, although the policy forbids <style>.
  check((await page.evaluate(() => document.adoptedStyleSheets.some((sheet) => sheet.cssRules.length > 5))), "the terminal has no styles");
  await accessible(page, violations, "a terminal");
  await shot(page, "sandboxes");
  await page.getByRole("button", { name: "Files" }).click();
  await page.getByRole("button", { name: "answer.txt" }).click();
  await page.locator("pre.content", { hasText: "42" }).waitFor();
  await page.getByRole("button", { name: "Stats" }).click();
  await page.getByText("Processes and threads").waitFor();
  await page.locator("figure canvas").first().waitFor();
  await accessible(page, violations, "stats");
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

/** A server with keys: the page asks for one, and everything works with it, the terminal too. */
export async function keyed(page, both, violations) {
  const [address, key] = both.split(" ");
  await page.goto(address);
  await page.getByRole("heading", { name: "A key is needed" }).waitFor();
  await accessible(page, violations, "the question for a key");
  await page.getByLabel("Key").fill(key);
  await page.getByRole("button", { name: "Use it in this tab" }).click();
  await page.getByRole("link", { name: "Sandboxes" }).click();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Terminal: connected").waitFor();
  await page.getByRole("button", { name: /^Destroy / }).first().click();
  await page.getByText("There is none.").waitFor();
}

/** Many rows: only those that can be seen are in the page, wherever one is. How fast that is, script/bench dashboard measures. */
export async function many(page, address) {
  await page.goto(`${address}/#/matrix`);
  const rows = page.locator('[role="row"]');
  await rows.nth(3).waitFor();
  const total = Number((await page.locator(".controls [role=status]").innerText()).replaceAll(",", "").match(/\d+/)[0]);
  check(total >= 1000, `${total} rows are not many`);
  const few = async (where) => {
    const there = await rows.count();
    check(there > 3 && there < 100, `${there} of ${total} rows are in the page ${where}`);
  };
  await few("at first");
  const first = await rows.nth(1).innerText();
  await page.locator("[role=grid]").evaluate((grid) => (grid.scrollTop = grid.scrollHeight / 2));
  await page.waitForFunction((first) => document.querySelectorAll('[role="row"]')[1]?.innerText !== first, first);
  await few("in the middle");
  await page.getByRole("searchbox", { name: "Filter" }).fill("f123");
  await page.waitForFunction(() => document.querySelectorAll('[role="row"]').length > 1 && [...document.querySelectorAll('[role="row"] .name')].every((name) => name.textContent.includes("f123")));
}
