import assert from 'node:assert/strict'
import { pino } from 'pino'
import { registerMigrations } from '#datasets/datasets.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { readPosition } from '#indexer/positions.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import type { Engine } from '#store/engine.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { grave, holder, operator } from '#test/local-addresses.ts'
import { startPostgres } from '#test/postgres.ts'
import { eventually } from '#test/world.ts'
import { readinessOf } from '../gauges/readiness-harness.ts'
import { runIndexRole } from './index-role.ts'

const both = eachEngine(startPostgres, registerMigrations)

const chain = beginChain(8453, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(grave, operator, 1_000n)] })
  .addEmpty(40)
  .add({ logs: [logOf.transfer(grave, operator, holder, 300n)] })
  .addEmpty(100)

both(
  'an index whose startBlock is too late stops at the start and names the latest block that works',
  async ({ engine }) => {
    const node = await serveChain(chain)
    const ecosystem = ecosystemAt(node.url, 20)
    const running = runIndexRole(roleOf(engine, ecosystem), new AbortController().signal)
    await assert.rejects(
      running,
      /^ProofError: chains\[0\]\.startBlock: 20 is too late: .*; write 2 or an earlier block$/,
    )
    assert.equal((await readinessOf(engine, ecosystem)).ready, false)
    await node.stop()
  },
)

both(
  'a history that does not add up makes supply and holders unknown, stops nothing, and is read again once it does',
  async ({ engine }) => {
    const node = await serveChain(chain)
    const ecosystem = ecosystemAt(node.url, 0)
    const stop = new AbortController()
    // The node silently leaves out the mint.
    node.faults.prunedBelow = 21
    let aheadMs = 0
    const clock = () => Date.now() + aheadMs
    const running = runIndexRole({ ...roleOf(engine, ecosystem), clock }, stop.signal)
    const unknownPart = async () => {
      const { parts } = await readinessOf(engine, ecosystem)
      return parts['proof base'] === undefined ? undefined : parts['holders of GRAVE on base']
    }
    try {
      const detail = await eventually(unknownPart, 20_000)
      assert.match(detail, /^unknown \(differs\): /)
      assert.equal((await engine.snapshot((reads) => readPosition(reads, 8453)))?.number, 143)
      assert.equal(
        (await readinessOf(engine, ecosystem)).parts['chain base']?.includes('stalled'),
        false,
      )
      // An only endpoint is never accused: nobody shows more than it does.
      assert.match(detail, /Transfer/)
      node.faults.prunedBelow = 0
      aheadMs = 700_000
      await eventually(async () => ((await unknownPart()) === undefined ? true : undefined), 20_000)
    } finally {
      stop.abort()
      await running
      await node.stop()
    }
  },
)

both(
  'an endpoint that leaves out old logs is found out by another, and the chain is read again without it',
  async ({ engine }) => {
    const whole = await serveChain(chain)
    const pruned = await serveChain(chain)
    pruned.faults.prunedBelow = 21
    const ecosystem = ecosystemAt([pruned.url, whole.url], 0)
    const stop = new AbortController()
    const running = runIndexRole(roleOf(engine, ecosystem), stop.signal)
    try {
      await eventually(async () => {
        const { parts } = await readinessOf(engine, ecosystem)
        const isProven = /figures equal/.test(parts['proof base'] ?? '')
        return isProven && parts['holders of GRAVE on base'] === undefined ? true : undefined
      }, 30_000)
    } finally {
      stop.abort()
      await running
      await whole.stop()
      await pruned.stop()
    }
  },
)

function ecosystemAt(urls: string | readonly string[], startBlock: number): Ecosystem {
  const rpcUrls = [urls].flat()
  return oneTokenEcosystemAt(rpcUrls[0] ?? '', (one) => ({
    ...one,
    chains: one.chains.map((each) => ({
      ...each,
      rpcUrls,
      startBlock,
      staleAfterSeconds: 1_000_000_000,
    })),
  }))
}

function roleOf(register: Engine, ecosystem: Ecosystem) {
  return {
    ecosystem,
    register,
    clock: Date.now,
    logger: pino({ level: 'silent' }),
    onProgress: () => undefined,
    onChangedFile: 'reread' as const,
  }
}
