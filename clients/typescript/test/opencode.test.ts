/** The plugin for opencode with messages as opencode stores them, against the built server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import compactd from "../src/opencode.js";

const SESSION = "ses_1";
type Stored = { info: { id: string; role: string; [member: string]: unknown }; parts: { type: string; [member: string]: unknown }[] };
type Hook = (input: object, output: object) => Promise<void>;

/** A plugin whose opencode has these messages, and these calls for requests to its model. */
async function start(t: TestContext, messages: Stored[], model: object = {}): Promise<{ hook: (name: string) => Hook; recall: (query: string) => Promise<string>; told: string[] }> {
  const home = mkdtempSync(join(tmpdir(), "compactd-test-"));
  const told: string[] = [];
  const client = {
    session: {
      messages: () => Promise.resolve({ data: messages }),
      message: ({ path }: { path: { messageID: string } }) => Promise.resolve({ data: messages.find(({ info }) => info.id === path.messageID) }),
      create: () => Promise.resolve({ data: { id: "ses_2" } }),
      delete: () => Promise.resolve({ data: true }),
      ...model,
    },
    app: { agents: () => Promise.resolve({ data: [] }) },
    config: { providers: () => Promise.resolve({ data: { providers: [] } }) },
    tui: { showToast: ({ body }: { body: { message: string } }) => Promise.resolve(told.push(body.message)) },
  };
  const hooks = (await compactd({ directory: home, client } as never)) as Record<string, unknown>;
  t.after(async () => {
    await (hooks.dispose as () => Promise<void>)();
    rmSync(home, { recursive: true });
  });
  const tool = hooks.tool as { recall: { execute(args: object, context: object): Promise<string> } };
  return { hook: (name) => hooks[name] as Hook, recall: (query) => tool.recall.execute({ query }, { sessionID: SESSION }), told };
}

function message(number: number, role: string, parts: Stored["parts"], info: object = {}): Stored {
  return { info: { id: `msg_${String(number).padStart(3, "0")}`, sessionID: SESSION, role, time: { created: number, completed: number }, ...info }, parts };
}

function turn(number: number): Stored[] {
  const state = { status: "completed", input: { filePath: `src/part${number}.ts` }, output: `export const part${number} = ${number};` };
  return [
    message(2 * number, "user", [{ type: "text", text: `Step ${number}: check src/part${number}.ts.` }]),
    message(2 * number + 1, "assistant", [{ type: "step-start" }, { type: "tool", callID: `call${number}`, tool: "read", state }, { type: "text", text: `Part ${number} is right.` }], { finish: "stop" }),
  ];
}

const turns = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => turn(from + index)).flat();
const marker = (number: number, tail?: string) => message(number, "user", [{ type: "compaction", auto: false, tail_start_id: tail }]);
const answer = (number: number, text: string) => message(number, "assistant", [{ type: "text", text }], { summary: true, finish: "stop", parentID: `msg_${number - 1}` });

/** Does what opencode does when it compacts these messages. */
async function compact(hook: (name: string) => Hook, head: Stored[]): Promise<{ prompt?: string; messages: Stored[] }> {
  const output: { context: string[]; prompt?: string } = { context: [] };
  const messages = structuredClone(head);
  await hook("experimental.session.compacting")({ sessionID: SESSION }, output);
  await hook("experimental.chat.messages.transform")({}, { messages });
  return { ...output, messages };
}

test("the answer of the model gives way to the summary of what is left out", async (t) => {
  const stored = [...turns(1, 10), marker(100)];
  const { hook, recall } = await start(t, stored);
  const request = await compact(hook, turns(1, 8));
  assert.ok(request.messages.length === 0 && (request.prompt ?? "").length < 60);
  stored.push(answer(101, ""));
  const output = { text: "done" };
  await hook("experimental.text.complete")({ sessionID: SESSION, messageID: "msg_101" }, output);
  assert.match(output.text, /^## Goal\n[^]*Step 1: check src\/part1\.ts/);
  assert.ok(!output.text.includes("part9.ts"), "what stays is not in the summary");

  // opencode stores it with the first message that stays, and recall knows what is gone.
  stored.splice(-2, 2, marker(100, "msg_018"), answer(101, output.text));
  assert.match(await recall("part3"), /export const part3 = 3;/);
  assert.ok(!(await recall("part9")).includes("part9"), "what stays is not recalled");
  assert.match(await recall("zebra"), /^Nothing that compactions took out/);
});

test("a summary that opencode did not take over is in the next request", async (t) => {
  const stored = [...turns(1, 10), marker(100)];
  const { hook } = await start(t, stored);
  await compact(hook, turns(1, 10));
  stored.push(answer(101, "done"), ...turns(60, 60));
  const messages = structuredClone(stored.slice(-4));
  await hook("experimental.chat.messages.transform")({}, { messages });
  assert.match(String(messages[1]!.parts[0]!.text), /^## Goal/);
  assert.deepEqual([messages[0], ...messages.slice(2)], [stored.at(-4), ...stored.slice(-2)]);
});

test("messages that were taken back are in no summary", async (t) => {
  const stored = [...turns(1, 10), marker(100)];
  const { hook } = await start(t, stored);
  await compact(hook, turns(1, 10));
  stored.splice(10, Infinity, ...turns(50, 55), marker(200));
  await compact(hook, stored.slice(0, -1));
  stored.push(answer(201, "done"));
  const output = { text: "done" };
  await hook("experimental.text.complete")({ sessionID: SESSION, messageID: "msg_201" }, output);
  assert.ok(output.text.includes("part52.ts") && !output.text.includes("part8.ts"), output.text);
});

test("without the messages of its session a compaction is left to opencode", async (t) => {
  const { hook, told } = await start(t, turns(1, 3));
  const request = await compact(hook, turns(1, 3));
  assert.ok(request.prompt === undefined && request.messages.length === 6);
  assert.match(told[0]!, /^compactd: session ses_1 lacks the messages of its compaction; opencode summarises by itself$/);
});

/** What opencode's model answers: a summary with the headings for which the last part of the prompt asks. */
function written({ body }: { body: { parts: { text: string }[] } }, finish?: string): { data: Stored } {
  const prompt = body.parts[0]!.text;
  const headings = prompt.slice(prompt.lastIndexOf("</")).match(/^##+ .*/gm) ?? [];
  const text = headings.map((heading) => `${heading}\n- As the model says.`).join("\n\n");
  return { data: message(1, "assistant", [{ type: "text", text }], { finish }) };
}

type Prompt = Parameters<typeof written>[0];
const markerWithModel = () => message(100, "user", [{ type: "compaction" }], { model: { providerID: "p", modelID: "m" } });

/** The summary that takes the place of the answer of opencode's model. */
async function summary(hook: (name: string) => Hook, stored: Stored[]): Promise<string> {
  stored.push(answer(101, ""));
  const output = { text: "done" };
  await hook("experimental.text.complete")({ sessionID: SESSION, messageID: "msg_101" }, output);
  return output.text;
}

test("the model of opencode writes, also where its session is not deleted", async (t) => {
  for (const finish of ["stop", undefined]) {
    const stored = [...turns(1, 10), markerWithModel()];
    const gone = () => Promise.reject(new Error("no such session"));
    const { hook, told } = await start(t, stored, { prompt: (asked: Prompt) => Promise.resolve(written(asked, finish)), delete: gone });
    await compact(hook, turns(1, 8));
    assert.match(await summary(hook, stored), /As the model says/);
    assert.deepEqual(told, []);
  }
});

test("an answer of opencode's model that is not whole is no summary", async (t) => {
  for (const finish of ["length", "content-filter", "error", "tool-calls", "other", "unknown"]) {
    const stored = [...turns(1, 10), markerWithModel()];
    const { hook, told } = await start(t, stored, { prompt: (asked: Prompt) => Promise.resolve(written(asked, finish)) });
    await compact(hook, turns(1, 8));
    const text = await summary(hook, stored);
    assert.ok(text.startsWith("## Goal") && !text.includes("As the model says"), `${finish}: ${text}`);
    assert.match(told[0]!, finish === "length" ? /cut off/ : new RegExp(`did not finish its answer: ${finish}`));
  }
});

test("a request that cannot be stopped does no harm", async (t) => {
  const stored = [...turns(1, 10), markerWithModel()];
  const abort = () => Promise.reject(new Error("opencode is gone"));
  const asks: (() => void)[] = [];
  const prompt = async (asked: Prompt) => {
    await hook("experimental.session.compacting")({ sessionID: "ses_2" }, {});
    return written(asked);
  };
  const { hook, told } = await start(t, stored, { prompt, abort });
  await compact(hook, turns(1, 8));
  assert.match(told[0]!, /the request is too large for opencode's model/);

  // The same when opencode no longer waits for the compaction.
  const other = await start(t, stored, { prompt: () => new Promise<void>((resolve) => asks.push(resolve)), abort });
  const compacting = compact(other.hook, turns(1, 8));
  while (asks.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await (other.hook("event") as unknown as (input: object) => Promise<void>)({ event: { type: "session.idle", properties: { sessionID: SESSION } } });
  assert.equal((await compacting).prompt, undefined);
  asks[0]!();
  assert.deepEqual(other.told, []);
});

test("the end of a compaction leaves a newer one of the session stoppable", async (t) => {
  const stored = [...turns(1, 10), markerWithModel()];
  const asks: (() => void)[] = [];
  const prompt = (asked: Prompt) => new Promise((resolve) => asks.push(() => resolve(written(asked, "stop"))));
  let ids = 1;
  const aborted: string[] = [];
  const abort = ({ path }: { path: { id: string } }) => Promise.resolve(aborted.push(path.id));
  const create = () => Promise.resolve({ data: { id: `ask_${ids++}` } });
  const { hook } = await start(t, stored, { prompt, abort, create });
  const asked = async (count: number) => {
    while (asks.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const first = compact(hook, turns(1, 8));
  await asked(1);
  const second = compact(hook, turns(1, 8));
  await asked(2);
  asks[0]!();
  await first;
  await (hook("event") as unknown as (input: object) => Promise<void>)({ event: { type: "session.idle", properties: { sessionID: SESSION } } });
  assert.equal((await second).prompt, undefined);
  asks[1]!();
  assert.deepEqual(aborted, ["ask_2"]);
});
