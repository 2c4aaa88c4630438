"""What both plugins need: source locations, defects, a child process, a cache."""
