//! What a compaction would do.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::extractive;
use compaction_core::ledger::Retention;
use compaction_core::preparation::{Preparation, Refusal};
use compaction_core::projection::Projection;
use compaction_core::prompts::{OutputLimits, RequestKind, SummaryRequest};
use session_store::Session;

use super::Fitted;
use super::plan::kept;
use super::written::{jobs, prompt_texts};
use crate::context::{chosen_cut, project};
use crate::error::EngineError;
use crate::models::ModelLimits;
use crate::session::OpenSession;
use crate::settings::Settings;

/// A compaction that would happen.
#[derive(Debug)]
pub struct Preview {
    /// What would be compacted.
    pub preparation: Preparation,
    projection: Arc<Projection>,
}

impl Preview {
    /// What a compaction of the branch that ends at `leaf` would do; changes nothing. The entries from
    /// `first_kept` on would stay, where that is given. The inner error says why nothing would be compacted.
    ///
    /// # Errors
    /// Those of the store, and those of a cut that cannot be made.
    pub fn of(
        session: &Session,
        open: &OpenSession,
        leaf: Option<&EntryId>,
        first_kept: Option<&EntryId>,
        settings: &Settings,
    ) -> Result<Result<Self, Refusal>, EngineError> {
        let projection = project(session, open, leaf)?;
        let fitted = Fitted::of(settings, open.auto_compaction.effective_model().as_ref());
        let compaction = fitted.map_or_else(|| settings.compaction_at(projection.model()), |fitted| fitted.compaction);
        let tools = settings.file_tools();
        let preparation = match (first_kept, fitted) {
            (Some(first_kept), _) => {
                let prepared = Preparation::at(&projection, leaf, first_kept, compaction, &tools);
                chosen_cut(session, open, first_kept, prepared)?
            }
            (None, Some(fitted)) => fitted.prepare(settings, &projection, leaf),
            (None, None) => Preparation::of(&projection, leaf, compaction, &tools),
        };
        Ok(preparation.map(|preparation| Self { preparation, projection }))
    }

    /// What would be sent to a model with these limits, in order. Where the conversation does not fit into
    /// one request, the later ones stand here without the answers that they will update.
    ///
    /// # Errors
    /// [`EngineError::SummarizerFailed`] where the window is too small for any request.
    pub fn requests(
        &self,
        settings: &Settings,
        focus: Option<&str>,
        limits: ModelLimits,
    ) -> Result<Vec<SummaryRequest>, EngineError> {
        let mut requests = Vec::new();
        for job in jobs(&self.preparation, focus, &Arc::new(prompt_texts(settings)), settings) {
            let plan = job.plan(limits, None, None).map_err(|error| EngineError::SummarizerFailed {
                cause: format!("failed to {error}"),
                retryable: false,
                attempts: 0,
            })?;
            let answer = |index| (index > 0).then_some("(the answer to the request before)");
            requests.extend((0..plan.requests()).filter_map(|index| plan.request(index, answer(index))));
        }
        Ok(requests)
    }

    /// What any summary keeps at least once it is repaired.
    pub fn forecast(&self) -> Retention {
        let reserve_tokens = self.preparation.settings.reserve_tokens;
        let limits = OutputLimits { reserve_tokens, model_max_tokens: None };
        let kept = kept(&self.projection, &self.preparation.first_kept_entry_id);
        let (ledger, max_tokens) = (self.preparation.ledger(), limits.max_tokens(RequestKind::History));
        extractive::forecast(&ledger, max_tokens, reserve_tokens, &kept)
    }
}
