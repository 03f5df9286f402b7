"""What every protocol keeps, whatever its rule. No test in this folder starts a JVM."""
