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

/** Histories by session, the one that was used last at the end. */
class Histories {
  /** Settings of compactd for the histories that are opened next. */
  settings: Record<string, unknown> = {};
  readonly #kept = new Map<string, BoundedHistory<Message>>();
  /** What asks the models of sessions. */
  readonly #models = new Map<string, Complete>();
  /** Does something as a part of the latest call of OpenClaw for a session: it lets a plugin do nothing outside of its calls. */
  readonly #inCall = new Map<string, <Result>(work: () => Result) => Result>();

  /** Learns how to ask the model of a session. */
  learn({ sessionId, runtimeContext }: Run): void {
    const complete = runtimeContext?.llm?.complete;
    if (complete !== undefined) this.#models.set(sessionId, complete);
  }

  /** The history of a session, for a window of this size. */
  async of({ sessionId, tokenBudget }: Run, agentDir: string | undefined): Promise<BoundedHistory<Message>> {
    const history = this.#kept.get(sessionId) ?? this.#open(sessionId, agentDir, tokenBudget);
    this.#inCall.set(sessionId, AsyncLocalStorage.snapshot());
    if (tokenBudget !== undefined) history.contextWindow = tokenBudget;
    this.#kept.delete(sessionId);
    this.#kept.set(sessionId, history);
    const [[id, oldest] = []] = this.#kept;
    if (this.#kept.size > MOST_HISTORIES && id !== undefined) {
      this.#kept.delete(id);
      this.#models.delete(id);
      this.#inCall.delete(id);
      await oldest?.close();
    }
    return history;
  }

  #open(sessionId: string, agentDir: string | undefined, contextWindow = USUAL_WINDOW): BoundedHistory<Message> {
    const path = agentDir && join(agentDir, "compactd", `${encodeURIComponent(sessionId)}.jsonl`);
    const summarize = (params: SummarizeParams, signal: AbortSignal) => this.#summarize(sessionId, params, signal);
    const client = { stderr: "ignore", ownProcessGroup: true } as const;
    return new BoundedHistory(codec, { contextWindow, settings: this.settings, summarize, client, ...(path && { path }) });
  }

  async #summarize(sessionId: string, { systemPrompt, prompt, maxTokens }: SummarizeParams, signal: AbortSignal): Promise<SummarizeResult> {
    const complete = this.#models.get(sessionId);
    const inCall = this.#inCall.get(sessionId);
    if (complete === undefined || inCall === undefined) throw new Error("OpenClaw has not said how to ask the model of this session");
    const messages = [{ role: "user" as const, content: prompt }];
    const { text, stopReason = "stop", usage } = await inCall(() => complete({ messages, systemPrompt, maxTokens, signal, purpose: "compactd.summary" }));
    const { inputTokens: input, outputTokens: output, cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite, totalTokens } = usage;
    return { text, stopReason, usage: { input, output, cacheRead, cacheWrite, totalTokens } };
  }
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
