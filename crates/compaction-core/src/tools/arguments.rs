//! Finds arguments of a call by their meaning. The table lists their names.

use super::table::{is_written_as, table};
use crate::file_operations::FileTools;
use crate::json::Json;

/// Maximum number of files of one call.
const MOST_FILES: usize = 500;

/// The arguments of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a>(Option<&'a Json<'static>>);

impl<'a> Arguments<'a> {
    pub(super) fn of(arguments: Option<&'a Json<'static>>) -> Self {
        Self(arguments)
    }

    /// The arguments if they are one text, as for tools with their own grammar.
    pub(super) fn whole_text(&self) -> Option<&'a str> {
        self.0?.as_str()
    }

    /// The first argument for `what`.
    pub(super) fn value(&self, what: &str) -> Option<&'a Json<'static>> {
        self.values(what).next()
    }

    fn values(&self, what: &str) -> impl Iterator<Item = &'a Json<'static>> {
        let members = self.0.and_then(Json::as_object).unwrap_or_default();
        table()
            .arguments(what)
            .iter()
            .filter_map(move |name| members.iter().find(|(key, _)| is_written_as(key, name)).map(|(_, value)| value))
    }

    /// The arguments for `what` that are non-empty texts.
    pub(super) fn texts(&self, what: &str) -> impl Iterator<Item = &'a str> {
        self.values(what).filter_map(Json::as_str).filter(|text| !text.trim().is_empty())
    }

    /// The first argument for `what` that is a non-empty text.
    pub(super) fn text(&self, what: &str) -> Option<&'a str> {
        self.texts(what).next()
    }

    /// Whether the member with exactly this name is `true`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.and_then(|arguments| arguments.get(name)?.as_bool()).unwrap_or(false)
    }

    /// The path in the arguments that `tools` names. The names must match exactly.
    pub(super) fn listed_path(&self, tools: &FileTools) -> Option<String> {
        let arguments = self.0?;
        let mut paths = tools.path_arguments.iter().filter_map(|name| arguments.get(name)?.as_str());
        paths.next().filter(|path| !path.is_empty()).map(str::to_owned)
    }

    /// All files in the arguments, each once. Patterns are not files.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        let mut add = |path: &str| {
            let path = path.strip_prefix("file://").unwrap_or(path).trim();
            let is_file = !path.is_empty() && !path.contains(['*', '\n']);
            if is_file && paths.len() < MOST_FILES && !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        };
        self.text("path").into_iter().for_each(&mut add);
        let items = |what| self.values(what).filter_map(items).flatten();
        items("paths").filter_map(Json::as_str).for_each(&mut add);
        items("parts").filter_map(|part| Arguments(Some(part)).text("path")).for_each(&mut add);
        if paths.is_empty() {
            // Older calls of Roo have their files in a text with tags.
            let tagged = self.0.and_then(|arguments| arguments.get("args")?.as_str()).unwrap_or_default();
            tagged.split("<path>").skip(1).filter_map(|rest| rest.split("</path>").next()).for_each(|path| {
                paths.push(path.trim().to_owned());
            });
        }
        paths
    }

    /// The command line, without the shell that runs it.
    pub(super) fn command(&self) -> Option<String> {
        self.values("command").find_map(|value| match value {
            Json::String(text) if !text.trim().is_empty() => Some(text.to_string()),
            Json::Array(words) => {
                let words: Option<Vec<&str>> = words.iter().map(Json::as_str).collect();
                super::shell::joined(&words?)
            }
            _ => None,
        })
    }
}

fn items<'a>(value: &'a Json<'static>) -> Option<&'a [Json<'static>]> {
    match value {
        Json::Array(items) => Some(items),
        _ => None,
    }
}
