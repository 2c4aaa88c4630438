"""What the machine is: its devices, its driver, its software, who else uses it."""
