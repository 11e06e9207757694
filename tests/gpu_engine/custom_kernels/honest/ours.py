"""The CPU kernels of this project as custom kernels, each under its format's name."""

from gpu_engine.formats import FORMATS

globals().update({f"F{number}": found for number, found in enumerate(FORMATS)})
