// A session through vscode-jsonrpc, which sends [null] for null and answers null for handlers without result.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import rpc from "vscode-jsonrpc/node.js";

const SUMMARY = ["## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress", "### Blocked",
  "## Key Decisions", "## Next Steps", "## Critical Context"].map((heading) => `${heading}\n- point`).join("\n\n");

const home = mkdtempSync(join(tmpdir(), "compactd-habits-"));
const server = spawn(process.env.COMPACTD_BIN, [], { cwd: home, env: { HOME: home, PATH: "/usr/bin:/bin" } });
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
let hooks = 0;
let isPatient = false;
let cancelled;
const wasCancelled = new Promise((resolve) => { cancelled = resolve; });
connection.onRequest("sessionBeforeCompact", () => { hooks += 1; });
connection.onRequest("sessionBeforeTree", () => null);
connection.onRequest("summarize", (_params, token) => {
  if (!isPatient) return { text: SUMMARY, stopReason: "stop" };
  return new Promise(() => token.onCancellationRequested(cancelled));
});
const ends = [];
connection.onNotification("compactionEnd", (params) => ends.push(params));
connection.listen();

await connection.sendRequest("ping", null);
const { diagnostics } = await connection.sendRequest("initialize", {
  protocolVersion: 1, clientInfo: { name: "vscode-jsonrpc", version: null }, cwd: home, agentDir: home, settings: null,
  capabilities: { summarize: true, hooks: ["sessionBeforeCompact", "sessionBeforeTree"] },
});
assert.deepEqual(diagnostics, []);
await connection.sendRequest("listSessions");
await connection.sendRequest("listSessions", null);
const { sessionId } = await connection.sendRequest("createSession", undefined);
let first;
for (let turn = 0; turn < 8; turn += 1) {
  const message = { role: "user", content: `Turn ${turn}: ${"a wish and its reason. ".repeat(40)}`, timestamp: turn };
  const { entryId } = await connection.sendRequest("appendMessage", { sessionId, message, expectedLeafId: null });
  first ??= entryId;
}
const compact = { sessionId, summarizer: "host", settings: { keepRecentTokens: 300 }, customInstructions: null };
const done = await connection.sendRequest("compact", compact);
assert.equal(done.summarizer, "host");
assert.equal(hooks, 1);
await connection.sendRequest("navigateTree", { sessionId, targetId: first });
await connection.sendRequest("navigateTree", { sessionId, targetId: done.entryId });
await connection.sendRequest("appendMessage", { sessionId, message: { role: "user", content: "More. ".repeat(600) } });

isPatient = true;
const source = new rpc.CancellationTokenSource();
const running = connection.sendRequest("compact", compact, source.token);
setTimeout(() => source.cancel(), 300);
await assert.rejects(running, (error) => error.code === -32800);
await wasCancelled;
assert.equal(ends.length, 2);
assert.equal(ends[1].aborted, true);

assert.equal(await connection.sendRequest("shutdown", null), null);
await connection.sendNotification("exit", null);
const code = await new Promise((resolve) => { server.on("exit", resolve); });
assert.equal(code, 0);
connection.dispose();
rmSync(home, { recursive: true });
console.log("ok");
