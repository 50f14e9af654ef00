//! Parameters: from JSON to types, with errors that name the member (protocol spec, Calls in
//! general).

use serde::de::DeserializeOwned;

use crate::errors::RpcError;

/// Reads the parameters of a call; missing ones count as an empty object.
///
/// Fails with `invalidParams`, whose path leads to the wrong or missing member.
pub(crate) fn parse<P: DeserializeOwned>(params: Option<&str>) -> Result<P, RpcError> {
    let text = params.unwrap_or("{}");
    if !text.trim_start().starts_with('{') {
        return Err(RpcError::invalid_params("params", "an object"));
    }
    // Finding the path costs time that only wrong parameters need to pay.
    serde_json::from_str(text).map_err(|error| explain::<P>(text, &error))
}

/// Reads a value that is no parameter; the error is the path to what is wrong, empty for the value
/// itself, and what was expected there.
pub(crate) fn parse_value<T: DeserializeOwned>(text: &str) -> Result<T, (String, String)> {
    serde_json::from_str(text).map_err(|error| locate::<T>(text, &error))
}

fn explain<P: DeserializeOwned>(text: &str, error: &serde_json::Error) -> RpcError {
    let (path, expected) = locate::<P>(text, error);
    RpcError::invalid_params(if path.is_empty() { "params".to_owned() } else { path }, expected)
}

fn locate<P: DeserializeOwned>(text: &str, error: &serde_json::Error) -> (String, String) {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let (path, message) = match serde_path_to_error::deserialize::<_, P>(&mut deserializer) {
        Err(error) => (error.path().to_string(), error.inner().to_string()),
        Ok(_) => (".".to_owned(), error.to_string()),
    };
    let path = if path == "." { String::new() } else { path };
    if let Some(member) = quoted(&message, "missing field `") {
        let separator = if path.is_empty() { "" } else { "." };
        return (format!("{path}{separator}{member}"), "a value: the member is required".to_owned());
    }
    (path, expectation(&message))
}

fn quoted<'a>(message: &'a str, start: &str) -> Option<&'a str> {
    message.strip_prefix(start)?.split('`').next()
}

/// What the message says was expected, without the position in the text.
fn expectation(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    if message.starts_with("duplicate field") {
        return "each member once".to_owned();
    }
    match message.split_once("expected ").map_or(message, |(_, expected)| expected) {
        "u64" | "u32" | "usize" => "a whole number, 0 or more".to_owned(),
        "a boolean" => "true or false".to_owned(),
        expected if expected.starts_with("struct ") => "an object".to_owned(),
        expected => expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AppendMessageParams, CheckCompactionParams, ForkSessionParams, SetLabelParams};

    #[track_caller]
    fn check<P: DeserializeOwned + std::fmt::Debug>(text: &str, path: &str, expected: &str) {
        let data = parse::<P>(Some(text)).unwrap_err().data();
        assert_eq!((data["path"].as_str(), data["expected"].as_str()), (Some(path), Some(expected)), "{text}");
    }

    #[test]
    fn errors_name_the_member() {
        const REQUIRED: &str = "a value: the member is required";
        check::<AppendMessageParams>("{}", "sessionId", REQUIRED);
        check::<AppendMessageParams>("[]", "params", "an object");
        check::<AppendMessageParams>(r#"{"sessionId":5,"message":{}}"#, "sessionId", "a string");
        let model = r#"{"sessionId":"s","model":{"provider":"p","id":"m"}}"#;
        check::<CheckCompactionParams>(model, "model.contextWindow", REQUIRED);
        let model = r#"{"sessionId":"s","model":{"provider":"p","id":"m","contextWindow":-1}}"#;
        check::<CheckCompactionParams>(model, "model.contextWindow", "a whole number, 0 or more");
        let fork = r#"{"sessionId":"s","entryId":"e","position":"behind"}"#;
        check::<ForkSessionParams>(fork, "position", "`before` or `at`");
        check::<SetLabelParams>(r#"{"sessionId":"s","targetId":"e"}"#, "label", REQUIRED);
    }

    #[test]
    fn unknown_members_are_ignored_and_null_clears_a_label() {
        let params: SetLabelParams =
            parse(Some(r#"{"sessionId":"s","targetId":"e","label":null,"x":[[{}]]}"#)).unwrap();
        assert_eq!(params.label, None);
    }
}
