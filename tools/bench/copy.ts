import assert from 'node:assert/strict'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { runSexton } from '#test/upkeep/run-sexton.ts'
import { type ServedAccounts, serveAccounts } from '#test/upkeep/served-accounts.ts'

const text = { type: 'string' } as const
const { values } = parseArgs({ options: { keys: text, logs: text, 'paid-days': text } })
const number = (value: string | undefined, otherwise: number) => Number(value ?? otherwise)
const print = (line: string) => process.stdout.write(`${line}\n`)

const CALLS_PER_SECOND = 200

type Tables = Readonly<Record<string, { readonly rows: number; readonly sha256: string }>>

/** Promised: a backup costs no call, and every direction gives equal digests and a clean audit. */
async function main(): Promise<void> {
  const paidDays = number(values['paid-days'], 0)
  const size = {
    seeded: { keys: number(values.keys, 1_000), freeDays: 0, paidDays },
    logs: number(values.logs, 1_000_000),
  }
  const postgres = await startPostgres({ durable: true })
  try {
    await serveAccounts(size, (served) => run(served, postgres))
  } finally {
    await postgres.stop()
  }
}

async function run(served: ServedAccounts, postgres: TestPostgres): Promise<void> {
  const { folder, data, environment } = served
  const file = join(folder, 'backup.sqlite')
  const backUp = () => runSexton(['copy', '--to', file, '--json'], environment)
  const { traffic, ended, seconds } = await served.underCalls(CALLS_PER_SECOND, backUp)
  assert.equal(ended.code, 0, ended.stderr)
  show('backup under calls', seconds, JSON.parse(ended.stdout).tables)
  const answers = [...traffic.answered.values()].reduce((sum, each) => sum + each, 0)
  print(`answers of 200: ${answers}; 503: ${traffic.unavailable}; wrong: ${traffic.wrong.length}`)
  assert.deepEqual([traffic.unavailable, traffic.refused, traffic.wrong], [0, 0, []])
  await served.stop()

  await copy('SQLite from a file', served, [file, join(folder, 'restored')])
  const [one, two] = [await postgres.createDatabase(), await postgres.createDatabase()]
  const back = join(folder, 'back')
  const moves = [
    await copy('SQLite to PostgreSQL', served, [data, one]),
    await copy('PostgreSQL to PostgreSQL', served, [one, two]),
    await copy('PostgreSQL to SQLite', served, [two, back]),
  ]
  const digests = moves.map(({ accounts: { store_copies: _, ...tables } }) => tables)
  for (const each of digests) assert.deepEqual(each, digests[0])
  const audit = await runSexton(['audit'], { ...environment, SEXTON_DATA: back })
  print(`audit after all: exit ${audit.code}`)
  assert.equal(audit.code, 0, audit.stdout + audit.stderr)
}

async function copy(
  what: string,
  { environment }: ServedAccounts,
  [from, to]: readonly [string, string],
): Promise<{ readonly register: Tables | undefined; readonly accounts: Tables }> {
  const startedMs = performance.now()
  const ended = await runSexton(['copy', '--from', from, '--to', to, '--json'], environment)
  assert.equal(ended.code, 0, ended.stderr)
  const { register, accounts, tables } = JSON.parse(ended.stdout)
  show(what, (performance.now() - startedMs) / 1_000, { ...register, ...accounts, ...tables })
  return { register, accounts: accounts ?? tables }
}

function show(what: string, seconds: number, tables: Tables): void {
  const rows = Object.values(tables).reduce((sum, each) => sum + each.rows, 0)
  print(`${what}: ${rows} rows in ${seconds.toFixed(1)} s`)
}

await main()
