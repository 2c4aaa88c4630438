"""Running cases: each repeat in a fresh process, resumable, nothing finished is ever lost."""
