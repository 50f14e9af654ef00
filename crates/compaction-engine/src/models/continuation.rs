//! Decides whether a conversation is continued for its summary, instead of sending a prompt with a transcript.
//!
//! A provider caches the last request of a conversation for a while. A request with the same beginning costs a tenth
//! to a half of the price for that beginning; any other request costs all of it. A continued request is therefore
//! what the model was last sent, up to the cut, and an instruction.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use compaction_core::conversation::{LastAnswer, Prefix};
use compaction_core::entry::EntryId;
use compaction_core::projection::Projection;
use compaction_core::prompts::{RequestKind, SummaryRequest};
use compaction_core::text::least_tokens;

use super::Price;

/// How models are asked for a summary (`compactd.summaryRequest`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestChoice {
    /// By transcripts.
    Transcript,
    /// By continuing the conversation, where possible.
    Continue,
    /// By continuing it where the provider probably has it cached and that is cheaper.
    #[default]
    Auto,
}

impl RequestChoice {
    /// The choice with this name.
    pub fn named(name: Option<&str>) -> Option<Self> {
        match name? {
            "transcript" => Some(Self::Transcript),
            "continue" => Some(Self::Continue),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }
}

/// The part of a conversation that a summary covers, before it is read.
#[derive(Debug, Clone)]
pub struct Conversation {
    projection: Arc<Projection>,
    end: EntryId,
    /// The oldest entry that the compaction keeps.
    pub(crate) first_kept: EntryId,
    /// The window of the conversation's model in tokens, where known.
    pub(crate) window: Option<u64>,
}

impl Conversation {
    /// The conversation before the entry `end` of a context whose model has this window.
    pub fn new(projection: Arc<Projection>, end: EntryId, first_kept: EntryId, window: Option<u64>) -> Self {
        Self { projection, end, first_kept, window }
    }

    /// What its model was last sent. This reads the whole context and belongs on a worker thread.
    pub(crate) fn read(&self) -> Option<Prefix> {
        Prefix::of(&self.projection, &self.end)
    }
}

/// A conversation and the message that asks for its summary.
#[derive(Debug, Clone)]
pub struct ContinuedRequest {
    /// The conversation before the message.
    pub prefix: Arc<Prefix>,
    /// The message: the prompt of a request without a system prompt.
    pub request: SummaryRequest,
    /// The oldest entry that the compaction keeps.
    pub first_kept: EntryId,
}

impl ContinuedRequest {
    /// The fewest tokens that any model counts for it.
    pub(crate) fn least_tokens(&self) -> u64 {
        let messages: u64 =
            self.prefix.messages.iter().map(|message| least_tokens(&message.read_body().display_text())).sum();
        let system = self.prefix.system.as_ref().map_or(0, |system| least_tokens(&system.text));
        messages + system + least_tokens(&self.request.prompt)
    }
}

/// The conversations that a model can continue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Continues {
    /// Those of the client, which has them itself.
    OfClient,
    /// Those of one model.
    OfModel {
        /// The provider's name in the answers of its conversations; `None` if unknown.
        provider: Option<String>,
        /// The model's name there.
        model: String,
        /// Whether the settings control its thinking.
        sets_thinking: bool,
        /// The interface's name in pi's sessions.
        interface: &'static str,
        /// How its provider caches conversations.
        cache: Cache,
    },
}

/// What a provider caches of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cache {
    /// Every beginning, so that the last request has refreshed all of them.
    EveryBeginning,
    /// Only marked beginnings. Each expires on its own if it is not used.
    MarkedBeginnings,
}

/// Anthropic's messages, as pi's sessions name them.
pub(crate) const MESSAGES: &str = "anthropic-messages";
/// OpenAI's chat completions.
pub(crate) const CHAT: &str = "openai-completions";
/// OpenAI's responses.
pub(crate) const RESPONSES: &str = "openai-responses";
const INTERFACES: [&str; 3] = [MESSAGES, CHAT, RESPONSES];

/// Minimum lifetime of a cached request in milliseconds: five minutes, less a margin for the transport.
const CACHE_LIFETIME: i64 = 270_000;
/// Assumed price of cached input, as a part of that of uncached input, for models without a known price.
const CACHED_PART: f64 = 0.5;

/// The reason why a conversation is not continued.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Obstacle {
    /// The reason.
    pub reason: Reason,
    /// A sentence for a person.
    pub detail: String,
}

/// Reasons why a conversation is not continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the detail of an obstacle explains it")]
pub enum Reason {
    Settings,
    NotSupported,
    OtherModel,
    OtherInterface,
    PromptUnknown,
    NotSeen,
    TooLarge,
    ThinkingUnknown,
    NoCache,
    CacheExpired,
    CacheMissed,
    CostsMore,
    Refused,
    Overflow,
    Truncated,
    ToolCall,
    Empty,
    CutOff,
    Headings,
    Stopped,
}

impl Obstacle {
    pub(crate) fn new(reason: Reason, detail: impl Display) -> Self {
        Self { reason, detail: detail.to_string() }
    }
}

fn obstacle<T>(reason: Reason, detail: impl Display) -> Result<T, Obstacle> {
    Err(Obstacle::new(reason, detail))
}

/// The facts that decide whether a conversation is continued.
#[derive(Debug)]
pub(crate) struct ContinuationCheck<'a> {
    pub(crate) choice: RequestChoice,
    /// The conversations that the summarizer can continue.
    pub(crate) continues: Option<Continues>,
    pub(crate) prefix: &'a Prefix,
    /// The message that asks for the summary.
    pub(crate) instruction: &'a SummaryRequest,
    /// Estimated tokens of requests by transcript; `None` if none fits.
    pub(crate) transcript_tokens: Option<u64>,
    /// The window in tokens.
    pub(crate) window: Option<u64>,
    pub(crate) price: Option<Price>,
    /// Whether the provider's cache was empty the last time.
    pub(crate) has_missed: bool,
    /// The time, in epoch milliseconds.
    pub(crate) now: i64,
}

impl ContinuationCheck<'_> {
    /// Checks whether the conversation is continued. Fails with the first obstacle.
    pub(crate) fn check(&self) -> Result<(), Obstacle> {
        if self.choice == RequestChoice::Transcript {
            return obstacle(Reason::Settings, "compactd.summaryRequest is transcript");
        }
        if self.prefix.messages.is_empty() {
            return obstacle(Reason::NotSeen, "no model was shown any of it");
        }
        match &self.continues {
            None => return obstacle(Reason::NotSupported, "the summarizer takes requests of one prompt alone"),
            Some(Continues::OfClient) => {}
            Some(Continues::OfModel { provider, model, .. }) => {
                self.check_model(provider.as_deref(), model)?;
                self.check_prompt()?;
                self.check_seen()?;
            }
        }
        self.check_room()?;
        match self.choice {
            RequestChoice::Auto => self.check_gain(),
            _ => Ok(()),
        }
    }

    /// Only the model of the conversation may see it unredacted.
    fn check_model(&self, provider: Option<&str>, model: &str) -> Result<(), Obstacle> {
        let Some(provider) = provider else {
            return obstacle(
                Reason::OtherModel,
                "whether the summarizer's server is that of the conversation is not known: \
                 conversationProvider of its settings does not say it",
            );
        };
        match &self.prefix.answer {
            None => obstacle(Reason::OtherModel, "no model has answered in the conversation"),
            Some(answer) if answer.provider != provider || answer.model != model => obstacle(
                Reason::OtherModel,
                format!(
                    "the conversation is one of {}/{}, the summarizer {provider}/{model}",
                    answer.provider, answer.model
                ),
            ),
            Some(_) => Ok(()),
        }
    }

    fn check_prompt(&self) -> Result<(), Obstacle> {
        match &self.prefix.system {
            None => obstacle(Reason::PromptUnknown, "the session holds no system message"),
            Some(system) if !system.is_first => {
                obstacle(Reason::PromptUnknown, "prompt or tools changed after the first message")
            }
            Some(_) => Ok(()),
        }
    }

    fn check_seen(&self) -> Result<&LastAnswer, Obstacle> {
        let seen = self.prefix.answer.as_ref().filter(|answer| answer.has_seen_all);
        let not_seen = || Obstacle::new(Reason::NotSeen, "the last answer's request did not begin with all of it");
        seen.ok_or_else(not_seen)
    }

    fn check_room(&self) -> Result<(), Obstacle> {
        let Some(window) = self.window else {
            return Ok(());
        };
        let needed = self.tokens().saturating_add(self.instruction.max_tokens);
        if needed <= window {
            return Ok(());
        }
        obstacle(
            Reason::TooLarge,
            format!(
                "{} tokens of input and {} of output are more than the window of {window}",
                self.tokens(),
                self.instruction.max_tokens
            ),
        )
    }

    /// Whether the provider probably has the conversation cached, and charges less for it than for a transcript.
    fn check_gain(&self) -> Result<(), Obstacle> {
        let answer = self.check_seen()?;
        self.check_interface(answer)?;
        self.check_thinking()?;
        self.check_cache(answer)?;
        if self.has_missed {
            return obstacle(Reason::CacheMissed, "the provider had nothing in its cache the last time");
        }
        let continued = self.prefix.tokens as f64 * self.cached_part() + self.instruction.estimated_tokens as f64;
        match self.transcript_tokens {
            Some(transcript) if continued >= transcript as f64 => obstacle(
                Reason::CostsMore,
                format!("it takes as much as {continued:.0} tokens without a cache, and a transcript {transcript}"),
            ),
            _ => Ok(()),
        }
    }

    /// Interfaces of a provider do not share a cache. Unknown names are ignored.
    fn check_interface(&self, answer: &LastAnswer) -> Result<(), Obstacle> {
        let known = answer.api.as_deref().filter(|api| INTERFACES.contains(api));
        match (&self.continues, known) {
            (Some(Continues::OfModel { interface, .. }), Some(api)) if api != *interface => obstacle(
                Reason::OtherInterface,
                format!("the conversation was held over {api}, and the summarizer is asked over {interface}"),
            ),
            _ => Ok(()),
        }
    }

    /// Where beginnings are marked, a request with other thinking settings misses the cache.
    fn check_thinking(&self) -> Result<(), Obstacle> {
        match self.continues {
            Some(Continues::OfModel { sets_thinking, cache: Cache::MarkedBeginnings, .. })
                if sets_thinking != self.prefix.has_thinking =>
            {
                let detail = match sets_thinking {
                    true => "extraBody of the summarizer sets thinking, and the conversation was held without",
                    false => {
                        "the conversation was held with thinking, and extraBody of the summarizer does not say how"
                    }
                };
                obstacle(Reason::ThinkingUnknown, detail)
            }
            _ => Ok(()),
        }
    }

    fn check_cache(&self, answer: &LastAnswer) -> Result<(), Obstacle> {
        let is_of_client = self.continues == Some(Continues::OfClient);
        match answer.input {
            // A client that can continue its conversations may not report its usage.
            None if is_of_client => {}
            Some(input) if input.cached >= input.tokens / 2 && input.cached > 0 => {}
            _ => return obstacle(Reason::NoCache, "the last answer's usage shows no cache"),
        }
        // Marked beginnings expire one by one. The one at the cut was last used by the request for the entry after
        // it.
        let used = if self.is_marked(answer) { self.prefix.sent_at } else { answer.time };
        let age = used.map(|used| self.now.saturating_sub(used));
        match age.filter(|age| *age <= CACHE_LIFETIME) {
            Some(_) => Ok(()),
            None => {
                let age = age.map_or("an unknown time".to_owned(), |age| format!("{} s", age / 1000));
                obstacle(Reason::CacheExpired, format!("it was last sent {age} ago, and caches keep it for 300 s"))
            }
        }
    }

    fn is_marked(&self, answer: &LastAnswer) -> bool {
        match self.continues {
            Some(Continues::OfModel { cache, .. }) => cache == Cache::MarkedBeginnings,
            _ => answer.model.contains("claude"),
        }
    }

    /// The estimate of the request if the provider has all of the conversation cached.
    pub(crate) fn estimate(&self) -> Estimate {
        let instruction = self.instruction.estimated_tokens;
        let cost = self.price.map(|price| price.cached(self.prefix.tokens) + price.input(instruction));
        Estimate { tokens: self.tokens(), cost }
    }

    fn tokens(&self) -> u64 {
        self.prefix.tokens.saturating_add(self.instruction.estimated_tokens)
    }

    fn cached_part(&self) -> f64 {
        self.price.map_or(CACHED_PART, |price| price.cached_part())
    }
}

/// Summarizers whose provider had not cached a conversation that they continued. They do not continue conversations
/// automatically again while the process lives.
#[derive(Debug, Default)]
pub struct MissedCaches(Mutex<BTreeSet<String>>);

impl MissedCaches {
    pub(crate) fn contains(&self, summarizer: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(summarizer)
    }

    pub(crate) fn note(&self, summarizer: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(summarizer.to_owned());
    }
}

/// How a summary was requested, and what each way costs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RequestReport {
    /// The kind of the summary.
    pub kind: RequestKind,
    /// Whether the summary was written by continuing the conversation.
    pub is_continued: bool,
    /// Why it was not continued, or why the answer was not used.
    pub obstacle: Option<Obstacle>,
    /// The input of transcripts; `None` if none fits.
    pub transcript: Option<Estimate>,
    /// The input of continuing, if the provider has all of it cached.
    pub continued: Option<Estimate>,
    /// The list price behind the costs.
    pub(crate) price: Option<Price>,
    /// Cached input tokens.
    pub cached_tokens: Option<u64>,
    /// The cost of all requests in US dollars.
    pub cost: Option<f64>,
}

/// An estimate of the input of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Tokens.
    pub tokens: u64,
    /// US dollars, where a price is known.
    pub cost: Option<f64>,
}

#[cfg(test)]
mod tests {
    use compaction_core::conversation::{CachedInput, SystemPrompt};
    use compaction_core::message::Message;

    use super::*;

    const NOW: i64 = 10_000_000;

    /// A conversation of claude-sonnet-4-5 with 100,000 tokens that is in its provider's cache.
    fn prefix() -> Prefix {
        Prefix {
            messages: vec![Arc::new(Message::user_text("hello", None))],
            last_entry_id: Some(EntryId::new("a")),
            system: Some(SystemPrompt { text: "Be kind.".to_owned(), tools: Vec::new(), is_first: true }),
            answer: Some(LastAnswer {
                provider: "anthropic".to_owned(),
                model: "claude-sonnet-4-5".to_owned(),
                api: Some(MESSAGES.to_owned()),
                time: Some(NOW - 2_000),
                input: Some(CachedInput { tokens: 120_000, cached: 119_000 }),
                has_seen_all: true,
            }),
            has_thinking: false,
            tokens: 100_000,
            sent_at: Some(NOW - 60_000),
        }
    }

    struct Case {
        choice: RequestChoice,
        continues: Option<Continues>,
        prefix: Prefix,
        transcript_tokens: Option<u64>,
        window: Option<u64>,
        has_missed: bool,
    }

    impl Case {
        fn new() -> Self {
            Self {
                choice: RequestChoice::Auto,
                continues: Some(of_model(Some("anthropic"), Cache::MarkedBeginnings, false)),
                prefix: prefix(),
                transcript_tokens: Some(30_000),
                window: Some(200_000),
                has_missed: false,
            }
        }

        fn answer(&mut self) -> &mut LastAnswer {
            self.prefix.answer.as_mut().unwrap()
        }
    }

    fn of_model(provider: Option<&str>, cache: Cache, sets_thinking: bool) -> Continues {
        let model = "claude-sonnet-4-5".to_owned();
        let provider = provider.map(str::to_owned);
        Continues::OfModel { provider, model, sets_thinking, interface: MESSAGES, cache }
    }

    /// Checks the obstacle to an automatic continuation, and to one that is asked for.
    #[track_caller]
    fn check(change: impl Fn(&mut Case), auto: Option<Reason>, asked_for: Option<Reason>) {
        for (choice, expected) in [(RequestChoice::Auto, auto), (RequestChoice::Continue, asked_for)] {
            let mut case = Case { choice, ..Case::new() };
            change(&mut case);
            let instruction = SummaryRequest {
                kind: RequestKind::History,
                system_prompt: String::new(),
                prompt: String::new(),
                max_tokens: 13_107,
                estimated_tokens: 800,
            };
            let check = ContinuationCheck {
                choice: case.choice,
                continues: case.continues,
                prefix: &case.prefix,
                instruction: &instruction,
                transcript_tokens: case.transcript_tokens,
                window: case.window,
                price: case.prefix.answer.as_ref().and_then(|answer| Price::of(&answer.model)),
                has_missed: case.has_missed,
                now: NOW,
            };
            let found = check.check().err();
            assert_eq!(found.as_ref().map(|obstacle| obstacle.reason), expected, "{choice:?} {found:?}");
        }
    }

    #[test]
    fn a_conversation_is_continued_where_its_model_has_it() {
        check(|_| {}, None, None);
        check(|case| case.choice = RequestChoice::Transcript, Some(Reason::Settings), Some(Reason::Settings));
        check(|case| case.continues = None, Some(Reason::NotSupported), Some(Reason::NotSupported));
        check(|case| case.prefix.messages.clear(), Some(Reason::NotSeen), Some(Reason::NotSeen));
    }

    /// A secret in the conversation goes only to the model that has seen it.
    #[test]
    fn no_other_model_gets_a_conversation_whatever_is_asked_for() {
        let other = Some(Reason::OtherModel);
        check(|case| case.answer().model = "claude-haiku-4-5".to_owned(), other, other);
        check(|case| case.answer().provider = "openrouter".to_owned(), other, other);
        check(|case| case.prefix.answer = None, other, other);
        check(|case| case.continues = Some(of_model(None, Cache::EveryBeginning, false)), other, other);
        check(|case| case.answer().has_seen_all = false, Some(Reason::NotSeen), Some(Reason::NotSeen));
    }

    #[test]
    fn what_is_not_known_is_not_sent() {
        let unknown = Some(Reason::PromptUnknown);
        check(|case| case.prefix.system = None, unknown, unknown);
        check(|case| case.prefix.system.as_mut().unwrap().is_first = false, unknown, unknown);
        let interface = Some(Reason::OtherInterface);
        check(|case| case.answer().api = Some(CHAT.to_owned()), interface, None);
        check(|case| case.answer().api = Some("another".to_owned()), None, None);
        check(|case| case.answer().api = None, None, None);
        let thinking = Some(Reason::ThinkingUnknown);
        check(|case| case.prefix.has_thinking = true, thinking, None);
        let set = |case: &mut Case| case.continues = Some(of_model(Some("anthropic"), Cache::MarkedBeginnings, true));
        check(set, thinking, None);
        check(
            |case| {
                set(case);
                case.prefix.has_thinking = true;
            },
            None,
            None,
        );
        // If every beginning is kept, thinking is not part of it.
        let other = |case: &mut Case| case.continues = Some(of_model(Some("anthropic"), Cache::EveryBeginning, true));
        check(other, None, None);
    }

    #[test]
    fn it_has_to_fit() {
        let too_large = Some(Reason::TooLarge);
        check(|case| case.window = Some(100_000 + 800 + 13_106), too_large, too_large);
        check(|case| case.window = Some(100_000 + 800 + 13_107), None, None);
        check(|case| case.window = None, None, None);
    }

    #[test]
    fn it_is_not_done_by_itself_where_it_costs_more() {
        check(|case| case.answer().input = None, Some(Reason::NoCache), None);
        check(|case| case.answer().input.as_mut().unwrap().cached = 0, Some(Reason::NoCache), None);
        // A cache with only prompt and tools.
        check(|case| case.answer().input.as_mut().unwrap().cached = 20_000, Some(Reason::NoCache), None);
        check(|case| case.has_missed = true, Some(Reason::CacheMissed), None);
        check(|case| case.transcript_tokens = Some(10_800), Some(Reason::CostsMore), None);
        check(|case| case.transcript_tokens = Some(10_801), None, None);
        check(|case| case.transcript_tokens = None, None, None);
        // For a model without a known price, half is assumed.
        let unknown = |case: &mut Case, transcript| {
            case.answer().model = "new-model".to_owned();
            case.continues = Some(Continues::OfClient);
            case.transcript_tokens = Some(transcript);
        };
        check(|case| unknown(case, 50_800), Some(Reason::CostsMore), None);
        check(|case| unknown(case, 50_801), None, None);
    }

    #[test]
    fn a_cache_is_cold_after_five_minutes() {
        let cold = Some(Reason::CacheExpired);
        let old = NOW - 271_000;
        // The mark at the cut counts, not the last request.
        check(|case| case.prefix.sent_at = Some(old), cold, None);
        check(|case| case.prefix.sent_at = None, cold, None);
        check(|case| case.answer().time = Some(old), None, None);
        let everywhere =
            |case: &mut Case| case.continues = Some(of_model(Some("anthropic"), Cache::EveryBeginning, false));
        let with = |change: fn(&mut Case)| {
            move |case: &mut Case| {
                everywhere(case);
                change(case);
            }
        };
        check(with(|case| case.prefix.sent_at = Some(NOW - 271_000)), None, None);
        check(with(|case| case.answer().time = Some(NOW - 271_000)), cold, None);
        check(with(|case| case.answer().time = None), cold, None);
    }

    #[test]
    fn a_client_knows_its_own_conversation() {
        let host = |change: fn(&mut Case)| {
            move |case: &mut Case| {
                case.continues = Some(Continues::OfClient);
                change(case);
            }
        };
        check(host(|_| {}), None, None);
        check(host(|case| case.prefix.system = None), None, None);
        check(host(|case| case.answer().provider = "any".to_owned()), None, None);
        check(host(|case| case.answer().input = None), None, None);
        check(host(|case| case.answer().has_seen_all = false), Some(Reason::NotSeen), None);
        check(host(|case| case.prefix.answer = None), Some(Reason::NotSeen), None);
        check(host(|case| case.answer().input.as_mut().unwrap().cached = 0), Some(Reason::NoCache), None);
        // The provider of these conversations marks beginnings.
        check(host(|case| case.prefix.sent_at = Some(NOW - 271_000)), Some(Reason::CacheExpired), None);
        check(
            host(|case| {
                case.answer().model = "gpt-5".to_owned();
                case.prefix.sent_at = Some(NOW - 271_000);
            }),
            None,
            None,
        );
    }

    #[test]
    fn misses_are_remembered_by_summarizer() {
        let missed = MissedCaches::default();
        missed.note("a");
        assert!(missed.contains("a") && !missed.contains("b"));
    }
}
