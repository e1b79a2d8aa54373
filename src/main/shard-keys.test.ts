import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildSchema } from '#store/sqlite/built-schema.ts'
import { accountsMigrations } from './stores.ts'

const PAGE = join(import.meta.dirname, '../../docs/scaling.md')

/** Of one wallet or address each. */
const OWNERS = ['wallet', 'bucket', 'account', 'public_id']

test('every unique key of the accounts is on the page: by owner, a global identity, a record or at home', async () => {
  const written = await writtenKeys()
  const known = buildSchema(accountsMigrations).uniqueKeys.map(
    ({ table, columns }) => `${table} (${columns.join(', ')})`,
  )
  assert.deepEqual([...written.keys()].sort(), known.sort())
  for (const [key, spreadBy] of written) {
    assert.match(spreadBy, /^(owner|identity|record|home)$/, key)
    const hasOwner = OWNERS.some((owner) => new RegExp(`\\b${owner}\\b`).test(key))
    assert.ok(spreadBy !== 'owner' || hasOwner, `${key} names no owner`)
  }
})

/** How each key is spread. */
async function writtenKeys(): Promise<ReadonlyMap<string, string>> {
  const rows = (await readFile(PAGE, 'utf8')).matchAll(/^\| `(\w+ \([^)]+\))` +\| (\w+) +\|/gm)
  return new Map([...rows].map(([, key = '', spreadBy = '']) => [key, spreadBy]))
}
