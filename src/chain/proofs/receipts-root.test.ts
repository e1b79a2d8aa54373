import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { toHex } from 'ox/Rlp'
import { PACKAGE_ROOT } from '#base/package-root.ts'
import {
  encodeReceipt,
  hashHeader,
  isKnownType,
  receiptsRoot,
  type WireReceipt,
} from '#chain/parse-rpc.ts'

const VECTORS = join(PACKAGE_ROOT, 'test', 'block-hash-vectors.golden.json')

/** Answers recorded from a geth chain with every fork up to Prague (ethereum/execution-apis, CC0). */
const vectors: {
  readonly headers: readonly Readonly<Record<string, string>>[]
  readonly blocks: readonly {
    readonly number: number
    readonly receiptsRoot: string
    readonly receipts: readonly WireReceipt[]
  }[]
} = JSON.parse(await readFile(VECTORS, 'utf8'))

test('the header of a real block of each fork hashes to the hash of the block', () => {
  assert.equal(vectors.headers.length, 8)
  for (const header of vectors.headers) assert.equal(hashHeader(header), header.hash)
})

test('a header with any field changed, or one taken away, hashes to something else', () => {
  for (const header of vectors.headers)
    for (const [name, value] of Object.entries(header)) {
      if (name === 'hash') continue
      const { [name]: _, ...without } = header
      assert.notEqual(hashHeader(without), header.hash, name)
      const last = value.at(-1) === '1' ? '2' : '1'
      assert.notEqual(
        hashHeader({ ...header, [name]: value.slice(0, -1) + last }),
        header.hash,
        name,
      )
    }
})

test('receipts of real blocks, before and after Byzantium, hash to the receiptsRoot', async () => {
  for (const { receipts, receiptsRoot: root } of vectors.blocks)
    assert.equal(await receiptsRoot(receipts), root)
})

const hexOf = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toText)
const quantity = fc.maxSafeNat().map((n) => `0x${n.toString(16)}`)
const log = fc.record({
  address: hexOf(20),
  topics: fc.array(hexOf(32), { maxLength: 4 }),
  data: fc.uint8Array({ maxLength: 70 }).map(toText),
})
const receipt = fc.record({
  type: fc.constantFrom('0x0', '0x1', '0x2', '0x3', '0x4', '0x64', '0x6a', '0x7b', '0x7e'),
  status: fc.constantFrom('0x0', '0x1'),
  cumulativeGasUsed: quantity,
  logsBloom: hexOf(256),
  logs: fc.array(log, { maxLength: 4 }),
  depositNonce: quantity,
  isOfCanyon: fc.boolean(),
  baseFee: fc.option(
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((fee) => `0x${fee.toString(16)}`),
  ),
})

test('a receipt of any type is encoded as its type and its consensus fields, each as it was', () => {
  fc.assert(
    fc.property(receipt, ({ isOfCanyon, ...fields }) => {
      const isDeposit = fields.type === '0x7e'
      const isVersioned = isDeposit && isOfCanyon
      const encoded = encodeReceipt({
        ...fields,
        ...(isVersioned && { depositReceiptVersion: '0x1' }),
      })
      const isTyped = fields.type !== '0x0'
      if (isTyped) assert.equal(Number(encoded.slice(0, 4)), Number(fields.type))
      const payload = toHex(isTyped ? `0x${encoded.slice(4)}` : encoded)
      assert.ok(Array.isArray(payload))
      const [status, gas, bloom, logs, ...more] = payload
      assert.equal(number(status), Number(fields.status))
      assert.equal(number(gas), Number(fields.cumulativeGasUsed))
      assert.equal(bloom, fields.logsBloom)
      assert.deepEqual(
        logs,
        fields.logs.map(({ address, topics, data }) => [address, topics, data]),
      )
      // OP specs, "Deposit Receipt": both from Canyon on, neither before.
      const ofDeposit = isVersioned ? [BigInt(fields.depositNonce), 1n] : []
      // CIP-64: since the migration to a layer 2; no other receipt has it.
      const ofCelo =
        fields.type === '0x7b' && fields.baseFee !== null ? [BigInt(fields.baseFee)] : []
      assert.deepEqual(
        more.map((field) => BigInt(field === '0x' ? 0 : String(field))),
        [...ofDeposit, ...ofCelo],
      )
    }),
    { numRuns: 300 },
  )
})

test('a receipt of Celo with a fee currency ends with the base fee in that currency', () => {
  const logsBloom = `0x${'00'.repeat(256)}`
  const celo = { type: '0x7b', status: '0x1', cumulativeGasUsed: '0x5208', logsBloom, logs: [] }
  const bytes = 1 + 3 + (3 + 256) + 1
  const fields = `01825208b90100${'00'.repeat(256)}c0`
  // Migrated receipts have none.
  assert.equal(encodeReceipt(celo), `0x7bf9${bytes.toString(16).padStart(4, '0')}${fields}`)
  const withFee = encodeReceipt({ ...celo, baseFee: '0x5d21dba00' })
  assert.equal(withFee, `0x7bf9${(bytes + 6).toString(16).padStart(4, '0')}${fields}8505d21dba00`)
  assert.ok(isKnownType({ ...celo, baseFee: '0x1' }))
  assert.ok(!isKnownType(celo), 'an old node omits the fee')
})

test('a receipt root changes with every receipt, its order and its logs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(receipt, { minLength: 2, maxLength: 6 }), async (list) => {
      const root = await receiptsRoot(list)
      assert.equal(await receiptsRoot(list), root)
      assert.notEqual(await receiptsRoot(list.slice(1)), root)
      const [first, ...rest] = list
      assert.ok(first !== undefined)
      const forged = { address: `0x${'11'.repeat(20)}`, topics: [], data: '0x' }
      assert.notEqual(
        await receiptsRoot([{ ...first, logs: [...first.logs, forged] }, ...rest]),
        root,
      )
      const reversed = list.toReversed()
      if (encodeReceipt(first) !== encodeReceipt(reversed[0] ?? first))
        assert.notEqual(await receiptsRoot(reversed), root)
    }),
    { numRuns: 30 },
  )
})

function toText(bytes: Uint8Array): `0x${string}` {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function number(field: unknown): number {
  return field === '0x' ? 0 : Number(field)
}
