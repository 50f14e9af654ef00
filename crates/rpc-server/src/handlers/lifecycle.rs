//! `initialize`, `updateSettings`, `ping`, `getStatus`, `shutdown`, `rpc.discover`.

use std::path::PathBuf;
use std::sync::Arc;

use compaction_engine::session::OpenSession;
use compaction_engine::settings::{ClientSettings, SettingsLayers, summarizer_names};
use compaction_engine::{EngineError, Settings};
use rustix::process::{Resource, getrlimit};
use session_store::resolve_path;

use super::sessions::auto_model;
use crate::call::{CallContext, blocking};
use crate::client_host;
use crate::client_host::ClientPreferences;
use crate::convert;
use crate::errors::RpcError;
use crate::params::{self, check_path};
use crate::server::{Catalog, Configuration, Server};
use crate::unknown::{self, MAX_REPORTED};
use crate::wire::*;

/// The version of the protocol that this server speaks.
pub(crate) const PROTOCOL_VERSION: u64 = 1;
/// Its minor version. It grows with each addition, see `protocol/CHANGELOG.md`.
pub(crate) const PROTOCOL_MINOR_VERSION: u64 = 1;

/// The server's name and version.
pub(crate) fn server_info() -> ServerInfo {
    ServerInfo { name: "compactd".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Starts the conversation with the server.
pub(crate) async fn initialize(call: CallContext, params: InitializeParams) -> Result<InitializeResult, RpcError> {
    if params.protocol_version != PROTOCOL_VERSION {
        return Err(RpcError::UnsupportedVersion { version: params.protocol_version });
    }
    let (server, members) = (Arc::clone(&call.server), call.unknown_members());
    let configuring = blocking(move || {
        let (configuration, settings) = configure(&server, &params)?;
        let hooks = unknown_hooks(&params.capabilities.hooks);
        let diagnostics = [members, hooks, diagnostics(configuration.engine.layers())].concat();
        Ok((configuration, settings, diagnostics))
    });
    let (configuration, settings, diagnostics) = configuring.await?;
    call.server.configure(configuration)?;
    Ok(InitializeResult {
        protocol_version: PROTOCOL_VERSION,
        protocol_minor_version: PROTOCOL_MINOR_VERSION,
        max_message_bytes: call.server.max_message_bytes as u64,
        server_info: server_info(),
        capabilities: capabilities(call.server.catalog, &settings),
        settings: convert::free_object(settings.as_json()),
        diagnostics,
    })
}

fn configure(server: &Server, params: &InitializeParams) -> Result<(Configuration, Arc<Settings>), RpcError> {
    let given = [("cwd", &params.cwd), ("agentDir", &params.agent_dir), ("sessionDir", &params.session_dir)];
    for (member, path) in given {
        path.as_ref().map_or(Ok(()), |path| check_path(member, path))?;
    }
    let home = std::env::home_dir();
    let own_directory = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let cwd = params.cwd.as_ref();
    let cwd = cwd.map_or_else(own_directory, |cwd| resolve_path(cwd, &own_directory(), home.as_deref()));
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let directory = |given: Option<&String>, name: &str| {
        let text = given.cloned().or_else(|| variable(name));
        text.map(|text| resolve_path(&text, &cwd, home.as_deref()))
    };
    let agent_dir = directory(params.agent_dir.as_ref(), "PI_CODING_AGENT_DIR")
        .or_else(|| home.as_ref().map(|home| home.join(".pi").join("agent")));
    let settings_of_client = ClientSettings {
        defaults: params.default_settings.as_ref().map(|given| read_settings(given, "defaultSettings")).transpose()?,
        overrides: params.settings.as_ref().map(|given| read_settings(given, "settings")).transpose()?,
    };
    let settings = SettingsLayers::open(agent_dir.as_deref(), &cwd, settings_of_client)?;
    let first = settings.current();
    let engine = server.engine_with(settings, &params.capabilities);
    let setting = first.as_json()["sessionDir"].as_str();
    let setting = setting.map(|text| resolve_path(text, &cwd, home.as_deref()));
    let configuration = Configuration {
        session_dir: directory(params.session_dir.as_ref(), "PI_CODING_AGENT_SESSION_DIR").or(setting),
        agent_dir: agent_dir.unwrap_or_else(|| cwd.join(".pi").join("agent")),
        preferences: ClientPreferences::of(&params.capabilities),
        hooks: params.capabilities.hooks.clone(),
        process_id: params.process_id,
        durability: first.durability(),
        max_line_bytes: first.max_line_bytes(getrlimit(Resource::As).current),
        engine: Arc::new(engine.automatic(!is_switched_off())),
        cwd,
        home,
    };
    Ok((configuration, first))
}

/// Whether the environment switches automatic compaction off (docs/triggers.md, "Guards").
fn is_switched_off() -> bool {
    std::env::var("COMPACTD_DISABLE_AUTOCOMPACT").as_deref() == Ok("1")
}

/// Applies settings on top of the current ones.
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
        let layers = call.server.engine()?.layers();
        let settings = match &params.settings {
            Some(layer) => layers.update(&read_settings(layer, "settings")?)?,
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
    // The model's new window may be smaller than the context.
    if let Some(session) = changed {
        server.engine()?.check_size(&session).await;
    }
    Ok(updated)
}

/// Descriptions of files that could not be used and of unknown settings.
fn diagnostics(layers: &SettingsLayers) -> Vec<String> {
    let unknown = layers.layers().into_iter().flat_map(|(path, layer)| {
        let place = path.map_or_else(|| "settings".to_owned(), |path| path.display().to_string());
        unknown::settings(&layer).into_iter().map(move |name| format!("{place}: {}", name.message("setting")))
    });
    layers.diagnostics().into_iter().chain(unknown).collect()
}

fn unknown_hooks(names: &[String]) -> Vec<String> {
    let unknown = names.iter().filter(|name| !client_host::HOOKS.contains(&name.as_str())).take(MAX_REPORTED);
    let message = |name: &String| {
        let hint = unknown::nearest(name, client_host::HOOKS.iter().copied());
        let hint = hint.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
        let shown: String = name.chars().take(80).collect();
        format!("initialize: there is no hook {shown}, so it is never called{hint}")
    };
    unknown.map(message).collect()
}

fn read_settings(given: &FreeObject, member: &str) -> Result<serde_json::Value, RpcError> {
    let wrong = |expected| EngineError::InvalidSettings { path: member.to_owned(), expected, file: None };
    Ok(params::read_object(given.get()).map_err(wrong)?)
}

/// The open session whose automatic compaction is switched on or off.
async fn session_to_compact(call: &CallContext, params: &UpdateSettingsParams) -> Result<Arc<OpenSession>, RpcError> {
    let session_id = params.session_id.clone();
    let session_id =
        session_id.ok_or_else(|| RpcError::invalid_params("sessionId", "the session that autoCompaction is about"))?;
    // An earlier call may be about to open it.
    drop(call.unless_cancelled(async { Ok(call.server.opening.read().await) }).await?);
    call.server.sessions.get(&session_id).ok_or_else(|| RpcError::not_open(session_id))
}

fn capabilities(catalog: Catalog, settings: &Settings) -> ServerCapabilities {
    ServerCapabilities {
        methods: (catalog.methods)().into_iter().map(str::to_owned).collect(),
        notifications: catalog.notifications.iter().map(|name| (*name).to_owned()).collect(),
        hooks: client_host::HOOKS.iter().map(|name| (*name).to_owned()).collect(),
        summarizers: summarizer_names(settings.as_json()).into_iter().map(str::to_owned).collect(),
        summarize_modes: vec![SummarizeMode::Transcript, SummarizeMode::Continue],
    }
}

/// Ends all operations and closes all sessions.
pub(crate) async fn shutdown(call: CallContext, _: NoParams) -> Result<Null, RpcError> {
    Server::shut_down(&call.server).await;
    Ok(Null)
}

/// Returns the OpenRPC document.
pub(crate) async fn discover(call: CallContext, _: NoParams) -> Result<FreeObject, RpcError> {
    let document = call.server.catalog.document;
    blocking(move || Ok(convert::free_object(&document()))).await
}

/// Answers at once.
pub(crate) async fn ping(_: CallContext, _: NoParams) -> Result<Null, RpcError> {
    Ok(Null)
}

/// Describes the state of the server.
pub(crate) async fn get_status(call: CallContext, _: NoParams) -> Result<ServerStatus, RpcError> {
    let mut open = call.server.sessions.all();
    open.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let operations = open.iter().filter_map(|session| {
        Some(OperationStatus { session_id: session.id.clone(), operation_id: session.operation_id()? })
    });
    let operations = operations.collect();
    let sessions = open.iter().map(|session| OpenSessionStatus {
        session_id: session.id.clone(),
        path: session.locator.as_ref().map(ToString::to_string),
        read_only: session.is_read_only(),
        auto_compaction: session.auto_compaction.model().is_some(),
    });
    let sessions = sessions.collect();
    Ok(ServerStatus {
        server_info: server_info(),
        protocol_version: PROTOCOL_VERSION,
        protocol_minor_version: PROTOCOL_MINOR_VERSION,
        process_id: std::process::id(),
        uptime_ms: u64::try_from(call.server.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        sessions,
        operations,
        memory: blocking(|| Ok(memory())).await?,
    })
}

fn memory() -> MemoryStatus {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
    MemoryStatus {
        resident_bytes: resident.map(|kibibytes: u64| kibibytes.saturating_mul(1024)),
        limit_bytes: getrlimit(Resource::As).current,
    }
}
