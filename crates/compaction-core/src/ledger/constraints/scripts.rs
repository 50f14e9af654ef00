//! Constraints in languages without spaces between words, or with long endings. Cues are searched for
//! as pieces of text.

/// The cues of a language.
pub(super) struct Script {
    /// Pieces that make a sentence a constraint.
    pub(super) cues: &'static [&'static str],
    /// Pieces that stress an order, and pieces that ask. One of each, in this order, makes a
    /// constraint.
    pub(super) stresses: &'static [&'static str],
    requests: &'static [&'static str],
    /// Ends of constraints, without the full stop.
    pub(super) ends: &'static [&'static str],
    /// Pieces of sentences that only report or ask.
    reports: &'static [&'static str],
}

const CHINESE: Script = Script {
    cues: &[
        "不要",
        "不得",
        "不许",
        "不許",
        "不准",
        "不允许",
        "不允許",
        "不可以",
        "请勿",
        "請勿",
        "切勿",
        "勿动",
        "请别",
        "請別",
        "千万别",
        "千萬別",
        "别动",
        "别改",
        "别删",
        "别碰",
        "禁止",
        "严禁",
        "嚴禁",
        "必须",
        "必須",
        "务必",
        "務必",
        "一定要",
        "绝不",
        "絕不",
        "绝对不",
        "絕對不",
        "始终",
        "始終",
        "永远不要",
        "避免",
        "只使用",
        "仅使用",
        "只能使用",
        "只允许",
        "请保持",
        "請保持",
        "确保",
        "確保",
    ],
    stresses: &["总是", "總是", "请一直", "一律"],
    requests: &["使用", "用", "保留", "先"],
    ends: &[],
    reports: &["要不要", "为什么", "為什麼", "我不要", "吗", "嗎", "必须是因为", "不可以吗"],
};
const JAPANESE: Script = Script {
    cues: &[
        "ないでください",
        "ないで下さい",
        "ないでほしい",
        "ないようにして",
        "てはいけ",
        "ではいけ",
        "てはなら",
        "ではなら",
        "てはだめ",
        "ちゃだめ",
        "禁止",
        "厳禁",
        "なければならな",
        "なければなりま",
        "必須です",
        "避けてください",
        "避けて下さい",
        "べからず",
        "のみ使用",
        "のみを使用",
        "だけを使",
    ],
    stresses: &["必ず", "絶対に", "絶対", "決して", "常に", "いつも", "くれぐれも"],
    requests: &["ください", "下さい", "お願い", "しないで", "ないで", "こと", "するな", "使って", "して。", "ように"],
    ends: &[
        "しないで",
        "触らないで",
        "変えないで",
        "消さないで",
        "使わないで",
        "しないこと",
        "ないこと",
        "するな",
        "触るな",
        "使うな",
        "消すな",
        "変えるな",
    ],
    reports: &["ないでしょう", "ないですか", "ますか", "ないで済", "のはなぜ"],
};
const KOREAN: Script = Script {
    cues: &[
        "지 마",
        "지마",
        "지 말",
        "지말",
        "금지",
        "해서는 안",
        "하면 안",
        "면 안 됩",
        "면 안 돼",
        "면 안돼",
        "안 됩니다",
        "반드시",
        "피해 주세요",
        "피해주세요",
        "만 사용하",
        "만 사용해",
        "만 써",
    ],
    stresses: &["항상", "절대", "꼭", "언제나"],
    requests: &[
        "세요",
        "십시오",
        "해 줘",
        "해줘",
        "해라",
        "하라",
        "해 주",
        "해주",
        "말",
        "마라",
        "않도록",
        "안 돼",
        "안돼",
        "써 줘",
    ],
    ends: &["지 마", "하지 말 것", "말 것"],
    reports: &["반드시 그런", "인가요", "습니까", "나요", "을까요", "할까요"],
};

pub(super) const SCRIPTS: [Script; 3] = [CHINESE, JAPANESE, KOREAN];

/// Whether a sentence in one of these languages is a constraint.
pub(super) fn is_constraint(sentence: &str) -> bool {
    // The characters of all cues begin with such a byte. The loop is compiled to vector instructions.
    sentence.bytes().fold(false, |is_wide, byte| is_wide | (byte >= 0xE3))
        && SCRIPTS.iter().any(|script| script.asks(sentence))
}

impl Script {
    fn asks(&self, sentence: &str) -> bool {
        let has = |pieces: &[&str]| pieces.iter().any(|piece| sentence.contains(piece));
        let text = sentence.trim_end_matches(|character: char| !character.is_alphanumeric());
        let ends = self.ends.iter().any(|end| text.ends_with(end));
        (has(self.cues) || ends || self.stresses_a_request(sentence)) && !has(self.reports)
    }

    fn stresses_a_request(&self, sentence: &str) -> bool {
        let behind = |stress: &&str| sentence.split_once(*stress).map(|(_, behind)| behind);
        let asks = |behind: &str| self.requests.iter().any(|request| behind.contains(request));
        self.stresses.iter().filter_map(behind).any(asks)
    }
}
