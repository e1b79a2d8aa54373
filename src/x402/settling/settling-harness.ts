import type { Address } from '#domain/address.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import type { Authorization } from '../offers/authorization.ts'
import type { PaymentPayload } from '../offers/payment-payload.ts'
import type { X402Deps } from '../x402-deps.ts'
import {
  ASSET,
  brokenPromises,
  CHAIN_ID,
  NOON_UNIX,
  newIntent,
  PAY_TO,
  SIGNATURE,
  word,
} from '../x402-harness.ts'
import { creditIntent } from './credit-intent.ts'
import { finishPayments } from './finish-payments.ts'
import type { Intent } from './intent.ts'
import { openIntents } from './intent-store.ts'
import { ScriptedChain } from './scripted-chain.ts'
import { type SettleOutcome, settlePayment } from './settle-payment.ts'
import { keySigner } from './settling-signer.ts'
import { createSubmitter } from './submit-intent.ts'

export const CONFIRMATIONS = 3

/** The wallet with a number. */
export const payer = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`

const PAYMENT: X402Deps['payment'] = {
  chain: {
    id: CHAIN_ID,
    name: 'base',
    rpcUrls: [],
    explorerUrl: null,
    startBlock: 0,
    pollIntervalMs: 2_000,
    finality: 'tag',
    staleAfterSeconds: 60,
    proofs: 'deposits',
  },
  asset: ASSET,
  symbol: 'USDC',
  decimals: 6,
  domain: { name: 'USD Coin', version: '2' },
  confirmations: CONFIRMATIONS,
  proof: 'receipts',
  secondOpinion: 1_000_000_000n,
  payTo: [{ address: PAY_TO, since: '2026-01-01' }],
}

export type SettlingHarness = ReturnType<typeof settlingHarness>

/** Payments that are settled on a scripted chain; the clock is the chain's unless a test moves it. */
export function settlingHarness(
  engine: Engine,
  /** A second replica has the chain of the first and ids of its own. */
  options: { readonly chain?: ScriptedChain; readonly ids?: string } = {},
) {
  const signer = keySigner({
    privateKey: word(7),
    chainId: CHAIN_ID,
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
    keys: { lockSuccessor: async (_, publicId) => publicId, keysOf: async () => [] },
    publicBaseUrl: 'http://127.0.0.1',
    recoveries: { refusal: () => undefined, failed: () => undefined },
    report: (error) => void reports.push(error),
  }
  const submit = createSubmitter(deps)
  const settling = { ...deps, submit, availability: { isAvailable: async () => true } }
  return {
    ...{ chain, deps, settling, time, reports },
    ...paymentsAt(chain),
    ...readsOf(engine),
    /** Settles one for the bucket of its number. */
    async settle(authorization: Authorization): Promise<SettleOutcome> {
      const outcome = await settlePayment(settling, {
        payload: payloadOf(authorization),
        payee: newIntent(numberOf(authorization)).payee,
      })
      if (outcome.kind === 'settled')
        await engine.write((connection) => creditIntent(connection, deps, outcome))
      return outcome
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
      ...newIntent(numberOf(authorization)),
      ...{ id, authorization, createdUnix: chain.nowUnix, fromBlock: chain.blockNumber },
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
    audit: () => brokenPromises(engine),
  }
}

function payloadOf(authorization: Authorization): PaymentPayload {
  const accepted = { amount: String(authorization.value), asset: ASSET, payTo: PAY_TO }
  const network = `eip155:${CHAIN_ID}`
  return { version: 2, network, accepted, authorization, signature: SIGNATURE }
}

function numberOf({ nonce }: Authorization): number {
  return Number(BigInt(nonce))
}
