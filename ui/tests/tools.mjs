// Tests the MCP tools of menace with the official client of the Model Context Protocol.
// usage: node tools.mjs MENACE DIRECTORY ADDRESS; MENACE and DIRECTORY are for the stdio transport, ADDRESS is for HTTP.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";

const [menace, directory, address] = process.argv.slice(2);

async function testTools(transport) {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, "menace");
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  for (const name of ["create_sandbox", "execute", "read_file", "write_file", "snapshot_sandbox", "destroy_sandbox", "run_scenarios"]) {
    assert.ok(names.includes(name), `${name} is missing from ${names}`);
  }
  const call = async (name, parameters) => {
    const result = await client.callTool({ name, arguments: parameters });
    assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
    return result.content.map((part) => part.text).join("");
  };
  const created = await call("create_sandbox", { project_name: "client" });
  const sandbox_id = created.match(/sb-[0-9a-f]+/)[0];
  await call("write_file", { sandbox_id, path: "/workspace/a.py", content: "print(6 * 7)\n" });
  assert.match(await call("execute", { sandbox_id, command: ["python3", "/workspace/a.py"] }), /42/);
  assert.equal(await call("read_file", { sandbox_id, path: "/workspace/a.py" }), "print(6 * 7)\n");
  await call("destroy_sandbox", { sandbox_id });
  const result = await client.callTool({ name: "execute", arguments: { sandbox_id, command: ["true"] } });
  assert.ok(result.isError, "a destroyed sandbox is a tool error, not a protocol error");
  await client.close();
}

await testTools(new StdioClientTransport({ command: menace, args: ["mcp", "--data-dir", directory] }));
await testTools(new StreamableHTTPClientTransport(new URL(`http://${address}/mcp`)));
console.log("as it should be");
