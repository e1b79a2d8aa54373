import { getSelector as getTopic } from 'ox/AbiEvent'
import { decodeData, getSelector, from as parseFunction } from 'ox/AbiFunction'
import { keccak256 } from 'ox/Hash'
import type { Address, Hash } from '#base/address.ts'
import type { BlockRef } from '#base/chain.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import type { LogFilter, ProvenBlock, SourceLog } from '#chain/chain-source.ts'
import { EndpointError, NodeRefusal } from '#chain/rpc-error.ts'
import { toTopic } from '#payments/prepayments/deposits.ts'
import type { Authorization } from '#payments/x402/payload.ts'
import type { SettlingRpc } from '#payments/x402/settlement.ts'

export interface Act {
  readonly kind: 'use' | 'cancel' | 'transfer'
  readonly authorization: Authorization
}

type Part = Pick<SourceLog, 'topics' | 'data'>

interface Transaction {
  readonly txHash: Hash
  readonly from: Address
  readonly succeeded: boolean
  readonly parts: readonly Part[]
}

interface Block {
  readonly timestamp: number
  readonly fork: number
  readonly transactions: Transaction[]
}

interface Sent {
  readonly txHash: Hash
  readonly authorization: Authorization
}

const STRANGER: Address = `0x${'99'.repeat(20)}`

/**
 * A chain in memory with a faulty node. It has one asset, one relayer and two-second blocks, and accepts every signature.
 */
export class ScriptedChain {
  lagBlocks = 0
  provesNothing = false
  isDown = false
  hidesLogs = false
  logBlocksMax = Number.POSITIVE_INFINITY
  readonly sent: Hash[] = []
  readonly #asset: Address
  readonly #relayer: Address
  readonly #funds = new Map<Address, bigint>()
  #blocks: Block[]
  #pool: Sent[] = []
  #forks = 0

  constructor(input: {
    readonly asset: Address
    readonly relayer: Address
    readonly startUnix: number
  }) {
    this.#asset = input.asset
    this.#relayer = input.relayer
    this.#blocks = [{ timestamp: input.startUnix, fork: 0, transactions: [] }]
  }

  get nowUnix(): number {
    return this.#blocks.at(-1)?.timestamp ?? 0
  }

  get blockNumber(): number {
    return this.#blocks.length - 1
  }

  fund(payer: Address, amount: bigint): void {
    this.#funds.set(payer, amount)
  }

  mine(blocks = 1, others: readonly (readonly Act[])[] = []): void {
    for (let n = 0; n < blocks; n += 1) {
      const block = { timestamp: this.nowUnix + 2, fork: this.#forks, transactions: [] }
      this.#blocks.push(block)
      if (n === 0) for (const acts of others) this.#runOther(block, acts)
      this.#runPool(block)
    }
  }

  /** Empties the newest blocks and clears the mempool. */
  reorg(depth: number): void {
    this.#forks += 1
    this.#blocks = this.#blocks.slice(0, -depth)
    this.dropPool()
    this.mine(depth)
  }

  dropPool(): void {
    this.#pool = []
  }

  readonly rpc: SettlingRpc = {
    gasPrice: () => Promise.reject(new Error('only facilitators pay gas')),
    balance: () => Promise.reject(new Error('only facilitators pay gas')),
    transactionCount: () => Promise.reject(new Error('only facilitators send')),
    send: () => Promise.reject(new Error('only facilitators send')),
    code: () => this.#answer(() => '0x01'),
    call: ({ data, at }) => this.#answer(() => this.#call(data, this.#until(at))),
    receipt: (txHash) => this.#answer(() => this.#receipt(txHash)),
    isKnown: (txHash) => this.#answer(() => this.#isKnown(txHash)),
    header: (at) =>
      this.#answer(() => this.#header(typeof at === 'number' ? at : this.#blocks.length - 1)),
    logs: (filter, from, to) => this.#answer(() => this.#logs(filter, from, to)),
    provenBlock: (ref) => this.#answer(() => this.#proven(ref)),
  }

  async #answer<T>(look: () => T): Promise<T> {
    if (this.isDown) throw new Error('no node answers')
    return look()
  }

  get #head(): number {
    return Math.max(0, this.#blocks.length - 1 - this.lagBlocks)
  }

  #until(at = this.#head): readonly Block[] {
    if (at > this.#head) throw new NodeRefusal(-32_000, 'header not found')
    return this.#blocks.slice(0, at + 1)
  }

  #call(data: Hash, blocks: readonly Block[]): Hash {
    if (data.startsWith(getSelector(STATE))) {
      const [payer, nonce] = decodeData(STATE, data)
      return toWord(isUsed(blocks, lower(payer), nonce) ? 1n : 0n)
    }
    if (data.startsWith(getSelector(SIGNED))) return `0x1626ba7e${'0'.repeat(56)}`
    return toWord(this.#balance(blocks, lower(decodeData(BALANCE, data)[0])))
  }

  /** Whether it would move the money now. */
  wouldSucceed(authorization: Authorization): boolean {
    const blocks = this.#until()
    return this.#succeeds(blocks, authorization, blocks.at(-1)?.timestamp ?? 0)
  }

  #balance(blocks: readonly Block[], payer: Address): bigint {
    const spent = partsOf(blocks)
      .filter(({ topics }) => topics[0] === TRANSFER_TOPIC && topics[1] === toTopic(payer))
      .reduce((sum, { data }) => sum + BigInt(data), 0n)
    return (this.#funds.get(payer) ?? 0n) - spent
  }

  #succeeds(blocks: readonly Block[], authorization: Authorization, timestamp: number): boolean {
    const { from, nonce, value, validBefore } = authorization
    return (
      !isUsed(blocks, from, nonce) &&
      this.#balance(blocks, from) >= value &&
      BigInt(timestamp) < validBefore
    )
  }

  /** Takes a transfer into the mempool. */
  send(authorization: Authorization): Hash {
    const txHash = keccak256(toWord(BigInt(7_000_000_000 + this.sent.length)))
    this.sent.push(txHash)
    this.#pool.push({ txHash, authorization })
    return txHash
  }

  #runPool(block: Block): void {
    for (const { txHash, authorization } of this.#pool) {
      const succeeded = this.#succeeds(this.#blocks, authorization, block.timestamp)
      const parts = succeeded ? partsOfAct({ kind: 'use', authorization }) : []
      block.transactions.push({ txHash, from: this.#relayer, succeeded, parts })
    }
    this.dropPool()
  }

  #runOther(block: Block, acts: readonly Act[]): void {
    const seed = 1_000_000 * this.#blocks.length + 1_000 * block.transactions.length + block.fork
    const txHash = keccak256(toWord(BigInt(seed)))
    const parts = acts.flatMap(partsOfAct)
    block.transactions.push({ txHash, from: STRANGER, succeeded: true, parts })
  }

  #receipt(txHash: Hash): Awaited<ReturnType<SettlingRpc['receipt']>> {
    const blocks = this.#until()
    for (const [blockNumber, { transactions }] of blocks.entries()) {
      const found = transactions.find((each) => each.txHash === txHash)
      if (found === undefined) continue
      const blockHash = this.#hash(blockNumber)
      const logs = this.#logsOf(blockNumber).filter((log) => log.txHash === txHash)
      return { blockNumber, blockHash, logs }
    }
    return undefined
  }

  #isKnown(txHash: Hash): boolean {
    if (this.#receipt(txHash) !== undefined) return true
    return this.#pool.some((each) => each.txHash === txHash)
  }

  #header(number: number): Awaited<ReturnType<SettlingRpc['header']>> {
    const block = this.#blocks[number]
    if (block === undefined) return undefined
    const parentHash = this.#hash(Math.max(0, number - 1))
    const hash = this.#hash(number)
    return { number, hash, parentHash, timestamp: block.timestamp, logsBloom: '0x' }
  }

  #proven({ number, hash }: BlockRef): ProvenBlock {
    const header = this.#header(number)
    if (this.provesNothing || header?.hash !== hash)
      throw new EndpointError('unproven', `block ${number} cannot be proven`)
    const logs = this.#logsOf(number).map((log) => ({ ...log, timestamp: header.timestamp }))
    return { header, logs }
  }

  #logs({ topics }: LogFilter, fromBlock: number, toBlock: number): readonly SourceLog[] {
    if (toBlock - fromBlock >= this.logBlocksMax)
      throw new NodeRefusal(-32_000, 'block range too large')
    if (this.hidesLogs) return []
    return this.#until()
      .flatMap((_, number) => (number < fromBlock || number > toBlock ? [] : this.#logsOf(number)))
      .filter((log) => topics.every((each, n) => each?.includes(log.topics[n] ?? '0x')))
  }

  #logsOf(blockNumber: number): readonly SourceLog[] {
    const block = this.#blocks[blockNumber]
    const all = block?.transactions.flatMap(({ txHash, parts }) =>
      parts.map((part) => ({ txHash, ...part })),
    )
    return (all ?? []).map((part, logIndex) => ({
      ...part,
      chainId: 8453,
      blockNumber,
      blockHash: this.#hash(blockNumber),
      timestamp: block?.timestamp ?? null,
      txIndex: 0,
      logIndex,
      address: this.#asset,
    }))
  }

  #hash(blockNumber: number): Hash {
    return keccak256(toWord(BigInt(blockNumber * 1_000 + (this.#blocks[blockNumber]?.fork ?? 0))))
  }
}

const USED = getTopic('event AuthorizationUsed(address indexed, bytes32 indexed)')
const CANCELLED = getTopic('event AuthorizationCanceled(address indexed, bytes32 indexed)')
const STATE = parseFunction('function authorizationState(address, bytes32) view returns (bool)')
const SIGNED = parseFunction('function isValidSignature(bytes32, bytes) view returns (bytes4)')
const BALANCE = parseFunction('function balanceOf(address) view returns (uint256)')
function partsOf(blocks: readonly Block[]): readonly Part[] {
  return blocks.flatMap(({ transactions }) => transactions.flatMap(({ parts }) => parts))
}

function isUsed(blocks: readonly Block[], payer: Address, nonce: Hash): boolean {
  return partsOf(blocks).some(
    ({ topics }) =>
      topics[0] !== TRANSFER_TOPIC && topics[1] === toTopic(payer) && topics[2] === nonce,
  )
}

function partsOfAct({ kind, authorization }: Act): Part[] {
  const { from, to, value, nonce } = authorization
  const moved = { topics: [TRANSFER_TOPIC, toTopic(from), toTopic(to)], data: toWord(value) }
  const ended = kind === 'cancel' ? CANCELLED : USED
  const noted: Part = { topics: [ended, toTopic(from), nonce], data: '0x' }
  if (kind === 'transfer') return [moved]
  return kind === 'cancel' ? [noted] : [noted, moved]
}

function lower(address: Address): Address {
  return `0x${address.slice(2).toLowerCase()}`
}

function toWord(value: bigint): Hash {
  return `0x${value.toString(16).padStart(64, '0')}`
}
