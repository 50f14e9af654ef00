"""compactd in agent libraries: one module for each, imported by name."""
