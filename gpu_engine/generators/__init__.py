"""GENERATORS: the list of all generators of matrices."""

from collections.abc import Mapping
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import TooLargeError
from gpu_engine.generators import (
    circuit,
    convection,
    delaunay,
    dense_rows,
    fem,
    linear_program,
    mesh,
    powerlaw,
    rectangular,
    rgg,
    rmat,
    road,
    rows,
    stencil,
    stratified,
    two_level,
    web,
)
from gpu_engine.generators.base import Generator
from gpu_engine.parameters import find_by_name, parse_params
from gpu_engine.text import units

__all__ = ["GENERATORS", "NNZ_MAX", "Generator", "generate"]

GENERATORS: tuple[Generator, ...] = (
    stencil.GENERATOR,
    fem.GENERATOR,
    delaunay.GENERATOR,
    rgg.GENERATOR,
    road.GENERATOR,
    mesh.GENERATOR,
    rmat.GENERATOR,
    web.GENERATOR,
    powerlaw.GENERATOR,
    rows.GENERATOR,
    dense_rows.GENERATOR,
    two_level.GENERATOR,
    stratified.GENERATOR,
    linear_program.GENERATOR,
    rectangular.GENERATOR,
    circuit.GENERATOR,
    convection.GENERATOR,
)
NNZ_MAX = 500_000_000


def find_generator(name: str) -> Generator:
    """Return the generator with a name; raises ParameterError that lists all."""
    return find_by_name("generator", name, {generator.name: generator for generator in GENERATORS}, "known")


def generate(name: str, params: Mapping[str, Any], nnz_max: int = NNZ_MAX) -> CsrMatrix:
    """Return a generated matrix for parameters given as plain values; missing ones have defaults.

    Raises the errors of `allowed_params`, before anything is built.
    """
    return find_generator(name).build(allowed_params(name, params, nnz_max))


def allowed_params(name: str, params: Mapping[str, Any], nnz_max: int) -> Any:
    """Return the checked parameters of a generator, with defaults filled in.

    Raises ParameterError for unknown names and invalid values, TooLargeError for more than `nnz_max` nonzeros.
    """
    chosen = find_generator(name)
    parsed = parse_params(chosen.Params, params)
    expected = chosen.estimate_nnz(parsed)
    if expected > nnz_max:
        raise TooLargeError(
            f"The matrix would have about {units.count(expected)} nonzeros; at most {units.count(nnz_max)} are allowed."
        )
    return parsed
