"""The folders resource: one's own groups of the sources that one follows."""

from uuid import UUID

from aws_lambda_powertools.event_handler import Response

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.problems import ProblemError, conflict, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, Resource, answer, route
from siftline.api.sources import folders_store as store
from siftline.api.sources.folder_models import ChangeFolder, Folder, Folders, NewFolder
from siftline.kit.db import Connection, Database


class FolderRoutes(Resource):
    """``/v1/folders``."""

    def __init__(self, database: Database, *, at_most: int) -> None:
        """``at_most``: so many folders a user may have."""
        self._database = database
        self._at_most = at_most

    @route(
        "POST /v1/folders",
        (201, Folder, "Created"),
        summary="Create a folder",
        operation_id="createFolder",
        tag="sources",
        problems=(*BODY_PROBLEMS, 409),
        located=True,
    )
    def make(self, body: NewFolder, caller: CurrentCaller) -> Response[Folder]:
        """Make an empty folder."""
        with self._database.transaction() as connection:
            count = store.hold(connection, caller.user_id)
            made = store.add_folders(connection, caller.user_id, [body.name])
            if not made:
                raise _exists()
            if count >= self._at_most:
                detail = f"You have reached the limit of {self._at_most} folders. Delete one first."
                raise conflict("too_many_folders", detail)
            folder = _found(connection, caller.user_id, made[0])
        return answer(201, folder, location=f"/v1/folders/{folder.id}")

    @route(
        "GET /v1/folders",
        (200, Folders, "All folders, by name"),
        summary="List your folders",
        operation_id="listFolders",
        tag="sources",
    )
    def browse(self, caller: CurrentCaller) -> Folders:
        """List the caller's folders."""
        with self._database.transaction() as connection:
            rows = store.list_folders(connection, caller.user_id)
        return Folders(items=rows)

    @route(
        "GET /v1/folders/<folder_id>",
        (200, Folder, "The folder"),
        summary="Get a folder",
        operation_id="getFolder",
        tag="sources",
        problems=(404,),
    )
    def show(self, folder_id: UUID, caller: CurrentCaller) -> Folder:
        """Show one folder."""
        with self._database.transaction() as connection:
            return _found(connection, caller.user_id, folder_id)

    @route(
        "PATCH /v1/folders/<folder_id>",
        (200, Folder, "The renamed folder"),
        summary="Rename a folder",
        operation_id="updateFolder",
        tag="sources",
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

    @route(
        "DELETE /v1/folders/<folder_id>",
        NO_CONTENT,
        summary="Delete a folder; its sources stay followed",
        operation_id="deleteFolder",
        tag="sources",
        problems=(404,),
    )
    def delete(self, folder_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Delete a folder, and nothing that is in it."""
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
