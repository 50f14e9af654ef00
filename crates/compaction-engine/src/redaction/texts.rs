//! Redaction of texts that are going to be cut, each of them once.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compaction_core::conversation::Redact;

use super::Redactor;

/// Redacts the texts of one summary, remembers what came out, and counts.
#[derive(Debug)]
pub(crate) struct RedactedTexts {
    redactor: Arc<Redactor>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Texts with secrets, and without them; `None` for those that hold none.
    texts: HashMap<String, Option<String>>,
    counts: BTreeMap<String, u32>,
}

impl RedactedTexts {
    /// Nothing is known yet.
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, known: Mutex::default() }
    }

    /// How many secrets were found since this was last asked, by rule.
    pub(crate) fn take_counts(&self) -> BTreeMap<String, u32> {
        std::mem::take(&mut self.lock().counts)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Redact for RedactedTexts {
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut known = self.lock();
        if let Some(redacted) = known.texts.get(text) {
            return redacted.clone().map_or(Cow::Borrowed(text), Cow::Owned);
        }
        let redacted = self.redactor.redact(text);
        for (rule, count) in redacted.counts {
            *known.counts.entry(rule).or_default() += count;
        }
        let changed = if let Cow::Owned(changed) = &redacted.text { Some(changed.clone()) } else { None };
        known.texts.insert(text.to_owned(), changed);
        redacted.text
    }
}
