import { BURNS } from '#data/burns/kind.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import type { SimulatedChain } from './simulated-chain.ts'
import type { World } from './world.ts'

/** Fails when what a reader sees at one moment does not fit together. */
export async function checkSnapshot(register: Engine, world: World): Promise<void> {
  await register.snapshot(async (reads) => {
    for (const chain of world.chains) await checkBranch(reads, chain)
    await checkTotals(reads)
    await checkAccounts(reads)
    await checkSupply(reads)
  })
}

/** Every row must belong to the very branch that the position names, up to the position. */
async function checkBranch(reads: Connection, chain: SimulatedChain): Promise<void> {
  const [position] = await reads.run(
    sql`select number, hash, finalized_number from positions where chain_id = ${chain.id}`,
  )
  const branch = position === undefined ? [] : branchOf(chain, position)
  const final = Number(position?.finalized_number ?? 0)
  if (final < chain.toldFinal)
    throw new Error(`what is final on ${chain.name} went back from ${chain.toldFinal} to ${final}`)
  chain.toldFinal = final
  const named = await reads.run(sql`
    select 'events' as place, block_number, block_hash from events where chain_id = ${chain.id}
    union all select 'anomalies', block_number, block_hash from anomalies where chain_id = ${chain.id}
    union all select 'blocks', number, hash from blocks where chain_id = ${chain.id}`)
  for (const { place, block_number, block_hash } of named)
    if (branch[Number(block_number)] !== block_hash)
      throw new Error(
        `half a state: ${place} of ${chain.name} name ${block_number} ${block_hash}, which is not below the position ${position?.number} ${position?.hash}`,
      )
  const numbered = await reads.run(sql`
    select 'price_points' as place, max(block_number) as newest from price_points where chain_id = ${chain.id}
    union all select 'balance_deltas', max(block_number) from balance_deltas where chain_id = ${chain.id}`)
  for (const { place, newest } of numbered)
    if (newest !== null && Number(newest) >= branch.length)
      throw new Error(`half a state: ${place} of ${chain.name} are above the position`)
}

/** The hashes of a branch by height. */
function branchOf(chain: SimulatedChain, position: Row): readonly string[] {
  const branch: string[] = []
  let block = chain.blocks.get(column.text(position, 'hash'))
  if (block === undefined)
    throw new Error(`${chain.name} never had the block ${position.number} ${position.hash}`)
  while (block !== undefined) {
    branch[block.number] = block.hash
    block = chain.blocks.get(block.parentHash)
  }
  return branch
}

type Sums = Map<string, { amount: bigint; usd: bigint; events: number; priced: number }>

function add(sums: Sums, key: string, row: Row, events: number, priced: number): void {
  const sum = sums.get(key) ?? { amount: 0n, usd: 0n, events: 0, priced: 0 }
  sum.amount += column.bigint(row, 'amount')
  sum.usd += column.bigintOrNull(row, 'usd') ?? 0n
  sum.events += events
  sum.priced += priced
  sums.set(key, sum)
}

/** Days and totals each hold what the events add up to. */
async function checkTotals(reads: Connection): Promise<void> {
  const events: Sums = new Map()
  const found = await reads.run(
    sql`select dataset, token, chain_id, amount, usd from events where counted = 1`,
  )
  for (const row of found)
    for (const grain of ['day', 'total'])
      add(events, keyOf(row, grain), row, 1, Number(row.usd !== null))
  const buckets: Sums = new Map()
  const stored = await reads.run(
    sql`select dataset, token, chain_id, grain, amount, usd, events, priced from event_buckets
      where grain in ('day', 'total')`,
  )
  for (const row of stored)
    add(buckets, keyOf(row, String(row.grain)), row, Number(row.events), Number(row.priced))
  mustAgree('buckets', events, buckets)
}

function keyOf(row: Row, grain: string): string {
  return [row.dataset, row.token, row.chain_id, grain].join(' ')
}

/** Accounts hold what their events add up to. */
async function checkAccounts(reads: Connection): Promise<void> {
  const events: Sums = new Map()
  const found = await reads.run(sql`
    select dataset, token, account, amount, usd from events
    where counted = 1 and account is not null and dataset <> ${BURNS}`)
  const accountOf = (row: Row) => [row.dataset, row.token, row.account].join(' ')
  for (const row of found) add(events, accountOf(row), row, 1, Number(row.usd !== null))
  const accounts: Sums = new Map()
  const stored = await reads.run(sql`
    select dataset, token, account, amount, usd, events, priced from event_account_sums`)
  for (const row of stored)
    add(accounts, accountOf(row), row, Number(row.events), Number(row.priced))
  mustAgree('accounts', events, accounts)
}

/** What all hold together is what was minted and not sent to zero. */
async function checkSupply(reads: Connection): Promise<void> {
  const held = new Map<string, bigint>()
  const move = (row: Row, amount: bigint) => {
    const key = `${row.token} ${row.chain_id}`
    held.set(key, (held.get(key) ?? 0n) + amount)
  }
  for (const row of await reads.run(sql`select token, chain_id, balance from balances`))
    move(row, column.bigint(row, 'balance'))
  const supplies = await reads.run(
    sql`select token, chain_id, minted, burned from supply_buckets where grain = 'total'`,
  )
  for (const row of supplies) move(row, column.bigint(row, 'burned') - column.bigint(row, 'minted'))
  for (const [key, rest] of held)
    if (rest !== 0n) throw new Error(`half a state: balances of ${key} are off by ${rest}`)
}

function mustAgree(what: string, events: Sums, sums: Sums): void {
  for (const key of new Set([...events.keys(), ...sums.keys()])) {
    const [a, b] = [events.get(key), sums.get(key)]
    const agree =
      a?.amount === b?.amount &&
      a?.usd === b?.usd &&
      a?.events === b?.events &&
      a?.priced === b?.priced
    if (!agree)
      throw new Error(
        `half a state: ${what} ${key}: the events make ${a?.events} of ${a?.amount} (${a?.usd}), the sums say ${b?.events} of ${b?.amount} (${b?.usd})`,
      )
  }
}
