"""What a step holds: the ledger of named tensors, and the moment at which their sum is largest."""

from __future__ import annotations

from engine.memory.ledger import training_memory
from engine.memory.tensors import MemoryLedger
from engine.memory.textbook import chapter_activation_bytes, hidden_states_bytes
