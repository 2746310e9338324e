"""The settings of the device side."""
