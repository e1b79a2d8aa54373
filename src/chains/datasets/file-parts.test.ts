import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partChanges } from '#chains/indexer/indexed-config/file-part.ts'
import { burnAddress } from '#devnet/addresses.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { filePartsOf } from './file-parts.ts'

/** The digest of a file whose first dividend mapping has this event. */
function digestWith(event: string): string {
  const ecosystem = localEcosystemAt({}, (file) => ({
    ...file,
    dividends: (file.dividends ?? []).map((each, index) =>
      index === 0 ? { ...each, event } : each,
    ),
  }))
  return filePartsOf(ecosystem).digest
}

test('the members of a tuple count, because they are part of the event', () => {
  const claimed = (parts: string) =>
    `event DividendClaimed(address indexed account, address indexed token, uint256 amount, (${parts}) info)`
  assert.notEqual(
    digestWith(claimed('uint256 a, address b')),
    digestWith(claimed('uint256 a, uint256 b')),
  )
})

test('a burn address that is added is named by the field where it stands, once for each part', () => {
  const parts = (burnAddresses: string[]) =>
    filePartsOf(
      localEcosystemAt({}, (file) => ({
        ...file,
        supply: { burnAddresses },
        burns: (file.burns ?? []).map(({ where: _, ...burn }) => burn),
      })),
    ).parts
  const changes = partChanges(parts([burnAddress]), parts([burnAddress, `0x${'9'.repeat(40)}`]))
  const fields = new Set(changes.flatMap((each) => each.fields))
  assert.deepEqual([...fields].sort(), [
    'supply.burnAddresses changed',
    'supply.burnAddresses or supply.nonCirculating changed',
  ])
})

test('RPC URLs and chain names do not shape the register', () => {
  const digest = (url: string) => filePartsOf(localEcosystemAt({ base: url })).digest
  assert.equal(digest('http://127.0.0.1:1'), digest('http://127.0.0.1:2'))
})
