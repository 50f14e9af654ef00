//! How constraints are expressed in Italian.

use super::languages::{Language, NONE, Negation};

pub(super) const ITALIAN: Language = Language {
    anywhere: &[
        "in nessun caso",
        "per nessun motivo",
        "per nessuna ragione",
        "è vietato",
        "è vietata",
        "sono vietati",
        "sono vietate",
        "vietato",
        "non deve",
        "non devono",
        "non devi",
        "non dovete",
        "deve essere",
        "devono essere",
        "deve restare",
        "deve rimanere",
        "devono restare",
        "devono rimanere",
        "assicurati",
        "assicuratevi",
        "mi raccomando",
        "evita",
        "evitate",
        "obbligatoriamente",
    ],
    starts: &[
        "usa",
        "usate",
        "utilizza",
        "utilizzate",
        "mantieni",
        "mantenete",
        "rispetta",
        "rispettate",
        "sempre",
        "mai",
        "solo",
        "soltanto",
        "lascia",
        "ricorda",
        "ricordati",
        "nessun",
        "nessuna",
    ],
    negations: &[
        Negation {
            words: &["non"],
            skipped: &[],
            between: ITALIAN_OBJECTS,
            stems: &[],
            endings: &[
                "are", "ere", "ire", "arre", "orre", "urre", "arlo", "arla", "arli", "arle", "erlo", "erla", "irlo",
                "irla",
            ],
            except: ITALIAN_NO_INFINITIVES,
        },
        Negation {
            words: &["non"],
            skipped: &[],
            between: ITALIAN_OBJECTS,
            stems: ITALIAN_FORMAL,
            endings: &["i", "a", "ate", "ete"],
            except: &[],
        },
    ],
    reports: &["nessun problema", "nessuna idea", "perché", "mai visto", "solo un", "solo una"],
    ..NONE
};
const ITALIAN_OBJECTS: &[&str] = &["lo", "la", "li", "le", "mi", "ti", "si", "ci", "ne", "mai"];
const ITALIAN_NO_INFINITIVES: &[&str] = &["pare", "appare", "compare", "scompare", "mare", "altre", "oltre"];
const ITALIAN_FORMAL: &[&str] =
    &["modifich", "tocch", "cancell", "elimin", "cambi", "aggiung", "rimuov", "scriv", "sovrascriv"];
