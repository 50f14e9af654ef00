//! A navigation from the call to its entries (docs/summaries.md, "Branch summaries").
//!
//! The host gets a start event if a summary is written or the caller does not wait, and then exactly one end event.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use compaction_core::entry::{Entry, EntryBody, EntryId, EntryKind};
use compaction_core::file_operations::FileTools;
use compaction_core::json::{RawObject, encode_string};
use compaction_core::preparation::{BranchPreparation, Destination, branch_budget};
use compaction_core::prompts;
use compaction_core::prompts::OutputLimits;
use compaction_core::summary::{ShownFiles, append_shown_files, remove_file_blocks};
use serde_json::json;
use session_store::{NewEntry, Parent, Precondition, Session, StoreError};
use tokio_util::sync::CancellationToken;

use crate::compactor::prompt_texts;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::host::{BeforeNavigation, Event, GivenText, Navigation, NavigationChanges, OperationKind, Question};
use crate::redaction::{Redactions, add_counts};
use crate::session::{SessionAccess, SessionView};
use crate::settings::Settings;
use crate::structural_operation;
use crate::structural_operation::{Begun, Commit, EndedClaim, Operation, SummaryOperation};
use crate::summarizers::{Chain, SummaryJob};
use crate::threads::blocking;

/// A request to navigate.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NavigationRequest {
    /// The entry to go to.
    pub target_id: EntryId,
    /// Whether to summarise the abandoned branch.
    pub summarize: bool,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Whether `custom_instructions` replace the usual instructions.
    pub replace_instructions: bool,
    /// A label for the summary, or for the target if there is none.
    pub label: Option<String>,
    /// A summary that the caller wrote.
    pub summary: Option<GivenText>,
    /// Whether the caller waits for the end. A caller that does not wait always gets start and end events.
    pub waits: bool,
}

impl NavigationRequest {
    /// Checks the summary that the caller wrote. Reads the details, which may be long.
    ///
    /// # Errors
    /// [`EngineError::SummaryRejected`] where it is empty, [`EngineError::InvalidArgument`] where its details are
    /// wrong.
    pub fn check(&self) -> Result<(), EngineError> {
        self.summary.as_ref().map_or(Ok(()), GivenText::check)
    }

    /// A navigation to an entry, without a summary.
    pub fn to(target_id: EntryId) -> Self {
        Self {
            target_id,
            summarize: false,
            custom_instructions: None,
            replace_instructions: false,
            label: None,
            summary: None,
            waits: true,
        }
    }
}

/// A navigation that has claimed its session. It may have moved the leaf already.
pub type BegunNavigation = Begun<NavigationOperation>;

/// A navigation that was begun.
#[derive(Debug)]
pub struct NavigationOperation {
    /// The request, with the changes of the host.
    request: NavigationRequest,
    old_leaf_id: Option<EntryId>,
    step: Step,
    /// Whether the host gave the summary.
    is_from_hook: bool,
    events: Arc<NavigationEvents>,
    /// Cancelled when the caller cancels its request.
    request_cancel: CancellationToken,
}

#[async_trait]
impl Operation for NavigationOperation {
    const KIND: OperationKind = OperationKind::Navigation;

    type Request = (NavigationRequest, CancellationToken, Arc<NavigationEvents>);

    type Done = Navigation;

    /// Without a hook and a summary to write, the leaf moves at once.
    fn prepare(
        access: &mut SessionAccess<'_>,
        (request, request_cancel, events): Self::Request,
        settings: &Settings,
        chain: &Chain,
        operation_id: &str,
    ) -> Result<Self, EngineError> {
        let route = Route::of(access.view(), access.leaf_id(), &request.target_id)?;
        let old_leaf_id = route.old_leaf_id.clone();
        let step = if access.view().read(|session| route.is_there(session))? {
            events.notify_start_of_move(access.engine(), operation_id, &old_leaf_id);
            Step::Moved(stayed(&route))
        } else if access.engine().host.answers(Question::BeforeNavigation) {
            Step::Ask(Box::new(question(&access.open().id, &request, &route, operation_id)))
        } else {
            go(access, &request, settings, chain, route, operation_id, &events)?
        };
        Ok(Self { request, old_leaf_id, step, is_from_hook: false, events, request_cancel })
    }

    async fn ask(&mut self, run: &SummaryOperation) -> Result<Option<Self::Done>, EngineError> {
        if let Step::Ask(question) = &self.step {
            let question = (**question).clone();
            let given = run.decision(|limit| run.engine.host.before_navigation(question, limit)).await?;
            let mut request = self.request.clone();
            let accepting = blocking(move || accept(&mut request, given).map(|is_from_hook| (request, is_from_hook)));
            (self.request, self.is_from_hook) = run.unless_cancelled(accepting).await?;
            self.step = self.go_after_hook(run).await?;
        }
        match &self.step {
            Step::Moved(navigation) => Ok(Some(navigation.clone())),
            Step::Ask(_) => Err(EngineError::internal("the hook was asked twice")),
            Step::Summarize(_) => Ok(None),
        }
    }

    async fn write(&mut self, run: &SummaryOperation) -> Result<Commit<Self::Done>, EngineError> {
        let Step::Summarize(plan) = &self.step else {
            return Err(EngineError::internal("there is nothing to summarise"));
        };
        let members = match self.request.summary.take() {
            Some(given) => by_caller(plan, given, self.is_from_hook).await?,
            None => by_summarizer(run, plan, &self.request).await?,
        };
        let (route, label) = (plan.route.clone(), self.request.label.clone());
        Ok(Box::new(move |access| commit(access, &route, &members, label.as_deref())))
    }

    /// The host gets an end event if it got a start event. A caller that does not wait always gets both, because they
    /// are its reply. If somebody else cancels the operation, the outcome is a result; if the caller cancels its
    /// request, it is an error.
    fn end(
        self,
        engine: &Engine,
        ended: EndedClaim,
        outcome: Result<Self::Done, EngineError>,
    ) -> Result<Self::Done, EngineError> {
        let Self { old_leaf_id, events, request_cancel, .. } = self;
        let EndedClaim { operation_id, is_aborted } = ended;
        let outcome = match outcome {
            Err(EngineError::Cancelled) if is_aborted && !request_cancel.is_cancelled() => {
                Ok(Navigation { is_aborted: true, ..cancelled(old_leaf_id.clone()) })
            }
            Err(EngineError::CancelledByHook) => Ok(cancelled(old_leaf_id.clone())),
            outcome => outcome,
        };
        events.notify_start_of_move(engine, &operation_id, &old_leaf_id);
        events.notify_end(engine, &outcome, is_aborted);
        outcome
    }
}

impl NavigationOperation {
    /// Continues after the answer of the hook, if the leaf is still the one that the hook was asked about.
    async fn go_after_hook(&self, run: &SummaryOperation) -> Result<Step, EngineError> {
        let settings = run.engine.settings_now().await?;
        let (request, expected, events) = (self.request.clone(), self.old_leaf_id.clone(), Arc::clone(&self.events));
        let (chain, id) = (run.chain.clone(), run.guard.id.clone());
        run.in_turn(move |access| {
            access.refresh()?;
            let actual = access.leaf_id();
            if actual != expected {
                return Err(EngineError::LeafMoved { expected, actual });
            }
            let route = Route::of(access.view(), actual, &request.target_id)?;
            go(access, &request, &settings, &chain, route, &id, &events)
        })
        .await
    }
}

/// The next step.
#[derive(Debug)]
enum Step {
    /// Done: the leaf is at its destination.
    Moved(Navigation),
    /// The hook has to be asked.
    Ask(Box<BeforeNavigation>),
    /// A summary has to be written.
    Summarize(Box<Plan>),
}

#[derive(Debug)]
struct Plan {
    route: Route,
    preparation: BranchPreparation,
    settings: Settings,
}

/// Moves the leaf, or prepares the summary that has to be written first.
fn go(
    access: &mut SessionAccess<'_>,
    request: &NavigationRequest,
    settings: &Settings,
    chain: &Chain,
    route: Route,
    operation_id: &str,
    events: &NavigationEvents,
) -> Result<Step, EngineError> {
    if request.summarize || request.summary.is_some() {
        let windows = chain.iter().filter_map(|summarizer| summarizer.limits().context_window);
        let window = windows.min().filter(|_| request.summary.is_none());
        let budget = window.map(|window| branch_budget(window, settings.branch_reserve_tokens()));
        let preparation = route.branch_preparation(access.view(), budget, &settings.file_tools())?;
        if !preparation.messages.is_empty() {
            events.notify_start(access.engine(), operation_id, &route.old_leaf_id, preparation.tokens);
            return Ok(Step::Summarize(Box::new(Plan { route, preparation, settings: settings.clone() })));
        }
    }
    events.notify_start_of_move(access.engine(), operation_id, &route.old_leaf_id);
    move_plainly(access, &route, request.label.as_deref()).map(Step::Moved)
}

fn question(session_id: &str, params: &NavigationRequest, route: &Route, operation_id: &str) -> BeforeNavigation {
    BeforeNavigation {
        session_id: session_id.to_owned(),
        operation_id: operation_id.to_owned(),
        target_id: params.target_id.clone(),
        old_leaf_id: route.old_leaf_id.clone(),
        common_ancestor_id: route.common_ancestor_id.clone(),
        abandoned: route.abandoned.clone(),
        wants_summary: params.summarize,
        custom_instructions: params.custom_instructions.clone(),
        replace_instructions: params.replace_instructions,
        label: params.label.clone(),
    }
}

/// The result of a navigation to the current position.
fn stayed(route: &Route) -> Navigation {
    Navigation {
        leaf_id: route.old_leaf_id.clone(),
        old_leaf_id: route.old_leaf_id.clone(),
        editor_text: route.editor_text(),
        ..Navigation::default()
    }
}

/// Moves the leaf without a summary. A marker entry records the move.
fn move_plainly(access: &mut SessionAccess<'_>, route: &Route, label: Option<&str>) -> Result<Navigation, EngineError> {
    let members = access.session().navigation_members();
    let condition = Precondition::LeafIs(route.old_leaf_id.clone());
    let mark = NewEntry::new("custom", &members);
    append_labelled(access, route, mark, &condition, label.map(|label| (route.target.id(), label)))?;
    Ok(notify_moved(access, route, None))
}

/// Appends the entry of the move together with the label: both are in the file, or the leaf does not move
/// (docs/durability.md, "Append").
fn append_labelled(
    access: &mut SessionAccess<'_>,
    route: &Route,
    entry: NewEntry<'_>,
    condition: &Precondition,
    label: Option<(&EntryId, &str)>,
) -> Result<Arc<Entry>, EngineError> {
    let label = label.filter(|(_, label)| !label.is_empty());
    let label = label.map(|(target, label)| Session::label_members(target, Some(label)));
    let label = label.as_deref().map(|members| NewEntry::new("label", members));
    let new: Vec<NewEntry<'_>> = std::iter::once(entry).chain(label).collect();
    let parent = Parent::At(route.destination.new_leaf_id.clone());
    let appended = access.append(|session| session.append_all(&new, parent, condition))?;
    Ok(appended.before.into_iter().next().unwrap_or(appended.entry))
}

/// Notifies the host of a move and returns the result.
fn notify_moved(access: &SessionAccess<'_>, route: &Route, summary: Option<&Arc<Entry>>) -> Navigation {
    let (leaf_id, old_leaf_id) = (access.leaf_id(), route.old_leaf_id.clone());
    access.notify(Event::LeafChanged {
        session_id: access.open().id.clone(),
        leaf_id: leaf_id.clone(),
        old_leaf_id: old_leaf_id.clone(),
    });
    let (editor_text, summary_entry) = (route.destination.editor_text.clone(), summary.cloned());
    Navigation { leaf_id, old_leaf_id, editor_text, summary_entry, ..Navigation::default() }
}

/// The result of a cancelled navigation.
fn cancelled(leaf_id: Option<EntryId>) -> Navigation {
    Navigation { old_leaf_id: leaf_id.clone(), leaf_id, is_cancelled: true, ..Navigation::default() }
}

/// Applies the changes of the hook to the request. Returns whether the summary is the hook's. Its details may be long,
/// so this belongs on a worker thread.
fn accept(params: &mut NavigationRequest, given: NavigationChanges) -> Result<bool, EngineError> {
    params.custom_instructions = given.custom_instructions.or(params.custom_instructions.take());
    params.replace_instructions = given.replace_instructions.unwrap_or(params.replace_instructions);
    params.label = given.label.or(params.label.take());
    // The conversation gets no summary that the caller did not ask for.
    let Some(summary) = given.summary.filter(|_| params.summarize) else {
        return Ok(false);
    };
    params.summary = Some(summary);
    params.check().map_err(|error| match error {
        EngineError::InvalidArgument { path, expected } => EngineError::invalid_hook_result(path, expected),
        error => error,
    })?;
    Ok(true)
}

async fn by_caller(plan: &Plan, given: GivenText, is_from_hook: bool) -> Result<String, EngineError> {
    let own = json!({ "summarizer": if is_from_hook { "hook" } else { "client" } });
    let (files, old_leaf_id) = (plan.preparation.file_operations.clone(), plan.route.old_leaf_id.clone());
    let redactor = plan.settings.redaction().redactor();
    blocking(move || {
        structural_operation::checked(&given.summary)?;
        let files = if let Some(redactor) = redactor { redactor.file_operations(files) } else { files };
        let details = given.details(&files, &own.to_string())?;
        Ok(summary_members(old_leaf_id.as_ref(), &given.summary, &details, given.usage(), is_from_hook))
    })
    .await
}

async fn by_summarizer(
    operation: &SummaryOperation,
    plan: &Plan,
    params: &NavigationRequest,
) -> Result<String, EngineError> {
    let (mut messages, mut operations) = (plan.preparation.messages.clone(), plan.preparation.file_operations.clone());
    let mut custom_instructions = params.custom_instructions.clone();
    let mut redactions = Redactions::new();
    let mut redactor = operation.redactor.clone();
    if let Some(of_settings) = redactor {
        let cancel = operation.guard.cancel.clone();
        let redacting = blocking(move || {
            let (redactor, redactions) = of_settings.of_operation(|redactor| {
                let mut redactions = redactor.messages(&mut messages, &cancel)?;
                operations = redactor.file_operations(std::mem::take(&mut operations));
                add_counts(&mut redactions, &redactor.text(&mut custom_instructions));
                Ok(redactions)
            })?;
            Ok((messages, operations, custom_instructions, Some(redactor), redactions))
        });
        (messages, operations, custom_instructions, redactor, redactions) =
            operation.unless_cancelled(redacting).await?;
    }
    let job = SummaryJob {
        kind: prompts::RequestKind::Branch,
        messages,
        previous_summary: None,
        previous_ledger: None,
        file_tools: plan.preparation.file_tools.clone(),
        citations: false,
        custom_instructions,
        replace_instructions: params.replace_instructions,
        turn: Vec::new(),
        texts: Arc::new(prompt_texts(&plan.settings)),
        limits: OutputLimits { reserve_tokens: 0, model_max_tokens: None },
        local_tokens: prompts::BRANCH_MAX_TOKENS,
        thinking: plan.settings.thinking(),
        ledgers: None,
        conversation: None,
        redactor,
    };
    let written = operation.summarize(&[job]).await?;
    add_counts(&mut redactions, &written.redactions);
    let text = written.texts.first().ok_or_else(|| EngineError::internal("there is no summary"))?;
    let text = remove_file_blocks(text).into_owned();
    structural_operation::checked(&text)?;
    let files = operations.lists();
    let shown = ShownFiles::within(&files, &operations.last_touched(), plan.settings.branch_reserve_tokens());
    let summary = append_shown_files(&text, &shown);
    let mut own = json!({ "summarizer": written.summarizer });
    if !redactions.is_empty() {
        own["redactions"] = json!(redactions);
    }
    let details = structural_operation::details(&operations, &own.to_string(), None)?;
    Ok(summary_members(plan.route.old_leaf_id.as_ref(), &summary, &details, written.usage, false))
}

fn summary_members(
    old_leaf_id: Option<&EntryId>,
    summary: &str,
    details: &str,
    usage: Option<String>,
    is_from_hook: bool,
) -> String {
    let mut members = RawObject::default();
    members.set("fromId", encode_string(old_leaf_id.map_or("root", EntryId::as_str)));
    members.set("summary", encode_string(summary));
    members.set("details", details);
    if let Some(usage) = usage {
        members.set("usage", usage);
    }
    if is_from_hook {
        members.set("fromHook", "true");
    }
    members.to_json()
}

/// The leaf, if no entry that the model sees was appended since the summary was begun. Such an entry would be in
/// neither the summary nor the context. A label or a name does not invalidate the summary.
fn unchanged_leaf(access: &SessionAccess<'_>, route: &Route) -> Result<Option<EntryId>, EngineError> {
    let leaf = access.leaf_id();
    if leaf == route.old_leaf_id {
        return Ok(leaf);
    }
    let branch = access.view().read(|session| session.branch_entries(leaf.as_ref()))?;
    let old = branch.iter().rposition(|entry| Some(entry.id()) == route.old_leaf_id.as_ref());
    let is_silent = |entry: &Arc<Entry>| !entry.has_context_messages() && entry.kind() != EntryKind::ContextEdit;
    match old {
        Some(old) if branch[old + 1..].iter().all(is_silent) => Ok(leaf),
        _ => Err(EngineError::LeafMoved { expected: route.old_leaf_id.clone(), actual: leaf }),
    }
}

/// Appends the summary under the new leaf, if the summarised branch is still the current one.
fn commit(
    access: &mut SessionAccess<'_>,
    route: &Route,
    members: &str,
    label: Option<&str>,
) -> Result<Navigation, EngineError> {
    let condition = Precondition::LeafIs(unchanged_leaf(access, route)?);
    let id = access.session().new_entry_id();
    let summary = NewEntry { id: Some(id.clone()), ..NewEntry::new("branch_summary", members) };
    let entry = append_labelled(access, route, summary, &condition, label.map(|label| (&id, label)))?;
    Ok(notify_moved(access, route, Some(&entry)))
}

/// Custom type of the entry that records a navigation without a summary (docs/session-format.md, "Entries of our
/// own").
const NAVIGATION: &str = "compactd.navigation";

/// The route of a navigation from a leaf to a target.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Route {
    /// The entry to go to.
    pub target: Arc<Entry>,
    /// The current leaf.
    pub old_leaf_id: Option<EntryId>,
    /// The deepest common ancestor of leaf and target.
    pub common_ancestor_id: Option<EntryId>,
    /// The abandoned entries, oldest first.
    pub abandoned: Vec<EntryId>,
    /// The destination.
    pub destination: Destination,
}

impl Route {
    /// The route from `leaf` to `target_id`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of(view: SessionView<'_>, leaf: Option<EntryId>, target_id: &EntryId) -> Result<Self, EngineError> {
        let target = view.read(|session| session.entry_or_stand_in(target_id))?;
        let common = view.read(|session| session.common_ancestor(leaf.as_ref(), Some(target.id())))?;
        let path = view.read(|session| session.branch_ids(leaf.as_ref()))?;
        let shared = common.as_ref().and_then(|common| path.iter().position(|id| id == common));
        Ok(Self {
            destination: Destination::of(&target),
            abandoned: path[shared.map_or(0, |shared| shared + 1)..].to_vec(),
            common_ancestor_id: common,
            old_leaf_id: leaf,
            target,
        })
    }

    /// Whether the session is already there: the destination is the leaf, or the leaf is the marker of an earlier
    /// navigation to it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn is_there(&self, session: &Session) -> Result<bool, StoreError> {
        let Some(leaf) = &self.old_leaf_id else {
            return Ok(self.destination.new_leaf_id.is_none());
        };
        if self.target.id() == leaf || self.destination.new_leaf_id.as_ref() == Some(leaf) {
            return Ok(true);
        }
        let entry = session.entry_or_stand_in(leaf)?;
        let is_mark = matches!(entry.body(), EntryBody::Custom { custom_type, .. } if custom_type == NAVIGATION);
        Ok(is_mark && entry.header().parent_id == self.destination.new_leaf_id)
    }

    /// The text to edit and send again. A message that is the leaf stays in the context, so its text is not returned.
    pub fn editor_text(&self) -> Option<String> {
        let is_leaf = self.old_leaf_id.as_ref() == Some(self.target.id());
        self.destination.editor_text.clone().filter(|_| !is_leaf)
    }

    /// The material for a summary of the abandoned entries: the newest messages that fit `budget` tokens.
    ///
    /// # Errors
    /// Those of the store.
    pub fn branch_preparation(
        &self,
        view: SessionView<'_>,
        budget: Option<u64>,
        tools: &FileTools,
    ) -> Result<BranchPreparation, EngineError> {
        let leaf = self.old_leaf_id.as_ref();
        let projection = view.project(leaf)?;
        let ids: HashSet<&EntryId> = self.abandoned.iter().collect();
        let branch = view.read(|session| session.branch_entries(leaf))?;
        let abandoned: Vec<Arc<Entry>> = branch.into_iter().filter(|entry| ids.contains(entry.id())).collect();
        Ok(BranchPreparation::of(&projection, &abandoned, budget, tools))
    }
}

/// The events about one navigation.
#[derive(Debug)]
pub(crate) struct NavigationEvents {
    session_id: String,
    target_id: EntryId,
    /// Whether the caller waits for the end.
    waits: bool,
    /// The id of the operation, once its start event was sent.
    operation_id: OnceLock<String>,
}

impl NavigationEvents {
    pub(crate) fn new(session_id: &str, request: &NavigationRequest) -> Self {
        let (session_id, target_id) = (session_id.to_owned(), request.target_id.clone());
        Self { session_id, target_id, waits: request.waits, operation_id: OnceLock::new() }
    }

    /// Sends the start event, once. A summary will read about `estimated_tokens`.
    fn notify_start(&self, engine: &Engine, operation_id: &str, old_leaf: &Option<EntryId>, estimated_tokens: u64) {
        if self.operation_id.set(operation_id.to_owned()).is_ok() {
            engine.host.notify(Event::NavigationStarted {
                session_id: self.session_id.clone(),
                operation_id: operation_id.to_owned(),
                target_id: self.target_id.clone(),
                old_leaf_id: old_leaf.clone(),
                estimated_tokens,
            });
        }
    }

    /// Sends the start event to a caller that does not wait, before all other events.
    fn notify_start_of_move(&self, engine: &Engine, operation_id: &str, old_leaf: &Option<EntryId>) {
        if !self.waits {
            self.notify_start(engine, operation_id, old_leaf, 0);
        }
    }

    /// Sends the end event, if the start event was sent.
    pub(crate) fn notify_end(&self, engine: &Engine, outcome: &Result<Navigation, EngineError>, is_aborted: bool) {
        if let Some(operation_id) = self.operation_id.get().cloned() {
            let (session_id, outcome) = (self.session_id.clone(), outcome.clone());
            engine.host.notify(Event::NavigationEnded { session_id, operation_id, outcome, is_aborted });
        }
    }
}
