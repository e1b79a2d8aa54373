import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Card } from './card.ts'
import { toPng } from './to-png.ts'

const card: Card = { shapes: '<rect width="9" height="9"/>', lines: [] }
const HOUR_MS = 3_600_000

async function assertDrawn(drawing: Promise<Buffer>): Promise<void> {
  assert.equal((await drawing).toString('latin1', 1, 4), 'PNG')
}

test('a thread that stood idle ends, but none that draws', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const drawing = toPng(card)
  await Promise.resolve()
  context.mock.timers.tick(HOUR_MS)
  await assertDrawn(drawing)
  context.mock.timers.tick(HOUR_MS)
  await assertDrawn(toPng(card))
})

test('after a picture that fails the next one is drawn', async () => {
  const broken = toPng({ ...card, shapes: '<' })
  const next = toPng(card)
  await assert.rejects(broken)
  await assertDrawn(next)
})
