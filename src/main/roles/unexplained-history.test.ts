import assert from 'node:assert/strict'
import { pino } from 'pino'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { readPosition } from '#chains/indexer/positions.ts'
import type { Engine } from '#store/engine.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { grave, holder, operator } from '#test/local-addresses.ts'
import { startPostgres } from '#test/postgres.ts'
import { readinessOf } from '#test/readiness-harness.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { eventually } from '#test/world.ts'
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
  'a history that does not add up makes supply and holders unknown and stops nothing, until another startBlock has the chain read again',
  async ({ engine }) => {
    const node = await serveChain(chain)
    const partsWhile = async (ecosystem: Ecosystem, isDone: (parts: Parts) => boolean) => {
      const stop = new AbortController()
      const running = runIndexRole(roleOf(engine, ecosystem), stop.signal)
      try {
        return await eventually(async () => {
          const { parts } = await readinessOf(engine, ecosystem)
          return isDone(parts) ? parts : undefined
        }, 20_000)
      } finally {
        stop.abort()
        await running
      }
    }
    try {
      // The node silently leaves out the mint.
      node.faults.prunedBelow = 21
      const wrong = await partsWhile(ecosystemAt(node.url, 1), (parts) =>
        /^differs /.test(parts['proof base'] ?? ''),
      )
      assert.match(wrong['holders of GRAVE on base'] ?? '', /^unknown \(differs\): /)
      assert.equal((await engine.snapshot((reads) => readPosition(reads, 8453)))?.number, 143)
      assert.equal(wrong['chain base']?.includes('stalled'), false)
      node.faults.prunedBelow = 0
      const right = await partsWhile(ecosystemAt(node.url, 0), (parts) =>
        /figures equal/.test(parts['proof base'] ?? ''),
      )
      assert.equal(right['holders of GRAVE on base'], undefined)
    } finally {
      await node.stop()
    }
  },
)

type Parts = Awaited<ReturnType<typeof readinessOf>>['parts']

function ecosystemAt(url: string, startBlock: number): Ecosystem {
  return oneTokenEcosystemAt(url, (one) => ({
    ...one,
    chains: one.chains.map((each) => ({
      ...each,
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
    onLead: () => undefined,
  }
}
