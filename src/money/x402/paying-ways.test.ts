import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getSelector, from as parseFunction } from 'ox/AbiFunction'
import { NodeRefusal } from '#chains/chain/node-refusal.ts'
import { PAYMENT } from '#test/x402/settling-harness.ts'
import { NOON_UNIX } from '#test/x402/x402-harness.ts'
import { provePayingWays } from './paying-ways.ts'

const INPUTS = 'address, address, uint256, uint256, uint256, bytes32'
const PARTS = getSelector(
  parseFunction(`function transferWithAuthorization(${INPUTS}, uint8, bytes32, bytes32)`),
)

test('the ways that an asset takes are told from those that it refuses', async () => {
  const ways = await provePayingWays({
    payment: PAYMENT,
    clock: () => NOON_UNIX * 1_000,
    rpc: {
      async call({ data }) {
        if (data.startsWith(PARTS)) return '0x'
        throw new NodeRefusal(3, 'execution reverted')
      },
    },
  })
  assert.deepEqual(ways, [
    { by: 'keys, as (v, r, s)', refusal: undefined },
    { by: 'keys, as bytes', refusal: 'execution reverted' },
    { by: 'contract wallets', refusal: 'execution reverted' },
  ])
})
