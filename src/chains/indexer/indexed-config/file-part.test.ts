import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FilePart, type PartEntry, partChanges, toFileParts } from './file-part.ts'

const part = (...entries: readonly PartEntry[]): FilePart => ({
  chainId: 1,
  name: 'burns',
  entries,
})
const entry = (index: number, facts: PartEntry['facts']): PartEntry => ({
  field: `burns[${index}]`,
  facts,
})
const fieldsOf = (before: readonly FilePart[], after: readonly FilePart[]) =>
  partChanges(before, after).flatMap(({ fields }) => fields)

test('a change is described by its entry and field', () => {
  const before = part(entry(0, { address: '0x1', where: { to: ['0x0'] } }))
  const after = part(entry(0, { address: '0x1', where: { to: ['0x0', '0xdead'] } }))
  assert.deepEqual(fieldsOf([before], [after]), ['burns[0].where changed'])
})

test('a change is described by the field that was edited, where another part of the file has it', () => {
  const of = (to: string) => ({
    ...entry(0, { where: { to: [to] } }),
    fieldOf: { where: 'supply.burnAddresses' },
  })
  const [before, after] = [part(of('0x0')), part(of('0x1'))]
  assert.deepEqual(fieldsOf([before], [after]), ['supply.burnAddresses changed'])
  const own = part(entry(0, { where: { to: ['0x0'] } }))
  assert.deepEqual(fieldsOf([own], [after]), ['burns[0].where changed'])
})

test('an entry that only moved in the file changes nothing', () => {
  const before = [part(entry(0, { address: '0x1' }))]
  const after = [part(entry(5, { address: '0x1' }))]
  assert.deepEqual(partChanges(before, after), [])
  assert.equal(toFileParts(before).digest, toFileParts(after).digest)
})

test('the order of keys within an entry does not count', () => {
  const before = [part(entry(0, { a: 1, b: { c: 2, d: 3 } }))]
  const after = [part(entry(0, { b: { d: 3, c: 2 }, a: 1 }))]
  assert.equal(toFileParts(before).digest, toFileParts(after).digest)
})

test('the order of entries counts, because the first one that matches a log decides', () => {
  const [a, b] = [{ address: '0x1' }, { address: '0x2' }]
  const before = part(entry(0, a), entry(1, b))
  const after = part(entry(0, b), entry(1, a))
  assert.deepEqual(fieldsOf([before], [after]), ['the order of burns[0], burns[1] changed'])
})

test('added and removed entries and parts are described', () => {
  const one = part(entry(0, { address: '0x1' }))
  const two = part(entry(0, { address: '0x1' }), entry(1, { address: '0x2' }))
  assert.deepEqual(fieldsOf([one], [two]), ['burns[1] added'])
  assert.deepEqual(fieldsOf([two], [one]), ['burns[1] removed'])
  assert.deepEqual(fieldsOf([], [one]), ['burns[0] added'])
  assert.deepEqual(fieldsOf([one], []), ['burns[0] removed'])
})
