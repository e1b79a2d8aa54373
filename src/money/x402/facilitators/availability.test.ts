import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { addGas } from '../settling/gas-days.ts'
import { createAvailability } from './availability.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const NOON_MS = Date.UTC(2026, 10, 21, 12)
const DAY_UNIX = Date.UTC(2026, 10, 21) / 1000
const GWEI = 1_000_000_000n
const ETHER = 10n ** 18n

interface Chain {
  baseFee: bigint
  balance: bigint
  isDown: boolean
}

function availabilityOn(engine: Engine, chain: Chain, now = { ms: NOON_MS }) {
  const answer = async <T>(value: T): Promise<T> => {
    if (chain.isDown) throw new Error('no node answers')
    return value
  }
  return createAvailability({
    engine,
    clock: () => now.ms,
    rpc: {
      gasPrice: () => answer({ baseFee: chain.baseFee, tip: 1_000_000n }),
      balance: () => answer(chain.balance),
    },
    wallet: `0x${'55'.repeat(20)}`,
    amounts: [100_000n, 1_000_000n],
    gasPerDayGwei: 1_000_000n,
    etherUsd: 5_000,
    report: () => undefined,
  })
}

const calm: Chain = { baseFee: 5_000_000n, balance: ETHER, isDown: false }

onBoth('an offer is shown at usual prices of gas', async ({ engine }) => {
  assert.equal(await availabilityOn(engine, calm)(), true)
})

onBoth('no offer is shown while gas would eat over a tenth of the smallest', async ({ engine }) => {
  // 103,000 gas at 0.02 gwei are 0.0103 USD of 0.10 USD.
  const dear = { ...calm, baseFee: 19_000_000n }
  assert.equal(await availabilityOn(engine, dear)(), false)
  const justBelow = { ...calm, baseFee: 18_000_000n }
  assert.equal(await availabilityOn(engine, justBelow)(), true)
})

onBoth('no offer is shown while the settling wallet cannot pay for one transfer', async (store) => {
  // 200,000 gas at 0.011 gwei.
  const poor = { ...calm, balance: 2_199n * GWEI }
  assert.equal(await availabilityOn(store.engine, poor)(), false)
  const enough = { ...calm, balance: 2_200n * GWEI }
  assert.equal(await availabilityOn(store.engine, enough)(), true)
})

onBoth("no offer is shown once the day's gas is used up, until the next day", async (store) => {
  const { engine } = store
  const used = { day: DAY_UNIX, gwei: 999_000n, ceilingGwei: 1_000_000n }
  assert.ok(await engine.write((tx) => addGas(tx, used)))
  assert.equal(await availabilityOn(engine, calm)(), false)
  const tomorrow = { ms: NOON_MS + 86_400_000 }
  assert.equal(await availabilityOn(engine, calm, tomorrow)(), true)
})

onBoth('a node that is lost hides the offer, and its return shows it', async ({ engine }) => {
  const chain = { ...calm, isDown: true }
  const isAvailable = availabilityOn(engine, chain)
  assert.equal(await isAvailable(), false)
  chain.isDown = false
  assert.equal(await isAvailable(), true)
})
