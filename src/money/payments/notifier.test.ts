import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '#store/engine.ts'
import { Notifier } from './notifier.ts'

test('a head that cannot be read is reported, unless the store is down, and those who wait are woken', async () => {
  const reported: unknown[] = []
  const errors = [new StoreError('down'), new TypeError('a bug')]
  const notifier = new Notifier(
    async () => {
      const error = errors.shift()
      if (error !== undefined) throw error
      return 1
    },
    (error) => void reported.push(error),
  )
  await new Promise<void>((resolve) => {
    const stop = notifier.listen(() => {
      stop()
      resolve()
    })
  })
  assert.deepEqual(reported, [new TypeError('a bug')])
})
