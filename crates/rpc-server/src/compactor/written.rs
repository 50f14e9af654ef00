//! A summary with what belongs to it: who wrote it, what it cost, what its entry's details hold.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::json::RawObject;
use compaction_core::ledger::remove_retained_facts;
use compaction_core::pins::remove_pinned_tags;
use compaction_core::preparation::{Preparation, PreparedMessage};
use compaction_core::prompts::{self, OutputLimits, PromptTexts};
use compaction_core::summary::{ShownFiles, append_file_blocks, join_split_turn, remove_file_blocks};
use compaction_core::tokens::estimate_text;
use serde_json::json;

use super::Order;
use super::account::{Account, WrittenLedger};
use super::plan::{Plan, of_hook};
use crate::call::blocking;
use crate::errors::RpcError;
use crate::handlers::compaction::prompt_texts;
use crate::operation::{self, SummaryOperation};
use crate::settings::Settings;
use crate::summarizers::{Collected, Redactions, RequestReport, SummaryJob, extractive};
use crate::wire::{GivenSummary, SummarizerFailure};

/// A summary that was written.
pub(super) struct Written {
    pub(super) summary: String,
    pub(super) details: String,
    pub(super) usage: Option<String>,
    pub(super) summarizer: String,
    pub(super) failures: Vec<SummarizerFailure>,
    /// How models were asked.
    pub(super) requests: Vec<RequestReport>,
    pub(super) redactions: Redactions,
    pub(super) attempts: u32,
    pub(super) from_hook: bool,
    /// Whether a client or a hook gave it, so that it is kept as it is.
    pub(super) is_given: bool,
    /// What was kept of what was compacted away.
    pub(super) account: Account,
}

impl Written {
    /// The summary of a hook, or else the one that the client gave with the call.
    pub(super) fn as_given(by_hook: Option<&GivenSummary>, plan: &Plan, order: &Order) -> Result<Self, RpcError> {
        let no_summary = || RpcError::Internal { message: "no summary was given".to_owned() };
        match by_hook {
            Some(given) => Self::by_hook(given, plan, order),
            None => Self::by_client(order.summary.as_ref().ok_or_else(no_summary)?, plan, order),
        }
    }

    /// A hook's words are kept as they are, like a client's; readers of the format know them by
    /// `fromHook`.
    fn by_hook(given: &GivenSummary, plan: &Plan, order: &Order) -> Result<Self, RpcError> {
        let written = Self::given_by("hook", given, plan, order).map_err(of_hook)?;
        Ok(Self { from_hook: true, ..written })
    }

    /// A client's own words are kept as they are; the lists of files are added to the details
    /// alone, where the next compaction finds them.
    fn by_client(given: &GivenSummary, plan: &Plan, order: &Order) -> Result<Self, RpcError> {
        Self::given_by("client", given, plan, order)
    }

    fn given_by(name: &str, given: &GivenSummary, plan: &Plan, order: &Order) -> Result<Self, RpcError> {
        let told = plan.told(order);
        let files = &told.preparation.file_operations;
        let account = Account::of_given(&told.part(order), &given.summary);
        let own = own_details(order, name, &Redactions::new(), &account);
        Ok(Self {
            summary: given.summary.clone(),
            details: operation::details(files, &own, given.details.as_ref(), "summary.details")?,
            usage: operation::usage(given.usage.as_ref()),
            summarizer: name.to_owned(),
            failures: Vec::new(),
            requests: Vec::new(),
            redactions: Redactions::new(),
            attempts: 0,
            from_hook: false,
            is_given: true,
            account,
        })
    }

    pub(super) async fn by_summarizer(
        operation: &SummaryOperation,
        plan: &Arc<Plan>,
        order: &Arc<Order>,
    ) -> Result<Self, RpcError> {
        let told = {
            let (plan, order) = (Arc::clone(plan), Arc::clone(order));
            let redacting = blocking(move || Ok(Arc::new(plan.told(&order))));
            operation.unless_cancelled(redacting).await?
        };
        let preparation = &told.preparation;
        let texts = Arc::new(prompt_texts(&order.settings));
        let mut jobs = jobs(preparation, order.custom_instructions.as_deref(), &texts, &order.settings);
        for job in &mut jobs {
            job.conversation = plan.conversation(end_of(job.kind, preparation));
        }
        let collected = Arc::new(Collected::new(Arc::clone(preparation)));
        if let Some(job) = jobs.first_mut().filter(|job| rests_on_all(job, preparation)) {
            job.collected = Some(Arc::clone(&collected));
        }
        // What the account needs is collected and written down while the summary is made.
        let writing_down = async {
            let (ledger, order) = (collected.ledgers().await?.evicted, Arc::clone(order));
            blocking(move || Ok(WrittenLedger::of(ledger, &order))).await
        };
        let (written, ledger) = tokio::try_join!(operation.summarize(&jobs), writing_down)?;
        let failed: u32 = written.failures.iter().map(|failure| failure.attempts).sum();
        let attempts = written.summaries.iter().map(|summary| summary.attempts).sum::<u32>() + failed;
        let requests = written.summaries.iter().filter_map(|summary| summary.request.clone()).collect();
        let usages = written.summaries.iter().map(|summary| summary.usage.clone());
        let usage = usages.fold(written.failed_usage, operation::sum_usage);
        let mut redactions = told.redactions.clone();
        operation::add_redactions(&mut redactions, &written.summaries);
        let mut texts = written.summaries.into_iter().map(|summary| summary.text);
        let history = if preparation.messages_to_summarize.is_empty() { None } else { texts.next() };
        let summary = match texts.next() {
            Some(prefix) => join_split_turn(history.as_deref().or(preparation.previous_summary.as_deref()), &prefix),
            None => history.unwrap_or_default(),
        };
        // Blocks that a model wrote itself would be taken for ours.
        let summary = remove_pinned_tags(&remove_retained_facts(&remove_file_blocks(&summary))).into_owned();
        operation::checked(&summary)?;
        let (account, summary) = {
            let (told, order) = (Arc::clone(&told), Arc::clone(order));
            let is_own = written.summarizer == extractive::NAME;
            let redactor = order.settings.redaction().redactor();
            let completing = blocking(move || {
                let part = told.part(&order);
                Ok(Account::complete(&part, ledger, &summary, is_own, redactor.as_deref()))
            });
            operation.unless_cancelled(completing).await?
        };
        let files = &preparation.file_operations;
        let own = own_details(order, &written.summarizer, &redactions, &account);
        Ok(Self {
            summary,
            details: operation::details(files, &own, None, "details")?,
            usage: usage.map(|usage| usage.to_string()),
            summarizer: written.summarizer,
            failures: written.failures,
            requests,
            redactions,
            attempts,
            from_hook: false,
            is_given: false,
            account,
        })
    }
}

/// What `details.compactd` holds of a compaction: why, who wrote it, and the ledger.
fn own_details(order: &Order, summarizer: &str, redactions: &Redactions, account: &Account) -> String {
    let mut own = RawObject::default();
    own.set("reason", json!(order.reason).to_string());
    own.set("summarizer", json!(summarizer).to_string());
    if !redactions.is_empty() {
        own.set("redactions", json!(redactions).to_string());
    }
    own.set("ledger", account.stored_ledger().to_owned());
    own.to_json()
}

/// The first entry that a summary of this kind does not tell of.
fn end_of(kind: prompts::RequestKind, preparation: &Preparation) -> &EntryId {
    let turn = preparation.turn_prefix_messages.first().filter(|_| kind == prompts::RequestKind::History);
    turn.map_or(&preparation.first_kept_entry_id, |prepared| &prepared.entry_id)
}

/// Whether a job rests on all that was before, as the ledgers of the whole preparation do: the beginning of a
/// turn alone does not, nor does a summary that was read for want of a ledger, without its facts.
fn rests_on_all(job: &SummaryJob, preparation: &Preparation) -> bool {
    job.previous_ledger.is_some() || job.previous_summary == preparation.previous_summary
}

/// The summaries to write: of the history, if there is new one, and of the turn's first part.
pub(crate) fn jobs(
    preparation: &Preparation,
    custom_instructions: Option<&str>,
    texts: &Arc<PromptTexts>,
    settings: &Settings,
) -> Vec<SummaryJob> {
    let limits = OutputLimits { reserve_tokens: preparation.settings.reserve_tokens, model_max_tokens: None };
    let previous_ledger = preparation.previous_ledger().map(Arc::new);
    let (has_history, has_prefix) =
        (!preparation.messages_to_summarize.is_empty(), !preparation.turn_prefix_messages.is_empty());
    let room = local_room(preparation, limits.max_tokens(prompts::RequestKind::History));
    let room = if has_prefix { room.saturating_sub(JOINT_TOKENS) } else { room };
    let prefix_room = if has_history { room / PREFIX_PART } else { room };
    let job = |kind, prepared: &[PreparedMessage], is_history: bool| SummaryJob {
        local_tokens: match (is_history, has_prefix) {
            (true, true) => room - prefix_room,
            (true, false) => room,
            (false, _) => prefix_room,
        },
        kind,
        messages: prepared.to_vec(),
        previous_summary: preparation.previous_summary.as_deref().filter(|_| is_history).map(without_facts),
        previous_ledger: previous_ledger.clone().filter(|_| is_history),
        file_tools: preparation.file_tools.clone(),
        citations: settings.citations(),
        custom_instructions: custom_instructions.map(str::to_owned),
        replace_instructions: false,
        texts: Arc::clone(texts),
        limits,
        thinking: settings.thinking(),
        collected: None,
        conversation: None,
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

/// Tokens of what joins the context of a split turn to a history.
const JOINT_TOKENS: u64 = 32;
/// Part of a whole summary that the beginning of a split turn may take where a history stands before it.
const PREFIX_PART: u64 = 4;

/// Tokens that the text of a summary without a model may take, so that it stays within `whole` with the
/// lists of files behind it.
fn local_room(preparation: &Preparation, whole: u64) -> u64 {
    let files = preparation.file_operations.lists();
    let blocks = estimate_text(&append_file_blocks("", &files.read_files, &files.modified_files));
    // Rounding of two estimates is one token.
    whole.saturating_sub(blocks.min(ShownFiles::most_tokens(preparation.settings.reserve_tokens)) + 1)
}

/// A summary without the facts that were brought back: those are in the ledger.
fn without_facts(summary: &str) -> String {
    remove_retained_facts(summary).into_owned()
}
