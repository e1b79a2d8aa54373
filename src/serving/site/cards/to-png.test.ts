import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Card } from './draw-card.ts'
import { toPng } from './to-png.ts'

const card: Card = { shapes: '<rect width="9" height="9"/>', lines: [] }

async function assertDrawn(drawing: Promise<Buffer>): Promise<void> {
  assert.equal((await drawing).toString('latin1', 1, 4), 'PNG')
}

test('after a picture that fails the next one is drawn', async () => {
  const broken = toPng({ ...card, shapes: '<' })
  const next = toPng(card)
  await assert.rejects(broken)
  await assertDrawn(next)
})
