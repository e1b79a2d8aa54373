import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import type { Engine } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import { createRetention } from '#main/jobs.ts'
import { openStore } from '#main/stores.ts'
import { rowChecks } from '#ops/audit/audit-accounts.ts'
import { startPostgres } from '#test/postgres.ts'
import { readNumber } from '#test/program-options.ts'
import { startChainServer } from '../index/chain-server.ts'
import { runSexton } from '../index/run-sexton.ts'
import { runSexton as runCommand } from '../run-sexton.ts'
import { type SextonPlace, startSexton, untilServed } from '../start-sexton.ts'
import { type AccountsSize, fillAccounts } from './fill-accounts.ts'
import { timeEndpoints } from './time-endpoints.ts'

interface Options extends AccountsSize {
  readonly logs: number
  readonly small: number
}

const values = new Command('node tools/bench/sizes/bench.ts')
  .description(
    'Fills PostgreSQL with a large register and years of accounts, and with a part of them, and prints for both how long every endpoint, a round of the verifier, the audit and the clean-up of usage take, and the ratio.',
  )
  .option('--logs <count>', 'events of the register', readNumber, 10_000_000)
  .option('--keys <count>', 'keys', readNumber, 1_000_000)
  .option('--days <count>', 'of usage', readNumber, 365)
  .option('--payers <count>', 'keys with paid calls on each day', readNumber, 2_000)
  .option(
    '--free-a-day <count>',
    'wallets and addresses with free calls on each day',
    readNumber,
    10_000,
  )
  .option('--small <part>', 'the other store has this part of all', readNumber, 100)
  .parse()
  .opts<Options>()

type Times = Map<string, number>

const postgres = await startPostgres({ durable: true, own: true })
const folder = await mkdtemp(join(tmpdir(), 'sexton-bench-sizes-'))
try {
  const part = (count: number) => Math.max(1, Math.round(count / values.small))
  const small = await measure('small', {
    ...values,
    logs: part(values.logs),
    keys: part(values.keys),
    payers: part(values.payers),
    freeADay: part(values.freeADay),
  })
  const large = await measure('large', values)
  process.stdout.write('milliseconds: small, large, ratio\n')
  for (const [what, ms] of large) {
    const less = small.get(what) ?? Number.NaN
    process.stdout.write(
      `${what}: ${less.toFixed(1)}, ${ms.toFixed(1)}, ${(ms / less).toFixed(1)}\n`,
    )
  }
} finally {
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}

async function measure(name: string, size: Options): Promise<Times> {
  const note = (line: string) => process.stdout.write(`${name}: ${line}\n`)
  const times: Times = new Map()
  const databaseUrl = await postgres.createDatabase()
  const server = await startChainServer({ logs: size.logs, seed: 1 })
  const place = { folder: join(folder, name), databaseUrl }
  await mkdir(join(place.folder, 'data'), { recursive: true })
  const engine = await openStore('', 'accounts', { kind: 'postgres', url: databaseUrl })
  try {
    const { seconds } = await runSexton(server, databaseUrl)
    note(`${size.logs} events indexed in ${seconds.toFixed(1)} s`)
    const [payer] = await fillAccounts(engine, size, note)
    if (payer === undefined) throw new Error('somebody pays')
    const quotas = { anonymous: 1_000_000, free: 1_000_000, premium: 1_000_000 }
    const service = await startSexton({ ...place, apiOnly: true, quotas, rpcUrl: server.url })
    await untilServed(service)
    for (const each of await timeEndpoints(service.url, payer, note)) {
      const path = each.path.replaceAll(payer.wallet, '{wallet}')
      times.set(`GET ${path}, first`, each.firstMs)
      times.set(`GET ${path}, median`, each.medianMs).set(`GET ${path}, most`, each.mostMs)
    }
    note('endpoints are timed')
    await service.stop()
    await timeUpkeep(engine, times, note)
    note('upkeep is timed')
    await timed(times, 'sexton audit', () => audit(place))
    return times
  } finally {
    await engine.close()
    await server.stop()
  }
}

async function timed<T>(times: Times, what: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now()
  const result = await work()
  times.set(what, performance.now() - startedMs)
  return result
}

async function timeUpkeep(
  engine: Engine,
  times: Times,
  note: (line: string) => void,
): Promise<void> {
  const clock = Date.now
  for (const check of rowChecks)
    await timed(times, `audit: ${check.name}`, async () => {
      const found = await engine.snapshot(check.run)
      if (found.length > 0) throw new Error(`${check.name}: ${JSON.stringify(found[0])}`)
    })
  note('the checks of the accounts are timed')
  const prune = createRetention({ engine, clock, headUnix: async () => Date.now() / 1_000 })
  const before = await figures(engine)
  await timed(times, 'clean-up: all old usage', async () => {
    for (let left = -1, now = before.rows; now !== left; now = (await figures(engine)).rows) {
      left = now
      note(`clean-up: ${now} days left`)
      await prune()
    }
  })
  const after = await figures(engine)
  times.set('clean-up: rows', before.rows - after.rows)
  times.set('clean-up: WAL bytes', after.wal - before.wal)
  await timed(times, 'verifier: first round after a start, with nothing to do', () =>
    createRetention({ engine, clock, headUnix: async () => Date.now() / 1_000 })(),
  )
}

async function figures(engine: Engine): Promise<{ readonly rows: number; readonly wal: number }> {
  const [row] = await engine.read(sql`
    select count(*) as rows,
      cast(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bigint) as wal from usage_days`)
  if (row === undefined) throw new Error('one row')
  return { rows: column.integer(row, 'rows'), wal: column.integer(row, 'wal') }
}

async function audit({ folder: own, databaseUrl }: SextonPlace): Promise<void> {
  const { code, stdout } = await runCommand(['audit'], {
    SEXTON_DATA: join(own, 'data'),
    SEXTON_ECOSYSTEM: join(own, 'ecosystem.json'),
    SEXTON_DATABASE_URL: databaseUrl ?? '',
  })
  if (code !== 0) throw new Error(`the audit found:\n${stdout.slice(-2_000)}`)
}
