"""Messages of Pydantic AI with all that they can have, through a session file and back. `cargo xtask hosts` runs it."""

import tempfile
from dataclasses import replace

from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from compactd_client.adapters.pydantic_ai import CompactdHistory

IMAGE = BinaryContent(b"\x89PNG\xff\xfe", media_type="image/png")
MESSAGES: list[ModelMessage] = [
    ModelRequest([UserPromptPart(["see", IMAGE, ImageUrl("https://a.test/b.png"), DocumentUrl("https://a.test/a.pdf")])], instructions="Be brief."),
    ModelResponse(
        [
            ThinkingPart("hm", signature="c2ln", provider_name="anthropic"),
            TextPart("I look."),
            ToolCallPart("shot", {"of": "page", "deep": [1, None]}, "call-1"),
            ToolCallPart("f", '{"a": 1}', "call-2"),
        ],
        usage=RequestUsage(input_tokens=3, output_tokens=2),
        model_name="some-model",
        provider_details={"id": "r1"},
    ),
    ModelRequest([ToolReturnPart("shot", ["here", IMAGE], "call-1", metadata={"path": "a.png"}), ToolReturnPart("f", {"a": [1, 2]}, "call-2")]),
    ModelResponse([FilePart(IMAGE), TextPart("done")]),
]


def check_whole() -> None:
    """All come back as the very same, and in another process as equal ones."""
    with tempfile.TemporaryDirectory() as directory:
        first = CompactdHistory(200_000, path=f"{directory}/session.jsonl")
        assert first.fit(MESSAGES) == MESSAGES, first.fit(MESSAGES)
        first.close()
        second = CompactdHistory(200_000, path=f"{directory}/session.jsonl")
        expected = [*MESSAGES[:2], *(replace(MESSAGES[2], parts=[part]) for part in MESSAGES[2].parts), MESSAGES[3]]
        # As the library itself reads what it has written.
        expected = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(expected))
        assert second.history.messages() == expected, second.history.messages()
        assert second.fit(MESSAGES) == MESSAGES
        second.close()


def check_shortened() -> None:
    """A result that is too large is shortened, and keeps the rest."""
    settings = {"compaction": {"reserveTokens": 1000, "keepRecentTokens": 500}}
    history = CompactdHistory(4000, settings=settings)
    result = ToolReturnPart("read", "a line\n" * 9000, "call-1", metadata={"path": "a.txt"})
    call = ModelResponse([ToolCallPart("read", {}, "call-1")])
    *_, request = history.fit([ModelRequest([UserPromptPart("Read.")]), call, ModelRequest([result])])
    (shortened,) = request.parts
    assert len(shortened.content) < 12_000 and shortened == replace(result, content=shortened.content), shortened
    history.close()


check_whole()
check_shortened()
print("pydantic-ai: images, reasoning, calls and results come back whole")
