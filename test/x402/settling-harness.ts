import type { Address } from '#base/address.ts'
import { sleep } from '#base/async.ts'
import { isRefusal } from '#base/refusal.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { type Authorization, type PaymentPayload, readSigned } from '#payments/x402/payload.ts'
import { insertPayment, type X402Payment } from '#payments/x402/payment.ts'
import {
  type Credited,
  finishPayments,
  sendAgain,
  settlePayment,
  type ToSettle,
} from '#payments/x402/settle-payment.ts'
import type { Settling } from '#payments/x402/settling.ts'
import { SILENT, testContext } from '../test-context.ts'
import { ScriptedChain } from './scripted-chain.ts'
import {
  ASSET,
  brokenPromises,
  CHAIN_ID,
  NOON_UNIX,
  newPayment,
  PAY_TO,
  SIGNATURE,
  word,
} from './x402-harness.ts'

export const CONFIRMATIONS = 3

/** The wallet with a number. */
export const payer = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`

export const PAYMENT: Payment = {
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
  payTo: [{ address: PAY_TO, since: '2026-01-01' }],
}

/** What a facilitator does wrong. */
export interface Faults {
  verifies: 'rightly' | 'everything' | 'nothing' | 'with an error'
  sends: boolean
  says: 'the truth' | 'failed' | 'settled' | 'nothing'
}

const WALLET: Address = `0x${'5e'.repeat(20)}`

function scriptedFacilitator(chain: ScriptedChain, faults: Faults) {
  const read = ({ payload }: { readonly payload: unknown }) => {
    const signed = readSigned(payload)
    if (typeof signed === 'string') throw new Error(signed)
    return signed.authorization
  }
  return {
    wallet: WALLET,
    isReady: async () => true,
    client: {
      async verify(payment: { readonly payload: unknown }) {
        if (faults.verifies === 'with an error') throw new Error('429')
        if (faults.verifies !== 'rightly') return { isValid: faults.verifies === 'everything' }
        return { isValid: chain.wouldSucceed(read(payment)) }
      },
      async settle(payment: { readonly payload: unknown }) {
        const sent = faults.sends ? chain.send(read(payment)) : word(404)
        if (faults.says === 'nothing') throw new Error('the connection is lost')
        const success = faults.says !== 'failed'
        return { success, transaction: success ? sent : '', network: `eip155:${CHAIN_ID}` as const }
      },
    },
  }
}

export type SettlingHarness = ReturnType<typeof settlingHarness>

interface HarnessOptions {
  readonly chain?: ScriptedChain
  readonly confirmations?: number
}

/**
 * Payments on a scripted chain, settled by a scripted facilitator; the clock is the chain's unless a
 * test moves it.
 */
export function settlingHarness(engine: Engine, options: HarnessOptions = {}) {
  const chain =
    options.chain ?? new ScriptedChain({ asset: ASSET, relayer: WALLET, startUnix: NOON_UNIX })
  const time = { aheadSeconds: 0 }
  const reports: unknown[] = []
  const payment = { ...PAYMENT, confirmations: options.confirmations ?? CONFIRMATIONS }
  const ctx = testContext({
    accounts: engine,
    ecosystem: { ...parseEcosystem('local', localEcosystem), payment },
    clock: () => (chain.nowUnix + time.aheadSeconds) * 1000,
    logger: { ...SILENT, error: ({ err }: { readonly err: unknown }) => reports.push(err) },
  })
  const faults: Faults = { verifies: 'rightly', sends: true, says: 'the truth' }
  const settling: Settling = {
    ...{ rpc: chain.rpc, payment, waitMs: WAIT_MS },
    ...scriptedFacilitator(chain, faults),
  }
  /** Settles it; a refusal by its code. */
  const settleAs = async (asked: ToSettle<Credited>) => {
    const outcome = await settlePayment(ctx, settling, asked)
    return isRefusal(outcome) ? { kind: outcome.code, ...outcome.members } : outcome
  }
  /** Settles one for the bucket of its number. */
  const settle = (authorization: Authorization) => settleAs(askedOf(authorization))
  return {
    ...{ chain, ctx, settling, time, reports, faults, settle, settleAs },
    ...paymentsAt(chain),
    ...readsOf(engine),
    /** Has one sent as for a request that is killed before it sees an outcome. */
    async submit(payment: X402Payment): Promise<void> {
      await engine.write((connection) => insertPayment(connection, payment))
      await sendAgain(ctx, settling, payment).catch((error: unknown) => reports.push(error))
    },
    finish: () => finishPayments(ctx, settling),
  }
}

const SENT_WITHIN_MS = 10_000

/** Waits until so many transactions were sent to the node. */
export async function untilSent({ chain }: Pick<SettlingHarness, 'chain'>, count: number) {
  for (let waitedMs = 0; chain.sent.length < count; waitedMs += 5) {
    if (waitedMs >= SENT_WITHIN_MS) throw new Error(`${chain.sent.length} of ${count} were sent`)
    await sleep(5)
  }
}

/** The finisher's passes while blocks come, one pass for so many of them. */
export async function pass(
  { chain, finish }: Pick<SettlingHarness, 'chain' | 'finish'>,
  blocks = 1,
  blocksOfPass = 1,
): Promise<void> {
  for (let n = 0; n < blocks; n += blocksOfPass) {
    chain.mine(blocksOfPass)
    await finish()
  }
}

/** A request in a test does not wait long. */
const WAIT_MS = 3_000

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
    /** Returns the payment as a request reserves it at the newest block. */
    paymentOf: (authorization: Authorization, id: string): X402Payment => ({
      ...newPayment(numberOf(authorization)),
      ...{ id, authorization, createdUnix: chain.nowUnix, fromBlock: chain.blockNumber },
    }),
  }
}

/** What the store says. */
function readsOf(engine: Engine) {
  return {
    async states(): Promise<string[]> {
      const found = await engine.read(sql`select status from x402_intents order by nonce`)
      return found.map(({ status }) => String(status))
    },
    async hints(): Promise<readonly unknown[]> {
      return engine.read(sql`select id from x402_intents where tx_hash is not null`)
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

/** What the bucket of its number asks for. */
export function askedOf(authorization: Authorization): ToSettle<Credited> {
  const { payee } = newPayment(numberOf(authorization))
  return {
    ...{ payload: payloadOf(authorization), payee, amounts: [authorization.value] },
    addressBucket: payee.name,
    isForBalance: true,
    isAwaited: () => true,
    post: (_, credit) => credit(),
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
