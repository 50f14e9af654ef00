// Drives the Gateway of OpenClaw with the plugin, and with a scripted model behind a server on this machine. Prints what happens.
// Arguments: the script openclaw.mjs, and the directory of the package compactd-client.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SUMMARIZED, longAnswer, scriptedModel } from "../../scripted-model.mjs";

const [script, plugin] = process.argv.slice(2).map((path) => resolve(path));
const TURNS = 40;
const WINDOW = 36_000;
const place = mkdtempSync(join(tmpdir(), "compactd-openclaw-test-"));
const home = join(place, "home");

const model = await scriptedModel(1000, (messages) => {
  // OpenClaw sends more than one message of the person.
  const latest = messages.slice(messages.findLastIndex(({ role }) => role === "assistant" || role === "tool") + 1);
  const said = JSON.stringify(latest.filter(({ role }) => role === "user"));
  const text = longAnswer(said.match(/Step (\d+)/)?.[1] ?? "?", 60);
  return { said, text, query: said.match(/Recall: ([\w ]+)/)?.[1] };
});
const { requests, forSummaries } = model;

const free = createServer();
const port = await new Promise((resolve) => free.listen(0, "127.0.0.1", () => resolve(free.address().port)));
await new Promise((resolve) => free.close(resolve));
mkdirSync(join(home, ".openclaw"), { recursive: true });
const scripted = { id: "scripted", name: "scripted", input: ["text"], contextWindow: WINDOW, maxTokens: 2000, reasoning: false };
const config = {
  gateway: { mode: "local", port, bind: "loopback", auth: { mode: "none" }, http: { endpoints: { chatCompletions: { enabled: true } } } },
  agents: { defaults: { model: { primary: "local/scripted" }, skipBootstrap: true, workspace: join(place, "workspace") } },
  models: { providers: { local: { baseUrl: model.url, apiKey: "none", api: "openai-completions", models: [scripted] } } },
  tools: { toolSearch: false },
  plugins: {
    load: { paths: [plugin] },
    allow: ["compactd"],
    slots: { contextEngine: "compactd" },
    entries: { compactd: { enabled: true, config: { compaction: { reserveTokens: 12_000, keepRecentTokens: 4_000 } } } },
  },
};
writeFileSync(join(home, ".openclaw/openclaw.json"), JSON.stringify(config));

/** A Gateway. */
class Gateway {
  log = "";

  static async start(variables = {}) {
    const one = new Gateway();
    const env = { ...process.env, HOME: home, OPENCLAW_DISABLE_TELEMETRY: "1", ...variables };
    one.process = spawn(process.execPath, [script, "gateway", "run"], { cwd: place, env, stdio: ["ignore", "pipe", "pipe"] });
    one.ended = new Promise((resolve) => one.process.on("close", resolve));
    for (const stream of [one.process.stdout, one.process.stderr]) stream.setEncoding("utf8").on("data", (text) => (one.log += text));
    const deadline = Date.now() + 120_000;
    while (!(await fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok, () => false))) {
      assert.ok(Date.now() < deadline && one.process.exitCode === null, `the Gateway does not start: ${one.log}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return one;
  }

  async prompt(content, session = "agent:main:compactd") {
    const headers = { "content-type": "application/json", "x-openclaw-session-key": session };
    const body = JSON.stringify({ model: "openclaw", messages: [{ role: "user", content }] });
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: "POST", headers, body, signal: AbortSignal.timeout(120_000) });
    const text = await response.text();
    assert.ok(response.ok, `${response.status} ${text}\n${this.log.slice(-3000)}`);
    return JSON.parse(text).choices[0].message.content;
  }

  async end() {
    this.process.kill();
    await this.ended;
  }
}

const sessions = () => join(home, ".openclaw/agents/main/agent/compactd");
const { Client } = await import(pathToFileURL(join(plugin, "dist/src/index.js")));

let gateway = await Gateway.start();
try {
  for (let step = 1; step <= TURNS; step++) {
    // The model gives no summary of the later half.
    if (step === 27) model.summaries = "refused";
    const rule = step === 3 ? " The staging port is 7443. Never change the public API." : "";
    assert.match(await gateway.prompt(`Step ${step}: check src/part${step}.ts.${rule}`), /I checked part/);
  }
  const [file] = readdirSync(sessions());
  const path = join(sessions(), file);
  const entries = () => readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  const compactions = () => entries().filter(({ type }) => type === "compaction");
  const largest = Math.max(...requests.map(({ input }) => input));
  console.log(`${TURNS} turns, ${requests.length} requests; the largest had ${largest} of ${WINDOW} tokens; ${compactions().length} compactions`);
  assert.equal(requests.length - forSummaries().length, TURNS, "each turn is one request");
  assert.ok(compactions().length >= 2 && largest <= WINDOW);
  const [{ summary, details, usage }] = compactions();
  assert.ok(summary.startsWith(`## Goal\n- ${SUMMARIZED}`) && details.compactd.summarizer === "host" && usage.output >= 1000, `the model of OpenClaw wrote the summary:\n${summary}`);
  assert.equal(compactions().at(-1).details.compactd.summarizer, "extractive", "the built-in summarizer wrote the other one");
  assert.match(requests.at(-1).text, /## Goal/);
  assert.match(requests.at(-1).text, /Never change the public API/);
  assert.ok(requests.at(-1).messages.length < TURNS, "what was compacted is not sent");
  const prompts = entries().filter(({ type, message }) => type === "message" && message.role === "user" && /Step \d/.test(JSON.stringify(message)));
  assert.equal(prompts.length, TURNS - 1, "each message is stored once, the last one with the next run");

  await gateway.prompt("Recall: total7 src part7");
  const result = requests.at(-1).messages.findLast(({ role }) => role === "tool");
  assert.ok(result !== undefined, `tools: ${requests.at(-1).tools}`);
  console.log(`recall returns ${JSON.stringify(result.content).length} characters`);
  assert.match(JSON.stringify(result.content), /The function total7 in src\/part7\.ts adds the prices/);

  // Another process goes on in the same session file.
  await gateway.end();
  const size = readFileSync(path).length;
  gateway = await Gateway.start();
  await gateway.prompt("Recall: staging port");
  assert.match(JSON.stringify(requests.at(-1).messages.findLast(({ role }) => role === "tool").content), /The staging port is 7443/);
  assert.deepEqual(readdirSync(sessions()).filter((name) => name.endsWith(".jsonl")), [file]);
  assert.ok(readFileSync(path).length - size < 30_000, "the conversation is not stored again");
  const client = new Client({ stderr: "ignore" });
  await client.initialize({ clientInfo: { name: "test" } });
  assert.deepEqual((await client.request("checkSession", { path })).diagnostics, []);
  await client.shutdown();
  console.log("after a restart: the session goes on");

  // Without compactd, OpenClaw goes on with its own engine, and its log says why.
  await gateway.end();
  gateway = await Gateway.start({ COMPACTD_BIN: join(place, "no-such-program") });
  assert.match(await gateway.prompt("Step 900: check src/part900.ts.", "agent:main:other"), /I checked part 900/);
  const line = gateway.log.split("\n").find((line) => line.includes("no-such-program"));
  console.log(`without the program: ${line}`);
  assert.match(line ?? "", /compactd/);
  console.log("openclaw: 1 passed, 0 failed");
} finally {
  await gateway.end();
  model.close();
  rmSync(place, { recursive: true, force: true });
}
