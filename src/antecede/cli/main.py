"""Where the `antecede` command begins.

What takes time to load is loaded when signals have handlers: from then on Ctrl-C ends a command in order.
"""

from antecede.cli.signals import handle_stop_signals


def main() -> None:
    """Run the command; exit codes: 0 clean, 1 findings, 2 wrong usage or environment, 130 for Ctrl-C."""
    with handle_stop_signals():
        from antecede.cli.app import run_app_and_report_errors

        run_app_and_report_errors()
