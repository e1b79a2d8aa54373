import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchSupport } from './batch-support.ts'
import { EndpointError, type FailureKind } from './endpoint-error.ts'

/** What each of so many requests was: one call alone or two, while the endpoint answers as told. */
async function asked(
  support: BatchSupport,
  requests: number,
  answer: (isAlone: boolean) => 'answer' | readonly [FailureKind, string],
): Promise<string> {
  let text = ''
  for (let request = 0; request < requests; request += 1)
    await support
      .learn(async (isAlone) => {
        text += isAlone ? '1' : '2'
        const outcome = answer(isAlone)
        if (outcome !== 'answer') throw new EndpointError(...outcome)
      })
      .catch(() => undefined)
  return text
}

test('an endpoint that never answers two calls is asked for one after three failures', async () => {
  const support = new BatchSupport()
  const refuses = (isAlone: boolean) => (isAlone ? 'answer' : (['unreachable', 'no'] as const))
  assert.equal(await asked(support, 6, refuses), '222111')
})

test('one that says that it takes no batches is believed at once, and asked again now and then', async () => {
  const support = new BatchSupport()
  const refuses = (isAlone: boolean) =>
    isAlone ? 'answer' : (['refused', 'Batch size exceeded'] as const)
  assert.equal(await asked(support, 53, refuses), `2${'1'.repeat(50)}21`)
})

test('one that has answered two calls once is asked two for ever, whatever it says', async () => {
  const support = new BatchSupport()
  assert.equal(await asked(support, 1, () => 'answer'), '2')
  assert.equal(await asked(support, 9, () => ['refused', 'no batch']), '222222222')
})

test('failures that have other reasons, or that one call alone meets too, change nothing', async () => {
  const support = new BatchSupport()
  assert.equal(await asked(support, 9, () => ['too-fast', 'slow down']), '222222222')
  assert.equal(await asked(support, 9, () => ['unreachable', 'down']), '222122212')
})
