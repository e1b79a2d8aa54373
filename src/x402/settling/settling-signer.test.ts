import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFunctionData, parseAbi, parseTransaction, recoverTransactionAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Address, Hash } from '#domain/address.ts'
import { keySigner, TRANSFER_GAS, type TransferOrder } from './settling-signer.ts'

const PRIVATE_KEY = `0x${'11'.repeat(32)}` as const
const address = (byte: string): Address => `0x${byte.repeat(20)}`
const ASSET = address('aa')
const PAY_TO = address('bb')
const nonce: Hash = `0x${'0c'.repeat(32)}`

const order: TransferOrder = {
  authorization: {
    from: address('cc'),
    to: PAY_TO,
    value: 100_000n,
    validAfter: 0n,
    validBefore: 2_000_000_000n,
    nonce,
  },
  signature: `0x${'22'.repeat(64)}1b`,
  txNonce: 7,
  fees: { maxFeePerGas: 11_000_000n, maxPriorityFeePerGas: 1_000_000n },
}

const signer = keySigner({
  privateKey: PRIVATE_KEY,
  chainId: 8453,
  asset: ASSET,
  recipients: [PAY_TO],
})

test('what is signed is a transfer of the configured asset by the settling wallet, and pays no ether', async () => {
  const { raw, txHash } = await signer.signTransfer(order)
  const transaction = parseTransaction(raw)
  assert.equal(transaction.to?.toLowerCase(), ASSET)
  assert.equal(transaction.value ?? 0n, 0n)
  assert.equal(transaction.gas, TRANSFER_GAS)
  assert.equal(transaction.nonce, 7)
  assert.equal(transaction.chainId, 8453)
  const abi = parseAbi([
    'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  ])
  const { args } = decodeFunctionData({ abi, data: transaction.data ?? '0x' })
  assert.equal(args[1].toLowerCase(), PAY_TO)
  assert.equal(args[2], 100_000n)
  const { address: wallet } = privateKeyToAccount(PRIVATE_KEY)
  assert.equal(signer.address, wallet.toLowerCase())
  const serializedTransaction = raw as `0x02${string}`
  assert.equal(await recoverTransactionAddress({ serializedTransaction }), wallet)
  assert.match(txHash, /^0x[0-9a-f]{64}$/)
})

test('a transfer to anybody but the operator is not signed', async () => {
  const authorization = { ...order.authorization, to: address('dd') }
  await assert.rejects(
    signer.signTransfer({ ...order, authorization }),
    /pays the configured payTo wallets only/,
  )
})

test('gas at an absurd price is not signed for, whatever a node says', async () => {
  const fees = { ...order.fees, maxFeePerGas: 10n ** 12n }
  await assert.rejects(signer.signTransfer({ ...order, fees }), /exceeds the limit of 100 gwei/)
})
