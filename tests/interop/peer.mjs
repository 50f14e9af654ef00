// Asks the published package about session files.
//
// Reads one request per line on standard input and writes one answer per line on standard output.
// A request is {file, cases: [{leaf, keepRecentTokens, focus}], ways: [[oldLeaf, target, budget]]}; entries
// are named by their position in the file, since the package gives entries of version 1 random ids.
// The package rewrites files of older versions: give it a copy.
import { createInterface } from "node:readline";

const core = new URL("./node_modules/@earendil-works/pi-coding-agent/dist/core/", import.meta.url);
const load = (module) => import(new URL(module, core));
const { SessionManager, buildSessionProjection, projectContextEntry, sessionEntryToContextMessages } =
  await load("session-manager.js");
const { compact, estimateProjectedContextTokens, estimateTokens, prepareCompaction } = await load("compaction/compaction.js");
const { collectEntriesForBranchSummary, prepareBranchEntries } = await load("compaction/branch-summarization.js");
const { createFileOps, extractFileOpsFromMessage, serializeConversation } = await load("compaction/utils.js");
const { convertToLlm } = await load("messages.js");

class Session {
  constructor(file) {
    this.manager = SessionManager.open(file);
    // Of entries with one id the last one counts.
    this.entries = this.manager.getEntries().filter((entry) => this.manager.getEntry(entry.id) === entry);
    this.positions = new Map(this.entries.map((entry, position) => [entry.id, position]));
  }

  id(position) {
    return position === null ? this.manager.getLeafId() : this.entries[position].id;
  }

  position(id) {
    return this.positions.get(id) ?? null;
  }

  /** Everything that is asked at one leaf. */
  async answer({ leaf, keepRecentTokens, focus }) {
    const path = this.manager.getBranch(this.id(leaf));
    const projection = buildSessionProjection(path);
    const { tokens, usageTokens, trailingTokens } = estimateProjectedContextTokens(projection, path);
    const depths = new Map(path.map((entry, index) => [entry, path.length - 1 - index]));
    return {
      projected: projection.entries.map((entry) => this.projected(entry, depths.get(entry.sourceEntry))),
      thinkingLevel: projection.thinkingLevel,
      model: projection.model,
      tokens: [tokens, usageTokens, trailingTokens],
      ...(await this.preparation(path, keepRecentTokens, focus)),
    };
  }

  /** One entry of the context, with what a cut and the lists of files are decided by. */
  projected({ sourceEntry, messages }, depth) {
    const files = createFileOps();
    for (const message of messages) extractFileOpsFromMessage(message, files);
    return {
      position: this.position(sourceEntry.id),
      depth,
      entry: sourceEntry,
      messages: messages.map((message) => this.message(message)),
      files: sorted(files),
    };
  }

  message(message) {
    const llm = convertToLlm([message]);
    return { message, tokens: estimateTokens(message), llm: llm[0] ?? null, text: serializeConversation(llm) };
  }

  /** What a compaction is made from, and what a model is asked for it. */
  async preparation(path, keepRecentTokens, focus) {
    const settings = { enabled: true, reserveTokens: 16384, keepRecentTokens };
    const prepared = prepareCompaction(path, settings);
    if (!prepared) return { preparation: null, prompts: [] };
    const { firstKeptEntryId, messagesToSummarize, turnPrefixMessages, isSplitTurn, tokensBefore } = prepared;
    const preparation = {
      firstKept: this.position(firstKeptEntryId),
      messagesToSummarize,
      turnPrefixMessages,
      isSplitTurn,
      tokensBefore,
      previousSummary: prepared.previousSummary ?? null,
      files: sorted(prepared.fileOps),
    };
    return { preparation, prompts: await prompts(prepared, focus) };
  }

  /** Where a way meets, what it leaves, and what a summary of that is made from. */
  async way([oldLeaf, target, budget]) {
    const found = collectEntriesForBranchSummary(this.manager, this.id(oldLeaf), this.id(target));
    return {
      commonAncestor: this.position(found.commonAncestorId),
      entries: found.entries.map((entry) => this.position(entry.id)),
      ...(await this.branch(oldLeaf, found.entries, budget)),
    };
  }

  /** The summary of a branch, and what it can be derived from: each entry alone, and what the context has of it. */
  async branch(oldLeaf, stored, budget) {
    const entries = stored.map(withContent);
    const { messages, totalTokens, fileOps } = prepareBranchEntries(entries, budget);
    const edits = entries.filter((entry) => entry.type === "context_edit");
    const alone = (entry) => prepareBranchEntries([entry, ...edits]);
    const left = new Set(stored);
    const { entries: context } = buildSessionProjection(this.manager.getBranch(this.id(oldLeaf)));
    return {
      messages,
      tokens: totalTokens,
      fails: (await attempt(() => prepareBranchEntries(stored, budget))).error !== undefined,
      files: sorted(fileOps),
      told: entries.map((entry) => {
        const prepared = alone(entry);
        return told(entry, prepared.messages, prepared.fileOps, filesOfResult(entry, edits));
      }),
      seen: context.filter((one) => left.has(one.sourceEntry)).map((one) => told(one.sourceEntry, one.messages)),
    };
  }
}

/** The entry with the empty content that contexts show where it has none. */
function withContent(entry) {
  if (entry.type === "custom_message") return { ...entry, content: entry.content ?? [] };
  return entry.type === "message" ? { ...entry, message: sessionEntryToContextMessages(entry)[0] } : entry;
}

/** The files of the calls that a tool has made, by the result that tells of them. */
function filesOfResult(entry, edits) {
  const files = createFileOps();
  if (entry.type !== "message" || entry.message.role !== "toolResult") return files;
  const edit = edits.findLast(({ targetId }) => targetId === entry.id);
  for (const message of projectContextEntry(entry, edit)) extractFileOpsFromMessage(message, files);
  return files;
}

function told({ type, fromHook, details }, messages, files = createFileOps(), filesOfResult = createFileOps()) {
  const estimated = messages.map((message) => ({ message, tokens: estimateTokens(message) }));
  const entry = { type, fromHook, details };
  return { entry, messages: estimated, files: sorted(files), filesOfResult: sorted(filesOfResult) };
}

function sorted({ read, written, edited }) {
  return { read: [...read].sort(), written: [...written].sort(), edited: [...edited].sort() };
}

/** The prompts of a compaction, whose model answers next to nothing. */
async function prompts(prepared, focus) {
  const asked = [];
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const usage = { ...none, totalTokens: 0, cost: { ...none, total: 0 } };
  const answer = { role: "assistant", content: [{ type: "text", text: "-" }], stopReason: "stop", usage };
  const stream = (_model, { messages }) => {
    const { content } = messages.findLast((message) => message.role === "user");
    asked.push(content[0].text);
    return { result: async () => answer };
  };
  const model = { id: "none", provider: "none", reasoning: false, maxTokens: 0, contextWindow: 0 };
  await compact(prepared, model, undefined, undefined, focus, undefined, undefined, stream);
  return asked;
}

/** The answer of `ask`, or the error that the package threw. */
async function attempt(ask) {
  try {
    return await ask();
  } catch (error) {
    return { error: String(error) };
  }
}

function respond({ file, cases = [], ways = [] }) {
  return attempt(async () => {
    const session = new Session(file);
    return {
      ids: session.entries.map((entry) => entry.id),
      leaf: session.position(session.manager.getLeafId()),
      cases: await Promise.all(cases.map((one) => attempt(() => session.answer(one)))),
      ways: await Promise.all(ways.map((way) => attempt(() => session.way(way)))),
    };
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await respond(JSON.parse(line)))}\n`);
}
