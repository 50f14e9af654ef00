//! The summary of a compaction: how it is written, and the account of what it lacks (docs/ledger.md).

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::extractive::{MINIMUM_TOKENS, Style, Turn, render};
use compaction_core::json::RawObject;
use compaction_core::ledger::{Brief, Check, FalseClaims, Ledger, LossReport, Retention, remove_retained_facts};
use compaction_core::pins::remove_made_up_pins;
use compaction_core::preparation::{Preparation, PreparedMessage};
use compaction_core::prompts::{OutputLimits, PromptTexts};
use compaction_core::summary::{
    ShownFiles, SummaryKind, append_file_blocks, append_shown_files, join_split_turn, remove_file_blocks,
};
use compaction_core::tokens::estimate_text;
use compaction_core::{ledger, prompts};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Order;
use super::plan::{CutSizes, Plan, RedactedPlan, of_hook};
use crate::error::{EngineError, SummarizerFailure};
use crate::host::{CompactionAccount, GivenSummary};
use crate::models::RequestReport;
use crate::redaction::{Redactions, Redactor, add_counts};
use crate::settings::Settings;
use crate::structural_operation;
use crate::structural_operation::SummaryOperation;
use crate::summarizers::{EXTRACTIVE, LedgerCache, SummaryJob};
use crate::threads::{blocking, both};

/// A finished summary.
pub(super) struct Written {
    pub(super) summary: String,
    pub(super) details: String,
    pub(super) usage: Option<String>,
    pub(super) summarizer: String,
    pub(super) failures: Vec<SummarizerFailure>,
    /// The requests to models.
    pub(super) requests: Vec<RequestReport>,
    pub(super) redactions: Redactions,
    pub(super) attempts: u32,
    pub(super) from_hook: bool,
    /// Whether a caller or a hook gave it. A given text is stored unchanged.
    pub(super) is_given: bool,
    /// What the summary retains of the removed part.
    pub(super) account: Account,
}

impl Written {
    /// The summary of a hook, or else the caller's. Its text is stored unchanged; the lists of files go only into the
    /// details, where the next compaction finds them.
    pub(super) fn as_given(
        by_hook: Option<&GivenSummary>,
        plan: &Plan,
        order: &Arc<Order>,
        cancel: &CancellationToken,
    ) -> Result<Self, EngineError> {
        match (by_hook, &order.summary) {
            (Some(given), _) => {
                let checked = given.text.check();
                checked.and_then(|()| Self::given_by("hook", given, plan, order, cancel)).map_err(of_hook)
            }
            (None, Some(given)) => Self::given_by("client", given, plan, order, cancel),
            (None, None) => Err(EngineError::internal("no summary was given")),
        }
    }

    fn given_by(
        name: &str,
        given: &GivenSummary,
        plan: &Plan,
        order: &Arc<Order>,
        cancel: &CancellationToken,
    ) -> Result<Self, EngineError> {
        let redacted = plan.redacted(order, false, cancel)?;
        let files = &redacted.preparation.file_operations;
        let given = &given.text;
        let account = Account::of_given(&redacted, &given.summary);
        let own = own_details(order, name, &Redactions::new(), &account);
        Ok(Self {
            summary: given.summary.clone(),
            details: given.details(files, &own)?,
            usage: given.usage(),
            summarizer: name.to_owned(),
            failures: Vec::new(),
            requests: Vec::new(),
            redactions: Redactions::new(),
            attempts: 0,
            from_hook: name == "hook",
            is_given: true,
            account,
        })
    }

    pub(super) async fn by_summarizer(
        operation: &SummaryOperation,
        plan: &Arc<Plan>,
        order: &Arc<Order>,
    ) -> Result<Self, EngineError> {
        let is_local = operation.chain.first().is_some_and(|first| first.name() == EXTRACTIVE);
        // Most conversations have no secrets. Then the ledger of the plan is the one of the redacted plan, and an extractive
        // summary, which waits for it, need not wait for the redaction before.
        let early = is_local.then(|| {
            let plan = Arc::clone(plan);
            tokio::spawn(blocking(move || Ok(plan.preparation.ledgers())))
        });
        let redacted = {
            let (plan, order, cancel) = (Arc::clone(plan), Arc::clone(order), operation.guard.cancel.clone());
            let redacting = blocking(move || Ok(Arc::new(plan.redacted(&order, is_local, &cancel)?)));
            operation.unless_cancelled(redacting).await?
        };
        let early = early.filter(|_| has_same_ledgers(&redacted.preparation, &plan.preparation));
        let early = match early {
            Some(collecting) => operation.unless_cancelled(async { Ok(collecting.await) }).await?.ok().transpose()?,
            None => None,
        };
        let preparation = &redacted.preparation;
        let texts = Arc::new(prompt_texts(&order.settings));
        let most = redacted.most_text_tokens();
        let mut jobs = jobs(preparation, redacted.custom_instructions.as_deref(), &texts, &order.settings, most);
        for job in &mut jobs {
            job.redactor = redacted.redactor.clone();
            job.conversation = plan.conversation(end_of(job.kind, preparation));
        }
        let collected = Arc::new(LedgerCache::new(Arc::clone(preparation), early));
        if jobs.first().is_some_and(|job| rests_on_all(job, preparation)) {
            jobs.iter_mut().for_each(|job| job.ledgers = Some(Arc::clone(&collected)));
        }
        // The ledger for the account is collected and serialised while a model writes. Beside an extractive summary it
        // is serialised once the summary is known, because it need not repeat the statements there.
        let storing_ledger = async {
            if is_local {
                return Ok((collected.ledgers().await?.evicted, None));
            }
            // The ledger of the history alone is only for extractive summaries.
            let (preparation, order) = (Arc::clone(preparation), Arc::clone(order));
            let storing = move || {
                let ledger = Arc::new(preparation.ledger());
                let stored = stored(&ledger, &order);
                Ok((ledger, Some(stored)))
            };
            blocking(storing).await
        };
        let (written, (ledger, stored)) = tokio::try_join!(operation.summarize(&jobs), storing_ledger)?;
        let mut redactions = redacted.redactions.clone();
        add_counts(&mut redactions, &written.redactions);
        let mut texts = written.texts.into_iter();
        let history = if preparation.messages_to_summarize.is_empty() { None } else { texts.next() };
        let summary = match (history, texts.next()) {
            (Some(history), Some(prefix)) => join_split_turn(Some(&history), &prefix),
            (None, Some(prefix)) if written.summarizer == EXTRACTIVE => {
                let (redacted, ledger) = (Arc::clone(&redacted), Arc::clone(&ledger));
                let joining =
                    blocking(move || Ok(after_previous(&redacted.preparation, &ledger, &prefix, redacted.style())));
                operation.unless_cancelled(joining).await?
            }
            (None, Some(prefix)) => join_split_turn(preparation.previous_summary.as_deref(), &prefix),
            (history, None) => history.unwrap_or_default(),
        };
        // Blocks that the model wrote itself would be mistaken for ours.
        let summary = remove_made_up_pins(&remove_retained_facts(&remove_file_blocks(&summary))).into_owned();
        structural_operation::checked(&summary)?;
        let (account, summary) = {
            let (redacted, is_own) = (Arc::clone(&redacted), written.summarizer == EXTRACTIVE);
            let completing = blocking(move || Ok(Account::complete(&redacted, (ledger, stored), &summary, is_own)));
            operation.unless_cancelled(completing).await?
        };
        let files = &preparation.file_operations;
        let own = own_details(order, &written.summarizer, &redactions, &account);
        Ok(Self {
            summary,
            details: structural_operation::details(files, &own, None)?,
            usage: written.usage,
            summarizer: written.summarizer,
            failures: written.failures,
            requests: written.requests,
            redactions,
            attempts: written.attempts,
            from_hook: false,
            is_given: false,
            account,
        })
    }
}

/// The member `details.compactd` of a compaction: its reason, the summarizer, and the ledger.
fn own_details(order: &Order, summarizer: &str, redactions: &Redactions, account: &Account) -> String {
    let mut own = RawObject::default();
    own.set("reason", json!(order.reason.name()).to_string());
    own.set("summarizer", json!(summarizer).to_string());
    if !redactions.is_empty() {
        own.set("redactions", json!(redactions).to_string());
    }
    own.set("ledger", account.stored.as_str());
    own.to_json()
}

/// Whether two preparations have the same ledgers. One was made from the other.
fn has_same_ledgers(one: &Preparation, other: &Preparation) -> bool {
    one.evicted().zip(other.evicted()).all(|(one, other)| Arc::ptr_eq(&one.message, &other.message))
        && one.previous_summary == other.previous_summary
        && one.previous_details.as_ref().map(|details| details.get())
            == other.previous_details.as_ref().map(|details| details.get())
}

/// The first entry that a summary of this kind does not cover.
fn end_of(kind: prompts::RequestKind, preparation: &Preparation) -> &EntryId {
    let turn = preparation.turn_prefix_messages.first().filter(|_| kind == prompts::RequestKind::History);
    turn.map_or(&preparation.first_kept_entry_id, |prepared| &prepared.entry_id)
}

/// Whether a job covers everything before it, as the ledgers of the whole preparation do. The beginning of a turn does
/// not, nor does an earlier summary that is parsed without its ledger.
fn rests_on_all(job: &SummaryJob, preparation: &Preparation) -> bool {
    job.previous_ledger.is_some() || job.previous_summary == preparation.previous_summary
}

/// The summaries to write: of the history, if it has new messages, and of the first part of a split turn. Those that no
/// model writes may take `most` tokens together.
pub(super) fn jobs(
    preparation: &Preparation,
    custom_instructions: Option<&str>,
    texts: &Arc<PromptTexts>,
    settings: &Settings,
    most: u64,
) -> Vec<SummaryJob> {
    let limits = OutputLimits { reserve_tokens: preparation.settings.reserve_tokens, model_max_tokens: None };
    let previous_ledger = preparation.previous_ledger().map(Arc::new);
    let has_history = !preparation.messages_to_summarize.is_empty();
    let has_prefix = !preparation.turn_prefix_messages.is_empty() && (!has_history || preparation.turn_says_anything());
    let room = text_room(preparation, most, has_prefix);
    // Without new messages, the previous summary is used again for the history. It is written again if it is too long.
    let repeated = preparation.previous_summary.as_deref().filter(|_| !has_history).map_or(0, estimate_text);
    let prefix_room = match &previous_ledger {
        None if !has_history => room.min(most.saturating_sub(repeated)),
        ledger => {
            let share = prefix_room(preparation, room, ledger.as_deref());
            if has_history { share } else { room.saturating_sub(repeated).max(share) }
        }
    };
    let job = |kind, prepared: &[PreparedMessage], is_history: bool| SummaryJob {
        local_tokens: match (is_history, has_prefix) {
            (true, true) => room - prefix_room,
            (true, false) => room,
            (false, _) => prefix_room,
        },
        kind,
        messages: prepared.to_vec(),
        previous_summary: preparation
            .previous_summary
            .as_deref()
            .filter(|_| is_history)
            .map(|summary| remove_retained_facts(summary).into_owned()),
        previous_ledger: previous_ledger.clone().filter(|_| is_history),
        file_tools: preparation.file_tools.clone(),
        citations: settings.citations(),
        turn: if is_history { preparation.turn_prefix_messages.clone() } else { Vec::new() },
        custom_instructions: custom_instructions.map(str::to_owned),
        replace_instructions: false,
        texts: Arc::clone(texts),
        limits,
        thinking: settings.thinking(),
        ledgers: None,
        conversation: None,
        redactor: None,
    };
    let mut jobs = Vec::new();
    if has_history {
        jobs.push(job(prompts::RequestKind::History, &preparation.messages_to_summarize, true));
    }
    if has_prefix {
        jobs.push(job(prompts::RequestKind::TurnPrefix, &preparation.turn_prefix_messages, false));
    }
    jobs
}

/// Tokens of the text between the history and the context of a split turn.
const JOINT_TOKENS: u64 = 32;
/// Minimum and maximum percentage of the summary for the first part of a split turn, if a history comes before it.
const PREFIX_PERCENT: (u64, u64) = (25, 60);
/// Percentage of the summary in which a short history states what a split turn leaves.
const STATE_PERCENT: u64 = 25;

/// Tokens of `room` for the first part of a split turn, by its share of words and calls. Results of tools do not count,
/// because a short result may matter more than a long one. What earlier compactions replaced counts as messages of
/// usual size. Room that a short history cannot use goes to the turn.
fn prefix_room(preparation: &Preparation, room: u64, previous: Option<&Ledger>) -> u64 {
    let said = |prepared: &[PreparedMessage]| -> u64 {
        let messages = prepared.iter().map(|prepared| &prepared.message);
        messages.filter(|message| message.answered_call_id().is_none()).map(|message| message.tokens()).sum()
    };
    let prefix = said(&preparation.turn_prefix_messages);
    let new = prefix + said(&preparation.messages_to_summarize);
    let count = preparation.evicted().count() as u64;
    let earlier = (new / count.max(1)).saturating_mul(previous.map_or(0, |ledger| ledger.messages));
    let percent = prefix.saturating_mul(100) / new.saturating_add(earlier).max(1);
    let share = room.saturating_mul(percent.clamp(PREFIX_PERCENT.0, PREFIX_PERCENT.1)) / 100;
    let history: u64 = preparation.messages_to_summarize.iter().map(|prepared| prepared.message.tokens()).sum();
    let history = history.saturating_add(preparation.previous_summary.as_deref().map_or(0, estimate_text));
    let usable = history / 2 + room.saturating_mul(STATE_PERCENT) / 100;
    share.max(room.saturating_sub(usable.max(MINIMUM_TOKENS)))
}

/// The summary of a split turn when nothing before the turn is new: the previous summary and `prefix`, the extractive
/// summary of the turn. A previous summary that leaves too little room is written again from its ledger. `ledger` is
/// the one of all replaced messages.
fn after_previous(preparation: &Preparation, ledger: &Ledger, prefix: &str, style: Style<'_>) -> String {
    let room = text_room(preparation, style.max_tokens, true).saturating_sub(estimate_text(prefix));
    let previous = preparation.previous_summary.as_deref();
    let is_long = previous.is_some_and(|previous| estimate_text(&remove_file_blocks(previous)) > room);
    let previous_ledger = if is_long { preparation.previous_ledger() } else { None };
    let Some(previous_ledger) = previous_ledger else { return join_split_turn(previous, prefix) };
    let turn = Turn::of(&preparation.turn_prefix_messages, &preparation.file_tools);
    let style = Style { max_tokens: room, turn: turn.as_ref(), with_turn: Some(ledger), ..style };
    join_split_turn(Some(&render(&previous_ledger, SummaryKind::History, &style)), prefix)
}

/// Tokens of the texts that no model writes, of which a split turn has two. `most` is their largest
/// size in any case.
fn text_room(preparation: &Preparation, most: u64, has_prefix: bool) -> u64 {
    let limits = OutputLimits { reserve_tokens: preparation.settings.reserve_tokens, model_max_tokens: None };
    let room = local_room(preparation, limits.max_tokens(prompts::RequestKind::History)).min(most);
    if has_prefix { room.saturating_sub(JOINT_TOKENS) } else { room }
}

/// Tokens for the text of an extractive summary, so that it stays within `whole` together with its file lists.
fn local_room(preparation: &Preparation, whole: u64) -> u64 {
    let files = preparation.file_operations.lists();
    let blocks = estimate_text(&append_file_blocks("", &files.read_files, &files.modified_files));
    // Rounding two estimates may add one token.
    whole.saturating_sub(blocks.min(ShownFiles::most_tokens(preparation.settings.reserve_tokens)) + 1)
}

/// The prompts, with the replacements of the settings.
pub(crate) fn prompt_texts(settings: &Settings) -> PromptTexts {
    let mut texts = PromptTexts::default();
    for (name, text) in [
        ("system", &mut texts.system),
        ("history", &mut texts.first),
        ("update", &mut texts.update),
        ("turnPrefix", &mut texts.turn_prefix),
        ("branch", &mut texts.branch),
        ("continued", &mut texts.continued),
        ("beforeTurn", &mut texts.before_turn),
        ("inConversation", &mut texts.in_conversation),
        ("inTurn", &mut texts.in_turn),
    ] {
        if let Some(replacement) = settings.prompt(name) {
            *text = replacement.to_owned();
        }
    }
    texts
}

/// A summary with fewer tokens is short. All missing facts may fill it up to this number, but take at most a tenth of
/// what it replaces.
const SHORT_SUMMARY: u64 = 1000;

/// The account of a summary: what it retains of the removed part, and what it lacks.
pub(super) struct Account {
    /// The ledger of the removed part, and its stored form.
    ledger: Arc<Ledger>,
    stored: String,
    loss: LossReport,
    /// What the context retains after the repair.
    retention: Retention,
    /// Number of removed messages, and their estimated tokens.
    messages: usize,
    tokens: u64,
}

/// Serialises a ledger within the bytes that the settings allow. This takes milliseconds.
fn stored(ledger: &Ledger, order: &Order) -> String {
    ledger.to_json(order.settings.ledger_bytes())
}

impl Account {
    /// The account of a given summary, which is stored unchanged.
    pub(super) fn of_given(plan: &RedactedPlan, summary: &str) -> Self {
        let ledger = Arc::new(plan.preparation.ledger());
        let (stored, loss) = both(|| stored(&ledger, &plan.order), || plan.loss(&ledger, summary));
        Self::new(plan, (ledger, stored), loss)
    }

    /// Completes a summary and returns its account. Facts that `text` lacks are added as far as the settings allow,
    /// and file lists as far as they stay short. Where the window is known, both fit under its threshold.
    ///
    /// The plan and its facts contain no secrets; joined texts are redacted once more. A text that was made from the
    /// ledger itself (`is_own`) lacks only what had no room, and gets no facts. `serialised` is the stored form of the
    /// ledger, if it exists already.
    pub(super) fn complete(
        plan: &RedactedPlan,
        (ledger, serialised): (Arc<Ledger>, Option<String>),
        text: &str,
        is_own: bool,
    ) -> (Self, String) {
        let files = ledger.without_deleted(plan.preparation.file_operations.lists());
        let shown = ShownFiles::in_tokens(&files, &ledger.last_touched(), plan.room_for_files(text));
        let with_files = |text: &str| append_shown_files(text, &shown);
        let whole = with_files(text);
        if is_own {
            let storing = || ledger.to_json_beside(&whole, plan.order.settings.ledger_bytes());
            let (stored, loss) = both(storing, || plan.loss(&ledger, &whole));
            return (Self::new(plan, (ledger, stored), loss), whole);
        }
        let loss = plan.loss(&ledger, &whole);
        let most = plan.order.settings.repair_tokens();
        let short_of = SHORT_SUMMARY.saturating_sub(text_length(text));
        let most = most.map(|most| most.min((estimate_text(text) / 11).max(short_of)));
        let budget = most.map(|most| most.min(plan.room_for_facts(text, &whole)));
        let filling = short_of.min(plan.replaced_tokens() / 10);
        let repair = budget.and_then(|budget| loss.repair(budget, filling));
        let stored = serialised.unwrap_or_else(|| stored(&ledger, &plan.order));
        let mut account = Self::new(plan, (ledger, stored), loss);
        let Some(repair) = repair else { return (account, whole) };
        let redactor = plan.redactor.as_deref();
        let block = redactor.map_or_else(|| repair.block.clone(), |redactor| redacted(&repair.block, redactor));
        let summary = with_files(&format!("{}\n\n{block}", text.trim_end()));
        let is_whole = block == repair.block;
        account.retention = if is_whole { repair.retention } else { plan.loss(&account.ledger, &summary).retention };
        (account, summary)
    }

    fn new(plan: &RedactedPlan, (ledger, stored): (Arc<Ledger>, String), loss: LossReport) -> Self {
        Self {
            retention: loss.retention,
            messages: plan.preparation.evicted().count(),
            tokens: plan.preparation.evicted().map(|prepared| prepared.message.tokens()).sum(),
            ledger,
            stored,
            loss,
        }
    }

    /// The account for the host.
    pub(super) fn report(&self, summary: &str) -> CompactionAccount {
        let brief = ledger::brief(&Brief {
            messages: self.messages,
            tokens_before: self.tokens,
            tokens_after: estimate_text(summary),
            ledger: &self.ledger,
        });
        CompactionAccount { brief, retention: self.retention, loss: self.loss.clone() }
    }
}

/// The length of a text in tokens, by its bytes: Chinese says as much as English in a third of the characters.
fn text_length(text: &str) -> u64 {
    text.len() as u64 / 4
}

/// A block without secrets. Lines are redacted one by one, because a secret that was cut off would take the end of
/// the block with it.
fn redacted(block: &str, redactor: &Redactor) -> String {
    let lines: Vec<_> = block.lines().map(|line| redactor.redact(line).text).collect();
    lines.join("\n")
}

impl RedactedPlan {
    /// Maximum tokens of a text that no model writes, so that it is smaller than what it replaces together with the
    /// pinned entries, which are added to it as they are.
    fn most_text_tokens(&self) -> u64 {
        let CutSizes { replaced, pinned, .. } = self.cut_sizes;
        replaced.map_or(u64::MAX, |replaced| replaced.saturating_sub(pinned.saturating_add(1)))
    }

    /// How extractive summaries are written.
    fn style(&self) -> Style<'_> {
        Style {
            custom_instructions: self.custom_instructions.as_deref(),
            max_tokens: self.most_text_tokens(),
            citations: self.order.settings.citations(),
            turn: None,
            with_turn: None,
        }
    }

    /// Maximum tokens of file lists and facts together: half of the room under a known threshold. Otherwise the next
    /// compaction would be due at once.
    fn room_beside(&self, text: &str) -> u64 {
        let room = |threshold| self.cut_sizes.room_under(threshold, estimate_text(text)) / 2;
        self.order.threshold.map_or(u64::MAX, room)
    }

    /// Maximum tokens of file lists: half of the room, and few enough that they do not get the summary rejected.
    fn room_for_files(&self, text: &str) -> u64 {
        let taken = estimate_text(text).saturating_add(self.cut_sizes.pinned);
        let largest = self.order.largest_summary(self.cut_sizes.replaced).unwrap_or(u64::MAX);
        ShownFiles::most_tokens(self.preparation.settings.reserve_tokens)
            .min(largest.saturating_sub(taken))
            .min(self.room_beside(text) / 2)
    }

    /// Tokens of the messages that the summary replaces, and of the summary before.
    fn replaced_tokens(&self) -> u64 {
        let evicted: u64 = self.preparation.evicted().map(|prepared| prepared.message.tokens()).sum();
        evicted + self.preparation.previous_summary.as_deref().map_or(0, estimate_text)
    }

    /// Maximum tokens of facts besides the files. The summary must stay clearly smaller than what it replaces.
    fn room_for_facts(&self, text: &str, with_files: &str) -> u64 {
        let taken = estimate_text(with_files);
        let clearly_smaller = self.cut_sizes.gain().map_or(u64::MAX, |gain| gain - gain / 4).saturating_sub(taken);
        let files = taken.saturating_sub(estimate_text(text));
        clearly_smaller.min(self.room_beside(text).saturating_sub(files))
    }

    fn loss(&self, ledger: &Ledger, summary: &str) -> LossReport {
        let evicted: Vec<PreparedMessage> = self.preparation.evicted().cloned().collect();
        let check = Check {
            ledger,
            summary,
            evicted: &evicted,
            previous_summary: self.preparation.previous_summary.as_deref(),
            kept: &self.kept,
        };
        let (claims, lacking) = both(|| FalseClaims::of(&check), || LossReport::of_lacking(&check));
        lacking.with_claims(claims)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use compaction_core::json::raw_value;
    use compaction_core::message::Message;

    use super::*;

    fn said(text: &str, count: usize) -> Vec<PreparedMessage> {
        let message = Arc::new(Message::user_text(text, None));
        let said = PreparedMessage { entry_id: EntryId::new("00000001"), message };
        vec![said; count]
    }

    fn split(history: Vec<PreparedMessage>, turn: Vec<PreparedMessage>) -> Preparation {
        Preparation {
            first_kept_entry_id: EntryId::new("00000002"),
            messages_to_summarize: history,
            turn_prefix_messages: turn,
            is_split_turn: true,
            tokens_before: 0,
            previous_summary: None,
            previous_details: None,
            file_operations: Default::default(),
            file_tools: Default::default(),
            settings: Default::default(),
            leaf_id: EntryId::new("00000003"),
        }
    }

    #[test]
    fn a_turn_that_begins_with_surroundings_alone_has_no_summary() {
        let has_job = |turn: &str| {
            let preparation = split(said("Fix the parser.", 1), said(turn, 2));
            let jobs = jobs(&preparation, None, &Arc::default(), &Settings::default(), u64::MAX);
            jobs.iter().any(|job| job.kind == prompts::RequestKind::TurnPrefix)
        };
        assert!(!has_job("<environment_details>\nVisible files: a.rs\n</environment_details>"));
        for said in ["ok", "", "<environment_details>\na.rs\n</environment_details>\nNow the lexer."] {
            assert!(has_job(said), "{said}");
        }
    }

    #[test]
    fn a_previous_summary_that_leaves_no_room_is_written_again() {
        let answer = |n: usize| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"The parser of file {n} reads the header first."}}]}}"#
            )
        };
        let work = (0..400).map(|n| PreparedMessage {
            entry_id: EntryId::new("00000001"),
            message: Arc::new(Message::from_raw(raw_value(answer(n)).unwrap())),
        });
        let work: Vec<_> = said("Fix the parser of every file.", 1).into_iter().chain(work).collect();
        let mut preparation = split(Vec::new(), said("Now fix the lexer.", 3));
        preparation.settings.reserve_tokens = 2_000;
        let earlier = split(work, Vec::new());
        let ledger = earlier.ledger();
        let style =
            Style { max_tokens: u64::MAX, custom_instructions: None, citations: false, turn: None, with_turn: None };
        let previous = render(&ledger, SummaryKind::History, &Style { max_tokens: 1_500, ..style });
        assert!(estimate_text(&previous) > 1_200, "{}", estimate_text(&previous));
        let details = format!(r#"{{"compactd":{{"ledger":{}}}}}"#, ledger.to_json(ledger::STORED_BYTES));
        preparation.previous_details = Some(raw_value(details).unwrap());
        preparation.previous_summary = Some(previous.clone());
        let jobs = jobs(&preparation, None, &Arc::default(), &Settings::default(), u64::MAX);
        let [job] = jobs.as_slice() else { panic!("{jobs:?}") };
        assert!((300..1_600).contains(&job.local_tokens), "{}", job.local_tokens);
        let prefix = "word ".repeat(300);
        let whole = after_previous(&preparation, &preparation.ledger(), &prefix, style);
        assert!(estimate_text(&whole) <= 1_600, "{}", estimate_text(&whole));
        assert!(whole.contains("Fix the parser of every file.") && whole.ends_with(&prefix), "{whole}");
        preparation.settings.reserve_tokens = 20_000;
        let whole = after_previous(&preparation, &preparation.ledger(), &prefix, style);
        assert!(whole.starts_with(previous.trim_end()), "with enough room it is not changed: {whole}");
    }

    #[test]
    fn the_beginning_of_a_turn_gets_its_share_of_the_room() {
        let room = |history, turn, earlier: u64| {
            let [history, turn] = [history, turn].map(|count| said(&"word ".repeat(80), count));
            let previous_summary = (earlier > 0).then(|| "word ".repeat(1_600));
            let preparation = Preparation { previous_summary, ..split(history, turn) };
            let previous = format!("{{\"compactd\":{{\"ledger\":{{\"version\":1,\"messages\":{earlier}}}}}}}");
            let previous = Ledger::read(&previous).expect("the version is right");
            prefix_room(&preparation, 1_000, Some(&previous))
        };
        assert_eq!(room(12, 8, 0), 400);
        assert_eq!(room(20, 80, 0), 600);
        assert_eq!(room(6, 4, 0), 450, "the history can use half of its tokens, and the room for the state");
        assert_eq!(room(1, 40, 0), 700, "the history has room for the state, however short it is");
        assert_eq!(room(40, 1, 0), 250);
        assert_eq!(room(1, 4, 5), 400, "earlier compactions count as history");
        assert_eq!(room(1, 4, 1 << 60), 250);
    }
}
