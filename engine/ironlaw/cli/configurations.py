"""From parsed options to the configuration that they describe, and its estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironlaw.cli.options import OPTIONS, PARALLEL, SHAPE, STEP, TRAINED
from ironlaw.cli.parser import Values
from ironlaw.cli.terminal import UNNAMED, UsageError
from ironlaw.networks.convnets import NETWORKS

if TYPE_CHECKING:
    from ironlaw.answers.estimate import Estimate
    from ironlaw.answers.estimate_images import ImageSetup
    from ironlaw.config.resolved import Setup
    from ironlaw.models.transformer import Transformer

_OF_IMAGES = ("batch", "precision", "optimizer", "accumulate", "dp", "zero", "node_size", "link", "network")
"""Options that mean something for a convolutional network."""


_SHAPE_DEFAULTS = {"vocab": 50257, "max_seq": 1024}


def read_any(values: Values) -> Setup | ImageSetup:
    """The configuration that parsed options describe, of a transformer or of a convolutional network.

    Raises:
        UsageError: Options that exclude each other.
        EngineError: Options that the engine refuses.
    """
    name = values.get("model")
    if name not in NETWORKS:
        return read_setup(values)
    from ironlaw.answers.estimate_images import image_setup
    from ironlaw.config.setup import DEFAULT_GPU

    for option in OPTIONS.values():
        if option.argument in values and option.argument not in ("model", "gpu", *_OF_IMAGES):
            flags = ", ".join(option.flag for option in OPTIONS.values() if option.argument in _OF_IMAGES)
            raise UsageError(f"{option.flag} is not allowed with --model {name}; allowed: {flags}")
    arguments = {argument: values[argument] for argument in _OF_IMAGES if argument in values}
    return image_setup(name, values.get("gpu", DEFAULT_GPU), **arguments)


def read_setup(values: Values) -> Setup:
    """The configuration of a transformer that parsed options describe.

    Raises:
        UsageError: Options that exclude each other.
        EngineError: Options that the engine refuses.
    """
    from ironlaw.config.setup import DEFAULT_GPU, setup

    arguments = {
        option.argument: values[option.argument] for option in (*STEP, *TRAINED, *PARALLEL) if option.argument in values
    }
    return setup(read_model(values), values.get("gpu", DEFAULT_GPU), **arguments)


def read_model(values: Values) -> Transformer:
    """The model by name, by its configuration file, or by shape.

    Raises:
        UsageError: Both are given, or too little.
    """
    from ironlaw.models.transformer import Transformer, model

    shape = {option.argument: values[option.argument] for option in SHAPE if option.argument in values}
    given = next((flag for flag in ("model", "config") if flag in values), "")
    if given:
        others: tuple[str, ...] = ("--config",) if given == "model" and "config" in values else ()
        others += tuple(option.flag for option in SHAPE if option.argument in shape)
        if others:
            raise UsageError(
                f"{others[0]} is not allowed with --{given} {values[given]}; give a name, a file or a shape"
            )
    if given == "config":
        from ironlaw.models import from_config

        return from_config(values["config"])
    if given == "model":
        if values["model"] in NETWORKS:
            raise UsageError(f"--model {values['model']} is not allowed here; allowed: a transformer")
        return model(values["model"])
    missing = [option.flag for option in SHAPE[:3] if option.argument not in shape]
    if missing:
        ways = "--model with a name, --config with a file, or --layers, --hidden and --heads"
        raise UsageError(f"{missing[0]} is missing; allowed: {ways}")
    return Transformer(UNNAMED, **(_SHAPE_DEFAULTS | shape))


def answer(asked: Setup | ImageSetup) -> Estimate:
    """The estimate of a configuration."""
    from ironlaw.config.resolved import Setup

    if isinstance(asked, Setup):
        from ironlaw.answers.estimate import prepare

        return prepare(asked)()
    from ironlaw.answers.estimate_images import estimate_images

    return estimate_images(asked)
