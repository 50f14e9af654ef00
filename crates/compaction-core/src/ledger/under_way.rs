//! Answers that end a message but not the work: the model waits for something that runs in the background.

use super::problems::is_conditional;
use super::statements::{prose, sentences};
use super::steps::is_list_item;
use super::text::{WordList, has_piece, normalised, word_list};

/// First words with which a model says that it waits for something.
static WAITING: WordList = word_list!("under way: waiting");
/// Words for what only a person or a client of a program gives. Who waits for that has ended the turn.
static FOR_OTHERS: WordList = word_list!("under way: for others");
/// Number of first and last sentences of an answer that may say so.
const ENDS: usize = 3;

/// Whether an answer says at its beginning or end that the model waits for what it started. The turn goes on when that ends.
pub(super) fn waits_for_work(answer: &str) -> bool {
    let all: Vec<&str> = prose(answer).filter(|line| !is_list_item(line)).flat_map(sentences).collect();
    let ends = all.iter().take(ENDS).chain(all.iter().skip(ENDS).rev().take(ENDS));
    ends.into_iter().any(|sentence| is_waiting(sentence))
}

fn is_waiting(sentence: &str) -> bool {
    let says = has_piece(sentence, WAITING.pieces) || WAITING.may_start(sentence) && WAITING.begins(sentence);
    if !says || sentence.ends_with(['?', '\u{ff1f}']) || is_conditional(sentence) {
        return false;
    }
    !FOR_OTHERS.is_said_in(sentence, &normalised(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_work_has_not_ended_the_turn() {
        for answer in [
            "Both builds run in the background. Waiting for them to finish.",
            "I'm waiting for the tests.\n\n- menu\n- prices",
            "Die Tests laufen im Hintergrund. Warte auf Aufgabe 3 und 4.",
            "J'attends la fin des tests.",
            "Estoy esperando a que terminen las pruebas.",
            "Aguardando o fim da compilação.",
            "Sto aspettando la fine dei test.",
            "Жду окончания сборки.",
            "Ik wacht op de tests.",
            "後台任务已启动，正在等待测试结束。",
            "テストの終了を待っています。",
            "빌드가 끝나기를 기다리고 있습니다.",
        ] {
            assert!(waits_for_work(answer), "{answer}");
        }
        for answer in [
            "The menu is printed. Waiting for your confirmation.",
            "The server is started and is waiting for connections.",
            "Waiting for requests on port 80.",
            "Ich warte auf deine Antwort.",
            "J'attends votre validation.",
            "Жду вашего ответа.",
            "正在等待您的确认。",
            "ご確認を待っています。",
            "Shall I wait for the tests?",
            "I fixed the page that was waiting for the server.",
            "The loop waits for the lock.",
        ] {
            assert!(!waits_for_work(answer), "{answer}");
        }
    }
}
