"""The suites: cases as data, one file per section of the page of measurements."""
