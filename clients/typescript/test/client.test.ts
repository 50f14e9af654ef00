import assert from "node:assert/strict";
import { test } from "node:test";
import { type Client, CompactdError, type InitializeParams, MessageTooLargeError, ServerGoneError, errorCodes } from "../src/index.js";
import { conversation, scripted, small, start, startHost, user } from "./support.js";

const hanging = (_: unknown, signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("not wanted"))));

test("errors have code, kind and data", async (context) => {
  const client = await start(context);
  const { sessionId } = await client.request("createSession", { ephemeral: true });
  await assert.rejects(client.request("getEntry", { sessionId, entryId: "00000000" }), (error) => {
    assert(error instanceof CompactdError);
    assert.deepEqual([error.code, error.kind, error.data.entryId], [errorCodes.entryNotFound, "entryNotFound", "00000000"]);
    return true;
  });
  const wrong = client.request("openSession", { path: 1 as unknown as string });
  await assert.rejects(wrong, { code: errorCodes.invalidParams, kind: "invalidParams" });
});

test("an abort signal cancels the request, and the server cancels ours", async (context) => {
  let asked = () => {};
  let told = () => {};
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  const isTold = new Promise<void>((resolve) => (told = resolve));
  const summarize = (params: unknown, signal: AbortSignal) => {
    asked();
    signal.addEventListener("abort", told);
    return hanging(params, signal);
  };
  const client = await startHost(context, summarize);
  if (client === undefined) return;
  const { sessionId } = await conversation(client);
  const controller = new AbortController();
  const compaction = client.request("compact", { sessionId, settings: small, summarizer: "host" }, controller);
  const rejected = assert.rejects(compaction, { code: errorCodes.requestCancelled, kind: "requestCancelled" });
  await isAsked;
  controller.abort();
  await Promise.all([rejected, isTold]);
  const late = client.request("getTree", { sessionId }, { signal: controller.signal });
  await assert.rejects(late, { name: "CompactdError", code: errorCodes.requestCancelled, kind: "requestCancelled" });
});

test("our own model writes the summary", async (context) => {
  const headings = ["## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress", "### Blocked"];
  const text = [...headings, "## Key Decisions", "## Next Steps", "## Critical Context"].map((h) => `${h}\n- (none)`).join("\n\n");
  const prompts: string[] = [];
  const summarize = ({ prompt }: { prompt: string }) => {
    prompts.push(prompt);
    return { text, stopReason: "stop" };
  };
  const client = await startHost(context, summarize);
  if (client === undefined) return;
  const { sessionId } = await conversation(client);
  const result = await client.request("compact", { sessionId, settings: small, summarizer: "host" });
  assert("summary" in result && result.summary.includes("## Goal"));
  assert.match(prompts[0] ?? "", /message 0/);
});

test("notifications come in order and before the reply", async (context) => {
  const client = await start(context);
  const seen: string[] = [];
  client.onAny((_, method) => seen.push(method));
  client.on("entryAppended", ({ entry }) => seen.push(entry.type));
  const { sessionId } = await conversation(client);
  seen.length = 0;
  await client.request("compact", { sessionId, settings: small });
  const steps = seen.filter((name) => name !== "compactionProgress");
  assert.deepEqual(steps, ["compactionStart", "compaction", "entryAppended", "compactionEnd"]);
});

test("text comes back as it went", async (context) => {
  const client = await start(context);
  const { sessionId } = await client.request("createSession", {});
  const message = user("line\u2028and\u2029paragraph, \u{1f600}, é, \u0000, \"quotes\" and \\ \r\n");
  const { entryId } = await client.request("appendMessage", { sessionId, message });
  const { entry } = await client.request("getEntry", { sessionId, entryId });
  assert.deepEqual(entry.message, message);
});

test("a message of eight megabytes passes", async (context) => {
  const client = await start(context);
  const { sessionId } = await client.request("createSession", {});
  const message = user("0123456789abcde\u00e9".repeat(1 << 19));
  const { entryId } = await client.request("appendMessage", { sessionId, message });
  const { entry } = await client.request("getEntry", { sessionId, entryId });
  assert.deepEqual(entry.message, message);
});

const shortMessages = ["--max-message-bytes", "4096"];

test("a message over the limit fails at once", { timeout: 20_000 }, async (context) => {
  const client = await start(context, { args: shortMessages });
  const refused = client.request("estimateTokens", { text: "é".repeat(2500) });
  const expected = { name: "MessageTooLargeError", kind: "invalidRequest", bytes: 5071, limit: 4096 };
  await assert.rejects(refused, expected);
  await assert.rejects(refused, /5071 bytes is over the server's limit of 4096 bytes/);
  assert.throws(() => client.notify("n", { text: "x".repeat(5000) }), MessageTooLargeError);
  // The id before was 2; this message has exactly 4096 bytes.
  assert.deepEqual(await client.request("estimateTokens", { text: "x".repeat(4025) }), { tokens: 1007 });
});

test("a message over the limit before initialize is refused by the server", { timeout: 20_000 }, async (context) => {
  const command = process.env.COMPACTD_BIN ?? "compactd";
  const client = scripted(context, "", { command, args: shortMessages });
  const [long, longer] = [5000, 6000].map((length) => client.request("estimateTokens", { text: "x".repeat(length) }));
  // Either may be refused first, and both are awaited by then.
  await Promise.all([
    assert.rejects(longer!, { name: "MessageTooLargeError", bytes: 6071, limit: 4096 }),
    assert.rejects(long!, { name: "MessageTooLargeError", bytes: 5071, limit: 4096 }),
  ]);
});

test("an answer over the limit fails the operation", { timeout: 20_000 }, async (context) => {
  const summarize = () => ({ text: "x".repeat(5000), stopReason: "stop" });
  const client = await startHost(context, summarize, { args: shortMessages });
  if (client === undefined) return;
  const { sessionId } = await conversation(client);
  await assert.rejects(client.request("compact", { sessionId, settings: small, summarizer: "host" }), {
    kind: "summarizerFailed",
    message: /over the server's limit of 4096 bytes/,
  });
});

test("a refusal that belongs to no request for certain is logged", { timeout: 20_000 }, async (context) => {
  const warned = context.mock.method(console, "warn", () => {});
  const script = `
    const refusals = [{ code: -32700, message: "not JSON" }, { code: -32600, data: { reason: "messageTooLarge", bytes: 9, limit: 8 } }];
    process.stdin.on("data", () => {
      for (const error of refusals) console.log(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
      console.log('{"jsonrpc":"2.0","id":1,"result":null}');
    });`;
  assert.equal(await scripted(context, script).request("shutdown", {}), null);
  assert.equal(warned.mock.callCount(), 2);
  assert.match(String(warned.mock.calls[0]?.arguments[0]), /"message":"not JSON"/);
});

test("two requests run at once", async (context) => {
  let finish = () => {};
  const isFinished = new Promise<void>((resolve) => (finish = resolve));
  const summarize = async () => {
    await isFinished;
    throw new CompactdError({ code: 1, message: "no model" });
  };
  const client = await startHost(context, summarize);
  if (client === undefined) return;
  const { sessionId } = await conversation(client);
  const slow = client.request("compact", { sessionId, settings: small, summarizer: "host" });
  const { tokens } = await client.request("estimateTokens", { text: "12345678" });
  assert.equal(tokens, 2);
  finish();
  await assert.rejects(slow, { code: errorCodes.summarizerFailed });
});

test("a server that dies rejects all that wait", { timeout: 20_000 }, async (context) => {
  const client = await startHost(context, hanging);
  if (client === undefined) return;
  const { sessionId } = await conversation(client);
  const slow = client.request("compact", { sessionId, settings: small, summarizer: "host" });
  const rejected = assert.rejects(slow, (error) => error instanceof ServerGoneError && error.status?.signal === "SIGKILL");
  client.kill();
  await rejected;
  await assert.rejects(client.request("getTree", { sessionId }), ServerGoneError);
  assert.deepEqual(await client.exited, { code: null, signal: "SIGKILL" });
});

test("shutdown ends with code 0", async (context) => {
  const client = await start(context);
  assert.deepEqual(await client.shutdown(), { code: 0, signal: null });
});

test("a program that is not there is told", async (context) => {
  const client = scripted(context, "", { command: "no-such-program-here" });
  await assert.rejects(client.request("shutdown", {}), ServerGoneError);
  assert.equal(await client.exited, undefined);
});

test("noise, unknown ids and unknown notifications do no harm", async (context) => {
  const strays: string[] = [];
  const names: string[] = [];
  const script = `
    console.log("\\n  \\nlog line");
    console.log('{"jsonrpc":"2.0","id":99,"result":1}\\n[]\\n{"jsonrpc":"2.0","method":"fromTheFuture","params":{}}');
    process.stdin.on("data", () => console.log('{"jsonrpc":"2.0","id":1,"result":null}'));`;
  const client = scripted(context, script, { onStray: (line) => strays.push(line) });
  client.onAny((_, method) => names.push(method));
  assert.equal(await client.request("shutdown", {}), null);
  assert.deepEqual(names, ["fromTheFuture"]);
  assert.deepEqual(strays, ["log line", '{"jsonrpc":"2.0","id":99,"result":1}', "[]"]);
});

test("a listener that throws stops nothing", async (context) => {
  const errors: unknown[] = [];
  const script = `
    console.log('{"jsonrpc":"2.0","method":"leafChanged","params":{}}');
    process.stdin.on("data", () => console.log('{"jsonrpc":"2.0","id":1,"result":null}'));`;
  const client = scripted(context, script, { onError: (error) => errors.push(error) });
  client.on("leafChanged", () => {
    throw new Error("mine");
  });
  await client.request("shutdown", {});
  assert.deepEqual(errors.map(String), ["Error: mine"]);
});

/** A server that sends `asks` and tells what it hears. */
const echo = (...asks: object[]) => `
  for (const ask of ${JSON.stringify(asks)}) console.log(JSON.stringify({ jsonrpc: "2.0", ...ask }));
  const lines = require("node:readline").createInterface({ input: process.stdin });
  lines.on("line", (params) => console.log(JSON.stringify({ jsonrpc: "2.0", method: "heard", params: JSON.parse(params) })));`;

test("requests of the server are answered, refused and cancelled", { timeout: 20_000 }, async (context) => {
  const script = echo(
    { id: "s1", method: "summarize", params: { prompt: "p" } },
    { id: 2, method: "sessionBeforeFork", params: {} },
    { id: 3, method: "sessionBeforeTree", params: {} },
    { id: 4, method: "constructor", params: {} },
    { method: "$/cancelRequest", params: { id: 2 } },
  );
  const handlers = {
    summarize: ({ prompt }: { prompt: string }) => ({ text: prompt, stopReason: "stop" }),
    sessionBeforeFork: hanging,
    sessionBeforeTree: () => Promise.reject(new CompactdError({ code: 7, message: "no", data: { kind: "mine" } })),
  };
  const replies = await repliesOf(scripted(context, script, { handlers }), 4);
  assert.deepEqual(replies.get("s1"), { text: "p", stopReason: "stop" });
  assert.equal((replies.get(2) as { code: number }).code, -32800);
  assert.deepEqual(replies.get(3), { code: 7, message: "no", data: { kind: "mine" } });
  assert.equal((replies.get(4) as { code: number }).code, -32601);
});

test("what is announced is what is served: functions with known names, own or inherited", { timeout: 20_000 }, async (context) => {
  const names = ["summarize", "sessionBeforeTree", "sessionBeforeCompact", "sessionBeforeFork", "other"];
  const client = scripted(context, echo(...names.map((method) => ({ id: method, method, params: {} }))), { handlers: new Mine() });
  const announced = new Promise<InitializeParams>((resolve) => {
    client.onAny((params) => {
      const { method, params: inner } = params as { method?: string; params: InitializeParams };
      if (method === "initialize") resolve(inner);
    });
  });
  const replies = repliesOf(client, names.length);
  const lost = assert.rejects(client.initialize({ clientInfo: { name: "test" } }), ServerGoneError);
  assert.deepEqual((await announced).capabilities, { summarize: true, hooks: ["sessionBeforeTree"] });
  assert.deepEqual((await replies).get("summarize"), { text: "mine", stopReason: "stop" });
  assert.deepEqual((await replies).get("sessionBeforeTree"), {});
  for (const method of names.slice(2)) {
    assert.equal(((await replies).get(method) as { code: number }).code, -32601, method);
  }
  client.kill();
  await lost;
});

test("what a handler gives that JSON cannot say is refused", { timeout: 20_000 }, async (context) => {
  const summarize = () => ({ text: 1n as unknown as string, stopReason: "stop" });
  const client = scripted(context, echo({ id: 1, method: "summarize", params: {} }), { handlers: { summarize } });
  const replies = await repliesOf(client, 1);
  assert.equal((replies.get(1) as { code: number }).code, -32603);
});

class Base {
  sessionBeforeTree() {
    return {};
  }
}

/** Handlers that are an object with a class, and need it. */
class Mine extends Base {
  readonly #text = "mine";
  sessionBeforeCompact = undefined;

  summarize() {
    return { text: this.#text, stopReason: "stop" };
  }

  other() {
    return {};
  }
}

/** What a client of `echo` answers to the first `count` requests, by their ids. */
function repliesOf(client: Client, count: number): Promise<Map<unknown, unknown>> {
  const replies = new Map<unknown, unknown>();
  return new Promise((resolve) => {
    client.onAny((params) => {
      const { id, method, result, error } = params as { [member: string]: unknown };
      if (id !== undefined && method === undefined && replies.set(id, result ?? error).size === count) resolve(replies);
    });
  });
}

test("an abort signal sends the id of its request", { timeout: 20_000 }, async (context) => {
  const client = scripted(context, echo());
  const controller = new AbortController();
  const lost = assert.rejects(client.request("shutdown", {}, controller), ServerGoneError);
  const heard = new Promise((resolve) => {
    client.onAny((params) => {
      const { method, params: inner } = params as { method: string; params: unknown };
      if (method === "$/cancelRequest") resolve(inner);
    });
  });
  controller.abort();
  assert.deepEqual(await heard, { id: 1 });
  client.kill();
  await lost;
});

test("a server can have a process group of its own", { skip: process.platform === "win32" }, async (context) => {
  const shared = await start(context);
  assert.throws(() => process.kill(-shared.pid!, "SIGINT"), { code: "ESRCH" });
  const apart = await start(context, { ownProcessGroup: true });
  process.kill(-apart.pid!, 0);
  assert.deepEqual(await apart.shutdown(), { code: 0, signal: null });
});
