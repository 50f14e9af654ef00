//! Model, thinking level and pins at a compaction, kept in its entry, so that nobody has to walk to
//! the root of a long session for them.

use crate::entry::{Entry, EntryId};
use crate::json::{self, Json, RawObject};
use crate::projection::{ModelName, Projection};

/// The settings that hold at the end of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathState {
    /// The last entry of the path.
    pub leaf_id: EntryId,
    /// The model, if the path names one.
    pub model: Option<ModelName>,
    /// The thinking level, `off` where the path sets none.
    pub thinking_level: String,
    /// The pinned entries of the path, where they are known.
    pub pinned: Option<Vec<EntryId>>,
}

impl PathState {
    /// The state of the path to `leaf_id`, of which `projection` is what the model sees.
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

    /// The `details` of a compaction, a JSON object, with this state in `compactd.state`, and the
    /// pins in `compactd.pins`. Details of another form stay as they are.
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

    /// The state that a compaction carries of the path before it. `None` if it carries none, or one
    /// of another path: whoever hangs an entry elsewhere need not know of it.
    pub fn before(compaction: &Entry) -> Option<Self> {
        let details = compaction.compaction()?.details.as_ref()?;
        // Details of other programs can be long, and are of no use here.
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

/// A list of ids; `None` for anything else, and as a whole if one of them is none.
fn ids(list: &Json<'_>) -> Option<Vec<EntryId>> {
    match list {
        Json::Array(items) => items.iter().map(|item| item.as_str().map(EntryId::new)).collect(),
        _ => None,
    }
}
