//! What the settings file of a project may set.
//!
//! Who opens a strange project must not by that run its programs, send text or keys to its addresses, pay
//! for its choice of a model, write sessions where it likes, lose what a crash takes, or have summaries
//! written by its words. So its file sets how much is kept and which tools touch files, and nothing else
//! that this program knows. `compactd.trustProject` of any other layer lets it set everything.

use std::path::Path;

use serde_json::Value;

/// Members that only other layers set. What this program does not know is for other readers of the file.
const NOT_OF_A_PROJECT: [&str; 2] = ["sessionDir", "retry"];

/// The members of `compactd` that a project sets, so that a new one is none of them unless somebody says so.
const OF_A_PROJECT: [&str; 1] = ["fileTools"];

/// Members that are told of by name, and characters of a name, which the project chooses.
const TOLD: usize = 12;
const NAME_CHARACTERS: usize = 40;

/// Whether the project is trusted by these layers: the last one that says so counts.
pub(super) fn is_trusted<'a>(layers: impl Iterator<Item = &'a Value>) -> bool {
    layers.filter_map(|layer| layer.get("compactd")?.get("trustProject")?.as_bool()).last().unwrap_or(false)
}

/// Takes out of the layer of the file at `path` what a project cannot set, and tells what that was.
pub(super) fn restrict(layer: &mut Value, path: &Path) -> Option<String> {
    let mut taken = Vec::new();
    let mut take = |object: Option<&mut Value>, prefix: &str, is_allowed: fn(&str) -> bool| {
        if let Some(object) = object.and_then(Value::as_object_mut) {
            object.retain(|name, _| {
                let is_kept = is_allowed(name);
                taken.extend((!is_kept).then(|| format!("{prefix}{}", shown(name))));
                is_kept
            });
        }
    };
    take(Some(&mut *layer), "", |name| !NOT_OF_A_PROJECT.contains(&name));
    take(layer.get_mut("compactd"), "compactd.", |name| OF_A_PROJECT.contains(&name));
    (!taken.is_empty()).then(|| told(&taken, path))
}

fn told(taken: &[String], path: &Path) -> String {
    let mut names = taken[..taken.len().min(TOLD)].join(", ");
    if taken.len() > TOLD {
        names += &format!(" and {} more", taken.len() - TOLD);
    }
    let way = "a project sets that only where the agent's or the client's settings have compactd.trustProject";
    format!("ignored in {}: {names}; {way}", path.display())
}

fn shown(name: &str) -> String {
    name.chars().take(NAME_CHARACTERS).flat_map(char::escape_debug).collect()
}
