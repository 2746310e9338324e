"""Running a model: the interface that each engine satisfies, its settings, and which
engine a model's files ask for."""
