"""The app as a person meets it, for tests and measurements: a real server and a real Chromium."""
