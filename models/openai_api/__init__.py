"""What OpenAI's clients send and expect: the bodies of requests and answers, for the
server's plain generalist and for the device's own endpoint."""
