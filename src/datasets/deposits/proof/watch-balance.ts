import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { BlockHeader } from '#domain/chain.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { readBackfill } from '#indexer/backfill/backfill-row.ts'
import { readFinalized, readPosition } from '#indexer/positions.ts'
import { askContract } from '#indexer/token-contract.ts'
import { DEPOSITS } from '../deposits.ts'
import {
  type BalanceCheck,
  readBalanceCheck,
  receivedIn,
  storeBalanceCheck,
} from './balance-check.ts'
import { unprovenBlocks } from './deposit-proofs.ts'
import type { DepositProver, ProveDepositsDeps } from './prove-deposits.ts'
import { SentTransfers, type Step } from './sent-transfers.ts'

const EVERY_BLOCKS = 5

/** Deeper than most reorgs, and before payments are confirmed. */
const DEPTH_BLOCKS = 5

/** The next check finds more. */
const FOUND_MAX = 32

/** Bounds the proofs if the node lacks old state. */
const SEARCHED_MAX = 64

const LOOK_AGAIN_MS = 5_000
const LOOK_AGAIN_MAX_MS = 60_000

/**
 * Compares the operator's balances with the known transfers. If a node omitted a deposit, bisects
 * to its block, proves it and stores its deposits.
 */
export class BalanceWatch {
  readonly #deps: ProveDepositsDeps
  readonly #prover: Pick<DepositProver, 'prove'>
  readonly #sent: SentTransfers
  #failures = 0
  #nextMs = Number.NEGATIVE_INFINITY

  constructor(deps: ProveDepositsDeps, prover: Pick<DepositProver, 'prove'>) {
    this.#deps = deps
    this.#prover = prover
    this.#sent = new SentTransfers(deps)
  }

  /** Throws RpcError on failure. */
  async look(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    const leftMs = this.#nextMs - clock()
    // A longer wait means that the clock was set back.
    if (leftMs > 0 && leftMs <= LOOK_AGAIN_MAX_MS) return
    try {
      await watchBalance(this.#deps, { prover: this.#prover, sent: this.#sent, signal })
      this.#failures = 0
    } catch (error) {
      this.#nextMs = clock() + Math.min(LOOK_AGAIN_MAX_MS, LOOK_AGAIN_MS * 2 ** this.#failures)
      this.#failures += 1
      throw error
    }
  }
}

async function watchBalance(
  deps: ProveDepositsDeps,
  look: {
    readonly prover: Pick<DepositProver, 'prove'>
    readonly sent: SentTransfers
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { prover, sent, signal } = look
  const { register, payment, sourceOf } = deps
  const chainId = payment.chain.id
  const source = sourceOf(chainId)
  const stored = await register.snapshot(async (reads) => ({
    position: await readPosition(reads, chainId),
    finalized: await readFinalized(reads, chainId),
    check: await readBalanceCheck(reads, chainId),
    backfill: await readBackfill(reads, chainId),
    unproven: await unprovenBlocks(reads, { chainId, first: 'oldest', limit: 1 }),
  }))
  const { check, finalized, position, backfill } = stored
  const isWhole = backfill === undefined
  const [unproven] = stored.unproven
  if (position === undefined || backfill?.datasets?.includes(DEPOSITS) === true) return
  // An unproven deposit may be made up, so stay below the oldest one.
  if (unproven !== undefined && !isWhole) return
  const proven = Math.min(position.number - DEPTH_BLOCKS, (unproven?.number ?? Infinity) - 1)
  const to = Math.max(0, proven)
  const payTo = nameOf(payment, isWhole)
  if (check?.payTo === payTo && to - check.block.number < EVERY_BLOCKS) return
  const last = check?.payTo === payTo ? await stillThere(source, check) : undefined
  const base =
    last ??
    (isWhole ? await beforeHistory(source, payment) : undefined) ??
    (await checkAt(source, payment, Math.min(finalized, to)))
  const now = await checkAt(source, payment, to)
  const search = new Search({ ...deps, source }, base, now, () =>
    sent.read({ after: base.block.number, to, finalized }, signal),
  )
  let unexplained: string | undefined
  for (let found = 0; ; found += 1) {
    if ((await search.differenceAt(to)) <= 0n) break
    if (found === FOUND_MAX) return
    const block = await search.find()
    if (block === undefined) {
      unexplained = `payTo holds ${await search.differenceAt(to)} base units of ${payment.symbol} more at block ${to} than its transfers since block ${base.block.number} explain`
      break
    }
    await prover.prove(block).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error)
      deps.report({ kind: 'unproven', blockNumber: block.number, reason })
      throw error
    })
  }
  const isOurs = await register.write(async (connection) => {
    if (!(await deps.isOurs(connection))) return false
    await storeBalanceCheck(connection, chainId, { ...now, payTo })
    return true
  })
  if (isOurs && unexplained !== undefined)
    deps.report({ kind: 'unexplained', blockNumber: to, reason: unexplained })
}

/** Undefined if the last check's block left the chain. */
async function stillThere(source: ChainSource, check: BalanceCheck) {
  const header = await source.header(check.block.number)
  return header?.hash === check.block.hash ? check : undefined
}

/** Undefined if no endpoint has that state. */
async function beforeHistory(source: ChainSource, payment: Payment): Promise<Base | undefined> {
  const number = payment.chain.startBlock - 1
  if (number < 0) return { block: { number }, held: 0n }
  try {
    return await checkAt(source, payment, number)
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}

interface Base {
  readonly block: { readonly number: number }
  readonly held: bigint
}

async function checkAt(source: ChainSource, payment: Payment, at: number) {
  const before = await source.header(at)
  const held = await heldAt(source, payment, at)
  const after = await source.header(at)
  if (before === undefined || before.hash !== after?.hash)
    throw new RpcError(`block ${at} changed while its balances were read`)
  return { block: before, held }
}

async function heldAt(source: ChainSource, { asset, payTo }: Payment, at: number): Promise<bigint> {
  let held = 0n
  for (const address of new Set(payTo.map((each) => each.address)))
    held += await askContract(source, asset, address, at)
  return held
}

/** During a backfill only new blocks are compared. */
function nameOf({ asset, payTo }: Payment, isWhole: boolean): string {
  const addresses = new Set(payTo.map((each) => each.address))
  return [asset, ...addresses, ...(isWhole ? [] : ['newest'])].join(' ')
}

interface SearchDeps extends Pick<ProveDepositsDeps, 'register' | 'payment'> {
  readonly source: ChainSource
}

/** Finds blocks whose deposits do not explain the balance, newest first. */
class Search {
  readonly #deps: SearchDeps
  readonly #base: Base
  readonly #now: Base
  readonly #readSent: () => Promise<readonly Step[]>
  readonly #tried = new Set<number>()
  #sent: Promise<readonly Step[]> | undefined

  constructor(deps: SearchDeps, base: Base, now: Base, readSent: () => Promise<readonly Step[]>) {
    this.#deps = deps
    this.#base = base
    this.#now = now
    this.#readSent = readSent
  }

  async differenceAt(block: number): Promise<bigint> {
    const { register, payment, source } = this.#deps
    const range = { after: this.#base.block.number, to: block }
    const received = await register.snapshot((reads) => receivedIn(reads, payment.chain.id, range))
    const held =
      block === this.#now.block.number ? this.#now.held : await heldAt(source, payment, block)
    // Outgoing transfers may exactly offset a missing deposit.
    this.#sent ??= this.#readSent()
    const sent = sumUpTo(await this.#sent, block)
    return held - this.#base.held - sumUpTo(received, block) + sent
  }

  /** Undefined if no candidate is left. */
  async find(): Promise<BlockHeader | undefined> {
    const { low, high } = await this.#narrow()
    for (let number = low + 1; number <= high; number += 1) {
      if (this.#tried.has(number)) continue
      this.#tried.add(number)
      return this.#deps.source.header(number)
    }
    return undefined
  }

  /**
   * Narrows the newest change to (`low`, `high`], a single block if the node has those states.
   * Steps double going back, because nodes drop old states first.
   */
  async #narrow(): Promise<{ readonly low: number; readonly high: number }> {
    const end = this.#now.block.number
    const whole = await this.differenceAt(end)
    let [low, high] = [this.#base.block.number, end]
    try {
      for (let step = 1; end - step > low; step *= 2) {
        if ((await this.differenceAt(end - step)) === whole) high = end - step
        else low = end - step
      }
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2)
        if ((await this.differenceAt(middle)) === whole) high = middle
        else low = middle
      }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      if (high - low > SEARCHED_MAX) return { low: high, high }
    }
    return { low, high }
  }
}

function sumUpTo(steps: readonly Step[], block: number): bigint {
  return steps.reduce((sum, step) => (step.block <= block ? sum + step.amount : sum), 0n)
}
