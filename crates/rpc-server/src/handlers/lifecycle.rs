//! `initialize`, `updateSettings`, `shutdown`, `rpc.discover`.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit};

use crate::auto_compaction;
use crate::call::{CallContext, blocking};
use crate::convert;
use crate::errors::RpcError;
use crate::handlers::sessions::auto_model;
use crate::hooks;
use crate::methods::{METHODS, NOTIFICATIONS};
use crate::openrpc;
use crate::params;
use crate::server::{Configuration, Server, without_dots};
use crate::session::OpenSession;
use crate::settings::{Settings, SettingsLayers};
use crate::summarizers;
use crate::unknown::{self, MOST_TOLD};
use crate::wire::*;

/// The version of the protocol that this server speaks.
pub(crate) const PROTOCOL_VERSION: u64 = 1;
/// Its minor version: it grows with what is added, see `protocol/CHANGELOG.md`.
pub(crate) const PROTOCOL_MINOR_VERSION: u64 = 1;

/// Who the server is.
pub(crate) fn server_info() -> ServerInfo {
    ServerInfo { name: "compactd".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Starts the conversation with the server.
pub(crate) async fn initialize(call: CallContext, params: InitializeParams) -> Result<InitializeResult, RpcError> {
    if params.protocol_version != PROTOCOL_VERSION {
        return Err(RpcError::UnsupportedVersion { version: params.protocol_version });
    }
    let hooks = unknown_hooks(&params.capabilities.hooks);
    let (configuration, settings) = blocking(move || configure(&params)).await?;
    let diagnostics = [call.unknown_members(), hooks, diagnostics(&configuration.settings)].concat();
    call.server.configure(configuration)?;
    Ok(InitializeResult {
        protocol_version: PROTOCOL_VERSION,
        protocol_minor_version: PROTOCOL_MINOR_VERSION,
        server_info: server_info(),
        capabilities: capabilities(&settings),
        settings: convert::free_object(settings.as_json()),
        diagnostics,
    })
}

fn configure(params: &InitializeParams) -> Result<(Configuration, Arc<Settings>), RpcError> {
    let given = [("cwd", &params.cwd), ("agentDir", &params.agent_dir), ("sessionDir", &params.session_dir)];
    for (member, path) in given {
        path.as_ref().map_or(Ok(()), |path| check_path(member, path))?;
    }
    let own_directory = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let cwd =
        params.cwd.as_ref().map_or_else(own_directory, |cwd| without_dots(&own_directory().join(expand_home(cwd))));
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let directory = |given: Option<&String>, name: &str| {
        let text = given.cloned().or_else(|| variable(name));
        text.map(|text| without_dots(&cwd.join(expand_home(&text))))
    };
    let agent_dir = directory(params.agent_dir.as_ref(), "PI_CODING_AGENT_DIR")
        .or_else(|| std::env::home_dir().map(|home| home.join(".pi").join("agent")));
    let given = params.settings.as_ref();
    let given = given.map(read_settings).transpose()?;
    let settings = SettingsLayers::open(agent_dir.as_deref(), &cwd, given)?;
    let first = settings.current();
    let setting = first.as_json()["sessionDir"].as_str().map(|text| cwd.join(expand_home(text)));
    let configuration = Configuration {
        session_dir: directory(params.session_dir.as_ref(), "PI_CODING_AGENT_SESSION_DIR").or(setting),
        agent_dir: agent_dir.unwrap_or_else(|| cwd.join(".pi").join("agent")),
        wants_progress: params.capabilities.progress.unwrap_or(true),
        wants_entry_bodies: params.capabilities.entry_bodies.unwrap_or(true),
        wants_ledgers: params.capabilities.ledgers.unwrap_or(true),
        client_summarizes: params.capabilities.summarize,
        hooks: params.capabilities.hooks.clone(),
        process_id: params.process_id,
        durability: first.durability(),
        max_line_bytes: first.max_line_bytes(getrlimit(Resource::As).current),
        settings,
        cwd,
    };
    Ok((configuration, first))
}

/// Lays settings over those in force.
pub(crate) async fn update_settings(
    call: CallContext,
    params: UpdateSettingsParams,
) -> Result<UpdateSettingsResult, RpcError> {
    let session = match &params.auto_compaction {
        None => None,
        Some(options) => Some((session_to_compact(&call, &params).await?, auto_model(options.as_ref())?)),
    };
    let server = Arc::clone(&call.server);
    let changed = session.as_ref().map(|(session, _)| Arc::clone(session));
    let updating = blocking(move || {
        let layers = &call.server.configuration()?.settings;
        let settings = match &params.settings {
            Some(layer) => layers.update(&read_settings(layer)?)?,
            None => layers.current(),
        };
        if let Some((session, model)) = session {
            session.auto_compaction.set(model);
        }
        Ok(UpdateSettingsResult {
            settings: convert::free_object(settings.as_json()),
            diagnostics: [call.unknown_members(), diagnostics(layers)].concat(),
        })
    });
    let updated = updating.await?;
    // The window of the model may be smaller than the context by now.
    if let Some(session) = changed {
        auto_compaction::check_size(&server, &session).await;
    }
    Ok(updated)
}

/// What tells of files that could not be used, and of settings that nothing reads.
fn diagnostics(layers: &SettingsLayers) -> Vec<String> {
    let unknown = layers.layers().into_iter().flat_map(|(path, layer)| {
        let place = path.map_or_else(|| "settings".to_owned(), |path| path.display().to_string());
        unknown::settings(&layer).into_iter().map(move |name| format!("{place}: {}", name.message("setting")))
    });
    layers.diagnostics().into_iter().chain(unknown).collect()
}

fn unknown_hooks(names: &[String]) -> Vec<String> {
    let unknown = names.iter().filter(|name| !hooks::NAMES.contains(&name.as_str())).take(MOST_TOLD);
    let told = |name: &String| {
        let hint = unknown::nearest(name, hooks::NAMES.iter().copied());
        let hint = hint.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
        let shown: String = name.chars().take(80).collect();
        format!("initialize: there is no hook {shown}, so it is never called{hint}")
    };
    unknown.map(told).collect()
}

fn read_settings(given: &FreeObject) -> Result<serde_json::Value, RpcError> {
    let wrong = |expected| RpcError::InvalidSettings { path: "settings".to_owned(), expected, file: None };
    params::read_object(given.get()).map_err(wrong)
}

/// The open session that shall be compacted by itself, or no more.
async fn session_to_compact(call: &CallContext, params: &UpdateSettingsParams) -> Result<Arc<OpenSession>, RpcError> {
    let session_id = params.session_id.clone();
    let session_id =
        session_id.ok_or_else(|| RpcError::invalid_params("sessionId", "the session that autoCompaction is about"))?;
    // It may be about to be opened by a call that came before this one.
    drop(call.unless_cancelled(async { Ok(call.server.opening.read().await) }).await?);
    call.server.sessions.get(&session_id).ok_or(RpcError::SessionNotOpen { session_id })
}

/// Fails with `invalidParams` for a path that no system takes.
pub(crate) fn check_path(member: &str, path: &str) -> Result<(), RpcError> {
    match path.contains('\0') {
        true => Err(RpcError::invalid_params(member, "a path without a NUL")),
        false => Ok(()),
    }
}

/// A path with a leading `~` replaced by the home directory.
pub(crate) fn expand_home(path: &str) -> PathBuf {
    let rest = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    match rest.zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(path),
    }
}

fn capabilities(settings: &Settings) -> ServerCapabilities {
    ServerCapabilities {
        methods: METHODS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        notifications: NOTIFICATIONS.iter().map(|name| (*name).to_owned()).collect(),
        hooks: hooks::NAMES.iter().map(|name| (*name).to_owned()).collect(),
        summarizers: summarizers::names(settings.as_json()).into_iter().map(str::to_owned).collect(),
    }
}

/// Ends all operations and closes all sessions.
pub(crate) async fn shutdown(call: CallContext, _: NoParams) -> Result<Null, RpcError> {
    Server::shut_down(&call.server).await;
    Ok(Null)
}

/// Gives the OpenRPC document.
pub(crate) async fn discover(_: CallContext, _: NoParams) -> Result<FreeObject, RpcError> {
    blocking(|| Ok(convert::free_object(&openrpc::document()))).await
}
