"""Every address of a user's or a feed's is asked for by one client; whoever opens connections besides says why."""

import re

from tests.house.reading import FUNCTIONS, SOURCE, imported, python_files, relative

# What opens connections, or takes them.
CONNECTING = re.compile(
    r"(aiohttp|asyncio|boto3|ftplib|http\.client|http\.server|httpcore|httpx2?|imaplib|openai|poplib|pycurl|"
    r"qdrant_client|requests|smtplib|socket|socketserver|telnetlib|urllib\.request|urllib3|websockets?|"
    r"xmlrpc|youtube_transcript_api)(\.|$)"
)
CLIENT = {"http.py", "http_network.py"}
OTHERS = {
    "shared/siftline/kit/aws.py": "AWS, at addresses of AWS's own or the operator's",
    "shared/siftline/kit/trace.py": "X-Ray's daemon beside the function",
    "shared/siftline/models/model_folders.py": "the model in the operator's bucket",
    "shared/siftline/net/probe.py": "whether the operator's Qdrant answers",
    "shared/siftline/models/vectors.py": "the operator's Qdrant",
    "shared/siftline/api/ops/health.py": "whether the operator's worker can start its functions",
    "shared/siftline/worker/__main__.py": "SQS, for the worker",
    "shared/siftline/worker/health_page.py": "answers health checks; asks nobody",
    "shared/siftline/net/loopback.py": "answers on loopback; asks nobody",
    "shared/siftline/models/openai_client.py": "models at the operator's address, in the form of OpenAI's API",
    "shared/siftline/models/openai_transport.py": "the connections of that client",
    "shared/siftline/models/embedding_api.py": "the embedding model, through the client before; names its errors",
    "shared/siftline/ingest/media/audio_model.py": "the audio model, through the client before; names its errors",
    "shared/siftline/models/llm.py": "the language model, through the client before; names its errors",
    "shared/siftline/ingest/media/youtube.py": "youtube-transcript-api over a session that ours answers",
    "shared/siftline/ingest/media/youtube_session.py": "that session: every request of it is one of our client",
}


def test_whatever_opens_connections_is_the_one_client_or_says_why() -> None:
    found = {
        relative(path)
        for path in python_files(SOURCE, FUNCTIONS)
        if any(CONNECTING.match(name) for _, name in imported(path))
    }
    allowed = {f"shared/siftline/net/{name}" for name in CLIENT} | OTHERS.keys()

    assert found - allowed == set()
    assert allowed - found == set()
