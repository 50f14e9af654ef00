//! Models that write summaries: how one is asked, what the settings say of it, and the providers.

mod answer_text;
pub mod configuration;
mod continuation;
mod model;
mod prices;
pub mod providers;
mod retries;
mod secret;
mod usage;

pub use answer_text::summary_of;
pub(crate) use continuation::Circumstances;
pub use continuation::{
    Cache, ContinuedRequest, Continues, Conversation, Estimate, MissedCaches, Obstacle, Reason, RequestChoice,
    RequestReport,
};
pub use model::{Answer, FailureKind, Model, ModelError, ModelLimits, OnDelta, RequestContext, StopReason};
pub(crate) use prices::Price;
pub use retries::RetryPolicy;
pub(crate) use usage::sum_usage;
