import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hash } from '#domain/address.ts'
import { evmSigner } from '#money/x402/settling.ts'
import { ASSET, PAY_TO, PAYER, word } from '#test/x402/x402-harness.ts'

const INPUTS = ['address', 'address', 'uint256', 'uint256', 'uint256', 'bytes32', 'bytes']

const abi = ['transferWithAuthorization', 'receiveWithAuthorization'].map((name) => ({
  ...{ type: 'function', name, outputs: [], stateMutability: 'nonpayable' },
  inputs: INPUTS.map((type, n) => ({ type, name: `_${n}` })),
}))

function signer() {
  const sent: Hash[] = []
  const wallet = {
    address: PAYER,
    async send(data: Hash) {
      sent.push(data)
      return word(1)
    },
  }
  const rpc = {
    call: async () => '0x' as const,
    code: async () => '0x' as const,
  }
  return { sent, ...evmSigner({ rpc, wallet, asset: ASSET, recipients: [PAY_TO] }) }
}

test('the settling wallet sends transfers of the asset to payTo wallets, and nothing else', async () => {
  const { sent, writeContract, sendTransaction } = signer()
  const args = [PAYER, PAY_TO, 1n, 0n, 1n, word(1), '0x12']
  const transfer = { address: ASSET, abi, functionName: 'transferWithAuthorization', args }
  assert.equal(await writeContract(transfer), word(1))
  for (const other of [
    { ...transfer, address: PAYER },
    { ...transfer, functionName: 'receiveWithAuthorization' },
    { ...transfer, args: args.with(1, PAYER) },
  ])
    await assert.rejects(writeContract(other), /a settling wallet/)
  await assert.rejects(sendTransaction({ to: PAYER, data: '0x' }), /a settling wallet/)
  assert.equal(sent.length, 1)
})
