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

    # The entry.
    entry: NewEntry

    # The leaf that the caller believes in; another one fails the call with `leafMoved`.
    expectedLeafId: NotRequired[str | None]


@final
class AppendMessageParams(TypedDict):
    """Parameters of `appendMessage`."""

    # The session.
    sessionId: str

    # The message.
    message: AnyMessage

    # The leaf that the caller believes in; another one fails the call with `leafMoved`.
    expectedLeafId: NotRequired[str | None]

    # The shape of the message; `pi` by default.
    format: NotRequired[MessageFormat | None]


@final
class AppendMessageResult(TypedDict):
    """Result of `appendMessage`."""

    # The new entry; the last one, where the message became several.
    entryId: str

    # The leaf afterwards.
    leafId: str

    # The compaction that the server has begun because of this message, or why it has not.
    compaction: NotRequired[AutomaticCompaction | None]

    # Usage of the context, where the session's model is known.
    contextUsage: NotRequired[ContextUsage | None]

    # The new entries, where the message became several: an entry holds one result of a tool.
    entryIds: NotRequired[list[str]]


@final
class AppendMessagesParams(TypedDict):
    """Parameters of `appendMessages`."""

    # The session.
    sessionId: str

    # The messages, oldest first; at least one, at most 10000.
    messages: list[AnyMessage]

    # The leaf that the caller believes in; another one fails the call with `leafMoved`.
    expectedLeafId: NotRequired[str | None]

    # The shape of the messages; `pi` by default.
    format: NotRequired[MessageFormat | None]


@final
class AppendMessagesResult(TypedDict):
    """Result of `appendMessages`."""

    # The new entries, oldest first. A message may become several, and items of one answer become
    # one.
    entryIds: list[str]

    # For each entry the position of the message that it holds; of the first one, where it holds
    # several.
    sources: list[int]

    # The leaf afterwards.
    leafId: str

    # The compaction that the server has begun because of these messages, or why it has not.
    compaction: NotRequired[AutomaticCompaction | None]

    # Usage of the context, where the session's model is known.
    contextUsage: NotRequired[ContextUsage | None]


@final
class AppendedResult(TypedDict):
    """Result of calls that append one entry."""

    # The new entry.
    entryId: str

    # The leaf afterwards.
    leafId: str


@final
class AutoCompactionOptions(TypedDict):
    """How a session is compacted by itself."""

    # The model that the session's requests go to.
    model: Model


@final
class AutomaticCompaction(TypedDict):
    """A compaction that is due."""

    # Why it is due: `threshold` or `overflow`.
    reason: CompactionReason

    # Whether the request that failed is worth another try once the compaction is done.
    willRetry: bool

    # Tokens of the context.
    contextTokens: int

    # More tokens than this are too many.
    threshold: int

    # Tool results that were shortened in the context at once; their entries keep the whole.
    clipped: NotRequired[list[ClippedResult]]

    # Why it could not begin, as `compactionEnd` tells it.
    error: NotRequired[ErrorBody | None]

    # The input. After an answer that a server gave to a part of the context: the least that the
    # context
    # has.
    inputTokens: NotRequired[int | None]

    # The most that the provider takes, of input or of input and output together. After an answer
    # that a
    # server gave to a part of the context: what it read.
    limit: NotRequired[int | None]

    # Names the operation; its outcome comes with `compactionEnd`. With `operationInProgress` it is
    # the one that runs already.
    operationId: NotRequired[str | None]

    # The output that was asked for.
    requestedOutputTokens: NotRequired[int | None]

    # Why nothing is done: `operationInProgress` (it is looked at again when that operation ends),
    # `failedRepeatedly`, `undone` (a compaction was undone since the last request of a person),
    # `overflowRecoveryTried` (a `compactionEnd` tells a person what to do), `outputTooLarge` (the
    # output
    # that was asked for fills the limit, so that no context is small enough), `otherModel` (another
    # model
    # refused it), `olderThanCompaction`, `alreadyCompacted`, or `disabled`.
    skipped: NotRequired[str | None]

    # Until when it is not tried, after several failures in a row.
    until: NotRequired[str | None]


@final
class BranchSummaryEnd(TypedDict):
    """`branchSummaryEnd`: exactly one for every `branchSummaryStart`, sent before the reply."""

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str

    # Whether it was cancelled.
    aborted: bool

    # Why it failed.
    error: NotRequired[ErrorBody | None]

    # What came of it.
    result: NotRequired[NavigationResult | None]


@final
class BranchSummaryStart(TypedDict):
    """`branchSummaryStart`."""

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str

    # The entry to go to.
    targetId: str

    # The leaf that is left.
    oldLeafId: str | None

    # Estimated tokens that the summary reads.
    estimatedTokens: int


@final
class CancelResult(TypedDict):
    """The client's answer to `sessionBeforeFork`."""

    # Whether the operation shall not happen.
    cancel: NotRequired[bool | None]


@final
class CheckCompactionParams(TypedDict):
    """Parameters of `checkCompaction`."""

    # The session.
    sessionId: str

    # The model of the next request.
    model: Model

    # The assistant message to judge; the last one of the context by default.
    message: NotRequired[Message | None]

    # Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
    settings: NotRequired[FreeObject | None]


@final
class CheckCompactionResult(TypedDict):
    """Result of `checkCompaction`."""

    # What to do.
    action: CompactionAction

    # Whether the failed request is worth another try after the compaction.
    willRetry: bool

    # Tokens of the context.
    contextTokens: int

    # Tokens above which the threshold is crossed.
    threshold: int

    # The input. After an answer that a server gave to a part of the context: the least that the
    # context
    # has.
    inputTokens: NotRequired[int | None]

    # Tokens of recent context that a compaction would keep verbatim, as they fit the window; absent
    # if that is not known.
    keepRecentTokens: NotRequired[int | None]

    # The most that the provider takes, of input or of input and output together. After an answer
    # that a
    # server gave to a part of the context: what it read.
    limit: NotRequired[int | None]

    # Why.
    reason: NotRequired[CompactionReason | None]

    # The output that was asked for.
    requestedOutputTokens: NotRequired[int | None]

    # Tokens of the window that stay free, as they fit it; absent if the window is not known.
    reserveTokens: NotRequired[int | None]

    # Why nothing is done although something might seem due: as `skipped` of `appendMessage`, or
    # `unknownWindow`, `aborted`.
    skipped: NotRequired[str | None]


@final
class CheckSessionParams(TypedDict):
    """Parameters of `checkSession`: an open session or a file."""

    # Path of a file; used if no session is named.
    path: NotRequired[str | None]

    # An open session.
    sessionId: NotRequired[str | None]


@final
class CheckSessionResult(TypedDict):
    """Result of `checkSession`."""

    # What was odd, bodies included.
    diagnostics: list[Diagnostic]


@final
class ClientCapabilities(TypedDict):
    """What a client answers."""

    # The client wants the whole entry in `entryAppended`, and not only its `type`, `id`, `parentId`
    # and
    # `timestamp`. Default: true.
    entryBodies: NotRequired[bool | None]

    # Names of the hooks that the client answers.
    hooks: NotRequired[list[str]]

    # The client wants `details.compactd.ledger` in the results of compactions. Default: true. The
    # stored entry has
    # it anyway.
    ledgers: NotRequired[bool | None]

    # The client wants progress notifications. Default: true.
    progress: NotRequired[bool | None]

    # The client answers `summarize`.
    summarize: NotRequired[bool]

    # Modes of `summarize` that the client answers: `transcript` always, `continue` if it is named
    # here. A client
    # that continues must be able to send the conversation again as its last request had it, with
    # the same model,
    # prompt and tools.
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
    """A tool result that was shortened in the context, because it is larger than what the window
    leaves.
    """

    # The entry of the result, which keeps the whole of it.
    entryId: str

    # Its tokens before.
    tokensBefore: int

    # Its tokens afterwards.
    tokensAfter: int


@final
class CompactMessagesParams(TypedDict):
    """Parameters of `compactMessages`."""

    # The whole context, oldest message first; at most 10000. With `previous`: the messages that the
    # call
    # gave which gave it, and what came since.
    messages: list[AnyMessage]

    # Whether a summary is taken that is no smaller than what it replaces.
    force: NotRequired[bool]

    # The shape of the messages; `pi` by default.
    format: NotRequired[MessageFormat | None]

    # What the summary should look at.
    instructions: NotRequired[str | None]

    # The model that the messages go to: the new context leaves room for its answers.
    model: NotRequired[Model | None]

    # What the last such call for this conversation gave as `previous`.
    previous: NotRequired[FreeObject | None]

    # Compaction settings for this call.
    settings: NotRequired[FreeObject | None]

    # The summarizer for this call, instead of the configured one, or a list of them: the next one
    # writes where one fails.
    summarizer: NotRequired[SummarizerChoice | None]


@final
class CompactMessagesResult(TypedDict):
    """Result of `compactMessages`."""

    # The messages of the new context: instructions that led the messages, the summary, and what
    # stays.
    messages: list[AnyMessage]

    # Position among the messages given of the oldest one that stays.
    keptFrom: int

    # For the next call; its members are nobody's business but ours.
    previous: FreeObject

    # The compaction. Its entry ids are those of a copy that ended with the call.
    report: CompactionResult

    # Instructions from between the messages, for interfaces that take them beside the messages.
    system: NotRequired[str | None]


@final
class CompactParams(TypedDict):
    """Parameters of `compact`."""

    # The session.
    sessionId: str

    # Whether the compaction is written (true, the default). With false the result is that of a
    # compaction
    # of a copy in memory: the session stays as it is, its entry ids hold for `firstKeptEntryId` and
    # `details`, and `entryId` names no entry. Notifications of it carry a session id of their own.
    commit: NotRequired[bool | None]

    # What the summary should look at.
    customInstructions: NotRequired[str | None]

    # The oldest entry that stays verbatim, in place of the one that the settings give.
    firstKeptEntryId: NotRequired[str | None]

    # Whether a summary is taken that is no smaller than what it replaces.
    force: NotRequired[bool]

    # Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
    settings: NotRequired[FreeObject | None]

    # The summarizer for this call, instead of the configured one, or a list of them: the next one
    # writes where one fails.
    summarizer: NotRequired[SummarizerChoice | None]

    # A summary that the client wrote.
    summary: NotRequired[GivenSummary | None]

    # Whether to answer when the compaction is done (true, the default) or at once.
    wait: NotRequired[bool | None]


# Result of `compact`; only `operationId` with `wait: false`.
CompactResult: TypeAlias = "CompactionResult | StartedResult"


# What to do.
CompactionAction: TypeAlias = Literal["none", "compact"]


@final
class CompactionEnd(TypedDict):
    """`compactionEnd`: exactly one for every `compactionStart`, sent before the reply to
    `compact`.
    """

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str

    # Why it happened.
    reason: CompactionReason

    # Whether it was cancelled.
    aborted: bool

    # Whether the failed request is worth another try.
    willRetry: bool

    # Tool results that were shortened in the context where that was enough.
    clipped: NotRequired[list[ClippedResult]]

    # Why it failed.
    error: NotRequired[ErrorBody | None]

    # Until when the session is not compacted by itself, after several failures in a row.
    pausedUntil: NotRequired[str | None]

    # What came of it; absent where shortening tool results was enough.
    result: NotRequired[CompactionResult | None]

    # Given, and true, where the server began the compaction and the context ends with a tool result
    # or
    # an answer that was cut: the agent has work left, and nobody but the host resumes it.
    unfinished: NotRequired[bool | None]


# Why a compaction happens.
CompactionReason: TypeAlias = Literal["manual", "threshold", "overflow"]


@final
class CompactionResult(TypedDict):
    """A compaction that is done."""

    # The compaction entry.
    entryId: str

    # Its summary. Without a model, all of it (text, context of a split turn, lists of files) stays
    # within 0.8 of
    # `reserveTokens`. A model's text is bounded by what the model is asked for; lists of files
    # behind it take a tenth
    # of `reserveTokens` at most, and facts that it lacks a tenth of its own tokens, or fill it up
    # to 1,000 tokens.
    summary: str

    # The oldest entry that stays verbatim.
    firstKeptEntryId: str

    # Tokens of the context before.
    tokensBefore: int

    # Tokens of the context after, estimated: no provider has counted it yet.
    tokensAfter: int

    # Tokens of the context before in the measure of `tokensAfter`. `tokensBefore` is the provider's
    # count, where
    # there is one.
    estimatedTokensBefore: int

    # The entry's `details`. `readFiles` and `modifiedFiles` name at most 2,000 files
    # together, whose paths have at most 256 KiB: modified files before those that were only read,
    # and the ones
    # touched last before the rest. `compactd.filesLeftOut` counts the others, where there are any;
    # a file that was
    # left out and came back counts.
    details: FreeObject

    # Whether a hook or the client gave the summary.
    fromHook: bool

    # Who wrote the summary.
    summarizer: str

    # Requests that were made, failed ones included.
    attempts: int

    # One or two sentences for a user interface.
    brief: str

    # How much is there, by class.
    retention: Retention

    # How much the summary alone held, before what it lacked was added.
    retentionBeforeRepair: Retention

    # One figure for the retention, from 0 to 1: the weighted mean of the classes that have
    # something to keep.
    # Statements count 4, requests 3, errors and constraints 1, files 0.5, identifiers 0.25.
    score: float

    # What the summary alone lacked, and what it says that nothing supports.
    lossReport: LossReport

    # Summarizers that were asked before that one, and why they did not write it.
    failures: NotRequired[list[SummarizerFailure]]

    # Secrets that were taken out of what the model was told and said, by rule.
    redactions: NotRequired[dict[str, int]]

    # How models were asked for the summary, and what either way takes: one for each part of it.
    summaryRequests: NotRequired[list[SummaryRequestReport]]

    # What the summary cost.
    usage: NotRequired[FreeObject | None]


@final
class CompactionSettings(TypedDict):
    """Settings that decided a preparation."""

    # Whether compaction may start by itself.
    enabled: bool

    # Tokens of the window that stay free.
    reserveTokens: int

    # Tokens of recent context that stay verbatim.
    keepRecentTokens: int

    # Percent of the window over which compaction is due, if that is set.
    thresholdPercent: NotRequired[int | None]


@final
class CompactionStart(TypedDict):
    """`compactionStart`."""

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str

    # Why it happens.
    reason: CompactionReason

    # Tokens of the context.
    tokensBefore: int


# Format of a context.
ContextFormat: TypeAlias = Literal["agent", "llm", "openai", "openai-responses", "anthropic", "gemini", "ai-sdk"]


@final
class ContextTokens(TypedDict):
    """Tokens of a context."""

    # The sum.
    tokens: int

    # Tokens of the last usage that can be trusted.
    usageTokens: int

    # Estimates for the messages after it.
    trailingTokens: int


@final
class ContextUsage(TypedDict):
    """How full a window is."""

    # Tokens of the context; null between a compaction and the first answer after it.
    tokens: int | None

    # Size of the window in tokens.
    contextWindow: int

    # Tokens in percent of the window.
    percent: float | None


@final
class ContinueSessionParams(TypedDict):
    """Parameters of `continueSession`."""

    # Compacts the session by itself for this model.
    autoCompaction: NotRequired[AutoCompactionOptions | None]

    # Working directory whose most recent session is opened; that of `initialize` by default.
    cwd: NotRequired[str | None]


@final
class ContinuedConversation(TypedDict):
    """The part of a conversation that is continued for its summary."""

    # The last entry that is part of it.
    lastEntryId: str

    # How many messages it has: the first ones of `getContext` in `llm` format. An answer with tool
    # calls is
    # never the last one without their results.
    messages: int

    # The oldest entry that the compaction keeps.
    firstKeptEntryId: str


@final
class CreateSessionParams(TypedDict):
    """Parameters of `createSession`."""

    # Compacts the session by itself for this model.
    autoCompaction: NotRequired[AutoCompactionOptions | None]

    # Working directory of the session; that of `initialize` by default.
    cwd: NotRequired[str | None]

    # Whether the session is kept in memory alone.
    ephemeral: NotRequired[bool]

    # The shape of the messages; `pi` by default.
    format: NotRequired[MessageFormat | None]

    # Messages that the session begins with, oldest first; at most 10000. Their entries are not told
    # by
    # `entryAppended`.
    messages: NotRequired[list[AnyMessage]]

    # Name of the session.
    name: NotRequired[str | None]

    # Path of the session that this one continues.
    parentSession: NotRequired[str | None]

    # Path of the file, instead of one that is made up; it must not exist.
    path: NotRequired[str | None]

    # A flat directory for the file.
    sessionDir: NotRequired[str | None]

    # Id of the session, instead of one that is made up: letters, digits and, not at its ends, `.`,
    # `_` and `-`,
    # 128 at most. One that another session of the directory, or an open one, has is refused (1009).
    sessionId: NotRequired[str | None]


@final
class Diagnostic(TypedDict):
    """Something odd in a session that was read around."""

    # What it is.
    kind: str

    # What a person reads.
    message: str

    # Line of the file, counted from 1.
    line: NotRequired[int | None]


# What was passed over.
DiagnosticKind: TypeAlias = Literal["unknownMember", "unknownSetting"]


@final
class EntriesResult(TypedDict):
    """Result of `getEntries` and `getBranch`."""

    # The entries.
    entries: list[Entry]

    # Present if there are more, in `getEntries` with a `limit`.
    nextCursor: NotRequired[str | None]


# An entry (line) of the session file. Further members depend on the type; unknown types and
# members are carried through.
Entry: TypeAlias = dict[str, Any]


@final
class EntryAppended(TypedDict):
    """`entryAppended`: an entry was written, whoever caused it."""

    # The session.
    sessionId: str

    # The entry.
    entry: Entry


@final
class EntryParams(TypedDict):
    """Parameters of calls that name one entry."""

    # The session.
    sessionId: str

    # The entry.
    entryId: str


@final
class ErrorBody(TypedDict):
    """An error, as a reply would hold it."""

    # Code of the error.
    code: int

    # What a person reads.
    message: str

    # `kind`, `reason` and `retryable`, and the ids and numbers needed to act.
    data: ErrorData


# What an error is, and the ids and numbers needed to act.
ErrorData: TypeAlias = dict[str, Any]


@final
class EstimateTokensParams(TypedDict):
    """Parameters of `estimateTokens`: messages or a text."""

    # The shape of the messages; `pi` by default.
    format: NotRequired[MessageFormat | None]

    # Messages, as stored or as models get them, or in the shape that `format` names.
    messages: NotRequired[list[AnyMessage] | None]

    # A text; used if there are no messages.
    text: NotRequired[str | None]


@final
class EstimateTokensResult(TypedDict):
    """Result of `estimateTokens`."""

    # Estimated tokens.
    tokens: int


@final
class FileOperations(TypedDict):
    """Paths by what was done to them, sorted."""

    # Files that were read.
    read: list[str]

    # Files that were written whole.
    written: list[str]

    # Files that were edited.
    edited: list[str]


@final
class Forecast(TypedDict):
    """What a compaction would keep by itself, as far as that is known before a summary is
    written.
    """

    # How much any summary keeps at least, once it is repaired.
    retention: Retention

    # One figure for it, from 0 to 1.
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

    # Whether the fork ends before or at the entry; before by default.
    position: NotRequired[ForkPosition]


FreeObject: TypeAlias = dict[str, Any]


@final
class GetBranchParams(TypedDict):
    """Parameters of `getBranch`."""

    # The session.
    sessionId: str

    # The end of the branch; the leaf by default.
    leafId: NotRequired[str | None]


@final
class GetContextParams(TypedDict):
    """Parameters of `getContext`."""

    # The session.
    sessionId: str

    # An entry up to which the caller has the context already.
    after: NotRequired[str | None]

    # Format of the messages; `agent` by default.
    format: NotRequired[ContextFormat | None]

    # The end of the branch; the leaf by default.
    leafId: NotRequired[str | None]


@final
class GetContextResult(TypedDict):
    """Result of `getContext`."""

    # What the model sees.
    messages: list[AnyMessage]

    # The end of the branch.
    leafId: str | None

    # The thinking level at the leaf.
    thinkingLevel: str

    # The model at the leaf.
    model: ModelName | None

    # What the whole context weighs.
    tokens: ContextTokens

    # With `after`: whether `messages` holds only what follows that entry.
    delta: NotRequired[bool | None]

    # What was odd: unknown first kept entries, broken bodies, results without calls.
    diagnostics: NotRequired[list[Diagnostic]]

    # The instructions, for interfaces that take them beside the messages.
    system: NotRequired[str | None]


@final
class GetContextUsageParams(TypedDict):
    """Parameters of `getContextUsage`."""

    # The session.
    sessionId: str

    # The model whose window counts.
    model: WindowModel


@final
class GetEntriesParams(TypedDict):
    """Parameters of `getEntries`."""

    # The session.
    sessionId: str

    # Where the last page ended: its `nextCursor`, or the id of any entry. The first page by
    # default.
    cursor: NotRequired[str | None]

    # Ids of the entries that are wanted, at most 1000, in this order; used in place of the others.
    ids: NotRequired[list[str] | None]

    # Entries per page; all by default.
    limit: NotRequired[int | None]

    # Deprecated since 1.1 in favour of `cursor`, which counts where both are given: the entry after
    # which to start.
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

    # The end of a branch; the leaf by default.
    leafId: NotRequired[str | None]


@final
class GetPinsResult(TypedDict):
    """Result of `getPins`."""

    # The pinned entries of the branch, root first.
    pins: list[PinnedEntry]

    # What they take together.
    tokens: int

    # What they may take together.
    maxTokens: int


@final
class GetTreeResult(TypedDict):
    """Result of `getTree`."""

    # The leaf.
    leafId: str | None

    # All entries in file order; never nested, so that depth has no limit.
    nodes: list[TreeNode]


@final
class GivenBranchSummary(TypedDict):
    """A branch summary that the client wrote."""

    # Its text.
    summary: str

    # Members for the entry's `details`.
    details: NotRequired[FreeObject | None]

    # What the summary cost.
    usage: NotRequired[Usage | None]


@final
class GivenSummary(TypedDict):
    """A summary that the client wrote."""

    # Its text.
    summary: str

    # Members for the entry's `details`.
    details: NotRequired[FreeObject | None]

    # The oldest entry that stays verbatim; that of the preparation by default.
    firstKeptEntryId: NotRequired[str | None]

    # Tokens of the context before; used from hooks alone, else they are counted.
    tokensBefore: NotRequired[int | None]

    # What the summary cost.
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

    # Agent directory; `$PI_CODING_AGENT_DIR`, then `~/.pi/agent` by default.
    agentDir: NotRequired[str | None]

    # What the client answers.
    capabilities: NotRequired[ClientCapabilities]

    # Working directory for sessions that name none; the server's own by default.
    cwd: NotRequired[str | None]

    # Process id of the parent; when it dies, the server ends.
    processId: NotRequired[int | None]

    # A flat directory of sessions, instead of one per working directory.
    sessionDir: NotRequired[str | None]

    # Settings over those of the settings files.
    settings: NotRequired[FreeObject | None]


@final
class InitializeResult(TypedDict):
    """Result of `initialize`."""

    # Version of the protocol that is spoken: 1.
    protocolVersion: int

    # Its minor version: 1. Every version 1 serves what earlier ones serve; 1.0 does not say this
    # member.
    protocolMinorVersion: int

    # Who the server is.
    serverInfo: ServerInfo

    # What the server does.
    capabilities: ServerCapabilities

    # The settings in force: defaults, files and `initialize.settings` merged.
    settings: FreeObject

    # Settings files that could not be read, and other oddities.
    diagnostics: list[str]


@final
class LeafChanged(TypedDict):
    """`leafChanged`: a navigation moved the leaf."""

    # The session.
    sessionId: str

    # The leaf.
    leafId: str | None

    # The leaf before.
    oldLeafId: str | None


@final
class ListSessionsParams(TypedDict):
    """Parameters of `listSessions`."""

    # Whether to list the sessions of all working directories.
    all: NotRequired[bool]

    # Where the last page ended: its `nextCursor`.
    cursor: NotRequired[str | None]

    # Working directory whose sessions are listed; that of `initialize` by default.
    cwd: NotRequired[str | None]

    # Sessions per page.
    limit: NotRequired[int | None]

    # A flat directory of sessions.
    sessionDir: NotRequired[str | None]


@final
class ListSessionsResult(TypedDict):
    """Result of `listSessions`."""

    # Sessions, newest activity first.
    sessions: list[SessionSummary]

    # Present if there are more.
    nextCursor: NotRequired[str | None]


@final
class LossReport(TypedDict):
    """What a summary lacks, and what is doubtful in it; the most telling first."""

    # Paths that are missing.
    files: list[str]

    # Identifiers that are missing.
    identifiers: list[str]

    # Errors that are missing.
    errors: list[LostError]

    # Requests that are missing.
    requests: list[LostItem]

    # Constraints and preferences that are missing.
    constraints: list[LostItem]

    # Of the sentences that said most those that are missing.
    statements: list[LostItem]

    # Requests and constraints of which only a part is there.
    clipped: list[LostItem]

    # Names in the summary that stand nowhere in what it was made from: not in the compacted
    # messages, the
    # summary before it, the messages that stay, or what earlier compactions stored. Checked are
    # paths with a
    # file's ending or a root, names of files, identifiers with an underscore or with capitals
    # inside after small
    # letters, tickets and codes of errors, hashes, versions of three parts, and numbers of at least
    # three digits
    # with a unit that are not said to be rough. Not checked are words, names of products,
    # addresses, other
    # numbers, and whether names are brought together rightly.
    unsupported: list[str]

    # Claims of the summary that are the reverse of what is known: in English, in prose as in lists,
    # that a file
    # that tools worked on was changed or was not, that tests, build, lint or a quoted command
    # succeed, that
    # something was committed or pushed. Sentences that wish, ask, or tell conditions claim nothing.
    reversed: list[ReversedFact]


@final
class LostError(TypedDict):
    """An error that a summary lacks."""

    # The line that tells best why.
    line: str

    # Whether the same succeeded since.
    resolved: bool

    # The entries that it comes from.
    entryIds: list[str]

    # The path or command that failed.
    subject: NotRequired[str | None]


@final
class LostItem(TypedDict):
    """Words that a summary lacks."""

    # The words.
    text: str

    # The entries that they come from.
    entryIds: list[str]


@final
class MemoryStatus(TypedDict):
    """What the server takes of the memory."""

    # Bytes that lie in memory; null where the system does not tell.
    residentBytes: int | None

    # Bytes of address space that the process may have, where there is a limit.
    limitBytes: NotRequired[int | None]


# A message as the session file stores it. Unknown members are carried through.
Message: TypeAlias = dict[str, Any]


# A shape of messages.
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

    # The longest answer that is asked of it, in tokens. An answer that stops for its length before
    # it
    # is a reason to compact and ask again, once.
    maxOutputTokens: NotRequired[int | None]


@final
class ModelName(TypedDict):
    """A model, as entries name it."""

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

    # What the summary should look at.
    customInstructions: NotRequired[str | None]

    # A label for the summary, or for the target if there is none.
    label: NotRequired[str | None]

    # Whether `customInstructions` stand in place of the usual ones.
    replaceInstructions: NotRequired[bool]

    # Whether to summarise the branch that is left.
    summarize: NotRequired[bool]

    # The summarizer for this call.
    summarizer: NotRequired[SummarizerChoice | None]

    # A summary that the client wrote.
    summary: NotRequired[GivenBranchSummary | None]

    # Whether to answer when the navigation is done (true, the default) or at once.
    wait: NotRequired[bool | None]


# Result of `navigateTree`; only `operationId` with `wait: false`.
NavigateTreeResult: TypeAlias = "NavigationResult | StartedResult"


@final
class NavigationResult(TypedDict):
    """A navigation that is done."""

    # The leaf afterwards.
    leafId: str | None

    # The leaf before.
    oldLeafId: str | None

    # Whether the navigation was cancelled and nothing moved.
    cancelled: bool

    # Whether it was cancelled by ending its summary.
    aborted: NotRequired[bool | None]

    # The text that goes back into the editor.
    editorText: NotRequired[str | None]

    # The summary of the branch that was left.
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

    # The same for a person, with the numbers.
    detail: str


# Reasons for which a conversation is not continued, or a summary that it gave not taken.
NotContinuedReason: TypeAlias = Literal["settings", "notSupported", "otherModel", "otherInterface", "promptUnknown", "notSeen", "tooLarge", "thinkingUnknown", "noCache", "cold", "missed", "dearer", "refused", "overflow", "truncated", "toolCall", "empty", "cutOff", "headings", "stopped"]


Null: TypeAlias = None


@final
class OpenSessionParams(TypedDict):
    """Parameters of `openSession`."""

    # Path of the session file.
    path: str

    # Compacts the session by itself for this model.
    autoCompaction: NotRequired[AutoCompactionOptions | None]

    # Whether to open it for reading alone, without a lock.
    readOnly: NotRequired[bool]


@final
class OpenSessionResult(TypedDict):
    """Result of `createSession`, `openSession`, `continueSession` and `forkSession`."""

    # The header's id; names the session in every later call.
    sessionId: str

    # The first line of the file.
    header: Header

    # The leaf; null for a session without entries.
    leafId: str | None

    # Whether the session cannot be written.
    readOnly: bool

    # What was odd.
    diagnostics: list[Diagnostic]

    # After a fork before a message: its text, for the editor.
    editorText: NotRequired[str | None]

    # Number of entries, where it is known without reading the whole file.
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

    # Whether it cannot be written.
    readOnly: bool

    # Whether it is compacted by itself.
    autoCompaction: bool

    # Path of the file; absent for sessions in memory.
    path: NotRequired[str | None]


# What an operation is at.
OperationPhase: TypeAlias = Literal["summarizing", "waiting", "committing"]


@final
class OperationProgress(TypedDict):
    """`compactionProgress` and `branchSummaryProgress`."""

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str

    # What is going on.
    phase: OperationPhase

    # The request that is running, counted from 1.
    request: int

    # Requests in all.
    requests: int

    # Output tokens of this request so far.
    outputTokens: int

    # New text of the summary.
    delta: NotRequired[str | None]


@final
class OperationStatus(TypedDict):
    """An operation that runs."""

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str


@final
class Passage(TypedDict):
    """Where a piece of an entry stands. A piece that crosses the border of two parts counts as
    two.
    """

    # The part of the entry that it is of.
    part: PassagePart

    # Where it begins in the entry's whole text, in UTF-16 units.
    start: int

    # Where it ends there, in UTF-16 units.
    end: int

    # Where it begins in `text`, in UTF-16 units.
    offset: int

    # The part's place in the list of the message's content blocks, from 0; absent where the content
    # is
    # no list.
    block: NotRequired[int | None]


# A part of an entry.
PassagePart: TypeAlias = Literal["text", "toolCall", "image", "command", "output", "summary"]


@final
class PinEntryParams(TypedDict):
    """Parameters of `pinEntry`."""

    # The session.
    sessionId: str

    # An entry on the current path that gives the model a message.
    entryId: str

    # Whether it is to be pinned (true) or unpinned.
    pinned: bool


@final
class PinEntryResult(TypedDict):
    """Result of `pinEntry`."""

    # The entry.
    entryId: str

    # Whether it is pinned now.
    pinned: bool

    # All pinned entries of the path, root first.
    pins: list[PinnedEntry]

    # What they take together.
    tokens: int

    # What they may take together (setting `compactd.pins.maxTokens`).
    maxTokens: int


@final
class PinnedEntry(TypedDict):
    """A pinned entry."""

    # The entry.
    entryId: str

    # Estimated tokens that it takes behind a summary.
    tokens: int


@final
class Preparation(TypedDict):
    """What would be compacted."""

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

    # Files that the summarised part touched.
    fileOps: FileOperations

    # The settings that were used, as they fit the window where the session's model is known.
    settings: CompactionSettings

    # The leaf of the branch.
    leafId: str


# Parts of a preparation that can be asked for.
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

    # What the summary should look at.
    customInstructions: NotRequired[str | None]

    # The oldest entry that would stay verbatim, in place of the one that the settings give.
    firstKeptEntryId: NotRequired[str | None]

    # What the result holds; all parts by default.
    include: NotRequired[list[PreparationPart] | None]

    # The end of the branch; the leaf by default.
    leafId: NotRequired[str | None]

    # Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
    settings: NotRequired[FreeObject | None]

    # The summarizer whose requests are planned, instead of the configured one, or a list of them.
    summarizer: NotRequired[SummarizerChoice | None]


@final
class PrepareCompactionResult(TypedDict):
    """Result of `prepareCompaction`."""

    # What would be compacted; null if nothing would.
    preparation: Preparation | None

    # The compaction that nothing follows, if that is the reason.
    compactionId: NotRequired[str | None]

    # Tokens of the context, if nothing would be compacted.
    contextTokens: NotRequired[int | None]

    # What would be kept at least of what the compacted part holds.
    forecast: NotRequired[Forecast | None]

    # Tokens that are kept at least, if nothing would be compacted.
    keepRecentTokens: NotRequired[int | None]

    # Messages that all would be kept, if nothing would be compacted.
    messages: NotRequired[int | None]

    # Why nothing would be compacted.
    reason: NotRequired[RefusalReason | None]

    # What a summarizer would get, in order.
    requests: NotRequired[list[SummaryRequest] | None]

    # The tool call whose result has not come and from which on all has to stay, if that is the
    # reason.
    toolCallId: NotRequired[str | None]


@final
class PrepareNavigationParams(TypedDict):
    """Parameters of `prepareNavigation`."""

    # The session.
    sessionId: str

    # The entry to go to.
    targetId: str

    # The leaf to start from; the current one by default.
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

    # The entries that would be left, oldest first.
    entriesToSummarize: list[str]

    # The leaf afterwards; null for the place before the first entry.
    newLeafId: str | None

    # Estimated tokens that a summary would read.
    estimatedTokens: int

    # The text that would go back into the editor.
    editorText: NotRequired[str | None]


@final
class RecallParams(TypedDict):
    """Parameters of `recall`: a question, or ids."""

    # The session.
    sessionId: str

    # Entries that are wanted as they are, evicted or not, in this order.
    entryIds: NotRequired[list[str] | None]

    # The end of a branch; the leaf by default.
    leafId: NotRequired[str | None]

    # Tokens that the texts may have together, 1 or more; 2000 by default.
    maxTokens: NotRequired[int | None]

    # Words that evicted entries are looked for with; those that answer best come first. Words that
    # carry
    # nothing do not count; a name of a file finds the calls that changed it first.
    query: NotRequired[str | None]


@final
class RecallResult(TypedDict):
    """Result of `recall`."""

    # The entries, best first, or in the order in which they were asked for.
    entries: list[RecalledEntry]

    # Estimated tokens of their texts.
    tokens: int

    # Entries that would answer as well, or were asked for, and of which nothing fits.
    omitted: int


@final
class RecalledEntry(TypedDict):
    """An entry that is given back."""

    # The entry.
    entryId: str

    # Type of the entry.
    type: str

    # When it was written, ISO 8601.
    timestamp: str

    # What it says. Of a question's answer the passages that answer, in their order, with a line
    # `[…]`
    # where something is left out.
    text: str

    # Estimated tokens of the text.
    tokens: int

    # Whether anything of what it says is left out.
    truncated: bool

    # Where the pieces of the text stand in the entry; with a question alone.
    passages: NotRequired[list[Passage] | None]

    # Role of its message.
    role: NotRequired[str | None]

    # How well it answers; comparable within one result alone.
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
    """`diagnostic`: a part of a request was passed over, and the request served all the same.
    Each part is told of
    once. `initialize` and `updateSettings` tell the same in the `diagnostics` of their
    results.
    """

    # What it is.
    kind: DiagnosticKind

    # The method of the request.
    method: str

    # Where it stands in the parameters.
    path: str

    # What a person reads.
    message: str

    # The known name that was probably meant.
    nearest: NotRequired[str | None]


@final
class RequestEstimate(TypedDict):
    """An estimate of what the input of requests takes."""

    # Input tokens.
    inputTokens: int

    # What they cost at list prices, in US dollars; absent where the model's price is not known.
    cost: NotRequired[float | None]


# What a request to a summarizer is about.
RequestKind: TypeAlias = Literal["history", "turnPrefix", "branch"]


@final
class Retention(TypedDict):
    """Parts that are there, from 0 to 1; 1 where there was nothing to keep.
    
    They are measured against what the compacted part held and what earlier compactions of the
    branch knew, that
    included which their ledgers could not store. Errors, requests, constraints and statements
    count as told in
    other words too: if one line, or 420 characters over lines, has most of their telling
    words. Lines of nothing
    but names and blocks of files tell nothing but names.
    """

    # Files that tools touched, and paths that were named again and again.
    files: float

    # Symbols, hashes, tickets and the like.
    identifiers: float

    # Lines of errors; those that were resolved weigh little.
    errors: float

    # Requests; one that is told in part counts half.
    requests: float

    # Constraints and preferences; likewise.
    constraints: float

    # The sentences that said most, by how much they said.
    statements: float


@final
class ReversedFact(TypedDict):
    """A statement that is the reverse of what is known."""

    # What is known: `notModified`, `modified`, `failed`, `notCommitted`, or `notPushed`.
    fact: str

    # The file or command; `git commit` or `git push` where nothing was committed or pushed.
    subject: str


@final
class SearchHit(TypedDict):
    """An entry that a search found."""

    # The session that it is in.
    sessionId: str

    # The entry.
    entryId: str

    # Type of the entry.
    type: str

    # When it was written, ISO 8601.
    timestamp: str

    # The text around the first match, on one line.
    preview: str

    # Whether the entry is not in the context at its session's leaf: compacted or edited away, or on
    # another branch.
    evicted: bool

    # Path of the session's file, where there is one.
    path: NotRequired[str | None]

    # Role of its message.
    role: NotRequired[str | None]

    # How well it answers, where no entry has all words; comparable within one session alone.
    score: NotRequired[float | None]


@final
class SearchSessionParams(TypedDict):
    """Parameters of `searchSession`: an open session, or all."""

    # Words that must all occur, whatever their case; a phrase in double quotes counts as one word.
    # Where no
    # entry has all of three words or more, those that have the most of them are found.
    query: str

    # Whether to search all sessions, open or not, in place of one.
    all: NotRequired[bool]

    # Where the last page ended: its `nextCursor`. What is appended between two pages comes before
    # both, so that a
    # hit may come twice then, and none is left out.
    cursor: NotRequired[str | None]

    # Hits per page, from 1 to 1000; 50 by default.
    limit: NotRequired[int | None]

    # An open session.
    sessionId: NotRequired[str | None]


@final
class SearchSessionResult(TypedDict):
    """Result of `searchSession`."""

    # Entries whose text has all words, newest first; where there are none, those that answer best.
    hits: list[SearchHit]

    # Deprecated since 1.1 in favour of `nextCursor`: whether there are more.
    truncated: bool

    # Present if there are more.
    nextCursor: NotRequired[str | None]


@final
class SerializeConversationParams(TypedDict):
    """Parameters of `serializeConversation`."""

    # Messages in either format.
    messages: list[Message]


@final
class SerializeConversationResult(TypedDict):
    """Result of `serializeConversation`."""

    # The conversation as one text.
    text: str


@final
class ServerCapabilities(TypedDict):
    """What the server does."""

    # Methods that it answers.
    methods: list[str]

    # Notifications that it sends.
    notifications: list[str]

    # Hooks that it calls.
    hooks: list[str]

    # Summarizers that it has.
    summarizers: list[str]

    # Modes in which it asks the client by `summarize`.
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

    # Version of the protocol that is spoken.
    protocolVersion: int

    # Its minor version.
    protocolMinorVersion: int

    # Process id of the server.
    processId: int

    # Milliseconds since the server started.
    uptimeMs: int

    # Sessions that are open, by id.
    sessions: list[OpenSessionStatus]

    # Compactions, navigations and forks that run.
    operations: list[OperationStatus]

    # What the server takes.
    memory: MemoryStatus


@final
class SessionBeforeCompact(TypedDict):
    """Parameters of `sessionBeforeCompact`."""

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str

    # What would be compacted.
    preparation: Preparation

    # The entries from the root to the leaf.
    branchEntries: list[Entry]

    # Why it happens.
    reason: CompactionReason

    # Whether the failed request is worth another try afterwards.
    willRetry: bool

    # What the summary should look at.
    customInstructions: NotRequired[str | None]


@final
class SessionBeforeCompactResult(TypedDict):
    """The client's answer to `sessionBeforeCompact`; an empty object lets the compaction go on."""

    # Whether the compaction shall not happen.
    cancel: NotRequired[bool | None]

    # The summary, in place of the summarizer's.
    compaction: NotRequired[GivenSummary | None]


@final
class SessionBeforeFork(TypedDict):
    """Parameters of `sessionBeforeFork`."""

    # The session.
    sessionId: str

    # The entry at which the fork would end.
    entryId: str

    # Whether it would end before or at the entry.
    position: ForkPosition


@final
class SessionBeforeTree(TypedDict):
    """Parameters of `sessionBeforeTree`."""

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str

    # What would happen.
    preparation: TreePreparation


@final
class SessionBeforeTreeResult(TypedDict):
    """The client's answer to `sessionBeforeTree`; an empty object lets the navigation go on."""

    # Whether the navigation shall not happen.
    cancel: NotRequired[bool | None]

    # Instructions in place of the caller's.
    customInstructions: NotRequired[str | None]

    # A label in place of the caller's.
    label: NotRequired[str | None]

    # Whether they stand in place of the usual ones.
    replaceInstructions: NotRequired[bool | None]

    # The summary, in place of the summarizer's, where one is wanted.
    summary: NotRequired[GivenBranchSummary | None]


@final
class SessionChanged(TypedDict):
    """`sessionChanged`: another program added entries to the file."""

    # The session.
    sessionId: str

    # The entries that were added.
    entryIds: list[str]

    # The leaf afterwards.
    leafId: str | None


@final
class SessionParams(TypedDict):
    """Parameters of calls that name a session and nothing else."""

    # The session.
    sessionId: str


@final
class SessionStats(TypedDict):
    """Result of `getSessionStats`. Everything is counted over the whole file, branches included."""

    # Entries in the file.
    entryCount: int

    # Messages of all roles.
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

    # Tokens, those of summaries included.
    tokens: TokenTotals

    # Cost, that of summaries included, in the currency of the price list.
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

    # The name; empty clears it.
    name: str


@final
class StartedResult(TypedDict):
    """An operation that runs."""

    # Names the operation in notifications.
    operationId: str


# How a model is asked for a summary.
SummarizeMode: TypeAlias = Literal["transcript", "continue"]


@final
class SummarizeParams(TypedDict):
    """Parameters of `summarize`: a request for the client's own model."""

    # The session.
    sessionId: str

    # Names the operation.
    operationId: str

    # What the summary is about.
    kind: RequestKind

    # The system prompt; empty with `mode: "continue"`, where it is the conversation's own.
    systemPrompt: str

    # The prompt; with `mode: "continue"` the user message that comes last.
    prompt: str

    # Output tokens at most.
    maxTokens: int

    # With `mode: "continue"`: what is to be sent before `prompt`, as in the conversation's own
    # requests, with
    # their prompt and tools.
    conversation: NotRequired[ContinuedConversation | None]

    # How the model is to be asked: `transcript` where absent. `continue` comes only to clients that
    # name it in
    # `initialize`, and is followed by a request without it if the answer is an error or no summary.
    mode: NotRequired[SummarizeMode | None]


@final
class SummarizeResult(TypedDict):
    """The client's answer to `summarize`."""

    # The summary.
    text: str

    # Why the model stopped: stop, length, toolUse, error or aborted.
    stopReason: str

    # What it cost.
    usage: NotRequired[Usage | None]


# A summarizer, or several in the order in which they are asked.
SummarizerChoice: TypeAlias = str | list[str]


@final
class SummarizerFailure(TypedDict):
    """A summarizer that was asked in vain."""

    # Its name.
    summarizer: str

    # The kind of the error: `summarizerFailed` or `summaryRejected`.
    kind: str

    # What went wrong, for a person.
    cause: str

    # Requests that were made.
    attempts: int


@final
class SummaryRequest(TypedDict):
    """A request to a summarizer."""

    # What it is about.
    kind: RequestKind

    # The system prompt.
    systemPrompt: str

    # The prompt.
    prompt: str

    # Output tokens at most.
    maxTokens: int

    # Estimated input tokens.
    estimatedTokens: int


@final
class SummaryRequestReport(TypedDict):
    """How the summary of a compaction was asked for, and what either way takes."""

    # What the summary is about.
    kind: RequestKind

    # How the model was asked that wrote it.
    mode: SummarizeMode

    # Input tokens that were read from the provider's cache, where the model told.
    cachedTokens: NotRequired[int | None]

    # What continuing the conversation takes, if the provider has all of it in its cache.
    continued: NotRequired[RequestEstimate | None]

    # What all requests for this summary cost at list prices, in US dollars; absent where the
    # model's usage or its
    # price is not known.
    cost: NotRequired[float | None]

    # Why the conversation was not continued, or why its summary was not taken.
    notContinued: NotRequired[NotContinued | None]

    # What asking by transcripts takes; absent if no transcript fits the model.
    transcript: NotRequired[RequestEstimate | None]


@final
class TokenTotals(TypedDict):
    """Totals of tokens."""

    # Input that came from no cache.
    input: int

    # Output.
    output: int

    # Input read from a cache.
    cacheRead: int

    # Input written to a cache.
    cacheWrite: int

    # All of it.
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

    # The start of its text, on one line.
    preview: str

    # When it was written, ISO 8601.
    timestamp: str

    # Entries that follow it, oldest first.
    children: list[str]

    # Its label.
    label: NotRequired[str | None]

    # Role of its message.
    role: NotRequired[str | None]


@final
class TreePreparation(TypedDict):
    """A navigation that would happen."""

    # The entry to go to.
    targetId: str

    # The leaf that would be left.
    oldLeafId: str | None

    # The deepest entry that both paths share.
    commonAncestorId: str | None

    # The entries that would be left, oldest first.
    entriesToSummarize: list[str]

    # Whether the caller asked for a summary.
    userWantsSummary: bool

    # What the summary should look at.
    customInstructions: NotRequired[str | None]

    # A label for the summary or the target.
    label: NotRequired[str | None]

    # Whether `customInstructions` stand in place of the usual ones.
    replaceInstructions: NotRequired[bool | None]


@final
class UndoCompactionParams(TypedDict):
    """Parameters of `undoCompaction`."""

    # The session.
    sessionId: str

    # A compaction on the current path; the last one by default.
    entryId: NotRequired[str | None]


@final
class UndoCompactionResult(TypedDict):
    """Result of `undoCompaction`."""

    # The leaf afterwards: the last copy, or the mark that keeps the move where nothing followed the
    # compaction.
    leafId: str

    # The leaf before.
    oldLeafId: str

    # The compaction that was undone.
    undoneEntryId: str

    # The entries that followed the compaction, oldest first, each with its copy.
    replayed: list[ReplayedEntry]


@final
class UpdateSettingsParams(TypedDict):
    """Parameters of `updateSettings`."""

    # Compacts that session by itself for this model from now on; null ends it.
    autoCompaction: NotRequired[AutoCompactionOptions | None]

    # The session that `autoCompaction` is about.
    sessionId: NotRequired[str | None]

    # Settings over all those in force: objects merge, other values replace.
    settings: NotRequired[FreeObject | None]


@final
class UpdateSettingsResult(TypedDict):
    """Result of `updateSettings`."""

    # The settings in force now.
    settings: FreeObject

    # Settings files that cannot be used as they are.
    diagnostics: list[str]


# Tokens and cost of a model call, as the session file stores them. Unknown members are carried
# through.
Usage: TypeAlias = dict[str, Any]


@final
class WindowModel(TypedDict):
    """A model of which only the window matters."""

    # Size of the window in tokens.
    contextWindow: int


# Codes of the errors by their kind.
ERROR_CODES: Final[dict[str, int]] = {
    # The message is not JSON; reading goes on at the next frame.
    "parseError": -32700,
    # The message is JSON, but no request, or it is over the size limit.
    "invalidRequest": -32600,
    # There is no such method.
    "methodNotFound": -32601,
    # A parameter is missing or wrong; `path` and `expected` say which and how.
    "invalidParams": -32602,
    # A defect of the server, an unreadable file, or a stored entry whose line is broken (`entryId`,
    # `line`); the server goes on.
    "internalError": -32603,
    # The first request must be `initialize`.
    "notInitialized": -32002,
    # The request was cancelled.
    "requestCancelled": -32800,
    # No open session has this id, or no session is at this path.
    "sessionNotFound": 1001,
    # The session has no entry with this id.
    "entryNotFound": 1002,
    # Another process has the session open for writing; `pid` and `host` say which, if known.
    "sessionLocked": 1003,
    # The file is no session; it was left untouched. `detail` says why.
    "notASession": 1004,
    # Writing failed, or the file exists; nothing was changed.
    "writeFailed": 1005,
    # The leaf is not the expected one; `expectedLeafId` and `leafId` say which. With `toolCallId`:
    # the result of a call that a compaction was to summarise came meanwhile.
    "leafMoved": 1006,
    # The session is open for reading alone.
    "readOnly": 1007,
    # Too many requests wait; send fewer at once.
    "serverBusy": 1008,
    # Another session has the same id; `path` says which, if it has a file.
    "sessionIdInUse": 1009,
    # Everything would be kept, also because the result of `toolCallId` has not come, or compacting
    # did not help; `reason` and the numbers say why.
    "nothingToCompact": 1101,
    # Nothing that the model sees follows the last compaction.
    "alreadyCompacted": 1102,
    # A compaction, navigation or fork runs on the session; `operationId` says which.
    "operationInProgress": 1103,
    # The summarizer failed: `cause`, `attempts`.
    "summarizerFailed": 1104,
    # The summary is empty, cut off, or lacks what it must hold: `detail`; or it is not smaller
    # (`reason` is `notSmaller`).
    "summaryRejected": 1105,
    # A hook of the client cancelled the operation.
    "cancelledByHook": 1106,
    # A hook of the client gave a wrong result.
    "invalidHookResult": 1107,
    # The pinned entries would take too many tokens; `tokens`, `entryTokens`, `maxTokens` and `pins`
    # say how many.
    "pinBudgetExceeded": 1108,
    # A setting is wrong; `path` says which.
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
