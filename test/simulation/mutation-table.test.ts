import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { mutations } from './mutation-table.ts'

const root = join(import.meta.dirname, '../..')

test('every mutation is of a text that stands in the code, once', async () => {
  for (const { rule, file, from } of mutations) {
    const code = await readFile(join(root, file), 'utf8')
    assert.equal(code.split(from).length - 1, 1, `${rule}: ${file}`)
  }
})
