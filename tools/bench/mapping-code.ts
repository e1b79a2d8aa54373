import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { padHex, toHex } from 'viem'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import { applyStaged, type CommitDeps, stageLogs, transact } from '#chains/indexer/transaction.ts'
import type { Log } from '#domain/chain.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { readNumber } from '#test/program-options.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { atLeast, printTable, reportPromised, short } from './report.ts'

const { logs: LOGS } = new Command('node tools/bench/mapping-code.ts')
  .description(
    'Decodes and stores grave digs by arguments, and by a module that makes the same rows.',
  )
  .option('--logs <count>', 'of each mapping, in turns of ten thousand', readNumber, 1_000_000)
  .parse()
  .opts<{ logs: number }>()

const AT_ONCE = 10_000

const MODULE = `import type { GraveDigRow, MappedEvent } from 'sexton'

type Dug = MappedEvent<{ digger: string; graveId: bigint; amount: bigint }>

export function rows({ args: { digger, graveId, amount } }: Dug): GraveDigRow[] {
  return [{ digger, graveId, amount }]
}
`

interface Runner {
  readonly name: string
  readonly deps: CommitDeps
  readonly emits: { readonly address: Log['address']; readonly topic0: Log['topics'][number] }
  decodeMs: number
  totalMs: number
}

const folder = mkdtempSync(join(tmpdir(), 'sexton-bench-'))
try {
  const path = join(folder, 'digs.ts')
  writeFileSync(path, MODULE)
  const runners = [await open('arguments'), await open('module', path)]
  for (let from = 0; from < LOGS; from += AT_ONCE)
    for (const runner of from % (2 * AT_ONCE) === 0 ? runners : runners.toReversed())
      await run(runner, from)
  print(runners)
  for (const { deps } of runners) await deps.engine.close()
} finally {
  rmSync(folder, { recursive: true })
}

async function open(name: string, module?: string): Promise<Runner> {
  const engine = openSqlite({ file: join(folder, `${name}.sqlite`), durability: 'normal' })
  await engine.migrate(registerMigrations)
  const ecosystem = localEcosystemAt({ base: 'http://127.0.0.1:9' }, (file) => ({
    ...file,
    graveDigs: file.graveDigs
      // A token with a fixed price: no value waits for a pool.
      .map((dig) => ({ ...dig, token: 'USDC' }))
      .map((dig) => (module === undefined ? dig : byModule(dig, module))),
  }))
  const deps = await commitDepsOf(engine, ecosystem)
  const [source] = ecosystem.graveDigs
  if (source === undefined) throw new Error('the local ecosystem has no grave digs')
  return { name, deps, emits: source, decodeMs: 0, totalMs: 0 }
}

type Dig = NonNullable<EcosystemFile['graveDigs']>[number]

function byModule({ digger: _, graveId: __, amount: ___, ...dig }: Dig, rows: string): Dig {
  return { ...dig, rows }
}

async function run(runner: Runner, from: number): Promise<void> {
  const { deps, emits } = runner
  const logs = Array.from({ length: AT_ONCE }, (_, index) => logAt(emits, from + index))
  const startMs = performance.now()
  const { staged, anomalies } = await stageLogs(deps.datasets, logs)
  runner.decodeMs += performance.now() - startMs
  if (anomalies.length > 0) throw new Error(anomalies[0]?.problem.reason)
  await transact(
    deps,
    async () => ({ chainId: 8453, finalizedNumber: from, isOlder: true }),
    (change) => applyStaged(change, staged),
  )
  runner.totalMs += performance.now() - startMs
}

/** Two digs in a block, a tenth as many diggers as digs. */
function logAt({ address, topic0 }: Runner['emits'], number: number): Log {
  const word = (value: number) => padHex(toHex(value), { size: 32 })
  const blockNumber = Math.floor(number / 2)
  return {
    ...{ chainId: 8453, blockNumber, blockHash: word(blockNumber), txHash: word(number) },
    ...{ timestamp: 1_700_000_000 + 2 * blockNumber, txIndex: number % 2, logIndex: number % 2 },
    ...{ address, topics: [topic0, word(1 + (number % (LOGS / 10))), word(number)] },
    data: word(1 + number),
  }
}

function print(runners: readonly Runner[]): void {
  const perSecond = (ms: number) => (LOGS / ms) * 1_000
  printTable(
    ['mapping', 'decoded logs/s', 'decoded and stored logs/s'],
    runners.map(({ name, decodeMs, totalMs }) => [
      name,
      short(perSecond(decodeMs)),
      short(perSecond(totalMs)),
    ]),
  )
  const [declared, coded] = runners
  if (declared === undefined || coded === undefined) return
  const promised = [
    atLeast('times the rate of arguments, decoded', declared.decodeMs / coded.decodeMs, 0.5),
    atLeast('times the rate of arguments, stored', declared.totalMs / coded.totalMs, 0.5),
  ]
  process.exitCode = reportPromised(promised) ? 0 : 1
}
