"""The database of the tests in a container: `COMMONLORE_TEST_DATABASE=containers`.

Whether there is an engine is asked of the engine itself: a program on the path says nothing of whether it answers.
"""

from __future__ import annotations

import atexit
import gc
import secrets
import warnings

IMAGE = "pgvector/pgvector:0.8.6-pg18"


def missing_engine() -> str | None:
    """Why no container can be started; None where an engine answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # a client that reached nobody leaves its sockets to the collector
        reason = _refusal()
        gc.collect()
    return reason


def _refusal() -> str | None:
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=5)
        try:
            client.ping()
        finally:
            client.close()
    except (DockerException, OSError, ValueError) as error:
        return f"no container engine answers ({type(error).__name__}); start one, or leave COMMONLORE_TEST_DATABASE out"
    return None


def start() -> str:
    """A superuser's conninfo of a PostgreSQL with pgvector, which is stopped at exit. It keeps nothing and waits for no disk."""
    from testcontainers.postgres import PostgresContainer

    password = secrets.token_hex(16)
    container = PostgresContainer(IMAGE, username="postgres", password=password, dbname="postgres", driver=None)
    container.with_command("postgres -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200")
    container.start()
    atexit.register(container.stop)
    return f"host={container.get_container_host_ip()} port={container.get_exposed_port(5432)} user=postgres password={password} dbname=postgres"
