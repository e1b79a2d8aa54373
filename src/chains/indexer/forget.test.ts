import assert from 'node:assert/strict'
import fc from 'fast-check'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { ChainName } from '#devnet/addresses.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { live, livelyBlocks } from '#test/chain-builder/random-life.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { forgetRegister } from '#test/forget-register.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { advanceAll, commitDepsOf, differenceOf, stepIndex } from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { type IndexStatus, readIndexStatus } from './status.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

onEach('a register that is emptied leaves nothing, and is read anew', async ({ engine }) => {
  const life = fc.array(livelyBlocks, { minLength: 12, maxLength: 12 })
  const [some = [], more = []] = fc.sample(life, { numRuns: 2, seed: 7 }).map((each) => each.flat())
  const serve = (id: number, name: ChainName, blocks: typeof some) =>
    serveChain(live(beginChain(id, 1_700_000_000), name, blocks).addEmpty(70), { finalDepth: 4 })
  const nodes = [await serve(8453, 'base', some), await serve(1, 'ethereum', more)]
  const [base, ethereum] = nodes.map(({ url }) => url)
  const ecosystem = localEcosystemAt({ base: base ?? '', ethereum: ethereum ?? '' })
  const { chains } = ecosystem
  const readState = () =>
    engine.snapshot(async (reads) => {
      const status = await readIndexStatus(reads, chains)
      assert.ok(status !== undefined)
      return status
    })
  try {
    const deps = await commitDepsOf(engine, ecosystem)
    await advanceAll(stepIndex(deps), chains)
    const before = await readState()
    await forgetRegister(deps)
    await onSqlite(registerMigrations, async ({ engine: fresh }) => {
      assert.equal(await differenceOf(engine, fresh), undefined)
      await advanceAll(stepIndex(await commitDepsOf(fresh, ecosystem)), chains)
      await advanceAll(stepIndex(deps), chains)
      assert.equal(await differenceOf(engine, fresh), undefined)
    })
    const after = await readState()
    assert.deepEqual(blocksOf(after), blocksOf(before))
    assert.notEqual(after.revision, before.revision, 'answers of before are no longer reused')
  } finally {
    for (const node of nodes) await node.stop()
  }
})

function blocksOf({ chains }: IndexStatus) {
  return chains.map(({ blockHash, finalizedNumber }) => [blockHash, finalizedNumber])
}
