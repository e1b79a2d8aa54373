import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { type Address, padHex, toEventSelector, toHex } from 'viem'
import { openRpcSource } from '#chain/rpc-source.ts'
import { registerMigrations } from '#data/datasets.ts'
import { sql } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { type BlockPlan, beginChain, type LogPlan } from '#test/chain-builder/built-chain.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { oneTokenEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { readNumber } from '#test/program-options.ts'
import { atLeast, printTable, reportPromised, short } from './report.ts'

const { logs, contracts, serve } = new Command('node tools/bench/made-contracts.ts')
  .description('Reads grave digs of one contract, and of many that a factory made.')
  .option('--logs <count>', 'grave digs', readNumber, 200_000)
  .option('--contracts <count>', 'that the factory makes', readNumber, 10_000)
  .option('--serve <count>', 'serves a chain with so many contracts to the bench', readNumber)
  .parse()
  .opts<{ logs: number; contracts: number; serve?: number }>()

const MADE = 'event PotMade(address indexed owner, address pot)'
const DUG = 'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)'
const MADE_TOPIC = toEventSelector(MADE)
const DUG_TOPIC = toEventSelector(DUG)
const FACTORY = addressOf(0xfac)
const LOGS_PER_BLOCK = 100

if (serve === undefined) await compare()
else await serveDigs(serve)

function addressOf(index: number): Address {
  return padHex(toHex(0xb0000000 + index), { size: 20 })
}

async function serveDigs(count: number): Promise<void> {
  const word = (value: number | Address) =>
    padHex(typeof value === 'number' ? toHex(value) : value, { size: 32 })
  const made = Array.from(
    { length: count },
    (_, index): LogPlan => ({
      address: FACTORY,
      topics: [MADE_TOPIC, word(1)],
      data: word(addressOf(index)),
    }),
  )
  const dug = Array.from(
    { length: logs },
    (_, index): LogPlan => ({
      address: addressOf(index % count),
      topics: [DUG_TOPIC, word(1 + (index % 1_000)), word(index)],
      data: word(1 + index),
    }),
  )
  const blocks: BlockPlan[] = []
  for (const plans of [made, dug])
    for (let from = 0; from < plans.length; from += LOGS_PER_BLOCK)
      blocks.push({ logs: plans.slice(from, from + LOGS_PER_BLOCK) })
  const chain = beginChain(8453, 1_700_000_000)
    .add(...blocks)
    .addEmpty(80)
  const { url } = await serveChain(chain)
  process.send?.(url)
}

async function compare(): Promise<void> {
  const one = await read(1)
  const many = await read(contracts)
  printTable(
    ['contracts', 'read and stored logs/s', 'seconds'],
    [
      ['1', short(logs / one), one.toFixed(1)],
      [String(contracts), short(logs / many), many.toFixed(1)],
    ],
  )
  const promised = [atLeast('times the rate of one contract', one / many, 0.5)]
  process.exitCode = reportPromised(promised) ? 0 : 1
}

/** Seconds to read and store the chain from its first block on. */
async function read(count: number): Promise<number> {
  const node = fork(import.meta.filename, ['--serve', `${count}`, '--logs', `${logs}`])
  const folder = mkdtempSync(join(tmpdir(), 'sexton-bench-'))
  try {
    return await readFrom(node, { count, file: join(folder, 'register.sqlite') })
  } finally {
    node.kill()
    rmSync(folder, { recursive: true })
  }
}

async function readFrom(node: ChildProcess, to: { readonly count: number; readonly file: string }) {
  const [url] = await once(node, 'message')
  const common = { chain: 'base', event: DUG, digger: 'digger', amount: 'amount', token: 'GRAVE' }
  const contract =
    to.count === 1
      ? { address: addressOf(0) }
      : { contracts: { factory: FACTORY, event: MADE, argument: 'pot' } }
  const ecosystem = oneTokenEcosystemAt(String(url), (file) => ({
    ...file,
    graveDigs: [{ ...common, ...contract }],
  }))
  const register = openSqlite({ file: to.file, durability: 'normal' })
  await register.migrate(registerMigrations)
  const startMs = performance.now()
  const indexer = startIndexer(
    { ecosystem, register },
    { sourceOf: ({ id: chainId, rpcUrls: urls }) => openRpcSource({ chainId, urls }) },
  )
  await indexer.caughtUp()
  const seconds = (performance.now() - startMs) / 1_000
  await indexer.stop()
  const [row] = await register.snapshot((reads) =>
    reads.run(sql`select count(*) as found from events where dataset = 'grave-digs'`),
  )
  await register.close()
  if (Number(row?.found) !== logs) throw new Error(`${row?.found} of ${logs} digs are stored`)
  return seconds
}
