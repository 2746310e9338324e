"""Facts of a text: values, answers, and which of them nobody asked for."""
