"""What everything else stands on: units, errors, sourced records, sizes as polynomials, arrays."""
