"""Other programs of this machine write in the person's voice, as OpenAI's clients ask
for it. Nothing but loopback is listened on, and the history stays where it is."""
