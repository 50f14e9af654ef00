// Drives `opencode serve` with the plugin, and with a scripted model behind a server on this machine. Prints what happens.
// Arguments: the program opencode, and the plugin.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SUMMARIZED, longAnswer, scriptedModel } from "../../scripted-model.mjs";

const [program, plugin] = process.argv.slice(2).map((path) => resolve(path));
const WINDOW = 20_000;
const place = mkdtempSync(join(tmpdir(), "compactd-opencode-test-"));
const project = join(place, "project");

const model = await scriptedModel(250, (messages) => {
  const last = messages.at(-1);
  const said = JSON.stringify(last.content);
  const number = said.match(/Step (\d+)/)?.[1];
  const query = last.role === "user" ? said.match(/"Recall: ([\w ]+)/)?.[1] : undefined;
  return { said, text: number ? longAnswer(number, 40) : "done", query };
});
const { requests, forSummaries } = model;

mkdirSync(project);
const provider = {
  npm: "@ai-sdk/openai-compatible",
  options: { baseURL: model.url, apiKey: "none" },
  models: { scripted: { limit: { context: WINDOW, output: 2000 } } },
};
writeFileSync(join(project, "opencode.json"), JSON.stringify({ model: "local/scripted", provider: { local: provider }, plugin: [plugin], share: "disabled" }));

/** A server of opencode. */
class OpenCode {
  static async start(variables = {}) {
    const one = new OpenCode();
    const home = join(place, "home");
    const env = { ...process.env, HOME: home, OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1", ...variables };
    one.process = spawn(program, ["serve", "--port", "0"], { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
    one.ended = new Promise((resolve) => one.process.on("close", resolve));
    let printed = "";
    one.url = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`opencode does not start: ${printed}`)), 60_000);
      const read = (text) => {
        printed += text;
        const url = printed.match(/listening on (http:\S+)/)?.[1];
        if (url) clearTimeout(timer), resolve(url);
      };
      one.process.stdout.setEncoding("utf8").on("data", read);
      one.process.stderr.setEncoding("utf8").on("data", read);
    });
    return one;
  }

  async request(method, path, body) {
    const options = { method, headers: { "content-type": "application/json" }, signal: AbortSignal.timeout(60_000) };
    const response = await fetch(`${this.url}${path}`, { ...options, body: body && JSON.stringify(body) });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  prompt(session, text) {
    const parts = [{ type: "text", text }];
    return this.request("POST", `/session/${session}/message`, { model: { providerID: "local", modelID: "scripted" }, parts });
  }

  compact(session) {
    return this.request("POST", `/session/${session}/summarize`, { providerID: "local", modelID: "scripted" });
  }

  /** The next message on the screen. */
  async toast() {
    const { body } = await fetch(`${this.url}/event`);
    let text = "";
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const line = text.split("\n").slice(0, -1).find((line) => line.includes("tui.toast.show"));
      if (line) return JSON.parse(line.slice("data: ".length)).properties.message;
    }
  }

  async summaries(session) {
    const messages = await this.request("GET", `/session/${session}/message`);
    return messages.filter(({ info }) => info.role === "assistant" && info.summary === true).map(text);
  }

  async end() {
    this.process.kill();
    await this.ended;
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = ({ parts }) => parts.flatMap(({ type, text }) => (type === "text" ? [text] : [])).join("\n");
const asked = () => requests.filter(({ said }) => said.includes("Answer with the single word: done"));
const output = ({ parts }) => parts.find(({ type, tool }) => type === "tool" && tool === "recall")?.state.output;
const toolOutputs = async (session) => (await opencode.request("GET", `/session/${session}/message`)).map(output).filter(Boolean);

let opencode = await OpenCode.start();
try {
  const { id } = await opencode.request("POST", "/session", {});
  for (let step = 1; step <= 100; step++) {
    const rule = step === 3 ? " The staging port is 7443. Never change the public API." : "";
    await opencode.prompt(id, `Step ${step}: check src/part${step}.ts.${rule}`);
  }
  const summaries = await opencode.summaries(id);
  const largest = Math.max(...requests.map(({ input }) => input));
  console.log(`100 turns, ${requests.length} requests; the largest had ${largest} of ${WINDOW} tokens; ${summaries.length} compactions`);
  assert.ok(summaries.length >= 2 && largest <= WINDOW);
  for (const summary of summaries) {
    assert.ok(summary.startsWith(`## Goal\n- ${SUMMARIZED}`), `the model of opencode wrote the summary:\n${summary}`);
    assert.match(summary, /Never change the public API/);
  }
  assert.equal(asked().length, summaries.length);
  assert.ok(asked().every(({ input, text }) => input < 400 && !text.includes("Step")), "opencode's own request has no history");
  assert.ok(forSummaries().length >= summaries.length);
  for (const { messages, tools, text } of forSummaries()) {
    assert.deepEqual(messages.map(({ role }) => role), ["system", "user"], text);
    assert.ok(messages[0].content.startsWith("You write handover notes.") && tools.length === 0, text);
  }
  assert.ok(requests.at(-1).text.includes(JSON.stringify(summaries.at(-1)).slice(1, -1)), "the model sees the summary");
  assert.ok(requests.at(-1).tools.includes("recall"));

  await opencode.compact(id);
  const manual = (await opencode.summaries(id)).at(-1);
  console.log(`by hand; the summary begins:\n${manual.split("\n").slice(0, 4).join("\n")}`);
  assert.ok(manual.startsWith(`## Goal\n- ${SUMMARIZED}`) && (await opencode.summaries(id)).length === summaries.length + 1);

  await opencode.prompt(id, "Recall: total7 src part7");
  const [recalled] = await toolOutputs(id);
  console.log(`recall returns ${recalled.length} characters`);
  assert.match(recalled, /The function total7 in src\/part7\.ts adds the prices/);

  // Another process knows the conversation from opencode alone.
  await opencode.end();
  opencode = await OpenCode.start();
  await opencode.prompt(id, "Recall: staging port");
  assert.match((await toolOutputs(id)).at(-1), /The staging port is 7443/);
  await opencode.compact(id);
  const later = (await opencode.summaries(id)).at(-1);
  assert.ok(later.startsWith(`## Goal\n- ${SUMMARIZED}`));
  console.log("after a restart: recall and compaction work");

  // Messages that the person takes back are in no later summary.
  const prompt = await opencode.request("GET", `/session/${id}/message`);
  await opencode.prompt(id, "Step 900: check src/wrong900.ts.");
  const wrong = (await opencode.request("GET", `/session/${id}/message`)).at(prompt.length);
  await opencode.request("POST", `/session/${id}/revert`, { messageID: wrong.info.id });
  for (let step = 101; step <= 103; step++) await opencode.prompt(id, `Step ${step}: check src/part${step}.ts.`);
  await opencode.compact(id);
  const last = (await opencode.summaries(id)).at(-1);
  assert.ok(last.startsWith("## Goal") && !last.includes("wrong900"));

  // Where the model gives no summary, the built-in summarizer does, and the person hears why.
  for (const [summaries, why] of [["none", /headings are missing/], ["refused", /no summary today/], ["tooLarge", /too large for opencode's model/]]) {
    model.summaries = summaries;
    for (let step = 111; step <= 113; step++) await opencode.prompt(id, `Step ${step}: check src/part${step}.ts.`);
    const toast = opencode.toast();
    await opencode.compact(id);
    const warned = await toast;
    console.log(`${summaries}: ${warned}`);
    assert.match(warned, /^compactd: .* \(host\); the summarizer extractive wrote the summary$/);
    assert.match(warned, why);
    const built = (await opencode.summaries(id)).at(-1);
    assert.ok(built.startsWith("## Goal") && built.includes("Never change the public API") && !built.startsWith(`## Goal\n- ${SUMMARIZED}`), built);
  }

  // Who stops a compaction stops the request to the model. The next one works.
  model.summaries = "silence";
  const earlier = forSummaries().length;
  const stopped = opencode.compact(id).catch((error) => error);
  while (forSummaries().length === earlier) await pause(20);
  await opencode.request("POST", `/session/${id}/abort`);
  await forSummaries().at(-1).closed;
  console.log(`stopped: ${JSON.stringify(await stopped)}`);
  model.summaries = "headings";
  await opencode.prompt(id, "Step 120: check src/part120.ts.");
  await opencode.compact(id);
  assert.ok((await opencode.summaries(id)).at(-1).startsWith(`## Goal\n- ${SUMMARIZED}`));
  assert.deepEqual((await opencode.request("GET", "/session")).map((session) => session.id), [id], "sessions for summaries are deleted");
  assert.deepEqual(await opencode.request("GET", `/session/${id}/children`), []);

  // A settings file chooses who writes.
  mkdirSync(join(place, "home/.pi/agent"), { recursive: true });
  writeFileSync(join(place, "home/.pi/agent/settings.json"), JSON.stringify({ compactd: { summarizer: "extractive" } }));
  await opencode.prompt(id, "Step 121: check src/part121.ts.");
  const before = forSummaries().length;
  await opencode.compact(id);
  const chosen = (await opencode.summaries(id)).at(-1);
  assert.ok(chosen.startsWith("## Goal") && !chosen.startsWith(`## Goal\n- ${SUMMARIZED}`) && forSummaries().length === before, chosen);

  // Without compactd, opencode summarises by itself, and says why.
  await opencode.end();
  opencode = await OpenCode.start({ COMPACTD_BIN: join(place, "no-such-program") });
  const toast = opencode.toast();
  for (let step = 201; step <= 203; step++) await opencode.prompt(id, `Step ${step}: check src/part${step}.ts.`);
  await opencode.compact(id);
  const own = (await opencode.request("GET", `/session/${id}/message`)).filter(({ info }) => info.summary === true).at(-1);
  assert.ok(text(own).startsWith("I checked part"), `opencode took over what its model answered: ${JSON.stringify(own)}`);
  assert.match(requests.at(-1).text, /I checked part/, "its model read the history");
  const told = await Promise.race([toast, pause(10_000)]);
  console.log(`without the program: ${told}`);
  assert.match(told, /^compactd: .*no-such-program.*; opencode summarises by itself$/);
  console.log("opencode: 1 passed, 0 failed");
} finally {
  await opencode.end();
  model.close();
  rmSync(place, { recursive: true, force: true });
}
