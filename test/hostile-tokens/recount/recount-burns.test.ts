import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, zeroAddress } from 'viem'
import { accounts, addresses, burnAddress } from '#devnet/addresses.ts'
import type { LogPlan } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { bridgesOn } from '../bridges.ts'
import { bridgeLog } from '../hostile-logs.ts'
import { countTransaction } from './recount-burns.ts'

const { grave } = addresses.base
const { holder, premium } = accounts
const [standard, own] = bridgesOn('base')

const move = (from: Address, to: Address, amount: bigint) => logOf.transfer(grave, from, to, amount)
const mint = (amount: bigint, to: Address = holder) => move(zeroAddress, to, amount)
const burn = (amount: bigint, from: Address = holder) => move(from, zeroAddress, amount)
const bridge = (amount: bigint, event = standard) => {
  assert.ok(event !== undefined)
  return bridgeLog(event, { token: grave, from: holder, to: holder, amount })
}

interface Counted {
  readonly burned: readonly bigint[]
  readonly minted: bigint
}

/** Examples of the rules, worked out by hand. */
const examples: readonly (readonly [rule: string, logs: readonly LogPlan[], counted: Counted])[] = [
  ['a flash mint is nothing', [mint(100n), burn(100n)], { burned: [], minted: 0n }],
  ['a larger burn undoes the mint', [mint(100n), burn(103n)], { burned: [3n], minted: 0n }],
  ['a smaller burn undoes nothing', [mint(100n), burn(5n)], { burned: [5n], minted: 100n }],
  [
    'mints of one holder are undone together',
    [mint(60n), mint(40n), burn(30n), burn(101n), burn(7n)],
    { burned: [30n, 1n, 7n], minted: 0n },
  ],
  ['a burn before the mint stays', [burn(100n), mint(100n)], { burned: [100n], minted: 100n }],
  [
    'another holder undoes nothing',
    [mint(100n), burn(100n, premium)],
    { burned: [100n], minted: 100n },
  ],
  [
    'a burn address undoes nothing',
    [mint(100n), move(holder, burnAddress, 100n)],
    { burned: [100n], minted: 100n },
  ],
  [
    'what is burned from a burn address was counted before',
    [move(holder, burnAddress, 100n), burn(60n, burnAddress), move(burnAddress, burnAddress, 40n)],
    { burned: [100n], minted: 0n },
  ],
  [
    'the locked units of a pair are burned and stay minted',
    [move(zeroAddress, zeroAddress, 1_000n)],
    { burned: [1_000n], minted: 1_000n },
  ],
  [
    'a move of a bridge is neither burned nor minted, whichever comes first',
    [burn(9n), bridge(9n), bridge(4n, own), mint(4n)],
    { burned: [], minted: 0n },
  ],
  ['another amount is no move of a bridge', [burn(9n), bridge(8n)], { burned: [9n], minted: 0n }],
  [
    'an event of a bridge explains one transfer',
    [bridge(9n), burn(9n), burn(9n)],
    { burned: [9n], minted: 0n },
  ],
  [
    'a flash mint of the amount around a move of a bridge changes nothing',
    [mint(9n), burn(9n, premium), bridge(9n), burn(9n)],
    { burned: [], minted: 0n },
  ],
  [
    'a bridged mint cannot be undone',
    [bridge(50n), mint(50n), mint(10n), burn(20n)],
    { burned: [10n], minted: 0n },
  ],
]

for (const [rule, logs, { burned, minted }] of examples)
  test(`${rule}`, () => {
    const placed = logs.map((log, place) => ({ ...log, transactionHash: '0x1' as const, place }))
    const counted = countTransaction(placed, {
      token: grave,
      bridges: bridgesOn('base').filter(({ token }) => token === 'GRAVE'),
      burnAddresses: [burnAddress.toLowerCase()],
    })
    assert.deepEqual(
      counted.burns.map(({ amount }) => amount),
      burned,
    )
    assert.equal(counted.minted, minted)
  })
