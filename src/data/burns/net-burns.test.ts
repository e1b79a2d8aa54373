import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from '#base/address.ts'
import type { EventFact } from '#index/event.ts'
import { type BurnLog, netBurns, type SupplyMove } from './dataset.ts'

const one: Address = '0x0000000000000000000000000000000000000001'
const other: Address = '0x0000000000000000000000000000000000000002'

const place: EventFact['log'] = {
  ...{ chainId: 1, blockNumber: 7, txIndex: 0, logIndex: 0, timestamp: 1_700_000_000 },
  ...{ txHash: '0x01', blockHash: '0x02' },
}

function logOf(move: Omit<SupplyMove, 'token'>): BurnLog {
  const { holder: account, amount, kind } = move
  const fact = {
    ...{ log: place, kind, token: 'GRAVE', account, amount },
    detail: null,
    counted: true,
  }
  return {
    ...{ log: place, bridged: [], move: { ...move, token: 'GRAVE' } },
    burn: kind === 'burn' ? fact : null,
  }
}
const mint = (amount: bigint, holder = one) => logOf({ kind: 'mint', amount, holder })
const burn = (amount: bigint, holder = one) => logOf({ kind: 'burn', amount, holder })
const bridged = (amount: bigint): BurnLog => ({
  ...{ log: place, burn: null, move: null, bridged: [{ token: 'GRAVE', amount }] },
})

/** The burns that count, and what was minted but is not new. */
const rules: readonly (readonly [string, readonly BurnLog[], readonly bigint[], bigint])[] = [
  ['mint 100 and burn 100 burns nothing', [mint(100n), burn(100n)], [], 100n],
  ['mint 100 and burn 103 burns three', [mint(100n), burn(103n)], [3n], 100n],
  ['mint 100 and burn 5 burns five', [mint(100n), burn(5n)], [5n], 0n],
  ['a mint to one holder undoes no burn of another', [mint(9n), burn(9n, other)], [9n], 0n],
  ['a burn before the mint counts', [burn(100n), mint(100n)], [100n], 0n],
  ['a mint is undone once', [mint(100n), burn(100n), burn(100n)], [100n], 100n],
  ['a small burn leaves the mint to the next one', [mint(9n), burn(4n), burn(9n)], [4n], 9n],
  ['mints add up until they are undone', [mint(4n), mint(5n), burn(10n), burn(2n)], [1n, 2n], 9n],
  ['a burn beside a bridge event of its amount moves', [burn(9n), bridged(9n)], [], 0n],
  ['a mint beside a bridge event is not new', [bridged(9n), mint(9n)], [], 9n],
  ['a bridge event of one wei hides no burn', [bridged(1n), burn(9n)], [9n], 0n],
  ['a bridge event accounts for one move', [bridged(9n), burn(9n), burn(9n)], [9n], 0n],
  ['a flash mint hides no move', [mint(9n, other), burn(9n), bridged(9n), burn(9n, other)], [], 9n],
  ['nor does one before it', [mint(9n, other), burn(9n, other), burn(9n), bridged(9n)], [], 9n],
  ['a burn before a move counts', [burn(9n, other), mint(9n), burn(9n), bridged(9n)], [9n], 0n],
  ['a bridge event may come first', [bridged(9n), mint(9n), burn(9n, other)], [9n], 9n],
]

for (const [rule, logs, burned, unminted] of rules)
  test(`${rule}`, () => {
    const net = netBurns(logs)
    assert.deepEqual(
      net.burns.map(({ amount }) => amount),
      burned,
    )
    assert.equal(
      net.unminted.reduce((sum, { amount }) => sum + amount, 0n),
      unminted,
    )
  })
