"""The engine of this process, and what `import antecede` offers. No test in this folder starts a JVM."""
