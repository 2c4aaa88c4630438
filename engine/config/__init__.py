"""How somebody trains: optimizer, layout of devices, and the one `Setup` that says all of it."""
