"""`girl doctor`: check the installation."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from girl.cli.app import OUT, console, say


def doctor(*, as_json: Annotated[bool, Parameter(name="--json", group=OUT, negative="")] = False) -> None:
    """Check the installation: packages, mathematics, METIS, device, cache, a small training, several processes.

    Takes half a minute. What does not work is printed with a remedy, and the exit code is then 1.

    Args:
        as_json: print the findings as JSON, for a bug report.
    """
    from girl.api.doctor import examine

    marks = {"ok": "[green]ok   [/green]", "note": "[yellow]note [/yellow]", "error": "[red]error[/red]"}
    findings = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            console.print(marks[finding.state], finding.name.ljust(16), end="", highlight=False)
            say(finding.text + (f"\n{' ' * 22}{finding.remedy}" if finding.remedy else ""))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=1))
    errors = [finding.name for finding in findings if finding.state == "error"]
    if errors:
        say(f"errors: {', '.join(errors)}")
        sys.exit(1)
    if not as_json:
        say("everything works")
