//! What a call is about, as far as its place in line depends on it.

use serde::Deserialize;

use crate::arrivals::Concern;
use crate::pending_operations::PendingOperation;
use crate::server::Server;

/// What is known of a call's parameters before they are read.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The session that they name.
    pub(crate) session_id: Option<String>,
    /// The place of a session that they name.
    path: Option<String>,
    /// Whether they ask for a branch summary.
    summarize: bool,
}

impl Named {
    /// What is wrong counts as missing here; the method's own types check it.
    pub(crate) fn of(params: &str) -> Self {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(rename = "sessionId", borrow)]
            session_id: Option<&'a serde_json::value::RawValue>,
            #[serde(borrow)]
            path: Option<&'a serde_json::value::RawValue>,
            #[serde(borrow)]
            summarize: Option<&'a serde_json::value::RawValue>,
        }
        if !params.starts_with('{') {
            return Self::default();
        }
        let Ok(members) = serde_json::from_str::<Members<'_>>(params) else {
            return Self::default();
        };
        Self {
            session_id: members.session_id.and_then(|id| compaction_core::json::decode_string(id.get())),
            path: members.path.and_then(|path| compaction_core::json::decode_string(path.get())),
            summarize: members.summarize.is_some_and(|summarize| summarize.get() == "true"),
        }
    }

    /// The sessions that may not be what they are until an opening call is done. A new session whose
    /// id the client did not choose has one that nobody knows before the reply.
    pub(crate) fn concern(&self, method: &str, server: &Server) -> Option<Concern> {
        match method {
            "openSession" => {
                let locator = server.locate("path", self.path.as_deref()?).ok()?;
                Some(Concern::Named(locator.name()?.to_owned()))
            }
            "continueSession" => Some(Concern::AnyStored),
            "createSession" | "forkSession" => self.session_id.clone().map(Concern::Session),
            _ => None,
        }
    }

    /// A compaction or branch summary that will begin in its turn: ending it must be possible from
    /// the moment it has arrived.
    pub(crate) fn operation(&self, method: &str, server: &Server) -> Option<PendingOperation> {
        let is_operation = method == "compact" || (method == "navigateTree" && self.summarize);
        let session_id = self.session_id.clone().filter(|_| is_operation)?;
        Some(server.pending_operations.add(session_id))
    }
}
