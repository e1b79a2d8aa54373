import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { live } from '#test/chain-builder/random-life.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { advanceAll, commitDepsOf, stepIndex } from '#test/stepped-index.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { readPosition } from './positions.ts'
import { rebuildIndex } from './rebuild.ts'
import { readIndexStatus } from './status.ts'

const deeds = ['mint', 'dig'].map((kind) => ({ kind, who: 1, whom: 2, size: 50 }) as never)
const days = Array.from({ length: 60 }, () => ({ secondsApart: 86_400, deeds }))

test('a rebuild ends when the blocks up to which it reads are reorganised under it', async () => {
  const chain = live(beginChain(8453, 1_700_000_000), 'base', days).addEmpty(64)
  const forked = chain.head.number - 80
  const node = await serveChain(chain, { finalDepth: 100 })
  const ecosystem = localEcosystemAt({ base: node.url })
  const chains = ecosystem.chains.filter(({ id }) => id === 8453)
  try {
    await onSqlite(registerMigrations, async ({ engine }) => {
      await advanceAll(stepIndex(await commitDepsOf(engine, ecosystem)), chains)
      const status = await engine.snapshot((reads) => readIndexStatus(reads, chains))
      assert.ok(status !== undefined)
      await onSqlite(registerMigrations, async ({ engine: fresh }) => {
        const deps = await commitDepsOf(fresh, ecosystem)
        const onProgress = ({ done }: { readonly done: number }) => {
          const isAbove = done > forked && done < chain.head.number && node.chain === chain
          if (isAbove) node.chain = chain.fork(forked).addEmpty(chain.head.number - forked)
        }
        const building = { ...deps, sourceOf: openSource, onProgress }
        await engine.snapshot((stored) => rebuildIndex(building, stored, status.chains))
        assert.notEqual(node.chain, chain)
        const position = await fresh.snapshot((reads) => readPosition(reads, 8453))
        assert.equal(position?.hash, node.chain.at(chain.head.number).hash)
      })
    })
  } finally {
    await node.stop()
  }
})
