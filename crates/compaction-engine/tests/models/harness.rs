//! Asks models as the server does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use compaction_core::prompts::{RequestKind, SummaryRequest};
use compaction_engine::host::{Host, NoHost, OperationKind};
use compaction_engine::models::{Answer, Model, ModelError, RequestContext};
use compaction_engine::models::{Environment, ModelConfiguration, PrintedKeys, model_of};
use compaction_engine::summarizers::JobContext;
use serde_json::{Value, json};
use tokio::time::Instant;

/// The key of all tests. Only the header for the key may contain it.
pub(super) const KEY: &str = "sk-sentinel-3c1d77";
/// A secret in a header of the settings.
pub(super) const HEADER_SECRET: &str = "header-sentinel-99ab";

/// The variables that hold the keys of providers.
const KEY_VARIABLES: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "GOOGLE_OAUTH_ACCESS_TOKEN",
];

/// The model `name` with these settings and the secrets of the tests.
pub(super) fn model(name: &str, summarizer: &Value) -> Arc<dyn Model> {
    model_with(name, summarizer, &PrintedKeys::default())
}

/// The same, with printed keys.
pub(super) fn model_with(name: &str, summarizer: &Value, printed_keys: &PrintedKeys) -> Arc<dyn Model> {
    let settings = json!({ "compactd": { "summarizers": { name: summarizer } } });
    let configuration = ModelConfiguration::read(name, &settings).unwrap();
    let keys = KEY_VARIABLES.map(|name| (name, format!("{KEY}\n")));
    let others = [("HEADER_SECRET", HEADER_SECRET.to_owned()), ("TWO_LINES", "two\nlines".to_owned())];
    let environment: Environment = keys.into_iter().chain(others).map(|(name, text)| (name.to_owned(), text)).collect();
    let environment = environment.with_printed_keys(printed_keys);
    let model = model_of(&configuration, &environment).unwrap();
    let shown = format!("{configuration:?} {model:?} {environment:?}");
    assert!(!shown.contains("sentinel"), "{shown}");
    model
}

/// The request of all tests.
pub(super) fn request() -> SummaryRequest {
    SummaryRequest {
        kind: RequestKind::History,
        system_prompt: "You summarise.".to_owned(),
        prompt: "<conversation>\nGrüße, 世界 🦀\n</conversation>".to_owned(),
        max_tokens: 321,
        estimated_tokens: 20,
    }
}

/// The session and the operation of all tests.
pub(super) fn context() -> RequestContext {
    RequestContext { session_id: "session".to_owned(), operation_id: "operation".to_owned() }
}

/// A job context without a host.
pub(super) fn job_context() -> JobContext {
    let host: Arc<dyn Host> = Arc::new(NoHost);
    JobContext::new(&host, OperationKind::Compaction, context(), 1, Instant::now() + Duration::from_secs(600))
}

/// Runs a future on a runtime like the server's.
pub(super) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Makes the request of all tests. The second value is the streamed text.
pub(super) fn ask(model: &dyn Model, request: &SummaryRequest) -> (Result<Answer, ModelError>, String) {
    let streamed = Mutex::new(String::new());
    let outcome = run(model.complete(request, &context(), &|piece| streamed.lock().unwrap().push_str(piece)));
    let streamed = streamed.into_inner().unwrap();
    if let Err(error) = &outcome {
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("sentinel"), "{shown}");
        assert!(!error.cause.chars().any(char::is_control), "{}", error.cause);
        assert!(error.cause.chars().count() < 1500, "{}", error.cause);
    }
    (outcome, streamed)
}
