"""The engine thread, its scheduler, and the slots of the models."""
