"""What turns docs, engine and records into the site."""
