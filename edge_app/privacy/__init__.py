"""What left this device, and what may."""
