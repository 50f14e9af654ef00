"""Messages of LangChain with all that they can have, through a session file and back. `cargo xtask hosts` runs it."""

import tempfile

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from compactd_client.adapters.langchain import CompactdMiddleware

IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
CALL = {"id": "call-1", "name": "shot", "args": {"of": "page", "deep": [1, None]}}
MESSAGES: list[AnyMessage] = [
    HumanMessage([{"type": "text", "text": "see"}, IMAGE, {"type": "image", "url": "https://a.test/b.png"}], id="h1", name="ada"),
    AIMessage(
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "call-1", "name": "shot", "input": CALL["args"]},
        ],
        tool_calls=[CALL],
        response_metadata={"model_provider": "anthropic"},
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    ),
    ToolMessage([{"type": "text", "text": "here"}, IMAGE], tool_call_id="call-1", name="shot", artifact={"path": "a.png"}),
    AIMessage([{"type": "reasoning", "reasoning": "so"}, {"type": "text", "text": "and"}, {"type": "non_standard", "value": {"a": 1}}]),
    HumanMessage([{"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf", "filename": "a.pdf"}, {"type": "video", "url": "https://a.test/v"}]),
    AIMessage("", tool_calls=[{"id": "call-2", "name": "f", "args": {}}], additional_kwargs={"refusal": None}),
    ToolMessage("no", tool_call_id="call-2", status="error"),
    AIMessage("done", id="a9", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
]


def check_whole() -> None:
    """All come back as the very same, and in another process as equal ones."""
    with tempfile.TemporaryDirectory() as directory:
        first = CompactdMiddleware(200_000, path=f"{directory}/session.jsonl")
        assert [id(one) for one in first.fit(MESSAGES)] == [id(one) for one in MESSAGES]
        first.close()
        second = CompactdMiddleware(200_000, path=f"{directory}/session.jsonl")
        assert second.history.messages() == MESSAGES, second.history.messages()
        assert second.fit(MESSAGES) == MESSAGES
        second.close()


def check_shortened() -> None:
    """A result that is too large is shortened, and keeps the rest."""
    settings = {"compaction": {"reserveTokens": 1000, "keepRecentTokens": 500}}
    history = CompactdMiddleware(4000, settings=settings)
    result = ToolMessage("a line\n" * 9000, tool_call_id="call-1", name="read", id="t1", artifact={"path": "a.txt"})
    call = AIMessage("", tool_calls=[{"id": "call-1", "name": "read", "args": {}}])
    *_, shortened = history.fit([HumanMessage("Read."), call, result])
    assert len(shortened.text) < 12_000 and shortened == result.model_copy(update={"content": shortened.content}), shortened
    history.close()


check_whole()
check_shortened()
print("langchain: images, reasoning, calls and results come back whole")
