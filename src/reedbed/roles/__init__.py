"""The composition root: settings become a runtime, the runtime becomes running tasks."""
