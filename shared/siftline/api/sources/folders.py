"""The folders resource: one's own groups of the sources that one follows."""

from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from pydantic import ConfigDict, Field

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.problems import ProblemError, conflict, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, answer, route
from siftline.api.http.shapes import Asked, ListPage, Name
from siftline.api.parts import Routes
from siftline.api.sources import folders_store as store
from siftline.api.sources.folders_store import Folder
from siftline.kit.db import Connection


class NewFolder(Asked):
    """A new folder."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "News"}]})

    name: Name = Field(description="Unique among your folders, ignoring case", examples=["News"])


class ChangeFolder(NewFolder):
    """A folder's new name."""


class Folders(ListPage):
    """All your folders, by name."""

    items: list[Folder]


class FolderRoutes(Routes):
    """``/v1/folders``."""

    tag = "sources"

    @route(
        "POST /v1/folders",
        (201, Folder, "Created"),
        operation_id="createFolder",
        problems=(*BODY_PROBLEMS, 409),
        located=True,
    )
    def make(self, body: NewFolder, caller: CurrentCaller) -> Response[Folder]:
        """Create a folder."""
        with self._database.transaction() as connection:
            count = store.hold(connection, caller.user_id)
            made = store.add_folders(connection, caller.user_id, [body.name])
            if not made:
                raise _exists()
            at_most = self._parts.settings.folders_per_user
            if count >= at_most:
                detail = f"You have reached the limit of {at_most} folders. Delete one first."
                raise conflict("too_many_folders", detail)
            folder = _found(connection, caller.user_id, made[0])
        return answer(201, folder, location=f"/v1/folders/{folder.id}")

    @route("GET /v1/folders", (200, Folders, "All folders, by name"), operation_id="listFolders")
    def browse(self, caller: CurrentCaller) -> Folders:
        """List your folders."""
        with self._database.transaction() as connection:
            rows = store.list_folders(connection, caller.user_id)
        return Folders(items=rows)

    @route(
        "GET /v1/folders/<folder_id>",
        (200, Folder, "The folder"),
        operation_id="getFolder",
        problems=(404,),
    )
    def show(self, folder_id: UUID, caller: CurrentCaller) -> Folder:
        """Get a folder."""
        with self._database.transaction() as connection:
            return _found(connection, caller.user_id, folder_id)

    @route(
        "PATCH /v1/folders/<folder_id>",
        (200, Folder, "The renamed folder"),
        operation_id="updateFolder",
        problems=(*BODY_PROBLEMS, 404, 409),
    )
    def rename(self, folder_id: UUID, body: ChangeFolder, caller: CurrentCaller) -> Folder:
        """Rename a folder."""
        with self._database.transaction() as connection:
            store.hold(connection, caller.user_id)
            _found(connection, caller.user_id, folder_id)
            if not store.rename_folder(connection, caller.user_id, folder_id, body.name):
                raise _exists()
            return _found(connection, caller.user_id, folder_id)

    @route("DELETE /v1/folders/<folder_id>", NO_CONTENT, operation_id="deleteFolder", problems=(404,))
    def delete(self, folder_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Delete a folder; its sources stay followed."""
        with self._database.transaction() as connection:
            store.hold(connection, caller.user_id)
            if not store.delete_folder(connection, caller.user_id, folder_id):
                raise not_found("folder")
        return Response(status_code=204)


def _found(connection: Connection, user_id: UUID, folder_id: UUID) -> Folder:
    folder = store.find_folder(connection, user_id, folder_id)
    if folder is None:
        raise not_found("folder")
    return folder


def _exists() -> ProblemError:
    return conflict("folder_exists", "You already have a folder with this name (ignoring case). Choose another name.")
