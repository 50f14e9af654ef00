/** Histories that a library keeps, against the built server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { AiSdkHistory } from "../src/ai-sdk.js";
import { ContextTooLargeError, type BoundedHistoryOptions, type CompactionEnd, type SummarizeParams } from "../src/index.js";
import openclaw from "../src/openclaw.js";

const SMALL = { compaction: { reserveTokens: 1000, keepRecentTokens: 500 } };

type ModelMessage = { role: string; content: string | { type: string; [member: string]: any }[]; [member: string]: any };

function start(t: TestContext, options: Partial<BoundedHistoryOptions> = {}, settingsFile?: object): AiSdkHistory {
  const home = mkdtempSync(join(tmpdir(), "compactd-test-"));
  if (settingsFile !== undefined) writeFileSync(join(home, "settings.json"), JSON.stringify(settingsFile));
  const env = { PATH: process.env.PATH, HOME: home, PI_CODING_AGENT_DIR: home };
  const client = { command: process.env.COMPACTD_BIN, env, stderr: "ignore" as const };
  const history = new AiSdkHistory({ contextWindow: 4000, settings: SMALL, client, model: false, ...options });
  t.after(async () => {
    await history.close();
    rmSync(home, { recursive: true });
  });
  return history;
}

function turn(number: number, lines = 20): ModelMessage[] {
  const [toolCallId, toolName] = [`call-${number}`, "read"];
  const output = { type: "text", value: `line of part ${number}\n`.repeat(lines) };
  return [
    { role: "user", content: `Step ${number}: check src/part${number}.ts.` },
    { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName, input: { number } }], providerOptions: { x: { y: 1 } } },
    { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
    { role: "assistant", content: [{ type: "reasoning", text: "so far" }, { type: "text", text: `Part ${number} is right.` }] },
  ];
}

const turns = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => turn(from + index)).flat();

/** How many messages at the end are the very same. */
function sameAtEnd(some: ModelMessage[], others: ModelMessage[]): number {
  let count = 0;
  while (count < Math.min(some.length, others.length) && same(some.at(-1 - count), others.at(-1 - count))) count++;
  return count;
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

test("what fits comes back as it is, with all that a session does not know", async (t) => {
  const system = { role: "system", content: "Be brief." };
  const odd: ModelMessage[] = [
    { role: "user", content: [{ type: "text", text: "see", providerOptions: { a: {} } }, { type: "file", data: "aGk=", mediaType: "text/plain" }] },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "x", input: "text" }, { type: "tool-call", toolCallId: "b", toolName: "y", input: {} }] },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "a", toolName: "x", output: { type: "json", value: { n: [1, null] } } },
        { type: "tool-result", toolCallId: "b", toolName: "y", output: { type: "error-text", value: "no" } },
      ],
    },
    { role: "assistant", content: "done" },
  ];
  const messages = [system, ...odd, ...turns(1, 3)];
  assert.deepEqual(await start(t).fit(messages), messages);
});

test("bytes, addresses and images of tools come back, also from a session file", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "compactd-test-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "session.jsonl");
  const bytes = new Uint8Array([137, 80, 78, 71]);
  const user = (image: unknown, data: unknown): ModelMessage => ({
    role: "user",
    content: [{ type: "image", image, mediaType: "image/png" }, { type: "file", data, filename: "a.pdf", mediaType: "application/pdf" }],
  });
  const toolOutput = { type: "content", value: [{ type: "media", data: "iVBORw0KGgo=", mediaType: "image/png" }] };
  const rest: ModelMessage[] = [
    { role: "assistant", content: [{ type: "reasoning", text: "hm", providerOptions: { anthropic: { signature: "c2ln" } } }, { type: "tool-call", toolCallId: "a", toolName: "shot", input: {} }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "a", toolName: "shot", output: toolOutput, providerOptions: { x: { y: 1 } } }] },
    { role: "assistant", content: [{ type: "file", data: "aGk=", mediaType: "image/png" }] },
    { role: "user", content: "Stop." },
  ];
  const first = start(t, { path });
  const messages = [user(bytes, new URL("https://a.test/a.pdf")), ...rest];
  assert.deepEqual(await first.fit(messages), messages);
  await first.close();
  const again = await start(t, { path }).fit([...messages, { role: "user", content: "Go on." }]);
  assert.deepEqual(again.slice(0, -1), messages);
});

test("a long conversation gives way to a summary and its latest messages", async (t) => {
  const history = start(t);
  const all = turns(1, 60);
  const fitted = await history.fit(all);
  assert.match(JSON.stringify(fitted[0]), /## Goal/);
  assert.ok(sameAtEnd(fitted, all) === fitted.length - 1 && fitted.length > 4 && fitted.length < all.length / 2, `${fitted.length}`);
});

test("the whole conversation and what was given last go on the same way", async (t) => {
  const [whole, given] = [start(t), start(t)];
  await whole.fit(turns(1, 60));
  const first = await given.fit(turns(1, 60));
  const [a, b] = [await whole.fit(turns(1, 80)), await given.fit([...first, ...turns(61, 80)])];
  assert.ok(sameAtEnd(a, b) >= a.length - 1 && a.length === b.length);
});

test("a result that is larger than the window is shortened, and its call stays with it", async (t) => {
  const fitted = await start(t).fit([...turn(1), ...turn(2, 3000).slice(0, 3)]);
  const results = fitted.filter(({ role }) => role === "tool").flatMap(({ content }) => content as { [member: string]: any }[]);
  assert.ok(results.some(({ toolCallId, output }) => toolCallId === "call-2" && output.value.length < 12_000), JSON.stringify(results).slice(0, 500));
});

test("a conversation that was changed goes on from there", async (t) => {
  const history = start(t);
  await history.fit(turns(1, 5));
  const changed = [...turns(1, 3), { role: "user", content: "Something else." }];
  assert.deepEqual(await history.fit(changed), changed);
  assert.deepEqual(await history.fit(turns(1, 5)), turns(1, 5));
});

test("a session file goes on after a restart", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "compactd-test-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "session.jsonl");
  const first = start(t, { path });
  const before = await first.fit(turns(1, 60));
  await first.close();
  const second = start(t, { path });
  const after = await second.fit(turns(1, 61));
  assert.deepEqual(after.slice(0, before.length), before);
  assert.deepEqual(after.slice(before.length), turn(61));
});

test("what can never fit is told with both numbers", async (t) => {
  const history = start(t, { contextWindow: 1500 });
  const message = { role: "user", content: "a request that is longer than the window ".repeat(400) };
  await assert.rejects(history.fit([message]), (error: ContextTooLargeError) => {
    return error instanceof ContextTooLargeError && error.contextWindow === 1500 && error.tokens > 1500;
  });
});

test("a smaller window counts from the next call on", async (t) => {
  const history = start(t, { contextWindow: 100_000 });
  const all = turns(1, 60);
  assert.equal((await history.fit(all)).length, all.length);
  assert.ok(history.history.tokens > 4000);
  history.history.contextWindow = 4000;
  const fitted = await history.fit(turns(1, 61));
  assert.match(JSON.stringify(fitted[0]), /## Goal/);
  assert.ok(history.history.tokens < 4000, `${history.history.tokens}`);
});

test("a compaction by hand, and what it took out", async (t) => {
  const { history } = start(t, { contextWindow: 100_000 });
  await history.fit(turns(1, 20));
  const { summary, firstKeptEntryId } = await history.compact("keep the numbers");
  assert.ok(summary.startsWith("## Goal") && firstKeptEntryId !== "");
  const entries = await history.recall("line of part 3");
  assert.match(entries[0]!.text, /line of part 3/);
});

/** A summary with the headings for which the last part of the prompt asks. */
function written({ prompt }: SummarizeParams): string {
  const headings = prompt.slice(prompt.lastIndexOf("</")).match(/^##+ .*/gm) ?? [];
  return headings.map((heading) => `${heading}\n- As the model says.`).join("\n\n");
}

test("the model of the host writes the summaries, within the window that it has", async (t) => {
  const asked: SummarizeParams[] = [];
  const ends: CompactionEnd[] = [];
  const summarize = (params: SummarizeParams) => {
    asked.push(params);
    return { text: written(params), stopReason: "stop", usage: { input: 100, output: 20, totalTokens: 120 } };
  };
  const history = start(t, { summarize, onCompaction: (end) => ends.push(end), contextWindow: 100_000 });
  await history.fit(turns(1, 20));
  history.history.contextWindow = 4000;
  const fitted = await history.fit(turns(1, 60));
  assert.match(JSON.stringify(fitted[0]), /As the model says/);
  for (const { systemPrompt, prompt, maxTokens } of asked) {
    assert.ok((systemPrompt.length + prompt.length) / 4 + maxTokens <= 4000, `${prompt.length} ${maxTokens}`);
  }
  const { result } = ends.at(-1)!;
  assert.deepEqual([result?.summarizer, Number(result?.usage?.totalTokens) % 120], ["host", 0]);
});

test("where the model fails, the built-in summarizer writes", async (t) => {
  const fails = () => Promise.reject(new Error("no network"));
  const chats = () => ({ text: "I cannot do that.", stopReason: "stop" });
  const stops = (params: SummarizeParams) => ({ text: written(params), stopReason: "length" });
  for (const [summarize, kind] of [[fails, "summarizerFailed"], [chats, "summaryRejected"], [stops, "summaryRejected"]] as const) {
    const ends: CompactionEnd[] = [];
    const fitted = await start(t, { summarize, onCompaction: (end) => ends.push(end) }).fit(turns(1, 60));
    assert.match(JSON.stringify(fitted[0]), /## Goal/);
    assert.doesNotMatch(JSON.stringify(fitted[0]), /As the model says/);
    const { result } = ends.at(-1)!;
    assert.deepEqual([result?.summarizer, result?.failures?.[0]?.kind], ["extractive", kind]);
  }
});

test("settings choose before the model is asked", async (t) => {
  let asked = 0;
  const summarize = (params: SummarizeParams) => (asked++, { text: written(params), stopReason: "stop" });
  const extractive = { compactd: { summarizer: "extractive" } };
  for (const history of [start(t, { summarize }, extractive), start(t, { summarize, settings: { ...SMALL, ...extractive } })]) {
    assert.match(JSON.stringify((await history.fit(turns(1, 60)))[0]), /## Goal/);
  }
  assert.equal(asked, 0);
});

/** The window for summaries that the server has. */
async function summaryWindow({ history }: AiSdkHistory): Promise<unknown> {
  const { settings } = await history.client.request("updateSettings", { settings: {} });
  return (settings as { compactd?: { summarize?: { contextWindow?: number } } }).compactd?.summarize?.contextWindow;
}

test("the window for summaries goes along with the model's, unless somebody has set one", async (t) => {
  const summarize = (params: SummarizeParams) => ({ text: written(params), stopReason: "stop" });
  const own = { compactd: { summarize: { contextWindow: 8000 } } };
  const same = { compactd: { summarize: { contextWindow: 50_000 } } };
  const cases: [AiSdkHistory, unknown][] = [
    [start(t, { summarize, contextWindow: 50_000 }), 4000],
    [start(t, { summarize, contextWindow: 50_000 }, own), 8000],
    [start(t, { summarize, contextWindow: 50_000, settings: { ...SMALL, ...own } }), 8000],
    // It is the number of the window by chance.
    [start(t, { summarize, contextWindow: 50_000, settings: { ...SMALL, ...same } }), 50_000],
    [start(t, { summarize, contextWindow: 50_000, defaultSettings: same }), 50_000],
    [start(t, { contextWindow: 50_000 }, same), 50_000],
  ];
  for (const [history, expected] of cases) {
    await history.fit(turns(1, 2));
    history.history.contextWindow = 4000;
    await history.fit(turns(1, 3));
    assert.equal(await summaryWindow(history), expected);
  }
});

test("a window that changes while the server starts is the one that counts", async (t) => {
  const summarize = (params: SummarizeParams) => ({ text: written(params), stopReason: "stop" });
  const history = start(t, { summarize, contextWindow: 100_000 });
  // The first one is known before the call, the other one while the server starts.
  history.history.contextWindow = 50_000;
  const fitting = history.fit(turns(1, 60));
  await Promise.resolve();
  await Promise.resolve();
  history.history.contextWindow = 4000;
  assert.match(JSON.stringify((await fitting)[0]), /As the model says/);
  assert.equal(await summaryWindow(history), 4000);
});

/** What OpenClaw calls. */
type Engine = { bootstrap(run: object): Promise<object>; assemble(run: object): Promise<{ messages: object[] }> };

test("in OpenClaw the model of a session is known as long as its run, also where other sessions took the place of its server", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "compactd-test-"));
  process.env.PI_CODING_AGENT_DIR = home;
  t.after(async () => {
    // OpenClaw ends with its servers; the last four have one.
    const histories = (globalThis as { [name: symbol]: any })[Symbol.for("compactd.openclaw")];
    for (const sessionId of ["fourth", "fifth", "first", "second"]) await (await histories.of({ sessionId }, home)).close();
    delete process.env.PI_CODING_AGENT_DIR;
    rmSync(home, { recursive: true, force: true });
  });
  let engine!: Engine;
  openclaw.register({
    pluginConfig: { compaction: { reserveTokens: 1000, keepRecentTokens: 500 } },
    logger: { warn: () => {} },
    registerContextEngine: (_, factory) => (engine = factory({ agentDir: home }) as Engine),
    registerTool: () => {},
  });
  const said = (number: number) => [
    { role: "user", content: `Step ${number}: check src/part${number}.ts. ${"Look at each line. ".repeat(20)}`, timestamp: number },
    { role: "assistant", content: [{ type: "text", text: `Part ${number} is right.` }], stopReason: "stop", timestamp: number },
  ];
  const messages = (count: number) => Array.from({ length: count }, (_, index) => said(index + 1)).flat();
  const complete = ({ messages: [asked] }: { messages: { content: string }[] }) => {
    return Promise.resolve({ text: written({ prompt: asked!.content } as SummarizeParams), stopReason: "stop", usage: {} });
  };
  const assemble = (sessionId: string, count: number) => engine.assemble({ sessionId, tokenBudget: 4000, messages: messages(count) });

  await engine.bootstrap({ sessionId: "first", runtimeContext: { llm: { complete } } });
  assert.equal((await assemble("first", 2)).messages.length, 4);
  for (const other of ["second", "third", "fourth", "fifth"]) await assemble(other, 1);
  assert.match(JSON.stringify((await assemble("first", 60)).messages[0]), /As the model says/);
  // Whose model is not known has the built-in summarizer.
  assert.match(JSON.stringify((await assemble("second", 60)).messages[0]), /## Goal(?![^]*As the model says)/);
});
