"""The look of the site: templates and styles in `overrides/`, and formulas as MathML."""
