"""What a step holds: the ledger of named tensors, and the moment at which their sum is largest."""

from __future__ import annotations

from ironlaw.memory.ledger import training_memory
from ironlaw.memory.tensors import MemoryLedger
from ironlaw.memory.textbook import chapter_activation_bytes, hidden_states_bytes
