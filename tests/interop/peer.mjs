// Asks the published package about session files.
//
// Reads one request per line on standard input and writes one answer per line on standard output.
// A request is {file, cases: [{leaf, keepRecentTokens}], pairs: [[oldLeaf, target]]}; entries are
// named by their position in the file, since the package gives entries of version 1 random ids.
// The package rewrites files of older versions: give it a copy.
import { createInterface } from "node:readline";

const core = new URL("./node_modules/@earendil-works/pi-coding-agent/dist/core/", import.meta.url);
const load = (module) => import(new URL(module, core));
const { SessionManager, buildSessionProjection } = await load("session-manager.js");
const { estimateProjectedContextTokens, estimateTokens, prepareCompaction } = await load("compaction/compaction.js");
const { collectEntriesForBranchSummary } = await load("compaction/branch-summarization.js");
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
  answer({ leaf, keepRecentTokens }) {
    const path = this.manager.getBranch(this.id(leaf));
    const projection = buildSessionProjection(path);
    const { tokens, usageTokens, trailingTokens } = estimateProjectedContextTokens(projection, path);
    const depths = new Map(path.map((entry, index) => [entry, path.length - 1 - index]));
    return {
      projected: projection.entries.map((entry) => this.projected(entry, depths.get(entry.sourceEntry))),
      thinkingLevel: projection.thinkingLevel,
      model: projection.model,
      tokens: [tokens, usageTokens, trailingTokens],
      preparation: this.preparation(path, keepRecentTokens),
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

  preparation(path, keepRecentTokens) {
    const settings = { enabled: true, reserveTokens: 16384, keepRecentTokens };
    const prepared = prepareCompaction(path, settings);
    if (!prepared) return null;
    const { firstKeptEntryId, messagesToSummarize, turnPrefixMessages, isSplitTurn, tokensBefore } = prepared;
    return {
      firstKept: this.position(firstKeptEntryId),
      messagesToSummarize,
      turnPrefixMessages,
      isSplitTurn,
      tokensBefore,
      previousSummary: prepared.previousSummary ?? null,
      files: sorted(prepared.fileOps),
    };
  }

  navigation([oldLeaf, target]) {
    const found = collectEntriesForBranchSummary(this.manager, this.id(oldLeaf), this.id(target));
    return {
      commonAncestor: this.position(found.commonAncestorId),
      entries: found.entries.map((entry) => this.position(entry.id)),
    };
  }
}

function sorted({ read, written, edited }) {
  return { read: [...read].sort(), written: [...written].sort(), edited: [...edited].sort() };
}

/** The answer of `ask`, or the error that the package threw. */
function attempt(ask) {
  try {
    return ask();
  } catch (error) {
    return { error: String(error) };
  }
}

function respond({ file, cases = [], pairs = [] }) {
  return attempt(() => {
    const session = new Session(file);
    return {
      ids: session.entries.map((entry) => entry.id),
      leaf: session.position(session.manager.getLeafId()),
      cases: cases.map((one) => attempt(() => session.answer(one))),
      pairs: pairs.map((pair) => attempt(() => session.navigation(pair))),
    };
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(respond(JSON.parse(line)))}\n`);
}
