"""What every package needs of the system: private files, children, locks, bounds."""
