"""Puts a model folder into S3, where the functions of a stage read it from: ``make upload-model MODEL_BUCKET=…``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError

from infra.stage import answered
from siftline.models.model_folders import MANIFEST, Manifest, is_whole
from siftline.operate.set_up_error import SetUpError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def upload(client: "S3Client", folder: Path, bucket: str) -> str:
    """Upload every file of a model, the manifest last, under its version; return the URI that the template takes.

    Makes the bucket if there is none. Raises botocore's errors.
    """
    manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    if bucket not in {found.get("Name") for found in client.list_buckets()["Buckets"]}:
        region = client.meta.region_name
        place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        client.create_bucket(Bucket=bucket, **place)  # type: ignore[arg-type]  # the stubs list every region by name
    for name in (*manifest.files, MANIFEST):
        client.upload_file(str(folder / name), bucket, f"{manifest.model_version}/{name}")
    return f"s3://{bucket}/{manifest.model_version}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Upload, and print the parameters to deploy with; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".local/model"))
    parser.add_argument("--bucket", required=True)
    options = parser.parse_args(arguments)
    if not is_whole(options.folder):
        sys.stderr.write(f"{options.folder} has no complete model; `make .local/model/manifest.json` assembles it.\n")
        return 1
    try:
        client = boto3.client("s3")
        with answered(client, "The model could not be uploaded"):
            uri = upload(client, options.folder, options.bucket)
    except (BotoCoreError, SetUpError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"Deploy with ModelUri={uri} ModelBucket={options.bucket}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
