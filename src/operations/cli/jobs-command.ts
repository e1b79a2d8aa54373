import type { Command } from 'commander'
import { runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

const JOBS = `
One process leads each role, and it alone runs the jobs of the role. A job that fails is tried again; it is LATE
once its last success is longer ago than its interval, its budget and 30 seconds. /readyz and the metrics
sexton_job_late and sexton_job_age_seconds say the same.

Exit code: 0 none is late, 1 some are, 2 wrong usage or configuration.

Examples:
  sexton jobs
  sexton jobs --json
`

export function jobsCommand(process: NodeJS.Process): Command {
  return upkeepCommand('jobs')
    .description('what is done again and again: how often, when last, and why it failed')
    .addHelpText('after', JOBS)
    .action((options: UpkeepOptions) =>
      runUpkeep(process, options, async (context, report) => {
        const { runShowJobs } = await import('#operations/upkeep/show-jobs.ts')
        return runShowJobs(context, report)
      }),
    )
}
