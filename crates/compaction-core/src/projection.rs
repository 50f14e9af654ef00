//! Projection: what the model sees of a branch (docs/projection.md).
//!
//! The walk goes from the leaf towards the root. It reads the bodies of entries that belong to the
//! context. Of entries before the first kept entry of the latest compaction it reads only headers, if at all.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use crate::entry::{Entry, EntryBody, EntryHeader, EntryId, EntryKind, Replacement, Role};
use crate::json::{self, Json, RawObject};
use crate::message::{Message, System};

/// A branch, seen from its leaf. Depth 0 is the leaf. Higher depths are closer to the root.
pub trait Branch {
    /// Why an entry could not be read.
    type Error;

    /// Header of the entry at `depth`; `None` past the root.
    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, Self::Error>;

    /// The entry at `depth`. [`Branch::header`] has returned its header before.
    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, Self::Error>;

    /// The depth of the next entry, at `depth` or after it, that may set the thinking level or the model, or carry the
    /// state of the path before it. Answers count only `with_answers`. A branch that cannot tell returns `depth`.
    fn next_setting(&mut self, depth: usize, with_answers: bool) -> Result<usize, Self::Error> {
        let _ = with_answers;
        Ok(depth)
    }
}

/// A branch in memory, root first.
impl Branch for &[Arc<Entry>] {
    type Error = std::convert::Infallible;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, Self::Error> {
        Ok(self.iter().rev().nth(depth).map(|entry| entry.header().clone()))
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, Self::Error> {
        Ok(Arc::clone(&self[self.len() - 1 - depth]))
    }
}

/// A model, as entries name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// Provider of the model.
    pub provider: String,
    /// Id of the model.
    pub model_id: String,
}

impl ModelName {
    /// `None` unless both names exist. An answer without them does not change the model.
    fn of(provider: Option<String>, model_id: Option<String>) -> Option<Self> {
        let named = |name: &String| !name.is_empty();
        Some(Self { provider: provider.filter(named)?, model_id: model_id.filter(named)? })
    }
}

/// A message and the entry that it comes from.
#[derive(Debug, Clone)]
pub struct PreparedMessage {
    /// The entry.
    pub entry_id: EntryId,
    /// The message as the model saw it.
    pub message: Arc<Message>,
}

/// An entry of the context, and the messages that it contributes.
#[derive(Debug, Clone)]
pub struct ProjectedEntry {
    /// The entry as stored.
    pub entry: Arc<Entry>,
    /// Distance from the leaf, in entries.
    pub depth: usize,
    /// The messages that the model sees. Empty for metadata, hidden entries and older compactions.
    pub messages: Vec<Arc<Message>>,
}

/// A problem in a branch that did not stop the projection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectionDiagnostic {
    /// The latest compaction names a first kept entry that does not precede it on its branch. Nothing
    /// before it is kept.
    UnknownFirstKept {
        /// The compaction.
        compaction_id: EntryId,
        /// The id that the compaction names.
        first_kept_entry_id: Option<EntryId>,
    },
    /// The latest compaction has no summary: nothing replaces what it removed.
    EmptySummary {
        /// The compaction.
        compaction_id: EntryId,
    },
    /// A message that is not an object with a string role. It is left out of every context.
    UnreadableMessage {
        /// The entry with the message.
        entry_id: EntryId,
    },
    /// A tool result whose call is not in the context. Models refuse such a context, so the result is
    /// not sent.
    OrphanToolResult {
        /// The entry with the result.
        entry_id: EntryId,
        /// The call that it answers.
        tool_call_id: String,
    },
}

/// What the model sees of a branch.
#[derive(Debug, Clone)]
pub struct Projection {
    entries: Vec<ProjectedEntry>,
    has_compaction: bool,
    thinking_level: String,
    model: Option<ModelName>,
    diagnostics: Vec<ProjectionDiagnostic>,
}

impl Projection {
    /// Projects `branch`. Fails only if reading the branch fails.
    pub fn of<B: Branch>(mut branch: B) -> Result<Self, B::Error> {
        let selection = select(&mut branch)?;
        let mut diagnostics = selection.diagnostics;
        let entries = project(&selection.entries, selection.has_compaction);
        find_invalid_messages(&entries, &mut diagnostics);
        Ok(Self {
            entries,
            has_compaction: selection.has_compaction,
            thinking_level: selection.thinking_level.unwrap_or_else(|| "off".to_owned()),
            model: selection.model,
            diagnostics,
        })
    }

    /// One system message that is equivalent to all system messages of the context: contents are joined by a blank
    /// line, sections patched by name, tools added and removed (docs/summaries.md, "Commit"). `timestamp`, in epoch
    /// milliseconds, is that of the result. `None` if there is no system message.
    pub fn system_message(&self, timestamp: i64) -> Option<Message> {
        replay(self.messages(), timestamp)
    }

    /// Estimated tokens of the prompt and the tools.
    pub fn system_tokens(&self) -> u64 {
        self.system_message(0).map_or(0, |message| message.tokens())
    }

    /// The context after one more entry at the leaf, without reading the branch again. `None` if the
    /// entry changes earlier entries, as compactions and context edits do, or is itself the target of
    /// an edit.
    pub fn followed_by(mut self, entry: Arc<Entry>) -> Option<Self> {
        let is_edited = self.entries.iter().any(|projected| match projected.entry.body() {
            EntryBody::ContextEdit { target_id, .. } => target_id == entry.id(),
            _ => false,
        });
        if is_edited || matches!(entry.kind(), EntryKind::Compaction | EntryKind::ContextEdit) {
            return None;
        }
        let mut settings = Selection::default();
        record_settings(&entry, &mut settings);
        self.thinking_level = settings.thinking_level.unwrap_or(self.thinking_level);
        self.model = settings.model.or(self.model);
        for projected in &mut self.entries {
            projected.depth += 1;
        }
        let messages = entry.context_messages();
        self.diagnostics.extend(unreadable_message(&entry));
        // A result without a call stays an orphan: a later call is not its own.
        for orphan in self.orphans_of(&messages) {
            self.diagnostics
                .push(ProjectionDiagnostic::OrphanToolResult { entry_id: entry.id().clone(), tool_call_id: orphan });
        }
        self.entries.push(ProjectedEntry { entry, depth: 0, messages });
        Some(self)
    }

    /// Ids of calls that `messages` answer although no call with that id precedes them.
    fn orphans_of(&self, messages: &[Arc<Message>]) -> Vec<String> {
        let answered = |at: usize| messages[at].answered_call_id().map(|id| (at, id));
        let is_called = |at: usize, id: &str| {
            let before = self.shared_messages().chain(&messages[..at]);
            before.flat_map(|message| message.tool_call_ids()).any(|call| call == id)
        };
        let answers = (0..messages.len()).filter_map(answered);
        answers.filter(|(at, id)| !is_called(*at, id)).map(|(_, id)| id.to_owned()).collect()
    }

    /// This context as it would be if context edits hid `entries`.
    pub fn hiding(&self, entries: &[EntryId]) -> Self {
        let mut hidden = self.clone();
        for projected in hidden.entries.iter_mut().filter(|projected| entries.contains(projected.entry.id())) {
            projected.messages.clear();
        }
        let is_of_compaction = |diagnostic: &ProjectionDiagnostic| {
            use ProjectionDiagnostic::{EmptySummary, UnknownFirstKept};
            matches!(diagnostic, UnknownFirstKept { .. } | EmptySummary { .. })
        };
        hidden.diagnostics.retain(is_of_compaction);
        find_invalid_messages(&hidden.entries, &mut hidden.diagnostics);
        hidden
    }

    /// The entries of the context in order: the latest compaction if there is one, the entries that it
    /// kept, and the entries after it.
    pub fn entries(&self) -> &[ProjectedEntry] {
        &self.entries
    }

    /// The messages of the context, in order.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.shared_messages().map(Arc::as_ref)
    }

    /// The messages of the context, in order, shared.
    pub fn shared_messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.entries.iter().flat_map(|entry| &entry.messages)
    }

    /// The latest compaction of the branch, with its messages.
    pub fn compaction(&self) -> Option<&ProjectedEntry> {
        self.entries.first().filter(|_| self.has_compaction)
    }

    /// Depth of the newest compaction or context edit. Usage that was reported before it does not
    /// describe the present context.
    pub fn last_invalidating(&self) -> Option<usize> {
        let invalidates =
            |entry: &&ProjectedEntry| matches!(entry.entry.kind(), EntryKind::Compaction | EntryKind::ContextEdit);
        self.entries.iter().filter(invalidates).map(|entry| entry.depth).min()
    }

    /// The thinking level at the leaf; `off` if none was set.
    pub fn thinking_level(&self) -> &str {
        &self.thinking_level
    }

    /// The model at the leaf.
    pub fn model(&self) -> Option<&ModelName> {
        self.model.as_ref()
    }

    /// The problems that were found.
    pub fn diagnostics(&self) -> &[ProjectionDiagnostic] {
        &self.diagnostics
    }
}

#[derive(Default)]
struct Selection {
    /// Entries in context order, with their depths.
    entries: Vec<(Arc<Entry>, usize)>,
    has_compaction: bool,
    thinking_level: Option<String>,
    model: Option<ModelName>,
    /// Whether the search is over, even if the model is unknown.
    is_settled: bool,
    diagnostics: Vec<ProjectionDiagnostic>,
}

impl Selection {
    fn are_settings_known(&self) -> bool {
        self.is_settled || (self.thinking_level.is_some() && self.model.is_some())
    }

    /// Fills in unknown settings from the state that a compaction carries.
    fn take_state(&mut self, state: Option<PathState>) {
        if let Some(state) = state {
            self.thinking_level.get_or_insert(state.thinking_level);
            self.model = self.model.take().or(state.model);
            self.is_settled = true;
        }
    }
}

/// Position of the walk towards the root.
enum Stage {
    /// No compaction has been seen. Every entry belongs to the context.
    Recent,
    /// Past the latest compaction. Entries belong to the context down to `first_kept`, if that entry
    /// exists.
    Kept { first_kept: EntryId, state: Option<PathState> },
    /// Past the first kept entry. Only model and thinking level are still unknown.
    Settings,
}

/// Maximum number of kept entries that are read before the first kept entry is found. If it is not on the branch,
/// nothing is kept, and the walk goes to the root.
const KEPT_AHEAD: usize = 1024;

fn select<B: Branch>(branch: &mut B) -> Result<Selection, B::Error> {
    let mut selection = Selection::default();
    let mut compaction: Option<(Arc<Entry>, usize)> = None;
    let mut kept = Vec::new();
    let mut stage = Stage::Recent;
    let mut depth = 0;
    while let Some(header) = branch.header(depth)? {
        if matches!(stage, Stage::Settings) && selection.are_settings_known() {
            break;
        }
        let is_context = match &stage {
            Stage::Recent => true,
            Stage::Kept { first_kept, .. } => kept.len() < KEPT_AHEAD || header.id == *first_kept,
            Stage::Settings => false,
        };
        let is_read = is_context || names_settings(&header, &selection);
        let entry = if is_read { Some(branch.entry(depth)?) } else { None };
        if let Some(entry) = &entry {
            record_settings(entry, &mut selection);
        }
        match (&stage, entry) {
            (Stage::Recent, Some(entry)) if header.kind == EntryKind::Compaction => {
                stage = stage_before(&entry, &mut selection);
                compaction = Some((entry, depth));
            }
            (Stage::Recent, Some(entry)) => selection.entries.push((entry, depth)),
            (Stage::Kept { first_kept, state }, entry) => {
                let is_first_kept = header.id == *first_kept;
                kept.push((entry, depth));
                if is_first_kept {
                    selection.take_state(state.clone());
                    take_kept(branch, std::mem::take(&mut kept), &mut selection)?;
                    stage = Stage::Settings;
                }
            }
            (Stage::Settings, Some(entry)) => selection.take_state(PathState::before(&entry)),
            (_, None) => {}
        }
        depth += 1;
        if matches!(stage, Stage::Settings) && !selection.are_settings_known() {
            depth = branch.next_setting(depth, selection.model.is_none())?;
        }
    }
    if let Some((entry, depth)) = compaction {
        if matches!(stage, Stage::Kept { .. }) || names_no_kept_entry(&entry) {
            selection.diagnostics.push(ProjectionDiagnostic::UnknownFirstKept {
                compaction_id: entry.id().clone(),
                first_kept_entry_id: entry.compaction().and_then(|compaction| compaction.first_kept_entry_id.clone()),
            });
        }
        if entry.compaction().is_some_and(|compaction| compaction.summary.trim().is_empty()) {
            selection.diagnostics.push(ProjectionDiagnostic::EmptySummary { compaction_id: entry.id().clone() });
        }
        selection.has_compaction = true;
        selection.entries.push((entry, depth));
    }
    selection.entries.reverse();
    Ok(selection)
}

/// Adds the kept entries to the context, and reads those that were not read ahead.
fn take_kept<B: Branch>(
    branch: &mut B,
    kept: Vec<(Option<Arc<Entry>>, usize)>,
    selection: &mut Selection,
) -> Result<(), B::Error> {
    for (entry, depth) in kept {
        let entry = match entry {
            Some(entry) => entry,
            None => branch.entry(depth)?,
        };
        if !is_system(&entry) {
            selection.entries.push((entry, depth));
        }
    }
    Ok(())
}

/// The stage of the walk after the latest compaction. A compaction that names itself keeps nothing.
fn stage_before(compaction: &Entry, selection: &mut Selection) -> Stage {
    let state = PathState::before(compaction);
    match compaction.compaction().and_then(|compaction| compaction.first_kept_entry_id.clone()) {
        // Kept entries are read anyway, and they take precedence over the state.
        Some(first_kept) if first_kept != *compaction.id() => Stage::Kept { first_kept, state },
        _ => {
            selection.take_state(state);
            Stage::Settings
        }
    }
}

fn names_no_kept_entry(entry: &Entry) -> bool {
    entry.compaction().is_some_and(|compaction| compaction.first_kept_entry_id.is_none())
}

fn is_system(entry: &Entry) -> bool {
    entry.header().role == Some(Role::System)
}

/// Whether the entry with this header may set a setting that is still unknown.
fn names_settings(header: &EntryHeader, selection: &Selection) -> bool {
    match header.kind {
        EntryKind::ThinkingLevelChange => selection.thinking_level.is_none(),
        EntryKind::ModelChange => selection.model.is_none(),
        EntryKind::Message => header.role == Some(Role::Assistant) && selection.model.is_none(),
        EntryKind::Compaction => true,
        _ => false,
    }
}

fn record_settings(entry: &Entry, selection: &mut Selection) {
    match entry.body() {
        EntryBody::ThinkingLevelChange { thinking_level } => {
            selection.thinking_level.get_or_insert_with(|| thinking_level.clone());
        }
        EntryBody::ModelChange { provider, model_id } => {
            let name = || ModelName { provider: provider.clone(), model_id: model_id.clone() };
            selection.model.get_or_insert_with(name);
        }
        EntryBody::Message(message) if selection.model.is_none() => selection.model = answering_model(message),
        _ => {}
    }
}

fn answering_model(message: &Message) -> Option<ModelName> {
    if !message.names_model() {
        return None;
    }
    let assistant = message.as_assistant()?;
    ModelName::of(assistant.provider.clone(), assistant.model.clone())
}

fn unreadable_message(entry: &Entry) -> Option<ProjectionDiagnostic> {
    match entry.body() {
        EntryBody::Message(message) if !message.is_readable() => {
            Some(ProjectionDiagnostic::UnreadableMessage { entry_id: entry.id().clone() })
        }
        _ => None,
    }
}

fn project(selected: &[(Arc<Entry>, usize)], has_compaction: bool) -> Vec<ProjectedEntry> {
    let edits = Edits::of(selected.iter().map(|(entry, _)| entry.as_ref()));
    let project_one = |(position, (entry, depth)): (usize, &(Arc<Entry>, usize))| {
        // The kept range may contain an older compaction. Only the latest one contributes messages.
        let is_silent = entry.kind() == EntryKind::Compaction && !(has_compaction && position == 0);
        let messages = if is_silent { Vec::new() } else { edits.messages(entry) };
        ProjectedEntry { entry: Arc::clone(entry), depth: *depth, messages }
    };
    selected.iter().enumerate().map(project_one).collect()
}

/// The last context edit of each entry.
pub(crate) struct Edits<'a>(HashMap<&'a EntryId, &'a Replacement>);

impl<'a> Edits<'a> {
    /// The edits among `entries`, oldest first.
    pub(crate) fn of(entries: impl Iterator<Item = &'a Entry>) -> Self {
        let edit = |entry: &'a Entry| match entry.body() {
            EntryBody::ContextEdit { target_id, replacement } => Some((target_id, replacement)),
            _ => None,
        };
        Self(entries.filter_map(edit).collect())
    }

    /// The messages that `entry` contributes to a context, with its edit applied.
    pub(crate) fn messages(&self, entry: &Entry) -> Vec<Arc<Message>> {
        match self.0.get(entry.id()) {
            Some(Replacement::Hidden) => Vec::new(),
            Some(Replacement::Content(content)) => {
                let messages = entry.context_messages().into_iter();
                messages.map(|message| Arc::new(message.with_content(content))).collect()
            }
            Some(Replacement::Invalid) | None => entry.context_messages(),
        }
    }
}

fn find_invalid_messages(entries: &[ProjectedEntry], diagnostics: &mut Vec<ProjectionDiagnostic>) {
    let mut calls: HashSet<&str> = HashSet::new();
    for projected in entries {
        diagnostics.extend(unreadable_message(&projected.entry));
        for message in &projected.messages {
            calls.extend(message.tool_call_ids());
            if let Some(tool_call_id) = message.answered_call_id().filter(|id| !calls.contains(id)) {
                diagnostics.push(ProjectionDiagnostic::OrphanToolResult {
                    entry_id: projected.entry.id().clone(),
                    tool_call_id: tool_call_id.to_owned(),
                });
            }
        }
    }
}

/// Model, thinking level and pins at the end of a path. A compaction stores them, so that later walks need not
/// continue to the root of a long session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathState {
    /// The last entry of the path.
    pub leaf_id: EntryId,
    /// The model, if the path names one.
    pub model: Option<ModelName>,
    /// The thinking level; `off` if the path does not set it.
    pub thinking_level: String,
    /// The pinned entries of the path, if they are known.
    pub pinned: Option<Vec<EntryId>>,
}

impl PathState {
    /// The state of the path to `leaf_id`. `projection` is the context of that path.
    pub fn of(projection: &Projection, leaf_id: &EntryId) -> Self {
        Self {
            leaf_id: leaf_id.clone(),
            model: projection.model().cloned(),
            thinking_level: projection.thinking_level().to_owned(),
            pinned: None,
        }
    }

    /// This state with the pinned entries of its path.
    #[must_use]
    pub fn with_pinned(self, pinned: Vec<EntryId>) -> Self {
        Self { pinned: Some(pinned), ..self }
    }

    /// Adds this state to a compaction's `details`, a JSON object: `compactd.state`, and
    /// `compactd.pins` for the pins. Text that is not an object is returned unchanged.
    pub fn add_to(&self, details: &str) -> String {
        let Ok(mut details) = RawObject::parse(details) else {
            return details.to_owned();
        };
        let own = details.get("compactd").unwrap_or("{}").to_owned();
        if let Ok(mut own) = RawObject::parse(&own) {
            own.set("state", self.to_json());
            if let Some(pinned) = &self.pinned {
                own.set("pins", ids_to_json(pinned));
            }
            details.set("compactd", own.to_json());
        }
        details.to_json()
    }

    /// Leaf, model and thinking level as JSON.
    pub fn to_json(&self) -> String {
        let text = json::encode_string;
        let model = self.model.as_ref().map_or_else(
            || "null".to_owned(),
            |model| format!("{{\"provider\":{},\"modelId\":{}}}", text(&model.provider), text(&model.model_id)),
        );
        let (leaf, level) = (text(self.leaf_id.as_str()), text(&self.thinking_level));
        format!("{{\"leafId\":{leaf},\"model\":{model},\"thinkingLevel\":{level}}}")
    }

    /// The state that a compaction carries for the path before it. `None` if there is none, or if it
    /// describes another path: a program that moves the entry may not know about the state.
    pub fn before(compaction: &Entry) -> Option<Self> {
        let details = compaction.compaction()?.details.as_ref()?;
        // Details of other programs can be long, so they are not parsed.
        if !details.get().contains("\"compactd\"") {
            return None;
        }
        let details = Json::parse(details.get()).ok()?;
        let own = details.get("compactd")?;
        let state = Self { pinned: own.get("pins").and_then(ids), ..Self::read(own.get("state")?)? };
        (compaction.header().parent_id.as_ref() == Some(&state.leaf_id)).then_some(state)
    }

    fn read(state: &Json<'_>) -> Option<Self> {
        let text = |json: &Json<'_>, member: &str| json.get(member)?.as_str().map(str::to_owned);
        let model = match state.get("model")? {
            Json::Null => None,
            model => ModelName::of(text(model, "provider"), text(model, "modelId")),
        };
        let leaf_id = EntryId::new(text(state, "leafId")?);
        Some(Self { leaf_id, model, thinking_level: text(state, "thinkingLevel")?, pinned: None })
    }
}

fn ids_to_json(ids: &[EntryId]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| json::encode_string(id.as_str())).collect();
    format!("[{}]", ids.join(","))
}

/// Reads a list of ids. `None` if any item is not a string.
fn ids(list: &Json<'_>) -> Option<Vec<EntryId>> {
    match list {
        Json::Array(items) => items.iter().map(|item| item.as_str().map(EntryId::new)).collect(),
        _ => None,
    }
}

/// One system message that is equivalent to all system messages in `messages`.
fn replay<'a>(messages: impl IntoIterator<Item = &'a Message>, timestamp: i64) -> Option<Message> {
    let mut state = SystemState::default();
    let mut found = false;
    for message in messages {
        if let Some(system) = message.as_system() {
            found = true;
            state.apply(system);
        }
    }
    found.then(|| state.into_message(timestamp))
}

/// The prompt and tools that result from system messages.
#[derive(Default)]
struct SystemState<'a> {
    content: Vec<String>,
    sections: Ordered<&'a str, &'a str>,
    tools: Ordered<Option<&'a str>, &'a Json<'static>>,
}

impl<'a> SystemState<'a> {
    fn apply(&mut self, system: &'a System) {
        let text = system.content.text("\n");
        if !text.is_empty() {
            self.content.push(text.into_owned());
        }
        for (name, section) in &system.sections {
            match section {
                None => self.sections.remove(&name.as_str()),
                Some(section) => self.sections.put(name, section),
            }
        }
        for name in &system.tools_removed {
            self.tools.remove(&Some(name.as_str()));
        }
        if let Some(Json::Array(tools)) = &system.tools_added {
            for tool in tools {
                self.tools.put(tool.get("name").and_then(Json::as_str), tool);
            }
        }
    }

    fn into_message(self, timestamp: i64) -> Message {
        let mut out = String::from("{\"role\":\"system\",\"content\":");
        json::write_string(&self.content.join("\n\n"), &mut out);
        let member =
            |(name, text): &(&str, &str)| format!("{}:{}", json::encode_string(name), json::encode_string(text));
        let sections: Vec<String> = self.sections.iter().map(member).collect();
        if !sections.is_empty() {
            out.push_str(&format!(",\"sections\":{{{}}}", sections.join(",")));
        }
        let tools: Vec<String> = self.tools.iter().map(|(_, tool)| tool.to_compact()).collect();
        if !tools.is_empty() {
            out.push_str(&format!(",\"toolsAdded\":[{}]", tools.join(",")));
        }
        out.push_str(&format!(",\"timestamp\":{timestamp}}}"));
        Message::from_raw(json::raw_value(out).expect("every part was encoded as JSON above"))
    }
}

/// A map that keeps keys in the order of their first insertion.
struct Ordered<K, V> {
    list: Vec<Option<(K, V)>>,
    positions: HashMap<K, usize>,
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { list: Vec::new(), positions: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash, V> Ordered<K, V> {
    /// Sets the value of a key, at its old position or at the end.
    fn put(&mut self, key: K, value: V) {
        let position = *self.positions.entry(key).or_insert(self.list.len());
        match self.list.get_mut(position) {
            Some(known) => *known = Some((key, value)),
            None => self.list.push(Some((key, value))),
        }
    }

    fn remove(&mut self, key: &K) {
        if let Some(position) = self.positions.remove(key) {
            self.list[position] = None;
        }
    }

    fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.list.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn replayed(messages: &[String]) -> String {
        let messages: Vec<Message> = messages.iter().map(|json| Message::from_json(json).unwrap()).collect();
        replay(&messages, 7).unwrap().raw().get().to_owned()
    }

    #[test]
    fn keys_keep_their_place_until_they_are_removed() {
        let message = |more: &str| format!(r#"{{"role":"system","content":"",{more}}}"#);
        let messages = [
            message(r#""sections":{"a":"1","b":"2","c":"3"},"toolsAdded":[{"name":"x"},{"name":"y"},{}]"#),
            message(r#""sections":{"b":"4","a":null},"toolsRemoved":["x"]"#),
            message(r#""sections":{"a":"5"},"toolsAdded":[{"name":"y","v":1},{"v":2},{"name":"x"}]"#),
        ];
        let expected = concat!(
            r#"{"role":"system","content":"","sections":{"b":"4","c":"3","a":"5"},"#,
            r#""toolsAdded":[{"name":"y","v":1},{"v":2},{"name":"x"}],"timestamp":7}"#
        );
        assert_eq!(replayed(&messages), expected);
    }

    /// Quadratic time would be minutes for this many.
    #[test]
    fn many_sections_and_tools_take_time_with_their_number() {
        let sections: Vec<String> = (0..60_000).map(|n| format!("\"{n}\":\"x\"")).collect();
        let tools: Vec<String> = (0..60_000).map(|n| format!("{{\"name\":\"{n}\"}}")).collect();
        let removed: Vec<String> = (0..60_000).map(|n| format!("\"{n}\"")).collect();
        let added = format!(
            r#"{{"role":"system","content":"","sections":{{{}}},"toolsAdded":[{}]}}"#,
            sections.join(","),
            tools.join(",")
        );
        let gone = format!(r#"{{"role":"system","content":"","toolsRemoved":[{}]}}"#, removed.join(","));
        let start = Instant::now();
        let text = replayed(&[added.clone(), gone, added]);
        assert!(text.contains("\"59999\":\"x\""));
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}
