// Browser tests of the dashboard. usage: node all.mjs NAME=ADDRESS…, where NAME is a test of pages.mjs.
// SHOTS is a directory for screenshots.

import { check, launch, open, violations } from "./browser.mjs";
import * as tests from "./pages.mjs";

const browser = await launch();
let failed = 0;
for (const argument of process.argv.slice(2)) {
  const at = argument.indexOf("=");
  const [name, address] = [argument.slice(0, at), argument.slice(at + 1)];
  const began = Date.now();
  const { page, context, problems } = await open(browser, tests.options[name] ?? {});
  try {
    check(tests[name], `no test named ${name}`);
    await tests[name](page, address, violations);
    const unexpected = problems.filter((problem) => !tests.expected[name]?.test(problem));
    check(unexpected.length === 0, `unexpected console messages:\n  ${unexpected.join("\n  ")}`);
    console.log(`ok ${name} ${Date.now() - began} ms`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${name}: ${error.stack ?? error}\n  ${problems.join("\n  ")}`);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/failed-${name}.png` }).catch(() => {});
  }
  await context.close();
}
await browser.close();
process.exitCode = failed ? 1 : 0;
