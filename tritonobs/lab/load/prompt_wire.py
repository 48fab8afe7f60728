"""One prompt to one language model over Triton's generate endpoint, whose answer comes token by token."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any
from urllib.parse import quote

import aiohttp
from tritonclient.utils import InferenceServerException

from tritonobs.clients.transport import as_documented, checked_url, masked
from tritonobs.errors import BadAnswer
from tritonobs.lab.load.wire import Failure, attempt, require

_TEXT = "text_input"
_FAILED = b'data: {"error"'


class PromptWire:
    """Sends prompts to the replicas in turn, as `Wire` sends images. Open and close it in one event loop."""

    def __init__(
        self, urls: Sequence[str], *, model: str, version: str, timeout_seconds: float, connections: int
    ) -> None:
        path = f"/v2/models/{quote(model, safe='')}" + (
            f"/versions/{quote(version, safe='')}" if version else ""
        )
        self._model = model
        self._addresses = {masked(checked_url(url)): f"{checked_url(url)}{path}" for url in urls}
        self._turn = cycle(f"{url}/generate_stream" for url in self._addresses.values())
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections),
            timeout=aiohttp.ClientTimeout(total=timeout_seconds),
        )

    async def prepare(self) -> None:
        """See that the model takes text.

        Raises:
            ClientError: no server, no such model, or a model without the input `text_input`.
        """
        for address, url in self._addresses.items():
            with as_documented(address, f"the metadata of model {self._model!r}"):
                failure, metadata = await attempt(self._metadata(url))
                require(failure, address, self._model)
                inputs = [(tensor["name"], tensor["datatype"]) for tensor in metadata.get("inputs", [])]
            if (_TEXT, "BYTES") not in inputs:
                found = ", ".join(f"{name} {kind}" for name, kind in inputs) or "none"
                raise BadAnswer(
                    f"{address}: model {self._model!r} takes {found}; "
                    f"load sends a prompt as the input {_TEXT}, of type BYTES"
                )

    async def send(self, body: bytes) -> Failure | None:
        """Send one prompt; None when the whole answer was good."""
        failure, _ = await attempt(self._answer(body))
        return failure

    async def close(self) -> None:
        """Give the connections back."""
        await self._session.close()

    async def _metadata(self, url: str) -> Any:  # noqa: ANN401 (JSON)
        async with self._session.get(url) as answer:
            await _refused(answer)
            return await answer.json(content_type=None)

    async def _answer(self, body: bytes) -> None:
        async with self._session.post(next(self._turn), data=body) as answer:
            await _refused(answer)
            async for line in answer.content:
                if line.startswith(_FAILED):
                    raise InferenceServerException(line.removeprefix(b"data: ").decode("utf-8", "replace"))


async def _refused(answer: aiohttp.ClientResponse) -> None:
    if not answer.ok:
        raise InferenceServerException(await answer.text(errors="replace"), status=str(answer.status))
