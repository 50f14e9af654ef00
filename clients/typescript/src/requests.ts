import type { CompactionReason, Entry, FreeObject, Preparation } from "./protocol.js";

type Maybe<T> = T | Promise<T>;

/** Answers requests of the server; the signal aborts when the server no longer wants the answer. */
export type Handler<Params, Result> = (params: Params, signal: AbortSignal) => Maybe<Result>;

/**
 * What a client may answer. `initialize` tells the server which of them are there. To refuse a
 * request, throw; the server's operation then fails with nothing changed.
 */
export interface Handlers {
  /** Writes a summary with the host's own model. */
  summarize?: Handler<SummarizeParams, SummarizeResult>;
  /** Called before a compaction. */
  sessionBeforeCompact?: Handler<BeforeCompactParams, BeforeCompactResult>;
  /** Called before every navigation. */
  sessionBeforeTree?: Handler<BeforeTreeParams, BeforeTreeResult>;
  /** Called before a fork. */
  sessionBeforeFork?: Handler<BeforeForkParams, BeforeForkResult>;
}

export interface SummarizeParams {
  sessionId: string;
  operationId: string;
  kind: "history" | "turnPrefix" | "branch";
  systemPrompt: string;
  prompt: string;
  /** Output tokens at most. */
  maxTokens: number;
}

export interface SummarizeResult {
  text: string;
  /** `stop` if the model finished; anything else, as `length`, is not taken for a summary. */
  stopReason: string;
  usage?: FreeObject;
}

export interface BeforeCompactParams {
  sessionId: string;
  operationId: string;
  preparation: Preparation;
  branchEntries: Entry[];
  customInstructions?: string;
  reason: CompactionReason;
  willRetry: boolean;
}

/** Cancels, gives the summary, or (empty) lets the compaction go on. */
export interface BeforeCompactResult {
  cancel?: boolean;
  compaction?: {
    summary: string;
    firstKeptEntryId: string;
    tokensBefore?: number;
    details?: FreeObject;
    usage?: FreeObject;
  };
}

export interface BeforeTreeParams {
  sessionId: string;
  operationId: string;
  preparation: {
    targetId: string;
    oldLeafId: string | null;
    commonAncestorId: string | null;
    entriesToSummarize: string[];
    userWantsSummary: boolean;
    customInstructions?: string;
    replaceInstructions?: boolean;
    label?: string;
  };
}

/** Cancels, gives the summary, changes the instructions, or (empty) lets the navigation go on. */
export interface BeforeTreeResult {
  cancel?: boolean;
  summary?: { summary: string; details?: FreeObject };
  customInstructions?: string;
  replaceInstructions?: boolean;
  label?: string;
}

export interface BeforeForkParams {
  sessionId: string;
  entryId: string;
  position: "before" | "at";
}

export interface BeforeForkResult {
  cancel?: boolean;
}
