import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Client, type ClientOptions, type Handlers, type Message, type ServerCapabilities } from "../src/index.js";

/** A client of the built server, with a home of its own, that ends with the test. */
export async function start(context: TestContext, options: ClientOptions = {}): Promise<Client> {
  const { client } = await startAndAsk(context, options);
  return client;
}

/** The same, whose own model writes summaries; undefined, and the test skipped, if the server never asks it. */
export async function startHost(
  context: TestContext,
  summarize: Handlers["summarize"],
  options: ClientOptions = {},
): Promise<Client | undefined> {
  const { client, capabilities } = await startAndAsk(context, { handlers: { summarize }, ...options });
  if (capabilities.summarizers.includes("host")) return client;
  context.skip("this server has no summarizer named host");
  return undefined;
}

async function startAndAsk(
  context: TestContext,
  options: ClientOptions,
): Promise<{ client: Client; capabilities: ServerCapabilities }> {
  const home = mkdtempSync(join(tmpdir(), "compactd-test-"));
  const command = process.env.COMPACTD_BIN ?? "compactd";
  const env = { PATH: process.env.PATH, HOME: home };
  const client = new Client({ command, env, cwd: home, stderr: "ignore", ...options });
  context.after(async () => {
    await client.shutdown();
    rmSync(home, { recursive: true, force: true });
  });
  const clientInfo = { name: "test" };
  const { capabilities } = await client.initialize({ clientInfo, agentDir: home, cwd: home });
  return { client, capabilities };
}

/** A server that is a small script. */
export function scripted(context: TestContext, script: string, options: ClientOptions = {}): Client {
  const client = new Client({ command: process.execPath, args: ["-e", script], ...options });
  context.after(() => client.kill());
  return client;
}

/** A new session with some messages that are worth a compaction. */
export async function conversation(client: Client): Promise<{ sessionId: string; ids: string[] }> {
  const { sessionId } = await client.request("createSession", {});
  const ids: string[] = [];
  for (let i = 0; i < 6; i++) {
    const { entryId } = await client.request("appendMessage", { sessionId, message: user(`message ${i} `.repeat(40)) });
    ids.push(entryId);
  }
  return { sessionId, ids };
}

/** A message of a person. */
export function user(content: string): Message {
  return { role: "user", content, timestamp: 1_700_000_000_000 };
}

/** Settings with which the conversation above can be compacted. */
export const small = { keepRecentTokens: 100 };
