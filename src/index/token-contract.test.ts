import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from '#base/address.ts'
import { EndpointError } from '#chain/rpc-error.ts'
import { askSupply } from './token-contract.ts'

const token: Address = '0x1111111111111111111111111111111111111111'

/** 1,000 units in all; the zero address holds `buried`, or must not be asked for. */
function contract(buried: bigint | undefined) {
  return {
    async call(_to: Address, data: string) {
      if (data.startsWith('0x18160ddd')) return word(1_000n)
      if (buried === undefined) throw new EndpointError('reverted', 'execution reverted')
      return word(buried)
    },
  }
}

function word(value: bigint): `0x${string}` {
  return `0x${value.toString(16).padStart(64, '0')}`
}

for (const [what, buried, stored, answer] of [
  ['a burn lowers totalSupply()', 0n, 1_000n, 1_000n],
  ['units of the zero address are supply from the start', 10n, 1_000n, 1_000n],
  ['the zero address keeps what it is sent', 30n, 970n, 970n],
  ['transfers do not explain the supply', 30n, 960n, 1_000n],
  ['the zero address must not be asked for', undefined, 970n, 1_000n],
] as const)
  test(`the supply of a contract is ${answer} for ${stored} of the register where ${what}`, async () => {
    assert.equal(await askSupply(contract(buried), token, { stored, blockNumber: 5 }), answer)
  })
