import { type Command, Option } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { parseNumber } from '#config.ts'
import { showAddress } from '#domain/address.ts'
import { formatDecimal } from '#domain/money.ts'
import { lastDays, toDate, unixNow } from '#lib/time.ts'
import { countOf } from '#lib/words.ts'
import type { CommandContext } from '#main/command-context.ts'
import { onAccounts, type Report } from '#operations/cli/run-upkeep.ts'
import type { Connection } from '#store/engine.ts'
import { column, type Row, type Sql, sql } from '#store/sql.ts'
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

interface UsageOptions {
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

export const OWNERS = ['wallet', 'key'] as const

export type Owners = (typeof OWNERS)[number]

export interface OwnerUsage {
  readonly publicId?: string
  /** The owner's name for the key. */
  readonly label?: string | null
  readonly wallet: string
  readonly requestCount: number
  readonly overageCount: number
  readonly spentUsd: string
  readonly activeDays: number
  readonly mostInADay: number
  readonly lastDate: string
}

/** Calls since a midnight (UTC), most calls first. Anonymous callers own nothing. */
export async function readUsage(
  connection: Connection,
  { by, since }: { readonly by: Owners; readonly since: number },
): Promise<readonly OwnerUsage[]> {
  const owned = by === 'wallet' ? ofWallets(since) : ofKeys(since)
  const found = await connection.run(sql`
    select owner, keys.wallet, keys.label, cast(sum(calls) as bigint) as calls,
      cast(sum(paid) as bigint) as paid, cast(sum(spent) as bigint) as spent,
      count(*) as days, cast(max(calls) as bigint) as most, max(day) as last_day
    from (
      select owner, day, sum(calls) as calls, sum(paid) as paid, sum(spent) as spent
      from (${owned}) as parts group by owner, day having sum(calls) > 0
    ) as days left join keys on keys.public_id = owner
    group by owner, keys.wallet, keys.label order by calls desc, owner`)
  return found.map(toUsage)
}

function ofWallets(since: number): Sql {
  return sql`
    select substr(bucket, 8) as owner, day, used + paid as calls, paid, 0 as spent
    from usage_days where day >= ${since} and bucket like 'wallet:%'
    union all
    select keys.wallet, spend.day, 0, 0, spend.micro_usd
    from (${spendOf(since)}) as spend join keys on keys.public_id = spend.public_id`
}

/** The first key of a wallet has what no other key was counted for. */
function ofKeys(since: number): Sql {
  return sql`
    select keys.public_id as owner, key_days.day, key_days.used as calls, 0 as paid, 0 as spent
    from key_days join keys on keys.public_id = key_days.public_id where key_days.day >= ${since}
    union all
    select first.public_id, usage_days.day, usage_days.used, 0, 0
    from usage_days join keys as first
      on usage_days.bucket = 'wallet:' || first.wallet and first.is_first = 1
    where usage_days.day >= ${since}
    union all
    select first.public_id, key_days.day, -key_days.used, 0, 0
    from key_days left join keys on keys.public_id = key_days.public_id
      join keys as first on first.is_first = 1
        and first.wallet = coalesce(keys.wallet, substr(key_days.public_id, 8))
    where key_days.day >= ${since}
    union all
    select public_id, day, calls, calls, micro_usd from (${spendOf(since)}) as spend`
}

function spendOf(since: number): Sql {
  return sql`
    select substr(account, 5) as public_id, day, calls, micro_usd
    from spend_days where day >= ${since} and account like 'key:%'`
}

function toUsage(row: Row): OwnerUsage {
  const isKey = column.textOrNull(row, 'wallet') !== null
  return {
    ...(isKey && {
      publicId: column.text(row, 'owner'),
      label: column.textOrNull(row, 'label'),
    }),
    wallet: showAddress(column.hex(row, isKey ? 'wallet' : 'owner')),
    requestCount: column.integer(row, 'calls'),
    overageCount: column.integer(row, 'paid'),
    spentUsd: formatDecimal(column.amount(row, 'spent'), 6),
    activeDays: column.integer(row, 'days'),
    mostInADay: column.integer(row, 'most'),
    lastDate: toDate(column.integer(row, 'last_day')),
  }
}
