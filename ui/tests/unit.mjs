// Unit tests of functions that need no browser. usage: node --test unit.mjs

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { runnerImport } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const { module: format } = await runnerImport("./src/lib/format.ts", { root, configFile: false, logLevel: "error" });

test("counts have the right plural", () => {
  const cases = [
    [0, "call", "0 calls"],
    [1, "sandbox", "1 sandbox"],
    [2, "sandbox", "2 sandboxes"],
    [1204, "patch", "1,204 patches"],
    [3, "entry", "3 entries"],
    [3, "key", "3 keys"],
    [2, "matrix", "2 matrices"],
    [2, "security finding", "2 security findings"],
    [2, "static analysis", "2 static analyses"],
    [null, "flow", "– flows"],
  ];
  for (const [value, noun, expected] of cases) assert.equal(format.count(value, noun), expected);
});

test("values that were not measured are a dash", () => {
  for (const name of ["fixed", "signed", "grouped", "percent", "seconds", "milliseconds", "bytes", "time"]) assert.equal(format[name](null), format.NONE, name);
});
