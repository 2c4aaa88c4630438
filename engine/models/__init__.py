"""Transformers by name or by shape, and every parameter tensor they have."""

from __future__ import annotations

from engine.models.transformer import Parameter, Transformer, list_models, model
