// Measures the dashboard in a browser. usage: node look.mjs KIND ADDRESS; prints JSON.

import { launch, open } from "../../ui/tests/browser.mjs";

const LOADS = 5;
// Shortest duration of events that the browser reports.
const SHORTEST_MS = 16;

const browser = await launch();

/** Records the first paint, and the latency of each key press and click until the next paint. */
function watching(shortest) {
  globalThis.seen = { paint: null, events: [] };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.name === "first-contentful-paint") globalThis.seen.paint = entry.startTime;
  }).observe({ type: "paint", buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) globalThis.seen.events.push({ name: entry.name, ms: entry.duration });
  }).observe({ type: "event", durationThreshold: shortest, buffered: true });
}

async function opened() {
  const { page, context, problems } = await open(browser);
  await page.addInitScript(watching, SHORTEST_MS);
  return { page, context, problems };
}

/** Loads a page several times with an empty cache. Measures the first paint, and the time until its content is visible. */
async function loads(path, isThere) {
  const times = [];
  for (let count = 0; count < LOADS; count += 1) {
    const { page, context, problems } = await opened();
    await page.goto(path);
    await page.waitForFunction(isThere, undefined, { polling: "raf" });
    const seen = await page.evaluate(() => performance.now());
    const paint = await page.evaluate(() => globalThis.seen.paint);
    if (problems.length || paint === null) throw new Error(problems.join("\n") || "no paint was reported");
    times.push({ first_paint_ms: paint, seen_ms: seen });
    await context.close();
  }
  return times;
}

/** Slowest event latency and slowest frame during user actions. */
async function slowest(page, hands) {
  await page.evaluate(() => {
    const seen = globalThis.seen;
    [seen.events, seen.frame, seen.last, seen.isOver] = [[], 0, performance.now(), false];
    const frame = () => {
      const now = performance.now();
      [seen.frame, seen.last] = [Math.max(seen.frame, now - seen.last), now];
      if (!seen.isOver) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  await hands();
  // The browser reports slow events with a delay.
  await page.waitForTimeout(300);
  const { events, frame } = await page.evaluate(() => {
    globalThis.seen.isOver = true;
    return globalThis.seen;
  });
  // Unreported events were faster than the threshold, or are mouse moves.
  const [worst] = events.sort((a, b) => b.ms - a.ms);
  return { reported: events.length, slowest: worst?.name ?? null, slowest_event_ms: worst?.ms ?? 0, slowest_frame_ms: frame };
}

async function typed(page, text) {
  await page.getByRole("searchbox", { name: "Filter" }).focus();
  for (const key of text) await page.keyboard.press(key);
  for (const _ of text) await page.keyboard.press("Backspace");
}

async function matrix(address) {
  const path = `${address}/#/matrix`;
  const times = await loads(path, () => document.querySelectorAll('[role="row"]').length > 3);
  const { page } = await opened();
  await page.goto(path);
  await page.locator('[role="row"]').nth(3).waitFor();
  const hands = {
    filter: await slowest(page, () => typed(page, "module_12")),
    sort: await slowest(page, async () => {
      for (const name of ["worst", "worst"]) await page.getByRole("button", { name }).click();
    }),
    arrows: await slowest(page, async () => {
      await page.locator('[data-at="0:0"]').focus();
      for (let step = 0; step < 30; step += 1) await page.keyboard.press(step % 3 ? "ArrowDown" : "ArrowRight");
    }),
    cell: await slowest(page, async () => {
      await page.locator('[role="row"]').nth(1).locator("[data-at]").nth(1).click();
      await page.locator("#detail h2").waitFor();
    }),
    scroll: await slowest(page, async () => {
      const box = await page.locator("[role=grid]").boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      for (let step = 0; step < 40; step += 1) await page.mouse.wheel(0, 900);
    }),
  };
  return { loads: times, hands };
}

async function modules(address) {
  const path = `${address}/#/modules`;
  // The graph is drawn if the canvas has several colours.
  const isDrawn = () => {
    const canvas = document.querySelector("main canvas");
    if (!canvas || canvas.width < 10) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4 * 97) colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return colours.size > 8;
  };
  const times = await loads(path, isDrawn);
  const { page } = await opened();
  await page.goto(path);
  await page.waitForFunction(isDrawn, undefined, { polling: "raf" });
  const count = await page.evaluate(async () => (await (await fetch("/api/dashboard/modules")).json()).modules.length);
  const box = await page.locator("main canvas").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const hands = {
    filter: await slowest(page, () => typed(page, "module_12")),
    choose: await slowest(page, async () => {
      for (const button of [3, 9, 27]) await page.locator("tbody button.plain").nth(button).click();
    }),
    drag: await slowest(page, async () => {
      await page.mouse.move(x, y);
      await page.mouse.down();
      for (let step = 0; step < 20; step += 1) await page.mouse.move(x + 8 * step, y + 4 * step);
      await page.mouse.up();
    }),
    zoom: await slowest(page, async () => {
      await page.mouse.move(x, y);
      for (let step = 0; step < 10; step += 1) await page.mouse.wheel(0, step % 2 ? 120 : -240);
    }),
  };
  return { modules: count, loads: times, hands };
}

/** Delay between each event of a run and its appearance on the page, until the run ends. */
async function live(address) {
  const { page } = await opened();
  await page.goto(`${address}/#/events`);
  await page.getByText("live").first().waitFor();
  await page.evaluate(() => {
    globalThis.late = [];
    const known = new Set([...document.querySelectorAll("[data-event]")].map((row) => row.dataset.event));
    const look = () => {
      for (const row of document.querySelectorAll("[data-event]")) {
        if (known.has(row.dataset.event)) continue;
        known.add(row.dataset.event);
        globalThis.late.push({ kind: row.children[1].textContent, ms: Date.now() - Number(row.dataset.at) });
      }
      requestAnimationFrame(look);
    };
    look();
  });
  await page.locator("td", { hasText: "run:stopped" }).first().waitFor({ timeout: 600_000 });
  return page.evaluate(() => globalThis.late);
}

/** Number of requests of the page of a run within a number of seconds, by path. */
async function asked(address) {
  const [where, seconds] = address.split(" ");
  const { page } = await opened();
  const counts = {};
  page.on("request", (request) => {
    const path = new URL(request.url()).pathname.replace(/r_[0-9a-z]+/, "RUN");
    if (path.startsWith("/api/")) counts[path] = (counts[path] ?? 0) + 1;
  });
  await page.goto(`${where}/#/run`);
  await page.waitForTimeout(Number(seconds) * 1000);
  return counts;
}

const [kind, address] = process.argv.slice(2);
try {
  console.log(JSON.stringify(await { matrix, modules, live, asked }[kind](address)));
} finally {
  await browser.close();
}
