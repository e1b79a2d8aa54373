import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { drawSchema, schemaPath } from './schema.ts'

test('src/db/schema.sql shows the tables that a new installation has', async () => {
  assert.equal(await readFile(schemaPath, 'utf8'), drawSchema(), 'run: node tools/schema.ts')
})
