/**
 * A walk: creates a session, appends messages, compacts it, and goes back to an earlier place with a
 * summary of what is left behind. The program is the one that `findBinary` finds; the
 * session goes into a temporary directory.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type Message } from "compactd-client";

const QUESTIONS = [
  "Please add a --json flag to the report command. It must keep the old output as the default.",
  "Where is the output written?",
  "Use the same field names as the web page does.",
  "Now write a test for the new flag.",
];

/** What the model read each time before it answered. Such results are most of what fills a context. */
const SOURCE = Array.from({ length: 40 }, (_, i) => `  print(row.field${i}, { width: 12 });`).join("\n");

const directory = await mkdtemp(join(tmpdir(), "compactd-example-"));
const client = new Client();
client.on("compactionStart", ({ reason, tokensBefore }) => console.log(`compaction starts (${reason}, ${tokensBefore} tokens)`));
client.on("leafChanged", ({ oldLeafId, leafId }) => console.log(`leaf moved from ${oldLeafId} to ${leafId}`));

try {
  const { serverInfo } = await client.initialize({ clientInfo: { name: "example" }, agentDir: directory, cwd: directory });
  console.log(`${serverInfo.name} ${serverInfo.version}, process ${client.pid}`);
  await walk();
} finally {
  await client.shutdown();
  await rm(directory, { recursive: true });
}

async function walk(): Promise<void> {
  const { sessionId, path } = await client.request("createSession", { name: "example" });
  console.log(`created ${path}`);
  const ids = await appendAll(sessionId);
  await compact(sessionId);
  await goBack(sessionId, ids);
}

/** Appends a small conversation and gives the ids of its entries. */
async function appendAll(sessionId: string): Promise<string[]> {
  const ids: string[] = [];
  for (const message of QUESTIONS.flatMap(turn)) {
    const { entryId } = await client.request("appendMessage", { sessionId, message });
    ids.push(entryId);
  }
  console.log(`appended ${ids.length} messages`);
  return ids;
}

/** Compacts. The conversation is short, so only a little of it is kept as it is. */
async function compact(sessionId: string): Promise<void> {
  const result = await client.request("compact", { sessionId, settings: { keepRecentTokens: 100 } });
  if (!("summary" in result)) throw new Error("the server answers when the compaction is done");
  console.log(`compacted ${result.tokensBefore} tokens to ${result.tokensAfter}; the summary begins:`);
  console.log(indent(result.summary.split("\n").slice(0, 6)));
  const { messages } = await client.request("getContext", { sessionId, format: "llm" });
  console.log(`the model now sees ${messages.length} messages`);
}

/** Goes back to the first answer and takes a summary of the rest along. */
async function goBack(sessionId: string, ids: string[]): Promise<void> {
  const result = await client.request("navigateTree", { sessionId, targetId: ids[3]!, summarize: true });
  if (!("summaryEntry" in result)) throw new Error("the branch that is left has messages");
  console.log(`summary of the branch that was left: entry ${result.summaryEntry?.id}`);
  const { nodes } = await client.request("getTree", { sessionId });
  console.log(indent(nodes.map((node) => `${node.id} <- ${node.parentId ?? "root"}  ${node.type}  ${node.preview.slice(0, 60)}`)));
}

/** A question, a file that the model reads, and its answer. */
function turn(question: string, index: number): Message[] {
  const call = { type: "toolCall", id: `call-${index}`, name: "read", arguments: { path: "src/report.ts" } };
  const text = `Done with this: "${question}" I changed src/report.ts and ran the tests; all of them pass.`;
  return [user(question), assistant(call), toolResult(call, SOURCE), assistant({ type: "text", text })];
}

function user(content: string): Message {
  return { role: "user", content, timestamp: Date.now() };
}

function assistant(block: { type: string; [member: string]: unknown }): Message {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
  const model = { api: "example", provider: "example", model: "example-1" };
  const stopReason = block.type === "toolCall" ? "toolUse" : "stop";
  return { role: "assistant", content: [block], ...model, usage, stopReason, timestamp: Date.now() };
}

function toolResult(call: { id: string; name: string }, text: string): Message {
  const content = [{ type: "text", text }];
  return { role: "toolResult", toolCallId: call.id, toolName: call.name, content, isError: false, timestamp: Date.now() };
}

function indent(lines: string[]): string {
  return lines.map((line) => `    ${line}`).join("\n");
}
