//! The instruction that asks a model for a summary within the conversation that it has had.

use super::{OutputLimits, PromptTexts, RequestKind, SummaryRequest};
use crate::tokens::estimate_text;

impl PromptTexts {
    /// The last message of a conversation that is continued for its summary: the words of a request of
    /// `kind` without the record, since all that they speak of stands above. `is_update` if the
    /// conversation begins with a summary. The request has no system prompt, which is that of the
    /// conversation; its estimate is that of the instruction alone.
    pub fn instruction(
        &self,
        kind: RequestKind,
        is_update: bool,
        custom_instructions: Option<&str>,
        limits: &OutputLimits,
    ) -> SummaryRequest {
        let wording = self.wording(kind, custom_instructions, false);
        let beginning = if kind == RequestKind::TurnPrefix { &self.in_turn } else { &self.in_conversation };
        let prompt = format!("{beginning}\n\n{}", wording.instructions(is_update));
        SummaryRequest {
            kind,
            system_prompt: String::new(),
            estimated_tokens: estimate_text(&prompt),
            max_tokens: limits.max_tokens(kind),
            prompt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::missing_headings;

    #[test]
    fn an_instruction_asks_for_every_heading() {
        let limits = OutputLimits { reserve_tokens: 1000, model_max_tokens: None };
        for kind in [RequestKind::History, RequestKind::TurnPrefix] {
            for is_update in [false, true] {
                let request = PromptTexts::default().instruction(kind, is_update, Some(" tests "), &limits);
                assert_eq!(missing_headings(&request.prompt, kind.summary_kind()), Vec::<&str>::new());
                assert!(request.prompt.ends_with("\n\nAdditional focus: tests"), "{}", request.prompt);
                assert!(request.prompt.starts_with("Stop working here."));
                assert!(request.system_prompt.is_empty() && request.estimated_tokens > 100);
            }
        }
    }

    #[test]
    fn texts_of_the_settings_take_their_places() {
        let texts = PromptTexts {
            in_conversation: "I".to_owned(),
            in_turn: "T".to_owned(),
            first: "F".to_owned(),
            update: "U".to_owned(),
            turn_prefix: "P".to_owned(),
            ..PromptTexts::default()
        };
        let limits = OutputLimits { reserve_tokens: 1000, model_max_tokens: Some(300) };
        let check = |kind, is_update, expected: &str| {
            let request = texts.instruction(kind, is_update, None, &limits);
            assert_eq!((request.prompt.as_str(), request.max_tokens), (expected, 300));
        };
        check(RequestKind::History, false, "I\n\nF");
        check(RequestKind::History, true, "I\n\nU");
        check(RequestKind::TurnPrefix, false, "T\n\nP");
    }
}
