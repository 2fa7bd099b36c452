"""A call of a turn, as its branch is delivered: carried out, and kept."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from psycopg import Connection

from shared.agents import tools, turn_rows
from shared.agents.ask_model import AgentProcess
from shared.agents.carry_out_call import carry_out_call
from shared.agents.take_turn import CALLS_OF_TURN
from shared.agents.turn_lease import renewed
from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs import outcome, progress, stored_outcomes
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import Diagnostic, Outcome
from shared.search.query import deadline_shares
from shared.search.query.plan import Plan
from shared.times.calendar import Clock

log = get_logger()

# Runs a step and returns its error, whatever went wrong.
Attempt: TypeAlias = Callable[[Callable[[], None]], LogchordError | None]


def run_call(
    process: AgentProcess,
    job: Job,
    plan: Plan,
    call_no: int,
    clock: Clock,
    attempt: Attempt,
    events_until: int,
) -> tuple[str, list[Outcome]] | None:
    """Carry out a call and store its outcome; None: its turn needs it no more."""
    turn_no, number = divmod(call_no, CALLS_OF_TURN)
    with connection(process.pool) as conn:
        turns = turn_rows.list_turns(conn, job.job_id, job.tenant)
        turn = next((one for one in turns if one.turn_no == turn_no), None)
        # Sent twice where its queue was busy, it is in before its turn is settled.
        if (
            turn is None
            or number not in turn.missing
            or jobs.is_in(process.redis, job.job_id, call_no)
        ):
            log.info("agent_call_not_wanted", job_id=str(job.job_id), call=call_no)
            return None
        turn_rows.hold(conn, job.job_id, job.tenant, turn_no)
    name, arguments = turn.calls[number]["name"], turn.calls[number]["arguments"]
    progress.branch_started(process.redis, job.job_id, name, 0, until=events_until)
    process.checkpoint("call_begun", job.job_id)
    outcomes: list[Outcome] = []

    def carry_out() -> None:
        tool = tools.list_tools(plan)[name]
        ends_at = deadline_shares.branch_end(job.deadline, plan.deadline_ms)
        given = tool.read(arguments)
        outcomes.extend(
            carry_out_call(
                process.context,
                plan,
                tool,
                given,
                clock,
                ends_at,
                process.now,
                process.excluded,
            )
        )

    def hold(conn: Connection) -> bool:
        turn_rows.hold(conn, job.job_id, job.tenant, turn_no)
        return True

    # A call may take longer than a lease where a model is loaded for it first.
    with renewed(process.pool, hold):
        error = attempt(carry_out)
    if error is not None:
        outcomes.append(_failed(name, error))
    process.checkpoint("before_keep", job.job_id)
    stored_outcomes.store_outcomes(
        process.redis,
        job.job_id,
        call_no,
        outcomes,
        awaited=0,
        deadline=job.deadline,
        mailbox=None,
        events_until=events_until,
    )
    process.checkpoint("after_keep", job.job_id)
    return name, outcomes


def _failed(name: str, error: LogchordError) -> Outcome:
    note = Diagnostic("error", "agent", error.error_code, error.message, "search")
    return replace(outcome.make_failure(name, "", error), diagnostics=(note,))
