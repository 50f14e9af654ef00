// Drives pi in its mode `rpc` with the extension, and with a scripted model behind a server on this machine. Prints
// what happens. Arguments: the script of pi, and the extension.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const [script, extension] = process.argv.slice(2).map((path) => resolve(path));
const WINDOW = 12_000;
const place = mkdtempSync(join(tmpdir(), "compactd-pi-test-"));
const agentDir = join(place, "agent");

// The model: it answers every request with a long text, and counts what it is sent as a quarter of the bytes.
const requests = [];
const model = createServer(async (request, response) => {
  const body = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString());
  const input = Math.round(JSON.stringify(body.messages).length / 4);
  requests.push({ input, text: JSON.stringify(body.messages) });
  if (input > WINDOW) return response.writeHead(400).end(JSON.stringify({ error: { message: `context length ${WINDOW} exceeded` } }));
  const number = body.messages.filter(({ role }) => role === "user").at(-1)?.content;
  const told = JSON.stringify(number).match(/Step (\d+)/)?.[1] ?? "?";
  const content = `I checked part ${told}. ${`The function total${told} in src/part${told}.ts adds the prices. `.repeat(12)}`;
  const base = { id: "1", object: "chat.completion.chunk", created: 1, model: "scripted" };
  const usage = { prompt_tokens: input, completion_tokens: 200, total_tokens: input + 200 };
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of [
    { ...base, choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] },
    { ...base, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { ...base, choices: [], usage },
  ]) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.end("data: [DONE]\n\n");
});
await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));

mkdirSync(agentDir);
const baseUrl = `http://127.0.0.1:${model.address().port}/v1`;
const models = [{ id: "scripted", contextWindow: WINDOW, maxTokens: 1000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }];
writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { local: { baseUrl, api: "openai-completions", apiKey: "none", models } } }));
writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ compaction: { reserveTokens: 4000, keepRecentTokens: 1500 } }));
// A command of pi that goes to another place in the tree, which the mode itself has none for.
const helper = join(place, "helper.mjs");
writeFileSync(
  helper,
  `export default (pi) => pi.registerCommand("goto", {
    description: "Goes to an entry with a summary of what is left",
    handler: async (id, context) => void (await context.navigateTree(id.trim(), { summarize: true })),
  });`,
);

class Pi {
  #waiting = [];
  #events = [];

  constructor(variables = {}) {
    const options = ["--mode", "rpc", "--provider", "local", "--model", "scripted", "--no-tools", "--extension", extension, "--extension", helper];
    const env = { ...process.env, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1", PI_TELEMETRY: "0", TMPDIR: join(place, "tmp"), ...variables };
    mkdirSync(env.TMPDIR, { recursive: true });
    this.process = spawn(process.execPath, [script, ...options], { cwd: place, env, stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.process.stdout }).on("line", (line) => this.#receive(JSON.parse(line)));
    this.ended = new Promise((resolve) => this.process.on("close", resolve));
  }

  #receive(event) {
    this.#events.push(event);
    for (const one of [...this.#waiting]) if (one.matches(event)) one.resolve(event);
  }

  /** Waits for an event that comes after now. */
  event(matches) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no such event; the last ones: ${JSON.stringify(this.#events.slice(-5))}`)), 30_000);
      const one = { matches, resolve: (event) => (clearTimeout(timer), (this.#waiting = this.#waiting.filter((other) => other !== one)), resolve(event)) };
      this.#waiting.push(one);
    });
  }

  async request(command) {
    const id = String(Math.random());
    const answered = this.event((event) => event.type === "response" && event.id === id);
    this.process.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
    const response = await answered;
    assert.ok(response.success, JSON.stringify(response));
    return response.data;
  }

  async prompt(message) {
    const settled = this.event(({ type }) => type === "agent_settled");
    await this.request({ type: "prompt", message });
    await settled;
  }

  async end() {
    this.process.stdin.end();
    await Promise.race([this.ended, new Promise((resolve) => setTimeout(resolve, 5000))]);
    this.process.kill();
  }
}

let pi = new Pi();
try {
  for (let step = 1; step <= 100; step++) await pi.prompt(`Step ${step}: check src/part${step}.ts. Never change the public API.`);
  const { entries } = await pi.request({ type: "get_entries" });
  const compactions = entries.filter(({ type }) => type === "compaction");
  const largest = Math.max(...requests.map(({ input }) => input));
  console.log(`100 turns, ${requests.length} requests; the largest had ${largest} of ${WINDOW} tokens; ${compactions.length} compactions`);
  assert.equal(requests.length, 100, "no request was refused, and none was for a summary");
  assert.ok(compactions.length >= 3 && largest <= WINDOW);
  for (const { fromHook, summary, details, firstKeptEntryId } of compactions) {
    assert.ok(fromHook && summary.startsWith("## Goal") && details.compactd !== undefined, "compactd wrote the summary");
    assert.ok(entries.some(({ id }) => id === firstKeptEntryId), "what is kept is an entry of the session");
  }
  assert.ok(requests.at(-1).text.includes("Never change the public API."), "the model sees the summary");
  assert.match(requests.at(-1).text, /## Goal/);

  const manual = await pi.request({ type: "compact", customInstructions: "keep the names of the functions" });
  console.log(`by hand: ${manual.tokensBefore} tokens before; the summary begins:\n${manual.summary.split("\n").slice(0, 4).join("\n")}`);

  const first = entries.find(({ type, message }) => type === "message" && message.role === "assistant");
  const before = requests.length;
  await pi.request({ type: "prompt", message: `/goto ${first.id}` });
  const after = (await pi.request({ type: "get_entries" })).entries;
  const left = after.find(({ type }) => type === "branch_summary");
  console.log(`back at ${first.id}; the summary of what was left has ${left.summary.length} characters`);
  assert.ok(left.fromHook && left.parentId === first.id && requests.length === before, "compactd wrote it, and no model was asked");
  await pi.prompt("Step 101: go on from here.");
  assert.match(requests.at(-1).text, /Step 101/);

  // The file is as pi alone would have written it: every line is an entry of pi's, and nothing else was left behind.
  const { sessionFile } = await pi.request({ type: "get_state" });
  const lines = readFileSync(sessionFile, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  const known = (await pi.request({ type: "get_entries" })).entries.map(({ id }) => id);
  assert.deepEqual(lines.slice(1).map(({ id }) => id), known);
  assert.ok(!lines.some(({ id, customType }) => id === "compactd" || customType?.startsWith("compactd")));
  const copies = readdirSync(join(place, "tmp")).filter((name) => name.startsWith("compactd-pi-"));
  assert.deepEqual(copies, [], "copies are deleted");

  // Without compactd, pi summarises by itself, and says why.
  await pi.end();
  pi = new Pi({ COMPACTD_BIN: join(place, "no-such-program") });
  for (let step = 1; step <= 12; step++) await pi.prompt(`Step ${step}: check src/part${step}.ts.`);
  const asked = requests.length;
  const notified = pi.event(({ type, method }) => type === "extension_ui_request" && method === "notify");
  await pi.request({ type: "compact" });
  const { message } = await notified;
  console.log(`without the program: ${message}`);
  assert.match(message, /^compactd: .*no-such-program.*; pi summarises by itself$/);
  assert.ok(requests.length > asked, "pi asked its model for the summary");
  console.log("pi: 1 passed, 0 failed");
} finally {
  await pi.end();
  model.close();
  rmSync(place, { recursive: true, force: true });
}
