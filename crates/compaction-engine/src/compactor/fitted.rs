//! How much a compaction that somebody orders keeps, as it fits the model of the session.

use compaction_core::entry::EntryId;
use compaction_core::preparation::{Preparation, Refusal};
use compaction_core::projection::Projection;
use compaction_core::settings::{CompactionSettings, EffectiveLimits};

use super::balance::Measure;
use crate::session::AgentModel;
use crate::settings::Settings;

/// The settings as they fit a window that is known (docs/triggers.md, "Threshold").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fitted {
    /// How much to keep.
    pub(super) compaction: CompactionSettings,
    /// More tokens than this are too many for the model.
    pub(super) threshold: u64,
}

impl Fitted {
    /// The settings as they fit the model of a session; what the call itself gave stays as it is.
    /// `None` where no window is known.
    pub(super) fn of(settings: &Settings, model: Option<&AgentModel>) -> Option<Self> {
        let model = model.filter(|model| model.context_window > 0)?;
        let wanted = settings.compaction_for(&model.provider, &model.id);
        let limits = EffectiveLimits::for_window(model.context_window, &wanted);
        let fit = |key, wanted, fitted| if settings.are_of_call(key) { wanted } else { fitted };
        let compaction = CompactionSettings {
            reserve_tokens: fit("reserveTokens", wanted.reserve_tokens, limits.reserve_tokens),
            keep_recent_tokens: fit("keepRecentTokens", wanted.keep_recent_tokens, limits.keep_recent_tokens),
            ..wanted
        };
        Some(Self { compaction, threshold: limits.threshold })
    }

    /// Prepares a compaction. Where the context weighs more than what shall be kept, but its estimate
    /// does not, what is kept is less by as much: tokens are tokens of the model, since they come
    /// from its window.
    pub(super) fn prepare(
        &self,
        settings: &Settings,
        projection: &Projection,
        leaf: Option<&EntryId>,
    ) -> Result<Preparation, Refusal> {
        let tools = settings.file_tools();
        let preparation = Preparation::of(projection, leaf, self.compaction, &tools);
        let keep = self.compaction.keep_recent_tokens;
        let measure = Measure::of(projection);
        let is_short = matches!(preparation, Err(Refusal::NothingToCompact { .. })) && measure.counted > keep;
        if !is_short || settings.are_of_call("keepRecentTokens") {
            return preparation;
        }
        let less = CompactionSettings { keep_recent_tokens: measure.to_estimated(keep), ..self.compaction };
        Preparation::of(projection, leaf, less, &tools).or(preparation)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::settings::layer_of_call;

    fn check(window: u64, of_call: Option<Value>, expected: Option<(u64, u64, u64)>) {
        let of_model = json!({ "compaction": { "modelOverrides": { "p/m": { "keepRecentTokens": 15_000 } } } });
        let layer = of_call.clone().map(layer_of_call);
        let settings =
            Settings::default().with(&of_model).and_then(|settings| settings.with_call(layer.as_ref())).unwrap();
        let model = AgentModel {
            provider: "p".to_owned(),
            id: "m".to_owned(),
            context_window: window,
            max_output_tokens: None,
        };
        let found = Fitted::of(&settings, Some(&model))
            .map(|fitted| (fitted.compaction.reserve_tokens, fitted.compaction.keep_recent_tokens, fitted.threshold));
        assert_eq!(found, expected, "{window} {of_call:?}");
    }

    #[test]
    fn settings_are_scaled_to_the_window_but_for_those_of_the_call() {
        check(200_000, None, Some((16_384, 15_000, 183_616)));
        check(8_000, None, Some((2_000, 3_300, 6_000)));
        check(8_000, Some(json!({ "keepRecentTokens": 7_000 })), Some((2_000, 7_000, 6_000)));
        check(8_000, Some(json!({ "reserveTokens": 9_000 })), Some((9_000, 3_300, 6_000)));
        check(0, None, None);
        assert_eq!(Fitted::of(&Settings::default(), None), None);
    }
}
