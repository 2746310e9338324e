"""What a pair of models writes: habits, loops, candidates, samples."""
