// Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.

/** Result of `abortCompaction`. */
export interface AbortResult {
  /** Whether an operation was running. */
  aborted: boolean;
}

/**
 * A message in the shape that `format` names; where no other is named, one as the session file
 * stores it.
 */
export interface AnyMessage {
  /** Who speaks; items of `openai-responses` may have none. */
  role?: string;
  [member: string]: unknown;
}

/** Parameters of `appendEntry`. */
export interface AppendEntryParams {
  /** The session. */
  sessionId: string;
  /** The entry to append. */
  entry: NewEntry;
  /** The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`. */
  expectedLeafId?: string | null;
}

/** Parameters of `appendMessage`. */
export interface AppendMessageParams {
  /** The session. */
  sessionId: string;
  /** The message. */
  message: AnyMessage;
  /** The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`. */
  expectedLeafId?: string | null;
  /** Format of the message. Default: `pi`. */
  format?: MessageFormat | null;
}

/** Result of `appendMessage`. */
export interface AppendMessageResult {
  /** The new entry, or the last one if the message became several. */
  entryId: string;
  /** The new leaf. */
  leafId: string;
  /** The compaction that the server has begun because of this message, or why it has not begun. */
  compaction?: AutomaticCompaction | null;
  /** Usage of the context, if the session's model is known. */
  contextUsage?: ContextUsage | null;
  /** The new entries, if the message became several: an entry holds one tool result. */
  entryIds?: Array<string>;
}

/** Parameters of `appendMessages`. */
export interface AppendMessagesParams {
  /** The session. */
  sessionId: string;
  /** The messages, oldest first; at least one, at most 10000. */
  messages: Array<AnyMessage>;
  /** The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`. */
  expectedLeafId?: string | null;
  /** Format of the messages. Default: `pi`. */
  format?: MessageFormat | null;
}

/** Result of `appendMessages`. */
export interface AppendMessagesResult {
  /**
   * The new entries, oldest first. One message may become several entries, and several items of one
   * answer become
   * one.
   */
  entryIds: Array<string>;
  /** For each entry the index of its message, or of its first message. */
  sources: Array<number>;
  /** The new leaf. */
  leafId: string;
  /** The compaction that the server has begun because of these messages, or why it has not begun. */
  compaction?: AutomaticCompaction | null;
  /** Usage of the context, if the session's model is known. */
  contextUsage?: ContextUsage | null;
}

/** Result of calls that append one entry. */
export interface AppendedResult {
  /** The new entry. */
  entryId: string;
  /** The new leaf. */
  leafId: string;
}

/** Automatic compaction of a session. */
export interface AutoCompactionOptions {
  /** The model of the session's requests. */
  model: Model;
}

/** A compaction that is due. */
export interface AutomaticCompaction {
  /** Why it is due: `threshold` or `overflow`. */
  reason: CompactionReason;
  /** Whether to repeat the failed request after the compaction. */
  willRetry: boolean;
  /** Tokens of the context. */
  contextTokens: number;
  /** Maximum number of tokens. More make a compaction due. */
  threshold: number;
  /** Tool results that were shortened in the context at once. Their entries keep the whole results. */
  clipped?: Array<ClippedResult>;
  /** Why it could not begin, as in `compactionEnd`. */
  error?: ErrorBody | null;
  /** The input. If the provider answered a part of the context: the minimum size of the context. */
  inputTokens?: number | null;
  /**
   * Maximum that the provider accepts, of input or of input and output together. If the provider
   * answered a part of
   * the context: the number of tokens that it read.
   */
  limit?: number | null;
  /**
   * Id of the operation. `compactionEnd` reports its outcome. With `operationInProgress`, the id of
   * the running
   * operation.
   */
  operationId?: string | null;
  /** The requested output. */
  requestedOutputTokens?: number | null;
  /**
   * Why nothing is done: `operationInProgress` (checked again when that operation ends),
   * `failedRepeatedly`,
   * `undone` (a compaction was undone since the person's last message), `overflowRecoveryTried` (a
   * `compactionEnd`
   * explains what a person can do), `outputTooLarge` (the requested output fills the limit, so no
   * context is small
   * enough), `otherModel` (another model refused the context), `olderThanCompaction`,
   * `alreadyCompacted`, or
   * `disabled`.
   */
  skipped?: string | null;
  /** When automatic compaction resumes after several failures in a row. */
  until?: string | null;
}

/** `branchSummaryEnd`: exactly one for every `branchSummaryStart`, sent before the reply. */
export interface BranchSummaryEnd {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
  /** Whether it was cancelled. */
  aborted: boolean;
  /** The error, if it failed. */
  error?: ErrorBody | null;
  /** The result, unless it failed. */
  result?: NavigationResult | null;
}

/** `branchSummaryStart`. */
export interface BranchSummaryStart {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
  /** The entry to go to. */
  targetId: string;
  /** The leaf that would be left. */
  oldLeafId: string | null;
  /** Estimated input tokens of the summary. */
  estimatedTokens: number;
}

/** The client's answer to `sessionBeforeFork`. */
export interface CancelResult {
  /** Whether to cancel the operation. */
  cancel?: boolean | null;
}

/** Parameters of `checkCompaction`. */
export interface CheckCompactionParams {
  /** The session. */
  sessionId: string;
  /** The model of the next request. */
  model: Model;
  /** The assistant message to judge. Default: the last one of the context. */
  message?: Message | null;
  /** Settings for this call: members of `compaction`, or an object like that of `updateSettings`. */
  settings?: FreeObject | null;
}

/** Result of `checkCompaction`. */
export interface CheckCompactionResult {
  /** The decision. */
  action: CompactionAction;
  /** Whether to repeat the failed request after the compaction. */
  willRetry: boolean;
  /** Tokens of the context. */
  contextTokens: number;
  /** Tokens above which the threshold is crossed. */
  threshold: number;
  /** The input. If the provider answered a part of the context: the minimum size of the context. */
  inputTokens?: number | null;
  /**
   * Tokens of recent context that a compaction would keep verbatim, adapted to the window. Absent if
   * the window is
   * not known.
   */
  keepRecentTokens?: number | null;
  /**
   * Maximum that the provider accepts, of input or of input and output together. If the provider
   * answered a part of
   * the context: the number of tokens that it read.
   */
  limit?: number | null;
  /** The reason. */
  reason?: CompactionReason | null;
  /** The requested output. */
  requestedOutputTokens?: number | null;
  /** Tokens of the window that stay free, adapted to the window. Absent if the window is not known. */
  reserveTokens?: number | null;
  /**
   * Why nothing is done although something might seem due: one of the values of `skipped` in
   * `appendMessage`, or
   * `unknownWindow`, `aborted`.
   */
  skipped?: string | null;
}

/** Parameters of `checkSession`. Either `sessionId` or `path` is required. */
export interface CheckSessionParams {
  /** Path of a file. Ignored if a session is named. */
  path?: string | null;
  /** An open session. */
  sessionId?: string | null;
}

/** Result of `checkSession`. */
export interface CheckSessionResult {
  /** Problems in the file, including those in bodies. */
  diagnostics: Array<Diagnostic>;
}

/** Requests that a client answers, and notifications that it wants. */
export interface ClientCapabilities {
  /**
   * The client wants whole entries in `entryAppended`, not only `type`, `id`, `parentId` and
   * `timestamp`. Default:
   * true.
   */
  entryBodies?: boolean | null;
  /** Names of the hooks that the client answers. */
  hooks?: Array<string>;
  /**
   * The client wants `details.compactd.ledger` in the results of compactions. Default: true. The
   * stored entry always
   * has it.
   */
  ledgers?: boolean | null;
  /** The client wants progress notifications. Default: true. */
  progress?: boolean | null;
  /** The client answers `summarize`. */
  summarize?: boolean;
  /**
   * Modes of `summarize` that the client answers: `transcript` always, `continue` if it is listed
   * here. A client
   * that continues must be able to repeat the conversation as in its last request, with the same
   * model, prompt and
   * tools.
   */
  summarizeModes?: Array<string>;
}

/** Who the client is. */
export interface ClientInfo {
  /** Name of the program. */
  name: string;
  /** Its version. */
  version?: string | null;
}

/**
 * A tool result that was shortened in the context because it is larger than the room in the
 * window.
 */
export interface ClippedResult {
  /** The entry of the result. It keeps the whole result. */
  entryId: string;
  /** Its tokens before. */
  tokensBefore: number;
  /** Its tokens after. */
  tokensAfter: number;
}

/** Parameters of `compactMessages`. */
export interface CompactMessagesParams {
  /**
   * The whole context, oldest message first; at most 10000. With `previous`: the messages of the
   * result that
   * contained it, and the later ones.
   */
  messages: Array<AnyMessage>;
  /** Whether to accept a summary that is not smaller than what it replaces. */
  force?: boolean;
  /** Format of the messages. Default: `pi`. */
  format?: MessageFormat | null;
  /** What the summary should focus on. */
  instructions?: string | null;
  /**
   * The model for which the messages are. The new context, with leading instructions, leaves room
   * for its answers.
   */
  model?: Model | null;
  /** `previous` in the last result for this conversation. */
  previous?: FreeObject | null;
  /** Compaction settings for this call. */
  settings?: FreeObject | null;
  /**
   * The summarizer for this call, instead of the configured one, or a list: if one fails, the next
   * one is asked.
   */
  summarizer?: SummarizerChoice | null;
}

/** Result of `compactMessages`. */
export interface CompactMessagesResult {
  /** The messages of the new context: leading instructions, the summary, and the messages that stay. */
  messages: Array<AnyMessage>;
  /** Index in the request of the oldest message that stays. */
  keptFrom: number;
  /** Opaque value for the next call. */
  previous: FreeObject;
  /** The compaction. Its entry ids are those of a copy that ended with the call. */
  report: CompactionResult;
  /** Instructions from between the messages, for interfaces that take them separately. */
  system?: string | null;
}

/** Parameters of `compact`. */
export interface CompactParams {
  /** The session. */
  sessionId: string;
  /**
   * Whether to write the compaction (true, the default). If false, a copy in memory is compacted and
   * the session
   * does not change. `firstKeptEntryId` and `details` contain entry ids of the session; `entryId`
   * names no entry.
   * The notifications contain a session id of the copy.
   */
  commit?: boolean | null;
  /** What the summary should focus on. */
  customInstructions?: string | null;
  /** The oldest entry to keep verbatim, instead of the one that follows from the settings. */
  firstKeptEntryId?: string | null;
  /** Whether to accept a summary that is not smaller than what it replaces. */
  force?: boolean;
  /** Settings for this call: members of `compaction`, or an object like that of `updateSettings`. */
  settings?: FreeObject | null;
  /**
   * The summarizer for this call, instead of the configured one, or a list: if one fails, the next
   * one is asked.
   */
  summarizer?: SummarizerChoice | null;
  /** A summary that the client wrote. */
  summary?: GivenSummary | null;
  /** Whether to answer when the compaction is finished (true, the default) or at once. */
  wait?: boolean | null;
}

/** Result of `compact`. With `wait: false` it contains only `operationId`. */
export type CompactResult = CompactionResult | StartedResult;

/** The decision. */
export type CompactionAction =
  /** Do nothing. */
  | "none"
  /** Compact. */
  | "compact";

/** `compactionEnd`: exactly one for every `compactionStart`, sent before the reply to `compact`. */
export interface CompactionEnd {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
  /** The reason. */
  reason: CompactionReason;
  /** Whether it was cancelled. */
  aborted: boolean;
  /** Whether to repeat the failed request. */
  willRetry: boolean;
  /** Tool results that were shortened in the context, if that was enough. */
  clipped?: Array<ClippedResult>;
  /** The error, if it failed. */
  error?: ErrorBody | null;
  /** When automatic compaction resumes after several failures in a row. */
  pausedUntil?: string | null;
  /** The result. Absent if it failed, or if shortening tool results was enough. */
  result?: CompactionResult | null;
  /**
   * Present and true if the server began the compaction and the context ends with a tool result or
   * an answer that
   * was cut off. The agent has work left, and the host must resume it.
   */
  unfinished?: boolean | null;
}

/** Why a compaction happens. */
export type CompactionReason =
  /** A person or a program asked for it. */
  | "manual"
  /** The context came near the limit of the window. */
  | "threshold"
  /** The provider refused the context as too large. */
  | "overflow";

/** A finished compaction. */
export interface CompactionResult {
  /** The compaction entry. */
  entryId: string;
  /**
   * Its summary. Without a model, the whole summary (text, context of a split turn, lists of files)
   * stays within 0.8
   * of `reserveTokens`. With a model, the request limits the text. Lists of files after it take at
   * most a tenth of
   * `reserveTokens`. Facts that it lacks take at most a tenth of its own tokens, or fill it up to
   * 1,000 tokens.
   */
  summary: string;
  /** The oldest entry that stays verbatim. */
  firstKeptEntryId: string;
  /** Tokens of the context before. */
  tokensBefore: number;
  /** Estimated tokens of the context after. No provider has counted them yet. */
  tokensAfter: number;
  /**
   * Tokens of the context before, estimated in the same way as `tokensAfter`. `tokensBefore` is the
   * provider's count
   * if there is one.
   */
  estimatedTokensBefore: number;
  /**
   * The entry's `details`. `readFiles` and `modifiedFiles` contain at most 2,000 files together,
   * with at most 256
   * KiB of paths: modified files before files that were only read, and recently used files first.
   * `compactd.filesLeftOut` counts the others, if there are any. A file that was left out and is
   * used again counts
   * again.
   */
  details: FreeObject;
  /** Whether a hook or the client provided the summary. */
  fromHook: boolean;
  /** Name of the summarizer that wrote the summary. */
  summarizer: string;
  /** Number of requests, including failed ones. */
  attempts: number;
  /** One or two sentences for a user interface. */
  brief: string;
  /** The shares that are kept, by class. */
  retention: Retention;
  /** The shares that the summary contained before missing facts were added. */
  retentionBeforeRepair: Retention;
  /**
   * One number for the retention, from 0 to 1: the weighted mean of the classes that have something
   * to keep.
   * Weights: statements 4, requests 3, errors and constraints 1, files 0.5, identifiers 0.25.
   */
  score: number;
  /** What the summary itself lacked, and what it claims without support. */
  lossReport: LossReport;
  /** Summarizers that were asked earlier, and why they failed. */
  failures?: Array<SummarizerFailure>;
  /** Number of secrets that were removed from the requests and the answers, by rule. */
  redactions?: Record<string, number>;
  /** How each part of the summary was requested, and what either way costs. */
  summaryRequests?: Array<SummaryRequestReport>;
  /** Usage of the summary. */
  usage?: FreeObject | null;
}

/** Settings that determined a preparation. */
export interface CompactionSettings {
  /** Whether automatic compaction is enabled. */
  enabled: boolean;
  /** Tokens of the window that stay free. */
  reserveTokens: number;
  /** Tokens of recent context that stay verbatim. */
  keepRecentTokens: number;
  /** Percentage of the window above which compaction is due, if it is set. */
  thresholdPercent?: number | null;
}

/** `compactionStart`. */
export interface CompactionStart {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
  /** The reason. */
  reason: CompactionReason;
  /** Tokens of the context. */
  tokensBefore: number;
}

/** Format of a context. */
export type ContextFormat =
  /** Stored roles, and synthetic `compactionSummary`, `branchSummary` and `custom` messages. */
  | "agent"
  /**
   * Only user, assistant and toolResult, ready to send to a model. Failed and aborted answers are
   * left out with the
   * results of their calls, and each call is directly followed by its result. Calls of the last
   * answer may have no
   * result yet.
   */
  | "llm"
  /**
   * As `llm`, in the format of OpenAI's chat completions, including system messages. This and the
   * following formats
   * return an appended message of the same format unchanged.
   */
  | "openai"
  /** Items for OpenAI's `responses`. */
  | "openai-responses"
  /** `messages` for Anthropic. The instructions are in `system`. */
  | "anthropic"
  /** `contents` for Gemini. The instructions are in `system`. */
  | "gemini"
  /** Model messages of the AI SDK. */
  | "ai-sdk";

/** Tokens of a context. */
export interface ContextTokens {
  /** The total. */
  tokens: number;
  /** Tokens of the last reliable usage. */
  usageTokens: number;
  /** Estimated tokens of the messages after it. */
  trailingTokens: number;
}

/** How full a window is. */
export interface ContextUsage {
  /** Tokens of the context. Null between a compaction and the first answer after it. */
  tokens: number | null;
  /** Size of the window in tokens. */
  contextWindow: number;
  /** Tokens in percent of the window. */
  percent: number | null;
}

/** Parameters of `continueSession`. */
export interface ContinueSessionParams {
  /** Switches automatic compaction on, for this model. */
  autoCompaction?: AutoCompactionOptions | null;
  /** Working directory whose most recent session is opened. Default: that of `initialize`. */
  cwd?: string | null;
}

/** The part of a conversation that is continued to get its summary. */
export interface ContinuedConversation {
  /** Its last entry. */
  lastEntryId: string;
  /**
   * Number of messages: the first ones of `getContext` in `llm` format. It never ends between an
   * answer with tool
   * calls and their results.
   */
  messages: number;
  /** The oldest entry that the compaction keeps. */
  firstKeptEntryId: string;
}

/** Parameters of `createSession`. */
export interface CreateSessionParams {
  /** Switches automatic compaction on, for this model. */
  autoCompaction?: AutoCompactionOptions | null;
  /** Working directory of the session. Default: that of `initialize`. */
  cwd?: string | null;
  /** Whether to keep the session in memory only. */
  ephemeral?: boolean;
  /** Format of the messages. Default: `pi`. */
  format?: MessageFormat | null;
  /** The first messages of the session, oldest first; at most 10000. They cause no `entryAppended`. */
  messages?: Array<AnyMessage>;
  /** Name of the session. */
  name?: string | null;
  /** Path of the session that this one continues. */
  parentSession?: string | null;
  /** Path of the file, instead of a generated one. It must not exist. */
  path?: string | null;
  /** A flat directory for the file. */
  sessionDir?: string | null;
  /**
   * Id of the session, instead of a generated one: letters, digits and, not at the ends, `.`, `_`
   * and `-`; at most
   * 128. The id of an open session, or of another session of the directory, is refused (1009).
   */
  sessionId?: string | null;
}

/** A problem in a session. Reading continued after it. */
export interface Diagnostic {
  /** The kind of the problem. */
  kind: string;
  /** Message for a person. */
  message: string;
  /** Line of the file, counted from 1. */
  line?: number | null;
}

/** The kind of a problem. */
export type DiagnosticKind =
  /** A member that the method does not have. */
  | "unknownMember"
  /** A setting that does not exist. */
  | "unknownSetting"
  /** The file of a subscription was truncated, rewritten, or replaced by another one. */
  | "sessionReplaced"
  /** The file of a subscription was deleted. */
  | "sessionDeleted"
  /** The file of a subscription cannot be read. */
  | "sessionUnreadable";

/** Result of `getEntries` and `getBranch`. */
export interface EntriesResult {
  /** The entries. */
  entries: Array<Entry>;
  /** Present if there are more entries, in `getEntries` with a `limit`. */
  nextCursor?: string | null;
}

/**
 * An entry (line) of the session file. Further members depend on the type; unknown types and
 * members are carried through.
 */
export interface Entry {
  type: string;
  id: string;
  parentId: string | null;
  /** ISO 8601, UTC, milliseconds. */
  timestamp: string;
  [member: string]: unknown;
}

/**
 * `entryAppended`: an entry was written by a call, or, in a session with a subscription, by
 * another program.
 */
export interface EntryAppended {
  /** The session. */
  sessionId: string;
  /** The entry. */
  entry: Entry;
}

/** Parameters of calls for one entry. */
export interface EntryParams {
  /** The session. */
  sessionId: string;
  /** The entry. */
  entryId: string;
}

/** An error, as in a reply. */
export interface ErrorBody {
  /** Code of the error. */
  code: number;
  /** Message for a person. */
  message: string;
  /** `kind`, `reason` and `retryable`, and the ids and numbers that a caller needs. */
  data: ErrorData;
}

/** What an error is, and the ids and numbers needed to act. */
export interface ErrorData {
  /** The name of the error, one for each code. */
  kind: string;
  /** Tells errors of one kind apart. */
  reason: string;
  /** Whether the same call, sent again later, may succeed. */
  retryable: boolean;
  [member: string]: unknown;
}

/** Parameters of `estimateTokens`: messages or a text. */
export interface EstimateTokensParams {
  /** Format of the messages. Default: `pi`. */
  format?: MessageFormat | null;
  /** Messages, as stored, in LLM format, or in the format that `format` names; at most 10000. */
  messages?: Array<AnyMessage> | null;
  /** A text. Ignored if there are messages. */
  text?: string | null;
}

/** Result of `estimateTokens`. */
export interface EstimateTokensResult {
  /** Estimated tokens. */
  tokens: number;
}

/** Paths by operation, sorted. */
export interface FileOperations {
  /** Files that were read. */
  read: Array<string>;
  /** Files that were written as a whole. */
  written: Array<string>;
  /** Files that were edited. */
  edited: Array<string>;
}

/** What a compaction would keep, as far as it is known before the summary is written. */
export interface Forecast {
  /** The minimum that any summary keeps after its repair. */
  retention: Retention;
  /** One number for it, from 0 to 1. */
  score: number;
}

/** Where a fork ends. */
export type ForkPosition =
  /** Before the entry. The text of a message goes back into the editor. */
  | "before"
  /** At the entry, which becomes part of the fork. */
  | "at";

/** Parameters of `forkSession`. */
export interface ForkSessionParams {
  /** The session. */
  sessionId: string;
  /** The entry at which the fork ends. */
  entryId: string;
  /** Whether the fork ends before or at the entry. Default: before. */
  position?: ForkPosition;
}

export type FreeObject = { [member: string]: unknown };

/** Parameters of `getBranch`. */
export interface GetBranchParams {
  /** The session. */
  sessionId: string;
  /** The leaf of the branch. Default: the current leaf. */
  leafId?: string | null;
}

/** Parameters of `getContext`. */
export interface GetContextParams {
  /** The session. */
  sessionId: string;
  /** The last entry of the context that the caller already has. */
  after?: string | null;
  /** Format of the messages. Default: `agent`. */
  format?: ContextFormat | null;
  /** The leaf of the branch. Default: the current leaf. */
  leafId?: string | null;
}

/** Result of `getContext`. */
export interface GetContextResult {
  /** What the model sees. */
  messages: Array<AnyMessage>;
  /** The leaf of the branch. */
  leafId: string | null;
  /** The thinking level at the leaf. */
  thinkingLevel: string;
  /** The model at the leaf. */
  model: ModelName | null;
  /** Tokens of the whole context. */
  tokens: ContextTokens;
  /** With `after`: whether `messages` holds only what follows that entry. */
  delta?: boolean | null;
  /** Problems: unknown first kept entries, broken bodies, results without calls. */
  diagnostics?: Array<Diagnostic>;
  /** The instructions, for interfaces that take them separately. */
  system?: string | null;
}

/** Parameters of `getContextUsage`. */
export interface GetContextUsageParams {
  /** The session. */
  sessionId: string;
  /** The model whose window is used. */
  model: WindowModel;
}

/** Parameters of `getEntries`. */
export interface GetEntriesParams {
  /** The session. */
  sessionId: string;
  /** `nextCursor` of the previous page, or the id of any entry. Default: the first page. */
  cursor?: string | null;
  /**
   * Ids of the wanted entries, at most 1000. The result has their order, and the other parameters
   * are ignored.
   * Repeated entries may hold 8 MiB together.
   */
  ids?: Array<string> | null;
  /** Maximum number of entries. Default: all. */
  limit?: number | null;
  /**
   * Deprecated since 1.1 in favour of `cursor`, which takes precedence: the entry after which to
   * start.
   */
  since?: string | null;
}

/** Result of `getEntry`. */
export interface GetEntryResult {
  /** The entry. */
  entry: Entry;
}

/** Parameters of `getPins`. */
export interface GetPinsParams {
  /** The session. */
  sessionId: string;
  /** The leaf of a branch. Default: the current leaf. */
  leafId?: string | null;
}

/** Result of `getPins`. */
export interface GetPinsResult {
  /** The pinned entries of the branch, root first. */
  pins: Array<PinnedEntry>;
  /** Their tokens together. */
  tokens: number;
  /** Maximum number of their tokens. */
  maxTokens: number;
}

/** Result of `getTree`. */
export interface GetTreeResult {
  /** The current leaf. */
  leafId: string | null;
  /** All entries in file order. The list is flat, so its depth has no limit. */
  nodes: Array<TreeNode>;
}

/** A branch summary that the client wrote. */
export interface GivenBranchSummary {
  /** Its text. */
  summary: string;
  /** Members for the entry's `details`. */
  details?: FreeObject | null;
  /** Usage of the summary. */
  usage?: Usage | null;
}

/** A summary that the client wrote. */
export interface GivenSummary {
  /** Its text. */
  summary: string;
  /** Members for the entry's `details`. */
  details?: FreeObject | null;
  /** The oldest entry to keep verbatim. Default: that of the preparation. */
  firstKeptEntryId?: string | null;
  /** Tokens of the context before. Used only in answers to hooks; otherwise they are counted. */
  tokensBefore?: number | null;
  /** Usage of the summary. */
  usage?: Usage | null;
}

/** The first line of the session file. */
export interface Header {
  type: string;
  id: string;
  cwd?: string;
  parentSession?: string;
  timestamp?: string;
  version?: number;
  [member: string]: unknown;
}

/** Parameters of `initialize`. */
export interface InitializeParams {
  /** Version of the protocol that the client speaks: 1. */
  protocolVersion: number;
  /** Who the client is. */
  clientInfo: ClientInfo;
  /** Agent directory. Default: `$PI_CODING_AGENT_DIR`, then `~/.pi/agent`. */
  agentDir?: string | null;
  /** Requests that the client answers, and notifications that it wants. */
  capabilities?: ClientCapabilities;
  /** Working directory of sessions that name none. Default: that of the server. */
  cwd?: string | null;
  /**
   * Settings that the settings files override. A host whose model shall write the summaries where a
   * person has not
   * chosen gives `{"compactd": {"summarizer": ["host", "extractive"]}}`.
   */
  defaultSettings?: FreeObject | null;
  /** Process id of the parent. The server ends when the parent dies. */
  processId?: number | null;
  /** A flat directory of sessions, instead of one per working directory. */
  sessionDir?: string | null;
  /** Settings that override the settings files. */
  settings?: FreeObject | null;
}

/** Result of `initialize`. */
export interface InitializeResult {
  /** Version of the protocol: 1. */
  protocolVersion: number;
  /**
   * Minor version of the protocol: 1. Each minor version serves clients of the earlier ones. 1.0
   * does not have this
   * member.
   */
  protocolMinorVersion: number;
  /**
   * Maximum number of bytes of a message of the client, without its framing. A longer one is refused
   * unread, with an
   * error whose id is null. 1.0 does not have this member.
   */
  maxMessageBytes: number;
  /** Who the server is. */
  serverInfo: ServerInfo;
  /** What the server offers. */
  capabilities: ServerCapabilities;
  /** The current settings: defaults, files and `initialize.settings` merged. */
  settings: FreeObject;
  /** Settings files that could not be read, unknown names, and other problems. */
  diagnostics: Array<string>;
}

/** `leafChanged`: a navigation moved the leaf. */
export interface LeafChanged {
  /** The session. */
  sessionId: string;
  /** The new leaf. */
  leafId: string | null;
  /** The old leaf. */
  oldLeafId: string | null;
}

/** Parameters of `listSessions`. */
export interface ListSessionsParams {
  /** Whether to list the sessions of all working directories. */
  all?: boolean;
  /** `nextCursor` of the previous page. */
  cursor?: string | null;
  /** Working directory whose sessions are listed. Default: that of `initialize`. */
  cwd?: string | null;
  /** Maximum number of sessions. */
  limit?: number | null;
  /** A flat directory of sessions. */
  sessionDir?: string | null;
}

/** Result of `listSessions`. */
export interface ListSessionsResult {
  /** Sessions, newest activity first. */
  sessions: Array<SessionSummary>;
  /** Present if there are more sessions. */
  nextCursor?: string | null;
}

/** What a summary lacks and what is doubtful in it, the most important items first. */
export interface LossReport {
  /** Missing paths. */
  files: Array<string>;
  /** Missing identifiers. */
  identifiers: Array<string>;
  /** Missing errors. */
  errors: Array<LostError>;
  /** Missing requests. */
  requests: Array<LostItem>;
  /** Missing constraints and preferences. */
  constraints: Array<LostItem>;
  /** Missing ones of the most informative sentences. */
  statements: Array<LostItem>;
  /** Requests and constraints that are only partly kept. */
  clipped: Array<LostItem>;
  /**
   * Names in the summary that occur in none of its sources: the compacted messages, the previous
   * summary, the
   * messages that stay, and the ledgers of earlier compactions. Checked: paths with a file extension
   * or a root, file
   * names, identifiers with an underscore or with capital letters after small ones, tickets, error
   * codes, hashes,
   * versions with three parts, and numbers with at least three digits and a unit, unless they are
   * marked as
   * approximate. Not checked: words, product names, addresses, other numbers, and whether names are
   * combined
   * correctly.
   */
  unsupported: Array<string>;
  /**
   * Claims of the summary that contradict known facts. English only, in prose and in lists: that a
   * file that tools
   * worked on was or was not changed, that tests, a build, a linter or a quoted command succeed,
   * that something was
   * committed or pushed. Wishes, questions and conditions are not claims.
   */
  reversed: Array<ReversedFact>;
}

/** An error that a summary lacks. */
export interface LostError {
  /** The line that explains the failure best. */
  line: string;
  /** Whether the same operation succeeded later. */
  resolved: boolean;
  /** The entries that contain it. */
  entryIds: Array<string>;
  /** The path or command that failed. */
  subject?: string | null;
}

/** A text that a summary lacks. */
export interface LostItem {
  /** The text. */
  text: string;
  /** The entries that contain it. */
  entryIds: Array<string>;
}

/** Memory use of the server. */
export interface MemoryStatus {
  /** Bytes in physical memory. Null if the system does not report them. */
  residentBytes: number | null;
  /** Maximum address space of the process in bytes, if it is limited. */
  limitBytes?: number | null;
}

/** A message as the session file stores it. Unknown members are carried through. */
export interface Message {
  /**
   * user, assistant, toolResult, bashExecution, custom or system; in contexts also compactionSummary
   * and branchSummary.
   */
  role: string;
  /** Text, or a list of blocks {type: text|image|thinking|toolCall, ...}. */
  content?: unknown;
  /** Epoch milliseconds. */
  timestamp?: number;
  [member: string]: unknown;
}

/** A format of messages. */
export type MessageFormat =
  /** The format of the session file. */
  | "pi"
  /** `messages` of OpenAI's chat completions and compatible servers. */
  | "openai"
  /** Items of OpenAI's `responses`. */
  | "openai-responses"
  /** `messages` of Anthropic. */
  | "anthropic"
  /** `contents` of Gemini. */
  | "gemini"
  /** Model messages of the AI SDK (versions 5 to 7). Its UI messages are accepted too. */
  | "ai-sdk";

/** A message, or the id of its entry. */
export type MessageOrId = Message | string;

/** A model with its window. */
export interface Model {
  /** Provider of the model. */
  provider: string;
  /** Id of the model. */
  id: string;
  /** Size of the window in tokens. */
  contextWindow: number;
  /**
   * Maximum output that is requested of the model, in tokens. If an answer stops for its length
   * before that, the
   * server compacts and the request can be repeated, once.
   */
  maxOutputTokens?: number | null;
}

/** A model, in the form of entries. */
export interface ModelName {
  /** Provider of the model. */
  provider: string;
  /** Id of the model. */
  modelId: string;
}

/** Parameters of `navigateTree`. */
export interface NavigateTreeParams {
  /** The session. */
  sessionId: string;
  /** The entry to go to. */
  targetId: string;
  /** What the summary should focus on. */
  customInstructions?: string | null;
  /** A label for the summary, or for the target if there is none. */
  label?: string | null;
  /** Whether `customInstructions` replace the default ones. */
  replaceInstructions?: boolean;
  /** Whether to summarise the abandoned branch. */
  summarize?: boolean;
  /** The summarizer for this call. */
  summarizer?: SummarizerChoice | null;
  /** A summary that the client wrote. */
  summary?: GivenBranchSummary | null;
  /** Whether to answer when the navigation is finished (true, the default) or at once. */
  wait?: boolean | null;
}

/** Result of `navigateTree`. With `wait: false` it contains only `operationId`. */
export type NavigateTreeResult = NavigationResult | StartedResult;

/** A finished navigation. */
export interface NavigationResult {
  /** The new leaf. */
  leafId: string | null;
  /** The old leaf. */
  oldLeafId: string | null;
  /** Whether the navigation was cancelled. The leaf has not moved then. */
  cancelled: boolean;
  /** Whether it was cancelled by aborting its summary. */
  aborted?: boolean | null;
  /** The text for the editor. */
  editorText?: string | null;
  /** The summary of the abandoned branch. */
  summaryEntry?: Entry | null;
}

/** An entry to append: its type and members; id, parentId and timestamp are given by the server. */
export interface NewEntry {
  type: "model_change" | "thinking_level_change" | "custom" | "custom_message" | "session_info" | "context_edit" | "usage";
  [member: string]: unknown;
}

/** Parameters of methods that take none. */
export type NoParams = Record<string, never>;

/** Why a conversation was not continued. */
export interface NotContinued {
  /** The reason. */
  reason: NotContinuedReason;
  /** The explanation for a person, with numbers. */
  detail: string;
}

/** Reasons why a conversation is not continued, or why its summary is not used. */
export type NotContinuedReason =
  /** The settings require transcripts. */
  | "settings"
  /** The summarizer or the client cannot continue conversations. */
  | "notSupported"
  /** Another model or provider held the conversation, and must not see all of it now. */
  | "otherModel"
  /** The conversation was held over another interface of the provider. */
  | "otherInterface"
  /** The session does not contain prompt and tools, or not as one leading prompt. */
  | "promptUnknown"
  /** The request of the last answer did not begin with the whole conversation. */
  | "notSeen"
  /** Conversation, instruction and summary do not fit the window together. */
  | "tooLarge"
  /** The conversation was held with thinking, and the settings of the summarizer do not configure it. */
  | "thinkingUnknown"
  /** The last answer's usage shows no cache. */
  | "noCache"
  /** Its request is too old for the cache. */
  | "cold"
  /** The provider had nothing in its cache when a conversation was continued earlier. */
  | "missed"
  /** A transcript is cheaper. */
  | "dearer"
  /** The provider or the client refused the request. */
  | "refused"
  /** The provider refused the request as too large. */
  | "overflow"
  /** The provider read only a part of the request. */
  | "truncated"
  /** The model called a tool. */
  | "toolCall"
  /** The answer was empty. */
  | "empty"
  /** The answer was cut off twice. */
  | "cutOff"
  /** The answer lacked headings twice. */
  | "headings"
  /** The model stopped for a reason of its provider. */
  | "stopped";

export type Null = null;

/** Parameters of `openSession`. */
export interface OpenSessionParams {
  /** Path of the session file. */
  path: string;
  /** Switches automatic compaction on, for this model. */
  autoCompaction?: AutoCompactionOptions | null;
  /** Whether to open it read-only, without a lock. */
  readOnly?: boolean;
}

/** Result of `createSession`, `openSession`, `continueSession` and `forkSession`. */
export interface OpenSessionResult {
  /** The id in the header. Every later call uses it. */
  sessionId: string;
  /** The first line of the file. */
  header: Header;
  /** The leaf. Null if the session has no entries. */
  leafId: string | null;
  /** Whether the session is read-only. */
  readOnly: boolean;
  /** Problems in the file. */
  diagnostics: Array<Diagnostic>;
  /** After a fork before a message: the text of the message, for the editor. */
  editorText?: string | null;
  /** Number of entries, if it is known without reading the whole file. */
  entryCount?: number | null;
  /** The older version that the file has, if it was migrated in memory. */
  migratedFrom?: number | null;
  /** Path of the file; absent for sessions in memory. */
  path?: string | null;
}

/** A session that is open. */
export interface OpenSessionStatus {
  /** The session. */
  sessionId: string;
  /** Whether it is read-only. */
  readOnly: boolean;
  /** Whether automatic compaction is on. */
  autoCompaction: boolean;
  /** Path of the file; absent for sessions in memory. */
  path?: string | null;
}

/** A phase of an operation. */
export type OperationPhase =
  /** A summary is being written. */
  | "summarizing"
  /** A request failed and will be repeated. */
  | "waiting"
  /** The entry is being written. */
  | "committing";

/** `compactionProgress` and `branchSummaryProgress`. */
export interface OperationProgress {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
  /** The current phase. */
  phase: OperationPhase;
  /** Number of the running request, from 1. */
  request: number;
  /** Number of requests. */
  requests: number;
  /** Output tokens of this request so far. */
  outputTokens: number;
  /** New text of the summary. */
  delta?: string | null;
}

/** A running operation. */
export interface OperationStatus {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
}

/**
 * Position of a part of the text. A part that crosses the border of two parts of the entry is
 * listed as two.
 */
export interface Passage {
  /** The part of the entry. */
  part: PassagePart;
  /** Start in the entry's whole text, in UTF-16 units. */
  start: number;
  /** End in the entry's whole text, in UTF-16 units. */
  end: number;
  /** Start in `text`, in UTF-16 units. */
  offset: number;
  /** Index of the part in the message's content blocks, from 0. Absent if the content is not a list. */
  block?: number | null;
}

/** A part of an entry. */
export type PassagePart =
  /** Text, including that of tool results. */
  | "text"
  /** A tool call: its name and arguments. */
  | "toolCall"
  /** An image, as a placeholder. */
  | "image"
  /** A command that the person ran. */
  | "command"
  /** The output of that command. */
  | "output"
  /** A summary. */
  | "summary";

/** Parameters of `pinEntry`. */
export interface PinEntryParams {
  /** The session. */
  sessionId: string;
  /** An entry on the current path that contains a message for the model. */
  entryId: string;
  /** Whether to pin (true) or unpin the entry. */
  pinned: boolean;
}

/** Result of `pinEntry`. */
export interface PinEntryResult {
  /** The entry. */
  entryId: string;
  /** Whether it is pinned. */
  pinned: boolean;
  /** All pinned entries of the path, root first. */
  pins: Array<PinnedEntry>;
  /** Their tokens together. */
  tokens: number;
  /** Maximum number of their tokens (setting `compactd.pins.maxTokens`). */
  maxTokens: number;
}

/** A pinned entry. */
export interface PinnedEntry {
  /** The entry. */
  entryId: string;
  /** Estimated tokens that it takes after a summary. */
  tokens: number;
}

/** The part of a context that would be compacted. */
export interface Preparation {
  /** The oldest entry that stays verbatim. */
  firstKeptEntryId: string;
  /** Messages before the turn that is cut, or before the cut. */
  messagesToSummarize: Array<MessageOrId>;
  /** Messages of the turn that is cut, up to the cut. */
  turnPrefixMessages: Array<MessageOrId>;
  /** Whether the cut goes through a turn. */
  isSplitTurn: boolean;
  /** Tokens of the whole context. */
  tokensBefore: number;
  /** The summary of the previous compaction. */
  previousSummary: string | null;
  /** Files that the summarised part used. */
  fileOps: FileOperations;
  /** The settings that were used, adapted to the window if the session's model is known. */
  settings: CompactionSettings;
  /** The leaf of the branch. */
  leafId: string;
}

/** Parts of a preparation that a call can request. */
export type PreparationPart =
  /** The messages. Without this part the lists contain entry ids. */
  | "messages"
  /** The requests to a summarizer. */
  | "requests"
  /** The minimum that would be kept of the compacted part. */
  | "forecast";

/** Parameters of `prepareCompaction`. */
export interface PrepareCompactionParams {
  /** The session. */
  sessionId: string;
  /**
   * Whether to fail as `compact` would if no summarizer can write: its settings are incomplete, or
   * its key or
   * program is missing. Nothing is asked or started.
   */
  checkSummarizer?: boolean;
  /** What the summary should focus on. */
  customInstructions?: string | null;
  /** The oldest entry to keep verbatim, instead of the one that follows from the settings. */
  firstKeptEntryId?: string | null;
  /** Parts of the result. Default: all. */
  include?: Array<PreparationPart> | null;
  /** The leaf of the branch. Default: the current leaf. */
  leafId?: string | null;
  /** Settings for this call: members of `compaction`, or an object like that of `updateSettings`. */
  settings?: FreeObject | null;
  /** The summarizer whose requests are planned, instead of the configured one, or a list of them. */
  summarizer?: SummarizerChoice | null;
}

/** Result of `prepareCompaction`. */
export interface PrepareCompactionResult {
  /** The part that would be compacted. Null if nothing would be. */
  preparation: Preparation | null;
  /** The last compaction, if no message follows it. */
  compactionId?: string | null;
  /** Tokens of the context, if nothing would be compacted. */
  contextTokens?: number | null;
  /** The minimum that would be kept of the compacted part. */
  forecast?: Forecast | null;
  /** Minimum number of tokens that are kept, if nothing would be compacted. */
  keepRecentTokens?: number | null;
  /** Number of messages, all of which would be kept, if nothing would be compacted. */
  messages?: number | null;
  /** Why nothing would be compacted. */
  reason?: RefusalReason | null;
  /** The requests to a summarizer, in order. */
  requests?: Array<SummaryRequest> | null;
  /**
   * The tool call whose result is missing and from which everything must stay, if that is the
   * reason.
   */
  toolCallId?: string | null;
}

/** Parameters of `prepareNavigation`. */
export interface PrepareNavigationParams {
  /** The session. */
  sessionId: string;
  /** The entry to go to. */
  targetId: string;
  /** The leaf to start from. Default: the current leaf. */
  leafId?: string | null;
}

/** Result of `prepareNavigation`. */
export interface PrepareNavigationResult {
  /** The entry to go to. */
  targetId: string;
  /** The leaf that would be left. */
  oldLeafId: string | null;
  /** The deepest entry that both paths share. */
  commonAncestorId: string | null;
  /** The entries that would be abandoned, oldest first. */
  entriesToSummarize: Array<string>;
  /** The new leaf. Null before the first entry. */
  newLeafId: string | null;
  /** Estimated input tokens of a summary. */
  estimatedTokens: number;
  /** The text for the editor. */
  editorText?: string | null;
}

/** Parameters of `recall`. Either `query` or `entryIds` is required. */
export interface RecallParams {
  /** The session. */
  sessionId: string;
  /** Ids of entries that are wanted whole, evicted or not. The result has their order. */
  entryIds?: Array<string> | null;
  /** The leaf of a branch. Default: the current leaf. */
  leafId?: string | null;
  /** Maximum number of tokens of all texts, at least 1. Default: 2000. */
  maxTokens?: number | null;
  /**
   * With one id: the UTF-16 unit of the entry's text from which to read. The result then holds what
   * follows it, and
   * `nextOffset`. Default: the whole text, cut in its middle if it is too large.
   */
  offset?: number | null;
  /**
   * Words to look for in evicted entries, and in entries that the context shows shortened or edited.
   * Function words
   * are ignored. The name of a file ranks the calls that changed it higher.
   */
  query?: string | null;
}

/** Result of `recall`. */
export interface RecallResult {
  /** The entries, best first, or in the requested order. */
  entries: Array<RecalledEntry>;
  /** Estimated tokens of their texts. */
  tokens: number;
  /** Number of entries that match or were requested, and that do not fit. */
  omitted: number;
}

/** An entry that was recalled. */
export interface RecalledEntry {
  /** The entry. */
  entryId: string;
  /** Type of the entry. */
  type: string;
  /** When it was written, ISO 8601. */
  timestamp: string;
  /**
   * Its text. For a query: the matching passages in their order, with a line `[…]` for each
   * omission.
   */
  text: string;
  /** Estimated tokens of the text. */
  tokens: number;
  /** Whether any part of the entry's text is missing. */
  truncated: boolean;
  /** The `offset` that reads on. Only if `offset` was asked for, and absent at the end of the text. */
  nextOffset?: number | null;
  /**
   * Where the text starts in the entry's whole text, in UTF-16 units. Only if `offset` was asked
   * for.
   */
  offset?: number | null;
  /** Positions of the parts of the text in the entry. Only for a query. */
  passages?: Array<Passage> | null;
  /** Role of its message. */
  role?: string | null;
  /** Rank of the match. Comparable only within one result. */
  score?: number | null;
}

/** Why nothing would be compacted. */
export type RefusalReason =
  /** No message follows the last compaction. */
  | "alreadyCompacted"
  /** Everything would be kept. */
  | "nothingToCompact";

/** An entry and its copy on the new branch. */
export interface ReplayedEntry {
  /** The entry. */
  from: string;
  /** Its copy. */
  to: string;
}

/**
 * `diagnostic`: a part of a request was ignored, and the request was served all the same. Each
 * part is reported once.
 * `initialize` and `updateSettings` report it in the `diagnostics` of their results. In a session
 * with a subscription
 * it also reports problems with the file.
 */
export interface RequestDiagnostic {
  /** The kind of the problem. */
  kind: DiagnosticKind;
  /** The method of the request. */
  method: string;
  /** Path of the part in the parameters. */
  path: string;
  /** Message for a person. */
  message: string;
  /** The known name that was probably meant. */
  nearest?: string | null;
  /** The session, if the problem is that of a session. */
  sessionId?: string | null;
}

/** An estimate of the input of requests. */
export interface RequestEstimate {
  /** Input tokens. */
  inputTokens: number;
  /** Their cost at list prices, in US dollars. Absent if the price is not known. */
  cost?: number | null;
}

/** What a request to a summarizer covers. */
export type RequestKind =
  /** The conversation before the turn that is cut. */
  | "history"
  /** The first part of the turn that is cut. */
  | "turnPrefix"
  /** A branch that is abandoned. */
  | "branch";

/**
 * Shares that are kept, from 0 to 1; 1 if there was nothing to keep.
 * 
 * They are measured against the compacted part and everything that earlier compactions of the
 * branch knew, including
 * what their ledgers could not store. Errors, requests, constraints and statements may be
 * reworded: one counts if one
 * line, or 420 characters across lines, contains most of its significant words. Lines that contain
 * only names, and
 * lists of files, count only for names.
 */
export interface Retention {
  /** Files that tools used, and paths that occurred often. */
  files: number;
  /** Symbols, hashes, tickets and similar names. */
  identifiers: number;
  /** Lines of errors. Resolved errors have little weight. */
  errors: number;
  /** Requests. A partly kept request counts half. */
  requests: number;
  /** Constraints and preferences. Partly kept ones count half. */
  constraints: number;
  /** The most informative sentences, weighted by their information. */
  statements: number;
}

/** A claim that contradicts a known fact. */
export interface ReversedFact {
  /** The known fact: `notModified`, `modified`, `failed`, `notCommitted`, or `notPushed`. */
  fact: string;
  /** The file or the command. If nothing was committed or pushed: `git commit` or `git push`. */
  subject: string;
}

/** An entry that a search found. */
export interface SearchHit {
  /** The session that contains it. */
  sessionId: string;
  /** The entry. */
  entryId: string;
  /** Type of the entry. */
  type: string;
  /** When it was written, ISO 8601. */
  timestamp: string;
  /** The text around the first match, on one line. */
  preview: string;
  /**
   * Whether the entry is not in the context at the leaf of its session: it was compacted, edited
   * away, or is on
   * another branch.
   */
  evicted: boolean;
  /** Path of the session's file, if it has one. */
  path?: string | null;
  /** Role of its message. */
  role?: string | null;
  /** Rank of the match, if no entry contains all words. Comparable only within one session. */
  score?: number | null;
}

/** Parameters of `searchSession`. Either `sessionId` or `all` is required. */
export interface SearchSessionParams {
  /**
   * Words that must all occur, in any case. A phrase in double quotes counts as one word. If the
   * query has at least
   * three words and no entry contains all of them, the entries with the most matching words are
   * found.
   */
  query: string;
  /** Whether to search all sessions, open or not, instead of one. */
  all?: boolean;
  /**
   * `nextCursor` of the previous page. Entries that are appended between two pages come first, so a
   * hit may occur
   * twice, but none is missed.
   */
  cursor?: string | null;
  /** Maximum number of hits, from 1 to 1000. Default: 50. */
  limit?: number | null;
  /** An open session. */
  sessionId?: string | null;
}

/** Result of `searchSession`. */
export interface SearchSessionResult {
  /** Entries that contain all words, newest first. If there are none, the best matches. */
  hits: Array<SearchHit>;
  /** Deprecated since 1.1 in favour of `nextCursor`: whether there are more hits. */
  truncated: boolean;
  /** Present if there are more hits. */
  nextCursor?: string | null;
}

/** Parameters of `serializeConversation`. */
export interface SerializeConversationParams {
  /** Messages, as stored or in LLM format; at most 10000. */
  messages: Array<Message>;
}

/** Result of `serializeConversation`. */
export interface SerializeConversationResult {
  /** The conversation as one text. */
  text: string;
}

/** What the server offers. */
export interface ServerCapabilities {
  /** Methods that it answers. */
  methods: Array<string>;
  /** Notifications that it sends. */
  notifications: Array<string>;
  /** Hooks that it calls. */
  hooks: Array<string>;
  /** Summarizers that are available. */
  summarizers: Array<string>;
  /** Modes of `summarize` that it uses. */
  summarizeModes: Array<SummarizeMode>;
}

/** Who the server is. */
export interface ServerInfo {
  /** `compactd`. */
  name: string;
  /** Its version. */
  version: string;
}

/** Result of `getStatus`. */
export interface ServerStatus {
  /** Who the server is. */
  serverInfo: ServerInfo;
  /** Version of the protocol. */
  protocolVersion: number;
  /** Its minor version. */
  protocolMinorVersion: number;
  /** Process id of the server. */
  processId: number;
  /** Milliseconds since the server started. */
  uptimeMs: number;
  /** Open sessions, ordered by id. */
  sessions: Array<OpenSessionStatus>;
  /** Running compactions, navigations and forks. */
  operations: Array<OperationStatus>;
  /** Memory use of the server. */
  memory: MemoryStatus;
}

/** Parameters of `sessionBeforeCompact`. */
export interface SessionBeforeCompact {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
  /** The part that would be compacted. */
  preparation: Preparation;
  /** The entries from the root to the leaf. */
  branchEntries: Array<Entry>;
  /** The reason. */
  reason: CompactionReason;
  /** Whether to repeat the failed request afterwards. */
  willRetry: boolean;
  /** What the summary should focus on. */
  customInstructions?: string | null;
}

/** The client's answer to `sessionBeforeCompact`. An empty object continues the compaction. */
export interface SessionBeforeCompactResult {
  /** Whether to cancel the compaction. */
  cancel?: boolean | null;
  /** A summary, instead of that of the summarizer. */
  compaction?: GivenSummary | null;
}

/** Parameters of `sessionBeforeFork`. */
export interface SessionBeforeFork {
  /** The session. */
  sessionId: string;
  /** The entry at which the fork would end. */
  entryId: string;
  /** Whether the fork would end before or at the entry. */
  position: ForkPosition;
}

/** Parameters of `sessionBeforeTree`. */
export interface SessionBeforeTree {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
  /** The navigation. */
  preparation: TreePreparation;
}

/** The client's answer to `sessionBeforeTree`. An empty object continues the navigation. */
export interface SessionBeforeTreeResult {
  /** Whether to cancel the navigation. */
  cancel?: boolean | null;
  /** Instructions that replace those of the caller. */
  customInstructions?: string | null;
  /** A label that replaces that of the caller. */
  label?: string | null;
  /** Whether they replace the default ones. */
  replaceInstructions?: boolean | null;
  /** A summary, instead of that of the summarizer, if one is wanted. */
  summary?: GivenBranchSummary | null;
}

/** `sessionChanged`: another program added entries to the file. */
export interface SessionChanged {
  /** The session. */
  sessionId: string;
  /** The entries that were added. */
  entryIds: Array<string>;
  /** The new leaf. */
  leafId: string | null;
}

/** Parameters of calls for one session. */
export interface SessionParams {
  /** The session. */
  sessionId: string;
}

/** Result of `getSessionStats`. The numbers cover the whole file, including all branches. */
export interface SessionStats {
  /** Entries in the file. */
  entryCount: number;
  /** Messages with any role. */
  messageCount: number;
  /** Messages of the person. */
  userMessages: number;
  /** Answers of models. */
  assistantMessages: number;
  /** Tool calls in them. */
  toolCalls: number;
  /** Results of tools. */
  toolResults: number;
  /** Compactions. */
  compactions: number;
  /** Branch summaries. */
  branchSummaries: number;
  /** Tokens, including those of summaries. */
  tokens: TokenTotals;
  /** Cost, including that of summaries, in the currency of the price list. */
  cost: number;
}

/** A session in a list. */
export interface SessionSummary {
  /** Path of the file. */
  path: string;
  /** The header's id. */
  sessionId: string;
  /** The header's working directory. */
  cwd: string;
  /** When it was created, ISO 8601. */
  created: string;
  /** Time of the last message, ISO 8601. */
  modified: string;
  /** Number of messages. */
  messageCount: number;
  /** Text of the first user message. */
  firstMessage: string;
  /** The session's name. */
  name?: string | null;
  /** Path of the session that it continues. */
  parentSession?: string | null;
}

/** Parameters of `setLabel`. */
export interface SetLabelParams {
  /** The session. */
  sessionId: string;
  /** The entry that gets the label. */
  targetId: string;
  /** The label; null clears it. */
  label: string | null;
}

/** Parameters of `setSessionName`. */
export interface SetSessionNameParams {
  /** The session. */
  sessionId: string;
  /** The name. An empty name removes it. */
  name: string;
}

/** A running operation. */
export interface StartedResult {
  /** Id of the operation in notifications. */
  operationId: string;
}

/** Parameters of `subscribe`. */
export interface SubscribeParams {
  /** The session. */
  sessionId: string;
  /**
   * The last entry in file order that the caller has. The entries after it are sent at once; at most
   * 8 MiB.
   */
  since?: string | null;
}

/** Result of `subscribe`. */
export interface SubscribeResult {
  /** The leaf. */
  leafId: string | null;
}

/** How a model is asked for a summary. */
export type SummarizeMode =
  /** By a prompt that contains the conversation as text. */
  | "transcript"
  /**
   * By the conversation itself, as in the last request to its model, and one more message. Tokens
   * that the provider
   * has in its cache cost only a part of the price.
   */
  | "continue";

/** Parameters of `summarize`: a request for the client's own model. */
export interface SummarizeParams {
  /** The session. */
  sessionId: string;
  /** Id of the operation. */
  operationId: string;
  /** What the summary covers. */
  kind: RequestKind;
  /** The system prompt. Empty with `mode: "continue"`: the conversation has its own. */
  systemPrompt: string;
  /** The prompt. With `mode: "continue"` it is the last user message. */
  prompt: string;
  /** Maximum number of output tokens. */
  maxTokens: number;
  /**
   * With `mode: "continue"`: the messages to send before `prompt`, with the prompt and tools of the
   * conversation.
   */
  conversation?: ContinuedConversation | null;
  /**
   * How to ask the model. Default: `transcript`. The server sends `continue` only to clients that
   * list it in
   * `initialize`. If the answer is an error or no summary, it sends a request without `mode`.
   */
  mode?: SummarizeMode | null;
}

/** The client's answer to `summarize`. */
export interface SummarizeResult {
  /** The summary. */
  text: string;
  /** Why the model stopped: stop, length, toolUse, error or aborted. */
  stopReason: string;
  /** Usage of the summary. */
  usage?: Usage | null;
}

/** A summarizer, or a list of them in the order in which they are asked. */
export type SummarizerChoice = string | Array<string>;

/** A summarizer that failed. */
export interface SummarizerFailure {
  /** Its name. */
  summarizer: string;
  /** The kind of the error: `summarizerFailed` or `summaryRejected`. */
  kind: string;
  /** The error message. */
  cause: string;
  /** Number of requests. */
  attempts: number;
}

/** A request to a summarizer. */
export interface SummaryRequest {
  /** What it covers. */
  kind: RequestKind;
  /** The system prompt. */
  systemPrompt: string;
  /** The prompt. */
  prompt: string;
  /** Maximum number of output tokens. */
  maxTokens: number;
  /** Estimated input tokens. */
  estimatedTokens: number;
}

/** How the summary of a compaction was requested, and what either way costs. */
export interface SummaryRequestReport {
  /** What the summary covers. */
  kind: RequestKind;
  /** How the model that wrote it was asked. */
  mode: SummarizeMode;
  /** Input tokens that were read from the provider's cache, if the provider reported them. */
  cachedTokens?: number | null;
  /** Cost of continuing the conversation, if the provider has all of it in its cache. */
  continued?: RequestEstimate | null;
  /**
   * Cost of all requests for this summary at list prices, in US dollars. Absent if the usage or the
   * price is not
   * known.
   */
  cost?: number | null;
  /** Why the conversation was not continued, or why its summary was not used. */
  notContinued?: NotContinued | null;
  /** Cost of transcripts. Absent if no transcript fits the model. */
  transcript?: RequestEstimate | null;
}

/** Totals of tokens. */
export interface TokenTotals {
  /** Input that was not read from a cache. */
  input: number;
  /** Output. */
  output: number;
  /** Input read from a cache. */
  cacheRead: number;
  /** Input written to a cache. */
  cacheWrite: number;
  /** The total. */
  total: number;
}

/** One entry of the tree. */
export interface TreeNode {
  /** The entry. */
  id: string;
  /** The entry before it, as stored. */
  parentId: string | null;
  /** Type of the entry. */
  type: string;
  /** The beginning of its text, on one line. */
  preview: string;
  /** When it was written, ISO 8601. */
  timestamp: string;
  /** Its children, oldest first. */
  children: Array<string>;
  /** Its label. */
  label?: string | null;
  /** Role of its message. */
  role?: string | null;
}

/** A navigation that is about to happen. */
export interface TreePreparation {
  /** The entry to go to. */
  targetId: string;
  /** The leaf that would be left. */
  oldLeafId: string | null;
  /** The deepest entry that both paths share. */
  commonAncestorId: string | null;
  /** The entries that would be abandoned, oldest first. */
  entriesToSummarize: Array<string>;
  /** Whether the caller asked for a summary. */
  userWantsSummary: boolean;
  /** What the summary should focus on. */
  customInstructions?: string | null;
  /** A label for the summary or the target. */
  label?: string | null;
  /** Whether `customInstructions` replace the default ones. */
  replaceInstructions?: boolean | null;
}

/** Parameters of `undoCompaction`. */
export interface UndoCompactionParams {
  /** The session. */
  sessionId: string;
  /** A compaction on the current path. Default: the last one. */
  entryId?: string | null;
}

/** Result of `undoCompaction`. */
export interface UndoCompactionResult {
  /** The new leaf: the last copy, or the navigation entry if nothing followed the compaction. */
  leafId: string;
  /** The old leaf. */
  oldLeafId: string;
  /** The compaction that was undone. */
  undoneEntryId: string;
  /** The entries after the compaction, oldest first, each with its copy. */
  replayed: Array<ReplayedEntry>;
}

/** Result of `unsubscribe`. */
export interface UnsubscribeResult {
  /** Whether there was a subscription. */
  wasSubscribed: boolean;
}

/** Parameters of `updateSettings`. */
export interface UpdateSettingsParams {
  /** Switches automatic compaction of that session on, for this model; null switches it off. */
  autoCompaction?: AutoCompactionOptions | null;
  /** The session to which `autoCompaction` applies. */
  sessionId?: string | null;
  /** Settings that override all others. Objects are merged, other values are replaced. */
  settings?: FreeObject | null;
}

/** Result of `updateSettings`. */
export interface UpdateSettingsResult {
  /** The current settings. */
  settings: FreeObject;
  /** Settings files that cannot be used, and unknown names. */
  diagnostics: Array<string>;
}

/**
 * Tokens and cost of a model call, as the session file stores them. Unknown members are carried
 * through.
 */
export interface Usage {
  cacheRead?: number;
  cacheWrite?: number;
  /** Numbers, by part: input, output, cacheRead, cacheWrite and total. */
  cost?: { [member: string]: unknown };
  input?: number;
  output?: number;
  totalTokens?: number;
  [member: string]: unknown;
}

/** The window of a model. */
export interface WindowModel {
  /** Size of the window in tokens. */
  contextWindow: number;
}

/** Parameters and result of every method. */
export interface Methods {
  /** Initializes the server. It must be the first request. */
  initialize: { params: InitializeParams; result: InitializeResult };
  /** Changes or returns the settings, and switches automatic compaction of a session on or off. */
  updateSettings: { params: UpdateSettingsParams; result: UpdateSettingsResult };
  /** Ends all operations and closes all sessions. The notification `exit` follows. */
  shutdown: { params: NoParams; result: Null };
  /** Answers at once, even before `initialize`. */
  ping: { params: NoParams; result: Null };
  /** Returns open sessions, running operations, memory use and versions of the server. */
  getStatus: { params: NoParams; result: ServerStatus };
  /** Returns the OpenRPC document of this server. */
  "rpc.discover": { params: NoParams; result: FreeObject };
  /** Creates a session and opens it. */
  createSession: { params: CreateSessionParams; result: OpenSessionResult };
  /** Opens a session file. */
  openSession: { params: OpenSessionParams; result: OpenSessionResult };
  /** Opens the most recent session of a working directory. */
  continueSession: { params: ContinueSessionParams; result: OpenSessionResult };
  /** Sends each entry that another program writes into a session by `entryAppended`, when it happens. */
  subscribe: { params: SubscribeParams; result: SubscribeResult };
  /** Ends a subscription. */
  unsubscribe: { params: SessionParams; result: UnsubscribeResult };
  /** Flushes a session and releases its lock. */
  closeSession: { params: SessionParams; result: Null };
  /** Lists sessions, newest activity first. */
  listSessions: { params: ListSessionsParams; result: ListSessionsResult };
  /** Names a session. */
  setSessionName: { params: SetSessionNameParams; result: AppendedResult };
  /** Counts messages, tokens and cost of a session. */
  getSessionStats: { params: SessionParams; result: SessionStats };
  /** Reads every body of a session and reports problems. */
  checkSession: { params: CheckSessionParams; result: CheckSessionResult };
  /** Appends a message at the leaf. */
  appendMessage: { params: AppendMessageParams; result: AppendMessageResult };
  /** Appends all messages at the leaf, or none. */
  appendMessages: { params: AppendMessagesParams; result: AppendMessagesResult };
  /** Appends an entry that is not a message at the leaf. */
  appendEntry: { params: AppendEntryParams; result: AppendedResult };
  /** Returns one entry. */
  getEntry: { params: EntryParams; result: GetEntryResult };
  /** Returns entries in file order, or the entries with some ids. */
  getEntries: { params: GetEntriesParams; result: EntriesResult };
  /** Returns the entries from the root to a leaf. */
  getBranch: { params: GetBranchParams; result: EntriesResult };
  /** Returns the tree as a flat list. */
  getTree: { params: SessionParams; result: GetTreeResult };
  /** Finds entries by their text, including those that compactions took out of the context. */
  searchSession: { params: SearchSessionParams; result: SearchSessionResult };
  /** Returns entries that compactions took out of the context, the best matches for a query first. */
  recall: { params: RecallParams; result: RecallResult };
  /** Sets or clears the label of an entry. */
  setLabel: { params: SetLabelParams; result: AppendedResult };
  /** Returns what the model sees. */
  getContext: { params: GetContextParams; result: GetContextResult };
  /** Returns how full a window is. */
  getContextUsage: { params: GetContextUsageParams; result: ContextUsage };
  /** Estimates the tokens of messages or of a text. */
  estimateTokens: { params: EstimateTokensParams; result: EstimateTokensResult };
  /** Returns messages as the text that a summarizer reads. */
  serializeConversation: { params: SerializeConversationParams; result: SerializeConversationResult };
  /** Decides whether a compaction is due. Changes nothing. */
  checkCompaction: { params: CheckCompactionParams; result: CheckCompactionResult };
  /** Describes what a compaction would do. Changes nothing. */
  prepareCompaction: { params: PrepareCompactionParams; result: PrepareCompactionResult };
  /** Replaces the older part of the context by a summary. */
  compact: { params: CompactParams; result: CompactResult };
  /** Compacts messages of the caller, without a session or a file. */
  compactMessages: { params: CompactMessagesParams; result: CompactMessagesResult };
  /** Aborts a running compaction or branch summary. */
  abortCompaction: { params: SessionParams; result: AbortResult };
  /** Restores the context from before a compaction on a new branch, with the later entries. */
  undoCompaction: { params: UndoCompactionParams; result: UndoCompactionResult };
  /** Pins an entry, so that every compaction keeps it verbatim, or unpins it. */
  pinEntry: { params: PinEntryParams; result: PinEntryResult };
  /** Returns the pinned entries of a branch. */
  getPins: { params: GetPinsParams; result: GetPinsResult };
  /** Describes what a navigation would do. Changes nothing. */
  prepareNavigation: { params: PrepareNavigationParams; result: PrepareNavigationResult };
  /** Moves the leaf to another entry of the tree. */
  navigateTree: { params: NavigateTreeParams; result: NavigateTreeResult };
  /** Copies one branch of a session into a new file and opens it. */
  forkSession: { params: ForkSessionParams; result: OpenSessionResult };
}

/** Parameters of every notification. */
export interface Notifications {
  /** An entry was written by a call, or, in a session with a subscription, by another program. */
  entryAppended: EntryAppended;
  /** Another program added entries to the file. */
  sessionChanged: SessionChanged;
  /** A part of a request was ignored. The request is served all the same. */
  diagnostic: RequestDiagnostic;
  /** A navigation moved the leaf. */
  leafChanged: LeafChanged;
  /** A compaction started. */
  compactionStart: CompactionStart;
  /** Progress of a compaction. */
  compactionProgress: OperationProgress;
  /** A compaction ended. There is exactly one for each start. */
  compactionEnd: CompactionEnd;
  /** A branch summary started. */
  branchSummaryStart: BranchSummaryStart;
  /** Progress of a branch summary. */
  branchSummaryProgress: OperationProgress;
  /** A branch summary ended. There is exactly one for each start. */
  branchSummaryEnd: BranchSummaryEnd;
}

/** Codes of the errors by their kind. */
export const errorCodes = {
  /** The message is not JSON. Reading continues at the next frame. */
  parseError: -32700,
  /**
   * The message is JSON, but not a valid request, or it is over the size limit (`reason` is
   * `messageTooLarge`; `bytes` and `limit`).
   */
  invalidRequest: -32600,
  /** There is no such method. */
  methodNotFound: -32601,
  /** A parameter is missing or wrong. `path` names it, and `expected` describes a correct value. */
  invalidParams: -32602,
  /**
   * A defect of the server, a write whose outcome is not known, a stored entry whose line is broken
   * (`entryId`, `line`), or more than the memory holds (`reason` is `outOfMemory`; `bytes` were held
   * or written). The server continues.
   */
  internalError: -32603,
  /** The first request must be `initialize`. */
  notInitialized: -32002,
  /** The request was cancelled. */
  requestCancelled: -32800,
  /** No open session has this id, or no session is at this path. */
  sessionNotFound: 1001,
  /** The session has no entry with this id. */
  entryNotFound: 1002,
  /** Another process has the session open for writing: `pid` and `host`, if known. */
  sessionLocked: 1003,
  /** The file is not a session. It was not changed. `detail` says why. */
  notASession: 1004,
  /** Writing failed, or the file exists. Nothing was changed. */
  writeFailed: 1005,
  /**
   * The leaf (`leafId`) is not the expected one (`expectedLeafId`). With `toolCallId`: the result of
   * a call came while a compaction was about to summarise the call.
   */
  leafMoved: 1006,
  /** The session is read-only. */
  readOnly: 1007,
  /** Too many requests are waiting. Send fewer at once. */
  serverBusy: 1008,
  /** Another session has the same id: `path`, if it has a file. */
  sessionIdInUse: 1009,
  /**
   * The system refused to open or read `path`: for want of permission (`reason` is
   * `permissionDenied`), or because files, a disk or a connection failed. Nothing was changed.
   */
  readFailed: 1010,
  /**
   * Everything would be kept, for example because the result of `toolCallId` is missing, or
   * compacting would not help. `reason` and the numbers say why.
   */
  nothingToCompact: 1101,
  /** The model sees nothing after the last compaction. */
  alreadyCompacted: 1102,
  /** A compaction, navigation or fork (`operationId`) is running on the session. */
  operationInProgress: 1103,
  /** The summarizer failed: `cause`, `attempts`. */
  summarizerFailed: 1104,
  /**
   * The summary is empty, cut off, or incomplete (`detail`), or it is not smaller (`reason` is
   * `notSmaller`).
   */
  summaryRejected: 1105,
  /** A hook of the client cancelled the operation. */
  cancelledByHook: 1106,
  /** A hook of the client returned a wrong result. */
  invalidHookResult: 1107,
  /** The pinned entries would take too many tokens: `tokens`, `entryTokens`, `maxTokens` and `pins`. */
  pinBudgetExceeded: 1108,
  /** The setting `path` is wrong. */
  invalidSettings: 1201,
} as const;

/** The kinds of errors. */
export type ErrorKind = keyof typeof errorCodes;
