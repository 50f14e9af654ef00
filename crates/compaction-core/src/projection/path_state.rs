//! Model, thinking level and pins, stored in a compaction entry. They spare later walks the way to the
//! root of a long session.

use crate::entry::{Entry, EntryId};
use crate::json::{self, Json, RawObject};
use crate::projection::{ModelName, Projection};

/// Settings at the end of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathState {
    /// The last entry of the path.
    pub leaf_id: EntryId,
    /// The model, if the path names one.
    pub model: Option<ModelName>,
    /// The thinking level, `off` where the path sets none.
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
