import { stringify } from 'csv-stringify/sync'
import { lastDays, unixNow } from '#lib/time.ts'
import { countOf } from '#lib/words.ts'
import type { CommandContext } from '#main/command-context.ts'
import { onAccounts } from '../open-accounts.ts'
import type { Report } from '../report.ts'
import { type Owners, type OwnerUsage, readUsage } from './read-usage.ts'

export interface UsageOptions {
  readonly by: Owners
  /** UTC days that end with today. */
  readonly days: number
  readonly csv: boolean
}

export function runUsage(
  { config, clock }: Pick<CommandContext, 'config' | 'clock'>,
  report: Report,
  { by, days, csv }: UsageOptions,
): Promise<void> {
  return onAccounts(config, async (accounts) => {
    const since = lastDays(unixNow(clock), days)[0] ?? 0
    const owners = await accounts.snapshot((connection) => readUsage(connection, { by, since }))
    const names = by === 'key' ? [...OF_KEYS, ...COLUMNS] : COLUMNS
    const table = [names, ...owners.map((each) => names.map((name) => String(each[name] ?? '')))]
    // Owners choose labels, and a spreadsheet would run one that is a formula.
    if (csv) report.say(stringify(table, { escape_formulas: true }).trimEnd())
    else {
      for (const line of inColumns(table)) report.say(line)
      report.say(`${countOf(owners.length, by)} called in ${countOf(days, 'day')}`)
    }
    report.done({ by, days, owners })
  })
}

type Name = keyof OwnerUsage

const OF_KEYS: readonly Name[] = ['publicId', 'label']

const COLUMNS: readonly Name[] = [
  'wallet',
  'requestCount',
  'overageCount',
  'spentUsd',
  'activeDays',
  'mostInADay',
  'lastDate',
]

function inColumns(table: readonly (readonly string[])[]): readonly string[] {
  const widths = (table[0] ?? []).map((_, at) =>
    Math.max(...table.map((cells) => cells[at]?.length ?? 0)),
  )
  return table.map((cells) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
