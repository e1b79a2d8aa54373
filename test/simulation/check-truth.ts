import assert from 'node:assert/strict'
import { parseAbi, toEventSelector } from 'viem'
import { toPlace } from '#base/chain.ts'
import type { Engine } from '#db/engine.ts'
import { fromStored, sql } from '#db/sql.ts'
import { addresses, burnAddress } from '#devnet/addresses.ts'
import type { BuiltBlock, BuiltLog } from '#test/chain-builder/built-chain.ts'
import { countTransaction } from '#test/hostile-tokens/recount/recount-burns.ts'
import { balancesOf } from './chain-life.ts'
import type { SimulatedChain } from './simulated-chain.ts'
import type { World } from './world.ts'

const [dug] = parseAbi([
  'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
]).map(toEventSelector)

const symbols = new Map([
  [addresses.base.grave.toLowerCase(), 'GRAVE'],
  [addresses.base.crypt.toLowerCase(), 'CRYPT'],
])

/** Fails when the register differs from what the chains themselves say, read here in another way. */
export async function checkTruth(register: Engine, world: World): Promise<void> {
  for (const chain of world.chains) {
    assert.deepEqual(await storedBalances(register, chain.id), trueBalances(chain), 'balances')
    const { burns, digs } = trueEvents(chain)
    assert.deepEqual(await storedEvents(register, chain.id, 'burns'), burns, 'burns')
    assert.deepEqual(await storedEvents(register, chain.id, 'grave-digs'), digs, 'grave digs')
  }
}

async function storedBalances(register: Engine, chainId: number): Promise<readonly string[]> {
  const rows = await register.read(
    sql`select token, address, balance from balances where chain_id = ${chainId}`,
  )
  return rows.map((row) => `${row.token} ${row.address} ${fromStored(row.balance)}`).sort()
}

function trueBalances({ truth }: SimulatedChain): readonly string[] {
  return [...balancesOf(truth)]
    .filter(([, amount]) => amount > 0n)
    .map(([key, amount]) => {
      const [token = '', owner] = key.split(' ')
      return `${symbols.get(token)} ${owner} ${amount}`
    })
    .sort()
}

async function storedEvents(
  register: Engine,
  chainId: number,
  dataset: string,
): Promise<readonly string[]> {
  const rows = await register.read(sql`
    select block_number, place, timestamp_unix, amount from events
    where chain_id = ${chainId} and dataset = ${dataset} order by block_number, place`)
  return rows.map(
    (row) => `${row.block_number} ${row.place} ${row.timestamp_unix} ${fromStored(row.amount)}`,
  )
}

function trueEvents({ name, truth }: SimulatedChain) {
  const { graveyard } = addresses[name]
  const digs: string[] = []
  for (const { number, timestamp, logs } of truth.blocks)
    for (const log of logs) {
      if (log.data === '0x') continue
      const line = `${number} ${placeIn(log)} ${timestamp} ${BigInt(log.data)}`
      const isOf = (topic0: string | undefined, address: string) =>
        log.topics[0] === topic0 && log.address === address.toLowerCase()
      if (isOf(dug, graveyard)) digs.push(line)
    }
  return { burns: truth.blocks.flatMap(trueBurns), digs }
}

function trueBurns({ number, timestamp, logs }: BuiltBlock): readonly string[] {
  const placed = logs.map((log) => ({ ...log, place: placeIn(log) }))
  const rule = { bridges: [], burnAddresses: [burnAddress.toLowerCase()] }
  return [...Map.groupBy(placed, ({ transactionIndex }) => transactionIndex).values()]
    .flatMap((own) =>
      [...symbols.keys()].flatMap((token) => countTransaction(own, { token, ...rule }).burns),
    )
    .sort((a, b) => a.place - b.place)
    .map(({ place, amount }) => `${number} ${place} ${timestamp} ${amount}`)
}

function placeIn({ transactionIndex, logIndex }: BuiltLog): number {
  return toPlace({ txIndex: transactionIndex, logIndex })
}
