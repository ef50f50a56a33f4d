"""Producers and consumers, and neighbours, become one SOAC; see `fusion.driver`."""
