import { type Context, oncePerContext, reportError } from '#context.ts'
import { paymentOf } from '#money/payments/offers.ts'
import { embeddedFacilitator } from './embedded-facilitator.ts'
import { type Facilitator, settlingSettingOf } from './facilitator.ts'
import { httpFacilitator } from './http-facilitator.ts'
import { SCHEMES } from './schemes/schemes.ts'
import type { PaidChain, SettledChain } from './settlement.ts'
import { openSettlingRpc } from './settling-rpc.ts'

/** What a process settles payments with. */
export interface Settling extends SettledChain, Facilitator {
  /** How long a request waits. */
  readonly waitMs: number
}

/** Clients tolerate ten seconds. */
const WAIT_MS = 10_000

/** Undefined where payments are not settled. Rejects with ConfigError. */
export const settlingOf = oncePerContext(async (ctx): Promise<Settling | undefined> => {
  const setting = settlingSettingOf(ctx)
  if (setting === undefined) return undefined
  const payment = paymentOf(ctx)
  const rpc = openSettlingRpc(payment.chain)
  const facilitator =
    setting.kind === 'wallet'
      ? await embeddedFacilitator(ctx, setting, { rpc, payment })
      : httpFacilitator(ctx, setting, payment)
  const settling = { rpc, payment, ...facilitator, waitMs: WAIT_MS }
  const readiness = new Readiness(ctx, settling)
  return { ...settling, isReady: () => readiness.read() }
})

/** A facilitator and a node are asked again after so long. */
const FRESH_MS = 5_000

/** An older answer is not used while a new one is awaited. */
export const READY_MS = 30_000

/** Whether payments can be settled now: only then are they offered. */
class Readiness {
  readonly #ctx: Context
  readonly #settling: Settling
  #known: { readonly atMs: number; readonly isReady: boolean } | undefined
  #asking: Promise<boolean> | undefined
  #isPayable = false

  constructor(ctx: Context, settling: Settling) {
    this.#ctx = ctx
    this.#settling = settling
  }

  async read(): Promise<boolean> {
    const known = this.#known
    const ageMs = known && Math.abs(this.#ctx.clock() - known.atMs)
    if (known !== undefined && ageMs !== undefined && ageMs < FRESH_MS) return known.isReady
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return known !== undefined && ageMs !== undefined && ageMs < READY_MS
      ? known.isReady
      : this.#asking
  }

  async #ask(): Promise<boolean> {
    const atMs = this.#ctx.clock()
    const isReady = await this.#settles().catch((error: unknown) => {
      reportError(this.#ctx, error)
      return false
    })
    this.#known = { atMs, isReady }
    return isReady
  }

  async #settles(): Promise<boolean> {
    this.#isPayable ||= await isPayable(this.#ctx, this.#settling)
    return this.#isPayable && this.#settling.isReady()
  }
}

/** Without proofs every payment would stay pending. */
async function isPayable(ctx: Context, { rpc, payment }: PaidChain): Promise<boolean> {
  const head = await rpc.header('latest')
  if (head === undefined) return false
  await rpc.provenBlock(head)
  const asked = { rpc, payment, clock: ctx.clock }
  const ways = (await Promise.all(SCHEMES.map((scheme) => scheme.proveWays(asked)))).flat()
  if (ways.some(({ refusal }) => refusal === undefined)) return true
  throw new Error(`the asset takes no x402 payment: ${ways[0]?.refusal}`)
}
