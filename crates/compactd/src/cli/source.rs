//! The session that a command is about: a file, or what standard input holds.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::connection::Connection;
use super::failure::Failure;

/// The name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A file to open, and what it is called for a person.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    name: PathBuf,
    /// Holds what came over standard input.
    _directory: Option<TempDir>,
}

impl Source {
    /// The file, or a copy of standard input where `file` is `-`. What is there can then be read alone.
    ///
    /// # Errors
    /// When the input cannot be read, or `writes` and it is standard input.
    pub(super) fn of(file: &Path, writes: bool) -> Result<Self, Failure> {
        if file != Path::new(STANDARD_INPUT) {
            return Self::file(file);
        }
        if writes {
            let text = "standard input can only be read: name a file, or add --dry-run to compact";
            return Err(Failure::Refused(text.to_owned()));
        }
        let system = |doing| move |source| Failure::System { doing, source };
        let directory = TempDir::with_prefix("compactd-").map_err(system("make a temporary directory"))?;
        let path = directory.path().join("standard-input.jsonl");
        let mut copy = std::fs::File::create(&path).map_err(system("keep standard input"))?;
        io::copy(&mut io::stdin().lock(), &mut copy).map_err(system("read standard input"))?;
        Ok(Self { path, name: PathBuf::from("standard input"), _directory: Some(directory) })
    }

    /// The file with this name; `-` is a name as any other.
    ///
    /// # Errors
    /// When the name is not UTF-8, which the protocol needs.
    pub(super) fn file(file: &Path) -> Result<Self, Failure> {
        let path = std::path::absolute(file);
        let path = path.map_err(|source| Failure::File { path: file.to_owned(), source })?;
        if path.to_str().is_none() {
            let text = format!("{}: the protocol takes only file names in UTF-8", file.display());
            return Err(Failure::Refused(text));
        }
        Ok(Self { path, name: file.to_owned(), _directory: None })
    }

    /// Where the bytes lie.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What a person calls it.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    /// Starts a server and opens the session in it; with the result of `openSession`.
    pub(super) async fn open(&self, read_only: bool) -> Result<(Connection, Value), Failure> {
        let connection = Connection::start(&self.name)?;
        connection.initialize(json!({})).await?;
        let params = json!({ "path": self.path, "readOnly": read_only });
        match connection.call("openSession", &params).await {
            Ok(session) => Ok((connection, session)),
            Err(failure) => {
                // After a failure as well: a server that is killed leaves its lock behind.
                let _ended = connection.shutdown().await;
                Err(failure)
            }
        }
    }
}
