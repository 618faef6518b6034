"""The cut: one kernel a method, and the loop that drives them."""
