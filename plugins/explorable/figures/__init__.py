"""What a chapter needs beside its text: numbered figures, tables, equations, citations, a glossary, a number check."""
