import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { type LivelyBlock, live, livelyBlocks } from '#test/chain-builder/random-life.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { isLongVersion } from '#test/long-version.ts'
import {
  type Around,
  base,
  begin,
  dig,
  digsOf,
  drainedUntil,
  equalsPlain,
  indexed,
  indexedInOrder,
  isComplete,
  MINTED,
  mint,
  onChain,
  readSums,
  readWhileItGoes,
  stepsUntilComplete,
  useFolder,
} from '#test/older-history-harness.ts'
import { differenceOf } from '#test/stepped-index.ts'
import { readIndexStatus } from '../status.ts'
import { readBackfill } from './backfill-row.ts'

useFolder()

/** A few in every run of the tests; a failure tells its seed. */
const runs = Number(process.env.RANDOM_RUNS ?? (isLongVersion ? 100 : 2))

const history: fc.Arbitrary<readonly LivelyBlock[]> = fc
  .array(livelyBlocks, { minLength: 8, maxLength: 14 })
  .map((parts) => parts.flat())

describe('older history', () => {
  test('folded in memory, stopped and taken up at any place, it is what blocks stored one by one are', async () => {
    const life = fc.record({ history, kill: fc.integer({ min: 3, max: 8 }), range: fc.nat(6) })
    await fc.assert(
      fc.asyncProperty(life, async ({ history: blocks, kill, range }) => {
        await onChain(blocks, async (node, ecosystem) => {
          const plain = await indexedInOrder(node, ecosystem)
          node.faults.rangeMax = { blocks: range + 1, dialect: 'geth' }
          const folded = await indexed(ecosystem, { kill })
          const difference = await differenceOf(plain, folded)
          assert.equal(difference, undefined, JSON.stringify(difference))
          await Promise.all([plain.close(), folded.close()])
        })
      }),
      { numRuns: runs },
    )
  })

  test('what is stored of a fold is one moment of it, however far it goes on meanwhile', async () => {
    const days = Array.from({ length: 250 }, () => ({ secondsApart: 86_400, deeds: [mint, dig] }))
    await onChain(days, async (node, ecosystem) => {
      node.faults.rangeMax = { blocks: 2, dialect: 'geth' }
      // Time stands still in a commit, so that none counts as long and the next follows soon.
      let commits = 0
      const { engine, index } = await begin(
        ecosystem,
        {},
        {
          write: async () => {
            commits += 1
          },
          statement: () => sleep(1),
          written: () => {
            commits -= 1
          },
          lookMs: () => (commits > 0 ? 0 : 6_000),
        },
      )
      let isDone = false
      const sums = new Set<bigint>()
      while (!isDone) {
        isDone = await isComplete(index)
        const { balances, supply, backfill } = await engine.snapshot(async (reads) => ({
          ...(await readSums(reads)),
          backfill: await readBackfill(reads, 8453),
        }))
        assert.equal(balances, supply)
        // Each block mints as much.
        if (backfill !== undefined)
          assert.equal(supply, MINTED * BigInt(Math.max(0, backfill.folded.number)))
        sums.add(supply)
      }
      assert.ok(sums.size > 2, 'some of it was stored before the end')
      await engine.close()
    })
  })

  test('a meeting that fails waits for what is being stored, and counts nothing twice', async () => {
    const days = Array.from({ length: 60 }, () => ({ secondsApart: 86_400, deeds: [mint] }))
    await onChain(days, async (node, ecosystem) => {
      node.faults.rangeMax = { blocks: 2, dialect: 'geth' }
      const plain = await indexedInOrder(node, ecosystem)
      const whole = await drainedUntil(ecosystem, Number.POSITIVE_INFINITY)
      const broken = await drainedUntil(ecosystem, whole.taken)
      assert.equal(broken.failures.length, 1, broken.failures.join())
      assert.equal(await differenceOf(plain, broken.engine), undefined)
      await Promise.all([plain.close(), whole.engine.close(), broken.engine.close()])
    })
  })

  test('the newest days are stored first, and the answer says what is missing', async () => {
    const days = Array.from({ length: 90 }, () => ({ secondsApart: 86_400, deeds: [mint, dig] }))
    await onChain(days, async (_node, ecosystem) => {
      const { engine, index } = await begin(ecosystem)
      await index.followOnce()
      const [status] =
        (await engine.snapshot((reads) => readIndexStatus(reads, [base(ecosystem)])))?.chains ?? []
      assert.ok(status?.backfill)
      const newestDays = status.blockNumber - status.backfill.newestFrom.number
      assert.equal(newestDays, 32)
      assert.equal(status.backfill.read.number, -1)
      const rows = await engine.read({ kind: 'sql', parts: ['select * from events'], values: [] })
      assert.equal(rows.length, newestDays + 1, 'a dig on each of the newest days')
      await engine.close()
    })
  })

  test('it is read while the newest days are being stored, and counts for nothing where that fails', async () => {
    await onChain(digsOf(90), async (node, ecosystem) => {
      const olderRead = Promise.withResolvers<void>()
      let writes = 0
      const write = async () => {
        writes += 1
        if (writes > 1) return
        await olderRead.promise
        throw new Error('the disk is full')
      }
      const onRead = ({ number }: { readonly number: number }) => {
        if (number < 80) olderRead.resolve()
      }
      const { engine, index } = await begin(ecosystem, { onRead }, { write })
      await assert.rejects(index.followOnce(), /the disk is full/)
      await equalsPlain(node, ecosystem, { engine, index })
    })
  })

  test('a reorg while it is read is undone above it and changes nothing below', async () => {
    const days = Array.from({ length: 60 }, () => ({ secondsApart: 86_400, deeds: [mint, dig] }))
    await onChain(days, async (node, ecosystem) => {
      const { engine, index } = await begin(ecosystem)
      for (let step = 0; step < 4; step += 1) await index.followOnce()
      node.chain = live(node.chain.fork(121), 'base', days.slice(0, 5))
      while (!(await isComplete(index)));
      const plain = await indexedInOrder(node, ecosystem)
      assert.equal(await differenceOf(plain, engine), undefined)
      assert.equal(await engine.snapshot((reads) => readBackfill(reads, 8453)), undefined)
      await Promise.all([plain.close(), engine.close()])
    })
  })

  test('what becomes final while a reorg is still to be undone counts once', async () => {
    const days = Array.from({ length: 60 }, () => ({ secondsApart: 86_400, deeds: [mint, dig] }))
    await onChain(days, async (node, ecosystem) => {
      const before: Around = {}
      const { engine, index } = await begin(ecosystem, {}, before)
      for (let step = 0; step < 4; step += 1) await index.followOnce()
      node.chain = live(node.chain.fork(121), 'base', days.slice(0, 10))
      let older = Promise.resolve(true)
      before.write = async () => {
        delete before.write
        // The older history is read as far as it goes; then it waits for the reorg to be undone.
        for (let isWaiting = false; !isWaiting; ) {
          older = index.readOlder()
          isWaiting = await Promise.race([older.then((more) => !more), sleep(100, true)])
        }
      }
      await index.followOnce()
      await older
      while (!(await isComplete(index)));
      const plain = await indexedInOrder(node, ecosystem)
      assert.equal(await differenceOf(plain, engine), undefined)
      await Promise.all([plain.close(), engine.close()])
    })
  })

  test('newest days that are still being read when it has caught up with them are whole', async () => {
    const days = Array.from({ length: 25 }, () => ({ secondsApart: 86_400, deeds: [mint, dig] }))
    await onChain(days, async (node, ecosystem) => {
      node.faults.rangeMax = { blocks: 5, dialect: 'geth' }
      const { engine, index } = await begin(ecosystem)
      await index.followOnce()
      while (await index.readOlder());
      while (!(await isComplete(index)));
      const plain = await indexedInOrder(node, ecosystem)
      assert.equal(await differenceOf(plain, engine), undefined)
      await Promise.all([plain.close(), engine.close()])
    })
  })

  test('what two nodes may still disagree about is not read as older history', async () => {
    const quick = (deeds: LivelyBlock['deeds']) =>
      Array.from({ length: 20 }, () => ({ secondsApart: 2, deeds }))
    const trunk = [...digsOf(60), ...quick([])]
    await onChain(trunk, async (node, ecosystem) => {
      const ours = live(node.chain, 'base', quick([mint, dig]))
      const other = live(node.chain, 'base', quick([]))
      node.chain = ours
      const { engine, index } = await begin(ecosystem)
      while ((await index.followOnce()).kind !== 'idle');
      node.chain = other
      await readWhileItGoes(index)
      node.chain = live(ours, 'base', quick([mint])).addEmpty(64)
      await equalsPlain(node, ecosystem, { engine, index })
    })
  })

  test('an endpoint that tells of it what is proven false is left aside, and another is asked', async () => {
    await onChain(digsOf(60), async (node, ecosystem) => {
      const liar = await serveChain(node.chain, { finalDepth: 4 })
      try {
        Object.assign(liar.faults, { garbledTopics: true })
        const source = openRpcSource({ chainId: 8453, urls: [liar.url, node.url] })
        const { engine, index } = await begin(ecosystem, { source })
        const failures = await stepsUntilComplete(index, 40)
        assert.equal(failures.length, 1, failures.join())
        assert.equal(source.endpoints()[0]?.state, 'lying')
        await equalsPlain(node, ecosystem, { engine, index })
      } finally {
        await liar.stop()
      }
    })
  })
})
