import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Address } from '#domain/address.ts'
import { eachRow, type PackedRows, slicePacked } from '#store/packed-rows.ts'
import { toStored } from '#store/sql.ts'
import { ADDRESS_WORDS, AddressTable } from './address-table.ts'
import { BalanceColumns } from './balance-columns.ts'
import { byAddress } from './by-address.ts'
import { NumberList } from './number-list.ts'

const amount = fc.oneof(
  fc.bigInt(0n, 2n ** 256n - 1n),
  fc.bigInt(0n, 1_000n),
  fc.constantFrom(0n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 64n - 1n, 2n ** 128n - 1n, 2n ** 256n - 1n),
)

/** Comes often, so that an address stands in several places. */
const SAME: readonly Address[] = [`0x${'d'.repeat(40)}`, `0x${'1'.repeat(40)}`]

test('balances in limbs are what big integers give, also while they are less than nothing', () => {
  const sum = (list: readonly bigint[]) => list.reduce((total, each) => total + each, 0n)
  const moves = fc.array(fc.record({ id: fc.nat(5), amount, isAdded: fc.boolean() }))
  fc.assert(
    fc.property(moves, (list) => {
      const columns = new BalanceColumns()
      const total = new BalanceColumns(1)
      const expected = new Map<number, bigint>()
      for (const move of list) {
        columns.read(Buffer.from(move.amount.toString(16).padStart(64, '0')), 0)
        if (move.isAdded) columns.add(move.id)
        else columns.subtract(move.id)
        total.addReadBy(columns, 0)
        const change = move.isAdded ? move.amount : -move.amount
        expected.set(move.id, (expected.get(move.id) ?? 0n) + change)
      }
      assert.equal(total.get(0), sum(list.map((move) => move.amount)))
      for (const [id, balance] of expected) {
        assert.equal(columns.get(id), balance)
        assert.equal(columns.isNegative(id), balance < 0n)
        assert.equal(columns.isPositive(id), balance > 0n)
      }
    }),
  )
})

test('a balance that is set comes back, beyond the room of the beginning too', () => {
  const columns = new BalanceColumns()
  columns.set(5_000, 2n ** 200n + 7n)
  assert.equal(columns.get(5_000), 2n ** 200n + 7n)
  assert.equal(columns.get(4_999), 0n)
})

test('balances and addresses are told as words, and stay as they were told', () => {
  const list = fc.uniqueArray(
    fc.record({
      id: fc.nat(50),
      balance: fc.oneof(fc.bigInt(1n, 2n ** 256n - 1n), fc.bigInt(2n ** 126n, 2n ** 132n)),
    }),
    {
      selector: ({ id }) => id,
    },
  )
  fc.assert(
    fc.property(list, (entries) => {
      const columns = new BalanceColumns()
      const addresses = new AddressTable()
      for (let id = 0; id <= 50; id += 1) addresses.internAddress(addressOf(id))
      // Half of them at once, half as the sum of many.
      for (const { id, balance } of entries)
        if (id % 2 === 0) columns.set(id, balance)
        else addInParts(columns, id, balance)
      const ids = Float64Array.from(entries, ({ id }) => id)
      const count = ids.length
      const picked = columns.pick(ids)
      for (const { id } of entries) columns.set(id, 1n)
      const packed: PackedRows = {
        count,
        columns: [
          { kind: 'hex', words: addresses.words(ids), width: ADDRESS_WORDS },
          { kind: 'integer', ...picked.packed(0, count) },
        ],
      }
      const expected = entries.map(({ id, balance }) => [addressOf(id), toStored(balance)])
      assert.deepEqual([...eachRow(packed)], expected)
      const half = count >> 1
      const parts = [slicePacked(packed, 0, half), slicePacked(packed, half, count + 1)]
      assert.deepEqual(
        parts.flatMap((part) => [...eachRow(part)]),
        expected,
      )
    }),
  )
})

/** A sum grows past what one addition to it could make. */
function addInParts(columns: BalanceColumns, id: number, balance: bigint): void {
  const part = balance / 16n
  for (let count = 0; count < 15; count += 1) add(columns, id, part)
  add(columns, id, balance - 15n * part)
}

function add(columns: BalanceColumns, id: number, value: bigint): void {
  columns.read(Buffer.from(value.toString(16).padStart(64, '0')), 0)
  columns.add(id)
}

function addressOf(id: number): Address {
  return `0x${id.toString(16).padStart(4, '0').repeat(10)}`
}

test('each address has one number, however many there are and however alike', () => {
  const table = new AddressTable()
  const numbers = new Map<number, Address>()
  for (let index = 0; index < 20_000; index += 1) {
    // Addresses differ in their last digits only, or in their first ones only.
    const digits = index.toString(16).padStart(4, '0')
    const address: Address =
      index % 2 === 0 ? `0x${'a'.repeat(36)}${digits}` : `0x${digits}${'b'.repeat(36)}`
    const id = table.internAddress(address)
    assert.equal(numbers.has(id), false)
    numbers.set(id, address)
  }
  for (const [id, address] of numbers) {
    assert.equal(table.address(id), address)
    assert.equal(table.internAddress(address.toUpperCase().replace('X', 'x') as Address), id)
  }
  assert.equal(table.count, numbers.size)
})

test('numbers come in the order of their addresses, those of one address as they came', () => {
  const address = fc
    .nat(0xffff_ffff)
    .map((start): Address => `0x${start.toString(16).padStart(8, '0')}${'c'.repeat(32)}`)
  const entries = fc.array(fc.oneof(address, fc.constantFrom(...SAME)), { maxLength: 3_000 })
  fc.assert(
    fc.property(entries, (list) => {
      const addresses = new AddressTable()
      const numbers = new NumberList()
      const known = list.map((address, place) => {
        const value = addresses.internAddress(address) * 10_000 + place
        numbers.push(value)
        return { address, place, value }
      })
      const expected = known.toSorted(
        (a, b) => (a.address < b.address ? -1 : Number(a.address > b.address)) || a.place - b.place,
      )
      const found = byAddress(addresses, numbers.all(), (value) => Math.floor(value / 10_000))
      assert.deepEqual(
        [...found],
        expected.map(({ value }) => value),
      )
    }),
    { numRuns: 30 },
  )
})
