//! Words that carry nothing in a question: articles, pronouns, prepositions, auxiliary verbs, and
//! words that ask. Lower-case; a new language is a new row.

const LANGUAGES: [&str; 8] = [ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, DUTCH];

const ENGLISH: &str = "a about after all also am an and any are aren't as at be because been before being both but by can \
can't could couldn't did didn't do does doesn't doing don't done for from get give given go had has have he her here \
him his how i i'd i'm i've if in into is isn't it it's its itself just let's like may me might more most must my no not of on once one \
only or other our out over please she should shouldn't so some such tell than that that's the their them then there \
these they this those through to too under until up us was wasn't we we're were weren't what what's whatever when where which while \
who whom whose why will with within without would you your";

const GERMAN: &str = "aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist \
bitte da damit dann das dass dein deine dem den denn der des die dies diese diesem diesen dieser dieses doch dort du durch ein eine \
einem einen einer eines er es etwas euch für gegen gibt hab habe haben hat hatte hatten hier ich ihm ihn ihnen ihr ihre im in ins ist ja jede \
jedem jeden jeder jedes jetzt kann kannst können könnte man mein meine mich mir mit muss müssen nach nicht nichts noch nun nur ob oder \
ohne sehr sein seine sich sie sind so soll sollen sollte sondern über um und uns unser unsere unter vom von vor wann war waren warum was \
weil welche welchem welchen welcher welches wem wen wenn wer werde werden wie wieder wieso wir wird wo wofür wohin wollen wollte womit \
worden wurde wurden zu zum zur zwischen";

const FRENCH: &str = "ai ainsi alors as au aucun aussi autre autres aux avait avant avec avez avoir avons c'est car ce ceci cela celle \
celui ces cet cette ceux chez comme comment dans de des donc dont du elle elles en encore entre es est est-ce et étaient était été être eu \
eux fait faire faut fut il ils j'ai je la là laquelle le lequel les lesquels leur leurs lui ma mais me même mes moi mon ne ni nos notre nous on ont \
ou où par parce pas pendant peut plus pour pourquoi qu'est-ce qu'il quand que quel quelle quelles quels qui quoi sa sans se sera ses si \
son sont sous suis sur ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y";

const SPANISH: &str = "a ahora al algo algún alguna antes aquel aquella aquí así aún aunque bajo cada como cómo con contra cual cuál cuáles \
cuando cuándo cuánto cuántos de debe del desde dónde donde durante e el él ella ellas ellos en entre era eran eres es esa ese eso esos esta está \
estaba están estar estas este esto estos fue fueron ha había han has hasta hay he hemos hizo la las le les lo los más me mi mis mucho muy \
nada ni no nos nosotros nuestra nuestro o os otra otro otros para pero por porque qué que quién quien se sea ser si sí sido sin sobre son \
su sus también tanto te tiene tienen todo todos tu tú tus un una uno unos usted y ya yo";

const PORTUGUESE: &str = "a agora ainda algo algum alguma antes ao aos aquela aquele aquilo as às até cada com como contra da das de dela \
dele deles depois desde deve do dos e é ela elas ele eles em entre era eram essa esse esta está estamos estão estar estas estava este estes estou \
eu fez foi fomos for foram há isso isto já la lhe mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa o onde \
os ou outra outro para pela pelas pelo pelos por porque porquê pra qual quais quando quanto quantos que quê quem se seja sem ser será seu sua suas \
são só sobre também tem têm teve tinha tudo um uma umas uns você vocês";

const ITALIAN: &str = "a abbiamo agli ai al alla alle allo anche ancora avere aveva c'è che chi ci cioè come con contro cosa cos'è così cui da \
dagli dai dal dalla dalle degli dei del dell della delle dello di dopo dove dov'è e è ed era erano essere fa fatto fino fra gli ha hai hanno ho i il in io \
l la le lei li lo loro lui ma me mi mio molto nè ne negli nei nel nella nelle no noi nostra nostro o ogni oppure per perché però più poi \
prima qual quale quali quando quanto quanti quella quelle quelli quello questa queste questi questo qui se sei senza si sia siamo sono sopra sotto \
stata stati stato su sua sul sulla suo te ti tra tu tua tuo tutti tutto un una uno vi voi";

const RUSSIAN: &str = "а без бы был была были было быть в вам вас весь во вот все всё всех вы где да для до его ее её ей если есть еще ещё же за \
зачем здесь и из или им их к как какая какие какой каком каких когда который которая которые кто куда ли лучше мне мы на над надо нам нас \
наш не него нее неё нет ни но ну о об один он она они оно от очень по под после потом потому почему при про с сам свой себя сейчас со так также \
такой там те тем теперь то того тоже только том тот ту ты у уже чего чем через что чтобы чтоб эта эти это этого этой этом этот я";

const DUTCH: &str = "aan al als bij dan dat de deze die dit doen door dus een en er geen had hadden hebben hebt heb heeft hem het hier hij hoe hun ik in is ja \
je jij jouw kan kunnen maar me meer met mij mijn moet moeten na naar niet niets nog nu of om omdat onder ons onze ook op over te tegen tot u uit uw van \
vanaf veel voor waar waarom wanneer want waren was wat we wel welk welke werd werden wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou";

/// For each word whether it is one that carries nothing, in the languages that the words are most likely
/// of. A word that all languages but the question's own lack is one of the matter.
pub(super) fn are_function_words(words: &[&str]) -> Vec<bool> {
    let has = |language: &str, word: &str| language.split(' ').any(|known| known == word);
    let counts = LANGUAGES.map(|language| words.iter().filter(|word| has(language, word)).count());
    let most = counts.iter().copied().max().unwrap_or_default();
    let spoken: Vec<&str> =
        LANGUAGES.into_iter().zip(counts).filter(|(_, count)| *count == most).map(|(language, _)| language).collect();
    words.iter().map(|word| spoken.iter().any(|language| has(language, word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(question: &str, matter: &str) {
        let words: Vec<&str> = question.split(' ').collect();
        let carries_nothing = are_function_words(&words);
        let left: Vec<&str> =
            words.iter().zip(carries_nothing).filter(|(_, is_one)| !is_one).map(|(word, _)| *word).collect();
        assert_eq!(left.join(" "), matter, "{question}");
    }

    #[test]
    fn the_matter_of_a_question_is_left() {
        check("what did we change in the parser", "change parser");
        check("why did the process die", "process die");
        check("warum ist die migration von hand", "migration hand");
        check("pourquoi est-ce que les liens ne sont pas corrects", "liens corrects");
        check("por qué falla la prueba", "falla prueba");
        check("onde está o ficheiro", "ficheiro");
        check("dove sono i test", "test");
        check("где лежит файл", "лежит файл");
        check("waarom werkt het niet", "werkt");
    }
}
