# Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.
"""Types of the protocol, and the calls typed by method."""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict, final, overload

from .pending import Pending


@final
class AbortResult(TypedDict):
    """Result of `abortCompaction`."""

    # Whether an operation was running.
    aborted: bool


# A message in the shape that `format` names; where no other is named, one as the session file
# stores it.
AnyMessage: TypeAlias = dict[str, Any]


@final
class AppendEntryParams(TypedDict):
    """Parameters of `appendEntry`."""

    # The session.
    sessionId: str

    # The entry to append.
    entry: NewEntry

    # The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
    expectedLeafId: NotRequired[str | None]


@final
class AppendMessageParams(TypedDict):
    """Parameters of `appendMessage`."""

    # The session.
    sessionId: str

    # The message.
    message: AnyMessage

    # The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
    expectedLeafId: NotRequired[str | None]

    # Format of the message. Default: `pi`.
    format: NotRequired[MessageFormat | None]


@final
class AppendMessageResult(TypedDict):
    """Result of `appendMessage`."""

    # The new entry, or the last one if the message became several.
    entryId: str

    # The new leaf.
    leafId: str

    # The compaction that the server has begun because of this message, or why it has not begun.
    compaction: NotRequired[AutomaticCompaction | None]

    # Usage of the context, if the session's model is known.
    contextUsage: NotRequired[ContextUsage | None]

    # The new entries, if the message became several: an entry holds one tool result.
    entryIds: NotRequired[list[str]]


@final
class AppendMessagesParams(TypedDict):
    """Parameters of `appendMessages`."""

    # The session.
    sessionId: str

    # The messages, oldest first; at least one, at most 10000.
    messages: list[AnyMessage]

    # The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
    expectedLeafId: NotRequired[str | None]

    # Format of the messages. Default: `pi`.
    format: NotRequired[MessageFormat | None]


@final
class AppendMessagesResult(TypedDict):
    """Result of `appendMessages`."""

    # The new entries, oldest first. One message may become several entries, and several items of
    # one answer become
    # one.
    entryIds: list[str]

    # For each entry the index of its message, or of its first message.
    sources: list[int]

    # The new leaf.
    leafId: str

    # The compaction that the server has begun because of these messages, or why it has not begun.
    compaction: NotRequired[AutomaticCompaction | None]

    # Usage of the context, if the session's model is known.
    contextUsage: NotRequired[ContextUsage | None]


@final
class AppendedResult(TypedDict):
    """Result of calls that append one entry."""

    # The new entry.
    entryId: str

    # The new leaf.
    leafId: str


@final
class AutoCompactionOptions(TypedDict):
    """Automatic compaction of a session."""

    # The model of the session's requests.
    model: Model


@final
class AutomaticCompaction(TypedDict):
    """A compaction that is due."""

    # Why it is due: `threshold` or `overflow`.
    reason: CompactionReason

    # Whether to repeat the failed request after the compaction.
    willRetry: bool

    # Tokens of the context.
    contextTokens: int

    # Maximum number of tokens. More make a compaction due.
    threshold: int

    # Tool results that were shortened in the context at once. Their entries keep the whole results.
    clipped: NotRequired[list[ClippedResult]]

    # Why it could not begin, as in `compactionEnd`.
    error: NotRequired[ErrorBody | None]

    # The input. If the provider answered a part of the context: the minimum size of the context.
    inputTokens: NotRequired[int | None]

    # Maximum that the provider accepts, of input or of input and output together. If the provider
    # answered a part of
    # the context: the number of tokens that it read.
    limit: NotRequired[int | None]

    # Id of the operation. `compactionEnd` reports its outcome. With `operationInProgress`, the id
    # of the running
    # operation.
    operationId: NotRequired[str | None]

    # The requested output.
    requestedOutputTokens: NotRequired[int | None]

    # Why nothing is done: `operationInProgress` (checked again when that operation ends),
    # `failedRepeatedly`,
    # `undone` (a compaction was undone since the person's last message), `overflowRecoveryTried` (a
    # `compactionEnd`
    # explains what a person can do), `outputTooLarge` (the requested output fills the limit, so no
    # context is small
    # enough), `otherModel` (another model refused the context), `olderThanCompaction`,
    # `alreadyCompacted`, or
    # `disabled`.
    skipped: NotRequired[str | None]

    # When automatic compaction resumes after several failures in a row.
    until: NotRequired[str | None]


@final
class BranchSummaryEnd(TypedDict):
    """`branchSummaryEnd`: exactly one for every `branchSummaryStart`, sent before the reply."""

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str

    # Whether it was cancelled.
    aborted: bool

    # The error, if it failed.
    error: NotRequired[ErrorBody | None]

    # The result, unless it failed.
    result: NotRequired[NavigationResult | None]


@final
class BranchSummaryStart(TypedDict):
    """`branchSummaryStart`."""

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str

    # The entry to go to.
    targetId: str

    # The leaf that would be left.
    oldLeafId: str | None

    # Estimated input tokens of the summary.
    estimatedTokens: int


@final
class CancelResult(TypedDict):
    """The client's answer to `sessionBeforeFork`."""

    # Whether to cancel the operation.
    cancel: NotRequired[bool | None]


@final
class CheckCompactionParams(TypedDict):
    """Parameters of `checkCompaction`."""

    # The session.
    sessionId: str

    # The model of the next request.
    model: Model

    # The assistant message to judge. Default: the last one of the context.
    message: NotRequired[Message | None]

    # Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
    settings: NotRequired[FreeObject | None]


@final
class CheckCompactionResult(TypedDict):
    """Result of `checkCompaction`."""

    # The decision.
    action: CompactionAction

    # Whether to repeat the failed request after the compaction.
    willRetry: bool

    # Tokens of the context.
    contextTokens: int

    # Tokens above which the threshold is crossed.
    threshold: int

    # The input. If the provider answered a part of the context: the minimum size of the context.
    inputTokens: NotRequired[int | None]

    # Tokens of recent context that a compaction would keep verbatim, adapted to the window. Absent
    # if the window is
    # not known.
    keepRecentTokens: NotRequired[int | None]

    # Maximum that the provider accepts, of input or of input and output together. If the provider
    # answered a part of
    # the context: the number of tokens that it read.
    limit: NotRequired[int | None]

    # The reason.
    reason: NotRequired[CompactionReason | None]

    # The requested output.
    requestedOutputTokens: NotRequired[int | None]

    # Tokens of the window that stay free, adapted to the window. Absent if the window is not known.
    reserveTokens: NotRequired[int | None]

    # Why nothing is done although something might seem due: one of the values of `skipped` in
    # `appendMessage`, or
    # `unknownWindow`, `aborted`.
    skipped: NotRequired[str | None]


@final
class CheckSessionParams(TypedDict):
    """Parameters of `checkSession`. Either `sessionId` or `path` is required."""

    # Path of a file. Ignored if a session is named.
    path: NotRequired[str | None]

    # An open session.
    sessionId: NotRequired[str | None]


@final
class CheckSessionResult(TypedDict):
    """Result of `checkSession`."""

    # Problems in the file, including those in bodies.
    diagnostics: list[Diagnostic]


@final
class ClientCapabilities(TypedDict):
    """Requests that a client answers, and notifications that it wants."""

    # The client wants whole entries in `entryAppended`, not only `type`, `id`, `parentId` and
    # `timestamp`. Default:
    # true.
    entryBodies: NotRequired[bool | None]

    # Names of the hooks that the client answers.
    hooks: NotRequired[list[str]]

    # The client wants `details.compactd.ledger` in the results of compactions. Default: true. The
    # stored entry always
    # has it.
    ledgers: NotRequired[bool | None]

    # The client wants progress notifications. Default: true.
    progress: NotRequired[bool | None]

    # The client answers `summarize`.
    summarize: NotRequired[bool]

    # Modes of `summarize` that the client answers: `transcript` always, `continue` if it is listed
    # here. A client
    # that continues must be able to repeat the conversation as in its last request, with the same
    # model, prompt and
    # tools.
    summarizeModes: NotRequired[list[str]]


@final
class ClientInfo(TypedDict):
    """Who the client is."""

    # Name of the program.
    name: str

    # Its version.
    version: NotRequired[str | None]


@final
class ClippedResult(TypedDict):
    """A tool result that was shortened in the context because it is larger than the room in the
    window.
    """

    # The entry of the result. It keeps the whole result.
    entryId: str

    # Its tokens before.
    tokensBefore: int

    # Its tokens after.
    tokensAfter: int


@final
class CompactMessagesParams(TypedDict):
    """Parameters of `compactMessages`."""

    # The whole context, oldest message first; at most 10000. With `previous`: the messages of the
    # result that
    # contained it, and the later ones.
    messages: list[AnyMessage]

    # Whether to accept a summary that is not smaller than what it replaces.
    force: NotRequired[bool]

    # Format of the messages. Default: `pi`.
    format: NotRequired[MessageFormat | None]

    # What the summary should focus on.
    instructions: NotRequired[str | None]

    # The model for which the messages are. The new context, with leading instructions, leaves room
    # for its answers.
    model: NotRequired[Model | None]

    # `previous` in the last result for this conversation.
    previous: NotRequired[FreeObject | None]

    # Compaction settings for this call.
    settings: NotRequired[FreeObject | None]

    # The summarizer for this call, instead of the configured one, or a list: if one fails, the next
    # one is asked.
    summarizer: NotRequired[SummarizerChoice | None]


@final
class CompactMessagesResult(TypedDict):
    """Result of `compactMessages`."""

    # The messages of the new context: leading instructions, the summary, and the messages that
    # stay.
    messages: list[AnyMessage]

    # Index in the request of the oldest message that stays.
    keptFrom: int

    # Opaque value for the next call.
    previous: FreeObject

    # The compaction. Its entry ids are those of a copy that ended with the call.
    report: CompactionResult

    # Instructions from between the messages, for interfaces that take them separately.
    system: NotRequired[str | None]


@final
class CompactParams(TypedDict):
    """Parameters of `compact`."""

    # The session.
    sessionId: str

    # Whether to write the compaction (true, the default). If false, a copy in memory is compacted
    # and the session
    # does not change. `firstKeptEntryId` and `details` contain entry ids of the session; `entryId`
    # names no entry.
    # The notifications contain a session id of the copy.
    commit: NotRequired[bool | None]

    # What the summary should focus on.
    customInstructions: NotRequired[str | None]

    # The oldest entry to keep verbatim, instead of the one that follows from the settings.
    firstKeptEntryId: NotRequired[str | None]

    # Whether to accept a summary that is not smaller than what it replaces.
    force: NotRequired[bool]

    # Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
    settings: NotRequired[FreeObject | None]

    # The summarizer for this call, instead of the configured one, or a list: if one fails, the next
    # one is asked.
    summarizer: NotRequired[SummarizerChoice | None]

    # A summary that the client wrote.
    summary: NotRequired[GivenSummary | None]

    # Whether to answer when the compaction is finished (true, the default) or at once.
    wait: NotRequired[bool | None]


# Result of `compact`. With `wait: false` it contains only `operationId`.
CompactResult: TypeAlias = "CompactionResult | StartedResult"


# The decision.
CompactionAction: TypeAlias = Literal["none", "compact"]


@final
class CompactionEnd(TypedDict):
    """`compactionEnd`: exactly one for every `compactionStart`, sent before the reply to
    `compact`.
    """

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str

    # The reason.
    reason: CompactionReason

    # Whether it was cancelled.
    aborted: bool

    # Whether to repeat the failed request.
    willRetry: bool

    # Tool results that were shortened in the context, if that was enough.
    clipped: NotRequired[list[ClippedResult]]

    # The error, if it failed.
    error: NotRequired[ErrorBody | None]

    # When automatic compaction resumes after several failures in a row.
    pausedUntil: NotRequired[str | None]

    # The result. Absent if it failed, or if shortening tool results was enough.
    result: NotRequired[CompactionResult | None]

    # Present and true if the server began the compaction and the context ends with a tool result or
    # an answer that
    # was cut off. The agent has work left, and the host must resume it.
    unfinished: NotRequired[bool | None]


# Why a compaction happens.
CompactionReason: TypeAlias = Literal["manual", "threshold", "overflow"]


@final
class CompactionResult(TypedDict):
    """A finished compaction."""

    # The compaction entry.
    entryId: str

    # Its summary. Without a model, the whole summary (text, context of a split turn, lists of
    # files) stays within 0.8
    # of `reserveTokens`. With a model, the request limits the text. Lists of files after it take at
    # most a tenth of
    # `reserveTokens`. Facts that it lacks take at most a tenth of its own tokens, or fill it up to
    # 1,000 tokens.
    summary: str

    # The oldest entry that stays verbatim.
    firstKeptEntryId: str

    # Tokens of the context before.
    tokensBefore: int

    # Estimated tokens of the context after. No provider has counted them yet.
    tokensAfter: int

    # Tokens of the context before, estimated in the same way as `tokensAfter`. `tokensBefore` is
    # the provider's count
    # if there is one.
    estimatedTokensBefore: int

    # The entry's `details`. `readFiles` and `modifiedFiles` contain at most 2,000 files together,
    # with at most 256
    # KiB of paths: modified files before files that were only read, and recently used files first.
    # `compactd.filesLeftOut` counts the others, if there are any. A file that was left out and is
    # used again counts
    # again.
    details: FreeObject

    # Whether a hook or the client provided the summary.
    fromHook: bool

    # Name of the summarizer that wrote the summary.
    summarizer: str

    # Number of requests, including failed ones.
    attempts: int

    # One or two sentences for a user interface.
    brief: str

    # The shares that are kept, by class.
    retention: Retention

    # The shares that the summary contained before missing facts were added.
    retentionBeforeRepair: Retention

    # One number for the retention, from 0 to 1: the weighted mean of the classes that have
    # something to keep.
    # Weights: statements 4, requests 3, errors and constraints 1, files 0.5, identifiers 0.25.
    score: float

    # What the summary itself lacked, and what it claims without support.
    lossReport: LossReport

    # Summarizers that were asked earlier, and why they failed.
    failures: NotRequired[list[SummarizerFailure]]

    # Number of secrets that were removed from the requests and the answers, by rule.
    redactions: NotRequired[dict[str, int]]

    # How each part of the summary was requested, and what either way costs.
    summaryRequests: NotRequired[list[SummaryRequestReport]]

    # Usage of the summary.
    usage: NotRequired[FreeObject | None]


@final
class CompactionSettings(TypedDict):
    """Settings that determined a preparation."""

    # Whether automatic compaction is enabled.
    enabled: bool

    # Tokens of the window that stay free.
    reserveTokens: int

    # Tokens of recent context that stay verbatim.
    keepRecentTokens: int

    # Percentage of the window above which compaction is due, if it is set.
    thresholdPercent: NotRequired[int | None]


@final
class CompactionStart(TypedDict):
    """`compactionStart`."""

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str

    # The reason.
    reason: CompactionReason

    # Tokens of the context.
    tokensBefore: int


# Format of a context.
ContextFormat: TypeAlias = Literal["agent", "llm", "openai", "openai-responses", "anthropic", "gemini", "ai-sdk"]


@final
class ContextTokens(TypedDict):
    """Tokens of a context."""

    # The total.
    tokens: int

    # Tokens of the last reliable usage.
    usageTokens: int

    # Estimated tokens of the messages after it.
    trailingTokens: int


@final
class ContextUsage(TypedDict):
    """How full a window is."""

    # Tokens of the context. Null between a compaction and the first answer after it.
    tokens: int | None

    # Size of the window in tokens.
    contextWindow: int

    # Tokens in percent of the window.
    percent: float | None


@final
class ContinueSessionParams(TypedDict):
    """Parameters of `continueSession`."""

    # Switches automatic compaction on, for this model.
    autoCompaction: NotRequired[AutoCompactionOptions | None]

    # Working directory whose most recent session is opened. Default: that of `initialize`.
    cwd: NotRequired[str | None]


@final
class ContinuedConversation(TypedDict):
    """The part of a conversation that is continued to get its summary."""

    # Its last entry.
    lastEntryId: str

    # Number of messages: the first ones of `getContext` in `llm` format. It never ends between an
    # answer with tool
    # calls and their results.
    messages: int

    # The oldest entry that the compaction keeps.
    firstKeptEntryId: str


@final
class CreateSessionParams(TypedDict):
    """Parameters of `createSession`."""

    # Switches automatic compaction on, for this model.
    autoCompaction: NotRequired[AutoCompactionOptions | None]

    # Working directory of the session. Default: that of `initialize`.
    cwd: NotRequired[str | None]

    # Whether to keep the session in memory only.
    ephemeral: NotRequired[bool]

    # Format of the messages. Default: `pi`.
    format: NotRequired[MessageFormat | None]

    # The first messages of the session, oldest first; at most 10000. They cause no `entryAppended`.
    messages: NotRequired[list[AnyMessage]]

    # Name of the session.
    name: NotRequired[str | None]

    # Path of the session that this one continues.
    parentSession: NotRequired[str | None]

    # Path of the file, instead of a generated one. It must not exist.
    path: NotRequired[str | None]

    # A flat directory for the file.
    sessionDir: NotRequired[str | None]

    # Id of the session, instead of a generated one: letters, digits and, not at the ends, `.`, `_`
    # and `-`; at most
    # 128. The id of an open session, or of another session of the directory, is refused (1009).
    sessionId: NotRequired[str | None]


@final
class Diagnostic(TypedDict):
    """A problem in a session. Reading continued after it."""

    # The kind of the problem.
    kind: str

    # Message for a person.
    message: str

    # Line of the file, counted from 1.
    line: NotRequired[int | None]


# The kind of a problem.
DiagnosticKind: TypeAlias = Literal["unknownMember", "unknownSetting", "sessionReplaced", "sessionDeleted", "sessionUnreadable"]


@final
class EntriesResult(TypedDict):
    """Result of `getEntries` and `getBranch`."""

    # The entries.
    entries: list[Entry]

    # Present if there are more entries, in `getEntries` with a `limit`.
    nextCursor: NotRequired[str | None]


# An entry (line) of the session file. Further members depend on the type; unknown types and
# members are carried through.
Entry: TypeAlias = dict[str, Any]


@final
class EntryAppended(TypedDict):
    """`entryAppended`: an entry was written by a call, or, in a session with a subscription, by
    another program.
    """

    # The session.
    sessionId: str

    # The entry.
    entry: Entry


@final
class EntryParams(TypedDict):
    """Parameters of calls for one entry."""

    # The session.
    sessionId: str

    # The entry.
    entryId: str


@final
class ErrorBody(TypedDict):
    """An error, as in a reply."""

    # Code of the error.
    code: int

    # Message for a person.
    message: str

    # `kind`, `reason` and `retryable`, and the ids and numbers that a caller needs.
    data: ErrorData


# What an error is, and the ids and numbers needed to act.
ErrorData: TypeAlias = dict[str, Any]


@final
class EstimateTokensParams(TypedDict):
    """Parameters of `estimateTokens`: messages or a text."""

    # Format of the messages. Default: `pi`.
    format: NotRequired[MessageFormat | None]

    # Messages, as stored, in LLM format, or in the format that `format` names; at most 10000.
    messages: NotRequired[list[AnyMessage] | None]

    # A text. Ignored if there are messages.
    text: NotRequired[str | None]


@final
class EstimateTokensResult(TypedDict):
    """Result of `estimateTokens`."""

    # Estimated tokens.
    tokens: int


@final
class FileOperations(TypedDict):
    """Paths by operation, sorted."""

    # Files that were read.
    read: list[str]

    # Files that were written as a whole.
    written: list[str]

    # Files that were edited.
    edited: list[str]


@final
class Forecast(TypedDict):
    """What a compaction would keep, as far as it is known before the summary is written."""

    # The minimum that any summary keeps after its repair.
    retention: Retention

    # One number for it, from 0 to 1.
    score: float


# Where a fork ends.
ForkPosition: TypeAlias = Literal["before", "at"]


@final
class ForkSessionParams(TypedDict):
    """Parameters of `forkSession`."""

    # The session.
    sessionId: str

    # The entry at which the fork ends.
    entryId: str

    # Whether the fork ends before or at the entry. Default: before.
    position: NotRequired[ForkPosition]


FreeObject: TypeAlias = dict[str, Any]


@final
class GetBranchParams(TypedDict):
    """Parameters of `getBranch`."""

    # The session.
    sessionId: str

    # The leaf of the branch. Default: the current leaf.
    leafId: NotRequired[str | None]


@final
class GetContextParams(TypedDict):
    """Parameters of `getContext`."""

    # The session.
    sessionId: str

    # The last entry of the context that the caller already has.
    after: NotRequired[str | None]

    # Format of the messages. Default: `agent`.
    format: NotRequired[ContextFormat | None]

    # The leaf of the branch. Default: the current leaf.
    leafId: NotRequired[str | None]


@final
class GetContextResult(TypedDict):
    """Result of `getContext`."""

    # What the model sees.
    messages: list[AnyMessage]

    # The leaf of the branch.
    leafId: str | None

    # The thinking level at the leaf.
    thinkingLevel: str

    # The model at the leaf.
    model: ModelName | None

    # Tokens of the whole context.
    tokens: ContextTokens

    # With `after`: whether `messages` holds only what follows that entry.
    delta: NotRequired[bool | None]

    # Problems: unknown first kept entries, broken bodies, results without calls.
    diagnostics: NotRequired[list[Diagnostic]]

    # The instructions, for interfaces that take them separately.
    system: NotRequired[str | None]


@final
class GetContextUsageParams(TypedDict):
    """Parameters of `getContextUsage`."""

    # The session.
    sessionId: str

    # The model whose window is used.
    model: WindowModel


@final
class GetEntriesParams(TypedDict):
    """Parameters of `getEntries`."""

    # The session.
    sessionId: str

    # `nextCursor` of the previous page, or the id of any entry. Default: the first page.
    cursor: NotRequired[str | None]

    # Ids of the wanted entries, at most 1000. The result has their order, and the other parameters
    # are ignored.
    # Repeated entries may hold 8 MiB together.
    ids: NotRequired[list[str] | None]

    # Maximum number of entries. Default: all.
    limit: NotRequired[int | None]

    # Deprecated since 1.1 in favour of `cursor`, which takes precedence: the entry after which to
    # start.
    since: NotRequired[str | None]


@final
class GetEntryResult(TypedDict):
    """Result of `getEntry`."""

    # The entry.
    entry: Entry


@final
class GetPinsParams(TypedDict):
    """Parameters of `getPins`."""

    # The session.
    sessionId: str

    # The leaf of a branch. Default: the current leaf.
    leafId: NotRequired[str | None]


@final
class GetPinsResult(TypedDict):
    """Result of `getPins`."""

    # The pinned entries of the branch, root first.
    pins: list[PinnedEntry]

    # Their tokens together.
    tokens: int

    # Maximum number of their tokens.
    maxTokens: int


@final
class GetTreeResult(TypedDict):
    """Result of `getTree`."""

    # The current leaf.
    leafId: str | None

    # All entries in file order. The list is flat, so its depth has no limit.
    nodes: list[TreeNode]


@final
class GivenBranchSummary(TypedDict):
    """A branch summary that the client wrote."""

    # Its text.
    summary: str

    # Members for the entry's `details`.
    details: NotRequired[FreeObject | None]

    # Usage of the summary.
    usage: NotRequired[Usage | None]


@final
class GivenSummary(TypedDict):
    """A summary that the client wrote."""

    # Its text.
    summary: str

    # Members for the entry's `details`.
    details: NotRequired[FreeObject | None]

    # The oldest entry to keep verbatim. Default: that of the preparation.
    firstKeptEntryId: NotRequired[str | None]

    # Tokens of the context before. Used only in answers to hooks; otherwise they are counted.
    tokensBefore: NotRequired[int | None]

    # Usage of the summary.
    usage: NotRequired[Usage | None]


# The first line of the session file.
Header: TypeAlias = dict[str, Any]


@final
class InitializeParams(TypedDict):
    """Parameters of `initialize`."""

    # Version of the protocol that the client speaks: 1.
    protocolVersion: int

    # Who the client is.
    clientInfo: ClientInfo

    # Agent directory. Default: `$PI_CODING_AGENT_DIR`, then `~/.pi/agent`.
    agentDir: NotRequired[str | None]

    # Requests that the client answers, and notifications that it wants.
    capabilities: NotRequired[ClientCapabilities]

    # Working directory of sessions that name none. Default: that of the server.
    cwd: NotRequired[str | None]

    # Settings that the settings files override. A host whose model shall write the summaries where
    # a person has not
    # chosen gives `{"compactd": {"summarizer": ["host", "extractive"]}}`.
    defaultSettings: NotRequired[FreeObject | None]

    # Process id of the parent. The server ends when the parent dies.
    processId: NotRequired[int | None]

    # A flat directory of sessions, instead of one per working directory.
    sessionDir: NotRequired[str | None]

    # Settings that override the settings files.
    settings: NotRequired[FreeObject | None]


@final
class InitializeResult(TypedDict):
    """Result of `initialize`."""

    # Version of the protocol: 1.
    protocolVersion: int

    # Minor version of the protocol: 1. Each minor version serves clients of the earlier ones. 1.0
    # does not have this
    # member.
    protocolMinorVersion: int

    # Maximum number of bytes of a message of the client, without its framing. A longer one is
    # refused unread, with an
    # error whose id is null. 1.0 does not have this member.
    maxMessageBytes: int

    # Who the server is.
    serverInfo: ServerInfo

    # What the server offers.
    capabilities: ServerCapabilities

    # The current settings: defaults, files and `initialize.settings` merged.
    settings: FreeObject

    # Settings files that could not be read, unknown names, and other problems.
    diagnostics: list[str]


@final
class LeafChanged(TypedDict):
    """`leafChanged`: a navigation moved the leaf."""

    # The session.
    sessionId: str

    # The new leaf.
    leafId: str | None

    # The old leaf.
    oldLeafId: str | None


@final
class ListSessionsParams(TypedDict):
    """Parameters of `listSessions`."""

    # Whether to list the sessions of all working directories.
    all: NotRequired[bool]

    # `nextCursor` of the previous page.
    cursor: NotRequired[str | None]

    # Working directory whose sessions are listed. Default: that of `initialize`.
    cwd: NotRequired[str | None]

    # Maximum number of sessions.
    limit: NotRequired[int | None]

    # A flat directory of sessions.
    sessionDir: NotRequired[str | None]


@final
class ListSessionsResult(TypedDict):
    """Result of `listSessions`."""

    # Sessions, newest activity first.
    sessions: list[SessionSummary]

    # Present if there are more sessions.
    nextCursor: NotRequired[str | None]


@final
class LossReport(TypedDict):
    """What a summary lacks and what is doubtful in it, the most important items first."""

    # Missing paths.
    files: list[str]

    # Missing identifiers.
    identifiers: list[str]

    # Missing errors.
    errors: list[LostError]

    # Missing requests.
    requests: list[LostItem]

    # Missing constraints and preferences.
    constraints: list[LostItem]

    # Missing ones of the most informative sentences.
    statements: list[LostItem]

    # Requests and constraints that are only partly kept.
    clipped: list[LostItem]

    # Names in the summary that occur in none of its sources: the compacted messages, the previous
    # summary, the
    # messages that stay, and the ledgers of earlier compactions. Checked: paths with a file
    # extension or a root, file
    # names, identifiers with an underscore or with capital letters after small ones, tickets, error
    # codes, hashes,
    # versions with three parts, and numbers with at least three digits and a unit, unless they are
    # marked as
    # approximate. Not checked: words, product names, addresses, other numbers, and whether names
    # are combined
    # correctly.
    unsupported: list[str]

    # Claims of the summary that contradict known facts. English only, in prose and in lists: that a
    # file that tools
    # worked on was or was not changed, that tests, a build, a linter or a quoted command succeed,
    # that something was
    # committed or pushed. Wishes, questions and conditions are not claims.
    reversed: list[ReversedFact]


@final
class LostError(TypedDict):
    """An error that a summary lacks."""

    # The line that explains the failure best.
    line: str

    # Whether the same operation succeeded later.
    resolved: bool

    # The entries that contain it.
    entryIds: list[str]

    # The path or command that failed.
    subject: NotRequired[str | None]


@final
class LostItem(TypedDict):
    """A text that a summary lacks."""

    # The text.
    text: str

    # The entries that contain it.
    entryIds: list[str]


@final
class MemoryStatus(TypedDict):
    """Memory use of the server."""

    # Bytes in physical memory. Null if the system does not report them.
    residentBytes: int | None

    # Maximum address space of the process in bytes, if it is limited.
    limitBytes: NotRequired[int | None]


# A message as the session file stores it. Unknown members are carried through.
Message: TypeAlias = dict[str, Any]


# A format of messages.
MessageFormat: TypeAlias = Literal["pi", "openai", "openai-responses", "anthropic", "gemini", "ai-sdk"]


# A message, or the id of its entry.
MessageOrId: TypeAlias = "Message | str"


@final
class Model(TypedDict):
    """A model with its window."""

    # Provider of the model.
    provider: str

    # Id of the model.
    id: str

    # Size of the window in tokens.
    contextWindow: int

    # Maximum output that is requested of the model, in tokens. If an answer stops for its length
    # before that, the
    # server compacts and the request can be repeated, once.
    maxOutputTokens: NotRequired[int | None]


@final
class ModelName(TypedDict):
    """A model, in the form of entries."""

    # Provider of the model.
    provider: str

    # Id of the model.
    modelId: str


@final
class NavigateTreeParams(TypedDict):
    """Parameters of `navigateTree`."""

    # The session.
    sessionId: str

    # The entry to go to.
    targetId: str

    # What the summary should focus on.
    customInstructions: NotRequired[str | None]

    # A label for the summary, or for the target if there is none.
    label: NotRequired[str | None]

    # Whether `customInstructions` replace the default ones.
    replaceInstructions: NotRequired[bool]

    # Whether to summarise the abandoned branch.
    summarize: NotRequired[bool]

    # The summarizer for this call.
    summarizer: NotRequired[SummarizerChoice | None]

    # A summary that the client wrote.
    summary: NotRequired[GivenBranchSummary | None]

    # Whether to answer when the navigation is finished (true, the default) or at once.
    wait: NotRequired[bool | None]


# Result of `navigateTree`. With `wait: false` it contains only `operationId`.
NavigateTreeResult: TypeAlias = "NavigationResult | StartedResult"


@final
class NavigationResult(TypedDict):
    """A finished navigation."""

    # The new leaf.
    leafId: str | None

    # The old leaf.
    oldLeafId: str | None

    # Whether the navigation was cancelled. The leaf has not moved then.
    cancelled: bool

    # Whether it was cancelled by aborting its summary.
    aborted: NotRequired[bool | None]

    # The text for the editor.
    editorText: NotRequired[str | None]

    # The summary of the abandoned branch.
    summaryEntry: NotRequired[Entry | None]


# An entry to append: its type and members; id, parentId and timestamp are given by the server.
NewEntry: TypeAlias = dict[str, Any]


@final
class NoParams(TypedDict):
    """Parameters of methods that take none."""


@final
class NotContinued(TypedDict):
    """Why a conversation was not continued."""

    # The reason.
    reason: NotContinuedReason

    # The explanation for a person, with numbers.
    detail: str


# Reasons why a conversation is not continued, or why its summary is not used.
NotContinuedReason: TypeAlias = Literal["settings", "notSupported", "otherModel", "otherInterface", "promptUnknown", "notSeen", "tooLarge", "thinkingUnknown", "noCache", "cold", "missed", "dearer", "refused", "overflow", "truncated", "toolCall", "empty", "cutOff", "headings", "stopped"]


Null: TypeAlias = None


@final
class OpenSessionParams(TypedDict):
    """Parameters of `openSession`."""

    # Path of the session file.
    path: str

    # Switches automatic compaction on, for this model.
    autoCompaction: NotRequired[AutoCompactionOptions | None]

    # Whether to open it read-only, without a lock.
    readOnly: NotRequired[bool]


@final
class OpenSessionResult(TypedDict):
    """Result of `createSession`, `openSession`, `continueSession` and `forkSession`."""

    # The id in the header. Every later call uses it.
    sessionId: str

    # The first line of the file.
    header: Header

    # The leaf. Null if the session has no entries.
    leafId: str | None

    # Whether the session is read-only.
    readOnly: bool

    # Problems in the file.
    diagnostics: list[Diagnostic]

    # After a fork before a message: the text of the message, for the editor.
    editorText: NotRequired[str | None]

    # Number of entries, if it is known without reading the whole file.
    entryCount: NotRequired[int | None]

    # The older version that the file has, if it was migrated in memory.
    migratedFrom: NotRequired[int | None]

    # Path of the file; absent for sessions in memory.
    path: NotRequired[str | None]


@final
class OpenSessionStatus(TypedDict):
    """A session that is open."""

    # The session.
    sessionId: str

    # Whether it is read-only.
    readOnly: bool

    # Whether automatic compaction is on.
    autoCompaction: bool

    # Path of the file; absent for sessions in memory.
    path: NotRequired[str | None]


# A phase of an operation.
OperationPhase: TypeAlias = Literal["summarizing", "waiting", "committing"]


@final
class OperationProgress(TypedDict):
    """`compactionProgress` and `branchSummaryProgress`."""

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str

    # The current phase.
    phase: OperationPhase

    # Number of the running request, from 1.
    request: int

    # Number of requests.
    requests: int

    # Output tokens of this request so far.
    outputTokens: int

    # New text of the summary.
    delta: NotRequired[str | None]


@final
class OperationStatus(TypedDict):
    """A running operation."""

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str


@final
class Passage(TypedDict):
    """Position of a part of the text. A part that crosses the border of two parts of the entry
    is listed as two.
    """

    # The part of the entry.
    part: PassagePart

    # Start in the entry's whole text, in UTF-16 units.
    start: int

    # End in the entry's whole text, in UTF-16 units.
    end: int

    # Start in `text`, in UTF-16 units.
    offset: int

    # Index of the part in the message's content blocks, from 0. Absent if the content is not a
    # list.
    block: NotRequired[int | None]


# A part of an entry.
PassagePart: TypeAlias = Literal["text", "toolCall", "image", "command", "output", "summary"]


@final
class PinEntryParams(TypedDict):
    """Parameters of `pinEntry`."""

    # The session.
    sessionId: str

    # An entry on the current path that contains a message for the model.
    entryId: str

    # Whether to pin (true) or unpin the entry.
    pinned: bool


@final
class PinEntryResult(TypedDict):
    """Result of `pinEntry`."""

    # The entry.
    entryId: str

    # Whether it is pinned.
    pinned: bool

    # All pinned entries of the path, root first.
    pins: list[PinnedEntry]

    # Their tokens together.
    tokens: int

    # Maximum number of their tokens (setting `compactd.pins.maxTokens`).
    maxTokens: int


@final
class PinnedEntry(TypedDict):
    """A pinned entry."""

    # The entry.
    entryId: str

    # Estimated tokens that it takes after a summary.
    tokens: int


@final
class Preparation(TypedDict):
    """The part of a context that would be compacted."""

    # The oldest entry that stays verbatim.
    firstKeptEntryId: str

    # Messages before the turn that is cut, or before the cut.
    messagesToSummarize: list[MessageOrId]

    # Messages of the turn that is cut, up to the cut.
    turnPrefixMessages: list[MessageOrId]

    # Whether the cut goes through a turn.
    isSplitTurn: bool

    # Tokens of the whole context.
    tokensBefore: int

    # The summary of the previous compaction.
    previousSummary: str | None

    # Files that the summarised part used.
    fileOps: FileOperations

    # The settings that were used, adapted to the window if the session's model is known.
    settings: CompactionSettings

    # The leaf of the branch.
    leafId: str


# Parts of a preparation that a call can request.
PreparationPart: TypeAlias = Literal["messages", "requests", "forecast"]


@final
class PrepareCompactionParams(TypedDict):
    """Parameters of `prepareCompaction`."""

    # The session.
    sessionId: str

    # Whether to fail as `compact` would if no summarizer can write: its settings are incomplete, or
    # its key or
    # program is missing. Nothing is asked or started.
    checkSummarizer: NotRequired[bool]

    # What the summary should focus on.
    customInstructions: NotRequired[str | None]

    # The oldest entry to keep verbatim, instead of the one that follows from the settings.
    firstKeptEntryId: NotRequired[str | None]

    # Parts of the result. Default: all.
    include: NotRequired[list[PreparationPart] | None]

    # The leaf of the branch. Default: the current leaf.
    leafId: NotRequired[str | None]

    # Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
    settings: NotRequired[FreeObject | None]

    # The summarizer whose requests are planned, instead of the configured one, or a list of them.
    summarizer: NotRequired[SummarizerChoice | None]


@final
class PrepareCompactionResult(TypedDict):
    """Result of `prepareCompaction`."""

    # The part that would be compacted. Null if nothing would be.
    preparation: Preparation | None

    # The last compaction, if no message follows it.
    compactionId: NotRequired[str | None]

    # Tokens of the context, if nothing would be compacted.
    contextTokens: NotRequired[int | None]

    # The minimum that would be kept of the compacted part.
    forecast: NotRequired[Forecast | None]

    # Minimum number of tokens that are kept, if nothing would be compacted.
    keepRecentTokens: NotRequired[int | None]

    # Number of messages, all of which would be kept, if nothing would be compacted.
    messages: NotRequired[int | None]

    # Why nothing would be compacted.
    reason: NotRequired[RefusalReason | None]

    # The requests to a summarizer, in order.
    requests: NotRequired[list[SummaryRequest] | None]

    # The tool call whose result is missing and from which everything must stay, if that is the
    # reason.
    toolCallId: NotRequired[str | None]


@final
class PrepareNavigationParams(TypedDict):
    """Parameters of `prepareNavigation`."""

    # The session.
    sessionId: str

    # The entry to go to.
    targetId: str

    # The leaf to start from. Default: the current leaf.
    leafId: NotRequired[str | None]


@final
class PrepareNavigationResult(TypedDict):
    """Result of `prepareNavigation`."""

    # The entry to go to.
    targetId: str

    # The leaf that would be left.
    oldLeafId: str | None

    # The deepest entry that both paths share.
    commonAncestorId: str | None

    # The entries that would be abandoned, oldest first.
    entriesToSummarize: list[str]

    # The new leaf. Null before the first entry.
    newLeafId: str | None

    # Estimated input tokens of a summary.
    estimatedTokens: int

    # The text for the editor.
    editorText: NotRequired[str | None]


@final
class RecallParams(TypedDict):
    """Parameters of `recall`. Either `query` or `entryIds` is required."""

    # The session.
    sessionId: str

    # Ids of entries that are wanted whole, evicted or not. The result has their order.
    entryIds: NotRequired[list[str] | None]

    # The leaf of a branch. Default: the current leaf.
    leafId: NotRequired[str | None]

    # Maximum number of tokens of all texts, at least 1. Default: 2000.
    maxTokens: NotRequired[int | None]

    # With one id: the UTF-16 unit of the entry's text from which to read. The result then holds
    # what follows it, and
    # `nextOffset`. Default: the whole text, cut in its middle if it is too large.
    offset: NotRequired[int | None]

    # Words to look for in evicted entries, and in entries that the context shows shortened or
    # edited. Function words
    # are ignored. The name of a file ranks the calls that changed it higher.
    query: NotRequired[str | None]


@final
class RecallResult(TypedDict):
    """Result of `recall`."""

    # The entries, best first, or in the requested order.
    entries: list[RecalledEntry]

    # Estimated tokens of their texts.
    tokens: int

    # Number of entries that match or were requested, and that do not fit.
    omitted: int


@final
class RecalledEntry(TypedDict):
    """An entry that was recalled."""

    # The entry.
    entryId: str

    # Type of the entry.
    type: str

    # When it was written, ISO 8601.
    timestamp: str

    # Its text. For a query: the matching passages in their order, with a line `[…]` for each
    # omission.
    text: str

    # Estimated tokens of the text.
    tokens: int

    # Whether any part of the entry's text is missing.
    truncated: bool

    # The `offset` that reads on. Only if `offset` was asked for, and absent at the end of the text.
    nextOffset: NotRequired[int | None]

    # Where the text starts in the entry's whole text, in UTF-16 units. Only if `offset` was asked
    # for.
    offset: NotRequired[int | None]

    # Positions of the parts of the text in the entry. Only for a query.
    passages: NotRequired[list[Passage] | None]

    # Role of its message.
    role: NotRequired[str | None]

    # Rank of the match. Comparable only within one result.
    score: NotRequired[float | None]


# Why nothing would be compacted.
RefusalReason: TypeAlias = Literal["alreadyCompacted", "nothingToCompact"]


# An entry and its copy on the new branch.
ReplayedEntry = TypedDict(
    "ReplayedEntry",
    {
        # The entry.
        "from": "str",
        # Its copy.
        "to": "str",
    },
)


@final
class RequestDiagnostic(TypedDict):
    """`diagnostic`: a part of a request was ignored, and the request was served all the same.
    Each part is reported once.
    `initialize` and `updateSettings` report it in the `diagnostics` of their results. In a
    session with a subscription
    it also reports problems with the file.
    """

    # The kind of the problem.
    kind: DiagnosticKind

    # The method of the request.
    method: str

    # Path of the part in the parameters.
    path: str

    # Message for a person.
    message: str

    # The known name that was probably meant.
    nearest: NotRequired[str | None]

    # The session, if the problem is that of a session.
    sessionId: NotRequired[str | None]


@final
class RequestEstimate(TypedDict):
    """An estimate of the input of requests."""

    # Input tokens.
    inputTokens: int

    # Their cost at list prices, in US dollars. Absent if the price is not known.
    cost: NotRequired[float | None]


# What a request to a summarizer covers.
RequestKind: TypeAlias = Literal["history", "turnPrefix", "branch"]


@final
class Retention(TypedDict):
    """Shares that are kept, from 0 to 1; 1 if there was nothing to keep.
    
    They are measured against the compacted part and everything that earlier compactions of
    the branch knew, including
    what their ledgers could not store. Errors, requests, constraints and statements may be
    reworded: one counts if one
    line, or 420 characters across lines, contains most of its significant words. Lines that
    contain only names, and
    lists of files, count only for names.
    """

    # Files that tools used, and paths that occurred often.
    files: float

    # Symbols, hashes, tickets and similar names.
    identifiers: float

    # Lines of errors. Resolved errors have little weight.
    errors: float

    # Requests. A partly kept request counts half.
    requests: float

    # Constraints and preferences. Partly kept ones count half.
    constraints: float

    # The most informative sentences, weighted by their information.
    statements: float


@final
class ReversedFact(TypedDict):
    """A claim that contradicts a known fact."""

    # The known fact: `notModified`, `modified`, `failed`, `notCommitted`, or `notPushed`.
    fact: str

    # The file or the command. If nothing was committed or pushed: `git commit` or `git push`.
    subject: str


@final
class SearchHit(TypedDict):
    """An entry that a search found."""

    # The session that contains it.
    sessionId: str

    # The entry.
    entryId: str

    # Type of the entry.
    type: str

    # When it was written, ISO 8601.
    timestamp: str

    # The text around the first match, on one line.
    preview: str

    # Whether the entry is not in the context at the leaf of its session: it was compacted, edited
    # away, or is on
    # another branch.
    evicted: bool

    # Path of the session's file, if it has one.
    path: NotRequired[str | None]

    # Role of its message.
    role: NotRequired[str | None]

    # Rank of the match, if no entry contains all words. Comparable only within one session.
    score: NotRequired[float | None]


@final
class SearchSessionParams(TypedDict):
    """Parameters of `searchSession`. Either `sessionId` or `all` is required."""

    # Words that must all occur, in any case. A phrase in double quotes counts as one word. If the
    # query has at least
    # three words and no entry contains all of them, the entries with the most matching words are
    # found.
    query: str

    # Whether to search all sessions, open or not, instead of one.
    all: NotRequired[bool]

    # `nextCursor` of the previous page. Entries that are appended between two pages come first, so
    # a hit may occur
    # twice, but none is missed.
    cursor: NotRequired[str | None]

    # Maximum number of hits, from 1 to 1000. Default: 50.
    limit: NotRequired[int | None]

    # An open session.
    sessionId: NotRequired[str | None]


@final
class SearchSessionResult(TypedDict):
    """Result of `searchSession`."""

    # Entries that contain all words, newest first. If there are none, the best matches.
    hits: list[SearchHit]

    # Deprecated since 1.1 in favour of `nextCursor`: whether there are more hits.
    truncated: bool

    # Present if there are more hits.
    nextCursor: NotRequired[str | None]


@final
class SerializeConversationParams(TypedDict):
    """Parameters of `serializeConversation`."""

    # Messages, as stored or in LLM format; at most 10000.
    messages: list[Message]


@final
class SerializeConversationResult(TypedDict):
    """Result of `serializeConversation`."""

    # The conversation as one text.
    text: str


@final
class ServerCapabilities(TypedDict):
    """What the server offers."""

    # Methods that it answers.
    methods: list[str]

    # Notifications that it sends.
    notifications: list[str]

    # Hooks that it calls.
    hooks: list[str]

    # Summarizers that are available.
    summarizers: list[str]

    # Modes of `summarize` that it uses.
    summarizeModes: list[SummarizeMode]


@final
class ServerInfo(TypedDict):
    """Who the server is."""

    # `compactd`.
    name: str

    # Its version.
    version: str


@final
class ServerStatus(TypedDict):
    """Result of `getStatus`."""

    # Who the server is.
    serverInfo: ServerInfo

    # Version of the protocol.
    protocolVersion: int

    # Its minor version.
    protocolMinorVersion: int

    # Process id of the server.
    processId: int

    # Milliseconds since the server started.
    uptimeMs: int

    # Open sessions, ordered by id.
    sessions: list[OpenSessionStatus]

    # Running compactions, navigations and forks.
    operations: list[OperationStatus]

    # Memory use of the server.
    memory: MemoryStatus


@final
class SessionBeforeCompact(TypedDict):
    """Parameters of `sessionBeforeCompact`."""

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str

    # The part that would be compacted.
    preparation: Preparation

    # The entries from the root to the leaf.
    branchEntries: list[Entry]

    # The reason.
    reason: CompactionReason

    # Whether to repeat the failed request afterwards.
    willRetry: bool

    # What the summary should focus on.
    customInstructions: NotRequired[str | None]


@final
class SessionBeforeCompactResult(TypedDict):
    """The client's answer to `sessionBeforeCompact`. An empty object continues the compaction."""

    # Whether to cancel the compaction.
    cancel: NotRequired[bool | None]

    # A summary, instead of that of the summarizer.
    compaction: NotRequired[GivenSummary | None]


@final
class SessionBeforeFork(TypedDict):
    """Parameters of `sessionBeforeFork`."""

    # The session.
    sessionId: str

    # The entry at which the fork would end.
    entryId: str

    # Whether the fork would end before or at the entry.
    position: ForkPosition


@final
class SessionBeforeTree(TypedDict):
    """Parameters of `sessionBeforeTree`."""

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str

    # The navigation.
    preparation: TreePreparation


@final
class SessionBeforeTreeResult(TypedDict):
    """The client's answer to `sessionBeforeTree`. An empty object continues the navigation."""

    # Whether to cancel the navigation.
    cancel: NotRequired[bool | None]

    # Instructions that replace those of the caller.
    customInstructions: NotRequired[str | None]

    # A label that replaces that of the caller.
    label: NotRequired[str | None]

    # Whether they replace the default ones.
    replaceInstructions: NotRequired[bool | None]

    # A summary, instead of that of the summarizer, if one is wanted.
    summary: NotRequired[GivenBranchSummary | None]


@final
class SessionChanged(TypedDict):
    """`sessionChanged`: another program added entries to the file."""

    # The session.
    sessionId: str

    # The entries that were added.
    entryIds: list[str]

    # The new leaf.
    leafId: str | None


@final
class SessionParams(TypedDict):
    """Parameters of calls for one session."""

    # The session.
    sessionId: str


@final
class SessionStats(TypedDict):
    """Result of `getSessionStats`. The numbers cover the whole file, including all branches."""

    # Entries in the file.
    entryCount: int

    # Messages with any role.
    messageCount: int

    # Messages of the person.
    userMessages: int

    # Answers of models.
    assistantMessages: int

    # Tool calls in them.
    toolCalls: int

    # Results of tools.
    toolResults: int

    # Compactions.
    compactions: int

    # Branch summaries.
    branchSummaries: int

    # Tokens, including those of summaries.
    tokens: TokenTotals

    # Cost, including that of summaries, in the currency of the price list.
    cost: float


@final
class SessionSummary(TypedDict):
    """A session in a list."""

    # Path of the file.
    path: str

    # The header's id.
    sessionId: str

    # The header's working directory.
    cwd: str

    # When it was created, ISO 8601.
    created: str

    # Time of the last message, ISO 8601.
    modified: str

    # Number of messages.
    messageCount: int

    # Text of the first user message.
    firstMessage: str

    # The session's name.
    name: NotRequired[str | None]

    # Path of the session that it continues.
    parentSession: NotRequired[str | None]


@final
class SetLabelParams(TypedDict):
    """Parameters of `setLabel`."""

    # The session.
    sessionId: str

    # The entry that gets the label.
    targetId: str

    # The label; null clears it.
    label: str | None


@final
class SetSessionNameParams(TypedDict):
    """Parameters of `setSessionName`."""

    # The session.
    sessionId: str

    # The name. An empty name removes it.
    name: str


@final
class StartedResult(TypedDict):
    """A running operation."""

    # Id of the operation in notifications.
    operationId: str


@final
class SubscribeParams(TypedDict):
    """Parameters of `subscribe`."""

    # The session.
    sessionId: str

    # The last entry in file order that the caller has. The entries after it are sent at once; at
    # most 8 MiB.
    since: NotRequired[str | None]


@final
class SubscribeResult(TypedDict):
    """Result of `subscribe`."""

    # The leaf.
    leafId: str | None


# How a model is asked for a summary.
SummarizeMode: TypeAlias = Literal["transcript", "continue"]


@final
class SummarizeParams(TypedDict):
    """Parameters of `summarize`: a request for the client's own model."""

    # The session.
    sessionId: str

    # Id of the operation.
    operationId: str

    # What the summary covers.
    kind: RequestKind

    # The system prompt. Empty with `mode: "continue"`: the conversation has its own.
    systemPrompt: str

    # The prompt. With `mode: "continue"` it is the last user message.
    prompt: str

    # Maximum number of output tokens.
    maxTokens: int

    # With `mode: "continue"`: the messages to send before `prompt`, with the prompt and tools of
    # the conversation.
    conversation: NotRequired[ContinuedConversation | None]

    # How to ask the model. Default: `transcript`. The server sends `continue` only to clients that
    # list it in
    # `initialize`. If the answer is an error or no summary, it sends a request without `mode`.
    mode: NotRequired[SummarizeMode | None]


@final
class SummarizeResult(TypedDict):
    """The client's answer to `summarize`."""

    # The summary.
    text: str

    # Why the model stopped: stop, length, toolUse, error or aborted.
    stopReason: str

    # Usage of the summary.
    usage: NotRequired[Usage | None]


# A summarizer, or a list of them in the order in which they are asked.
SummarizerChoice: TypeAlias = str | list[str]


@final
class SummarizerFailure(TypedDict):
    """A summarizer that failed."""

    # Its name.
    summarizer: str

    # The kind of the error: `summarizerFailed` or `summaryRejected`.
    kind: str

    # The error message.
    cause: str

    # Number of requests.
    attempts: int


@final
class SummaryRequest(TypedDict):
    """A request to a summarizer."""

    # What it covers.
    kind: RequestKind

    # The system prompt.
    systemPrompt: str

    # The prompt.
    prompt: str

    # Maximum number of output tokens.
    maxTokens: int

    # Estimated input tokens.
    estimatedTokens: int


@final
class SummaryRequestReport(TypedDict):
    """How the summary of a compaction was requested, and what either way costs."""

    # What the summary covers.
    kind: RequestKind

    # How the model that wrote it was asked.
    mode: SummarizeMode

    # Input tokens that were read from the provider's cache, if the provider reported them.
    cachedTokens: NotRequired[int | None]

    # Cost of continuing the conversation, if the provider has all of it in its cache.
    continued: NotRequired[RequestEstimate | None]

    # Cost of all requests for this summary at list prices, in US dollars. Absent if the usage or
    # the price is not
    # known.
    cost: NotRequired[float | None]

    # Why the conversation was not continued, or why its summary was not used.
    notContinued: NotRequired[NotContinued | None]

    # Cost of transcripts. Absent if no transcript fits the model.
    transcript: NotRequired[RequestEstimate | None]


@final
class TokenTotals(TypedDict):
    """Totals of tokens."""

    # Input that was not read from a cache.
    input: int

    # Output.
    output: int

    # Input read from a cache.
    cacheRead: int

    # Input written to a cache.
    cacheWrite: int

    # The total.
    total: int


@final
class TreeNode(TypedDict):
    """One entry of the tree."""

    # The entry.
    id: str

    # The entry before it, as stored.
    parentId: str | None

    # Type of the entry.
    type: str

    # The beginning of its text, on one line.
    preview: str

    # When it was written, ISO 8601.
    timestamp: str

    # Its children, oldest first.
    children: list[str]

    # Its label.
    label: NotRequired[str | None]

    # Role of its message.
    role: NotRequired[str | None]


@final
class TreePreparation(TypedDict):
    """A navigation that is about to happen."""

    # The entry to go to.
    targetId: str

    # The leaf that would be left.
    oldLeafId: str | None

    # The deepest entry that both paths share.
    commonAncestorId: str | None

    # The entries that would be abandoned, oldest first.
    entriesToSummarize: list[str]

    # Whether the caller asked for a summary.
    userWantsSummary: bool

    # What the summary should focus on.
    customInstructions: NotRequired[str | None]

    # A label for the summary or the target.
    label: NotRequired[str | None]

    # Whether `customInstructions` replace the default ones.
    replaceInstructions: NotRequired[bool | None]


@final
class UndoCompactionParams(TypedDict):
    """Parameters of `undoCompaction`."""

    # The session.
    sessionId: str

    # A compaction on the current path. Default: the last one.
    entryId: NotRequired[str | None]


@final
class UndoCompactionResult(TypedDict):
    """Result of `undoCompaction`."""

    # The new leaf: the last copy, or the navigation entry if nothing followed the compaction.
    leafId: str

    # The old leaf.
    oldLeafId: str

    # The compaction that was undone.
    undoneEntryId: str

    # The entries after the compaction, oldest first, each with its copy.
    replayed: list[ReplayedEntry]


@final
class UnsubscribeResult(TypedDict):
    """Result of `unsubscribe`."""

    # Whether there was a subscription.
    wasSubscribed: bool


@final
class UpdateSettingsParams(TypedDict):
    """Parameters of `updateSettings`."""

    # Switches automatic compaction of that session on, for this model; null switches it off.
    autoCompaction: NotRequired[AutoCompactionOptions | None]

    # The session to which `autoCompaction` applies.
    sessionId: NotRequired[str | None]

    # Settings that override all others. Objects are merged, other values are replaced.
    settings: NotRequired[FreeObject | None]


@final
class UpdateSettingsResult(TypedDict):
    """Result of `updateSettings`."""

    # The current settings.
    settings: FreeObject

    # Settings files that cannot be used, and unknown names.
    diagnostics: list[str]


# Tokens and cost of a model call, as the session file stores them. Unknown members are carried
# through.
Usage: TypeAlias = dict[str, Any]


@final
class WindowModel(TypedDict):
    """The window of a model."""

    # Size of the window in tokens.
    contextWindow: int


# Codes of the errors by their kind.
ERROR_CODES: Final[dict[str, int]] = {
    # The message is not JSON. Reading continues at the next frame.
    "parseError": -32700,
    # The message is JSON, but not a valid request, or it is over the size limit (`reason` is
    # `messageTooLarge`; `bytes` and `limit`).
    "invalidRequest": -32600,
    # There is no such method.
    "methodNotFound": -32601,
    # A parameter is missing or wrong. `path` names it, and `expected` describes a correct value.
    "invalidParams": -32602,
    # A defect of the server, a write whose outcome is not known, a stored entry whose line is
    # broken (`entryId`, `line`), or more than the memory holds (`reason` is `outOfMemory`; `bytes`
    # were held or written). The server continues.
    "internalError": -32603,
    # The first request must be `initialize`.
    "notInitialized": -32002,
    # The request was cancelled.
    "requestCancelled": -32800,
    # No open session has this id, or no session is at this path.
    "sessionNotFound": 1001,
    # The session has no entry with this id.
    "entryNotFound": 1002,
    # Another process has the session open for writing: `pid` and `host`, if known.
    "sessionLocked": 1003,
    # The file is not a session. It was not changed. `detail` says why.
    "notASession": 1004,
    # Writing failed, or the file exists. Nothing was changed.
    "writeFailed": 1005,
    # The leaf (`leafId`) is not the expected one (`expectedLeafId`). With `toolCallId`: the result
    # of a call came while a compaction was about to summarise the call.
    "leafMoved": 1006,
    # The session is read-only.
    "readOnly": 1007,
    # Too many requests are waiting. Send fewer at once.
    "serverBusy": 1008,
    # Another session has the same id: `path`, if it has a file.
    "sessionIdInUse": 1009,
    # The system refused to open or read `path`: for want of permission (`reason` is
    # `permissionDenied`), or because files, a disk or a connection failed. Nothing was changed.
    "readFailed": 1010,
    # Everything would be kept, for example because the result of `toolCallId` is missing, or
    # compacting would not help. `reason` and the numbers say why.
    "nothingToCompact": 1101,
    # The model sees nothing after the last compaction.
    "alreadyCompacted": 1102,
    # A compaction, navigation or fork (`operationId`) is running on the session.
    "operationInProgress": 1103,
    # The summarizer failed: `cause`, `attempts`.
    "summarizerFailed": 1104,
    # The summary is empty, cut off, or incomplete (`detail`), or it is not smaller (`reason` is
    # `notSmaller`).
    "summaryRejected": 1105,
    # A hook of the client cancelled the operation.
    "cancelledByHook": 1106,
    # A hook of the client returned a wrong result.
    "invalidHookResult": 1107,
    # The pinned entries would take too many tokens: `tokens`, `entryTokens`, `maxTokens` and
    # `pins`.
    "pinBudgetExceeded": 1108,
    # The setting `path` is wrong.
    "invalidSettings": 1201,
}


class Calls:
    """The calls, typed by method; the client says how they are sent."""

    @overload
    def start(self, method: Literal["initialize"], params: InitializeParams) -> Pending[InitializeResult]: ...

    @overload
    def start(self, method: Literal["updateSettings"], params: UpdateSettingsParams) -> Pending[UpdateSettingsResult]: ...

    @overload
    def start(self, method: Literal["shutdown"], params: NoParams) -> Pending[Null]: ...

    @overload
    def start(self, method: Literal["ping"], params: NoParams) -> Pending[Null]: ...

    @overload
    def start(self, method: Literal["getStatus"], params: NoParams) -> Pending[ServerStatus]: ...

    @overload
    def start(self, method: Literal["rpc.discover"], params: NoParams) -> Pending[FreeObject]: ...

    @overload
    def start(self, method: Literal["createSession"], params: CreateSessionParams) -> Pending[OpenSessionResult]: ...

    @overload
    def start(self, method: Literal["openSession"], params: OpenSessionParams) -> Pending[OpenSessionResult]: ...

    @overload
    def start(self, method: Literal["continueSession"], params: ContinueSessionParams) -> Pending[OpenSessionResult]: ...

    @overload
    def start(self, method: Literal["subscribe"], params: SubscribeParams) -> Pending[SubscribeResult]: ...

    @overload
    def start(self, method: Literal["unsubscribe"], params: SessionParams) -> Pending[UnsubscribeResult]: ...

    @overload
    def start(self, method: Literal["closeSession"], params: SessionParams) -> Pending[Null]: ...

    @overload
    def start(self, method: Literal["listSessions"], params: ListSessionsParams) -> Pending[ListSessionsResult]: ...

    @overload
    def start(self, method: Literal["setSessionName"], params: SetSessionNameParams) -> Pending[AppendedResult]: ...

    @overload
    def start(self, method: Literal["getSessionStats"], params: SessionParams) -> Pending[SessionStats]: ...

    @overload
    def start(self, method: Literal["checkSession"], params: CheckSessionParams) -> Pending[CheckSessionResult]: ...

    @overload
    def start(self, method: Literal["appendMessage"], params: AppendMessageParams) -> Pending[AppendMessageResult]: ...

    @overload
    def start(self, method: Literal["appendMessages"], params: AppendMessagesParams) -> Pending[AppendMessagesResult]: ...

    @overload
    def start(self, method: Literal["appendEntry"], params: AppendEntryParams) -> Pending[AppendedResult]: ...

    @overload
    def start(self, method: Literal["getEntry"], params: EntryParams) -> Pending[GetEntryResult]: ...

    @overload
    def start(self, method: Literal["getEntries"], params: GetEntriesParams) -> Pending[EntriesResult]: ...

    @overload
    def start(self, method: Literal["getBranch"], params: GetBranchParams) -> Pending[EntriesResult]: ...

    @overload
    def start(self, method: Literal["getTree"], params: SessionParams) -> Pending[GetTreeResult]: ...

    @overload
    def start(self, method: Literal["searchSession"], params: SearchSessionParams) -> Pending[SearchSessionResult]: ...

    @overload
    def start(self, method: Literal["recall"], params: RecallParams) -> Pending[RecallResult]: ...

    @overload
    def start(self, method: Literal["setLabel"], params: SetLabelParams) -> Pending[AppendedResult]: ...

    @overload
    def start(self, method: Literal["getContext"], params: GetContextParams) -> Pending[GetContextResult]: ...

    @overload
    def start(self, method: Literal["getContextUsage"], params: GetContextUsageParams) -> Pending[ContextUsage]: ...

    @overload
    def start(self, method: Literal["estimateTokens"], params: EstimateTokensParams) -> Pending[EstimateTokensResult]: ...

    @overload
    def start(self, method: Literal["serializeConversation"], params: SerializeConversationParams) -> Pending[SerializeConversationResult]: ...

    @overload
    def start(self, method: Literal["checkCompaction"], params: CheckCompactionParams) -> Pending[CheckCompactionResult]: ...

    @overload
    def start(self, method: Literal["prepareCompaction"], params: PrepareCompactionParams) -> Pending[PrepareCompactionResult]: ...

    @overload
    def start(self, method: Literal["compact"], params: CompactParams) -> Pending[CompactResult]: ...

    @overload
    def start(self, method: Literal["compactMessages"], params: CompactMessagesParams) -> Pending[CompactMessagesResult]: ...

    @overload
    def start(self, method: Literal["abortCompaction"], params: SessionParams) -> Pending[AbortResult]: ...

    @overload
    def start(self, method: Literal["undoCompaction"], params: UndoCompactionParams) -> Pending[UndoCompactionResult]: ...

    @overload
    def start(self, method: Literal["pinEntry"], params: PinEntryParams) -> Pending[PinEntryResult]: ...

    @overload
    def start(self, method: Literal["getPins"], params: GetPinsParams) -> Pending[GetPinsResult]: ...

    @overload
    def start(self, method: Literal["prepareNavigation"], params: PrepareNavigationParams) -> Pending[PrepareNavigationResult]: ...

    @overload
    def start(self, method: Literal["navigateTree"], params: NavigateTreeParams) -> Pending[NavigateTreeResult]: ...

    @overload
    def start(self, method: Literal["forkSession"], params: ForkSessionParams) -> Pending[OpenSessionResult]: ...

    def start(self, method: str, params: Any) -> Pending[Any]:
        """Sends a request and returns at once; the handle waits for the result, or cancels."""
        return self._start(method, params)

    @overload
    def request(
        self, method: Literal["initialize"], params: InitializeParams, timeout: float | None = None
    ) -> InitializeResult: ...

    @overload
    def request(
        self, method: Literal["updateSettings"], params: UpdateSettingsParams, timeout: float | None = None
    ) -> UpdateSettingsResult: ...

    @overload
    def request(
        self, method: Literal["shutdown"], params: NoParams, timeout: float | None = None
    ) -> Null: ...

    @overload
    def request(
        self, method: Literal["ping"], params: NoParams, timeout: float | None = None
    ) -> Null: ...

    @overload
    def request(
        self, method: Literal["getStatus"], params: NoParams, timeout: float | None = None
    ) -> ServerStatus: ...

    @overload
    def request(
        self, method: Literal["rpc.discover"], params: NoParams, timeout: float | None = None
    ) -> FreeObject: ...

    @overload
    def request(
        self, method: Literal["createSession"], params: CreateSessionParams, timeout: float | None = None
    ) -> OpenSessionResult: ...

    @overload
    def request(
        self, method: Literal["openSession"], params: OpenSessionParams, timeout: float | None = None
    ) -> OpenSessionResult: ...

    @overload
    def request(
        self, method: Literal["continueSession"], params: ContinueSessionParams, timeout: float | None = None
    ) -> OpenSessionResult: ...

    @overload
    def request(
        self, method: Literal["subscribe"], params: SubscribeParams, timeout: float | None = None
    ) -> SubscribeResult: ...

    @overload
    def request(
        self, method: Literal["unsubscribe"], params: SessionParams, timeout: float | None = None
    ) -> UnsubscribeResult: ...

    @overload
    def request(
        self, method: Literal["closeSession"], params: SessionParams, timeout: float | None = None
    ) -> Null: ...

    @overload
    def request(
        self, method: Literal["listSessions"], params: ListSessionsParams, timeout: float | None = None
    ) -> ListSessionsResult: ...

    @overload
    def request(
        self, method: Literal["setSessionName"], params: SetSessionNameParams, timeout: float | None = None
    ) -> AppendedResult: ...

    @overload
    def request(
        self, method: Literal["getSessionStats"], params: SessionParams, timeout: float | None = None
    ) -> SessionStats: ...

    @overload
    def request(
        self, method: Literal["checkSession"], params: CheckSessionParams, timeout: float | None = None
    ) -> CheckSessionResult: ...

    @overload
    def request(
        self, method: Literal["appendMessage"], params: AppendMessageParams, timeout: float | None = None
    ) -> AppendMessageResult: ...

    @overload
    def request(
        self, method: Literal["appendMessages"], params: AppendMessagesParams, timeout: float | None = None
    ) -> AppendMessagesResult: ...

    @overload
    def request(
        self, method: Literal["appendEntry"], params: AppendEntryParams, timeout: float | None = None
    ) -> AppendedResult: ...

    @overload
    def request(
        self, method: Literal["getEntry"], params: EntryParams, timeout: float | None = None
    ) -> GetEntryResult: ...

    @overload
    def request(
        self, method: Literal["getEntries"], params: GetEntriesParams, timeout: float | None = None
    ) -> EntriesResult: ...

    @overload
    def request(
        self, method: Literal["getBranch"], params: GetBranchParams, timeout: float | None = None
    ) -> EntriesResult: ...

    @overload
    def request(
        self, method: Literal["getTree"], params: SessionParams, timeout: float | None = None
    ) -> GetTreeResult: ...

    @overload
    def request(
        self, method: Literal["searchSession"], params: SearchSessionParams, timeout: float | None = None
    ) -> SearchSessionResult: ...

    @overload
    def request(
        self, method: Literal["recall"], params: RecallParams, timeout: float | None = None
    ) -> RecallResult: ...

    @overload
    def request(
        self, method: Literal["setLabel"], params: SetLabelParams, timeout: float | None = None
    ) -> AppendedResult: ...

    @overload
    def request(
        self, method: Literal["getContext"], params: GetContextParams, timeout: float | None = None
    ) -> GetContextResult: ...

    @overload
    def request(
        self, method: Literal["getContextUsage"], params: GetContextUsageParams, timeout: float | None = None
    ) -> ContextUsage: ...

    @overload
    def request(
        self, method: Literal["estimateTokens"], params: EstimateTokensParams, timeout: float | None = None
    ) -> EstimateTokensResult: ...

    @overload
    def request(
        self, method: Literal["serializeConversation"], params: SerializeConversationParams, timeout: float | None = None
    ) -> SerializeConversationResult: ...

    @overload
    def request(
        self, method: Literal["checkCompaction"], params: CheckCompactionParams, timeout: float | None = None
    ) -> CheckCompactionResult: ...

    @overload
    def request(
        self, method: Literal["prepareCompaction"], params: PrepareCompactionParams, timeout: float | None = None
    ) -> PrepareCompactionResult: ...

    @overload
    def request(
        self, method: Literal["compact"], params: CompactParams, timeout: float | None = None
    ) -> CompactResult: ...

    @overload
    def request(
        self, method: Literal["compactMessages"], params: CompactMessagesParams, timeout: float | None = None
    ) -> CompactMessagesResult: ...

    @overload
    def request(
        self, method: Literal["abortCompaction"], params: SessionParams, timeout: float | None = None
    ) -> AbortResult: ...

    @overload
    def request(
        self, method: Literal["undoCompaction"], params: UndoCompactionParams, timeout: float | None = None
    ) -> UndoCompactionResult: ...

    @overload
    def request(
        self, method: Literal["pinEntry"], params: PinEntryParams, timeout: float | None = None
    ) -> PinEntryResult: ...

    @overload
    def request(
        self, method: Literal["getPins"], params: GetPinsParams, timeout: float | None = None
    ) -> GetPinsResult: ...

    @overload
    def request(
        self, method: Literal["prepareNavigation"], params: PrepareNavigationParams, timeout: float | None = None
    ) -> PrepareNavigationResult: ...

    @overload
    def request(
        self, method: Literal["navigateTree"], params: NavigateTreeParams, timeout: float | None = None
    ) -> NavigateTreeResult: ...

    @overload
    def request(
        self, method: Literal["forkSession"], params: ForkSessionParams, timeout: float | None = None
    ) -> OpenSessionResult: ...

    def request(self, method: str, params: Any, timeout: float | None = None) -> Any:
        """Sends a request and waits for its result.

        After `timeout` seconds the request is cancelled and TimeoutError is raised. Raises
        CompactdError if the server answers with an error, ServerGone if it ends first.
        """
        return self._request(method, params, timeout)

    def _start(self, method: str, params: Any) -> Pending[Any]:
        raise NotImplementedError

    def _request(self, method: str, params: Any, timeout: float | None) -> Any:
        raise NotImplementedError


class AsyncCalls:
    """The calls for asyncio, typed by method."""

    @overload
    async def request(self, method: Literal["initialize"], params: InitializeParams) -> InitializeResult: ...

    @overload
    async def request(self, method: Literal["updateSettings"], params: UpdateSettingsParams) -> UpdateSettingsResult: ...

    @overload
    async def request(self, method: Literal["shutdown"], params: NoParams) -> Null: ...

    @overload
    async def request(self, method: Literal["ping"], params: NoParams) -> Null: ...

    @overload
    async def request(self, method: Literal["getStatus"], params: NoParams) -> ServerStatus: ...

    @overload
    async def request(self, method: Literal["rpc.discover"], params: NoParams) -> FreeObject: ...

    @overload
    async def request(self, method: Literal["createSession"], params: CreateSessionParams) -> OpenSessionResult: ...

    @overload
    async def request(self, method: Literal["openSession"], params: OpenSessionParams) -> OpenSessionResult: ...

    @overload
    async def request(self, method: Literal["continueSession"], params: ContinueSessionParams) -> OpenSessionResult: ...

    @overload
    async def request(self, method: Literal["subscribe"], params: SubscribeParams) -> SubscribeResult: ...

    @overload
    async def request(self, method: Literal["unsubscribe"], params: SessionParams) -> UnsubscribeResult: ...

    @overload
    async def request(self, method: Literal["closeSession"], params: SessionParams) -> Null: ...

    @overload
    async def request(self, method: Literal["listSessions"], params: ListSessionsParams) -> ListSessionsResult: ...

    @overload
    async def request(self, method: Literal["setSessionName"], params: SetSessionNameParams) -> AppendedResult: ...

    @overload
    async def request(self, method: Literal["getSessionStats"], params: SessionParams) -> SessionStats: ...

    @overload
    async def request(self, method: Literal["checkSession"], params: CheckSessionParams) -> CheckSessionResult: ...

    @overload
    async def request(self, method: Literal["appendMessage"], params: AppendMessageParams) -> AppendMessageResult: ...

    @overload
    async def request(self, method: Literal["appendMessages"], params: AppendMessagesParams) -> AppendMessagesResult: ...

    @overload
    async def request(self, method: Literal["appendEntry"], params: AppendEntryParams) -> AppendedResult: ...

    @overload
    async def request(self, method: Literal["getEntry"], params: EntryParams) -> GetEntryResult: ...

    @overload
    async def request(self, method: Literal["getEntries"], params: GetEntriesParams) -> EntriesResult: ...

    @overload
    async def request(self, method: Literal["getBranch"], params: GetBranchParams) -> EntriesResult: ...

    @overload
    async def request(self, method: Literal["getTree"], params: SessionParams) -> GetTreeResult: ...

    @overload
    async def request(self, method: Literal["searchSession"], params: SearchSessionParams) -> SearchSessionResult: ...

    @overload
    async def request(self, method: Literal["recall"], params: RecallParams) -> RecallResult: ...

    @overload
    async def request(self, method: Literal["setLabel"], params: SetLabelParams) -> AppendedResult: ...

    @overload
    async def request(self, method: Literal["getContext"], params: GetContextParams) -> GetContextResult: ...

    @overload
    async def request(self, method: Literal["getContextUsage"], params: GetContextUsageParams) -> ContextUsage: ...

    @overload
    async def request(self, method: Literal["estimateTokens"], params: EstimateTokensParams) -> EstimateTokensResult: ...

    @overload
    async def request(self, method: Literal["serializeConversation"], params: SerializeConversationParams) -> SerializeConversationResult: ...

    @overload
    async def request(self, method: Literal["checkCompaction"], params: CheckCompactionParams) -> CheckCompactionResult: ...

    @overload
    async def request(self, method: Literal["prepareCompaction"], params: PrepareCompactionParams) -> PrepareCompactionResult: ...

    @overload
    async def request(self, method: Literal["compact"], params: CompactParams) -> CompactResult: ...

    @overload
    async def request(self, method: Literal["compactMessages"], params: CompactMessagesParams) -> CompactMessagesResult: ...

    @overload
    async def request(self, method: Literal["abortCompaction"], params: SessionParams) -> AbortResult: ...

    @overload
    async def request(self, method: Literal["undoCompaction"], params: UndoCompactionParams) -> UndoCompactionResult: ...

    @overload
    async def request(self, method: Literal["pinEntry"], params: PinEntryParams) -> PinEntryResult: ...

    @overload
    async def request(self, method: Literal["getPins"], params: GetPinsParams) -> GetPinsResult: ...

    @overload
    async def request(self, method: Literal["prepareNavigation"], params: PrepareNavigationParams) -> PrepareNavigationResult: ...

    @overload
    async def request(self, method: Literal["navigateTree"], params: NavigateTreeParams) -> NavigateTreeResult: ...

    @overload
    async def request(self, method: Literal["forkSession"], params: ForkSessionParams) -> OpenSessionResult: ...

    async def request(self, method: str, params: Any) -> Any:
        """Sends a request and waits for its result. A task that is cancelled cancels the request.

        Raises CompactdError if the server answers with an error, ServerGone if it ends first.
        """
        return await self._request(method, params)

    async def _request(self, method: str, params: Any) -> Any:
        raise NotImplementedError
