"""The audit on Spark: many executions in a task, one huge execution in many. Start at `event_audit`."""
