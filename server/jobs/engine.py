"""Ray engine: start Ray, run a study in its own process, read its values, and end it."""

import logging
import os
import secrets
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_engine.errors import EngineUnavailableError
from gpu_engine.records import DeviceInfo
from server.jobs.cluster import find_cluster
from server.jobs.start_reasons import reason_of
from server.jobs.task import Failure, StudyTask, run_study, warm_up
from server.settings import Settings

log = logging.getLogger(__name__)

OBJECT_STORE_BYTES = 256 * 2**20

PROCESS_S = 60.0
"""Seconds after the start of Ray in which a process must answer."""

LOGS = "session_latest/logs"
"""Folder of Ray's logs inside its folder."""

WARM_UP_S = 10.0
"""Maximum seconds to wait for the warm-up of a process."""


class StreamEndError(Exception):
    """End of the values of a process."""


class ProcessDiedError(Exception):
    """Crash of the process that runs the study; the message says how."""


class EngineBrokenError(Exception):
    """Ray does not respond correctly and must be restarted."""


def prepare_environment(settings: Settings) -> None:
    """Set the environment of Ray and its processes, before Ray is imported."""
    cores = str(len(os.sched_getaffinity(0)))
    os.environ.update(
        RAY_worker_niceness="0",
        RAY_gcs_rpc_server_reconnect_timeout_s="5",
        RAY_USAGE_STATS_ENABLED="0",
        # Ray starts its processes without -P.
        PYTHONSAFEPATH="1",
    )
    # Ray limits a process without reserved CPUs to one thread, but a measurement may use the whole host.
    os.environ.setdefault("OMP_NUM_THREADS", cores)
    if not settings.ray_address:
        os.environ.update(RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0", RAY_AUTH_MODE="token")
        # Ray reads the token once per process, so that a second start must keep it.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


class Engine:
    """One Ray instance, private or a configured cluster. Start and stop it in the main thread.

    Processes that Ray starts end with the thread that started them.

    folder  for Ray's sockets and logs. Ray makes it accessible to everybody, so it must lie in a private folder.
    """

    def __init__(self, settings: Settings, devices: Sequence[DeviceInfo], folder: Path) -> None:
        self._settings = settings
        self._devices = devices
        self._folder = folder
        self._warm: list[Any] = []

    def start(self) -> None:
        """Start or join Ray, and wait until a process answers. Raises EngineUnavailableError with the reason."""
        prepare_environment(self._settings)
        on_terminate = signal.getsignal(signal.SIGTERM)
        try:
            self._connect()
            self._start_process()
            self._await_process()
        except EngineUnavailableError:
            raise
        except (Exception, SystemExit) as error:
            log.debug("Ray does not start", exc_info=True)
            raise EngineUnavailableError(reason_of(error, self._folder / LOGS)) from error
        finally:
            # Ray's own handler would raise SystemExit wherever the main thread is.
            signal.signal(signal.SIGTERM, on_terminate)

    def _connect(self) -> None:
        import ray

        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "warning"}
        if self._settings.ray_address:
            self._join(options)
        else:
            ray.init(
                address="local",
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                resources={device.id: 1 for device in self._devices},
                _temp_dir=str(self._folder),
                **options,
            )
        self._own_node = ray.get_runtime_context().get_node_id()
        self._task = ray.remote(max_calls=1)(run_study)
        self._warm_up = ray.remote(warm_up)

    def _join(self, options: dict[str, Any]) -> None:
        """Join the configured cluster. Raises EngineUnavailableError if it does not answer or lacks our devices."""
        import ray

        address = self._settings.ray_address
        try:
            ray.init(address=address, **options)
        except ConnectionError as error:
            raise EngineUnavailableError(
                f"The Ray cluster at {address} does not respond. Start it, or correct SPARSIGHT_RAY_ADDRESS."
            ) from error
        missing = {device.id for device in self._devices} - set(ray.cluster_resources())  # type: ignore[no-untyped-call]
        if missing:
            resources = ", ".join(sorted(missing))
            raise EngineUnavailableError(
                f"The Ray cluster lacks the resources {resources}. Start its node with `ray start "
                "--resources` and 1 of each."
            )

    def _await_process(self) -> None:
        """Wait for the process of the first job, so that devices are only offered by an engine that works."""
        import ray

        ray.get(self._warm, timeout=PROCESS_S)

    def cluster(self) -> DeviceInfo | None:
        """Return several hosts as one device, or None if there are none or Ray does not answer."""
        settings = self._settings
        if not (settings.ray_address or settings.cluster_groups):
            return None
        import ray
        from ray.exceptions import RayError

        try:
            cluster = find_cluster(ray, self._devices, settings.cluster_groups)
        except (RayError, RuntimeError, OSError) as error:
            log.warning("cannot read the hosts of Ray: %s", error)
            return None
        name = settings.host_name
        return replace(cluster, id=f"{name}/{cluster.id}") if cluster and name else cluster

    def stop(self) -> None:
        """End Ray and every process that it started."""
        import ray

        ray.shutdown()
        self._warm = []

    def prepare(self) -> None:
        """Start the process of the next job. It takes one or two seconds of CPU time, so nothing should be measured
        meanwhile.
        """
        from ray.exceptions import RayError

        # If Ray does not answer, the next job reports it.
        with suppress(RayError, RuntimeError, OSError):
            self._start_process()

    def _start_process(self) -> None:
        self._warm = [self._warm_up.options(num_cpus=0, max_retries=0, **self._here()).remote()]

    def submit(self, task: StudyTask) -> "Stream":
        """Start a process for the work on its device. Raises EngineBrokenError if Ray rejects it."""
        import ray
        from ray import cloudpickle
        from ray.exceptions import RayError

        options = {
            "max_retries": 0,
            "num_cpus": 0,
            "num_returns": "streaming",
            "_generator_backpressure_num_objects": 1,
            **self._reserved(task.device),
        }
        pickled = cloudpickle.dumps(task)  # type: ignore[no-untyped-call]
        try:
            if self._warm:
                # During a measurement it would occupy a core.
                ray.wait(self._warm, timeout=WARM_UP_S)
            return Stream(self._task.options(**options).remote(task.device.uuid, pickled), self.prepare)
        except (RayError, RuntimeError, OSError) as error:
            raise EngineBrokenError(f"Ray rejects the work: {error}") from error

    def _reserved(self, device: DeviceInfo) -> dict[str, Any]:
        """Return where Ray starts the process: at its device, or on this host if it drives a cluster, whose actors
        reserve the devices.
        """
        return self._here() if device.hosts else {"resources": {device.id: 1}}

    def _here(self) -> dict[str, Any]:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(self._own_node, soft=False)}


class Stream:
    """Values of one process. The process continues when the previous value was taken.

    ended  is called when the process is told to end
    """

    def __init__(self, generator: Any, ended: Callable[[], None]) -> None:
        self._generator, self._ended = generator, ended

    def take(self, timeout_s: float) -> Any:
        """Return the next value, or None after the timeout.

        Raises StreamEndError, ProcessDiedError, or EngineBrokenError.
        """
        import ray
        from ray import exceptions

        try:
            ready, _ = ray.wait([self._generator], timeout=timeout_s, fetch_local=False)
            return ray.get(next(self._generator)) if ready else None
        except StopIteration:
            raise StreamEndError from None
        except exceptions.WorkerCrashedError:
            raise ProcessDiedError("process died") from None
        except exceptions.OutOfMemoryError:
            raise ProcessDiedError("process ended because the host ran out of memory") from None
        except exceptions.RayTaskError as error:
            return Failure("internal", f"The process could not start the study: {error.cause}"[:500], trace=str(error))
        except exceptions.RayError as error:
            raise EngineBrokenError(str(error)) from error

    def end(self) -> None:
        """Kill the process."""
        import ray

        ray.cancel(self._generator, force=True)
        self._ended()
