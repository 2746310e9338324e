"""The decoding loop on the device: draft, verify, decide, emit."""
