//! The rules: what secrets look like, and how one is tried.

pub(super) use super::check::Check;
use super::tokens::TOKENS;
use super::values::VALUES;

/// How one kind of secret is recognised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Names the rule in marks, counts and settings.
    pub(super) name: &'static str,
    /// Words near which the form is tried, in any case: where none stands, nothing is searched.
    pub(super) keywords: &'static [&'static str],
    /// How many bytes before a keyword the form may begin.
    pub(super) before: &'static [usize],
    /// The form. The first of its groups that matches is the secret; without groups, all of it is.
    pub(super) pattern: &'static str,
    /// What else must hold.
    pub(super) check: Check,
}

/// All rules; where matches overlap, the mark bears the name of the one that begins first.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    TOKENS.iter().chain(VALUES)
}
