//! Where the method of a provider lies under its address.

use super::members::Members;
use super::{Api, BaseUrl, Provider};
use crate::error::EngineError;

/// The region of Vertex AI that is none.
pub(super) const GLOBAL: &str = "global";

/// Path and query under the base address.
pub(super) struct Target {
    /// The path.
    pub(super) path: String,
    /// The query, beside that of the base address.
    pub(super) query: Option<String>,
}

/// The place of the method that `api` means at `provider`.
pub(super) fn target(
    provider: Provider,
    api: Api,
    base_url: &BaseUrl,
    model: &str,
    members: &Members<'_>,
) -> Result<Target, EngineError> {
    let plain = |path: &str| Ok(Target { path: path.to_owned(), query: None });
    match (provider, api) {
        (Provider::Azure, _) => azure(api, base_url, model, members),
        (Provider::Vertex, _) => vertex(model, members),
        (Provider::Bedrock, Api::Messages) => plain("/anthropic/v1/messages"),
        (_, Api::Converse) => plain(&format!("/model/{}/converse-stream", encoded(model))),
        // Gateways often have the version in their address.
        (_, Api::Messages | Api::VertexMessages) if base_url.ends_with("/v1") => plain("/messages"),
        (_, Api::Messages | Api::VertexMessages) => plain("/v1/messages"),
        (_, Api::Chat) => plain("/chat/completions"),
        (_, Api::Responses) => plain("/responses"),
        (_, Api::Gemini) => {
            let folder = if model.contains('/') { "" } else { "models/" };
            let path = format!("/{folder}{model}:streamGenerateContent");
            Ok(Target { path, query: Some("alt=sse".to_owned()) })
        }
    }
}

/// Azure's methods: those of its first version have no date, and the body names the deployment; those
/// with a date lie under the deployment.
fn azure(api: Api, base_url: &BaseUrl, model: &str, members: &Members<'_>) -> Result<Target, EngineError> {
    let method = if api == Api::Responses { "/responses" } else { "/chat/completions" };
    let root = if base_url.ends_with("/openai") { "" } else { "/openai" };
    let Some(version) = members.text("apiVersion", VERSION)? else {
        let path = match base_url.ends_with("/openai/v1") {
            true => method.to_owned(),
            false => format!("{root}/v1{method}"),
        };
        return Ok(Target { path, query: None });
    };
    if !version.chars().all(|character| character.is_ascii_alphanumeric() || "-.".contains(character)) {
        return Err(members.wrong("apiVersion", VERSION));
    }
    let path = match api {
        Api::Responses => format!("{root}{method}"),
        _ if base_url.ends_with(&format!("/deployments/{model}")) => method.to_owned(),
        _ => format!("{root}/deployments/{}{method}", encoded(model)),
    };
    Ok(Target { path, query: Some(format!("api-version={version}")) })
}

const VERSION: &str = "a version of Azure's interface, such as 2024-10-21";

fn vertex(model: &str, members: &Members<'_>) -> Result<Target, EngineError> {
    let project = place_name(members, "project")?;
    let project = project.ok_or_else(|| members.wrong("project", "the id of a project of Google Cloud"))?;
    let region = place_name(members, "region")?.unwrap_or(GLOBAL);
    let path = format!(
        "/v1/projects/{project}/locations/{region}/publishers/anthropic/models/{}:streamRawPredict",
        model.replace('/', "%2F")
    );
    Ok(Target { path, query: None })
}

/// The name of a region or project, which becomes a part of the address.
pub(super) fn place_name<'a>(members: &Members<'a>, key: &str) -> Result<Option<&'a str>, EngineError> {
    const NAME: &str = "a name of letters, digits and hyphens";
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-:.".contains(character);
    match members.text(key, NAME)? {
        Some(name) if !name.chars().all(is_plain) => Err(members.wrong(key, NAME)),
        name => Ok(name),
    }
}

/// A model's name as one segment of a path: names of Bedrock hold colons and slashes.
fn encoded(model: &str) -> String {
    model.replace(':', "%3A").replace('/', "%2F").replace('@', "%40")
}
