import type { Check } from '#accounts/ledger/check.ts'
import type { Address, Hash } from '#base/address.ts'
import type { Caller } from '#base/caller.ts'
import type { Engine } from '#db/engine.ts'
import { x402Checks } from '#payments/money-checks.ts'
import type { Deposit } from '#payments/prepayments/deposits.ts'
import type { Authorization } from '#payments/x402/payload.ts'
import type { X402Payment } from '#payments/x402/payment.ts'

export const CHAIN_ID = 8453
export const ASSET: Address = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
export const PAY_TO: Address = `0x${'bb'.repeat(20)}`

/** The offer of a stock client's payment: 0.1 USD, in the asset's own domain. */
export const ACCEPTED = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '100000',
  asset: ASSET,
  payTo: PAY_TO,
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2' },
} as const
/** It consists of digits alone, so that EIP-55 writes it the same. */
export const PAYER: Address = `0x${'33'.repeat(20)}`
export const NOON_UNIX = Date.UTC(2026, 10, 21, 12) / 1000
export const SIGNATURE = `0x${'22'.repeat(64)}1b` as const

export const CALLER: Caller = {
  kind: 'anonymous',
  identity: 'ip:192.0.2.1',
  bucket: '192.0.2.1',
  tier: 'anonymous',
  dailyQuota: 1,
}

/** A number as 32 bytes. */
export const word = (n: number): Hash => `0x${n.toString(16).padStart(64, '0')}`

/** The payment with a number, reserved for the bucket of that number; nobody looks at its signature. */
export function newPayment(n: number): X402Payment {
  return {
    id: `payment-${n}`,
    chainId: CHAIN_ID,
    asset: ASSET,
    authorization: {
      from: PAYER,
      to: PAY_TO,
      value: 100_000n,
      validAfter: 0n,
      validBefore: 2_000_000_000n,
      nonce: word(n),
    },
    signature: SIGNATURE,
    payee: { kind: 'bucket', name: `192.0.2.${n}`, wallet: null, isOwn: true },
    status: 'open',
    createdUnix: NOON_UNIX,
    fromBlock: 0,
    txHash: null,
    isServed: false,
  }
}

/** The transfer that an authorization makes, in the block and the transaction with a number. */
export function depositOf(
  { from, to, value }: Pick<Authorization, 'from' | 'to' | 'value'>,
  n: number,
): Deposit {
  return {
    chainId: CHAIN_ID,
    blockNumber: n,
    blockHash: word(n),
    timestampUnix: n,
    txHash: word(n),
    logIndex: 0,
    positionInTx: 0,
    sender: from,
    recipient: to,
    amount: value,
    proven: true,
  }
}

/** The names of the promises that do not hold, of x402 payments unless others are asked for. */
export async function brokenPromises(
  engine: Engine,
  checks: readonly Check[] = x402Checks,
): Promise<string[]> {
  const broken: string[] = []
  for (const check of checks)
    if ((await engine.snapshot(check.run)).length > 0) broken.push(check.name)
  return broken
}
