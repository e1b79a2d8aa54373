import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { type DepositFact, storeDeposits } from '#chains/datasets/deposits/deposits.ts'
import { movePosition, storeBlocks } from '#chains/indexer/positions.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { BlockHeader } from '#domain/chain.ts'
import { chunks } from '#lib/chunks.ts'
import { type Connection, type Engine, StoreError } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, sql } from '#store/sql.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { makeFile } from '#test/store/each-engine.ts'

export const CHAIN_ID = 8453
export const START_MS = Date.UTC(2026, 10, 21, 12)
const FAR_UNIX = 10 ** 12
const PAY_TO: Address = `0x${'99'.repeat(20)}`

export interface Transfer {
  readonly tx: string
  readonly from: Address
  readonly amount: bigint
  /** Its place in the block unless given. */
  readonly logIndex?: number
}

interface Block extends BlockHeader {
  readonly deposits: readonly DepositFact[]
}

/** One register for all chains and tests of a process: the chain that is read is written into it first. */
const shared: { engine: Engine | undefined; chain: FakeChain | undefined } = {
  engine: undefined,
  chain: undefined,
}

async function openShared(): Promise<Engine> {
  if (shared.engine !== undefined) return shared.engine
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'register.sqlite')
  await makeFile(file, registerMigrations)
  shared.engine = openSqlite({ file, durability: 'normal' })
  return shared.engine
}

/** A chain in memory, and the register of an index that has read it. */
export class FakeChain {
  /** Time of its head; far away unless given. */
  headUnix: number | undefined
  /** Whether the register cannot be read. */
  isAway = false
  /** Whether neither index nor nodes know blocks. */
  isSilent = false
  readonly unproven = new Set<Hash>()
  covers: (logIndex: number) => boolean = () => true
  #blocks: readonly Block[] = [newBlock(0, 0, [])]
  #mined = 0
  #written: string | undefined
  readonly #uncovered = new Set<Hash>()

  get height(): number {
    return this.#blocks.length - 1
  }

  mine(transfers: readonly Transfer[] = []): void {
    this.#mined += 1
    this.#blocks = [...this.#blocks, newBlock(this.#blocks.length, this.#mined, transfers)]
  }

  mineEmpty(count: number): void {
    const [first, mined] = [this.#blocks.length, this.#mined + 1]
    const blocks = Array.from({ length: count }, (_, n) => newBlock(first + n, mined + n, []))
    this.#blocks = [...this.#blocks, ...blocks]
    this.#mined += count
  }

  drop(count: number): void {
    this.#blocks = this.#blocks.slice(0, this.#blocks.length - count)
  }

  /** Hides transfers from the index; their block stays canonical. */
  uncover(tx: string): void {
    this.#uncovered.add(hash(tx))
  }

  /** As the index left it when it is read. */
  readonly register: Engine = new Proxy({} as Engine, {
    get: (_, name) => {
      if (name !== 'snapshot') throw new Error(`no test uses ${String(name)} of this register`)
      return async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
        if (this.isAway) throw new StoreError('the index is away')
        const engine = await openShared()
        await this.#write(engine)
        return engine.snapshot(work)
      }
    },
  })

  async #write(engine: Engine): Promise<void> {
    const head = this.#blocks.at(-1)
    if (head === undefined) return
    const deposits = this.#blocks
      .flatMap((block) => block.deposits)
      .filter(({ log }) => this.covers(log.logIndex))
      .filter(({ log }) => !this.#uncovered.has(log.txHash))
    const state = JSON.stringify([
      ...[head.hash, this.headUnix, this.isSilent, [...this.unproven]],
      deposits.map(({ log }) => log.txHash + log.logIndex),
    ])
    if (shared.chain === this && this.#written === state) return
    await engine.write(async (tx) => {
      await tx.run(sql`delete from deposits`)
      await tx.run(sql`delete from blocks`)
      await storeDeposits(tx, deposits)
      await tx.run(sql`update deposits set proven = 1`)
      for (const txHash of this.unproven)
        await tx.run(sql`update deposits set proven = 0 where tx_hash = ${txHash}`)
      for (const part of this.isSilent ? [] : chunks(this.#blocks, ROWS_PER_STATEMENT))
        await storeBlocks(tx, CHAIN_ID, part)
      const to = { ...head, timestamp: this.headUnix ?? FAR_UNIX }
      const tip = { head, safe: head.number, finalized: head.number }
      await movePosition(tx, { chainId: CHAIN_ID, to, tip, finalizedNumber: 0 })
    })
    shared.chain = this
    this.#written = state
  }
}

export const hash = (name: string): Hash => `0x${createHash('sha256').update(name).digest('hex')}`

function newBlock(number: number, mined: number, transfers: readonly Transfer[]): Block {
  const block = {
    ...{
      number,
      hash: hash(`block ${number} ${mined}`),
      parentHash: hash('parent'),
      logsBloom: null,
    },
    timestamp: START_MS / 1000 + number * 2,
  }
  const transactions = [...new Set(transfers.map(({ tx }) => tx))]
  const deposits = transfers.map(({ tx, from, amount, logIndex }, index) => ({
    log: {
      chainId: CHAIN_ID,
      address: PAY_TO,
      topics: [],
      data: '0x' as const,
      blockNumber: number,
      blockHash: block.hash,
      timestamp: block.timestamp,
      txHash: hash(tx),
      ...{ txIndex: transactions.indexOf(tx), logIndex: logIndex ?? index },
    },
    ...{ sender: from, recipient: PAY_TO, amount },
  }))
  return { ...block, deposits }
}
