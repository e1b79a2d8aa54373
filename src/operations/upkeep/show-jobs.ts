import { allJobs } from '#main/jobs/job-list.ts'
import { RETENTION } from '#main/jobs/retention.ts'
import { chosenEcosystem, type RoleContext } from '#main/role-context.ts'
import { openStore } from '#main/stores.ts'
import { type JobState, readJobStates } from '#operations/jobs/job-runs.ts'
import type { LeaseName } from '#operations/jobs/leader.ts'
import { onAccounts } from './open-accounts.ts'
import type { Report } from './report.ts'

type ShownJob = JobState & { readonly lead: LeaseName }

/** The jobs of this installation, and how long rows are kept. */
export async function runShowJobs(
  { settings, clock }: Pick<RoleContext, 'settings' | 'clock'>,
  report: Report,
): Promise<void> {
  const ecosystem = await chosenEcosystem(settings)
  const jobs = await onAccounts(settings, async (accounts) => {
    const register = await openStore(settings.dataFolder, 'register', settings.register)
    try {
      const shown: ShownJob[] = []
      for (const { lead, engine, jobs } of allJobs({
        ...{ ecosystem, settings, stores: { register, accounts } },
      }))
        for (const state of await readJobStates({ engine, clock }, jobs))
          shown.push({ ...state, lead })
      return shown
    } finally {
      await register.close()
    }
  })
  report.say(inColumns(['job', 'every', 'needs the lead of', 'last success', 'state']))
  for (const job of jobs) report.say(inColumns(columnsOf(job)))
  report.say('')
  report.say('kept in the accounts, by the job "retention":')
  for (const { rows, keepDays } of RETENTION)
    report.say(`  ${`${keepDays}`.padStart(3)} days  ${rows}`)
  const retention = RETENTION.map(({ rows, keepDays, atOnce }) => ({ rows, keepDays, atOnce }))
  report.done({ jobs, retention }, jobs.some(({ isLate }) => isLate) ? 1 : 0)
}

function columnsOf(job: ShownJob): readonly string[] {
  const { name, everySeconds, lead, succeededAgo, failure, isLate, whileFailing } = job
  const last = succeededAgo === undefined ? 'never' : `${succeededAgo} s ago`
  const state = failure === undefined ? 'ok' : `failing: ${failure}`
  return [
    name,
    `${everySeconds} s`,
    lead,
    last,
    isLate ? `LATE, ${state} (${whileFailing})` : state,
  ]
}

const WIDTHS = [11, 7, 19, 14]

function inColumns(cells: readonly string[]): string {
  return cells.map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0)).join('')
}
