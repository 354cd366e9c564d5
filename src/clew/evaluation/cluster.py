"""Rankings computed by a Ray cluster: its actors keep the index and the retrievers open, and share the questions.

Each actor opens the index itself, so it has to lie where all machines see it, under the same name. An actor that is
killed is replaced, and its questions are asked again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from clew.errors import ClewError, IndexLockedError, InputError, ProviderError
from clew.evaluation.runs import Ranking, Run, execute
from clew.index import Index, RetrieverSpec
from clew.models.llm.access import LLMClientFactory
from clew.models.threads import worker_count
from clew.plugins.ray_cluster import LOCAL, TRIES, connect_cluster, describe_ray_error
from clew.query.entity_linker import LinkerSettings
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.types import Filter, Question

if TYPE_CHECKING:
    from clew.models.llm.provider_model import ProviderModel

_MAX_QUESTIONS = 32  # that an actor is given at a time: what is asked again where it is killed
_SHARES_PER_ACTOR = 4
_SECONDS_TO_END = 30.0  # for the shares in progress, when an error ends a run


@final
@dataclass(frozen=True, slots=True)
class SearchWork:
    """The version of an index that an actor searches, and the settings with which it does."""

    location: str
    storage_options: dict[str, str]
    files_hash: str
    device: str
    paths: int  # per passage, of retrievers that compute them
    similar_names: bool  # whether unknown names in questions are taken for others
    linking: LinkerSettings  # how names in questions are found and linked else


class SearchActor:
    """Ranks passages for questions, on a machine of a cluster; the index and its retrievers are opened once."""

    def __init__(self, work: SearchWork) -> None:
        self._work = work
        self._index: Index | None = None

    def search(
        self, spec: RetrieverSpec, name: str, questions: Sequence[Question], k: int, where: Filter | None
    ) -> tuple[Ranking, ...] | ClewError:
        """Return the rankings of questions, or the error that stopped them: Ray would wrap one that is raised."""
        try:
            if self._index is None:
                self._index = _open_version(self._work)
            retriever = self._index.retriever(spec, self._work.paths)
            return execute(retriever, name, questions, k, where).rankings
        except ClewError as error:
            return error


@final
@dataclass(frozen=True, slots=True)
class ClusterSearch:
    """The actors of a cluster that search one version of an index."""

    ray: Any
    actors: tuple[Any, ...]

    def execute(
        self,
        spec: RetrieverSpec,
        name: str,
        questions: Sequence[Question],
        k: int,
        where: Filter | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Run:
        """Run a retriever on questions (see `clew.evaluation.runs.execute`), which the actors share.

        Raises:
            InputError: The retriever or the filter cannot be used here, or a language model is asked.
            ProviderError: Questions were given up, since each actor that was given them ended.
        """
        if not questions:
            raise InputError("there are no questions; give at least one")
        size = max(1, min(_MAX_QUESTIONS, -(-len(questions) // (_SHARES_PER_ACTOR * len(self.actors)))))
        waiting = list(range(0, len(questions), size))[::-1]
        rankings: dict[int, tuple[Ranking, ...]] = {}
        running: dict[Any, tuple[int, Any]] = {}
        idle = list(self.actors)
        while waiting or running:
            while waiting and idle:
                start, actor = waiting.pop(), idle.pop()
                share = questions[start : start + size]
                running[actor.search.remote(spec, name, share, k, where)] = start, actor
            (done, *_), _ = self.ray.wait(list(running), num_returns=1)
            start, actor = running.pop(done)
            idle.append(actor)
            try:
                rankings[start] = self._result(done)
            except ClewError:
                self._await_end(list(running))
                raise
            if progress is not None:
                progress(sum(map(len, rankings.values())), len(questions))
        return Run(name, k, tuple(ranking for start in sorted(rankings) for ranking in rankings[start]))

    def _await_end(self, references: list[Any]) -> None:
        """Wait until the shares that actors still work on are done: Ray prints a line for each that it has to stop."""
        if references:
            self.ray.wait(references, num_returns=len(references), timeout=_SECONDS_TO_END)

    def _result(self, reference: Any) -> tuple[Ranking, ...]:
        try:
            result: tuple[Ranking, ...] | ClewError = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            raise ProviderError(
                f"the cluster gave questions up after {TRIES} tries ({describe_ray_error(error)}): run the same "
                "command again"
            ) from error
        if isinstance(result, ClewError):
            raise result
        return result


@contextmanager
def open_cluster_search(address: str, index: Index, paths: int) -> Iterator[ClusterSearch]:
    """Connect to a cluster (see `connect_cluster`), and yield its actors, one for each core, for a version of an index.

    `paths` is the number of paths that explain each passage, for retrievers where that costs time.
    """
    place = index.table.location
    files = place.absolute_name, dict(place.storage_options), index.table.files_hash
    work = SearchWork(*files, index.device, paths, index.similar_names, index.linking)
    index.context  # noqa: B018 - built here if it is missing, before many actors would each build it
    cores = worker_count()
    with connect_cluster(address, cores) as ray:
        # A cluster of fewer cores would never start all actors.
        count = min(cores, _cluster_cores(ray)) if address == LOCAL else _cluster_cores(ray)
        actor = ray.remote(SearchActor).options(num_cpus=1, max_restarts=-1, max_task_retries=TRIES - 1)
        yield ClusterSearch(ray, tuple(actor.remote(work) for _ in range(count)))


def _cluster_cores(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


class _NoModels(LLMClientFactory):
    def open(self, name: str, cache: Path) -> "ProviderModel":  # noqa: ARG002
        """Refuse: a budget and cached replies are those of one process."""
        raise InputError(f"{name} is asked from one process: leave --ray out")


def _open_version(work: SearchWork) -> Index:
    table = PassageTable.open(locate(work.location, work.storage_options))
    if table.files_hash != work.files_hash:
        raise IndexLockedError(f"{work.location} has changed meanwhile: run the same command again")
    return Index(table, _NoModels(), device=work.device, similar_names=work.similar_names, linking=work.linking)
