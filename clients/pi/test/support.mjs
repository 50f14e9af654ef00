// pi in its mode `rpc`, and a scripted model behind a server on this machine. Arguments of the program: the script of pi, and the
// extension.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { longAnswer, scriptedModel } from "../../scripted-model.mjs";

const [pi, extension] = process.argv.slice(2).map((path) => resolve(path));
/** The window of the model in tokens. */
export const WINDOW = 12_000;
/** A directory for everything that a test writes. */
export const place = mkdtempSync(join(tmpdir(), "compactd-pi-test-"));
/** The directory for temporary files of pi and the extension. */
export const temporary = join(place, "tmp");
const agentDir = join(place, "agent");

export const model = await scriptedModel(200, (messages) => {
  const said = JSON.stringify(messages.filter(({ role }) => role === "user").at(-1)?.content);
  return { said, text: longAnswer(said.match(/Step (\d+)/)?.[1] ?? "?", 12) };
});

mkdirSync(agentDir);
mkdirSync(temporary);
const models = [{ id: "scripted", contextWindow: WINDOW, maxTokens: 1000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }];
writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { local: { baseUrl: model.url, api: "openai-completions", apiKey: "none", models } } }));
writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ compaction: { reserveTokens: 4000, keepRecentTokens: 1500 } }));
// Commands of pi that go to another place in the tree, which the mode itself has none for.
const helper = join(place, "helper.mjs");
writeFileSync(
  helper,
  `const command = (pi, name, summarize) => pi.registerCommand(name, {
    description: "Goes to an entry",
    handler: async (id, context) => void (await context.navigateTree(id.trim(), { summarize })),
  });
  export default (pi) => (command(pi, "goto", true), command(pi, "jump", false));`,
);

/** The process. */
export class Pi {
  #waiting = [];
  #events = [];

  constructor({ variables = {}, options: more = [] } = {}) {
    const options = [...more, "--mode", "rpc", "--provider", "local", "--model", "scripted", "--no-tools", "--extension", extension, "--extension", helper];
    const env = { ...process.env, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1", PI_TELEMETRY: "0", TMPDIR: temporary, ...variables };
    this.process = spawn(process.execPath, [pi, ...options], { cwd: place, env, stdio: ["pipe", "pipe", "inherit"] });
    let rest = "";
    // A line ends with a line feed alone; readline also ends it at U+2028.
    this.process.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) this.#receive(JSON.parse(line));
    });
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

/** Runs a test, then ends what it started, and cleans up. */
export async function run(test, end) {
  try {
    await test();
  } finally {
    await end();
    model.close();
    rmSync(place, { recursive: true, force: true });
  }
}
