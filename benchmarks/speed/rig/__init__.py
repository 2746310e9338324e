"""What a measurement of speed is made with: traces, engines, a server, a relay."""
