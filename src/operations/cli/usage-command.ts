import { type Command, Option } from 'commander'
import { parseNumber } from '#config.ts'
import { OWNERS, type Owners } from '#operations/upkeep/usage/read-usage.ts'
import { runUsage } from '#operations/upkeep/usage/run-usage.ts'
import { parsed, runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

const USAGE = `
Works while the service runs. Counts what was charged, as GET /api/usage/history shows it to owners. Calls without
a key have no owner; the metrics count them.

Exit code: 0 done, 2 wrong usage or configuration.

Examples:
  sexton usage --by wallet --days 30
  sexton usage --by key --days 7 --csv > keys.csv
`

interface Options extends UpkeepOptions {
  readonly by: Owners
  readonly days: number
  readonly csv?: boolean
}

export function usageCommand(process: NodeJS.Process): Command {
  return upkeepCommand('usage')
    .description('calls and money of the last days, by who owns them')
    .addOption(
      new Option('--by <owner>', 'wallets, or single keys').choices(OWNERS).default('wallet'),
    )
    .addOption(
      new Option('--days <n>', 'UTC days that end with today')
        .argParser(parsed(parseNumber({ minimum: 1, maximum: 90 })))
        .default(30),
    )
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .addHelpText('after', USAGE)
    .action(({ csv = false, ...options }: Options) =>
      runUpkeep(process, options, (context, report) =>
        runUsage(context, report, { ...options, csv }),
      ),
    )
}
