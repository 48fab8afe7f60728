"""The server: tools, resources and prompts of this installation, as the SDK serves them.

One tool changes something: a limit, with a reason, an author, and the consent of a person. The consent is
asked for through the client (elicitation), for exactly this change. A client that cannot ask is refused.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Annotated, Any, Final, get_args

import anyio
from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

import tritonobs
from tritonobs.errors import TritonobsError
from tritonobs.extensions.mcp import schemas, words
from tritonobs.extensions.mcp.answers import CLOSE, OPEN, USUAL_BYTES, Found, Paged, plain, result, valid
from tritonobs.extensions.mcp.ask import Commands, Fleet, Unanswered
from tritonobs.extensions.mcp.manual import INSTRUCTIONS, add_prompts, add_resources
from tritonobs.extensions.mcp.tools import OFFERED, Tools, is_there
from tritonobs.outside import shown

_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
_SECONDS: Final = 30.0
_WORD = re.compile(r"[^\w.@+-]+")
_LONGEST_CLIENT, _LONGEST_REASON = 40, 600

PerSecond = Annotated[
    str, Field(pattern=r"^([0-9]{1,7}(\.[0-9]{1,3})?|unlimited)$", description="requests/s")
]
Text = Annotated[str, Field(min_length=3, max_length=300)]


def make_server(
    fleet: Fleet, *, allow_changes: bool = False, commands: Commands | None = None
) -> MCPServer[Any]:
    """The server for a fleet; it reads only, unless `allow_changes`."""
    every = Changes(fleet, commands or Commands())
    tools = [
        _strict(getattr(every, name), name=name, title=one.title, annotations=_READS)
        for name, one in OFFERED.items()
        if is_there(one.needs)
    ]
    if allow_changes and is_there("limits"):
        tools.append(_strict(every.set_limit, name="set_limit", title="Set a limit", annotations=_CHANGES))
    server: MCPServer[Any] = MCPServer(
        name="tritonobs",
        title="tritonobs",
        version=tritonobs.__version__,
        instructions=INSTRUCTIONS,
        tools=tools,
        subscriptions=False,
        log_level="WARNING",
    )
    add_resources(server, fleet)
    add_prompts(server)
    return server


def _strict(call: Callable[..., Any], *, name: str, title: str, annotations: ToolAnnotations) -> Tool:
    """The tool; it refuses arguments that it does not have, which the SDK would pass over."""
    made = Tool.from_function(
        _answering(call),
        name=name,
        title=title,
        # Without the indentation of the code, which each agent would read with each list.
        description=inspect.getdoc(call) or "",
        annotations=annotations,
        structured_output=True,
    )
    loose = made.fn_metadata.arg_model
    config = {"model_config": ConfigDict(extra="forbid"), "__module__": __name__}
    bases = (Paged, loose) if annotations.read_only_hint else (loose,)
    strict: Any = type(loose.__name__, bases, config)
    made.fn_metadata.arg_model = strict
    made.parameters = strict.model_json_schema(by_alias=True)
    return made


def _answering(call: Callable[..., Awaitable[Found]]) -> Callable[..., Awaitable[CallToolResult]]:
    """The tool as the SDK takes it, with every known error as one sentence for the agent."""

    @wraps(call)
    async def answer(
        *,
        page: int = 1,
        max_bytes: int = USUAL_BYTES,
        **arguments: Any,  # noqa: ANN401 (what the schema accepted)
    ) -> CallToolResult:
        try:
            return result(await call(**arguments), most=max_bytes, page=page)
        except TritonobsError as error:
            raise ToolError(plain(" ".join(str(error).split()))[:_LONGEST_REASON]) from None

    # The SDK reads from it what the tool takes and gives.
    answer.__signature__ = inspect.signature(call, eval_str=True).replace(  # type: ignore[attr-defined] # of any function
        return_annotation=Annotated[CallToolResult, schemas.Answer[data_of(call)]]  # type: ignore[misc] # made here
    )
    return answer


def data_of(call: Callable[..., Awaitable[Found]]) -> Any:  # noqa: ANN401 (a type)
    """The type of what a tool finds, which stands beside its `Found`."""
    _, data = get_args(inspect.signature(call, eval_str=True).return_annotation)
    return data


class Consent(BaseModel):
    """What the person at the client decides."""

    agreed: Annotated[
        bool, Field(title="Change this limit", description="whether the limit is to be changed")
    ]


def _question(per_second: PerSecond, reason: Text, author: Text, model: str = "") -> Elicit[Consent]:
    """The change in words. What the agent gave stands between marks: it is data for the person, too."""
    of = f"{OPEN}{plain(model)}{CLOSE}" if model else "the whole fleet"
    return Elicit(
        f"Set the limit of {of} to {per_second} requests/s? "
        f"Reason: {OPEN}{plain(reason)}{CLOSE}. Author: {OPEN}{plain(author)}{CLOSE}.",
        Consent,
    )


class Changes(Tools):
    """The tools that read, and `set_limit`, offered with --allow-changes alone."""

    async def set_limit(
        self,
        *,
        context: Context[Any, Any],
        consent: Annotated[ElicitationResult[Consent], Resolve(_question)],
        per_second: PerSecond,
        reason: Annotated[Text, Field(description="why, for the log of limits")],
        author: Annotated[Text, Field(description="the person on whose behalf")],
        model: Annotated[str, Field(max_length=256, description="the model; empty for the whole fleet")] = "",
    ) -> Annotated[Found, tuple[schemas.LimitChange, ...]]:
        """Set the limit of requests of a model in the fleet file and log who changed it and why.

        A person must agree to it at the client. A running `serve` applies it within two seconds.
        """
        if not (isinstance(consent, AcceptedElicitation) and consent.data.agreed):
            raise Unanswered("the person at the client did not agree: nothing was changed")
        where = await self._where()
        # Not ended in the middle: the caller would not know whether it happened.
        with anyio.CancelScope(shield=True):
            said = await self._commands.json(
                "limits",
                "set",
                *((f"--model={model}",) if model else ()),
                f"--reason={shown(reason)}",
                f"--who={_who(author, context)}",
                "--",
                where.file(),
                per_second,
                seconds=_SECONDS,
            )
        value = valid(said.value, tuple[schemas.LimitChange, ...])
        changed = [f"{one['field']}: {one.get('old') or 'nothing'} to {one['new']}" for one in value]
        text = "; ".join(changed) or "the limit has this value already"
        return Found(form="limit_history", value=value, text=text, unread=words.unread(said))


def _who(author: str, context: Context[Any, Any]) -> str:
    """`agent of CLIENT for AUTHOR`: the log never shows an agent's change as a person's own."""
    params = context.session.client_params
    client = params.client_info.name if params and params.client_info else ""
    word = _WORD.sub("_", client)[:_LONGEST_CLIENT] or "unknown"
    return f"agent ({word}) for {shown(author)}"
