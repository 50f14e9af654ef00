//! Our side: a session asked over the protocol.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use compaction_core::json::{self, Json};

use super::answer::{Answer, Files, Navigation, Preparation, canonical};
use super::facts::{array, count, member};
use super::requests::{self, FOCUS, Request};
use super::server::{Server, object};

/// A session that is open in the server.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    server: &'a mut Server,
    session_id: String,
    pub(crate) path: String,
    ids: Vec<String>,
    positions: HashMap<String, usize>,
    leaf: Option<String>,
}

impl<'a> Session<'a> {
    /// Opens `file` and learns the positions of its entries.
    pub(crate) fn open(server: &'a mut Server, file: &Path) -> anyhow::Result<Self> {
        let path = json::encode_string(&file.to_string_lossy());
        let opened = server.call("openSession", &object(&[("path", &path)]))?;
        Self::of(server, &opened)
    }

    /// Closes the session and goes on with the one that `opened`, the result of forking, names.
    pub(crate) fn turn_to(mut self, opened: &Json<'_>) -> anyhow::Result<Self> {
        self.call("closeSession", &[])?;
        Self::of(self.server, opened)
    }

    fn of(server: &'a mut Server, opened: &Json<'_>) -> anyhow::Result<Self> {
        let text = |key: &str| anyhow::Ok(member(opened, key)?.as_str().context("a text")?.to_owned());
        let (session_id, path) = (text("sessionId")?, text("path")?);
        let mut session = Self { server, session_id, path, ids: Vec::new(), positions: HashMap::new(), leaf: None };
        session.learn()?;
        Ok(session)
    }

    /// Reads the tree again, after something was written.
    pub(crate) fn learn(&mut self) -> anyhow::Result<()> {
        let tree = self.call("getTree", &[])?;
        let id = |node: &Json<'_>| anyhow::Ok(member(node, "id")?.as_str().context("an id")?.to_owned());
        self.ids = array(&tree, "nodes")?.iter().map(id).collect::<anyhow::Result<_>>()?;
        self.positions = self.ids.iter().enumerate().map(|(position, id)| (id.clone(), position)).collect();
        self.leaf = member(&tree, "leafId")?.as_str().map(str::to_owned);
        Ok(())
    }

    /// Ids of the entries in file order.
    pub(crate) fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Position of the leaf.
    pub(crate) fn leaf(&self) -> Option<usize> {
        self.positions.get(self.leaf.as_deref()?).copied()
    }

    /// Calls a method with the session and these members, each a JSON text.
    pub(crate) fn call(&mut self, method: &str, members: &[(&str, &str)]) -> anyhow::Result<Json<'static>> {
        let session = json::encode_string(&self.session_id);
        let members = [&[("sessionId", session.as_str())], members].concat();
        self.server.call(method, &object(&members))
    }

    /// Closes the session, so that another file may have its id.
    pub(crate) fn close(mut self) -> anyhow::Result<()> {
        self.call("closeSession", &[]).map(|_| ())
    }

    /// Everything that is asked at one leaf; without a position at that of the file.
    pub(crate) fn answer(&mut self, leaf: Option<usize>, keep_recent_tokens: u64) -> anyhow::Result<Answer> {
        let leaf = json::encode_string(&self.id(leaf)?);
        let context = self.call("getContext", &[("leafId", &leaf)])?;
        let llm = self.call("getContext", &[("leafId", &leaf), ("format", "\"llm\"")])?;
        let messages = array(&context, "messages")?;
        let tokens = member(&context, "tokens")?;
        let (preparation, requests) = self.preparation(&leaf, keep_recent_tokens)?;
        Ok(Answer {
            context: messages.iter().map(canonical).collect(),
            thinking_level: member(&context, "thinkingLevel")?.as_str().context("a level")?.to_owned(),
            model: canonical(member(&context, "model")?),
            tokens: [
                count(member(tokens, "tokens")?)?,
                count(member(tokens, "usageTokens")?)?,
                count(member(tokens, "trailingTokens")?)?,
            ],
            estimates: self.estimates(messages)?,
            llm: array(&llm, "messages")?.iter().map(canonical).collect(),
            texts: self.texts(messages)?,
            preparation,
            requests,
        })
    }

    fn estimates(&mut self, messages: &[Json<'_>]) -> anyhow::Result<Vec<u64>> {
        let answers = self.server.batch("estimateTokens", &one_by_one(messages))?;
        answers.iter().map(|answer| count(member(answer, "tokens")?)).collect()
    }

    /// The text of each message, of which the text of all must be put together.
    fn texts(&mut self, messages: &[Json<'_>]) -> anyhow::Result<Vec<String>> {
        let text = |answer: &Json<'_>| anyhow::Ok(member(answer, "text")?.as_str().context("a text")?.to_owned());
        let answers = self.server.batch("serializeConversation", &one_by_one(messages))?;
        let texts: Vec<String> = answers.iter().map(text).collect::<anyhow::Result<_>>()?;
        let all: Vec<String> = messages.iter().map(Json::to_compact).collect();
        let params = object(&[("messages", &format!("[{}]", all.join(",")))]);
        let parts: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let whole = text(&self.server.call("serializeConversation", &params)?)?;
        anyhow::ensure!(whole == parts.join("\n\n"), "the text of all messages is not that of each: {whole}");
        Ok(texts)
    }

    fn preparation(
        &mut self,
        leaf: &str,
        keep_recent_tokens: u64,
    ) -> anyhow::Result<(Option<Preparation>, Vec<Request>)> {
        let settings = object(&[("keepRecentTokens", &keep_recent_tokens.to_string())]);
        let (include, focus) = ("[\"messages\",\"requests\"]", json::encode_string(FOCUS));
        let members = [("leafId", leaf), ("settings", &settings), ("include", include), ("customInstructions", &focus)];
        let answer = self.call("prepareCompaction", &members)?;
        let prepared = member(&answer, "preparation")?;
        if *prepared == Json::Null {
            let reason = member(&answer, "reason")?.as_str();
            anyhow::ensure!(matches!(reason, Some("alreadyCompacted" | "nothingToCompact")), "reason {reason:?}");
            return Ok((None, Vec::new()));
        }
        let messages = |key: &str| anyhow::Ok(array(prepared, key)?.iter().map(canonical).collect::<Vec<_>>());
        let files = member(prepared, "fileOps")?;
        let paths = |key: &str| anyhow::Ok(array(files, key)?.iter().map(canonical).collect::<Vec<_>>());
        let preparation = Preparation {
            first_kept: self.position(member(prepared, "firstKeptEntryId")?)?.context("an id")?,
            is_split_turn: member(prepared, "isSplitTurn")?.as_bool().context("isSplitTurn")?,
            history: messages("messagesToSummarize")?,
            turn_prefix: messages("turnPrefixMessages")?,
            tokens_before: count(member(prepared, "tokensBefore")?)?,
            previous_summary: member(prepared, "previousSummary")?.as_str().map(str::to_owned),
            files: Files { read: paths("read")?, written: paths("written")?, edited: paths("edited")? },
        };
        Ok((Some(preparation), requests::ours(&answer)?))
    }

    /// Where the way from one entry to another meets, what it leaves, and the tokens of that.
    pub(crate) fn navigation(&mut self, from: usize, to: usize) -> anyhow::Result<(Navigation, u64)> {
        let (from, to) = (json::encode_string(&self.ids[from]), json::encode_string(&self.ids[to]));
        let answer = self.call("prepareNavigation", &[("leafId", &from), ("targetId", &to)])?;
        let entries = array(&answer, "entriesToSummarize")?.iter();
        let navigation = Navigation {
            common_ancestor: self.position(member(&answer, "commonAncestorId")?)?,
            entries: entries.map(|id| self.position(id)?.context("an id")).collect::<anyhow::Result<_>>()?,
        };
        Ok((navigation, count(member(&answer, "estimatedTokens")?)?))
    }

    /// The id at a position, or that of the leaf.
    pub(crate) fn id(&self, position: Option<usize>) -> anyhow::Result<String> {
        match position {
            Some(position) => self.ids.get(position).cloned().context("an entry at that position"),
            None => self.leaf.clone().context("a leaf"),
        }
    }

    fn position(&self, id: &Json<'_>) -> anyhow::Result<Option<usize>> {
        let Some(id) = id.as_str() else {
            return Ok(None);
        };
        self.positions.get(id).copied().map(Some).with_context(|| format!("{id} is not in the tree"))
    }
}

/// Parameters that hold each message by itself.
fn one_by_one(messages: &[Json<'_>]) -> Vec<String> {
    messages.iter().map(|message| object(&[("messages", &format!("[{}]", message.to_compact()))])).collect()
}
