use serde_json::json;

use super::*;

fn settings(summarizers: &Value) -> Value {
    json!({ "compactd": { "summarizers": summarizers } })
}

fn http_of(name: &str, summarizer: &Value) -> HttpConfiguration {
    match ModelConfiguration::read(name, &settings(&json!({ name: summarizer }))).unwrap().access {
        Access::Http(http) => *http,
        Access::Command(_) => panic!("{name} is a command"),
    }
}

fn path_of(error: EngineError) -> String {
    match error {
        EngineError::InvalidSettings { path, .. } => path,
        error => panic!("{error}"),
    }
}

#[test]
fn providers_need_a_model_alone() {
    for (name, api, host, key) in [
        ("anthropic", Api::Messages, "api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("openai", Api::Chat, "api.openai.com", "OPENAI_API_KEY"),
        ("gemini", Api::Gemini, "generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    ] {
        let http = http_of(name, &json!({ "model": "m" }));
        assert_eq!((http.api, http.base_url.host().as_str()), (api, host));
        assert_eq!(http.key, KeySource::Variable(key.to_owned()));
        assert!(http.is_own_server);
    }
}

#[test]
fn several_models_can_have_one_provider() {
    let ollama = json!({ "provider": "openai", "model": "qwen3", "baseUrl": "http://localhost:11434/v1",
        "apiKeyEnv": null, "contextWindow": 32768, "unknown": 1 });
    let all = settings(&json!({ "ollama": ollama, "openai": { "model": "m", "api": "responses" } }));
    assert_eq!(model_names(&all), ["anthropic", "openai", "gemini", "azure", "bedrock", "vertex", "command", "ollama"]);
    check(&all).unwrap();
    let read = ModelConfiguration::read("ollama", &all).unwrap();
    assert_eq!(read.limits, ModelLimits { context_window: Some(32_768), max_output_tokens: None });
    let http = http_of("ollama", &ollama);
    assert_eq!((http.key, http.is_own_server, http.max_tokens_parameter), (KeySource::None, false, "max_tokens"));
    assert_eq!(http_of("openai", &json!({ "model": "m" })).max_tokens_parameter, "max_completion_tokens");
}

#[test]
fn a_command_is_a_program_with_arguments() {
    let all =
        settings(&json!({ "mine": { "provider": "command", "command": ["llm", "-m", "x"], "env": { "A": "b" } } }));
    let Access::Command(command) = ModelConfiguration::read("mine", &all).unwrap().access else {
        panic!("it is no command");
    };
    assert_eq!((command.program.as_str(), command.arguments.len()), ("llm", 2));
    assert_eq!(command.variables, [("A".to_owned(), "b".to_owned())]);
}

#[test]
fn mistakes_are_named_by_their_path() {
    for (name, summarizer, path) in [
        ("mine", json!(1), ""),
        ("mine", json!({}), ".provider"),
        ("mine", json!({ "provider": "nobody" }), ".provider"),
        ("anthropic", json!({}), ".model"),
        ("anthropic", json!({ "model": " " }), ".model"),
        ("gemini", json!({ "model": "a b" }), ".model"),
        ("openai", json!({ "model": "m", "baseUrl": "localhost" }), ".baseUrl"),
        ("openai", json!({ "model": "m", "baseUrl": "http://user:word@host" }), ".baseUrl"),
        ("openai", json!({ "model": "m", "api": "other" }), ".api"),
        ("openai", json!({ "model": "m", "apiKeyEnv": 5 }), ".apiKeyEnv"),
        ("openai", json!({ "model": "m", "apiKeyEnv": "A=B" }), ".apiKeyEnv"),
        ("openai", json!({ "model": "m", "headers": [] }), ".headers"),
        ("openai", json!({ "model": "m", "headers": { "a b": "x" } }), ".headers.a b"),
        ("openai", json!({ "model": "m", "headers": { "x-a": 1 } }), ".headers.x-a"),
        ("openai", json!({ "model": "m", "headers": { "x-a": "two\nlines" } }), ".headers.x-a"),
        ("openai", json!({ "model": "m", "headers": { "Host": "x" } }), ".headers.Host"),
        ("openai", json!({ "model": "m", "headers": { "x-a": { "env": "A", "prefix": 1 } } }), ".headers.x-a"),
        ("openai", json!({ "model": "m", "idleTimeoutMs": 0 }), ".idleTimeoutMs"),
        ("openai", json!({ "model": "m", "contextWindow": -1 }), ".contextWindow"),
        ("openai", json!({ "model": "m", "maxOutputTokens": "many" }), ".maxOutputTokens"),
        ("openai", json!({ "model": "m", "maxTokensParameter": "tokens" }), ".maxTokensParameter"),
        ("openai", json!({ "model": "m", "extraBody": { "tools": [] } }), ".extraBody.tools"),
        ("openai", json!({ "model": "m", "apiKeyCommand": "gcloud" }), ".apiKeyCommand"),
        ("openai", json!({ "model": "m", "apiKeyCommand": [] }), ".apiKeyCommand"),
        ("openai", json!({ "model": "m", "apiKeyCommand": ["a"], "apiKeyEnv": "A" }), ".apiKeyCommand"),
        ("openai", json!({ "model": "m", "apiKeyCommand": ["a"], "apiKeyTimeoutMs": 0 }), ".apiKeyTimeoutMs"),
        ("openai", json!({ "model": "m", "apiKeyCommand": ["a"], "apiKeyLifetimeMs": "1h" }), ".apiKeyLifetimeMs"),
        ("openai", json!({ "model": "m", "auth": "basic" }), ".auth"),
        ("azure", json!({ "model": "m" }), ".baseUrl"),
        ("azure", json!({ "model": "a b", "baseUrl": "https://h" }), ".model"),
        ("azure", json!({ "model": "m", "baseUrl": "https://h", "apiVersion": "1&x=2" }), ".apiVersion"),
        ("bedrock", json!({ "model": "m" }), ".region"),
        ("bedrock", json!({ "model": "m", "region": "a/b" }), ".region"),
        ("bedrock", json!({ "model": "m", "region": "r", "api": "chat" }), ".api"),
        ("vertex", json!({ "model": "m" }), ".project"),
        ("vertex", json!({ "model": "m", "project": "a?b" }), ".project"),
        ("command", json!({}), ".command"),
        ("command", json!({ "command": "llm" }), ".command"),
        ("command", json!({ "command": [] }), ".command"),
        ("command", json!({ "command": ["a\u{0}b"] }), ".command"),
        ("command", json!({ "command": ["llm"], "env": { "A": 1 } }), ".env.A"),
    ] {
        let wrong = path_of(check(&settings(&json!({ name: summarizer }))).unwrap_err());
        assert_eq!(wrong, format!("compactd.summarizers.{name}{path}"), "{summarizer}");
    }
    assert_eq!(path_of(check(&settings(&json!([]))).unwrap_err()), "compactd.summarizers");
}

#[test]
fn clouds_have_addresses_of_their_own() {
    let check = |name: &str, summarizer: Value, host: &str, path: &str, key: KeySource, header: KeyHeader| {
        let http = http_of(name, &summarizer);
        assert_eq!((http.base_url.host().as_str(), http.path.as_str()), (host, path), "{summarizer}");
        assert_eq!((http.key, http.key_header, http.is_own_server), (key, header, true), "{summarizer}");
    };
    let variable = |name: &str| KeySource::Variable(name.to_owned());
    let (bearer, of_azure) = (KeyHeader::Bearer, KeyHeader::Plain("api-key"));
    let bedrock = json!({ "model": "amazon.nova-pro-v1:0", "region": "eu-west-1" });
    let path = "/model/amazon.nova-pro-v1%3A0/converse-stream";
    let key = variable("AWS_BEARER_TOKEN_BEDROCK");
    check("bedrock", bedrock, "bedrock-runtime.eu-west-1.amazonaws.com", path, key, bearer);
    let azure = json!({ "model": "d", "baseUrl": "https://n.openai.azure.com" });
    let key = variable("AZURE_OPENAI_API_KEY");
    check("azure", azure, "n.openai.azure.com", "/openai/v1/chat/completions", key, of_azure);
    for (region, host, location) in [
        (Value::Null, "aiplatform.googleapis.com", "global"),
        (json!("us-east5"), "us-east5-aiplatform.googleapis.com", "us-east5"),
        (json!("eu"), "aiplatform.eu.rep.googleapis.com", "eu"),
    ] {
        let vertex = json!({ "model": "claude@1", "project": "p", "region": region });
        let path = format!("/v1/projects/p/locations/{location}/publishers/anthropic/models/claude@1:streamRawPredict");
        check("vertex", vertex, host, &path, variable("GOOGLE_OAUTH_ACCESS_TOKEN"), bearer);
    }
}

#[test]
fn a_program_may_print_the_key() {
    let http =
        http_of("anthropic", &json!({ "model": "m", "apiKeyCommand": ["op", "read", "x"], "apiKeyLifetimeMs": 5 }));
    let KeySource::Command(command) = http.key else { panic!("it is no program") };
    assert_eq!((command.command.program.as_str(), command.command.arguments.len()), ("op", 2));
    assert_eq!((command.timeout, command.lifetime), (Duration::from_secs(30), Some(Duration::from_millis(5))));
    assert_eq!(http.key_header, KeyHeader::Plain("x-api-key"));
}

#[test]
fn texts_of_headers_are_shown_by_nothing() {
    let headers = json!({ "x-a": "sentinel-1", "authorization": { "env": "TOKEN", "prefix": "Bearer " } });
    let http = http_of("openai", &json!({ "model": "m", "headers": headers }));
    assert_eq!(http.headers.len(), 2);
    assert!(!format!("{http:?}").contains("sentinel"));
}

#[test]
fn addresses_are_web_addresses_without_a_user() {
    for wrong in ["", "localhost", "localhost:1", "ftp://host/", "http://", "http://a:b@host/", "https://h/#x", "/v1"] {
        assert_eq!(BaseUrl::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn paths_are_joined_with_one_slash() {
    for (base, joined) in [
        ("http://host", "http://host/chat?a=1"),
        ("http://host:8080/", "http://host:8080/chat?a=1"),
        ("https://[::1]/v1/", "https://[::1]/v1/chat?a=1"),
        ("https://host/v1?v=2", "https://host/v1/chat?v=2&a=1"),
    ] {
        assert_eq!(BaseUrl::parse(base).unwrap().join("/chat", Some("a=1")).unwrap().to_string(), joined);
    }
}
