import { createHash } from 'node:crypto'
import type { Address, Hash } from '#domain/address.ts'
import type { CanonicalDeposits, Deposit, DepositQuery } from '#domain/deposit.ts'
import type { DepositIndex } from '#money/payments/deposit.ts'

export const CHAIN_ID = 8453
export const START_MS = Date.UTC(2026, 10, 21, 12)
const PAY_TO: Address = `0x${'99'.repeat(20)}`

export interface Transfer {
  readonly tx: string
  readonly from: Address
  readonly amount: bigint
  /** Its place in the block unless given. */
  readonly logIndex?: number
}

type Mined = Omit<Deposit, 'positionInTx' | 'proven'>

export class FakeChain implements DepositIndex {
  headUnix: number | undefined
  completeFromBlock = 0
  isSilent = false
  readonly unproven = new Set<Hash>()
  covers: (logIndex: number) => boolean = () => true
  #blocks: { readonly hash: Hash; readonly deposits: readonly Mined[] }[] = [
    { hash: hash('genesis'), deposits: [] },
  ]
  #mined = 0
  readonly #uncovered = new Set<Hash>()

  get height(): number {
    return this.#blocks.length - 1
  }

  mine(transfers: readonly Transfer[] = []): void {
    this.#mined += 1
    const blockNumber = this.#blocks.length
    const blockHash = hash(`block ${blockNumber} ${this.#mined}`)
    const deposits = transfers.map(({ tx, from, amount, logIndex }, index) => ({
      chainId: CHAIN_ID,
      blockNumber,
      blockHash,
      timestampUnix: START_MS / 1000 + blockNumber * 2,
      txHash: hash(tx),
      logIndex: logIndex ?? index,
      from,
      to: PAY_TO,
      amount,
    }))
    this.#blocks.push({ hash: blockHash, deposits })
  }

  mineEmpty(count: number): void {
    for (let n = 0; n < count; n += 1) this.mine()
  }

  drop(count: number): void {
    this.#blocks = this.#blocks.slice(0, this.#blocks.length - count)
  }

  async blockHash(number: number): Promise<Hash | undefined> {
    return this.isSilent ? undefined : this.#blocks[number]?.hash
  }

  /** Hides transfers from the index; their block stays canonical. */
  uncover(tx: string): void {
    this.#uncovered.add(hash(tx))
  }

  async canonical(query: DepositQuery): Promise<CanonicalDeposits> {
    const all = this.#blocks
      .flatMap((block) => block.deposits)
      .filter((deposit) => deposit.blockNumber >= this.completeFromBlock)
      .filter((deposit) => !this.#uncovered.has(deposit.txHash))
    const covered = all.filter(({ logIndex }) => this.covers(logIndex))
    const positions = positionsOf(covered)
    const deposits = chosen(covered, query, positions).map((deposit) => ({
      ...deposit,
      positionInTx: positions.get(deposit) ?? 0,
      proven: !this.unproven.has(deposit.txHash),
    }))
    const timestamp = this.headUnix ?? Number.POSITIVE_INFINITY
    const newest = this.#blocks.at(-1)?.hash ?? hash('genesis')
    const head = { number: this.height, hash: newest, timestamp }
    const isComplete = this.completeFromBlock === 0
    return { head, completeFromBlock: this.completeFromBlock, isComplete, deposits }
  }
}

export const hash = (name: string): Hash => `0x${createHash('sha256').update(name).digest('hex')}`

function positionsOf(mined: readonly Mined[]): ReadonlyMap<Mined, number> {
  const ofTx = Map.groupBy(mined, ({ txHash, blockHash }) => `${txHash} ${blockHash}`)
  return new Map(
    [...ofTx.values()].flatMap((logs) => [...logs.entries()].map(([n, log]) => [log, n])),
  )
}

function chosen(
  all: readonly Mined[],
  query: DepositQuery,
  positions: ReadonlyMap<Mined, number>,
): readonly Mined[] {
  if ('sinceBlock' in query) return all.filter((each) => each.blockNumber >= query.sinceBlock)
  if ('txHashes' in query) return all.filter((each) => query.txHashes.includes(each.txHash))
  const { blockNumber, txHash, positionInTx } = query.after
  const last = all.findIndex(
    (each) =>
      each.blockNumber === blockNumber &&
      each.txHash === txHash &&
      positions.get(each) === positionInTx,
  )
  return all.slice(last + 1, last + 1 + query.limit)
}
