//! How many of the secrets of the yardstick are found, and how many harmless texts are taken for one.

use super::Redactor;
use super::samples::{self, Sample, escaped};

/// Texts are looked at as they are, and as JSON that was escaped up to so often.
const MOST_ESCAPES: usize = 3;

/// Samples that still tell a part of a secret after redaction, with that part.
fn missed(samples: &[Sample], escapes: usize) -> Vec<String> {
    let look = |sample: &Sample| {
        let text = format!("before\n{}\nafter", sample.text);
        let redacted = Redactor::shared().redact(&escaped(&text, escapes)).text.into_owned();
        let left = sample.left_in(&redacted, escapes);
        left.first().map(|part| format!("{}: {part:?} is left of {:?}: {redacted:?}", sample.form, sample.text))
    };
    samples.iter().filter_map(look).collect()
}

/// At least 95 of 100 have to be found, however often they were escaped.
fn check_found(samples: &[Sample]) {
    for escapes in 0..=MOST_ESCAPES {
        let missed = missed(samples, escapes);
        let told = format!("{} of {} are missed, escaped {escapes} times", missed.len(), samples.len());
        assert!(missed.len() * 20 <= samples.len(), "{told}:\n{}", missed.join("\n"));
    }
}

#[test]
fn secrets_are_found_however_often_they_are_escaped() {
    let samples = samples::secrets();
    assert!(samples.len() >= 200);
    check_found(&samples);
}

#[test]
fn secrets_that_were_written_later_are_found() {
    check_found(&samples::later_secrets());
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let samples: Vec<Sample> = samples::harmless().into_iter().chain(samples::later_harmless()).collect();
    assert!(samples.len() >= 240);
    let mut wrong = Vec::new();
    for escapes in 0..=MOST_ESCAPES {
        for sample in &samples {
            let text = escaped(&format!("before\n{}\nafter", sample.text), escapes);
            let redacted = Redactor::shared().redact(&text);
            if redacted.text != text {
                wrong.push(format!(
                    "{}, escaped {escapes} times: {:?}: {}",
                    sample.form, redacted.counts, redacted.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
