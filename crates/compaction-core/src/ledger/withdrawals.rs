//! Withdrawals: sentences of a person that end an earlier constraint or decision.
//!
//! The rules aim at precision. A constraint that is kept too long is still shown beside the sentence that ended it, but
//! one that is dropped by mistake is lost. So a sentence ends an earlier one only if the earlier one says one thing and
//! the later one names exactly that thing.

mod words;

use std::cell::OnceCell;

use super::cues::is_sized;
use super::notes::{AGREED, REFUSED, answered_with};
use crate::text::base_name;
pub(super) use words::build_tables;
use words::{Cue, Language, Sentence, Word};

/// What a sentence withdraws, permits or chooses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Withdrawal {
    acts: Vec<Act>,
    /// Whether it concerns only a part of what it names, such as a way of using it.
    is_partial: bool,
}

/// One effect of a sentence on earlier ones.
#[derive(Debug, PartialEq, Eq)]
struct Act {
    effect: Effect,
    terms: Vec<String>,
    /// What the effect is limited to; empty for no limit.
    scope: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Effect {
    /// The terms are no longer used or needed.
    End,
    /// The terms are not wanted, which ends only a choice of them. Or they are not needed, which ends a
    /// request for exactly them.
    Refuse { is_need: bool },
    /// `chosen` replaces the terms, or `chosen` is no longer used for them.
    Replace { chosen: Vec<String> },
    /// The terms are no longer forbidden.
    Permit { verb: Option<Cue> },
    /// The terms are chosen. If they are common words, they exclude all others.
    Choose { is_plain: bool },
    /// Anything said about the terms no longer applies, whatever its limit.
    Lift,
}

/// What a person's sentence may end; `None` if it withdraws nothing, is a question, or states a condition.
pub(crate) fn withdrawal(sentence: &str) -> Option<Withdrawal> {
    if !is_sized(sentence) || sentence.trim_end().ends_with(['?', '\u{ff1f}', '\u{61f}']) {
        return None;
    }
    let words = Sentence::of(sentence);
    if !words.may_act() {
        return None;
    }
    let clauses = clauses(&words);
    if clauses.iter().any(|clause| clause.has(Cue::Condition)) {
        return None;
    }
    // A partial permission leaves the rest forbidden.
    let is_partial = clauses.iter().any(|clause| clause.has(Cue::Limit) || clause.has(Cue::Tail));
    let acts: Vec<Act> = clauses.into_iter().flat_map(|clause| clause.acts(sentence)).collect();
    let acts: Vec<Act> =
        acts.into_iter().filter(|act| !is_partial || !matches!(act.effect, Effect::Permit { .. })).collect();
    (!acts.is_empty()).then_some(Withdrawal { acts, is_partial })
}

impl Withdrawal {
    /// Whether it ends the constraint or decision `sentence`.
    pub(crate) fn ends(&self, sentence: &str) -> bool {
        let lower = OnceCell::new();
        let is_near = |act: &Act| act.terms.iter().chain(&act.scope).any(|term| has_start_of(sentence, &lower, term));
        if !self.acts.iter().any(is_near) {
            return false;
        }
        if !self.is_partial && self.acts.iter().any(|act| act.bars(sentence)) {
            return true;
        }
        let Some(earlier) = order(sentence) else { return false };
        self.acts.iter().any(|act| act.ends(&earlier, sentence))
    }
}

impl Withdrawal {
    /// Whether it only takes a name out of a longer sentence, whose other wishes still hold.
    pub(crate) fn narrows(&self, sentence: &str) -> bool {
        let is_long = || sentence.split_whitespace().nth(LONG_WORDS).is_some();
        let bars = || !self.is_partial && self.acts.iter().any(|act| act.bars(sentence));
        let ends = || order(sentence).is_some_and(|earlier| self.acts.iter().any(|act| act.ends(&earlier, sentence)));
        is_long() && bars() && !ends()
    }
}

/// Number of words from which a sentence that is ended by a name may want more than that.
const LONG_WORDS: usize = 12;

/// What a person wants in a decision or demand: their own words in an answer, and what they agreed to.
fn wanted(sentence: &str) -> Option<&str> {
    match answered_with(sentence) {
        Some((words, _)) => Some(words),
        None => Some(sentence.strip_prefix(AGREED).unwrap_or(sentence)).filter(|text| !text.starts_with(REFUSED)),
    }
}

/// The only order of a sentence; `None` if it has several or a condition.
fn order(sentence: &str) -> Option<Clause> {
    // A decision comes before its reason.
    let decision = sentence.strip_prefix("**").and_then(|rest| rest.split_once("**:"));
    let clauses = clauses(&Sentence::of(decision.map_or(sentence, |(decision, _)| decision)));
    if clauses.iter().any(|clause| clause.has(Cue::Condition)) {
        return None;
    }
    let mut orders: Vec<Clause> = Vec::new();
    for clause in clauses {
        // A refusal beside a choice belongs to the choice.
        let is_aside = clause.starts_with_pronoun || clause.is_bare_denial();
        if clause.is_empty() || is_aside && !orders.is_empty() {
            continue;
        }
        orders.push(clause);
    }
    let order = orders.pop()?;
    orders.is_empty().then_some(order)
}

/// Whether terms are common words. Two tools may serve one purpose, but tabs exclude spaces.
fn are_plain(terms: &[String], sentence: &str) -> bool {
    terms.iter().all(|term| sentence.contains(term.as_str()))
}

impl Clause {
    fn is_bare_denial(&self) -> bool {
        self.is_denied() && !self.has(Cue::Use) && !self.has(Cue::Change) && !self.has(Cue::Add)
    }

    /// Whether it forbids something.
    fn forbids(&self) -> bool {
        self.is_denied() != (self.has(Cue::Forbid) || self.has(Cue::Drop))
    }

    /// Whether it forbids something or says that it is given up.
    fn forbids_all(&self) -> bool {
        self.is_denied() || self.has(Cue::Forbid) || self.has(Cue::Drop)
    }

    fn verb(&self) -> Option<Cue> {
        [Cue::Use, Cue::Change, Cue::Add].into_iter().find(|verb| self.has(*verb))
    }

    /// The effects of the clause on earlier sentences.
    fn acts(self, sentence: &str) -> Vec<Act> {
        let verb = self.verb();
        let is_denied = self.is_denied();
        let is_move = [Cue::Switch, Cue::Replace, Cue::Becomes].into_iter().any(|cue| self.has(cue));
        if is_denied && is_move {
            return Vec::new();
        }
        let is_choice = self.has(Cue::Use) || self.has(Cue::Switch) || is_move && !self.rejected.is_empty();
        let (has_drop, has_permit, has_forbid) = (self.has(Cue::Drop), self.has(Cue::Permit), self.has(Cue::Forbid));
        let (has_hold, has_also, is_joined) = (self.has(Cue::Hold), self.has(Cue::Also), self.is_joined);
        let is_lasting = self.has(Cue::NoMore) || self.has(Cue::More);
        let is_need = self.has(Cue::Need);
        let Self { main: terms, scope, rejected, .. } = self;
        let mut acts = Vec::new();
        if !rejected.is_empty() {
            let effect = Effect::Replace { chosen: terms.clone() };
            acts.push(Act { effect, terms: rejected, scope: scope.clone() });
        }
        let effect = match (is_denied, has_drop) {
            _ if terms.is_empty() => None,
            (true, true) => None,
            (false, true) => Some(Effect::End),
            (true, false) if has_hold => Some(Effect::Lift),
            (true, false) if has_forbid => Some(Effect::Permit { verb: None }),
            (true, false) if verb == Some(Cue::Use) || verb.is_none() && is_lasting => Some(Effect::End),
            (true, false) if verb.is_none() && (is_need || terms.len() <= 2) => Some(Effect::Refuse { is_need }),
            (false, false) if has_permit && !has_forbid => Some(Effect::Permit { verb }),
            (false, false) if is_choice && !has_also && !is_joined => {
                Some(Effect::Choose { is_plain: are_plain(&terms, sentence) })
            }
            _ => None,
        };
        acts.extend(effect.map(|effect| {
            let scope = if effect == Effect::Lift { Vec::new() } else { scope };
            Act { effect, terms, scope }
        }));
        acts
    }
}

impl Act {
    /// Whether it forbids one distinctive name, and the earlier sentence wants only that name, however many other words
    /// it has.
    fn bars(&self, sentence: &str) -> bool {
        let (Effect::End, [name], []) = (&self.effect, self.terms.as_slice(), self.scope.as_slice()) else {
            return false;
        };
        let Some(wanted) = wanted(sentence).filter(|_| is_name(name)) else { return false };
        let clauses = clauses(&Sentence::of(wanted));
        let names =
            || clauses.iter().flat_map(|clause| clause.main.iter().chain(&clause.scope)).filter(|term| is_name(term));
        let is_it = |term: &String| term.split(['/', '\\']).any(|part| part == name) || term == name;
        let is_open =
            |clause: &Clause| clause.has(Cue::Condition) || clause.has(Cue::Limit) || !clause.rejected.is_empty();
        let is_wanted = |clause: &&Clause| clause.main.iter().chain(&clause.scope).any(is_it);
        names().next().is_some()
            && names().all(is_it)
            && !clauses.iter().any(is_open)
            && !clauses.iter().filter(is_wanted).any(Clause::forbids_all)
    }

    fn ends(&self, earlier: &Clause, sentence: &str) -> bool {
        let Self { effect, terms, scope } = self;
        let is_held = || earlier.holds(terms, scope);
        match effect {
            Effect::End => !earlier.forbids() && is_held(),
            Effect::Refuse { is_need } => {
                let is_all = (*is_need || earlier.has(Cue::Use)) && are_in(&earlier.main, terms);
                !earlier.forbids() && is_all && is_held()
            }
            Effect::Replace { chosen } => {
                let is_its_scope = || are_in(terms, &earlier.scope) && are_in(&earlier.scope, terms);
                let is_other_scope = || is_its_scope() && are_in(chosen, &earlier.main);
                !earlier.forbids() && (is_held() || is_other_scope())
            }
            Effect::Permit { verb } => earlier.forbids() && earlier.is_permitted(*verb, terms, scope),
            Effect::Choose { .. } if earlier.forbids() => earlier.is_permitted(Some(Cue::Use), terms, scope),
            Effect::Choose { is_plain } => {
                *is_plain && are_plain(&earlier.main, sentence) && earlier.is_superseded(terms, scope)
            }
            Effect::Lift => is_held(),
        }
    }
}

impl Clause {
    /// Whether its object is `terms`: most of it, or all of it if the object is several things.
    fn holds(&self, terms: &[String], scope: &[String]) -> bool {
        let is_most = if self.is_joined { are_in(&self.main, terms) } else { terms.len() * 2 >= self.main.len() };
        let is_scoped = scope.iter().all(|term| self.scope.iter().chain(&self.main).any(|own| is_same(own, term)));
        !terms.is_empty() && are_in(terms, &self.main) && is_most && is_scoped
    }

    /// Whether it forbids exactly what is permitted now.
    fn is_permitted(&self, verb: Option<Cue>, terms: &[String], scope: &[String]) -> bool {
        let own = self.verb();
        let is_verb = match (own, verb) {
            (Some(own), Some(verb)) => own == verb,
            (None, Some(verb)) => verb != Cue::Change || self.has(Cue::Forbid),
            (_, None) => true,
        };
        let all = |clause: &[String], scope: &[String]| clause.iter().chain(scope).cloned().collect::<Vec<_>>();
        let (own, permitted) = (all(&self.main, &self.scope), all(terms, scope));
        is_verb && !own.is_empty() && are_in(&own, &permitted) && are_in(&permitted, &own)
    }

    /// Whether another choice for the same purpose replaces it.
    fn is_superseded(&self, terms: &[String], scope: &[String]) -> bool {
        let is_scope = !scope.is_empty() && are_in(scope, &self.scope) && are_in(&self.scope, scope);
        let is_other = !terms.iter().any(|term| self.main.iter().any(|own| is_same(own, term)));
        let is_one = |terms: &[String]| terms.len() == 1;
        self.has(Cue::Use) && !self.is_joined && is_scope && is_other && is_one(terms) && is_one(&self.main)
    }
}

/// A part of a sentence between marks.
#[derive(Debug, Default)]
struct Clause {
    cues: Vec<Cue>,
    /// The object that is used, changed, wanted or not wanted.
    main: Vec<String>,
    /// The purpose or place.
    scope: Vec<String>,
    /// The terms that something else replaces.
    rejected: Vec<String>,
    /// Whether the object is several things.
    is_joined: bool,
    /// Whether it begins with a pronoun for something named before.
    starts_with_pronoun: bool,
    role: Role,
}

/// Which part of a clause a term belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Role {
    #[default]
    Main,
    Scope,
    Rejected,
}

/// The clauses of a sentence, up to its reason.
fn clauses(sentence: &Sentence<'_>) -> Vec<Clause> {
    let mut clauses = vec![Clause::default()];
    for word in sentence.parts() {
        let Some(clause) = clauses.last_mut() else { break };
        match word {
            Word::Break if clause.is_empty() && clause.cues.is_empty() => {}
            Word::Break => clauses.push(Clause::default()),
            Word::Cue(Cue::Tail) => {
                clause.cues.push(Cue::Tail);
                break;
            }
            Word::Cue(cue) => clause.read_cue(cue, sentence.language),
            Word::Term(term) => clause.read_term(term),
        }
    }
    clauses.into_iter().map(Clause::finish).collect()
}

impl Clause {
    fn has(&self, cue: Cue) -> bool {
        self.cues.contains(&cue)
    }

    /// Whether it names nothing.
    fn is_empty(&self) -> bool {
        self.main.is_empty() && self.scope.is_empty() && self.rejected.is_empty()
    }

    /// Whether it is negated.
    fn is_denied(&self) -> bool {
        self.has(Cue::Not) || self.has(Cue::NoMore)
    }

    fn read_term(&mut self, term: String) {
        match self.role {
            Role::Main => self.main.push(term),
            Role::Scope => self.scope.push(term),
            Role::Rejected => self.rejected.push(term),
        }
    }

    fn read_cue(&mut self, cue: Cue, language: Language) {
        let is_moved = self.has(Cue::Switch) || self.has(Cue::Replace);
        match cue {
            Cue::Pronoun => self.starts_with_pronoun |= self.cues.is_empty() && self.is_empty(),
            Cue::For => self.role = Role::Scope,
            Cue::ForBefore => self.scope.append(&mut self.main),
            Cue::Instead => self.role = Role::Rejected,
            Cue::InsteadBefore => self.rejected.append(&mut self.main),
            Cue::Becomes => self.rejected.append(&mut self.main),
            Cue::From if is_moved => self.role = Role::Rejected,
            Cue::To if is_moved => {
                let replaced = if self.has(Cue::Replace) { &mut self.rejected } else { &mut self.scope };
                replaced.append(&mut self.main);
                self.role = Role::Main;
            }
            Cue::From | Cue::To => {}
            Cue::And => self.is_joined |= self.role == Role::Main && !self.main.is_empty(),
            Cue::Use => {
                if language.is_unspaced() && !language.is_verb_last() {
                    self.scope.append(&mut self.main);
                }
                self.role = Role::Main;
            }
            // "Use this, not that" chooses. At the end of its clause the word negates all of it.
            Cue::Not if self.has(Cue::Use) && !self.main.is_empty() && !self.is_denied() => self.role = Role::Rejected,
            _ => {}
        }
        let is_late = cue == Cue::Not && self.role == Role::Rejected;
        self.cues.push(if is_late { Cue::LateNot } else { cue });
    }

    fn finish(mut self) -> Self {
        if self.has(Cue::LateNot) && self.rejected.is_empty() {
            self.cues.push(Cue::Not);
        }
        self
    }
}

/// Whether all of `terms` are among `others`.
fn are_in(terms: &[String], others: &[String]) -> bool {
    terms.iter().all(|term| others.iter().any(|other| is_same(term, other)))
}

/// Whether two terms mean the same: names and paths must be spelled alike, words may have different
/// endings.
fn is_same(left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }
    if is_name(left) || is_name(right) {
        return ends_path(left, right) || ends_path(right, left);
    }
    let term_is_latin = left.chars().all(|character| character < '\u{370}');
    let common = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    let (left, right) = (left.chars().count(), right.chars().count());
    let (shorter, longer) = (left.min(right), left.max(right));
    // If both words have more letters, they must share a longer beginning.
    let least = if common == shorter { 3 } else { 5 };
    // Scripts with longer endings may differ in more letters.
    let most = if term_is_latin { 3 } else { 2 };
    common >= least && common * (most + 1) >= longer * most
}

/// Whether a term is spelled exactly: a path, a version, a name with digits.
fn is_name(term: &str) -> bool {
    term.chars().any(|character| character.is_ascii_digit() || "/\\._:@#$".contains(character))
}

/// Whether `path` ends with the file name `name`.
fn ends_path(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|before| before.ends_with(['/', '\\'])) && name.contains('.')
}

/// Whether `text` contains the beginning of `term`, ignoring case. `lower` is for the text in lower case.
fn has_start_of(text: &str, lower: &OnceCell<String>, term: &str) -> bool {
    // The last part of a path is enough.
    let name = base_name(term);
    let start = name.char_indices().nth(3).map_or(name, |(end, _)| &name[..end]);
    let Some(first) = start.bytes().next() else { return true };
    if !text.is_ascii() || !start.is_ascii() {
        return lower.get_or_init(|| text.to_lowercase()).contains(start);
    }
    let text = text.as_bytes();
    let is_start = |at: usize| {
        text.get(at..at + start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start.as_bytes()))
    };
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), text).any(is_start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::ledger::statements::sentences;

    /// Most cases in a hundred that may be missed; a missed one is shown beside the sentence that ended it.
    const MOST_MISSED: usize = 5;

    /// Whether a message ends an earlier one.
    fn ends(later: &str, earlier: &str) -> bool {
        sentences(later).filter_map(withdrawal).any(|withdrawal| withdrawal.ends(earlier))
    }

    #[test]
    fn what_is_withdrawn_is_known_in_many_languages() {
        let (mut count, mut missed) = (0, Vec::new());
        for line in include_str!("../../fixtures/withdrawals.jsonl").lines() {
            let case = Json::parse(line).expect("a line of the fixture is JSON");
            let text = |key| case.get(key).and_then(Json::as_str).expect("a case has a text");
            let is_withdrawn = case.get("withdrawn").and_then(Json::as_bool).expect("a case has a verdict");
            let is_ended = ends(text("later"), text("earlier"));
            assert!(is_withdrawn || !is_ended, "ended by mistake: {line}");
            count += usize::from(is_withdrawn);
            if is_withdrawn && !is_ended {
                missed.push(line);
            }
        }
        assert!(
            missed.len() * 100 <= count * MOST_MISSED,
            "{} of {count} missed:\n{}",
            missed.len(),
            missed.join("\n")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(later in "\\PC{0,60}|([a-z`/.,]{1,6} |use |not |instead of |不要|用|やめ){0,12}", earlier in "\\PC{0,60}") {
            ends(&later, &earlier);
            ends(&later, &later);
        }
    }

    #[test]
    fn a_prohibition_ends_what_wanted_the_same_name() {
        let answered = |words: &str| format!("The user answered \"{words}\" to: Shall I add a hint for ORDERS_DIR?");
        let wishes = [
            answered("no, i want the page to read the ORDERS_DIR/invoices folder on its own like I said"),
            answered("nein, die Seite soll von selbst den Ordner ORDERS_DIR/rechnungen lesen"),
            "The user agreed to: Shall the page look up ORDERS_DIR on its own?".to_owned(),
            "I want the page to open ORDERS_DIR and list what is there".to_owned(),
        ];
        for later in [
            "make sure you dont use ORDERS_DIR.",
            "read it from the menu, and make sure that you never use ORDERS_DIR",
            "benutze ORDERS_DIR nicht",
            "n'utilise pas ORDERS_DIR",
            "не используй ORDERS_DIR",
            "不要使用ORDERS_DIR",
        ] {
            for wish in &wishes {
                assert!(ends(later, wish), "{later} | {wish}");
            }
        }
        for (later, earlier) in [
            ("don't use ORDERS_DIR in the tests", wishes[0].clone()),
            ("don't use ORDERS_DIR directly", wishes[0].clone()),
            ("don't use ORDERS_DIR", answered("yes, without it")),
            ("don't use ORDERS_DIR", answered("no, never read ORDERS_DIR on its own")),
            ("don't use ORDERS_DIR", "I want the page to list ORDERS_DIR and STOCK_DIR side by side".to_owned()),
            ("don't use ORDERS_DIR", "I want the page to open STOCK_DIR instead of ORDERS_DIR".to_owned()),
            ("don't use ORDERS_DIR", "The user refused: Shall the page look up ORDERS_DIR?".to_owned()),
            ("don't use orders", "I want the page to read the orders and list them".to_owned()),
        ] {
            assert!(!ends(later, &earlier), "{later} | {earlier}");
        }
    }

    #[test]
    fn terms_are_the_same_by_their_shape() {
        for (left, right) in [
            ("tab", "tabs"),
            ("dependency", "dependencies"),
            ("пробелы", "пробелов"),
            ("db/schema.sql", "schema.sql"),
            ("neue", "neuen"),
        ] {
            assert!(is_same(left, right) && is_same(right, left), "{left} {right}");
        }
        for (left, right) in [
            ("db/schema.sql", "db/seed.sql"),
            ("react", "reach"),
            ("comment", "commit"),
            ("v1", "v12"),
            ("tab", "table"),
            ("config", "confirm"),
        ] {
            assert!(!is_same(left, right) && !is_same(right, left), "{left} {right}");
        }
    }
}
