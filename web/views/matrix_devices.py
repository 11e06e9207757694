"""Devices of the answer on a matrix: those that measured it, those of this server, and GPUs with predictions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from gpu_engine.advisor.gpus import FITTED, GPUS, Gpu, gpu_named
from server import devices, predictors, recorded_results
from server.jobs import queue
from server.predictors import Predictor
from web.device_labels import CPU, THIS_CPU, short
from web.results import device_names
from web.selection import choice_error
from web.studies.formats import FORMATS


@dataclass(frozen=True, slots=True)
class DeviceOption:
    """A device that the answer can be for.

    value        value in the address: the id of a device, or the name of a GPU model
    label        its name on pages; gpu: its GPU model, if the performance model knows it
    is_measured  whether it has results on the matrix; is_here: whether a worker of this server offers it
    """

    value: str
    label: str
    gpu: Gpu | None
    is_measured: bool = False
    is_here: bool = False

    @property
    def phrase(self) -> str:
        """Its name in a sentence, after `on`."""
        return "this CPU" if self.value == CPU else f"the {self.label}"

    def predictor(self, session: Session) -> Predictor | None:
        """Return the performance model for it; None if its GPU model is unknown."""
        if self.gpu is None:
            return None
        if not self.is_here:
            return Predictor(self.gpu)
        names = {row.id: str(row.info["name"]) for row in devices.list_devices(session)}
        return predictors.of_device(session, self.value, names.get(self.value, ""))


def device_options(session: Session, matrix_id: str) -> tuple[DeviceOption, ...]:
    """Return the devices of an answer: GPUs first, measured ones before predicted ones, then the CPU."""
    names, offered = device_names(session), {device.id for device in devices.offered(session)}
    known = [row.id for row in devices.list_devices(session) if not devices.device_info(row).is_several]
    jobs = queue.list_jobs(session, study=FORMATS.name, matrix_id=matrix_id, measured=True).items
    measured = [*(job.device for job in jobs), *recorded_results.device_ids(session, FORMATS.name, matrix_id)]
    options = [
        _option(device, names, device in measured, device in offered) for device in dict.fromkeys((*measured, *known))
    ]
    options += _predicted(options)
    return tuple(sorted(options, key=_order))


def _order(option: DeviceOption) -> tuple[bool, ...]:
    return option.value == CPU, not option.is_measured, not option.is_here, option.gpu != FITTED


def choose(session: Session, options: Sequence[DeviceOption], value: str) -> DeviceOption:
    """Return the option of an address, or the first one; raises ParameterError for an unknown device.

    A device without results on the matrix stands for its GPU model.
    """
    by_value = {option.value: option for option in options}
    if not value or value in by_value:
        return by_value[value] if value else options[0]
    gpu = gpu_named(device_names(session).get(value, value))
    fitting = next((option for option in options if gpu is not None and option.gpu == gpu), None)
    if fitting is None:
        raise choice_error("device", value, {option.value: option.label for option in options})
    return fitting


def _option(device: str, names: Mapping[str, str], is_measured: bool, is_here: bool) -> DeviceOption:
    label = THIS_CPU if device == CPU else short(names.get(device, device))
    return DeviceOption(device, label, gpu_named(names.get(device, "")), is_measured, is_here)


def _predicted(options: Sequence[DeviceOption]) -> Iterator[DeviceOption]:
    """Yield the GPU models without a device among these, the one with validated predictions first."""
    known = {option.gpu for option in options}
    for gpu in newest_first(FITTED):
        if gpu not in known:
            yield DeviceOption(gpu.name, gpu.short_name, gpu)


def newest_first(first: Gpu) -> tuple[Gpu, ...]:
    """Return one GPU model, then all others, the newest first."""
    return first, *(gpu for gpu in reversed(GPUS) if gpu != first)
