import type { ChainSource } from '#chains/chain/chain-source.ts'
import { matches } from '#chains/chain/follow.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { DecodeError } from '#chains/ecosystem/event-arguments.ts'
import type { BlockRef, Log } from '#domain/chain.ts'
import { allEnded } from '#lib/async.ts'
import { chunks } from '#lib/chunks.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { type DepositFact, depositFilter, readDeposit } from '../deposits.ts'
import { applyProof, noteUnproven, type UnprovenBlock, unprovenBlocks } from './deposit-proofs.ts'

export interface ProveDepositsDeps {
  readonly register: Engine
  readonly payment: Payment
  readonly clock: Clock
  readonly source: Pick<ChainSource, 'header' | 'provenBlock'>
  report(news: {
    readonly kind: 'corrected' | 'unproven'
    readonly blockNumber: number
    readonly reason: string
  }): void
}

/** Bounded, because history may have thousands of blocks with deposits. */
const BLOCKS_PER_LOOK = 16

/** The newest first, because payers wait; the rest keeps old ones from starving. */
const OLDEST_PER_LOOK = BLOCKS_PER_LOOK / 2

/** Each may download a megabyte. */
const AT_ONCE = 4

/** Limits log lines: if one block cannot be proven, most cannot. */
const REPORT_MS = 10_000

const TRY_AGAIN_MS = 1_000
const TRY_AGAIN_MAX_MS = 60_000

export class DepositProver {
  readonly #deps: ProveDepositsDeps
  readonly #retries = new Map<string, { readonly tries: number; readonly atMs: number }>()
  #reportedMs = Number.NEGATIVE_INFINITY

  constructor(deps: ProveDepositsDeps) {
    this.#deps = deps
  }

  async proveStored(signal: AbortSignal): Promise<void> {
    for (const part of chunks(await this.#dueBlocks(), AT_ONCE)) {
      if (signal.aborted) return
      await allEnded(part.map((block) => this.#proveOrNote(block)))
    }
  }

  /** Proves the newest first. */
  async #dueBlocks(): Promise<readonly UnprovenBlock[]> {
    const { register, payment, clock } = this.#deps
    const chainId = payment.chain.id
    const limit = BLOCKS_PER_LOOK + this.#retries.size
    const [newest, oldest] = await register.snapshot((reads) =>
      allEnded([
        unprovenBlocks(reads, { chainId, first: 'newest', limit }),
        unprovenBlocks(reads, { chainId, first: 'oldest', limit }),
      ]),
    )
    this.#forgetOthers([...newest, ...oldest])
    const nowMs = clock()
    const isDue = ({ hash }: UnprovenBlock) => (this.#retries.get(hash)?.atMs ?? 0) <= nowMs
    const old = oldest.filter(isDue).slice(0, OLDEST_PER_LOOK)
    const isOld = new Set(old.map(({ hash }) => hash))
    const young = newest.filter((block) => isDue(block) && !isOld.has(block.hash))
    return [...young.slice(0, BLOCKS_PER_LOOK - old.length), ...old]
  }

  /** Stores exactly the block's deposits; throws RpcError if it cannot be proven. */
  async prove(block: BlockRef): Promise<void> {
    const { register, payment, report } = this.#deps
    const facts = await provenDeposits(this.#deps, block)
    const chainId = payment.chain.id
    const outcome = await register.write((connection) =>
      applyProof(connection, { chainId, block, facts }),
    )
    if (outcome === 'corrected')
      report({
        kind: 'corrected',
        blockNumber: block.number,
        reason:
          'a node reported wrong deposits for this block; they were replaced by the proven ones',
      })
  }

  async #proveOrNote(block: UnprovenBlock): Promise<void> {
    const { register, payment, report, clock } = this.#deps
    try {
      await this.prove(block)
      this.#retries.delete(block.hash)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const tries = (this.#retries.get(block.hash)?.tries ?? 0) + 1
      const pauseMs = Math.min(TRY_AGAIN_MAX_MS, TRY_AGAIN_MS * 2 ** (tries - 1))
      this.#retries.set(block.hash, { tries, atMs: clock() + pauseMs })
      const reason = error.message.slice(0, REASON_MAX)
      if (reason === block.reason) return
      await register.write((connection) =>
        noteUnproven(connection, { chainId: payment.chain.id, block, reason }),
      )
      if (clock() - this.#reportedMs < REPORT_MS) return
      this.#reportedMs = clock()
      report({ kind: 'unproven', blockNumber: block.number, reason })
    }
  }

  #forgetOthers(waiting: readonly UnprovenBlock[]): void {
    const hashes = new Set<string>(waiting.map(({ hash }) => hash))
    for (const hash of this.#retries.keys()) if (!hashes.has(hash)) this.#retries.delete(hash)
  }
}

const REASON_MAX = 500

async function provenDeposits(
  { payment, source }: ProveDepositsDeps,
  ref: BlockRef,
): Promise<readonly DepositFact[]> {
  const [header, { logs }] = await allEnded([source.header(ref.number), source.provenBlock(ref)])
  // An orphaned sibling can be proven too.
  if (header?.hash !== ref.hash)
    throw new RpcError(`block ${ref.number} is ${header?.hash ?? 'not known'}, not ${ref.hash}`)
  const filter = depositFilter(payment)
  return logs.filter((log) => matches(filter, log)).flatMap(readable)
}

function readable(log: Log): readonly DepositFact[] {
  try {
    return readDeposit(log)
  } catch (error) {
    if (error instanceof DecodeError) return []
    throw error
  }
}
