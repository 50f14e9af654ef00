//! Which working directories are asked for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::paths;
use crate::store::ListOptions;

/// Tells whether a session's working directory is asked for, looking up the canonical path of each
/// once.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    options: &'a ListOptions,
    known: Mutex<HashMap<String, bool>>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(options: &'a ListOptions) -> Self {
        Self { options, known: Mutex::default() }
    }

    /// Old files without a working directory belong to the directory that they lie in.
    pub(super) fn accepts(&self, cwd: &str) -> bool {
        if self.options.all || (cwd.is_empty() && self.options.session_dir.is_none()) {
            return true;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_wanted) = known.get(cwd) {
            return *is_wanted;
        }
        let is_wanted = paths::is_same_directory(cwd, &self.options.cwd);
        known.insert(cwd.to_owned(), is_wanted);
        is_wanted
    }
}
