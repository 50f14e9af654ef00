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
  /** The entry. */
  entry: NewEntry;
  /** The leaf that the caller believes in; another one fails the call with `leafMoved`. */
  expectedLeafId?: string | null;
}

/** Parameters of `appendMessage`. */
export interface AppendMessageParams {
  /** The session. */
  sessionId: string;
  /** The message. */
  message: AnyMessage;
  /** The leaf that the caller believes in; another one fails the call with `leafMoved`. */
  expectedLeafId?: string | null;
  /** The shape of the message; `pi` by default. */
  format?: MessageFormat | null;
}

/** Result of `appendMessage`. */
export interface AppendMessageResult {
  /** The new entry; the last one, where the message became several. */
  entryId: string;
  /** The leaf afterwards. */
  leafId: string;
  /** The compaction that the server has begun because of this message, or why it has not. */
  compaction?: AutomaticCompaction | null;
  /** Usage of the context, where the session's model is known. */
  contextUsage?: ContextUsage | null;
  /** The new entries, where the message became several: an entry holds one result of a tool. */
  entryIds?: Array<string>;
}

/** Parameters of `appendMessages`. */
export interface AppendMessagesParams {
  /** The session. */
  sessionId: string;
  /** The messages, oldest first; at least one, at most 10000. */
  messages: Array<AnyMessage>;
  /** The leaf that the caller believes in; another one fails the call with `leafMoved`. */
  expectedLeafId?: string | null;
  /** The shape of the messages; `pi` by default. */
  format?: MessageFormat | null;
}

/** Result of `appendMessages`. */
export interface AppendMessagesResult {
  /** The new entries, oldest first. A message may become several, and items of one answer become one. */
  entryIds: Array<string>;
  /**
   * For each entry the position of the message that it holds; of the first one, where it holds
   * several.
   */
  sources: Array<number>;
  /** The leaf afterwards. */
  leafId: string;
  /** The compaction that the server has begun because of these messages, or why it has not. */
  compaction?: AutomaticCompaction | null;
  /** Usage of the context, where the session's model is known. */
  contextUsage?: ContextUsage | null;
}

/** Result of calls that append one entry. */
export interface AppendedResult {
  /** The new entry. */
  entryId: string;
  /** The leaf afterwards. */
  leafId: string;
}

/** How a session is compacted by itself. */
export interface AutoCompactionOptions {
  /** The model that the session's requests go to. */
  model: Model;
}

/** A compaction that is due. */
export interface AutomaticCompaction {
  /** Why it is due: `threshold` or `overflow`. */
  reason: CompactionReason;
  /** Whether the request that failed is worth another try once the compaction is done. */
  willRetry: boolean;
  /** Tokens of the context. */
  contextTokens: number;
  /** More tokens than this are too many. */
  threshold: number;
  /** Tool results that were shortened in the context at once; their entries keep the whole. */
  clipped?: Array<ClippedResult>;
  /** Why it could not begin, as `compactionEnd` tells it. */
  error?: ErrorBody | null;
  /**
   * The input. After an answer that a server gave to a part of the context: the least that the
   * context
   * has.
   */
  inputTokens?: number | null;
  /**
   * The most that the provider takes, of input or of input and output together. After an answer that
   * a
   * server gave to a part of the context: what it read.
   */
  limit?: number | null;
  /**
   * Names the operation; its outcome comes with `compactionEnd`. With `operationInProgress` it is
   * the one that runs already.
   */
  operationId?: string | null;
  /** The output that was asked for. */
  requestedOutputTokens?: number | null;
  /**
   * Why nothing is done: `operationInProgress` (it is looked at again when that operation ends),
   * `failedRepeatedly`, `undone` (a compaction was undone since the last request of a person),
   * `overflowRecoveryTried` (a `compactionEnd` tells a person what to do), `outputTooLarge` (the
   * output
   * that was asked for fills the limit, so that no context is small enough), `otherModel` (another
   * model
   * refused it), `olderThanCompaction`, `alreadyCompacted`, or `disabled`.
   */
  skipped?: string | null;
  /** Until when it is not tried, after several failures in a row. */
  until?: string | null;
}

/** `branchSummaryEnd`: exactly one for every `branchSummaryStart`, sent before the reply. */
export interface BranchSummaryEnd {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
  /** Whether it was cancelled. */
  aborted: boolean;
  /** Why it failed. */
  error?: ErrorBody | null;
  /** What came of it. */
  result?: NavigationResult | null;
}

/** `branchSummaryStart`. */
export interface BranchSummaryStart {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
  /** The entry to go to. */
  targetId: string;
  /** The leaf that is left. */
  oldLeafId: string | null;
  /** Estimated tokens that the summary reads. */
  estimatedTokens: number;
}

/** The client's answer to `sessionBeforeFork`. */
export interface CancelResult {
  /** Whether the operation shall not happen. */
  cancel?: boolean | null;
}

/** Parameters of `checkCompaction`. */
export interface CheckCompactionParams {
  /** The session. */
  sessionId: string;
  /** The model of the next request. */
  model: Model;
  /** The assistant message to judge; the last one of the context by default. */
  message?: Message | null;
  /** Settings for this call: members of `compaction`, or the shape that `updateSettings` takes. */
  settings?: FreeObject | null;
}

/** Result of `checkCompaction`. */
export interface CheckCompactionResult {
  /** What to do. */
  action: CompactionAction;
  /** Whether the failed request is worth another try after the compaction. */
  willRetry: boolean;
  /** Tokens of the context. */
  contextTokens: number;
  /** Tokens above which the threshold is crossed. */
  threshold: number;
  /**
   * The input. After an answer that a server gave to a part of the context: the least that the
   * context
   * has.
   */
  inputTokens?: number | null;
  /**
   * Tokens of recent context that a compaction would keep verbatim, as they fit the window; absent
   * if that is not known.
   */
  keepRecentTokens?: number | null;
  /**
   * The most that the provider takes, of input or of input and output together. After an answer that
   * a
   * server gave to a part of the context: what it read.
   */
  limit?: number | null;
  /** Why. */
  reason?: CompactionReason | null;
  /** The output that was asked for. */
  requestedOutputTokens?: number | null;
  /** Tokens of the window that stay free, as they fit it; absent if the window is not known. */
  reserveTokens?: number | null;
  /**
   * Why nothing is done although something might seem due: as `skipped` of `appendMessage`, or
   * `unknownWindow`, `aborted`.
   */
  skipped?: string | null;
}

/** Parameters of `checkSession`: an open session or a file. */
export interface CheckSessionParams {
  /** Path of a file; used if no session is named. */
  path?: string | null;
  /** An open session. */
  sessionId?: string | null;
}

/** Result of `checkSession`. */
export interface CheckSessionResult {
  /** What was odd, bodies included. */
  diagnostics: Array<Diagnostic>;
}

/** What a client answers. */
export interface ClientCapabilities {
  /**
   * The client wants the whole entry in `entryAppended`, and not only its `type`, `id`, `parentId`
   * and
   * `timestamp`. Default: true.
   */
  entryBodies?: boolean | null;
  /** Names of the hooks that the client answers. */
  hooks?: Array<string>;
  /**
   * The client wants `details.compactd.ledger` in the results of compactions. Default: true. The
   * stored entry has
   * it anyway.
   */
  ledgers?: boolean | null;
  /** The client wants progress notifications. Default: true. */
  progress?: boolean | null;
  /** The client answers `summarize`. */
  summarize?: boolean;
  /**
   * Modes of `summarize` that the client answers: `transcript` always, `continue` if it is named
   * here. A client
   * that continues must be able to send the conversation again as its last request had it, with the
   * same model,
   * prompt and tools.
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
 * A tool result that was shortened in the context, because it is larger than what the window
 * leaves.
 */
export interface ClippedResult {
  /** The entry of the result, which keeps the whole of it. */
  entryId: string;
  /** Its tokens before. */
  tokensBefore: number;
  /** Its tokens afterwards. */
  tokensAfter: number;
}

/** Parameters of `compactMessages`. */
export interface CompactMessagesParams {
  /**
   * The whole context, oldest message first; at most 10000. With `previous`: the messages that the
   * call
   * gave which gave it, and what came since.
   */
  messages: Array<AnyMessage>;
  /** Whether a summary is taken that is no smaller than what it replaces. */
  force?: boolean;
  /** The shape of the messages; `pi` by default. */
  format?: MessageFormat | null;
  /** What the summary should look at. */
  instructions?: string | null;
  /** The model that the messages go to: the new context leaves room for its answers. */
  model?: Model | null;
  /** What the last such call for this conversation gave as `previous`. */
  previous?: FreeObject | null;
  /** Compaction settings for this call. */
  settings?: FreeObject | null;
  /**
   * The summarizer for this call, instead of the configured one, or a list of them: the next one
   * writes where one fails.
   */
  summarizer?: SummarizerChoice | null;
}

/** Result of `compactMessages`. */
export interface CompactMessagesResult {
  /**
   * The messages of the new context: instructions that led the messages, the summary, and what
   * stays.
   */
  messages: Array<AnyMessage>;
  /** Position among the messages given of the oldest one that stays. */
  keptFrom: number;
  /** For the next call; its members are nobody's business but ours. */
  previous: FreeObject;
  /** The compaction. Its entry ids are those of a copy that ended with the call. */
  report: CompactionResult;
  /** Instructions from between the messages, for interfaces that take them beside the messages. */
  system?: string | null;
}

/** Parameters of `compact`. */
export interface CompactParams {
  /** The session. */
  sessionId: string;
  /**
   * Whether the compaction is written (true, the default). With false the result is that of a
   * compaction
   * of a copy in memory: the session stays as it is, its entry ids hold for `firstKeptEntryId` and
   * `details`, and `entryId` names no entry. Notifications of it carry a session id of their own.
   */
  commit?: boolean | null;
  /** What the summary should look at. */
  customInstructions?: string | null;
  /** The oldest entry that stays verbatim, in place of the one that the settings give. */
  firstKeptEntryId?: string | null;
  /** Whether a summary is taken that is no smaller than what it replaces. */
  force?: boolean;
  /** Settings for this call: members of `compaction`, or the shape that `updateSettings` takes. */
  settings?: FreeObject | null;
  /**
   * The summarizer for this call, instead of the configured one, or a list of them: the next one
   * writes where one fails.
   */
  summarizer?: SummarizerChoice | null;
  /** A summary that the client wrote. */
  summary?: GivenSummary | null;
  /** Whether to answer when the compaction is done (true, the default) or at once. */
  wait?: boolean | null;
}

/** Result of `compact`; only `operationId` with `wait: false`. */
export type CompactResult = CompactionResult | StartedResult;

/** What to do. */
export type CompactionAction =
  /** Nothing. */
  | "none"
  /** Compact. */
  | "compact";

/** `compactionEnd`: exactly one for every `compactionStart`, sent before the reply to `compact`. */
export interface CompactionEnd {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
  /** Why it happened. */
  reason: CompactionReason;
  /** Whether it was cancelled. */
  aborted: boolean;
  /** Whether the failed request is worth another try. */
  willRetry: boolean;
  /** Tool results that were shortened in the context where that was enough. */
  clipped?: Array<ClippedResult>;
  /** Why it failed. */
  error?: ErrorBody | null;
  /** Until when the session is not compacted by itself, after several failures in a row. */
  pausedUntil?: string | null;
  /** What came of it; absent where shortening tool results was enough. */
  result?: CompactionResult | null;
  /**
   * Given, and true, where the server began the compaction and the context ends with a tool result
   * or
   * an answer that was cut: the agent has work left, and nobody but the host resumes it.
   */
  unfinished?: boolean | null;
}

/** Why a compaction happens. */
export type CompactionReason =
  /** Somebody asked for it. */
  | "manual"
  /** The context came near the window. */
  | "threshold"
  /** The model refused the context. */
  | "overflow";

/** A compaction that is done. */
export interface CompactionResult {
  /** The compaction entry. */
  entryId: string;
  /**
   * Its summary. Without a model, all of it (text, context of a split turn, lists of files) stays
   * within 0.8 of
   * `reserveTokens`. A model's text is bounded by what the model is asked for; lists of files behind
   * it take a tenth
   * of `reserveTokens` at most, and facts that it lacks a tenth of its own tokens, or fill it up to
   * 1,000 tokens.
   */
  summary: string;
  /** The oldest entry that stays verbatim. */
  firstKeptEntryId: string;
  /** Tokens of the context before. */
  tokensBefore: number;
  /** Tokens of the context after, estimated: no provider has counted it yet. */
  tokensAfter: number;
  /**
   * Tokens of the context before in the measure of `tokensAfter`. `tokensBefore` is the provider's
   * count, where
   * there is one.
   */
  estimatedTokensBefore: number;
  /**
   * The entry's `details`. `readFiles` and `modifiedFiles` name at most 2,000 files
   * together, whose paths have at most 256 KiB: modified files before those that were only read, and
   * the ones
   * touched last before the rest. `compactd.filesLeftOut` counts the others, where there are any; a
   * file that was
   * left out and came back counts.
   */
  details: FreeObject;
  /** Whether a hook or the client gave the summary. */
  fromHook: boolean;
  /** Who wrote the summary. */
  summarizer: string;
  /** Requests that were made, failed ones included. */
  attempts: number;
  /** One or two sentences for a user interface. */
  brief: string;
  /** How much is there, by class. */
  retention: Retention;
  /** How much the summary alone held, before what it lacked was added. */
  retentionBeforeRepair: Retention;
  /**
   * One figure for the retention, from 0 to 1: the weighted mean of the classes that have something
   * to keep.
   * Statements count 4, requests 3, errors and constraints 1, files 0.5, identifiers 0.25.
   */
  score: number;
  /** What the summary alone lacked, and what it says that nothing supports. */
  lossReport: LossReport;
  /** Summarizers that were asked before that one, and why they did not write it. */
  failures?: Array<SummarizerFailure>;
  /** Secrets that were taken out of what the model was told and said, by rule. */
  redactions?: Record<string, number>;
  /** How models were asked for the summary, and what either way takes: one for each part of it. */
  summaryRequests?: Array<SummaryRequestReport>;
  /** What the summary cost. */
  usage?: FreeObject | null;
}

/** Settings that decided a preparation. */
export interface CompactionSettings {
  /** Whether compaction may start by itself. */
  enabled: boolean;
  /** Tokens of the window that stay free. */
  reserveTokens: number;
  /** Tokens of recent context that stay verbatim. */
  keepRecentTokens: number;
  /** Percent of the window over which compaction is due, if that is set. */
  thresholdPercent?: number | null;
}

/** `compactionStart`. */
export interface CompactionStart {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
  /** Why it happens. */
  reason: CompactionReason;
  /** Tokens of the context. */
  tokensBefore: number;
}

/** Format of a context. */
export type ContextFormat =
  /** Stored roles, and synthetic `compactionSummary`, `branchSummary` and `custom` messages. */
  | "agent"
  /**
   * User, assistant and toolResult alone, ready to send to a model: answers that failed or were
   * aborted
   * are left out with the results of their calls, and every call has its result right behind it. The
   * calls of the last answer stay open, as their results may still come.
   */
  | "llm"
  /**
   * As `llm`, in the shape of OpenAI's chat completions, system messages included. So are the
   * others:
   * a message that was appended in the shape comes back as it was.
   */
  | "openai"
  /** Items for OpenAI's `responses`. */
  | "openai-responses"
  /** `messages` for Anthropic; the instructions come in `system`. */
  | "anthropic"
  /** `contents` for Gemini; the instructions come in `system`. */
  | "gemini"
  /** Model messages of the AI SDK. */
  | "ai-sdk";

/** Tokens of a context. */
export interface ContextTokens {
  /** The sum. */
  tokens: number;
  /** Tokens of the last usage that can be trusted. */
  usageTokens: number;
  /** Estimates for the messages after it. */
  trailingTokens: number;
}

/** How full a window is. */
export interface ContextUsage {
  /** Tokens of the context; null between a compaction and the first answer after it. */
  tokens: number | null;
  /** Size of the window in tokens. */
  contextWindow: number;
  /** Tokens in percent of the window. */
  percent: number | null;
}

/** Parameters of `continueSession`. */
export interface ContinueSessionParams {
  /** Compacts the session by itself for this model. */
  autoCompaction?: AutoCompactionOptions | null;
  /** Working directory whose most recent session is opened; that of `initialize` by default. */
  cwd?: string | null;
}

/** The part of a conversation that is continued for its summary. */
export interface ContinuedConversation {
  /** The last entry that is part of it. */
  lastEntryId: string;
  /**
   * How many messages it has: the first ones of `getContext` in `llm` format. An answer with tool
   * calls is
   * never the last one without their results.
   */
  messages: number;
  /** The oldest entry that the compaction keeps. */
  firstKeptEntryId: string;
}

/** Parameters of `createSession`. */
export interface CreateSessionParams {
  /** Compacts the session by itself for this model. */
  autoCompaction?: AutoCompactionOptions | null;
  /** Working directory of the session; that of `initialize` by default. */
  cwd?: string | null;
  /** Whether the session is kept in memory alone. */
  ephemeral?: boolean;
  /** The shape of the messages; `pi` by default. */
  format?: MessageFormat | null;
  /**
   * Messages that the session begins with, oldest first; at most 10000. Their entries are not told
   * by
   * `entryAppended`.
   */
  messages?: Array<AnyMessage>;
  /** Name of the session. */
  name?: string | null;
  /** Path of the session that this one continues. */
  parentSession?: string | null;
  /** Path of the file, instead of one that is made up; it must not exist. */
  path?: string | null;
  /** A flat directory for the file. */
  sessionDir?: string | null;
  /**
   * Id of the session, instead of one that is made up: letters, digits and, not at its ends, `.`,
   * `_` and `-`,
   * 128 at most. One that another session of the directory, or an open one, has is refused (1009).
   */
  sessionId?: string | null;
}

/** Something odd in a session that was read around. */
export interface Diagnostic {
  /** What it is. */
  kind: string;
  /** What a person reads. */
  message: string;
  /** Line of the file, counted from 1. */
  line?: number | null;
}

/** What was passed over. */
export type DiagnosticKind =
  /** A member that the method does not have. */
  | "unknownMember"
  /** A setting that does not exist. */
  | "unknownSetting";

/** Result of `getEntries` and `getBranch`. */
export interface EntriesResult {
  /** The entries. */
  entries: Array<Entry>;
  /** Present if there are more, in `getEntries` with a `limit`. */
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

/** `entryAppended`: an entry was written, whoever caused it. */
export interface EntryAppended {
  /** The session. */
  sessionId: string;
  /** The entry. */
  entry: Entry;
}

/** Parameters of calls that name one entry. */
export interface EntryParams {
  /** The session. */
  sessionId: string;
  /** The entry. */
  entryId: string;
}

/** An error, as a reply would hold it. */
export interface ErrorBody {
  /** Code of the error. */
  code: number;
  /** What a person reads. */
  message: string;
  /** `kind`, `reason` and `retryable`, and the ids and numbers needed to act. */
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
  /** The shape of the messages; `pi` by default. */
  format?: MessageFormat | null;
  /** Messages, as stored or as models get them, or in the shape that `format` names. */
  messages?: Array<AnyMessage> | null;
  /** A text; used if there are no messages. */
  text?: string | null;
}

/** Result of `estimateTokens`. */
export interface EstimateTokensResult {
  /** Estimated tokens. */
  tokens: number;
}

/** Paths by what was done to them, sorted. */
export interface FileOperations {
  /** Files that were read. */
  read: Array<string>;
  /** Files that were written whole. */
  written: Array<string>;
  /** Files that were edited. */
  edited: Array<string>;
}

/** What a compaction would keep by itself, as far as that is known before a summary is written. */
export interface Forecast {
  /** How much any summary keeps at least, once it is repaired. */
  retention: Retention;
  /** One figure for it, from 0 to 1. */
  score: number;
}

/** Where a fork ends. */
export type ForkPosition =
  /** Before the entry: a message's text goes back into the editor. */
  | "before"
  /** At the entry, which is part of the fork. */
  | "at";

/** Parameters of `forkSession`. */
export interface ForkSessionParams {
  /** The session. */
  sessionId: string;
  /** The entry at which the fork ends. */
  entryId: string;
  /** Whether the fork ends before or at the entry; before by default. */
  position?: ForkPosition;
}

export type FreeObject = { [member: string]: unknown };

/** Parameters of `getBranch`. */
export interface GetBranchParams {
  /** The session. */
  sessionId: string;
  /** The end of the branch; the leaf by default. */
  leafId?: string | null;
}

/** Parameters of `getContext`. */
export interface GetContextParams {
  /** The session. */
  sessionId: string;
  /** An entry up to which the caller has the context already. */
  after?: string | null;
  /** Format of the messages; `agent` by default. */
  format?: ContextFormat | null;
  /** The end of the branch; the leaf by default. */
  leafId?: string | null;
}

/** Result of `getContext`. */
export interface GetContextResult {
  /** What the model sees. */
  messages: Array<AnyMessage>;
  /** The end of the branch. */
  leafId: string | null;
  /** The thinking level at the leaf. */
  thinkingLevel: string;
  /** The model at the leaf. */
  model: ModelName | null;
  /** What the whole context weighs. */
  tokens: ContextTokens;
  /** With `after`: whether `messages` holds only what follows that entry. */
  delta?: boolean | null;
  /** What was odd: unknown first kept entries, broken bodies, results without calls. */
  diagnostics?: Array<Diagnostic>;
  /** The instructions, for interfaces that take them beside the messages. */
  system?: string | null;
}

/** Parameters of `getContextUsage`. */
export interface GetContextUsageParams {
  /** The session. */
  sessionId: string;
  /** The model whose window counts. */
  model: WindowModel;
}

/** Parameters of `getEntries`. */
export interface GetEntriesParams {
  /** The session. */
  sessionId: string;
  /** Where the last page ended: its `nextCursor`, or the id of any entry. The first page by default. */
  cursor?: string | null;
  /** Ids of the entries that are wanted, at most 1000, in this order; used in place of the others. */
  ids?: Array<string> | null;
  /** Entries per page; all by default. */
  limit?: number | null;
  /**
   * Deprecated since 1.1 in favour of `cursor`, which counts where both are given: the entry after
   * which to start.
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
  /** The end of a branch; the leaf by default. */
  leafId?: string | null;
}

/** Result of `getPins`. */
export interface GetPinsResult {
  /** The pinned entries of the branch, root first. */
  pins: Array<PinnedEntry>;
  /** What they take together. */
  tokens: number;
  /** What they may take together. */
  maxTokens: number;
}

/** Result of `getTree`. */
export interface GetTreeResult {
  /** The leaf. */
  leafId: string | null;
  /** All entries in file order; never nested, so that depth has no limit. */
  nodes: Array<TreeNode>;
}

/** A branch summary that the client wrote. */
export interface GivenBranchSummary {
  /** Its text. */
  summary: string;
  /** Members for the entry's `details`. */
  details?: FreeObject | null;
  /** What the summary cost. */
  usage?: Usage | null;
}

/** A summary that the client wrote. */
export interface GivenSummary {
  /** Its text. */
  summary: string;
  /** Members for the entry's `details`. */
  details?: FreeObject | null;
  /** The oldest entry that stays verbatim; that of the preparation by default. */
  firstKeptEntryId?: string | null;
  /** Tokens of the context before; used from hooks alone, else they are counted. */
  tokensBefore?: number | null;
  /** What the summary cost. */
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
  /** Agent directory; `$PI_CODING_AGENT_DIR`, then `~/.pi/agent` by default. */
  agentDir?: string | null;
  /** What the client answers. */
  capabilities?: ClientCapabilities;
  /** Working directory for sessions that name none; the server's own by default. */
  cwd?: string | null;
  /** Process id of the parent; when it dies, the server ends. */
  processId?: number | null;
  /** A flat directory of sessions, instead of one per working directory. */
  sessionDir?: string | null;
  /** Settings over those of the settings files. */
  settings?: FreeObject | null;
}

/** Result of `initialize`. */
export interface InitializeResult {
  /** Version of the protocol that is spoken: 1. */
  protocolVersion: number;
  /**
   * Its minor version: 1. Every version 1 serves what earlier ones serve; 1.0 does not say this
   * member.
   */
  protocolMinorVersion: number;
  /** Who the server is. */
  serverInfo: ServerInfo;
  /** What the server does. */
  capabilities: ServerCapabilities;
  /** The settings in force: defaults, files and `initialize.settings` merged. */
  settings: FreeObject;
  /** Settings files that could not be read, and other oddities. */
  diagnostics: Array<string>;
}

/** `leafChanged`: a navigation moved the leaf. */
export interface LeafChanged {
  /** The session. */
  sessionId: string;
  /** The leaf. */
  leafId: string | null;
  /** The leaf before. */
  oldLeafId: string | null;
}

/** Parameters of `listSessions`. */
export interface ListSessionsParams {
  /** Whether to list the sessions of all working directories. */
  all?: boolean;
  /** Where the last page ended: its `nextCursor`. */
  cursor?: string | null;
  /** Working directory whose sessions are listed; that of `initialize` by default. */
  cwd?: string | null;
  /** Sessions per page. */
  limit?: number | null;
  /** A flat directory of sessions. */
  sessionDir?: string | null;
}

/** Result of `listSessions`. */
export interface ListSessionsResult {
  /** Sessions, newest activity first. */
  sessions: Array<SessionSummary>;
  /** Present if there are more. */
  nextCursor?: string | null;
}

/** What a summary lacks, and what is doubtful in it; the most telling first. */
export interface LossReport {
  /** Paths that are missing. */
  files: Array<string>;
  /** Identifiers that are missing. */
  identifiers: Array<string>;
  /** Errors that are missing. */
  errors: Array<LostError>;
  /** Requests that are missing. */
  requests: Array<LostItem>;
  /** Constraints and preferences that are missing. */
  constraints: Array<LostItem>;
  /** Of the sentences that said most those that are missing. */
  statements: Array<LostItem>;
  /** Requests and constraints of which only a part is there. */
  clipped: Array<LostItem>;
  /**
   * Names in the summary that stand nowhere in what it was made from: not in the compacted messages,
   * the
   * summary before it, the messages that stay, or what earlier compactions stored. Checked are paths
   * with a
   * file's ending or a root, names of files, identifiers with an underscore or with capitals inside
   * after small
   * letters, tickets and codes of errors, hashes, versions of three parts, and numbers of at least
   * three digits
   * with a unit that are not said to be rough. Not checked are words, names of products, addresses,
   * other
   * numbers, and whether names are brought together rightly.
   */
  unsupported: Array<string>;
  /**
   * Claims of the summary that are the reverse of what is known: in English, in prose as in lists,
   * that a file
   * that tools worked on was changed or was not, that tests, build, lint or a quoted command
   * succeed, that
   * something was committed or pushed. Sentences that wish, ask, or tell conditions claim nothing.
   */
  reversed: Array<ReversedFact>;
}

/** An error that a summary lacks. */
export interface LostError {
  /** The line that tells best why. */
  line: string;
  /** Whether the same succeeded since. */
  resolved: boolean;
  /** The entries that it comes from. */
  entryIds: Array<string>;
  /** The path or command that failed. */
  subject?: string | null;
}

/** Words that a summary lacks. */
export interface LostItem {
  /** The words. */
  text: string;
  /** The entries that they come from. */
  entryIds: Array<string>;
}

/** What the server takes of the memory. */
export interface MemoryStatus {
  /** Bytes that lie in memory; null where the system does not tell. */
  residentBytes: number | null;
  /** Bytes of address space that the process may have, where there is a limit. */
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

/** A shape of messages. */
export type MessageFormat =
  /** That of the session file. */
  | "pi"
  /** `messages` of OpenAI's chat completions, and of all servers that speak like it. */
  | "openai"
  /** Items of OpenAI's `responses`. */
  | "openai-responses"
  /** `messages` of Anthropic. */
  | "anthropic"
  /** `contents` of Gemini. */
  | "gemini"
  /** Model messages of the AI SDK (version 5 and 6); its UI messages are read too. */
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
   * The longest answer that is asked of it, in tokens. An answer that stops for its length before it
   * is a reason to compact and ask again, once.
   */
  maxOutputTokens?: number | null;
}

/** A model, as entries name it. */
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
  /** What the summary should look at. */
  customInstructions?: string | null;
  /** A label for the summary, or for the target if there is none. */
  label?: string | null;
  /** Whether `customInstructions` stand in place of the usual ones. */
  replaceInstructions?: boolean;
  /** Whether to summarise the branch that is left. */
  summarize?: boolean;
  /** The summarizer for this call. */
  summarizer?: SummarizerChoice | null;
  /** A summary that the client wrote. */
  summary?: GivenBranchSummary | null;
  /** Whether to answer when the navigation is done (true, the default) or at once. */
  wait?: boolean | null;
}

/** Result of `navigateTree`; only `operationId` with `wait: false`. */
export type NavigateTreeResult = NavigationResult | StartedResult;

/** A navigation that is done. */
export interface NavigationResult {
  /** The leaf afterwards. */
  leafId: string | null;
  /** The leaf before. */
  oldLeafId: string | null;
  /** Whether the navigation was cancelled and nothing moved. */
  cancelled: boolean;
  /** Whether it was cancelled by ending its summary. */
  aborted?: boolean | null;
  /** The text that goes back into the editor. */
  editorText?: string | null;
  /** The summary of the branch that was left. */
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
  /** The same for a person, with the numbers. */
  detail: string;
}

/** Reasons for which a conversation is not continued, or a summary that it gave not taken. */
export type NotContinuedReason =
  /** The settings ask for transcripts. */
  | "settings"
  /** The summarizer, or the client, cannot continue conversations. */
  | "notSupported"
  /** The conversation is another model's, or at another provider. That one shall not see it whole. */
  | "otherModel"
  /** The conversation was held over another interface of the provider. */
  | "otherInterface"
  /** The session does not hold prompt and tools, or not as one prompt that stands first. */
  | "promptUnknown"
  /** The last answer's request did not begin with all of it. */
  | "notSeen"
  /** Conversation, instruction and summary do not fit the window together. */
  | "tooLarge"
  /** The conversation was held with thinking, and the settings of the summarizer do not say how. */
  | "thinkingUnknown"
  /** The last answer's usage shows no cache. */
  | "noCache"
  /** Its request was too long ago for the cache to have it still. */
  | "cold"
  /** The provider had nothing in its cache when a conversation was continued before. */
  | "missed"
  /** A transcript is cheaper. */
  | "dearer"
  /** The provider, or the client, has refused the request. */
  | "refused"
  /** The model called the request too large. */
  | "overflow"
  /** The server has read a part of the request. */
  | "truncated"
  /** The model called a tool. */
  | "toolCall"
  /** The answer was empty. */
  | "empty"
  /** The answer was cut off twice. */
  | "cutOff"
  /** The answer lacked headings twice. */
  | "headings"
  /** The model stopped for a reason of its provider's. */
  | "stopped";

export type Null = null;

/** Parameters of `openSession`. */
export interface OpenSessionParams {
  /** Path of the session file. */
  path: string;
  /** Compacts the session by itself for this model. */
  autoCompaction?: AutoCompactionOptions | null;
  /** Whether to open it for reading alone, without a lock. */
  readOnly?: boolean;
}

/** Result of `createSession`, `openSession`, `continueSession` and `forkSession`. */
export interface OpenSessionResult {
  /** The header's id; names the session in every later call. */
  sessionId: string;
  /** The first line of the file. */
  header: Header;
  /** The leaf; null for a session without entries. */
  leafId: string | null;
  /** Whether the session cannot be written. */
  readOnly: boolean;
  /** What was odd. */
  diagnostics: Array<Diagnostic>;
  /** After a fork before a message: its text, for the editor. */
  editorText?: string | null;
  /** Number of entries, where it is known without reading the whole file. */
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
  /** Whether it cannot be written. */
  readOnly: boolean;
  /** Whether it is compacted by itself. */
  autoCompaction: boolean;
  /** Path of the file; absent for sessions in memory. */
  path?: string | null;
}

/** What an operation is at. */
export type OperationPhase =
  /** A summary is being written. */
  | "summarizing"
  /** A request failed and is made again after a while. */
  | "waiting"
  /** The entry is being written. */
  | "committing";

/** `compactionProgress` and `branchSummaryProgress`. */
export interface OperationProgress {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
  /** What is going on. */
  phase: OperationPhase;
  /** The request that is running, counted from 1. */
  request: number;
  /** Requests in all. */
  requests: number;
  /** Output tokens of this request so far. */
  outputTokens: number;
  /** New text of the summary. */
  delta?: string | null;
}

/** An operation that runs. */
export interface OperationStatus {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
}

/** Where a piece of an entry stands. A piece that crosses the border of two parts counts as two. */
export interface Passage {
  /** The part of the entry that it is of. */
  part: PassagePart;
  /** Where it begins in the entry's whole text, in UTF-16 units. */
  start: number;
  /** Where it ends there, in UTF-16 units. */
  end: number;
  /** Where it begins in `text`, in UTF-16 units. */
  offset: number;
  /**
   * The part's place in the list of the message's content blocks, from 0; absent where the content
   * is
   * no list.
   */
  block?: number | null;
}

/** A part of an entry. */
export type PassagePart =
  /** Text, that of a tool result as well. */
  | "text"
  /** A tool call: its name and arguments. */
  | "toolCall"
  /** An image, of which a mark is left. */
  | "image"
  /** A command that the person ran. */
  | "command"
  /** What that command printed. */
  | "output"
  /** A summary. */
  | "summary";

/** Parameters of `pinEntry`. */
export interface PinEntryParams {
  /** The session. */
  sessionId: string;
  /** An entry on the current path that gives the model a message. */
  entryId: string;
  /** Whether it is to be pinned (true) or unpinned. */
  pinned: boolean;
}

/** Result of `pinEntry`. */
export interface PinEntryResult {
  /** The entry. */
  entryId: string;
  /** Whether it is pinned now. */
  pinned: boolean;
  /** All pinned entries of the path, root first. */
  pins: Array<PinnedEntry>;
  /** What they take together. */
  tokens: number;
  /** What they may take together (setting `compactd.pins.maxTokens`). */
  maxTokens: number;
}

/** A pinned entry. */
export interface PinnedEntry {
  /** The entry. */
  entryId: string;
  /** Estimated tokens that it takes behind a summary. */
  tokens: number;
}

/** What would be compacted. */
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
  /** Files that the summarised part touched. */
  fileOps: FileOperations;
  /** The settings that were used, as they fit the window where the session's model is known. */
  settings: CompactionSettings;
  /** The leaf of the branch. */
  leafId: string;
}

/** Parts of a preparation that can be asked for. */
export type PreparationPart =
  /** The messages; without them the lists hold entry ids. */
  | "messages"
  /** The requests that a summarizer would get. */
  | "requests"
  /** What would be kept at least of what the compacted part holds. */
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
  /** What the summary should look at. */
  customInstructions?: string | null;
  /** The oldest entry that would stay verbatim, in place of the one that the settings give. */
  firstKeptEntryId?: string | null;
  /** What the result holds; all parts by default. */
  include?: Array<PreparationPart> | null;
  /** The end of the branch; the leaf by default. */
  leafId?: string | null;
  /** Settings for this call: members of `compaction`, or the shape that `updateSettings` takes. */
  settings?: FreeObject | null;
  /** The summarizer whose requests are planned, instead of the configured one, or a list of them. */
  summarizer?: SummarizerChoice | null;
}

/** Result of `prepareCompaction`. */
export interface PrepareCompactionResult {
  /** What would be compacted; null if nothing would. */
  preparation: Preparation | null;
  /** The compaction that nothing follows, if that is the reason. */
  compactionId?: string | null;
  /** Tokens of the context, if nothing would be compacted. */
  contextTokens?: number | null;
  /** What would be kept at least of what the compacted part holds. */
  forecast?: Forecast | null;
  /** Tokens that are kept at least, if nothing would be compacted. */
  keepRecentTokens?: number | null;
  /** Messages that all would be kept, if nothing would be compacted. */
  messages?: number | null;
  /** Why nothing would be compacted. */
  reason?: RefusalReason | null;
  /** What a summarizer would get, in order. */
  requests?: Array<SummaryRequest> | null;
  /**
   * The tool call whose result has not come and from which on all has to stay, if that is the
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
  /** The leaf to start from; the current one by default. */
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
  /** The entries that would be left, oldest first. */
  entriesToSummarize: Array<string>;
  /** The leaf afterwards; null for the place before the first entry. */
  newLeafId: string | null;
  /** Estimated tokens that a summary would read. */
  estimatedTokens: number;
  /** The text that would go back into the editor. */
  editorText?: string | null;
}

/** Parameters of `recall`: a question, or ids. */
export interface RecallParams {
  /** The session. */
  sessionId: string;
  /** Entries that are wanted as they are, evicted or not, in this order. */
  entryIds?: Array<string> | null;
  /** The end of a branch; the leaf by default. */
  leafId?: string | null;
  /** Tokens that the texts may have together, 1 or more; 2000 by default. */
  maxTokens?: number | null;
  /**
   * Words that evicted entries are looked for with; those that answer best come first. Words that
   * carry
   * nothing do not count; a name of a file finds the calls that changed it first.
   */
  query?: string | null;
}

/** Result of `recall`. */
export interface RecallResult {
  /** The entries, best first, or in the order in which they were asked for. */
  entries: Array<RecalledEntry>;
  /** Estimated tokens of their texts. */
  tokens: number;
  /** Entries that would answer as well, or were asked for, and of which nothing fits. */
  omitted: number;
}

/** An entry that is given back. */
export interface RecalledEntry {
  /** The entry. */
  entryId: string;
  /** Type of the entry. */
  type: string;
  /** When it was written, ISO 8601. */
  timestamp: string;
  /**
   * What it says. Of a question's answer the passages that answer, in their order, with a line `[…]`
   * where something is left out.
   */
  text: string;
  /** Estimated tokens of the text. */
  tokens: number;
  /** Whether anything of what it says is left out. */
  truncated: boolean;
  /** Where the pieces of the text stand in the entry; with a question alone. */
  passages?: Array<Passage> | null;
  /** Role of its message. */
  role?: string | null;
  /** How well it answers; comparable within one result alone. */
  score?: number | null;
}

/** Why nothing would be compacted. */
export type RefusalReason =
  /** Nothing follows the last compaction. */
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
 * `diagnostic`: a part of a request was passed over, and the request served all the same. Each
 * part is told of
 * once. `initialize` and `updateSettings` tell the same in the `diagnostics` of their results.
 */
export interface RequestDiagnostic {
  /** What it is. */
  kind: DiagnosticKind;
  /** The method of the request. */
  method: string;
  /** Where it stands in the parameters. */
  path: string;
  /** What a person reads. */
  message: string;
  /** The known name that was probably meant. */
  nearest?: string | null;
}

/** An estimate of what the input of requests takes. */
export interface RequestEstimate {
  /** Input tokens. */
  inputTokens: number;
  /** What they cost at list prices, in US dollars; absent where the model's price is not known. */
  cost?: number | null;
}

/** What a request to a summarizer is about. */
export type RequestKind =
  /** The conversation up to the turn that is cut. */
  | "history"
  /** The first part of the turn that is cut. */
  | "turnPrefix"
  /** A branch that is left. */
  | "branch";

/**
 * Parts that are there, from 0 to 1; 1 where there was nothing to keep.
 * 
 * They are measured against what the compacted part held and what earlier compactions of the
 * branch knew, that
 * included which their ledgers could not store. Errors, requests, constraints and statements count
 * as told in
 * other words too: if one line, or 420 characters over lines, has most of their telling words.
 * Lines of nothing
 * but names and blocks of files tell nothing but names.
 */
export interface Retention {
  /** Files that tools touched, and paths that were named again and again. */
  files: number;
  /** Symbols, hashes, tickets and the like. */
  identifiers: number;
  /** Lines of errors; those that were resolved weigh little. */
  errors: number;
  /** Requests; one that is told in part counts half. */
  requests: number;
  /** Constraints and preferences; likewise. */
  constraints: number;
  /** The sentences that said most, by how much they said. */
  statements: number;
}

/** A statement that is the reverse of what is known. */
export interface ReversedFact {
  /** What is known: `notModified`, `modified`, `failed`, `notCommitted`, or `notPushed`. */
  fact: string;
  /** The file or command; `git commit` or `git push` where nothing was committed or pushed. */
  subject: string;
}

/** An entry that a search found. */
export interface SearchHit {
  /** The session that it is in. */
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
   * Whether the entry is not in the context at its session's leaf: compacted or edited away, or on
   * another branch.
   */
  evicted: boolean;
  /** Path of the session's file, where there is one. */
  path?: string | null;
  /** Role of its message. */
  role?: string | null;
  /** How well it answers, where no entry has all words; comparable within one session alone. */
  score?: number | null;
}

/** Parameters of `searchSession`: an open session, or all. */
export interface SearchSessionParams {
  /**
   * Words that must all occur, whatever their case; a phrase in double quotes counts as one word.
   * Where no
   * entry has all of three words or more, those that have the most of them are found.
   */
  query: string;
  /** Whether to search all sessions, open or not, in place of one. */
  all?: boolean;
  /**
   * Where the last page ended: its `nextCursor`. What is appended between two pages comes before
   * both, so that a
   * hit may come twice then, and none is left out.
   */
  cursor?: string | null;
  /** Hits per page, from 1 to 1000; 50 by default. */
  limit?: number | null;
  /** An open session. */
  sessionId?: string | null;
}

/** Result of `searchSession`. */
export interface SearchSessionResult {
  /** Entries whose text has all words, newest first; where there are none, those that answer best. */
  hits: Array<SearchHit>;
  /** Deprecated since 1.1 in favour of `nextCursor`: whether there are more. */
  truncated: boolean;
  /** Present if there are more. */
  nextCursor?: string | null;
}

/** Parameters of `serializeConversation`. */
export interface SerializeConversationParams {
  /** Messages in either format. */
  messages: Array<Message>;
}

/** Result of `serializeConversation`. */
export interface SerializeConversationResult {
  /** The conversation as one text. */
  text: string;
}

/** What the server does. */
export interface ServerCapabilities {
  /** Methods that it answers. */
  methods: Array<string>;
  /** Notifications that it sends. */
  notifications: Array<string>;
  /** Hooks that it calls. */
  hooks: Array<string>;
  /** Summarizers that it has. */
  summarizers: Array<string>;
  /** Modes in which it asks the client by `summarize`. */
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
  /** Version of the protocol that is spoken. */
  protocolVersion: number;
  /** Its minor version. */
  protocolMinorVersion: number;
  /** Process id of the server. */
  processId: number;
  /** Milliseconds since the server started. */
  uptimeMs: number;
  /** Sessions that are open, by id. */
  sessions: Array<OpenSessionStatus>;
  /** Compactions, navigations and forks that run. */
  operations: Array<OperationStatus>;
  /** What the server takes. */
  memory: MemoryStatus;
}

/** Parameters of `sessionBeforeCompact`. */
export interface SessionBeforeCompact {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
  /** What would be compacted. */
  preparation: Preparation;
  /** The entries from the root to the leaf. */
  branchEntries: Array<Entry>;
  /** Why it happens. */
  reason: CompactionReason;
  /** Whether the failed request is worth another try afterwards. */
  willRetry: boolean;
  /** What the summary should look at. */
  customInstructions?: string | null;
}

/** The client's answer to `sessionBeforeCompact`; an empty object lets the compaction go on. */
export interface SessionBeforeCompactResult {
  /** Whether the compaction shall not happen. */
  cancel?: boolean | null;
  /** The summary, in place of the summarizer's. */
  compaction?: GivenSummary | null;
}

/** Parameters of `sessionBeforeFork`. */
export interface SessionBeforeFork {
  /** The session. */
  sessionId: string;
  /** The entry at which the fork would end. */
  entryId: string;
  /** Whether it would end before or at the entry. */
  position: ForkPosition;
}

/** Parameters of `sessionBeforeTree`. */
export interface SessionBeforeTree {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
  /** What would happen. */
  preparation: TreePreparation;
}

/** The client's answer to `sessionBeforeTree`; an empty object lets the navigation go on. */
export interface SessionBeforeTreeResult {
  /** Whether the navigation shall not happen. */
  cancel?: boolean | null;
  /** Instructions in place of the caller's. */
  customInstructions?: string | null;
  /** A label in place of the caller's. */
  label?: string | null;
  /** Whether they stand in place of the usual ones. */
  replaceInstructions?: boolean | null;
  /** The summary, in place of the summarizer's, where one is wanted. */
  summary?: GivenBranchSummary | null;
}

/** `sessionChanged`: another program added entries to the file. */
export interface SessionChanged {
  /** The session. */
  sessionId: string;
  /** The entries that were added. */
  entryIds: Array<string>;
  /** The leaf afterwards. */
  leafId: string | null;
}

/** Parameters of calls that name a session and nothing else. */
export interface SessionParams {
  /** The session. */
  sessionId: string;
}

/** Result of `getSessionStats`. Everything is counted over the whole file, branches included. */
export interface SessionStats {
  /** Entries in the file. */
  entryCount: number;
  /** Messages of all roles. */
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
  /** Tokens, those of summaries included. */
  tokens: TokenTotals;
  /** Cost, that of summaries included, in the currency of the price list. */
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
  /** The name; empty clears it. */
  name: string;
}

/** An operation that runs. */
export interface StartedResult {
  /** Names the operation in notifications. */
  operationId: string;
}

/** How a model is asked for a summary. */
export type SummarizeMode =
  /** By a prompt that holds the conversation as a text. */
  | "transcript"
  /**
   * By the conversation itself, as its model was last sent it, and one more message. What the
   * provider still
   * has of that conversation in its cache costs a part of the price.
   */
  | "continue";

/** Parameters of `summarize`: a request for the client's own model. */
export interface SummarizeParams {
  /** The session. */
  sessionId: string;
  /** Names the operation. */
  operationId: string;
  /** What the summary is about. */
  kind: RequestKind;
  /** The system prompt; empty with `mode: "continue"`, where it is the conversation's own. */
  systemPrompt: string;
  /** The prompt; with `mode: "continue"` the user message that comes last. */
  prompt: string;
  /** Output tokens at most. */
  maxTokens: number;
  /**
   * With `mode: "continue"`: what is to be sent before `prompt`, as in the conversation's own
   * requests, with
   * their prompt and tools.
   */
  conversation?: ContinuedConversation | null;
  /**
   * How the model is to be asked: `transcript` where absent. `continue` comes only to clients that
   * name it in
   * `initialize`, and is followed by a request without it if the answer is an error or no summary.
   */
  mode?: SummarizeMode | null;
}

/** The client's answer to `summarize`. */
export interface SummarizeResult {
  /** The summary. */
  text: string;
  /** Why the model stopped: stop, length, toolUse, error or aborted. */
  stopReason: string;
  /** What it cost. */
  usage?: Usage | null;
}

/** A summarizer, or several in the order in which they are asked. */
export type SummarizerChoice = string | Array<string>;

/** A summarizer that was asked in vain. */
export interface SummarizerFailure {
  /** Its name. */
  summarizer: string;
  /** The kind of the error: `summarizerFailed` or `summaryRejected`. */
  kind: string;
  /** What went wrong, for a person. */
  cause: string;
  /** Requests that were made. */
  attempts: number;
}

/** A request to a summarizer. */
export interface SummaryRequest {
  /** What it is about. */
  kind: RequestKind;
  /** The system prompt. */
  systemPrompt: string;
  /** The prompt. */
  prompt: string;
  /** Output tokens at most. */
  maxTokens: number;
  /** Estimated input tokens. */
  estimatedTokens: number;
}

/** How the summary of a compaction was asked for, and what either way takes. */
export interface SummaryRequestReport {
  /** What the summary is about. */
  kind: RequestKind;
  /** How the model was asked that wrote it. */
  mode: SummarizeMode;
  /** Input tokens that were read from the provider's cache, where the model told. */
  cachedTokens?: number | null;
  /** What continuing the conversation takes, if the provider has all of it in its cache. */
  continued?: RequestEstimate | null;
  /**
   * What all requests for this summary cost at list prices, in US dollars; absent where the model's
   * usage or its
   * price is not known.
   */
  cost?: number | null;
  /** Why the conversation was not continued, or why its summary was not taken. */
  notContinued?: NotContinued | null;
  /** What asking by transcripts takes; absent if no transcript fits the model. */
  transcript?: RequestEstimate | null;
}

/** Totals of tokens. */
export interface TokenTotals {
  /** Input that came from no cache. */
  input: number;
  /** Output. */
  output: number;
  /** Input read from a cache. */
  cacheRead: number;
  /** Input written to a cache. */
  cacheWrite: number;
  /** All of it. */
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
  /** The start of its text, on one line. */
  preview: string;
  /** When it was written, ISO 8601. */
  timestamp: string;
  /** Entries that follow it, oldest first. */
  children: Array<string>;
  /** Its label. */
  label?: string | null;
  /** Role of its message. */
  role?: string | null;
}

/** A navigation that would happen. */
export interface TreePreparation {
  /** The entry to go to. */
  targetId: string;
  /** The leaf that would be left. */
  oldLeafId: string | null;
  /** The deepest entry that both paths share. */
  commonAncestorId: string | null;
  /** The entries that would be left, oldest first. */
  entriesToSummarize: Array<string>;
  /** Whether the caller asked for a summary. */
  userWantsSummary: boolean;
  /** What the summary should look at. */
  customInstructions?: string | null;
  /** A label for the summary or the target. */
  label?: string | null;
  /** Whether `customInstructions` stand in place of the usual ones. */
  replaceInstructions?: boolean | null;
}

/** Parameters of `undoCompaction`. */
export interface UndoCompactionParams {
  /** The session. */
  sessionId: string;
  /** A compaction on the current path; the last one by default. */
  entryId?: string | null;
}

/** Result of `undoCompaction`. */
export interface UndoCompactionResult {
  /**
   * The leaf afterwards: the last copy, or the mark that keeps the move where nothing followed the
   * compaction.
   */
  leafId: string;
  /** The leaf before. */
  oldLeafId: string;
  /** The compaction that was undone. */
  undoneEntryId: string;
  /** The entries that followed the compaction, oldest first, each with its copy. */
  replayed: Array<ReplayedEntry>;
}

/** Parameters of `updateSettings`. */
export interface UpdateSettingsParams {
  /** Compacts that session by itself for this model from now on; null ends it. */
  autoCompaction?: AutoCompactionOptions | null;
  /** The session that `autoCompaction` is about. */
  sessionId?: string | null;
  /** Settings over all those in force: objects merge, other values replace. */
  settings?: FreeObject | null;
}

/** Result of `updateSettings`. */
export interface UpdateSettingsResult {
  /** The settings in force now. */
  settings: FreeObject;
  /** Settings files that cannot be used as they are. */
  diagnostics: Array<string>;
}

/**
 * Tokens and cost of a model call, as the session file stores them. Unknown members are carried
 * through.
 */
export interface Usage {
  cacheRead?: number;
  cacheWrite?: number;
  /** Numbers, by part. */
  cost?: { [member: string]: unknown };
  input?: number;
  output?: number;
  totalTokens?: number;
  [member: string]: unknown;
}

/** A model of which only the window matters. */
export interface WindowModel {
  /** Size of the window in tokens. */
  contextWindow: number;
}

/** Parameters and result of every method. */
export interface Methods {
  /** Starts the conversation with the server; the first request. */
  initialize: { params: InitializeParams; result: InitializeResult };
  /**
   * Lays settings over those in force, or tells them; switches the automatic compaction of a
   * session.
   */
  updateSettings: { params: UpdateSettingsParams; result: UpdateSettingsResult };
  /** Ends all operations and closes all sessions; the notification `exit` follows. */
  shutdown: { params: NoParams; result: Null };
  /** Answers at once, before `initialize` too: the server is there. */
  ping: { params: NoParams; result: Null };
  /** Tells the open sessions, running operations, memory and versions of the server. */
  getStatus: { params: NoParams; result: ServerStatus };
  /** The OpenRPC document of this server. */
  "rpc.discover": { params: NoParams; result: FreeObject };
  /** Creates a session and opens it. */
  createSession: { params: CreateSessionParams; result: OpenSessionResult };
  /** Opens a session file. */
  openSession: { params: OpenSessionParams; result: OpenSessionResult };
  /** Opens the most recent session of a working directory. */
  continueSession: { params: ContinueSessionParams; result: OpenSessionResult };
  /** Flushes a session and frees its lock. */
  closeSession: { params: SessionParams; result: Null };
  /** Lists sessions, newest activity first. */
  listSessions: { params: ListSessionsParams; result: ListSessionsResult };
  /** Names a session. */
  setSessionName: { params: SetSessionNameParams; result: AppendedResult };
  /** Counts messages, tokens and cost of a session. */
  getSessionStats: { params: SessionParams; result: SessionStats };
  /** Reads every body of a session and tells what is odd. */
  checkSession: { params: CheckSessionParams; result: CheckSessionResult };
  /** Appends a message at the leaf. */
  appendMessage: { params: AppendMessageParams; result: AppendMessageResult };
  /** Appends messages at the leaf, all of them or none. */
  appendMessages: { params: AppendMessagesParams; result: AppendMessagesResult };
  /** Appends an entry that is no message at the leaf. */
  appendEntry: { params: AppendEntryParams; result: AppendedResult };
  /** Gives one entry. */
  getEntry: { params: EntryParams; result: GetEntryResult };
  /** Gives entries in file order. */
  getEntries: { params: GetEntriesParams; result: EntriesResult };
  /** Gives the entries from the root to a leaf. */
  getBranch: { params: GetBranchParams; result: EntriesResult };
  /** Gives the tree as a flat list. */
  getTree: { params: SessionParams; result: GetTreeResult };
  /** Finds entries by their text, also those that compactions took out of the context. */
  searchSession: { params: SearchSessionParams; result: SearchSessionResult };
  /** Gives back what compactions took out of the context, what answers a question best first. */
  recall: { params: RecallParams; result: RecallResult };
  /** Sets or clears the label of an entry. */
  setLabel: { params: SetLabelParams; result: AppendedResult };
  /** Gives what the model sees. */
  getContext: { params: GetContextParams; result: GetContextResult };
  /** Tells how full a window is. */
  getContextUsage: { params: GetContextUsageParams; result: ContextUsage };
  /** Estimates the tokens of messages or of a text. */
  estimateTokens: { params: EstimateTokensParams; result: EstimateTokensResult };
  /** Gives messages as the text that a summarizer reads. */
  serializeConversation: { params: SerializeConversationParams; result: SerializeConversationResult };
  /** Decides whether a compaction is due; changes nothing. */
  checkCompaction: { params: CheckCompactionParams; result: CheckCompactionResult };
  /** Tells what a compaction would do; changes nothing. */
  prepareCompaction: { params: PrepareCompactionParams; result: PrepareCompactionResult };
  /** Puts a summary in the place of the older part of the context. */
  compact: { params: CompactParams; result: CompactResult };
  /** Compacts messages that the caller owns, without a session or a file. */
  compactMessages: { params: CompactMessagesParams; result: CompactMessagesResult };
  /** Ends a running compaction or branch summary. */
  abortCompaction: { params: SessionParams; result: AbortResult };
  /** Brings back the context from before a compaction, with what came later, on a new branch. */
  undoCompaction: { params: UndoCompactionParams; result: UndoCompactionResult };
  /** Pins an entry, so that every compaction keeps it verbatim, or unpins it. */
  pinEntry: { params: PinEntryParams; result: PinEntryResult };
  /** Gives the pinned entries of a branch. */
  getPins: { params: GetPinsParams; result: GetPinsResult };
  /** Tells what a navigation would do; changes nothing. */
  prepareNavigation: { params: PrepareNavigationParams; result: PrepareNavigationResult };
  /** Moves the leaf to another place in the tree. */
  navigateTree: { params: NavigateTreeParams; result: NavigateTreeResult };
  /** Copies one branch of a session into a new file and opens it. */
  forkSession: { params: ForkSessionParams; result: OpenSessionResult };
}

/** Parameters of every notification. */
export interface Notifications {
  /** An entry was written, whoever caused it. */
  entryAppended: EntryAppended;
  /** Another program added entries to the file. */
  sessionChanged: SessionChanged;
  /** A part of a request was passed over; the request is served all the same. */
  diagnostic: RequestDiagnostic;
  /** A navigation moved the leaf. */
  leafChanged: LeafChanged;
  /** A compaction started. */
  compactionStart: CompactionStart;
  /** A compaction goes on. */
  compactionProgress: OperationProgress;
  /** A compaction ended; exactly one for every start. */
  compactionEnd: CompactionEnd;
  /** A branch summary started. */
  branchSummaryStart: BranchSummaryStart;
  /** A branch summary goes on. */
  branchSummaryProgress: OperationProgress;
  /** A branch summary ended; exactly one for every start. */
  branchSummaryEnd: BranchSummaryEnd;
}

/** Codes of the errors by their kind. */
export const errorCodes = {
  /** The message is not JSON; reading goes on at the next frame. */
  parseError: -32700,
  /** The message is JSON, but no request, or it is over the size limit. */
  invalidRequest: -32600,
  /** There is no such method. */
  methodNotFound: -32601,
  /** A parameter is missing or wrong; `path` and `expected` say which and how. */
  invalidParams: -32602,
  /**
   * A defect of the server, an unreadable file, or a stored entry whose line is broken (`entryId`,
   * `line`); the server goes on.
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
  /** Another process has the session open for writing; `pid` and `host` say which, if known. */
  sessionLocked: 1003,
  /** The file is no session; it was left untouched. `detail` says why. */
  notASession: 1004,
  /** Writing failed, or the file exists; nothing was changed. */
  writeFailed: 1005,
  /**
   * The leaf is not the expected one; `expectedLeafId` and `leafId` say which. With `toolCallId`:
   * the result of a call that a compaction was to summarise came meanwhile.
   */
  leafMoved: 1006,
  /** The session is open for reading alone. */
  readOnly: 1007,
  /** Too many requests wait; send fewer at once. */
  serverBusy: 1008,
  /** Another session has the same id; `path` says which, if it has a file. */
  sessionIdInUse: 1009,
  /**
   * Everything would be kept, also because the result of `toolCallId` has not come, or compacting
   * did not help; `reason` and the numbers say why.
   */
  nothingToCompact: 1101,
  /** Nothing that the model sees follows the last compaction. */
  alreadyCompacted: 1102,
  /** A compaction, navigation or fork runs on the session; `operationId` says which. */
  operationInProgress: 1103,
  /** The summarizer failed: `cause`, `attempts`. */
  summarizerFailed: 1104,
  /**
   * The summary is empty, cut off, or lacks what it must hold: `detail`; or it is not smaller
   * (`reason` is `notSmaller`).
   */
  summaryRejected: 1105,
  /** A hook of the client cancelled the operation. */
  cancelledByHook: 1106,
  /** A hook of the client gave a wrong result. */
  invalidHookResult: 1107,
  /**
   * The pinned entries would take too many tokens; `tokens`, `entryTokens`, `maxTokens` and `pins`
   * say how many.
   */
  pinBudgetExceeded: 1108,
  /** A setting is wrong; `path` says which. */
  invalidSettings: 1201,
} as const;

/** The kinds of errors. */
export type ErrorKind = keyof typeof errorCodes;
