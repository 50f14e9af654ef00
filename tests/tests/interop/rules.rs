//! Where we differ from the peer on purpose.

use std::collections::BTreeSet;

/// A difference on purpose. The comment of each says what the peer does, what we do, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rule {
    /// JavaScript rounds integers beyond 2^53; we keep the digits of 64-bit integers, since ids and
    /// sizes in arguments are useless when rounded. Ours is asked with rounded numbers.
    IntegersKeepTheirDigits,
    /// JavaScript moves integer-like keys to the front; ours stay in stored order, as the estimate
    /// is defined. Ours is asked with the keys moved.
    KeysStayInStoredOrder,
    /// JavaScript writes half a surrogate pair in arguments as six characters; for us it is U+FFFD,
    /// one unit as in any other text. The peer is asked with U+FFFD.
    HalfSurrogatesAreOneUnit,
    /// The peer fails on null content of custom messages and of a compaction's system message; null
    /// content counts as empty. The peer is asked with empty content.
    NullContentIsEmpty,
    /// The peer drops a line that breaks off, and with it all that came before it on the branch; we keep
    /// the entry's place as long as its header can be read (docs/session-format.md, "Diagnostics"). The
    /// peer is asked with an entry of no known type in that place.
    BrokenBodiesKeepTheirPlace,
    /// The peer looks at the last line alone; for us a compaction is the last word until something
    /// follows that a model sees (docs/preparation.md, "Refusals").
    CompactedIsDecidedByContext,
    /// The peer cuts before any message that is no tool result; we never part a call from its
    /// result (docs/cut-points.md, "Candidates").
    CutsPartNoPair,
    /// The peer summarises calls that wait for their results, which are orphans then; we cut before
    /// them (docs/cut-points.md, "Pending calls").
    CutsKeepWaitingCalls,
    /// The peer forgets the files of branch summaries in the span; we list them.
    BranchSummariesNameFiles,
    /// The peer tells all entries of a branch that is left, and the summary of a compaction among
    /// them as well; we tell what the model saw of them at the end.
    BranchesAreReadAsTheyWereSeen,
    /// The peer fails on a branch that holds a message with null content; null content counts as empty.
    /// The peer is asked with the empty content that it shows in contexts.
    BranchesMayHoldNullContent,
    /// The peer lists the files of those entries of a branch that it looks at until its room is
    /// full, none that a compaction among them lists, and none of the calls that a tool made; we list all.
    BranchFilesComeFromAllEntries,
    /// The peer takes whatever the lists of files hold; we take strings (docs/preparation.md, "File operations").
    FileListsHoldStrings,
    /// The peer's `[... N more characters truncated]` is `[N more characters]`.
    CutResultsSaySo,
    /// Where a surrogate pair lies over the border, the peer cuts before it and counts from behind its
    /// first half; we count all that is left out.
    CutResultsCountWholeCharacters,
    /// Exit code, cancellation and path of a command are worded otherwise.
    CommandsAreWordedOtherwise,
    /// The introduction of a compaction's summary is our own.
    CompactionSummariesAreIntroducedOtherwise,
    /// The introduction of a branch summary is our own, and its closing tag is on its own line.
    BranchSummariesAreIntroducedOtherwise,
    /// A summary that holds the closing tag ends the peer's `<summary>` early; ours says `<\/summary`.
    SummariesCannotEndTheirTags,
    /// The peer leaves system messages in the list that goes to a model; `llm` has none.
    ModelsGetNoSystemMessages,
    /// The peer sends tool results whose calls are gone; `llm` leaves them out (docs/projection.md,
    /// "Messages for a model").
    ModelsGetNoOrphanResults,
    /// The peer leaves failed and aborted answers to the code that sends the list; `llm` is ready to be sent.
    ModelsGetNoFailedAnswers,
    /// So it does with results that stand elsewhere or never came; in `llm` each stands behind its call.
    ModelsGetResultsBehindTheirCalls,
}

impl Rule {
    pub(crate) const ALL: [Rule; 23] = [
        Rule::IntegersKeepTheirDigits,
        Rule::KeysStayInStoredOrder,
        Rule::HalfSurrogatesAreOneUnit,
        Rule::NullContentIsEmpty,
        Rule::BrokenBodiesKeepTheirPlace,
        Rule::CompactedIsDecidedByContext,
        Rule::CutsPartNoPair,
        Rule::CutsKeepWaitingCalls,
        Rule::BranchSummariesNameFiles,
        Rule::BranchesAreReadAsTheyWereSeen,
        Rule::BranchesMayHoldNullContent,
        Rule::BranchFilesComeFromAllEntries,
        Rule::FileListsHoldStrings,
        Rule::CutResultsSaySo,
        Rule::CutResultsCountWholeCharacters,
        Rule::CommandsAreWordedOtherwise,
        Rule::CompactionSummariesAreIntroducedOtherwise,
        Rule::BranchSummariesAreIntroducedOtherwise,
        Rule::SummariesCannotEndTheirTags,
        Rule::ModelsGetNoSystemMessages,
        Rule::ModelsGetNoOrphanResults,
        Rule::ModelsGetNoFailedAnswers,
        Rule::ModelsGetResultsBehindTheirCalls,
    ];
}

/// The rules that made a difference so far.
pub(crate) type Seen = BTreeSet<Rule>;
