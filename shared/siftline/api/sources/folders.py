"""The folders resource: one's own groups of the sources that one follows."""

from dataclasses import asdict
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.problems import ProblemError, conflict, not_found
from siftline.api.http.routing import BODY_PROBLEMS, LOCATION, NO_CONTENT, answer, new_router, responses
from siftline.api.sources import folders_store as store
from siftline.api.sources.folder_models import ChangeFolder, Folder, Folders, NewFolder
from siftline.kit.db import Connection, Database


class FolderRoutes:
    """``/v1/folders``."""

    def __init__(self, database: Database, *, at_most: int) -> None:
        """``at_most``: so many folders a user may have."""
        self._database = database
        self._at_most = at_most

    def router(self) -> Router:
        """Return the routes."""
        router = new_router()
        tags, one = ["sources"], "/v1/folders/<folder_id>"
        router.post(
            "/v1/folders",
            summary="Create a folder",
            operation_id="createFolder",
            status_code=201,
            responses=responses((201, Folder, "Created"), problems=(*BODY_PROBLEMS, 409), headers={201: LOCATION}),
            tags=tags,
        )(self.make)
        router.get(
            "/v1/folders",
            summary="List your folders",
            operation_id="listFolders",
            responses=responses((200, Folders, "All folders, by name")),
            tags=tags,
        )(self.browse)
        router.get(
            one,
            summary="Get a folder",
            operation_id="getFolder",
            responses=responses((200, Folder, "The folder"), problems=(404,)),
            tags=tags,
        )(self.show)
        router.patch(
            one,
            summary="Rename a folder",
            operation_id="updateFolder",
            responses=responses((200, Folder, "The renamed folder"), problems=(*BODY_PROBLEMS, 404, 409)),
            tags=tags,
        )(self.rename)
        router.delete(
            one,
            summary="Delete a folder; its sources stay followed",
            operation_id="deleteFolder",
            responses=responses(NO_CONTENT, problems=(404,)),
            tags=tags,
        )(self.delete)
        return router

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

    def browse(self, caller: CurrentCaller) -> Folders:
        """List the caller's folders."""
        with self._database.transaction() as connection:
            rows = store.list_folders(connection, caller.user_id)
        return Folders(items=[Folder(**asdict(row)) for row in rows])

    def show(self, folder_id: UUID, caller: CurrentCaller) -> Folder:
        """Show one folder."""
        with self._database.transaction() as connection:
            return _found(connection, caller.user_id, folder_id)

    def rename(self, folder_id: UUID, body: ChangeFolder, caller: CurrentCaller) -> Folder:
        """Rename a folder."""
        with self._database.transaction() as connection:
            store.hold(connection, caller.user_id)
            _found(connection, caller.user_id, folder_id)
            if not store.rename_folder(connection, caller.user_id, folder_id, body.name):
                raise _exists()
            return _found(connection, caller.user_id, folder_id)

    def delete(self, folder_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Delete a folder, and nothing that is in it."""
        with self._database.transaction() as connection:
            store.hold(connection, caller.user_id)
            if not store.delete_folder(connection, caller.user_id, folder_id):
                raise not_found("folder")
        return Response(status_code=204)


def _found(connection: Connection, user_id: UUID, folder_id: UUID) -> Folder:
    row = store.find_folder(connection, user_id, folder_id)
    if row is None:
        raise not_found("folder")
    return Folder(**asdict(row))


def _exists() -> ProblemError:
    return conflict("folder_exists", "You already have a folder with this name (ignoring case). Choose another name.")
