import assert from 'node:assert/strict'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { forgetReadable, noteCompared, noteUnknown, readUnknown } from './unknown-figures.ts'

const contract = `0x${'1'.repeat(40)}` as const
const onEach = eachEngine(startPostgres, registerMigrations)
const at = { chainId: 1, dataset: 'holders', contract }

onEach('a comparison at an older block clears nothing that was noted later', async ({ engine }) => {
  const reasonsAfter = (difference: string | null, blockNumber: number) =>
    engine.write(async (connection) => {
      await noteCompared(connection, { ...at, blockNumber, difference })
      return (await readUnknown(connection)).map(({ reason }) => reason)
    })
  await engine.write((connection) =>
    noteUnknown(connection, [
      { ...at, blockNumber: 90, reason: 'unreadable', detail: 'of another shape' },
      { ...at, blockNumber: 100, reason: 'differs', detail: 'sent more than received' },
    ]),
  )
  assert.deepEqual(await reasonsAfter(null, 40), ['differs', 'unreadable'])
  assert.deepEqual(await reasonsAfter(null, 95), ['differs'])
  assert.deepEqual(await reasonsAfter('unequal', 99), ['differs', 'unreadable'])
  assert.deepEqual(await reasonsAfter(null, 100), [])
})

onEach(
  'a balance that only an orphaned block overdrew is known again after the reorg',
  async ({ engine }) => {
    const found = await engine.write(async (connection) => {
      await noteUnknown(connection, [
        { ...at, blockNumber: 100, reason: 'differs', detail: 'sent more than received' },
      ])
      await forgetReadable(connection, 1, 99)
      return readUnknown(connection)
    })
    assert.deepEqual(found, [])
  },
)
