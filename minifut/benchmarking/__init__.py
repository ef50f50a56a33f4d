"""Measuring programs: data sets, runs, versions, tables and figures."""
