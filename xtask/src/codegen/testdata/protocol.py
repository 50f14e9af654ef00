# Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.
"""Types of the protocol, and the calls typed by method."""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict, final, overload

from .pending import Pending


# What to do.
Action: TypeAlias = Literal["none", "compact"]


@final
class CompactParams(TypedDict):
    """Parameters of `compact`. A longer sentence that has to be broken somewhere, with a sign
    that ends comments: */ and a quote: '''.
    """

    # The session.
    sessionId: str

    # What | to do.
    action: Action

    # Anything.
    any: NotRequired[Any]

    # How many.
    count: NotRequired[int | None]

    inline: NotRequired[dict[str, Any]]

    messages: NotRequired[list[Message]]

    ratio: NotRequired[float]

    settings: NotRequired[FreeObject | None]


# Done or started.
CompactResult: TypeAlias = "Tree | NoParams"


FreeObject: TypeAlias = dict[str, Any]


Kind: TypeAlias = Literal["a", "b"]


# A message.
Message: TypeAlias = dict[str, Any]


NameOrNames: TypeAlias = str | list[str]


@final
class NoParams(TypedDict):
    """None."""


Summary: TypeAlias = dict[str, Any]


# Refers to itself.
Tree = TypedDict(
    "Tree",
    {
        "children": "list[Tree]",
        "$ref-like": "NotRequired[str]",
        # A keyword of Python.
        "from": "NotRequired[str]",
        "kind": "NotRequired[Kind]",
    },
)


# Codes of the errors by their kind.
ERROR_CODES: Final[dict[str, int]] = {
    # not JSON
    "parseError": -32700,
    # No session.
    "sessionNotFound": 1001,
}


class Calls:
    """The calls, typed by method; the client says how they are sent."""

    @overload
    def start(self, method: Literal["compact"], params: CompactParams) -> Pending[CompactResult]: ...

    @overload
    def start(self, method: Literal["rpc.discover"], params: NoParams) -> Pending[FreeObject]: ...

    @overload
    def start(self, method: Literal["shutdown"], params: NoParams) -> Pending[None]: ...

    def start(self, method: str, params: Any) -> Pending[Any]:
        """Sends a request and returns at once; the handle waits for the result, or cancels."""
        return self._start(method, params)

    @overload
    def request(
        self, method: Literal["compact"], params: CompactParams, timeout: float | None = None
    ) -> CompactResult: ...

    @overload
    def request(
        self, method: Literal["rpc.discover"], params: NoParams, timeout: float | None = None
    ) -> FreeObject: ...

    @overload
    def request(
        self, method: Literal["shutdown"], params: NoParams, timeout: float | None = None
    ) -> None: ...

    def request(self, method: str, params: Any, timeout: float | None = None) -> Any:
        """Sends a request and waits for its result.

        After `timeout` seconds the request is cancelled and TimeoutError is raised. Raises
        CompactdError if the server answers with an error, ServerGone if it ends first.
        """
        return self._request(method, params, timeout)

    def _start(self, method: str, params: Any) -> Pending[Any]:
        raise NotImplementedError

    def _request(self, method: str, params: Any, timeout: float | None) -> Any:
        raise NotImplementedError


class AsyncCalls:
    """The calls for asyncio, typed by method."""

    @overload
    async def request(self, method: Literal["compact"], params: CompactParams) -> CompactResult: ...

    @overload
    async def request(self, method: Literal["rpc.discover"], params: NoParams) -> FreeObject: ...

    @overload
    async def request(self, method: Literal["shutdown"], params: NoParams) -> None: ...

    async def request(self, method: str, params: Any) -> Any:
        """Sends a request and waits for its result. A task that is cancelled cancels the request.

        Raises CompactdError if the server answers with an error, ServerGone if it ends first.
        """
        return await self._request(method, params)

    async def _request(self, method: str, params: Any) -> Any:
        raise NotImplementedError
