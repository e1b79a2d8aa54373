import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { endBackfill, writeBackfill } from './backfill/backfill-row.ts'
import { movePosition } from './positions.ts'
import { readIndexStatus } from './status.ts'

test('each step of the older history is another revision, also where only folds are stored', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const chains = localEcosystemAt({}).chains.slice(0, 1)
    const chainId = chains[0]?.id ?? 0
    const at = (number: number) => ({ number, hash: `0x${number}`, timestamp: number }) as const
    const header = { ...at(9), parentHash: '0x', logsBloom: '0x' } as const
    const tip = { head: header, safe: 9, finalized: 9 }
    await engine.write((connection) =>
      movePosition(connection, { chainId, to: at(9), tip, finalizedNumber: 9 }),
    )
    const revisions = new Set<string | undefined>()
    const readRevision = async () =>
      revisions.add((await engine.snapshot((reads) => readIndexStatus(reads, chains)))?.revision)
    for (const [read, folded] of [
      [1, 0],
      [2, 0],
      [2, 1],
      [2, 2],
    ] as const) {
      const backfill = { newestFrom: at(8), read: at(read), folded: at(folded), datasets: null }
      await engine.write((connection) => writeBackfill(connection, chainId, backfill))
      await readRevision()
    }
    await engine.write((connection) => endBackfill(connection, chainId))
    await readRevision()
    assert.equal(revisions.size, 5)
  }))
