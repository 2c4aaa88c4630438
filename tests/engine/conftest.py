"""Settings of the engine's property tests."""

from __future__ import annotations

from hypothesis import settings

# Time is measured by the benchmark scripts; here it would only make tests fail on a busy machine.
settings.register_profile("engine", deadline=None, max_examples=60)
settings.load_profile("engine")
