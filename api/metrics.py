"""The numbers of this process as Prometheus reads them: totals over all teams, with names of operations, steps and codes alone.

Made only where `COMMONLORE_METRICS` is on; `Edge` decides who may read them. `docs/reference/http.md` has the list.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from commonlore.api.limits import Limiter
from commonlore.api.measure import Measure
from commonlore.db.jobs import QueueNumbers, WorkerNumbers
from commonlore.domain.errors import CommonloreError
from commonlore.domain.jobs.kind import KINDS
from commonlore.domain.limits.admission import Admission

_REQUEST_BUCKETS = (0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)
_STEP_BUCKETS = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5)


ReadQueue = Callable[[], Awaitable[tuple[list[QueueNumbers], WorkerNumbers]]]


class Metrics:
    """What else is asked when somebody reads: connections by state, queries by where their vector came from, jobs, and seats.

    `process`: which of several on one socket this is. Each sample of its own then says so; those of the database say the same everywhere.
    """

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(
        self,
        *,
        pool: Callable[[], Mapping[str, int]],
        cache: Callable[[], Mapping[str, int]],
        queue: ReadQueue | None = None,
        admission: Admission | None = None,
        limiter: Limiter | None = None,
        process: int | None = None,
    ) -> None:
        self._queue, self._jobs = queue, _Jobs()
        self._registry = CollectorRegistry() if process is None else _Registry(process)
        self._shared = CollectorRegistry()
        labels = ("operation", "status")
        self._requests = Counter("commonlore_requests", "Requests answered.", labels, registry=self._registry)
        self._seconds = Histogram(
            "commonlore_request_seconds", "From the head of a request to its answer.", labels, buckets=_REQUEST_BUCKETS, registry=self._registry
        )
        self._steps = Histogram(
            "commonlore_recall_step_seconds", "Time in one step of a recall.", ("step",), buckets=_STEP_BUCKETS, registry=self._registry
        )
        self._degradations = Counter("commonlore_degradations", "Degradations stated.", ("frontier", "code"), registry=self._registry)
        self._registry.register(_Asked(pool, cache))
        self._shared.register(self._jobs)
        if admission is not None:
            self._registry.register(_Seats(admission))
        if limiter is not None:
            self._registry.register(_Limits(limiter))

    def observe(self, measure: Measure, status: int) -> None:
        """Count one request that is over. `status` is that of the HTTP answer, 499 where the client left."""
        labels = (measure.operation, str(measure.status or status))
        self._requests.labels(*labels).inc()
        self._seconds.labels(*labels).observe(measure.seconds)
        for frontier, code in measure.degradations:
            self._degradations.labels(frontier, code).inc()
        if measure.operation == "recall_memory":
            for step, seconds in measure.record.seconds.items():
                self._steps.labels(step).observe(seconds)

    async def refresh(self) -> None:
        """Ask for the numbers of the queue; where the database does not answer there are none."""
        try:
            self._jobs.numbers = await self._queue() if self._queue else None
        except CommonloreError:
            self._jobs.numbers = None

    def render(self) -> bytes:
        """The text that Prometheus reads, with the numbers of the last `refresh`."""
        return generate_latest(self._registry) + generate_latest(self._shared)


class _Registry(CollectorRegistry):
    """Every sample has the number of the process as its label `process`."""

    def __init__(self, process: int) -> None:
        super().__init__()
        self._process = str(process)

    def collect(self) -> Iterable[Metric]:
        for metric in super().collect():
            metric.samples = [sample._replace(labels={"process": self._process, **sample.labels}) for sample in metric.samples]
            yield metric


class _Asked(Collector):
    """What is counted elsewhere and read as it stands."""

    def __init__(self, pool: Callable[[], Mapping[str, int]], cache: Callable[[], Mapping[str, int]]) -> None:
        self._pool, self._cache = pool, cache

    def collect(self) -> Iterable[Metric]:
        connections = GaugeMetricFamily("commonlore_pool_connections", "Database connections of this process.", labels=("state",))
        for state, number in self._pool().items():
            connections.add_metric((state,), number)
        queries = CounterMetricFamily("commonlore_query_vectors", "Queries by where their vector came from.", labels=("source",))
        for source, number in self._cache().items():
            queries.add_metric((source,), number)
        return connections, queries


class _Seats(Collector):
    """How busy this process is."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily("commonlore_calls_running", "Calls that run now.", value=self._admission.running)
        yield GaugeMetricFamily("commonlore_calls_limit", "Calls that are taken at once now; fewer while more come.", value=self._admission.limit)
        yield CounterMetricFamily("commonlore_calls_refused", "Calls for which there was no seat.", value=self._admission.refused)


class _Limits(Collector):
    """Calls that a limit refused, and whether processes count together."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    def collect(self) -> Iterable[Metric]:
        refused = CounterMetricFamily("commonlore_limited_calls", "Calls that a limit refused.", labels=("reason",))
        for reason, number in self._limiter.refused.items():
            refused.add_metric((reason,), number)
        answers = float(self._limiter.store_answers)
        return refused, GaugeMetricFamily(
            "commonlore_limit_store_answers", "1 while processes count together, 0 while this one does alone.", value=answers
        )


class _Jobs(Collector):
    """The queue and the workers, over all teams and processes; every queue that there is has its numbers, nothing waiting among them."""

    numbers: tuple[list[QueueNumbers], WorkerNumbers] | None = None

    def collect(self) -> Iterable[Metric]:
        if self.numbers is None:
            return
        queues = {name: QueueNumbers(name, 0, 0, 0, 0) for name in sorted({kind.queue for kind in KINDS.values()})}
        queues |= {found.queue: found for found in self.numbers[0]}
        jobs = GaugeMetricFamily("commonlore_jobs", "Jobs in the queue.", labels=("queue", "state"))
        oldest = GaugeMetricFamily("commonlore_oldest_pending_job_seconds", "How long the oldest job that is due waits.", labels=("queue",))
        for name, found in queues.items():
            for state, number in (("waiting", found.waiting), ("running", found.running), ("dead", found.dead)):
                jobs.add_metric((name, state), number)
            oldest.add_metric((name,), found.oldest_seconds)
        workers = self.numbers[1]
        yield from (jobs, oldest, GaugeMetricFamily("commonlore_workers", "Workers that report.", value=workers.workers))
        if workers.silent_seconds is not None:
            yield GaugeMetricFamily("commonlore_worker_silent_seconds", "Since the last report of any worker.", value=workers.silent_seconds)
