//! Stated choices: sentences that make a choice without a word such as `decided`. The model says what it does and does
//! not do, why, or that it is temporary; a person says what to keep or what to change to.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::bold::without_bold;
use super::choices::named_within;
use super::constraints::clauses;
use super::cues::{Choice, has_name, is_guess, is_sized, with_reason};
use super::deciding::{is_advice, is_undecided};
use super::finder::Phrases;
use super::statements::sentences;
use super::text::{WordList, has_piece, normalised, word_list};
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// Words that begin a clause about the one who chooses.
static AGENTS: WordList = word_list!(SPACED, "stated: agents");
/// Those of [`AGENTS`] that say what is being done.
static DOING: WordList = word_list!(SPACED, "stated: doing");
/// Words between such a word and its verb.
static FILLERS: WordList = word_list!(SPACED, "stated: fillers");
/// Most of them in a row.
const MOST_FILLERS: usize = 4;
/// Verbs of choosing after such words.
static VERBS: WordList = word_list!(SPACED, "stated: verbs");
/// The same verbs at the beginning of a report or a plan.
static REPORTING: WordList = word_list!(SPACED, "stated: reporting");
/// Forms of these verbs that describe something. They state a choice only with a reason and an alternative.
static DESCRIBING: WordList = word_list!(SPACED, "stated: describing");
/// Verbs that state a choice by themselves.
static CHOSEN: WordList = word_list!(SPACED, "stated: chosen");
/// Phrases with both the verb and the one who chooses, in other languages.
static FORMS: WordList = word_list!("stated: forms");
/// Words that single out one of several ways.
static WAYS: WordList = word_list!(SPACED, "stated: ways");
/// Words before an alternative that was not chosen.
static ALTERNATIVES: WordList = word_list!("stated: alternatives");
/// Words before a reason.
static REASONS: WordList = word_list!("stated: reasons");
/// Words of a clause that denies something, as the reason of the clause before it.
static NEGATIONS: WordList = word_list!(SPACED, "stated: negations");
/// Words of a temporary choice.
static PROVISIONAL: WordList = word_list!("stated: provisional");
/// Objects that do not say what was chosen.
static POINTING: WordList = word_list!(SPACED, "stated: pointing");
/// Words that attribute the choice to somebody else.
static ATTRIBUTING: WordList = word_list!(SPACED, "stated: attributing");
/// First words of conditions.
static CONDITIONS: WordList = word_list!(SPACED, "stated: conditions");
/// Words that show that a person leaves the choice open.
static OPEN: WordList = word_list!(SPACED, "stated: open");
/// Words that report a problem.
static PROBLEMS: WordList = word_list!(SPACED, "stated: problems");
/// Phrases of a person who chooses.
static OF_PERSON: WordList = word_list!("stated: of a person");
/// First words of questions, including those without a question mark.
static ASKING: WordList = word_list!(SPACED, "stated: asking");
/// Beginnings of orders that settle what is used or what something is called.
static ORDERS: WordList = word_list!("stated: orders");
/// Words with which a person asks for a reason.
static COUNTERING: WordList = word_list!("answers: countering");
/// Words that may stand before such an order in its clause. Others name who does it, and describe something.
static BEFORE_ORDERS: WordList = word_list!(SPACED, "stated: before an order");
/// Words of orders to try or to find out something.
static TRIALS: WordList = word_list!("stated: trials");
/// Words before something that was named before.
static DEFINITE: WordList = word_list!(SPACED, "constraints: definite");
/// Phrases that state a choice only if the sentence quotes or names it.
static WITH_NAME: WordList = word_list!(SPACED, "stated: of a person with a name");

/// Finds a part of each phrase that gives a reason or an alternative. Most sentences have none.
pub(super) static MARKS: LazyLock<Phrases> = LazyLock::new(|| {
    let spaced = [&ALTERNATIVES, &REASONS, &PROVISIONAL, &CHOSEN, &WAYS].into_iter().flat_map(|list| list.words);
    Phrases::of(spaced.chain(ALTERNATIVES.pieces).chain(REASONS.pieces).copied())
});

/// Whether a choice is temporary.
pub(crate) fn is_provisional(choice: &str) -> bool {
    PROVISIONAL.is_said(choice)
}

/// Fewest words of such a sentence.
const FEWEST_WORDS: usize = 5;
/// Fewest characters of one in a language without spaces between words.
const FEWEST_CHARACTERS: usize = 12;
/// Fewest words of a choice of a person.
const FEWEST_OF_PERSON: usize = 3;
/// Longest choice of a person, in UTF-16 units.
const LONGEST_OF_PERSON: usize = 240;

/// Where a sentence of the model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentencePlace {
    /// Between calls of tools, where most sentences announce the next step, think aloud or judge a result.
    Working,
    /// At the end of a turn, where advice is not a choice.
    Final,
    /// In a commit message, which is written as an order.
    Commit,
}

/// The choice that a sentence of the model states.
pub(super) fn stated(sentence: &str, told: SentencePlace) -> Option<Choice> {
    let is_final = told == SentencePlace::Final;
    if !is_sized(sentence) || sentence.ends_with([':', '?', '\u{ff1f}', '\u{ff1a}']) || sentence.starts_with('|') {
        return None;
    }
    // A reason may stand behind a colon: `switched the upload to a.example: b.example has no such address`.
    let reason = || {
        let (before, behind) = sentence.split_once(": ")?;
        Some(behind).filter(|_| denies(behind) && chooses(&normalised(before)))
    };
    if !MARKS.is_in(sentence) && reason().is_none() {
        return None;
    }
    let normal = normalised(sentence);
    if CONDITIONS.starts(&normal)
        || is_guess(&normal)
        || is_undecided(sentence, &normal)
        || is_final && is_advice(sentence, &normal)
    {
        return None;
    }
    let has_alternative = ALTERNATIVES.is_said_in(sentence, &normal);
    let has_reason = REASONS.is_said_in(sentence, &normal) || reason().is_some();
    let is_provisional = PROVISIONAL.is_in(&normal);
    let words: Vec<&str> = normal.split_whitespace().collect();
    let is_long = || sentence.chars().filter(|one| one.is_alphanumeric()).count() >= FEWEST_CHARACTERS;
    let by_piece = || (has_piece(sentence, FORMS.pieces) && is_long()).then_some(Made::Done);
    let made = if words.len() >= FEWEST_WORDS { made(&words, &normal, is_final) } else { None }.or_else(by_piece)?;
    let is_marked = match made {
        Made::Chosen => true,
        Made::Way => !is_final && has_name(sentence),
        // A reason distinguishes a choice from the next step and from thinking aloud.
        Made::Announced | Made::Doing if told == SentencePlace::Working => has_reason && has_alternative,
        Made::Done if told == SentencePlace::Working => has_reason && (has_alternative || has_name(sentence)),
        Made::Announced => is_provisional,
        Made::Described => has_reason && has_alternative,
        // Many sentences about how something works also give a reason.
        Made::Done | Made::Doing => has_alternative || is_provisional || has_reason && has_name(sentence),
    };
    if !is_marked {
        return None;
    }
    let plain = without_bold(sentence.trim());
    let reasoned = with_reason(&plain);
    let has_reason = has_reason || reasoned.is_some();
    Some(Choice { item: reasoned.unwrap_or_else(|| plain.into_owned()), has_reason, is_made: true })
}

/// Whether a clause denies something, in a few words at least.
fn denies(clause: &str) -> bool {
    let words = normalised(clause);
    words.split_whitespace().count() >= FEWEST_OF_PERSON && NEGATIONS.is_in(&words)
}

/// How a sentence makes a choice.
enum Made {
    /// With a verb that says so.
    Chosen,
    /// By naming the way.
    Way,
    /// By saying what was done.
    Done,
    /// By describing something, which reports about existing code also do.
    Described,
    /// By saying what will be done, like nearly every announcement of a step.
    Announced,
    /// By saying what is being done.
    Doing,
}

/// Whether `normalised` words report a problem.
pub(super) fn reports_problem(words: &str) -> bool {
    words.split_whitespace().any(|word| PROBLEMS.has(word))
}

/// Whether someone who chooses comes before a verb of choosing. `words` are normalised.
pub(super) fn chooses(words: &str) -> bool {
    let all: Vec<&str> = words.split_whitespace().collect();
    let is_doing = |at: usize| at.checked_sub(1).is_some_and(|before| DOING.has(all[before]));
    let begins = all.first().is_some_and(|first| REPORTING.has(first));
    CHOSEN.starts(words)
        || WAYS.is_in(words)
        || FORMS.is_in(words)
        || begins
        || verbs_of_agents(&all).any(|(_, verb)| !is_doing(verb))
}

fn made(words: &[&str], normal: &str, is_final: bool) -> Option<Made> {
    if CHOSEN.starts(normal) {
        return Some(Made::Chosen);
    }
    if WAYS.is_in(normal) {
        return Some(Made::Way);
    }
    // A problem or another speaker before the verb is the subject of the sentence.
    let is_plain = |end: usize| !words[..end].iter().any(|word| PROBLEMS.has(word) || ATTRIBUTING.has(word));
    // The object may refer to an alternative named before the verb.
    let is_named = ALTERNATIVES.starts(normal);
    let has_object = |verb: usize| words.get(verb + 1).is_some_and(|object| is_named || !POINTING.has(object));
    let first = words.first()?;
    if REPORTING.has(first) && has_object(0) {
        return Some(Made::Done);
    }
    if DESCRIBING.has(first) {
        return Some(Made::Described);
    }
    // Options are also listed as orders.
    if !is_final && VERBS.has(first) && has_object(0) && ALTERNATIVES.is_in(normal) {
        return Some(Made::Done);
    }
    let chosen = verbs_of_agents(words).find(|(at, verb)| has_object(*verb) && is_plain(*at));
    if let Some((at, verb)) = chosen {
        return Some(match words[at + 1..verb].contains(&"me") {
            true => Made::Announced,
            false if DOING.has(words[at]) => Made::Doing,
            false => Made::Done,
        });
    }
    // Why something failed is no choice: `it failed because I used a`.
    let form = FORMS.found_in(normal).next()?;
    let before = normal[..form.0].split_whitespace();
    (!before.into_iter().any(|word| PROBLEMS.has(word))).then_some(Made::Done)
}

/// The positions of those who choose and of the verbs of choosing after them.
fn verbs_of_agents<'w>(words: &'w [&'w str]) -> impl Iterator<Item = (usize, usize)> + 'w {
    words.iter().enumerate().filter(|(_, word)| AGENTS.has(word)).filter_map(|(at, _)| {
        let behind = words[at + 1..].iter().take(MOST_FILLERS + 1);
        let verb = at + 1 + behind.take_while(|word| FILLERS.has(word)).count();
        let is_verb = words.get(verb).is_some_and(|verb| VERBS.has(verb) || REPORTING.has(verb));
        is_verb.then_some((at, verb))
    })
}

/// The choices in the message of a commit command. The first line says what was done.
pub(super) fn choices_of_commit(command: &str) -> Vec<String> {
    let Some(at) = COMMIT.find(command.as_bytes()) else { return Vec::new() };
    let end = command.floor_char_boundary((at + LONGEST_MESSAGE).min(command.len()));
    let body = command[at..end].split_once('\n').map_or("", |(_, body)| body);
    // The lines of a paragraph are wrapped.
    let paragraphs = body.split("\n\n").flat_map(|paragraph| paragraph.split("\n- "));
    let joined: Vec<String> = paragraphs.map(|paragraph| paragraph.replace('\n', " ")).collect();
    let sentences = joined.iter().flat_map(|paragraph| sentences(paragraph));
    // They are written as orders.
    sentences
        .filter_map(|sentence| stated(sentence, SentencePlace::Commit))
        .map(|choice| choice.item)
        .take(MOST_OF_COMMIT)
        .collect()
}

/// Finds commands that have such a message.
static COMMIT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("git commit "));
/// Longest commit message, in bytes.
const LONGEST_MESSAGE: usize = 4096;
/// Most choices in a commit message.
const MOST_OF_COMMIT: usize = 4;

/// Whether a sentence of a person chooses something.
pub(super) fn is_choice_of_person(sentence: &str) -> bool {
    if sentence.ends_with(['?', '\u{ff1f}', ':', '\u{ff1a}']) || utf16_len(sentence) > LONGEST_OF_PERSON {
        return false;
    }
    if has_piece(sentence, OF_PERSON.pieces) {
        return sentence.chars().filter(|one| one.is_alphanumeric()).count() * 2 >= FEWEST_CHARACTERS;
    }
    let words = normalised(without_command(sentence));
    if ASKING.starts(&words) {
        return false;
    }
    let is_quoting = || sentence.contains(['"', '\u{201c}', '\u{201e}', '\u{ab}']) || has_name(sentence);
    let chooses = OF_PERSON.is_in(&words) || WITH_NAME.is_in(&words) && is_quoting();
    let is_telling = |word: &&str| !POINTING.has(word);
    chooses
        && !OPEN.is_in(&words)
        && !is_guess(&words)
        && words.split_whitespace().filter(is_telling).count() > FEWEST_OF_PERSON
}

/// Whether a sentence of a person asks something, also without a question mark, guesses, or orders a trial. It may name two
/// alternatives and decides nothing.
pub(super) fn leaves_open(sentence: &str) -> bool {
    let words = normalised(without_command(sentence));
    let is_trial = || TRIALS.found_in(&words).any(|(at, _)| words[..at].split_whitespace().count() <= BEFORE_ORDER);
    // A word such as `ok` may come before the question. Behind more words, it may begin a reason.
    let mut clauses = clauses(sentence);
    let first = clauses.next().unwrap_or_default();
    let second = clauses.next().filter(|_| first.split_whitespace().count() == 1).unwrap_or_default();
    let asks = COUNTERING.begins(first) || COUNTERING.begins(second);
    sentence.ends_with(['?', '\u{ff1f}']) || asks || is_guess(&words) || is_trial()
}

/// Most words before an order to try something, and most words of an order without a name.
const BEFORE_ORDER: usize = 2;
const MOST_OF_ORDER: usize = 8;
/// Most words of a sentence with such an order.
const MOST_OF_SETTLING: usize = 30;

/// Whether a sentence of a person settles by an order what is used or what something is called. An order to try or to
/// find out something settles nothing, and neither does one about a file.
pub(super) fn settles(sentence: &str) -> bool {
    if sentence.ends_with(['?', '\u{ff1f}', ':', '\u{ff1a}']) || utf16_len(sentence) > LONGEST_OF_PERSON {
        return false;
    }
    let words = normalised(without_command(sentence));
    let is_open = || OPEN.is_in(&words) || is_guess(&words) || CONDITIONS.starts(&words) || ASKING.starts(&words);
    words.split_whitespace().count() <= MOST_OF_SETTLING
        && clauses(sentence).any(is_settling)
        && named_within(sentence).is_none()
        && !TRIALS.is_said_in(sentence, &words)
        && !is_open()
}

fn is_settling(clause: &str) -> bool {
    let is_name = |word: &str| word.starts_with(char::is_uppercase);
    // A command such as `/help` is no path.
    let is_path = |word: &str| word.find('/').is_some_and(|at| at > 0);
    if clause.split_whitespace().any(is_path) || clause.contains(['"', '\u{201c}', '\u{201e}', '\u{ab}']) {
        return false;
    }
    if has_piece(clause, ORDERS.pieces) {
        return clause.contains(|one: char| one.is_ascii_alphanumeric());
    }
    let words = normalised(clause);
    let Some((at, order)) = ORDERS.found_in(&words).next() else { return false };
    let behind: Vec<&str> = words[at + order.len()..].split_whitespace().collect();
    let Some(object) = behind.first() else { return false };
    let is_plain = || behind.len() <= MOST_OF_ORDER && !DEFINITE.has(object) && !POINTING.has(object);
    let before = words[..at].split_whitespace().count();
    // To use a command is a step.
    let is_command = || {
        let object = clause.split_whitespace().nth(before + order.split_whitespace().count());
        object.is_some_and(|object| object.starts_with('/'))
    };
    words[..at].split_whitespace().all(|word| BEFORE_ORDERS.has(word))
        && !is_command()
        && (is_plain() || has_name(clause) || clause.split_whitespace().skip(1).any(is_name))
}

/// A sentence without the command at its beginning, such as `/ask`.
fn without_command(sentence: &str) -> &str {
    let behind = sentence.strip_prefix('/').and_then(|rest| rest.split_once(char::is_whitespace));
    behind.map_or(sentence, |(_, rest)| rest.trim_start())
}

/// Whether the item of a decision names the solution that seemed simplest.
pub(super) fn is_way(item: &str) -> bool {
    WAYS.is_in(&normalised(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_known_by_its_reason_or_by_what_was_not_chosen() {
        let told = |is_final| if is_final { SentencePlace::Final } else { SentencePlace::Working };
        for (sentence, is_final) in [
            ("Using a lookup table instead of nested conditions.", true),
            ("For now, let me simplify and just store the limit directly.", true),
            ("We keep `round()` because pixels are whole numbers.", false),
            ("Kept `legacy.py` for now since two scripts still import it.", true),
            ("Chose files over a table: nothing else reads them.", true),
            ("Opted for one thread per import.", true),
            ("I've kept the old endpoint so that `v1` clients still work.", true),
            ("The simplest approach: check `rows.len()` before drawing.", false),
            ("Stored the rank rather than the name.", true),
            ("Stores the rank rather than the name, so that `sort` is stable.", true),
            ("I understand - let's keep the two folders and use `make` instead of `ninja` for them.", true),
            ("Instead of one lock for the `Store`, we apply it to each row so that readers never wait.", false),
            ("Ich nehme `serde`, weil es gepflegt wird.", false),
            ("On garde `axios` pour l'instant.", true),
            ("Uso un índice en vez de una lista.", true),
            ("沿用 `nom` 来解析，避免增加依赖。", true),
            ("端口改为 `8081`，因为 `8080` 已被占用。", true),
            ("I set the port to `8081` to avoid the one in use.", false),
            ("Ich setze den Port auf `8081`, weil `8080` belegt ist.", false),
            ("Imposto la porta a `8081` per evitare il conflitto.", true),
            ("Переключаем загрузку на `b.example`: у `a.example` нет такого адреса.", true),
            ("We switched the upload to `b.example`: `a.example` has no such address.", true),
        ] {
            assert!(stated(sentence, told(is_final)).is_some(), "{sentence}");
        }
        for (sentence, is_final) in [
            ("The footer now uses `dim` instead of `muted`.", true),
            ("I changed these files: `a.rs`, `b.rs` and `c.rs`.", true),
            ("In short: the page only opens when we set `open` with a name.", true),
            ("Stores the rank rather than the name.", true),
            ("The test is still trying to load `a.rs` instead of `b.rs`.", false),
            ("Let me use `rg` instead of `grep` here.", false),
            ("Let me update `a.rs` to use `b` instead of `c`.", false),
            ("The build fails because we keep `a.rs` in two places.", false),
            ("I'll keep it as it is because of that.", false),
            ("You could store the rank instead of the name.", true),
            ("Use `rg` instead of `grep` if you can.", true),
            ("It returns early since `x` is empty.", true),
            ("Plan B: For now, we can use a `mock` for testing.", true),
            ("Use Plan B: For now, we can use a `mock` for testing.", false),
            ("I will run the tests so that we see what fails.", false),
            ("Should we keep `a.rs` instead of `b.rs`?", true),
            ("When I use `foo` instead of `bar`, the test stays green.", false),
            ("The docs say we use `tokio` instead of `async-std`.", false),
            ("In the old code we keep the list in `a.rs` because the page needs it.", false),
            // Sentences between calls announce the next step or think aloud.
            ("For now, let me simplify and just store the limit directly.", false),
            ("I'm using the last hour to add the `seed` scripts instead of new pages.", false),
            ("One last polish: I'm making the `/export` route serve real rows instead of a sample.", false),
            ("Instead of one lock for the `Store`, we should apply it to each row.", false),
            ("Ich lasse `seed.py` erst einmal laufen, statt zu raten.", false),
            ("Je garde `seed.py` sous les yeux au lieu de deviner.", false),
        ] {
            assert_eq!(stated(sentence, told(is_final)), None, "{sentence}");
        }
    }

    #[test]
    fn a_person_chooses_what_to_stay_with_or_to_change_to() {
        for sentence in [
            "for now let's stay in the terminal.",
            "OK... let's swap to a small web page then.",
            "let's do \"top 5\" + \"rest\"",
            "Bleiben wir bei einer Datei.",
            "On garde le menu à gauche.",
            "vamos manter o formato antigo",
            "那就用单表吧，简单一些。",
            "一覧は日付順にしましょう。",
            "and, yes, I meant https://example.org/rich-table",
            "ich meinte `rich-table`, nicht `table`",
        ] {
            assert!(is_choice_of_person(sentence), "{sentence}");
        }
        for sentence in [
            "let's go",
            "let's do two things",
            "shall we keep the menu?",
            "ok let's use it",
            "add a menu",
            "My colleague said let's stay in the terminal but I disagree",
            "let's go with whatever is there now",
            "/ask can we use the completer of the shell for the names",
            "why do we use two tables here",
            "können wir dann lieber eine Tabelle nehmen",
            "como vamos usar o formato antigo",
        ] {
            assert!(!is_choice_of_person(sentence), "{sentence}");
        }
    }

    #[test]
    fn an_order_settles_what_is_used() {
        for sentence in [
            "use postgres for the orders",
            "ok, go with the second layout of Maria",
            "Please use `tiny-http` and nothing bigger.",
            "let's rename the command to Sync",
            "call it ledgerline",
            "Nimm lieber SQLite, das reicht.",
            "Dann nenn es Kassenbuch.",
            "Utilise plutôt PostgreSQL pour les commandes.",
            "Usa Vite para el panel",
            "Use Tailwind no painel, por favor.",
            "Usa Svelte per il pannello",
            "Используй Redis для очереди",
            "но давай просто уберём панель Sync",
            "Gebruik Postgres voor de bestellingen",
            "把缓存换成 Redis",
            "保存には SQLite を使ってください",
            "色は Blue がいいです",
            "캐시는 Redis를 사용해 주세요",
        ] {
            assert!(settles(sentence), "{sentence}");
        }
        for sentence in [
            "should I use postgres?",
            "use curl to test it",
            "write the file, use /theme again",
            "use it",
            "use the menu",
            "use src/menu.rs as the first file",
            "if there is no table, use postgres",
            "why do we use Postgres here",
            "the people in the shop use Postgres",
            "people use Postgres",
            "we all use Postgres",
            "I use Linux",
            "Kunden verwenden Postgres",
            "eso usa Postgres",
            "Nimm das",
            "Verwende Postgres, um die Abfrage zu testen",
            "Usa Postgres para probar la consulta",
            "用 Redis 测试一下",
            "Option 3 Use Postgres",
            "Use option 2 and write it in Postgres",
            "It answers: \"Use Postgres\"",
            "Redis がいいですか",
        ] {
            assert!(!settles(sentence), "{sentence}");
        }
    }

    #[test]
    fn a_question_a_guess_and_a_trial_leave_a_choice_open() {
        for sentence in [
            "why do we use two tables here instead of one",
            "ok, why did you choose a table instead of a list",
            "test it with `make` instead of `ninja`",
            "please try Firefox instead of Chrome",
            "warum nehmen wir hier zwei Tabellen statt einer",
            "Teste es mit Firefox statt Chrome",
            "pourquoi utiliser deux tables au lieu d'une",
            "prueba con Firefox en vez de Chrome",
            "Is it `rows` rather than `pages`?",
        ] {
            assert!(leaves_open(sentence), "{sentence}");
        }
        for sentence in [
            "use one table instead of two",
            "wir nehmen eine Tabelle statt zwei",
            "On garde une table au lieu de deux",
            "ok, do rows instead of pages",
            "usa righe invece di pagine, perché sono più brevi",
            "the page shows rows instead of pages",
        ] {
            assert!(!leaves_open(sentence), "{sentence}");
        }
    }

    #[test]
    fn the_message_of_a_commit_has_choices_behind_its_first_line() {
        let command = "git add -A && git commit -m \"$(cat <<'EOF'\nfeat: keep one index\n\nUse a single index instead of \
                       one\nper file. It is fast.\n- Kept `old.rs` because two scripts load it.\nEOF\n)\"";
        assert_eq!(
            choices_of_commit(command),
            ["Use a single index instead of one per file.", "**Kept `old.rs`**: two scripts load it."]
        );
        assert!(choices_of_commit("git commit -m 'use a instead of b'").is_empty());
        assert!(choices_of_commit("cat a\nUses a single index instead of two.").is_empty());
    }

    #[test]
    fn every_mark_is_found_by_its_letters() {
        for mark in [&ALTERNATIVES, &REASONS, &PROVISIONAL, &CHOSEN, &WAYS].into_iter().flat_map(|list| list.words) {
            assert!(MARKS.is_in(mark), "{mark}");
        }
    }
}
