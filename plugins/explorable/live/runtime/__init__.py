"""The Python that runs in both worlds: in CPython at build and in Pyodide in the page.

Standard library only. Because one code serves both, a baked value and a live value can only differ by a defect.
"""
