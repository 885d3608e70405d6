"""`girl doctor`: is this installation well?"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from girl.cli.app import OUT, console, say


def doctor(*, as_json: Annotated[bool, Parameter(name="--json", group=OUT, negative="")] = False) -> None:
    """Examine the installation: packages, mathematics, METIS, device, cache, a small training, several processes.

    Takes half a minute. Each part is used once, and what does not work comes with a remedy; the exit code is then 1.

    Args:
        as_json: print the findings as JSON, for a bug report.
    """
    from girl.api.doctor import examine

    marks = {"well": "[green]well [/green]", "note": "[yellow]note [/yellow]", "fault": "[red]fault[/red]"}
    found = []
    for finding in examine():
        found.append(finding)
        if not as_json:
            console.print(marks[finding.state], finding.name.ljust(16), end="", highlight=False)
            say(finding.said + (f"\n{' ' * 22}{finding.remedy}" if finding.remedy else ""))
    if as_json:
        print(json.dumps([asdict(finding) for finding in found], indent=1))
    faults = [finding.name for finding in found if finding.state == "fault"]
    if faults:
        say(f"not well: {', '.join(faults)}")
        sys.exit(1)
    if not as_json:
        say("girl is well here")
