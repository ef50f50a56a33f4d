"""The search for the parameters with which a program runs best."""
