// The tools of menace as a program of a model uses them, by the official client of the Model Context Protocol.
// usage: node tools.mjs MENACE DIRECTORY ADDRESS; the first two for stdin and stdout, the last for HTTP.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";

const [menace, directory, address] = process.argv.slice(2);

async function use(transport) {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, "menace");
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  for (const name of ["create_sandbox", "execute", "read_file", "write_file", "snapshot_sandbox", "destroy_sandbox", "run_scenarios"]) {
    assert.ok(names.includes(name), `${name} is not among ${names}`);
  }
  const call = async (name, given) => {
    const answer = await client.callTool({ name, arguments: given });
    assert.ok(!answer.isError, `${name}: ${JSON.stringify(answer.content)}`);
    return answer.content.map((part) => part.text).join("");
  };
  const made = await call("create_sandbox", { project_name: "client" });
  const sandbox_id = made.match(/sb-[0-9a-f]+/)[0];
  await call("write_file", { sandbox_id, path: "/workspace/a.py", content: "print(6 * 7)\n" });
  assert.match(await call("execute", { sandbox_id, command: ["python3", "/workspace/a.py"] }), /42/);
  assert.equal(await call("read_file", { sandbox_id, path: "/workspace/a.py" }), "print(6 * 7)\n");
  await call("destroy_sandbox", { sandbox_id });
  const gone = await client.callTool({ name: "execute", arguments: { sandbox_id, command: ["true"] } });
  assert.ok(gone.isError, "a sandbox that is gone is an error of the tool, not of the protocol");
  await client.close();
}

await use(new StdioClientTransport({ command: menace, args: ["mcp", "--data-dir", directory] }));
await use(new StreamableHTTPClientTransport(new URL(`http://${address}/mcp`)));
console.log("as it should be");
