//! What the peer says of each entry of a context; everything else can be derived from it.

use anyhow::Context as _;
use compaction_core::json::Json;

use super::answer::{Files, Navigation, Preparation, canonical};

/// The peer's answer at one leaf.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) projected: Vec<Projected>,
    pub(crate) thinking_level: String,
    pub(crate) model: String,
    pub(crate) tokens: [u64; 3],
    pub(crate) preparation: Option<Preparation>,
    /// What a model is asked for that.
    pub(crate) prompts: Vec<String>,
}

/// One entry of the context.
#[derive(Debug, Clone)]
pub(crate) struct Projected {
    pub(crate) position: usize,
    /// Distance from the leaf.
    pub(crate) depth: usize,
    pub(crate) entry: Json<'static>,
    pub(crate) messages: Vec<Message>,
    /// Files of its tool calls.
    pub(crate) files: Files,
}

/// One message of the context.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) value: Json<'static>,
    pub(crate) canonical: String,
    pub(crate) tokens: u64,
    pub(crate) llm: Option<Json<'static>>,
    pub(crate) text: String,
}

impl Message {
    pub(crate) fn role(&self) -> &str {
        self.value.get("role").and_then(Json::as_str).unwrap_or("")
    }

    pub(crate) fn string(&self, key: &str) -> &str {
        self.value.get(key).and_then(Json::as_str).unwrap_or("")
    }
}

impl Projected {
    pub(crate) fn kind(&self) -> &str {
        self.entry.get("type").and_then(Json::as_str).unwrap_or("")
    }

    pub(crate) fn string(&self, key: &str) -> Option<&str> {
        self.entry.get(key).and_then(Json::as_str)
    }
}

impl Facts {
    pub(crate) fn read(json: &Json<'_>) -> anyhow::Result<Self> {
        refuse_error(json)?;
        let tokens = array(json, "tokens")?.iter().map(count).collect::<anyhow::Result<Vec<u64>>>()?;
        Ok(Self {
            projected: array(json, "projected")?.iter().map(projected).collect::<anyhow::Result<_>>()?,
            thinking_level: json.get("thinkingLevel").and_then(Json::as_str).context("thinkingLevel")?.to_owned(),
            model: canonical(member(json, "model")?),
            tokens: tokens.try_into().ok().context("three numbers of tokens")?,
            preparation: match member(json, "preparation")? {
                Json::Null => None,
                prepared => Some(preparation(prepared)?),
            },
            prompts: array(json, "prompts")?.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        })
    }

    /// The messages of the context, in order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.projected.iter().flat_map(|projected| &projected.messages)
    }
}

impl Navigation {
    pub(crate) fn read(json: &Json<'_>) -> anyhow::Result<Self> {
        let entries = array(json, "entries")?.iter().map(count).collect::<anyhow::Result<Vec<u64>>>()?;
        Ok(Self {
            common_ancestor: member(json, "commonAncestor")?.as_f64().map(|position| position as usize),
            entries: entries.into_iter().map(|position| position as usize).collect(),
        })
    }
}

/// Fails with the error that the peer threw, if it did.
pub(crate) fn refuse_error(json: &Json<'_>) -> anyhow::Result<()> {
    match json.get("error").and_then(Json::as_str) {
        Some(error) => anyhow::bail!("the peer failed: {error}"),
        None => Ok(()),
    }
}

fn projected(json: &Json<'_>) -> anyhow::Result<Projected> {
    Ok(Projected {
        position: count(member(json, "position")?)? as usize,
        depth: count(member(json, "depth")?)? as usize,
        entry: member(json, "entry")?.clone().into_owned(),
        messages: array(json, "messages")?.iter().map(message).collect::<anyhow::Result<_>>()?,
        files: files(member(json, "files")?)?,
    })
}

fn message(json: &Json<'_>) -> anyhow::Result<Message> {
    let value = member(json, "message")?;
    let llm = member(json, "llm")?;
    Ok(Message {
        value: value.clone().into_owned(),
        canonical: canonical(value),
        tokens: count(member(json, "tokens")?)?,
        llm: (*llm != Json::Null).then(|| llm.clone().into_owned()),
        text: member(json, "text")?.as_str().context("text")?.to_owned(),
    })
}

fn preparation(json: &Json<'_>) -> anyhow::Result<Preparation> {
    let messages = |key: &str| anyhow::Ok(array(json, key)?.iter().map(canonical).collect::<Vec<_>>());
    Ok(Preparation {
        first_kept: count(member(json, "firstKept")?)? as usize,
        is_split_turn: member(json, "isSplitTurn")?.as_bool().context("isSplitTurn")?,
        history: messages("messagesToSummarize")?,
        turn_prefix: messages("turnPrefixMessages")?,
        tokens_before: count(member(json, "tokensBefore")?)?,
        previous_summary: member(json, "previousSummary")?.as_str().map(str::to_owned),
        files: files(member(json, "files")?)?,
    })
}

pub(crate) fn files(json: &Json<'_>) -> anyhow::Result<Files> {
    let paths = |key: &str| anyhow::Ok(array(json, key)?.iter().map(canonical).collect::<Vec<_>>());
    Ok(Files { read: paths("read")?, written: paths("written")?, edited: paths("edited")? })
}

pub(crate) fn member<'a, 'b>(json: &'a Json<'b>, key: &str) -> anyhow::Result<&'a Json<'b>> {
    json.get(key).with_context(|| format!("no {key} in {}", json.to_compact().chars().take(300).collect::<String>()))
}

pub(crate) fn array<'a, 'b>(json: &'a Json<'b>, key: &str) -> anyhow::Result<&'a [Json<'b>]> {
    match member(json, key)? {
        Json::Array(items) => Ok(items),
        other => anyhow::bail!("{key} is no list: {}", other.to_compact()),
    }
}

pub(crate) fn count(json: &Json<'_>) -> anyhow::Result<u64> {
    let number = json.as_f64().with_context(|| format!("no number: {}", json.to_compact()))?;
    Ok(number as u64)
}
