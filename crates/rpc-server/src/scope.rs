//! The order in which calls take effect, declared for each method.

/// What a call has to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Nothing.
    Free,
    /// Everything after it waits for it.
    Barrier,
    /// It adds sessions: one at a time, and calls that name a session not known yet wait for it.
    Opening,
    /// It reads one session: beside other reads, after the changes that arrived before it.
    Read,
    /// It changes one session: in the order of arrival.
    Write,
}

impl Scope {
    /// The scope's name in the generated documents.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Free => "free",
            Scope::Barrier => "barrier",
            Scope::Opening => "opening",
            Scope::Read => "read",
            Scope::Write => "write",
        }
    }
}
