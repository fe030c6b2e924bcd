"""Subscriptions out of other readers and into them: ``/v1/opml``."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Request, Response
from aws_lambda_powertools.event_handler.depends import Depends
from pydantic import BaseModel, Field

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.callers import Caller
from siftline.api.http.destinations import AddressRefusedError
from siftline.api.http.problems import ProblemError, conflict
from siftline.api.http.routing import BODY_PROBLEMS, route
from siftline.api.http.shapes import Cause
from siftline.api.parts import Routes
from siftline.api.sources import folders_store, following, opml, sources_store
from siftline.api.sources.following import Followed
from siftline.api.sources.opml import Outline
from siftline.api.sources.source_addresses import Address, address_of
from siftline.api.sources.sources_store import Wish
from siftline.catalog.source_kinds import SourceKind
from siftline.contracts import Priority
from siftline.kit.db import Connection
from siftline.kit.errors import PermanentError

_XML_TYPE = re.compile(
    r"(?:text|application)/(?:xml|x-opml|opml|[a-z0-9.-]+\+xml)|application/octet-stream", re.IGNORECASE
)
_SELECTOR_MAX_CHARS = 500
# How much of what each source has brought before a new subscriber gets at once: less than of a single one.
_BACKFILL = 20
_UNTYPED = Cause(
    code=AddressRefusedError.code,
    detail="An OPML file must not contain addresses on this machine. Follow this one with POST /v1/sources instead.",
)


MAX_BYTES = 2 * 1024 * 1024
"""A larger file is refused: with as many subscriptions as are read it would be padding."""
OUTLINES_MAX = 2_000
"""A file of more subscriptions is refused: they are followed in one transaction, while somebody waits."""
EXPORTED_MAX = 10_000
"""Subscriptions that a file shows at most, the newest: Lambda answers no more than 6 MB."""


class Outcome(StrEnum):
    """The result for an outline."""

    SUBSCRIBED = "subscribed"
    ALREADY = "already"
    MERGED = "merged"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


class OutlineAnswer(BaseModel):
    """The result for one outline with an address."""

    outcome: Outcome = Field(
        description="`already`: you already followed it, and it was only added to its folders in the file; `merged`: "
        "an earlier outline names the same source, and the folders and topics of this one were added; "
        "`duplicate`: an earlier outline names it, and this one adds nothing; `refused`: see `error`"
    )
    title: str | None = Field(description="Title given in the file")
    source_id: UUID | None = Field(default=None, description="The source you now follow")
    error: Cause | None = Field(default=None, description="Why it cannot be followed")


class OpmlAnswer(BaseModel):
    """The results of an import, in the order of the file."""

    subscribed: int = Field(examples=[12])
    already: int = Field(examples=[3])
    merged: int = Field(examples=[0])
    duplicate: int = Field(examples=[0])
    refused: int = Field(examples=[1])
    outlines: list[OutlineAnswer]


@dataclass(frozen=True, slots=True)
class Upload:
    """A request's body as it came."""

    body: str
    encoded: bool
    """Whether the gateway took it for bytes and sent it as base64; else it made text of it."""
    content_type: str


def _upload_of(request: Request) -> Upload:
    event: Any = request.resolved_event
    content_type = str(event.headers.get("content-type") or "text/x-opml").partition(";")[0].strip()
    return Upload(event.body or "", bool(event.is_base64_encoded), content_type)


class OpmlRoutes(Routes):
    """``/v1/opml``."""

    tag = "sources"

    @route("GET /v1/opml", (200, "text/x-opml", "OPML 2.0, with your folders"), operation_id="exportOpml")
    def export(self, caller: CurrentCaller) -> Response[str]:
        """Export your sources as OPML.

        The newest first.
        """
        with self._database.transaction() as connection:
            rows = sources_store.list_sources(connection, caller.user_id, limit=EXPORTED_MAX)
            folders = [row.name for row in folders_store.list_folders(connection, caller.user_id)]
        return Response(
            status_code=200,
            content_type="text/x-opml; charset=utf-8",
            body=opml.write(rows, title="Siftline subscriptions", folder_names=folders),
            headers={"Content-Disposition": 'attachment; filename="siftline.opml"'},
        )

    @route(
        "POST /v1/opml",
        (200, OpmlAnswer, "The result for each outline"),
        operation_id="importOpml",
        problems=(*BODY_PROBLEMS, 409),
    )
    def take_in(self, upload: Annotated[Upload, Depends(_upload_of)], caller: CurrentCaller) -> OpmlAnswer:
        """Import an OPML file.

        In one transaction; what one follows already comes into its folders too.
        """
        body, encoding = _bytes(upload)
        read = opml.read(body, encoding=encoding, most=OUTLINES_MAX)
        outlines = read.outlines
        settings = self._parts.settings
        at_most = settings.sources_per_user
        too_many = Cause(code="too_many_sources", detail=f"This exceeds your limit of {at_most} sources.")
        checked = [_checked(outline) for outline in outlines]
        with self._database.transaction() as connection:
            local = _local(outlines, checked)
            known = _known(connection, caller, local)
            checked = [known[place][0] if place in known else one for place, one in enumerate(checked)]
            if settings.http_allow_loopback:
                untyped = local.keys() - known.keys()
                checked = [_UNTYPED if place in untyped else one for place, one in enumerate(checked)]
            before = {address.key: Followed(source_id, fresh=False, items=0) for address, source_id in known.values()}
            wishes, folders = _merged(outlines, checked)
            wishes = {key: wish for key, wish in wishes.items() if key not in before}
            beyond = set(following.beyond(connection, caller.user_id, list(wishes), at_most=at_most))
            checked = [too_many if isinstance(one, Address) and one.key in beyond else one for one in checked]
            wishes = {key: wish for key, wish in wishes.items() if key not in beyond}
            # One turn for the whole list when jobs are handed out, behind what is polled by itself.
            followed, job_ids = following.follow(
                connection,
                self._outbox,
                caller.user_id,
                list(wishes.values()),
                backfill=_BACKFILL,
                priority=Priority.UNDER_72_HOURS,
            )
            sources = before | dict(zip(wishes, followed, strict=True))
            named: dict[UUID, list[str]] = {}
            for key, one in sources.items():
                named.setdefault(one.source_id, []).extend(folders[key])
            if not folders_store.put_by_name(
                connection, caller.user_id, named, empty=read.empty_folders, at_most=settings.folders_per_user
            ):
                detail = f"The folders in this file would exceed your limit of {settings.folders_per_user} folders."
                raise conflict("too_many_folders", detail)
        self._outbox.publish(job_ids)
        return _answered(outlines, checked, sources)


def _bytes(upload: Upload) -> tuple[bytes, str | None]:
    """Return the file and, where the gateway made text of it, the encoding that it therefore has now."""
    if not _XML_TYPE.fullmatch(upload.content_type):
        raise ProblemError(415, "unsupported_media_type", "The Content-Type must be text/x-opml or application/xml.")
    if len(upload.body) > 2 * MAX_BYTES:  # not even decoded
        raise _too_large()
    try:
        body = base64.b64decode(upload.body, validate=True) if upload.encoded else upload.body.encode()
    except (binascii.Error, ValueError) as error:
        raise ProblemError(400, "invalid_opml", "The body is neither text nor valid base64.") from error
    if len(body) > MAX_BYTES:
        raise _too_large()
    return body, None if upload.encoded else "utf-8"


def _local(outlines: Sequence[Outline], checked: Sequence[Address | Cause]) -> dict[int, Address]:
    """Return, by their places, the outlines of this machine's addresses."""
    return {
        place: address
        for place, (outline, one) in enumerate(zip(outlines, checked, strict=True))
        if isinstance(one, Cause) and one.code == AddressRefusedError.code
        if isinstance(address := _checked(outline, allow_loopback=True), Address)
    }


def _known(connection: Connection, caller: Caller, local: Mapping[int, Address]) -> dict[int, tuple[Address, UUID]]:
    """Return those of this machine's addresses that the caller once typed and follows."""
    followed = following.followed(connection, caller.user_id, [address.key for address in local.values()])
    return {place: (address, followed[address.key]) for place, address in local.items() if address.key in followed}


def _checked(outline: Outline, *, allow_loopback: bool = False) -> Address | Cause:
    """Return the source that an outline means, or why it is none.

    Whoever made the file named its addresses, and nobody typed them: none is of this machine, whatever is set.
    With ``allow_loopback`` it may be, to be looked for among what is followed already.
    """
    if outline.bookmark:
        return Cause(code="not_a_subscription", detail="The outline is a bookmark without a feed to follow.")
    kind = SourceKind(outline.kind) if outline.kind in set(SourceKind) else None
    selector = (outline.selector or "")[:_SELECTOR_MAX_CHARS] if kind is SourceKind.WEB else None
    try:
        return address_of(outline.url, kind=kind, selector=selector or None, allow_loopback=allow_loopback)
    except PermanentError as error:
        return Cause(code=error.error_code, detail=error.detail)


def _merged(
    outlines: Sequence[Outline], checked: Sequence[Address | Cause]
) -> tuple[dict[str, Wish], dict[str, dict[str, None]]]:
    """Return one wish for each source, as its first outline has it with the topics of all, and the folders of all."""
    found: dict[str, Wish] = {}
    folders: dict[str, dict[str, None]] = {}
    for outline, address in zip(outlines, checked, strict=True):
        if isinstance(address, Cause):
            continue
        before = found.get(address.key)
        known = before.topics if before else ()
        topics = tuple(dict.fromkeys([*known, *outline.topics]))[: opml.TOPICS_MAX]
        first = before or Wish(
            address,
            title=outline.title,
            refresh_minutes=outline.refresh_minutes,
            refresh_min_minutes=outline.refresh_min_minutes,
            refresh_max_minutes=outline.refresh_max_minutes,
        )
        found[address.key] = replace(first, topics=topics)
        folders.setdefault(address.key, {}).update(dict.fromkeys(outline.folders))
    return found, folders


def _answered(
    outlines: Sequence[Outline], checked: Sequence[Address | Cause], followed: Mapping[str, Followed]
) -> OpmlAnswer:
    answers: list[OutlineAnswer] = []
    seen: dict[str, set[tuple[str, str]]] = {}
    for outline, address in zip(outlines, checked, strict=True):
        if isinstance(address, Cause):
            answers.append(OutlineAnswer(outcome=Outcome.REFUSED, title=outline.title, error=address))
            continue
        source = followed[address.key]
        outcome = Outcome.SUBSCRIBED if source.fresh else Outcome.ALREADY
        within = {("folder", name.lower()) for name in outline.folders} | {("topic", one) for one in outline.topics}
        if address.key in seen and seen[address.key].issuperset(within):
            outcome = Outcome.DUPLICATE
        elif address.key in seen and source.fresh:
            outcome = Outcome.MERGED
        seen.setdefault(address.key, set()).update(within)
        answers.append(OutlineAnswer(outcome=outcome, title=outline.title, source_id=source.source_id))
    counted = Counter(answer.outcome for answer in answers)
    return OpmlAnswer(outlines=answers, **{outcome.value: counted[outcome] for outcome in Outcome})


def _too_large() -> ProblemError:
    return ProblemError(413, "body_too_large", f"The file is larger than {MAX_BYTES // 1024} KiB.")
