"""Keras models: the teacher, the student and their parts."""
