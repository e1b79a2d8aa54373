import type { Address } from '#domain/address.ts'
import { sleep } from '#lib/async.ts'
import type { Facilitator } from '#money/x402/facilitators/facilitator.ts'
import type { PaymentPayload } from '#money/x402/offers/payment-payload.ts'
import { exact } from '#money/x402/schemes/exact/exact.ts'
import type { Authorization } from '#money/x402/schemes/scheme.ts'
import { creditPayment } from '#money/x402/settling/credit-payment.ts'
import { finishPayments, sendReserved } from '#money/x402/settling/finish-payments.ts'
import { insertPayment, openPayments } from '#money/x402/settling/payment-store.ts'
import { PaymentSender } from '#money/x402/settling/send-payments.ts'
import { type SettleOutcome, settlePayment } from '#money/x402/settling/settle-payment.ts'
import type { X402Payment } from '#money/x402/settling/x402-payment.ts'
import type { X402Deps } from '#money/x402/x402-deps.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
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

export const PAYMENT: X402Deps['payment'] = {
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

function scriptedFacilitator(chain: ScriptedChain, faults: Faults): Facilitator {
  const read = ({ payload }: { readonly payload: unknown }) => {
    const signed = exact.read(payload)
    if (typeof signed === 'string') throw new Error(signed)
    return signed.authorization
  }
  return {
    wallet: WALLET,
    isReady: async () => true,
    client: {
      async verify(payment) {
        if (faults.verifies === 'with an error') throw new Error('429')
        if (faults.verifies !== 'rightly') return { isValid: faults.verifies === 'everything' }
        return { isValid: chain.wouldSucceed(read(payment)) }
      },
      async settle(payment) {
        const sent = faults.sends ? chain.send(read(payment)) : word(404)
        if (faults.says === 'nothing') throw new Error('the connection is lost')
        const success = faults.says !== 'failed'
        return { success, transaction: success ? sent : '', network: `eip155:${CHAIN_ID}` }
      },
    },
  }
}

export type SettlingHarness = ReturnType<typeof settlingHarness>

interface HarnessOptions {
  readonly chain?: ScriptedChain
  readonly ids?: string
  readonly confirmations?: number
}

/**
 * Payments on a scripted chain, settled by a scripted facilitator; the clock is the chain's unless a
 * test moves it.
 */
export function settlingHarness(
  engine: Engine,
  /** A second replica has the chain of the first and ids of its own. */
  options: HarnessOptions = {},
) {
  const chain =
    options.chain ?? new ScriptedChain({ asset: ASSET, relayer: WALLET, startUnix: NOON_UNIX })
  const time = { aheadSeconds: 0 }
  const reports: unknown[] = []
  const clock = () => (chain.nowUnix + time.aheadSeconds) * 1000
  const deps: X402Deps = {
    ...{ engine, clock },
    newId: countingIds(options.ids ?? 'id'),
    rpc: chain.rpc,
    payment: { ...PAYMENT, confirmations: options.confirmations ?? CONFIRMATIONS },
    readiness: { isReady: async () => true },
    pricePerCall: 100n,
    amounts: [100_000n, 1_000_000n],
    publicBaseUrl: 'http://127.0.0.1',
    recoveries: { refusal: () => undefined, failed: () => undefined },
    report: (error) => void reports.push(error),
  }
  const faults: Faults = { verifies: 'rightly', sends: true, says: 'the truth' }
  const leading = { ...deps, facilitator: scriptedFacilitator(chain, faults) }
  const sender = new PaymentSender(leading)
  const settling = { ...deps, waitMs: WAIT_MS }
  /** The leader's job, while some work goes on. */
  const whileLeading = async <T>(work: Promise<T>): Promise<T> => {
    const isDone = { value: false }
    const done = work.finally(() => Object.assign(isDone, { value: true }))
    while (!isDone.value) {
      await sendReserved({ ...leading, sender })
      await sleep(20)
    }
    await sender.end()
    return done
  }
  /** In a process that does not lead. */
  const request = async (authorization: Authorization): Promise<SettleOutcome> => {
    const outcome = await settlePayment(settling, inputOf(authorization))
    if (outcome.kind === 'settled')
      await engine.write((connection) =>
        creditPayment(connection, deps, { ...outcome, isServed: true }),
      )
    return outcome
  }
  return {
    ...{ chain, deps, settling, leading: { ...leading, sender }, time, reports, faults },
    ...{ whileLeading },
    ...paymentsAt(chain),
    ...readsOf(engine),
    request,
    /** Settles one for the bucket of its number. */
    settle: (authorization: Authorization) => whileLeading(request(authorization)),
    /** Has one sent as for a request that is killed before it sees an outcome. */
    async submit(payment: X402Payment): Promise<void> {
      await engine.write((connection) => insertPayment(connection, payment))
      sender.start(payment)
      await sender.end()
    },
    async finish() {
      const credited = await finishPayments({ ...leading, sender })
      await sender.end()
      return credited
    },
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
    open: () => openPayments({ run: engine.read }, 100),
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

/** Signs for the bucket of its number. */
export function inputOf(authorization: Authorization) {
  const { payee } = newPayment(numberOf(authorization))
  return { payload: payloadOf(authorization), payee }
}

function payloadOf(authorization: Authorization): PaymentPayload {
  const accepted = { amount: String(authorization.value), asset: ASSET, payTo: PAY_TO }
  const network = `eip155:${CHAIN_ID}`
  return { version: 2, scheme: 'exact', network, accepted, authorization, signature: SIGNATURE }
}

function numberOf({ nonce }: Authorization): number {
  return Number(BigInt(nonce))
}
