"""Tests of the measurements. A package, because other test folders have files of the same names."""
