import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keccak256 } from 'ox/Hash'
import { fromString } from 'ox/Hex'
import localEcosystem from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'

const [burn] = localEcosystem.burns
const zero = '0x0000000000000000000000000000000000000000'
const dead = '0x000000000000000000000000000000000000dead'
const stranger = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const burned = 'event Burned(address indexed from, uint256 value)'

type Burn = NonNullable<EcosystemFile['burns']>[number]

function withBurns(burns: readonly Burn[]) {
  return parseEcosystem('mine', { ...localEcosystem, burns })
}

function plain(more: Partial<Burn> = {}): Burn {
  assert.ok(burn !== undefined)
  const { where: _, to: __, ...rest } = burn
  return { ...rest, ...more }
}

test('burns on Transfer default to transfers to zero and to the burn addresses', () => {
  const [source] = withBurns([plain()]).burns
  assert.deepEqual([...(source?.where.get('to') ?? [])], [zero, dead])
})

test('where narrows burns on Transfer and never widens them', () => {
  const [source] = withBurns([plain({ where: { to: zero } })]).burns
  assert.deepEqual([...(source?.where.get('to') ?? [])], [zero])
  assert.throws(
    () => withBurns([plain({ where: { to: [zero, stranger] } })]),
    /burns\[0\]\.where\.to: 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 is neither the zero address nor in supply\.burnAddresses/,
  )
})

test('a burn whose token is not that of its contract is refused', () => {
  assert.throws(
    () => withBurns([plain({ token: 'CRYPT' })]),
    /burns\[0\]\.token: is "CRYPT", but the contract at 0x[0-9a-fA-F]{40} is GRAVE/,
  )
})

test('a custom burn event counts as mapped', () => {
  const [source] = withBurns([plain({ event: burned })]).burns
  assert.equal(source?.where.size, 0)
})

const event =
  'event Burned(address indexed from, uint8 value, bool done, bytes4 kind, string indexed note, int8 change, string text, uint256[] list)'

for (const [argument, good, logged, wrong] of [
  ['from', stranger, stranger.toLowerCase(), '0x70997970c51812dc3A010C7d01b50e0d17dc79C8'],
  ['value', '0xff', '255', '256'],
  ['value', '7', '7', '-1'],
  ['done', 'true', 'true', '1'],
  ['kind', '0xAABBCCDD', '0xaabbccdd', '0xaabbcc'],
  ['change', '-128', '-128', '128'],
  ['text', 'Bridge', 'bridge', undefined],
  ['note', 'Bridge', keccak256(fromString('Bridge')), undefined],
  ['list', undefined, undefined, '1'],
] as const)
  test(`where on ${argument} takes ${good ?? 'nothing'} and refuses ${wrong ?? 'nothing'}`, () => {
    if (good !== undefined) {
      const [source] = withBurns([plain({ event, where: { [argument]: good } })]).burns
      assert.deepEqual([...(source?.where.get(argument) ?? [])], [logged])
    }
    if (wrong !== undefined)
      assert.throws(
        () => withBurns([plain({ event, where: { [argument]: wrong } })]),
        new RegExp(`burns\\[0\\]\\.where\\.${argument}: "${wrong}" is not of type`),
      )
  })
