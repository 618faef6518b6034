"""Compiled loops: arrays and numbers in, arrays and numbers out."""
