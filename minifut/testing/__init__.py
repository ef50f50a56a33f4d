"""Test blocks in programs: `blocks` reads them, `runner` runs them, `judge` judges."""
