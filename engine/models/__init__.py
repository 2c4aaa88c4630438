"""Transformers by name or by shape, and every parameter tensor they have."""

from __future__ import annotations

from engine.models.transformer import Transformer, list_models, model
