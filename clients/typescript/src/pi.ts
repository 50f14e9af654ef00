/**
 * An extension for pi: compactd writes the summaries of compactions and of branches that are left, with the model of pi.
 * pi alone writes the session file. For a compaction compactd reads that file and returns what it would write. Where the file
 * does not end with pi's branch, and for a branch that is left, it reads a copy of the branch, which is deleted afterwards.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "./client.js";
import { CompactdError } from "./errors.js";
import { type HostModel, toldFailures, withServer } from "./host-model.js";
import type { CompactionResult, OpenSessionParams, OpenSessionResult, Usage } from "./protocol.js";

/** The part of pi's API that is used here, as its types have it. */
interface Pi {
  on(event: "session_before_compact", handler: Handler<BeforeCompact, { cancel?: boolean; compaction?: Compaction }>): unknown;
  on(event: "session_before_tree", handler: Handler<BeforeTree, { cancel?: boolean; summary?: BranchSummary }>): unknown;
}

type Handler<Event, Result> = (event: Event, context: Context) => Promise<Result | undefined>;
type Work<Result> = (client: Client, sessionId: string) => Promise<Result>;
type Entry = { type: string; id: string; parentId: string | null; [member: string]: unknown };
type BranchSummary = { summary: string; details?: unknown; usage?: Usage };
type Compaction = BranchSummary & { firstKeptEntryId: string; tokensBefore: number };

interface Context {
  cwd: string;
  hasUI: boolean;
  ui: { notify(message: string, type?: "info" | "warning" | "error"): void };
  sessionManager: { getHeader(): object | null; getBranch(fromId?: string): Entry[]; getSessionFile(): string | undefined };
  model: Model | undefined;
  modelRegistry: {
    hasConfiguredAuth(model: Model): boolean;
    /** Older versions lack it. */
    streamSimple?(model: Model, context: { systemPrompt: string; messages: object[] }, options: object): { result(): Promise<Answer> };
  };
}

interface Model {
  contextWindow: number;
  maxTokens: number;
  reasoning: boolean;
}

interface Answer {
  content: { type: string; text?: string }[];
  stopReason: string;
  errorMessage?: string;
  usage: Usage;
}

interface BeforeCompact {
  preparation: { firstKeptEntryId: string; settings: { reserveTokens: number; keepRecentTokens: number } };
  branchEntries: Entry[];
  customInstructions?: string;
  signal: AbortSignal;
}

interface BeforeTree {
  preparation: {
    oldLeafId: string | null;
    commonAncestorId: string | null;
    entriesToSummarize: Entry[];
    userWantsSummary: boolean;
    customInstructions?: string;
    replaceInstructions?: boolean;
  };
  signal: AbortSignal;
}

/** How often a request to the model is repeated. */
const MOST_RETRIES = 2;

/** Registers the handlers. */
export default function compactd(pi: Pi): void {
  pi.on("session_before_compact", ({ preparation, branchEntries, customInstructions, signal }, context) =>
    answer(signal, context, async () => {
      const { firstKeptEntryId } = preparation;
      const { reserveTokens, keepRecentTokens } = preparation.settings;
      const settings = { reserveTokens, keepRecentTokens };
      const result = (await withBranch(context, branchEntries, (client, sessionId) =>
        client.request("compact", { sessionId, commit: false, firstKeptEntryId, customInstructions, settings }, { signal }),
      )) as CompactionResult;
      const failed = toldFailures(result);
      if (failed !== undefined) warn(context, failed);
      return { compaction: compaction(result) };
    }),
  );
  pi.on("session_before_tree", async ({ preparation, signal }, context) => {
    if (!preparation.userWantsSummary || preparation.entriesToSummarize.length === 0) return undefined;
    const { customInstructions, replaceInstructions } = preparation;
    return answer(signal, context, async () => {
      const [entries, targetId] = withPlaceToGo(context.sessionManager.getBranch(preparation.oldLeafId ?? undefined), preparation.commonAncestorId);
      const result = await withCopy(context, entries, (client, sessionId) =>
        client.request("navigateTree", { sessionId, targetId, summarize: true, customInstructions, replaceInstructions }, { signal }),
      );
      const entry = "summaryEntry" in result ? result.summaryEntry : undefined;
      if (entry === undefined || entry === null) throw new Error("the branch that is left says nothing");
      return { summary: { summary: String(entry.summary), details: entry.details, usage: (entry.usage as Usage) ?? undefined } };
    });
  });
}

/** What pi gets. If compactd fails, pi writes the summary itself, and the person hears why. */
async function answer<Result>(signal: AbortSignal, context: Context, work: () => Promise<Result>): Promise<Result | { cancel: true } | undefined> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) return { cancel: true };
    const kind = error instanceof CompactdError ? ` (${error.kind})` : "";
    warn(context, `${error instanceof Error ? error.message : error}${kind}; pi summarises by itself`);
    return undefined;
  }
}

function warn({ hasUI, ui }: Context, message: string): void {
  if (hasUI) ui.notify(`compactd: ${message}`, "warning");
}

/** The model of the session; undefined if pi cannot ask it. */
function hostModel({ model, modelRegistry }: Context): HostModel | undefined {
  if (model === undefined || modelRegistry.streamSimple === undefined || !modelRegistry.hasConfiguredAuth(model)) return undefined;
  return {
    contextWindow: model.contextWindow,
    async summarize({ systemPrompt, prompt, maxTokens }, signal) {
      const messages = [{ role: "user", content: [{ type: "text", text: prompt }], timestamp: Date.now() }];
      // Without a level pi asks for no thinking. A model that thinks all the same needs more tokens than the summary has.
      const limit = model.reasoning ? {} : { maxTokens: Math.min(maxTokens, model.maxTokens || maxTokens) };
      const options = { signal, cacheRetention: "none", maxRetries: MOST_RETRIES, ...limit };
      const { content, stopReason, errorMessage, usage } = await modelRegistry.streamSimple!(model, { systemPrompt, messages }, options).result();
      if (stopReason === "error" || stopReason === "aborted") throw new Error(errorMessage ?? stopReason);
      const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
      return { text, stopReason, usage: numbers(usage) };
    },
  };
}

/** What compactd takes of a usage: its numbers. Newer versions of pi add others. */
function numbers({ cost, ...tokens }: Usage): Usage {
  const only = (members: object = {}) => Object.fromEntries(Object.entries(members).filter(([, value]) => typeof value === "number"));
  return { ...only(tokens), cost: only(cost) };
}

function compaction({ summary, firstKeptEntryId, tokensBefore, details, usage }: CompactionResult): Compaction {
  return { summary, firstKeptEntryId, tokensBefore, details, usage: (usage as Usage | null) ?? undefined };
}

/** The branch with an entry behind `ancestorId` to which compactd can go; one that says nothing and is no message. */
function withPlaceToGo(branch: Entry[], ancestorId: string | null): [Entry[], string] {
  const at = branch.findIndex(({ id }) => id === ancestorId) + 1;
  const timestamp = branch[Math.max(at - 1, 0)]?.timestamp;
  const place = { type: "custom", id: "compactd", parentId: ancestorId, timestamp, customType: "compactd.place" };
  return [[...branch.slice(0, at), place, ...branch.slice(at)], place.id];
}

/** Opens pi's file for reading if it ends with this branch, else a copy of the branch, and calls `work` with it. */
async function withBranch<Result>(context: Context, branch: Entry[], work: Work<Result>): Promise<Result> {
  const path = context.sessionManager.getSessionFile();
  // pi creates the file with the first answer.
  if (path === undefined || !existsSync(path)) return withCopy(context, branch, work);
  const leafId = branch.at(-1)?.id;
  const found = await withFile(context, { path, readOnly: true }, async (client, session) =>
    session.leafId === leafId ? { result: await work(client, session.sessionId) } : undefined,
  );
  return found === undefined ? withCopy(context, branch, work) : found.result;
}

/** Opens a session that has these entries, the last of which is the leaf, and calls `work` with it. */
async function withCopy<Result>(context: Context, entries: Entry[], work: Work<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), "compactd-pi-"));
  try {
    const path = join(directory, "branch.jsonl");
    const lines = [context.sessionManager.getHeader(), ...entries].map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(path, lines.join(""), { mode: 0o600 });
    return await withFile(context, { path }, (client, { sessionId }) => work(client, sessionId));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function withFile<Result>(
  context: Context,
  file: OpenSessionParams,
  work: (client: Client, session: OpenSessionResult) => Promise<Result>,
): Promise<Result> {
  return withServer({ name: "pi", cwd: context.cwd, model: hostModel(context) }, async (client) => work(client, await client.request("openSession", file)));
}
