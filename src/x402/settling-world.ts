import type { Address, Hash } from '#domain/address.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import type { Authorization } from './offers/authorization.ts'
import type { PaymentPayload } from './offers/payment-payload.ts'
import { finishPayments } from './settling/finish-payments.ts'
import type { Intent } from './settling/intent.ts'
import { openIntents } from './settling/intent-store.ts'
import { ScriptedChain } from './settling/scripted-chain.ts'
import { type SettleOutcome, settlePayment } from './settling/settle-payment.ts'
import { keySigner } from './settling/settling-signer.ts'
import { createSubmitter } from './settling/submit-intent.ts'
import { x402Checks } from './x402-checks.ts'
import type { X402Deps } from './x402-deps.ts'

export const ASSET: Address = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
export const PAY_TO: Address = `0x${'bb'.repeat(20)}`
export const NOON_UNIX = Date.UTC(2026, 10, 21, 12) / 1000
export const CONFIRMATIONS = 3
const SIGNATURE = `0x${'22'.repeat(64)}1b` as const

/** The wallet with a number, and the word. */
export const payer = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`
export const word = (n: number): Hash => `0x${n.toString(16).padStart(64, '0')}`

const PAYMENT: X402Deps['payment'] = {
  chain: {
    id: 8453,
    name: 'base',
    rpcUrls: [],
    explorerUrl: null,
    startBlock: 0,
    pollIntervalMs: 2_000,
    finality: 'tag',
    staleAfterSeconds: 60,
  },
  asset: ASSET,
  symbol: 'USDC',
  decimals: 6,
  domain: { name: 'USD Coin', version: '2' },
  confirmations: CONFIRMATIONS,
  payTo: [{ address: PAY_TO, since: '2026-01-01' }],
}

/** Payments that are settled on a scripted chain; the clock is the chain's unless a test moves it. */
export function settlingWorld(
  engine: Engine,
  /** A second replica has the chain of the first and ids of its own. */
  options: { readonly chain?: ScriptedChain; readonly ids?: string } = {},
) {
  const signer = keySigner({
    privateKey: word(7),
    chainId: 8453,
    asset: ASSET,
    recipients: [PAY_TO],
  })
  const chain =
    options.chain ??
    new ScriptedChain({ asset: ASSET, settler: signer.address, startUnix: NOON_UNIX })
  const time = { aheadSeconds: 0 }
  const reports: unknown[] = []
  const clock = () => (chain.nowUnix + time.aheadSeconds) * 1000
  const deps: X402Deps = {
    ...{ engine, clock, signer },
    newId: countingIds(options.ids ?? 'id'),
    rpc: chain.rpc,
    payment: PAYMENT,
    pricePerCall: 100n,
    amounts: [100_000n, 1_000_000n],
    gasPerDayGwei: 10_000_000n,
    etherUsd: 5_000,
    keys: { lockHeir: async (_, publicId) => publicId, keysOf: async () => [] },
    publicBaseUrl: 'http://127.0.0.1',
    report: (error) => void reports.push(error),
  }
  const submit = createSubmitter(deps)
  const settling = { ...deps, submit, availability: { isAvailable: async () => true } }
  return {
    ...{ chain, deps, settling, time, reports },
    ...paymentsAt(chain),
    ...readsOf(engine),
    /** Settles one for the bucket of its number. */
    settle(authorization: Authorization): Promise<SettleOutcome<unknown>> {
      return settlePayment(settling, {
        payload: payloadOf(authorization),
        payee: { kind: 'bucket', bucket: bucketOf(authorization) },
        within: (_connection, _intent, credit) => credit(),
      })
    },
    finish: () => finishPayments(deps),
  }
}

function countingIds(prefix: string): () => string {
  let ids = 0
  return () => {
    ids += 1
    return `${prefix}-${String(ids).padStart(4, '0')}`
  }
}

function paymentsAt(chain: ScriptedChain) {
  return {
    authorize(n: number, seconds = 300): Authorization {
      return {
        from: payer(n),
        to: PAY_TO,
        value: 100_000n,
        validAfter: 0n,
        validBefore: BigInt(chain.nowUnix + seconds),
        nonce: word(n),
      }
    },
    /** As a request reserves it at the newest block. */
    intentOf: (authorization: Authorization, id: string): Intent => ({
      id,
      chainId: 8453,
      asset: ASSET,
      authorization,
      signature: SIGNATURE,
      payee: { kind: 'bucket', bucket: bucketOf(authorization) },
      status: 'reserved',
      createdUnix: chain.nowUnix,
      fromBlock: chain.blockNumber,
      txHash: null,
      raw: null,
      ownHash: null,
      settler: null,
      txNonce: null,
      reservedGwei: 0n,
      gasDay: 0,
    }),
  }
}

/** What the store says. */
function readsOf(engine: Engine) {
  return {
    open: () => openIntents({ run: engine.read }, 100),
    async states(): Promise<string[]> {
      const found = await engine.read(sql`select status from x402_intents order by id`)
      return found.map(({ status }) => String(status))
    },
    /** Live credits, by the bucket that has them. */
    async credits(): Promise<string[]> {
      const found = await engine.read(sql`
        select account from credits where reversed_unix is null order by account`)
      return found.map(({ account }) => String(account))
    },
    async audit(): Promise<string[]> {
      const found: string[] = []
      for (const check of x402Checks)
        if ((await engine.snapshot(check.run)).length > 0) found.push(check.name)
      return found
    },
  }
}

function payloadOf(authorization: Authorization): PaymentPayload {
  const accepted = { amount: String(authorization.value), asset: ASSET, payTo: PAY_TO }
  const network = 'eip155:8453'
  return { version: 2, network, accepted, authorization, signature: SIGNATURE }
}

export function bucketOf({ nonce }: Pick<Authorization, 'nonce'>): string {
  return `192.0.2.${Number(BigInt(nonce))}`
}
