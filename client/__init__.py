"""A client of a running Commonlore, for programs: typed, sync and async. It knows the public API and nothing of the server.

    with Client("http://127.0.0.1:7411", key) as memory:
        memory.remember(evidence=[{"content": "Ada moved the Orion project to Lisbon."}])
        answer = memory.recall_memory(query="Where is the Orion project?")

`AsyncClient` has the same methods as coroutines. Requests and results are typed dictionaries of `commonlore.client.requests` and
`commonlore.client.results`, made from the OpenAPI document. A refusal is raised as `ServiceError`, whose `code` is of a closed list.
"""

from commonlore.client.asynchronous import AsyncClient
from commonlore.client.calling import Retries
from commonlore.client.errors import ClientError, NotAnswered, ServiceError, UnexpectedAnswer, WrongPlace
from commonlore.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "ClientError", "NotAnswered", "Retries", "ServiceError", "UnexpectedAnswer", "WrongPlace"]
