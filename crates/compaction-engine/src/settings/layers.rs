//! The layers that settings come from, and their changes while the process runs.
//!
//! Files are checked when a call needs settings; they are not watched. A call therefore sees what was saved before
//! it, and nothing changes between calls. A file that gets a wrong value is reported in the log and leaves the
//! settings as they were, because a running server must neither exit nor silently fall back to defaults. `initialize`
//! and `updateSettings` fail instead, because a caller waits for their answer.
//!
//! Opening a foreign project must not run its programs, send text or keys to its addresses, pay for its choice of a
//! model, write sessions to its paths, weaken durability, or use its prompts. The settings file of a project
//! therefore sets only how much is kept and which tools touch files. `compactd.trustProject` in any other layer lets
//! it set everything.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::{Map, Value};
use session_store::read_regular_file;

use super::{Settings, may_project_set, merge};
use crate::error::EngineError;

/// The bytes that some editors write before a UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Maximum bytes of a settings file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The settings that a client gives when it starts the server.
#[derive(Debug, Default)]
pub struct ClientSettings {
    /// `initialize.defaultSettings`, below the files.
    pub defaults: Option<Value>,
    /// `initialize.settings`, over the files.
    pub overrides: Option<Value>,
}

/// The current settings and the layers that they are merged from.
#[derive(Debug)]
pub struct SettingsLayers {
    files: Vec<PathBuf>,
    client: ClientSettings,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The state of the files when they were read.
    stamps: Vec<Option<Stamp>>,
    /// The objects in the files, the project's last.
    layers: Vec<Option<Value>>,
    /// The merged layers of `updateSettings`.
    updates: Value,
    settings: Arc<Settings>,
    /// Files that could not be read.
    unreadable: Vec<String>,
    /// The report of ignored members of the project's file.
    ignored: Option<String>,
}

/// Identifies a state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl SettingsLayers {
    /// Reads `<agent_dir>/settings.json` and `<cwd>/.pi/settings.json` and puts them between the settings of the
    /// client. From the second file only the members that a project may set count. A file that is broken, too large
    /// or not a regular file counts as empty.
    ///
    /// # Errors
    /// [`EngineError::InvalidSettings`] at the first wrong value.
    pub fn open(agent_dir: Option<&Path>, cwd: &Path, client: ClientSettings) -> Result<Self, EngineError> {
        let of_agent = agent_dir.map(|directory| directory.join("settings.json"));
        let files: Vec<PathBuf> = of_agent.into_iter().chain([cwd.join(".pi").join("settings.json")]).collect();
        let updates = Value::Object(Map::new());
        let stamps = stamps(&files);
        let (layers, unreadable) = read_all(&files);
        let (settings, ignored) = merged(&files, &layers, &client, &updates)?;
        let state = Mutex::new(State { stamps, layers, updates, settings: Arc::new(settings), unreadable, ignored });
        Ok(Self { files, client, state })
    }

    /// These settings alone, without files.
    pub fn without_files(settings: &Settings) -> Self {
        let updates = Value::Object(Map::new());
        let (stamps, layers, unreadable) = (Vec::new(), Vec::new(), Vec::new());
        let client = ClientSettings { defaults: None, overrides: Some(settings.as_json().clone()) };
        let settings = Arc::new(settings.clone());
        let state = Mutex::new(State { stamps, layers, updates, settings, unreadable, ignored: None });
        Self { files: Vec::new(), client, state }
    }

    /// The current settings. Checks each file and reads it again if it has changed.
    pub fn current(&self) -> Arc<Settings> {
        let mut state = self.lock();
        let stamps = stamps(&self.files);
        if stamps != state.stamps {
            state.stamps = stamps;
            self.read_again(&mut state);
        }
        Arc::clone(&state.settings)
    }

    /// Puts `layer` over all layers, including earlier updates.
    ///
    /// # Errors
    /// [`EngineError::InvalidSettings`] at the first wrong value; nothing changes then.
    pub fn update(&self, layer: &Value) -> Result<Arc<Settings>, EngineError> {
        self.current();
        let mut state = self.lock();
        if !layer.is_object() {
            return Err(EngineError::invalid_setting("settings", "an object"));
        }
        let mut updates = state.updates.clone();
        merge(&mut updates, layer);
        let (settings, ignored) = merged(&self.files, &state.layers, &self.client, &updates)?;
        state.updates = updates;
        state.settings = Arc::new(settings);
        state.ignored = ignored;
        Ok(Arc::clone(&state.settings))
    }

    /// Reports of files that could not be used.
    pub fn diagnostics(&self) -> Vec<String> {
        let state = self.lock();
        state.unreadable.iter().chain(&state.ignored).cloned().collect()
    }

    /// The layers of the settings, each with its file, if it has one.
    pub fn layers(&self) -> Vec<(Option<PathBuf>, Value)> {
        let state = self.lock();
        let files = self.files.iter().zip(&state.layers);
        let of_files = files.filter_map(|(path, layer)| Some((Some(path.clone()), layer.clone()?)));
        let of_client = |layer: &Value| (None, layer.clone());
        let ClientSettings { defaults, overrides } = &self.client;
        let above = overrides.iter().chain([&state.updates]).map(of_client);
        defaults.iter().map(of_client).chain(of_files).chain(above).collect()
    }

    fn read_again(&self, state: &mut State) {
        let (layers, mut unreadable) = read_all(&self.files);
        match merged(&self.files, &layers, &self.client, &state.updates) {
            Ok((settings, ignored)) => {
                state.layers = layers;
                state.settings = Arc::new(settings);
                state.ignored = ignored;
            }
            Err(error) => unreadable.push(format!("the settings before the last change stay in force: {error}")),
        }
        for diagnostic in unreadable.iter().chain(&state.ignored) {
            tracing::warn!("{diagnostic}");
        }
        state.unreadable = unreadable;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one assignment, so the state is valid even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    files.iter().map(|path| std::fs::metadata(path).ok().map(|metadata| stamp(&metadata))).collect()
}

fn stamp(metadata: &std::fs::Metadata) -> Stamp {
    let inode = std::os::unix::fs::MetadataExt::ino(metadata);
    Stamp { length: metadata.len(), modified: metadata.modified().ok(), inode }
}

fn read_all(files: &[PathBuf]) -> (Vec<Option<Value>>, Vec<String>) {
    let mut diagnostics = Vec::new();
    let mut read = |path: &PathBuf| match read_object(path) {
        Ok(layer) => layer,
        Err(reason) => {
            diagnostics.push(format!("settings file {} counts as empty: {reason}", path.display()));
            None
        }
    };
    let layers = files.iter().map(&mut read).collect();
    (layers, diagnostics)
}

/// The merged settings, and a report of ignored members of the project's file.
fn merged(
    files: &[PathBuf],
    layers: &[Option<Value>],
    client: &ClientSettings,
    updates: &Value,
) -> Result<(Settings, Option<String>), EngineError> {
    let mut layers: Vec<Option<Value>> = layers.to_vec();
    let of_agent = layers.split_last().and_then(|(_, before)| before.first()?.as_ref());
    let ClientSettings { defaults, overrides } = client;
    let is_trusted = is_trusted([defaults.as_ref(), of_agent, overrides.as_ref(), Some(updates)].into_iter().flatten());
    let own = layers.last_mut().and_then(Option::as_mut).zip(files.last()).filter(|_| !is_trusted);
    let ignored = own.and_then(|(layer, path)| restrict(layer, path));
    let mut settings = Settings::default();
    if let Some(defaults) = defaults {
        settings = settings.with(defaults)?;
    }
    for (path, layer) in files.iter().zip(layers) {
        if let Some(layer) = layer {
            settings = settings.with(&layer).map_err(|error| error.in_file(path))?;
        }
    }
    if let Some(overrides) = overrides {
        settings = settings.with(overrides)?;
    }
    Ok((settings.with(updates)?, ignored))
}

/// The object in a settings file; `None` if there is no file.
fn read_object(path: &Path) -> Result<Option<Value>, String> {
    match read_regular_file(path, MAX_FILE_BYTES) {
        Ok(text) => serde_json::from_slice::<Map<String, Value>>(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text))
            .map(|layer| Some(Value::Object(layer)))
            .map_err(|error| format!("it holds no JSON object: {error}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Maximum number of ignored members that are named, and maximum characters of a name, which the project chooses.
const MAX_NAMES: usize = 12;
const NAME_CHARACTERS: usize = 40;

/// Whether these layers trust the project. The last layer that sets it counts.
pub(super) fn is_trusted<'a>(layers: impl Iterator<Item = &'a Value>) -> bool {
    layers.filter_map(|layer| layer.get("compactd")?.get("trustProject")?.as_bool()).last().unwrap_or(false)
}

/// Removes from the layer of the file at `path` what a project cannot set, and reports what was removed.
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
    take(Some(&mut *layer), "", |name| may_project_set(&[name]));
    take(layer.get_mut("compactd"), "compactd.", |name| may_project_set(&["compactd", name]));
    (!taken.is_empty()).then(|| ignored_members(&taken, path))
}

fn ignored_members(taken: &[String], path: &Path) -> String {
    let mut names = taken[..taken.len().min(MAX_NAMES)].join(", ");
    if taken.len() > MAX_NAMES {
        names += &format!(" and {} more", taken.len() - MAX_NAMES);
    }
    let way = "a project sets that only where the agent's or the client's settings have compactd.trustProject";
    format!("ignored in {}: {names}; {way}", path.display())
}

fn shown(name: &str) -> String {
    name.chars().take(NAME_CHARACTERS).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn over(overrides: Value) -> ClientSettings {
        ClientSettings { defaults: None, overrides: Some(overrides) }
    }

    struct Place {
        directory: tempfile::TempDir,
        layers: SettingsLayers,
    }

    impl Place {
        fn new(given: Value) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let layers = SettingsLayers::open(Some(directory.path()), directory.path(), over(given)).unwrap();
            Self { directory, layers }
        }

        /// Replaces the settings by another file, as careful editors do.
        fn save(&self, text: &str) {
            let written = self.directory.path().join("settings.json.new");
            std::fs::write(&written, text).unwrap();
            std::fs::rename(written, self.directory.path().join("settings.json")).unwrap();
        }

        fn check(&self, keep: u64, reserve: u64, diagnostics: usize) {
            let compaction = self.layers.current().compaction();
            assert_eq!((compaction.keep_recent_tokens, compaction.reserve_tokens), (keep, reserve));
            assert_eq!(self.layers.diagnostics().len(), diagnostics, "{:?}", self.layers.diagnostics());
        }
    }

    fn compaction(key: &str, value: Value) -> Value {
        json!({ "compaction": { key: value } })
    }

    #[test]
    fn files_are_read_again_when_they_have_changed() {
        let place = Place::new(compaction("reserveTokens", json!(7)));
        place.check(20_000, 7, 0);
        place.save(&compaction("keepRecentTokens", json!(1)).to_string());
        place.check(1, 7, 0);
        place.save(&json!({ "compaction": { "keepRecentTokens": 2, "reserveTokens": 3 } }).to_string());
        place.check(2, 7, 0);
        place.save(&format!("\u{feff}{}", json!({ "compaction": { "keepRecentTokens": 4 } })));
        place.check(4, 7, 0);
        std::fs::remove_file(place.directory.path().join("settings.json")).unwrap();
        place.check(20_000, 7, 0);
        assert!(Arc::ptr_eq(&place.layers.current(), &place.layers.current()));
    }

    #[test]
    fn files_override_the_defaults_of_the_client() {
        let directory = tempfile::tempdir().unwrap();
        let defaults = json!({ "compaction": { "keepRecentTokens": 1, "reserveTokens": 2 } });
        let client =
            ClientSettings { defaults: Some(defaults), overrides: Some(compaction("reserveTokens", json!(7))) };
        let layers = SettingsLayers::open(Some(directory.path()), directory.path(), client).unwrap();
        let place = Place { directory, layers };
        place.check(1, 7, 0);
        place.save(&json!({ "compaction": { "keepRecentTokens": 3, "reserveTokens": 4 } }).to_string());
        place.check(3, 7, 0);
        let layers: Vec<Value> = place.layers.layers().into_iter().map(|(_, layer)| layer).collect();
        assert_eq!(layers.len(), 4, "{layers:?}");
        let client = ClientSettings { defaults: Some(compaction("keepRecentTokens", json!("many"))), overrides: None };
        let error = SettingsLayers::open(None, place.directory.path(), client).unwrap_err();
        assert!(error.to_string().contains("compaction.keepRecentTokens"), "{error}");
    }

    #[test]
    fn a_wrong_value_leaves_the_settings_in_force() {
        let place = Place::new(json!({}));
        place.save(&compaction("keepRecentTokens", json!(1)).to_string());
        place.check(1, 16_384, 0);
        place.save(&compaction("keepRecentTokens", json!("many")).to_string());
        place.check(1, 16_384, 1);
        let [diagnostic] = &place.layers.diagnostics()[..] else { panic!("there is one") };
        assert!(
            diagnostic.contains("settings.json") && diagnostic.contains("compaction.keepRecentTokens"),
            "{diagnostic}"
        );
        place.layers.update(&compaction("reserveTokens", json!(5))).unwrap();
        place.check(1, 5, 1);
        place.save(&compaction("keepRecentTokens", json!(3)).to_string());
        place.check(3, 5, 0);
    }

    /// An agent directory and a project whose file contains `own`.
    fn project(own: &Value) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(".pi")).unwrap();
        std::fs::write(directory.path().join(".pi/settings.json"), own.to_string()).unwrap();
        directory
    }

    fn strange() -> Value {
        let evil = json!({ "provider": "command", "command": ["sh", "-c", "true"] });
        json!({
            "sessionDir": "/elsewhere", "retry": { "maxRetries": 1_000_000 }, "theme": "dark",
            "compaction": { "keepRecentTokens": 7 },
            "compactd": {
                "summarizers": { "evil": evil }, "summarizer": "evil", "redaction": { "enabled": false },
                "durability": "none", "prompts": { "system": "obey" }, "trustProject": true, "new": 1,
                "fileTools": { "read": ["open"] },
            },
        })
    }

    #[test]
    fn a_project_sets_how_much_is_kept_and_no_more() {
        let directory = project(&strange());
        let layers = SettingsLayers::open(Some(directory.path()), directory.path(), ClientSettings::default()).unwrap();
        let settings = layers.current();
        assert_eq!(settings.compaction().keep_recent_tokens, 7);
        let expected = json!({
            "durability": "checkpoint", "summarizer": "extractive", "fileTools": { "read": ["open"] }
        });
        assert_eq!(settings.as_json()["compactd"], expected);
        assert_eq!(settings.as_json()["theme"], "dark");
        assert!(settings.as_json().get("sessionDir").is_none() && settings.as_json().get("retry").is_none());
        assert!(settings.redaction().redactor().is_some());
        let [diagnostic] = &layers.diagnostics()[..] else { panic!("there is one") };
        for member in ["sessionDir", "retry", "compactd.summarizers", "compactd.durability", "compactd.prompts"] {
            assert!(diagnostic.contains(member), "{diagnostic}");
        }
        assert!(layers.update(&json!({ "compactd": { "summarizer": "evil" } })).is_err(), "there is no such model");
    }

    #[test]
    fn a_project_that_the_host_trusts_sets_everything() {
        let directory = project(&strange());
        let trust = |trust: bool| json!({ "compactd": { "trustProject": trust } });
        let check = |layers: &SettingsLayers, is_trusted: bool| {
            let is_set = layers.current().as_json()["compactd"]["durability"] == "none";
            assert_eq!((is_set, layers.diagnostics().len()), (is_trusted, usize::from(!is_trusted)));
            assert_eq!(layers.current().summarizers(), [if is_trusted { "evil" } else { "extractive" }]);
        };
        let layers = SettingsLayers::open(Some(directory.path()), directory.path(), over(trust(true))).unwrap();
        check(&layers, true);
        layers.update(&trust(false)).unwrap();
        check(&layers, false);
        std::fs::write(directory.path().join("settings.json"), trust(true).to_string()).unwrap();
        let layers = SettingsLayers::open(Some(directory.path()), directory.path(), ClientSettings::default()).unwrap();
        check(&layers, true);
        let layers = SettingsLayers::open(Some(directory.path()), directory.path(), over(trust(false))).unwrap();
        check(&layers, false);
        let wrong = json!({ "compactd": { "trustProject": "yes" } });
        assert!(layers.update(&wrong).is_err());
        check(&layers, false);
    }

    #[test]
    fn what_is_no_regular_file_of_bounded_size_counts_as_empty() {
        let place = Place::new(json!({}));
        place.save(&json!({ "theme": "x".repeat(1 << 20), "compaction": { "keepRecentTokens": 1 } }).to_string());
        place.check(20_000, 16_384, 1);
        std::fs::remove_file(place.directory.path().join("settings.json")).unwrap();
        for target in ["/dev/zero", "/proc/self/status", "/"] {
            let path = place.directory.path().join("settings.json");
            std::os::unix::fs::symlink(target, &path).unwrap();
            place.check(20_000, 16_384, 1);
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_broken_file_counts_as_empty() {
        let place = Place::new(json!({}));
        place.save(&compaction("keepRecentTokens", json!(1)).to_string());
        place.check(1, 16_384, 0);
        place.save("{\"compaction\":");
        place.check(20_000, 16_384, 1);
    }

    #[test]
    fn updates_lie_over_everything_and_add_up() {
        let place = Place::new(compaction("reserveTokens", json!(7)));
        place.layers.update(&compaction("reserveTokens", json!(8))).unwrap();
        place.layers.update(&compaction("keepRecentTokens", json!(9))).unwrap();
        place.check(9, 8, 0);
        for wrong in [json!([]), json!(null), compaction("keepRecentTokens", json!(-1)), json!({ "compaction": 1 })] {
            assert!(place.layers.update(&wrong).is_err(), "{wrong}");
        }
        place.check(9, 8, 0);
    }
}
