//! The context of a branch, remembered: it grows by an entry much more often than it changes.

use std::sync::{Arc, PoisonError};

use compaction_core::entry::{Entry, EntryId};
use compaction_core::projection::{Branch, Projection};

use crate::diagnostic::Diagnostic;
use crate::error::StoreError;
use crate::session::Session;

/// Entries by which a remembered context is let grow at once.
const GROWTH: usize = 64;

/// What the model sees of a branch, and what was odd about reading it.
#[derive(Debug, Clone)]
pub struct Context {
    /// What the model sees.
    pub projection: Arc<Projection>,
    /// What was odd about the part of the path that was read.
    pub diagnostics: Arc<[Diagnostic]>,
}

/// The context that was asked for last, with its leaf.
pub(crate) type RememberedContext = Option<(EntryId, Context)>;

impl Session {
    /// The context of the path to `leaf`; `None` is the empty path. It is remembered, so that asking
    /// again costs nothing, and asking after appends costs what was appended.
    ///
    /// Fails with `EntryNotFound`, or as reading does.
    pub fn context(&self, leaf: Option<&EntryId>) -> Result<Context, StoreError> {
        let Some(leaf) = leaf else {
            return self.read_context(None);
        };
        let context = match self.remembered_context() {
            Some((known, context)) if known == *leaf => return Ok(context),
            Some((known, context)) => match self.grown_context(leaf, &known, &context)? {
                Some(grown) => grown,
                None => self.read_context(Some(leaf))?,
            },
            None => self.read_context(Some(leaf))?,
        };
        self.remember_context(Some((leaf.clone(), context.clone())));
        Ok(context)
    }

    /// Forgets the context: what was read of the log may have changed.
    pub(crate) fn forget_context(&self) {
        self.remember_context(None);
    }

    fn read_context(&self, leaf: Option<&EntryId>) -> Result<Context, StoreError> {
        let mut branch = self.branch(leaf)?;
        let projection = Arc::new(Projection::of(&mut branch)?);
        if branch.is_doubtful() && self.known.get().is_none() {
            self.index()?;
            return self.read_context(leaf);
        }
        Ok(Context { projection, diagnostics: branch.diagnostics().into() })
    }

    /// The context at `leaf` made from the one at `known`, if that lies closely before it and
    /// nothing in between changes what came earlier.
    fn grown_context(&self, leaf: &EntryId, known: &EntryId, from: &Context) -> Result<Option<Context>, StoreError> {
        let mut branch = self.branch(Some(leaf))?;
        let mut added: Vec<Arc<Entry>> = Vec::new();
        loop {
            match branch.header(added.len())? {
                Some(header) if header.id == *known => break,
                Some(_) if added.len() < GROWTH => added.push(branch.entry(added.len())?),
                _ => return Ok(None),
            }
        }
        let mut projection = Projection::clone(&from.projection);
        for entry in added.into_iter().rev() {
            match projection.followed_by(entry) {
                Some(grown) => projection = grown,
                None => return Ok(None),
            }
        }
        let diagnostics = from.diagnostics.iter().chain(branch.diagnostics()).cloned().collect();
        Ok(Some(Context { projection: Arc::new(projection), diagnostics }))
    }

    fn remembered_context(&self) -> RememberedContext {
        self.context.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember_context(&self, context: RememberedContext) {
        *self.context.lock().unwrap_or_else(PoisonError::into_inner) = context;
    }
}
