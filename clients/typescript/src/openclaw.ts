/**
 * A plugin for OpenClaw: a context engine that keeps what the model sees within its window, and `recall` as a tool.
 * OpenClaw alone stores the conversation. compactd keeps a session file of its own beside the agent, which it brings up to date
 * from the messages of every run.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import { BoundedHistory, type Codec } from "./bounded-history.js";
import { CompactdError } from "./errors.js";
import type { Message, RecalledEntry, SummarizeParams, SummarizeResult } from "./protocol.js";

/** The part of OpenClaw's plugin API that is used here, as its types have it. */
interface Api {
  pluginConfig?: Record<string, unknown>;
  logger: { warn(message: string): void };
  registerContextEngine(id: string, factory: (context: { agentDir?: string }) => object): void;
  registerTool(factory: (context: { sessionId?: string; agentDir?: string }) => object, options: { name: string }): void;
}

/** What OpenClaw says of a session in every call. */
interface Run {
  sessionId: string;
  tokenBudget?: number;
  /** Asks the model of the session. */
  runtimeContext?: { llm?: { complete: Complete } };
}

interface AssembleParams extends Run {
  messages: Message[];
}

interface CompactParams extends Run {
  customInstructions?: string;
  abortSignal?: AbortSignal;
}

type Complete = (params: {
  messages: { role: "user"; content: string }[];
  systemPrompt: string;
  maxTokens: number;
  signal: AbortSignal;
  purpose: string;
}) => Promise<{ text: string; stopReason?: string; usage: { [tokens: string]: number | undefined } }>;

/** Tokens of the window where OpenClaw does not say how many. */
const USUAL_WINDOW = 200_000;
/** Servers that wait for the next run of their session. */
const MOST_HISTORIES = 4;
/** Sessions whose model is known. */
const MOST_SESSIONS = 64;

export default {
  id: "compactd",
  name: "compactd",
  description: "Keeps the context within the window of the model, and recalls what compactions took out.",
  register(api: Api): void {
    const histories = shared();
    histories.settings = api.pluginConfig ?? {};
    api.registerContextEngine("compactd", ({ agentDir }) => engine(histories, agentDir));
    api.registerTool(({ sessionId, agentDir }) => recallTool(histories, sessionId, agentDir), { name: "recall" });
  },
};

const SHARED = Symbol.for("compactd.openclaw");

/** OpenClaw loads and registers a plugin more than once in a process, but a session file has one writer. */
function shared(): Histories {
  const all = globalThis as { [SHARED]?: Histories };
  return (all[SHARED] ??= new Histories());
}

function engine(histories: Histories, agentDir: string | undefined): object {
  return {
    info: {
      id: "compactd",
      name: "compactd",
      ownsCompaction: true,
      acceptedHostParams: ["runtimeContext"],
      transcriptSemantics: { currentTurnFence: "before-current-turn-entry-v1", turnAdvancementIdempotency: "atomic-idempotent-v1" },
    },

    // `assemble` gets every message of the transcript, and takes over those that are new.
    ingest: () => Promise.resolve({ ingested: false }),
    commitTurn: () => Promise.resolve({ status: "committed" }),

    // Every run but the first of a session begins with it. `assemble`, in which compactd compacts, is not told how to ask the model.
    bootstrap(run: Run) {
      histories.learn(run);
      return Promise.resolve({ bootstrapped: true });
    },

    async assemble({ messages, ...run }: AssembleParams) {
      const history = await histories.of(run, agentDir);
      const fitted = await history.fit(messages);
      return { messages: fitted, estimatedTokens: history.tokens };
    },

    async compact({ customInstructions, abortSignal, ...run }: CompactParams) {
      histories.learn(run);
      const history = await histories.of(run, agentDir);
      try {
        const { summary, tokensBefore, tokensAfter } = await history.compact(customInstructions, { signal: abortSignal });
        return { ok: true, compacted: true, result: { summary, tokensBefore, tokensAfter } };
      } catch (error) {
        if (error instanceof CompactdError && ["nothingToCompact", "alreadyCompacted", "summaryRejected"].includes(error.kind ?? "")) {
          return { ok: true, compacted: false, reason: error.message };
        }
        throw error;
      }
    },

    // Histories serve later runs of their sessions, too.
    dispose: () => Promise.resolve(),
  };
}

function recallTool(histories: Histories, sessionId: string | undefined, agentDir: string | undefined): object {
  return {
    name: "recall",
    label: "recall",
    description:
      "Finds what compactions took out of this conversation: messages and results of tools, word for word. " +
      "Use it when the summary lacks a detail, before you ask the user or read a file again.",
    parameters: {
      type: "object",
      properties: { query: { type: "string", description: "Words to look for, such as names, paths, numbers or a part of an error." } },
      required: ["query"],
      additionalProperties: false,
    },
    async execute(_id: string, { query }: { query: string }) {
      if (sessionId === undefined) throw new Error("this run has no session");
      const history = await histories.of({ sessionId }, agentDir);
      const text = told(await history.recall(query));
      return { content: [{ type: "text", text }], details: {} };
    },
  };
}

function told(entries: RecalledEntry[]): string {
  if (entries.length === 0) return "Nothing that compactions took out of this conversation matches.";
  return entries.map(({ role, type, text }) => `[${role ?? type}]\n${text}`).join("\n\n");
}

/** What is known of a session of OpenClaw. */
interface Session {
  /** Asks its model. */
  complete?: Complete;
  /** Does something as a part of the latest call of OpenClaw for it: OpenClaw lets a plugin do nothing outside of its calls. */
  inCall?: <Result>(work: () => Result) => Result;
  /** Its history, while the server runs. */
  history?: BoundedHistory<Message>;
}

/** Histories of sessions. */
class Histories {
  /** Settings of compactd for the histories that are opened next. */
  settings: Record<string, unknown> = {};
  /** By id, the one that was used last at the end. */
  readonly #sessions = new Map<string, Session>();

  /** Learns how to ask the model of a session. */
  learn({ sessionId, runtimeContext }: Run): void {
    const complete = runtimeContext?.llm?.complete;
    if (complete !== undefined) this.#use(sessionId).complete = complete;
  }

  /** The history of a session, for a window of this size. */
  async of({ sessionId, tokenBudget }: Run, agentDir: string | undefined): Promise<BoundedHistory<Message>> {
    const session = this.#use(sessionId);
    session.inCall = AsyncLocalStorage.snapshot();
    const history = (session.history ??= this.#open(session, sessionId, agentDir, tokenBudget));
    if (tokenBudget !== undefined) history.contextWindow = tokenBudget;
    const open = [...this.#sessions.values()].filter(({ history }) => history !== undefined);
    await Promise.all(open.slice(0, -MOST_HISTORIES).map(close));
    return history;
  }

  /** What is known of a session, which is the latest now. One that has not been used for long is forgotten. */
  #use(sessionId: string): Session {
    const session = this.#sessions.get(sessionId) ?? {};
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, session);
    const [[id, oldest] = []] = this.#sessions;
    if (this.#sessions.size > MOST_SESSIONS && id !== undefined && oldest !== undefined) {
      this.#sessions.delete(id);
      void close(oldest).catch(() => {});
    }
    return session;
  }

  #open(session: Session, sessionId: string, agentDir: string | undefined, contextWindow = USUAL_WINDOW): BoundedHistory<Message> {
    const path = agentDir && join(agentDir, "compactd", `${encodeURIComponent(sessionId)}.jsonl`);
    const summarize = (params: SummarizeParams, signal: AbortSignal) => ask(session, params, signal);
    const client = { stderr: "ignore", ownProcessGroup: true } as const;
    return new BoundedHistory(codec, { contextWindow, settings: this.settings, summarize, client, ...(path && { path }) });
  }
}

/** Ends the server of a session. The session may be opened again. */
async function close(session: Session): Promise<void> {
  const { history } = session;
  session.history = undefined;
  await history?.close();
}

async function ask({ complete, inCall }: Session, { systemPrompt, prompt, maxTokens }: SummarizeParams, signal: AbortSignal): Promise<SummarizeResult> {
  if (complete === undefined || inCall === undefined) throw new Error("OpenClaw has not said how to ask the model of this session");
  const messages = [{ role: "user" as const, content: prompt }];
  const { text, stopReason = "stop", usage } = await inCall(() => complete({ messages, systemPrompt, maxTokens, signal, purpose: "compactd.summary" }));
  const { inputTokens: input, outputTokens: output, cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite, totalTokens } = usage;
  return { text, stopReason, usage: { input, output, cacheRead, cacheWrite, totalTokens } };
}

/** OpenClaw's messages are those that a session stores, but for roles of its own. */
const codec: Codec<Message> = {
  format: "pi",

  toFormat({ usage, ...message }) {
    // The usage of an answer counts the instructions and tools, too, and was measured before later compactions.
    if (["user", "assistant", "toolResult"].includes(message.role as string)) return message;
    const { role: customType, content, summary, timestamp } = message;
    return { role: "custom", customType, content: content ?? String(summary ?? ""), display: false, timestamp };
  },

  fromFormat: (message) => message as Message,
};
