// pi and compactd take turns on one session file for 100 rounds. After every turn both give the same leaf and the same context,
// and every byte that was in the file is still there. Arguments: the script of pi, the extension, and the client of compactd.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Pi, place, run, temporary } from "./support.mjs";

const ROUNDS = 100;
/** pi starts anew after this many rounds; in between it opens the file again. */
const ROUNDS_OF_A_PROCESS = 20;
const { Client } = await import(pathToFileURL(join(dirname(resolve(process.argv[3])), "index.js")));
const path = join(place, "session.jsonl");
const counts = {};
const count = (what) => (counts[what] = (counts[what] ?? 0) + 1);

/** Checks after every turn that the file is what it was, and what was appended. */
let bytes = Buffer.alloc(0);
function grown() {
  const now = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  assert.ok(now.subarray(0, bytes.length).equals(bytes), "a byte that was in the file has changed");
  assert.ok(now.length === 0 || now.at(-1) === 10, "the file ends with a whole line");
  for (const line of now.subarray(bytes.length).toString().split("\n").slice(0, -1)) count(JSON.parse(line).type);
  bytes = now;
}

let pi = new Pi({ options: ["--session", path] });
const client = new Client({ stderr: "ignore" });
await client.initialize({ clientInfo: { name: "alternating" }, agentDir: join(place, "other"), cwd: place });

/** What pi says of the session, and the same of compactd. */
async function ofPi() {
  const { entries, leafId } = await pi.request({ type: "get_entries" });
  return { leafId, count: entries.length, messages: (await pi.request({ type: "get_messages" })).messages };
}

async function ofCompactd(sessionId) {
  const { messages, leafId, diagnostics = [] } = await client.request("getContext", { sessionId, format: "agent" });
  assert.deepEqual(diagnostics, []);
  const { nodes } = await client.request("getTree", { sessionId });
  return { leafId, count: nodes.length, messages };
}

async function turnOfPi(round) {
  await pi.prompt(`Step ${round}: check src/part${round}.ts. Never change the public API.`);
  if (round % 9 === 4) await pi.request({ type: "compact" }).catch(refused);
  if (round % 11 === 6) await pi.request({ type: "prompt", message: `/goto ${await earlier()}` });
  if (round % 13 === 7) await pi.request({ type: "prompt", message: `/jump ${await earlier()}` });
  if (round % 13 === 7) await pi.prompt(`Step ${round}: go on from here.`);
  if (round % 17 === 8) await pi.request({ type: "set_session_name", name: `round ${round}` });
}

/** pi has nothing to compact right after a compaction. */
function refused(error) {
  assert.match(error.message, /Nothing to compact|Already compacted/);
  count("refused by pi");
}

async function turnOfCompactd(sessionId, round) {
  const timestamp = Date.now();
  const append = (message) => client.request("appendMessage", { sessionId, message: { timestamp, ...message } });
  const answer = { api: "openai-completions", provider: "local", model: "scripted", usage: usage(0) };
  await append({ role: "user", content: `Part ${round} by another program: read src/part${round}.ts.` });
  const call = { type: "toolCall", id: `call${round}`, name: "read", arguments: { path: `src/part${round}.ts` } };
  await append({ role: "assistant", content: [call], stopReason: "toolUse", ...answer });
  const content = [{ type: "text", text: `export const part${round} = ${round}; // ü 漢 \u2028\n`.repeat(20) }];
  await append({ role: "toolResult", toolCallId: `call${round}`, toolName: "read", content, isError: false });
  await append({ role: "assistant", content: [{ type: "text", text: `Part ${round} is read.` }], stopReason: "stop", ...answer });
  if (round % 5 === 2) await client.request("compact", { sessionId, settings: { keepRecentTokens: 400 } });
  if (round % 7 === 3) await client.request("navigateTree", { sessionId, targetId: await earlierEntry(sessionId) });
  if (round % 14 === 5) await client.request("navigateTree", { sessionId, targetId: await earlierEntry(sessionId), summarize: true });
  if (round % 10 === 2) await client.request("undoCompaction", { sessionId });
  if (round % 19 === 9) await client.request("setLabel", { sessionId, targetId: await earlierEntry(sessionId), label: `label ${round}` });
}

const usage = (tokens) => ({ input: tokens, output: tokens, cacheRead: 0, cacheWrite: 0, totalTokens: 2 * tokens, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } });

/** An answer a few turns before the leaf. */
const answerBefore = (branch) => branch.filter(({ type, message }) => type === "message" && message.role === "assistant" && message.stopReason === "stop").at(-3).id;

async function earlierEntry(sessionId) {
  return answerBefore((await client.request("getBranch", { sessionId })).entries);
}

async function earlier() {
  const { entries, leafId } = await pi.request({ type: "get_entries" });
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const branch = [];
  for (let id = leafId; id !== null; id = known.get(id).parentId) branch.unshift(known.get(id));
  return answerBefore(branch);
}

await run(async () => {
  for (let round = 1; round <= ROUNDS; round++) {
    await turnOfPi(round);
    grown();
    const left = await ofPi();

    const { sessionId, diagnostics } = await client.request("openSession", { path });
    assert.deepEqual(diagnostics, []);
    assert.deepEqual(await ofCompactd(sessionId), left, `round ${round}: compactd opens what pi has`);
    await turnOfCompactd(sessionId, round);
    const right = await ofCompactd(sessionId);
    await client.request("closeSession", { sessionId });
    grown();

    if (round % ROUNDS_OF_A_PROCESS === 0) {
      await pi.end();
      pi = new Pi({ options: ["--session", path] });
    } else {
      await pi.request({ type: "switch_session", sessionPath: path });
    }
    assert.deepEqual(await ofPi(), right, `round ${round}: pi opens what compactd has`);
    grown();
  }
  const told = Object.entries(counts).map(([what, number]) => `${number} ${what}`);
  console.log(`${ROUNDS} rounds of pi and compactd on one file of ${bytes.length} bytes: ${told.join(", ")}`);
  assert.ok(counts.compaction >= 25 && counts.branch_summary >= 10 && counts.message > 600);
  const check = await client.request("checkSession", { path });
  assert.deepEqual(check.diagnostics, []);
  console.log("alternating: 1 passed, 0 failed");
}, () => Promise.all([pi.end(), client.shutdown()]));
