"""Personal LoRAs: how they are trained, their files, and what is checked before an
engine reads one."""
