//! A plain BM25 over windows of 1,000 characters, to compare with.

use std::collections::HashMap;

use crate::session::Evicted;

const WINDOW: usize = 1000;
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;

/// Windows of all entries with their words.
pub(crate) struct Plain {
    windows: Vec<Window>,
    holders: HashMap<String, usize>,
    average: f64,
}

struct Window {
    entry: usize,
    text: String,
    counts: HashMap<String, usize>,
    length: usize,
}

/// A window that answers, and where it is from.
pub(crate) struct Answer<'a> {
    pub(crate) entry: usize,
    pub(crate) text: &'a str,
}

impl Plain {
    pub(crate) fn new(evicted: &[Evicted]) -> Self {
        let mut windows = Vec::new();
        let mut holders = HashMap::new();
        for (entry, evicted) in evicted.iter().enumerate() {
            let characters: Vec<char> = evicted.whole.text.chars().collect();
            for window in characters.chunks(WINDOW) {
                let text: String = window.iter().collect();
                let mut counts: HashMap<String, usize> = HashMap::new();
                words(&text).for_each(|word| *counts.entry(word).or_default() += 1);
                counts.keys().for_each(|word| *holders.entry(word.clone()).or_default() += 1);
                windows.push(Window { entry, text, length: counts.values().sum(), counts });
            }
        }
        let average = windows.iter().map(|window| window.length as f64).sum::<f64>() / windows.len().max(1) as f64;
        Self { windows, holders, average }
    }

    /// The best windows that have at most `tokens` together, four characters each.
    pub(crate) fn ask(&self, question: &str, tokens: u64) -> Vec<Answer<'_>> {
        let terms: Vec<String> = words(question).collect();
        let mut scored: Vec<(f64, usize)> =
            self.windows.iter().enumerate().map(|(at, window)| (self.score(window, &terms), at)).collect();
        scored.retain(|(score, _)| *score > 0.0);
        scored.sort_by(|(a, at_a), (b, at_b)| b.total_cmp(a).then(at_b.cmp(at_a)));
        let mut room = tokens as usize * 4;
        let mut answers = Vec::new();
        for (_, at) in scored {
            let window = &self.windows[at];
            let units = window.text.encode_utf16().count();
            if units <= room {
                room -= units;
                answers.push(Answer { entry: window.entry, text: &window.text });
            }
        }
        answers
    }

    fn score(&self, window: &Window, terms: &[String]) -> f64 {
        let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * window.length as f64 / self.average;
        let weigh = |term: &String| {
            let count = window.counts.get(term).copied().unwrap_or_default() as f64;
            let holders = self.holders.get(term).copied().unwrap_or_default() as f64;
            let rarity = (1.0 + (self.windows.len() as f64 - holders + 0.5) / (holders + 0.5)).ln();
            rarity * count * (SATURATION + 1.0) / (count + SATURATION * length)
        };
        terms.iter().map(weigh).sum()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}
