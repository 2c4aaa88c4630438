"""Values with units and with where they come from: computed by the engine, or recorded."""
