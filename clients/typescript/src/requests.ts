import type {
  CancelResult,
  SessionBeforeCompact,
  SessionBeforeCompactResult,
  SessionBeforeFork,
  SessionBeforeTree,
  SessionBeforeTreeResult,
  SummarizeParams,
  SummarizeResult,
} from "./protocol.js";

type Maybe<T> = T | Promise<T>;

/** Answers requests of the server; the signal aborts when the server no longer wants the answer. */
export type Handler<Params, Result> = (params: Params, signal: AbortSignal) => Maybe<Result>;

/**
 * What a client may answer: a plain object, or one of a class. `initialize` tells the server which
 * functions are there. To refuse a request, throw; the server's operation then fails with nothing
 * changed.
 */
export interface Handlers {
  /** Writes a summary with the host's own model. */
  summarize?: Handler<SummarizeParams, SummarizeResult>;
  /** Called before a compaction. */
  sessionBeforeCompact?: Handler<SessionBeforeCompact, SessionBeforeCompactResult>;
  /** Called before every navigation. */
  sessionBeforeTree?: Handler<SessionBeforeTree, SessionBeforeTreeResult>;
  /** Called before a fork. */
  sessionBeforeFork?: Handler<SessionBeforeFork, CancelResult>;
}
