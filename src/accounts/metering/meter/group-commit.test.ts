import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupCommit } from './group-commit.ts'

interface Decided {
  readonly batch: readonly number[]
  readonly commit: () => void
  readonly end: () => void
}

/** A group commit whose batches are committed and made durable by the test. */
function byHand() {
  const decided: Decided[] = []
  const group = new GroupCommit<number>({
    decide: (batch, commit) => {
      const { promise, resolve: end } = Promise.withResolvers<void>()
      decided.push({ batch, commit, end })
      return promise
    },
  })
  const add = (...requests: readonly number[]) => {
    for (const request of requests) group.add(request)
    return turns()
  }
  const batches = () => decided.map((each) => each.batch)
  return { group, decided, add, batches }
}

async function turns(): Promise<void> {
  for (let n = 0; n < 5; n += 1) await new Promise((resolve) => setImmediate(resolve))
}

test('what arrives in one turn is one batch, and the next waits until it is committed', async () => {
  const { add, batches, decided } = byHand()
  await add(1, 2, 3)
  await add(4)
  await add(5)
  assert.deepEqual(batches(), [[1, 2, 3]])
  decided[0]?.end()
  await turns()
  assert.deepEqual(batches(), [
    [1, 2, 3],
    [4, 5],
  ])
})

test('while a batch reaches the disk the next is decided as soon as half as many wait', async () => {
  const { add, batches, decided } = byHand()
  await add(1, 2, 3, 4)
  decided[0]?.commit()
  await add(5)
  assert.deepEqual(batches(), [[1, 2, 3, 4]])
  await add(6)
  assert.deepEqual(batches().slice(1), [[5, 6]])
})

test('what arrives in the same turn as the one that makes them enough is of the same batch', async () => {
  const { group, add, batches, decided } = byHand()
  await add(1, 2, 3, 4)
  decided[0]?.commit()
  await add(5)
  group.add(6)
  // Requests that the system has at hand arrive like this: each after all that the one before it set off.
  await new Promise((resolve) => process.nextTick(resolve))
  group.add(7)
  await turns()
  assert.deepEqual(batches().slice(1), [[5, 6, 7]])
})

test('fewer wait no longer than until the batch is on the disk', async () => {
  const { add, batches, decided } = byHand()
  await add(1, 2, 3, 4)
  decided[0]?.commit()
  await add(5)
  assert.equal(batches().length, 1)
  decided[0]?.end()
  await turns()
  assert.deepEqual(batches().slice(1), [[5]])
})

test('the newest batch on its way tells what is enough, also when an older one ends after it', async () => {
  const { add, batches, decided } = byHand()
  await add(1, 2, 3, 4)
  decided[0]?.commit()
  await add(5, 6)
  decided[1]?.commit()
  decided[0]?.end()
  await add(7)
  assert.deepEqual(batches().slice(2), [[7]])
  decided[2]?.end()
  decided[1]?.end()
  await add(8)
  assert.deepEqual(batches().slice(3), [[8]])
})

test('at most 256 requests are decided ahead of a disk that stands still, and 20,000 wait in all', async () => {
  const { group, add, decided } = byHand()
  const hundred = Array.from({ length: 100 }, (_, index) => index)
  for (let batch = 0; batch < 200; batch += 1) {
    await add(...hundred)
    decided[batch]?.commit()
  }
  assert.deepEqual(
    decided.map((each) => each.batch.length),
    [100, 100, 56],
  )
  assert.equal(group.add(0), false)
  for (const each of decided) each.end()
  await turns()
  assert.equal(decided.length, 4)
  assert.equal(group.add(0), true)
})
