import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Address, Hash } from '#base/address.ts'
import type { BlockRef } from '#base/chain.ts'
import { hashHeader } from '#chain/parse-rpc.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { type Deposit, storeDeposits, writeScan } from '#payments/prepayments/deposits.ts'
import { readRpcRequest } from '#test/rpc-server.ts'

export const CONFIRMATIONS = 10
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

interface Block extends BlockRef {
  readonly header: object
  readonly deposits: readonly Deposit[]
}

/** Serves the headers of every chain of this process, each at a path of its own. */
const served: FakeChain[] = []
const server = createServer((incoming, outgoing) => {
  const chain = served[Number(incoming.url?.slice(1))]
  readRpcRequest(incoming)
    .then(({ calls, answerWith }) => {
      const answers = calls.map(({ id, method, params: [block] }) => {
        const result = method === 'eth_chainId' ? toHex(CHAIN_ID) : chain?.headerOf(block)
        return { jsonrpc: '2.0', id, result: result ?? null }
      })
      outgoing.setHeader('Content-Type', 'application/json').end(answerWith(answers))
    })
    .catch(() => outgoing.destroy())
})
server.listen(0, '127.0.0.1').unref()
await once(server, 'listening')

/** A chain in memory. Its deposits are written into accounts as a scan would leave them; a node serves its headers. */
export class FakeChain {
  /** Time of its head; far away unless given. */
  headUnix: number | undefined
  /** Whether nodes know no block. */
  isSilent = false
  readonly url: string
  readonly unproven = new Set<Hash>()
  covers: (logIndex: number) => boolean = () => true
  #blocks: readonly Block[] = [newBlock(0, 0, [])]
  #mined = 0
  readonly #written = new WeakMap<Engine, string>()
  readonly #uncovered = new Set<Hash>()

  constructor() {
    const { port } = server.address() as AddressInfo
    this.url = `http://127.0.0.1:${port}/${served.push(this) - 1}`
  }

  /** As a node gives it. */
  headerOf(block: unknown): object | undefined {
    if (this.isSilent) return undefined
    const found =
      block === 'latest' || block === 'safe' || block === 'finalized'
        ? this.#blocks.at(-1)
        : this.#blocks.find(({ number, hash }) => hash === block || number === Number(block))
    return found && { ...found.header, hash: found.hash, transactions: [] }
  }

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

  /** Writes what a scan of this chain knows. */
  async writeInto(accounts: Engine): Promise<void> {
    const head = this.#blocks.at(-1)
    if (head === undefined) return
    const deposits = this.#blocks
      .flatMap((block) => block.deposits)
      .filter(({ logIndex, txHash }) => this.covers(logIndex) && !this.#uncovered.has(txHash))
      .map((each) => ({ ...each, proven: !this.unproven.has(each.txHash) }))
    const state = JSON.stringify([
      ...[head.hash, this.headUnix, [...this.unproven]],
      deposits.map(({ txHash, logIndex }) => txHash + logIndex),
    ])
    if (this.#written.get(accounts) === state) return
    const { payment } = paidEcosystem()
    assert.ok(payment !== null)
    await accounts.write(async (tx) => {
      await tx.run(sql`delete from deposits`)
      await storeDeposits(tx, withPositions(deposits))
      const { number, hash } = head
      const timestamp = this.headUnix ?? FAR_UNIX
      const scan = { number, hash, timestamp, finalizedNumber: 0, rereadNumber: 0 }
      await writeScan(tx, payment, scan)
    })
    this.#written.set(accounts, state)
  }
}

/** Covered transfers are counted only. */
function withPositions(deposits: readonly Deposit[]): readonly Deposit[] {
  const positions = new Map<Hash, number>()
  return deposits.map((each) => {
    const positionInTx = positions.get(each.txHash) ?? 0
    positions.set(each.txHash, positionInTx + 1)
    return { ...each, positionInTx }
  })
}

/** The ecosystem of these tests; its nodes are those of the test. */
export function paidEcosystem(rpcUrls: readonly string[] = []): Ecosystem {
  const local = parseEcosystem('local', localEcosystem)
  assert.ok(local.payment !== null)
  const chain = { ...local.payment.chain, id: CHAIN_ID, rpcUrls }
  return { ...local, payment: { ...local.payment, chain, confirmations: CONFIRMATIONS } }
}

export const hash = (name: string): Hash => `0x${createHash('sha256').update(name).digest('hex')}`

const zeros = (length: number): Hash => `0x${'00'.repeat(length)}`

const HEADER = {
  ...{ parentHash: zeros(32), sha3Uncles: zeros(32), miner: zeros(20), stateRoot: zeros(32) },
  ...{ transactionsRoot: zeros(32), receiptsRoot: zeros(32), logsBloom: zeros(256) },
  ...{ difficulty: '0x0', gasLimit: '0x1', gasUsed: '0x0', mixHash: zeros(32), nonce: zeros(8) },
}

function newBlock(number: number, mined: number, transfers: readonly Transfer[]): Block {
  const timestampUnix = START_MS / 1000 + number * 2
  const header = {
    ...HEADER,
    number: toHex(number),
    timestamp: toHex(timestampUnix),
    // Two blocks of one height differ.
    extraData: `0x${mined.toString(16).padStart(8, '0')}`,
  }
  const blockHash = hashHeader(header)
  assert.ok(blockHash !== undefined)
  const deposits = transfers.map(({ tx, from, amount, logIndex }, index) => ({
    ...{ chainId: CHAIN_ID, blockNumber: number, blockHash, timestampUnix },
    ...{ txHash: hash(tx), logIndex: logIndex ?? index, positionInTx: 0 },
    ...{ sender: from, recipient: PAY_TO, amount, proven: true },
  }))
  return { number, hash: blockHash, header, deposits }
}

function toHex(number: number): string {
  return `0x${number.toString(16)}`
}
