import type { CancellationToken } from "vscode-jsonrpc/node";
import type { Params } from "./server";
import { type Row, type Tree, count, kind, preview, rows } from "./tree";

/** Sends a request to the server. */
export type Request = (method: string, params: Params, token?: CancellationToken) => Promise<Params>;

/** What is told while a summary is written. */
export type Tell = (message: string) => void;

/** A dry run: the context as it is and as a compaction would leave it, or why there is nothing to do. */
export type DryRun = { before: string; after: string; title: string } | { nothing: string };

/** The session that is shown: what a person can do with it, without a user interface. */
export class Session {
  readonly path: string;
  readonly #request: Request;
  #id = "";
  #tell: Tell = () => {};
  tree: Tree = { leafId: null, nodes: [] };

  constructor(path: string, request: Request) {
    this.path = path;
    this.#request = request;
  }

  /** Opens the session for reading, which leaves the file to the agent that works on it. */
  async open(): Promise<void> {
    const { sessionId } = await this.#request("openSession", { path: this.path, readOnly: true });
    this.#id = sessionId;
    await this.refresh();
  }

  async close(): Promise<void> {
    await this.#request("closeSession", { sessionId: this.#id });
  }

  async refresh(): Promise<void> {
    this.tree = (await this.#request("getTree", { sessionId: this.#id })) as Tree;
  }

  get rows(): Row[] {
    return rows(this.tree);
  }

  get title(): string {
    const { entries, branches } = count(this.tree);
    return `${entries} ${entries === 1 ? "entry" : "entries"}, ${branches} ${branches === 1 ? "branch" : "branches"}`;
  }

  /** Passes a notification on to whoever waits for a change. Gives whether the tree must be read again. */
  hear(method: string, params: Params): boolean {
    if (params.sessionId !== this.#id) return false;
    if (method === "compactionStart") this.#tell(`${params.tokensBefore} tokens before`);
    if (method === "branchSummaryStart") this.#tell(`${params.estimatedTokens} tokens are summarised`);
    if (method === "compactionProgress" || method === "branchSummaryProgress") {
      this.#tell(progress(params));
    }
    return method === "sessionChanged";
  }

  /** Compacts. Gives a sentence about what came of it. */
  compact(instructions: string | undefined, tell: Tell, token?: CancellationToken): Promise<string> {
    return this.#change("compact", { customInstructions: instructions }, tell, token, (result) => {
      return `compacted ${result.tokensBefore} tokens to ${result.tokensAfter}. ${result.brief}`;
    });
  }

  /** Brings back the context from before the last compaction. */
  undo(): Promise<string> {
    return this.#change("undoCompaction", {}, () => {}, undefined, (result) => {
      return `undone: compaction ${result.undoneEntryId}; the leaf is ${result.leafId}`;
    });
  }

  /** Goes to an entry. Gives a sentence, and the text of the message before which the leaf is now. */
  async go(targetId: string, summarize: boolean, tell: Tell, token?: CancellationToken): Promise<[string, string | undefined]> {
    let text: string | undefined;
    const told = await this.#change("navigateTree", { targetId, summarize }, tell, token, (result) => {
      text = result.editorText ?? undefined;
      const summary = result.summaryEntry ? `, the summary of what was left is ${result.summaryEntry.id}` : "";
      return `at ${targetId}${summary}${text === undefined ? "" : "; the text of the message is in the clipboard"}`;
    });
    return [told, text];
  }

  /** Says what a compaction would do; changes nothing. */
  async dryRun(): Promise<DryRun> {
    const result = await this.#request("prepareCompaction", { sessionId: this.#id, include: ["forecast"] });
    const plan = result.preparation;
    if (!plan) return { nothing: `nothing to compact: ${result.reason}` };
    const lines = this.rows.filter(({ onPath }) => onPath);
    const cut = lines.findIndex(({ node }) => node.id === plan.firstKeptEntryId);
    const text = lines.map(({ node }) => `${kind(node).padEnd(10)} ${preview(node)}\n`);
    const count = plan.messagesToSummarize.length + plan.turnPrefixMessages.length;
    const share = Math.round(result.forecast.score * 100);
    const summary = `summary of ${count} messages; by itself it keeps ${share} % of their requests, files and decisions\n`;
    return {
      before: text.join(""),
      after: [summary, ...text.slice(cut)].join(""),
      title: `Compaction of ${plan.tokensBefore} tokens (dry run)`,
    };
  }

  /** An entry as text. */
  async show(entryId: string): Promise<string> {
    const { entry } = await this.#request("getEntry", { sessionId: this.#id, entryId });
    const content = entry.summary ?? entry.message?.content ?? entry;
    if (Array.isArray(content)) return content.map(blockText).join("\n\n");
    return typeof content === "string" ? content : JSON.stringify(content, undefined, 2);
  }

  /** Does one change. The session is open for writing for just as long. */
  async #change(
    method: string,
    params: Params,
    tell: Tell,
    token: CancellationToken | undefined,
    done: (result: Params) => string,
  ): Promise<string> {
    await this.#request("openSession", { path: this.path });
    this.#tell = tell;
    try {
      return done(await this.#request(method, { sessionId: this.#id, ...params }, token));
    } finally {
      this.#tell = () => {};
      await this.close().then(() => this.open());
    }
  }
}

const PHASES: { [phase: string]: string } = {
  waiting: "the model failed; it is asked again soon",
  committing: "writing the summary",
};

/** What a person reads of progress. */
function progress({ phase, request, requests, outputTokens }: Params): string {
  if (phase !== "summarizing") return PHASES[phase] ?? phase;
  return `summarizing: ${requests > 1 ? `request ${request} of ${requests}, ` : ""}${outputTokens} tokens written`;
}

/** A block of a message: its text, or what a tool is called with. */
function blockText(block: Params): string {
  if (block.type === "toolCall") {
    const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
    return [`[${block.name}]`, ...Object.entries(block.arguments).map(([name, value]) => `${name}: ${shown(value)}`)].join("\n");
  }
  return block.text ?? block.thinking ?? `[${block.type}]`;
}
