"""What is made of the project, beside its program: pictures, counts, planted errors."""
