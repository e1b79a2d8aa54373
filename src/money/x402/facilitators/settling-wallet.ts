import { LRUCache } from 'lru-cache'
import { keccak256 } from 'ox/Hash'
import type { PrivateKeyAccount } from 'viem/accounts'
import { NodeRefusal } from '#chains/chain/node-refusal.ts'
import type { Address, Hash } from '#domain/address.ts'
import { Mutex } from '#lib/async.ts'
import { greater } from '#lib/lesser.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { addGas } from '../settling/gas-days.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'
import { costMax, type Fees, readGasPrice, TRANSFER_GAS, toGwei } from './gas-price.ts'

/** 100 gwei; never sign more, whatever a node says. */
const FEE_PER_GAS_MAX = 100_000_000_000n

/** An unsent nonce this old blocks all later ones. */
const STUCK_MS = 60_000

/** Nodes behind one URL may differ by as much. What none knows after that was dropped. */
const LAG_MS = 2_000

/** More than payments are open at once. */
const SENT_MAX = 1_000

interface Deps {
  /** The leader's: no other process may send. */
  readonly engine: Engine
  readonly clock: Clock
  readonly rpc: Pick<SettlingRpc, 'gasPrice' | 'transactionCount' | 'send'>
  readonly account: Pick<PrivateKeyAccount, 'address' | 'signTransaction'>
  readonly chainId: number
  readonly asset: Address
  readonly gasPerDayGwei: bigint
}

interface Sent {
  readonly nonce: number
  readonly fees: Fees
  readonly atMs: number
}

/**
 * Sends calls of the asset from the operator's wallet, one after the other, with the node's pending
 * nonce. A call that is sent again replaces its own transaction while that is in no block.
 */
export class SettlingWallet {
  readonly address: Address
  readonly #deps: Deps
  readonly #oneByOne = new Mutex()
  /** What was sent, by call data. */
  readonly #sent = new LRUCache<Hash, Sent>({ max: SENT_MAX })
  #counted = { latest: -1, sinceMs: 0 }

  constructor(deps: Deps) {
    this.#deps = deps
    this.address = deps.account.address.toLowerCase() as Address
  }

  /** Throws if nothing was sent, for example over the day's gas. */
  send(data: Hash): Promise<Hash> {
    return this.#oneByOne.run(() => this.#sendNext(data))
  }

  async #sendNext(data: Hash): Promise<Hash> {
    const { rpc, account, chainId, asset } = this.#deps
    const [price, latest, pending] = await Promise.all([
      readGasPrice(rpc),
      rpc.transactionCount(this.address, 'latest'),
      rpc.transactionCount(this.address, 'pending'),
    ])
    const before = this.#ownOf(data, { latest, pending })
    const nonce = before?.nonce ?? this.#nextNonce(latest, pending)
    const isTaken = before === undefined && nonce < pending
    const fees = raised(price, before?.fees ?? (isTaken ? price : undefined))
    if (fees.maxFeePerGas > FEE_PER_GAS_MAX)
      throw new Error('the gas price exceeds the limit of 100 gwei')
    await this.#count(toGwei(costMax(fees)))
    const raw = await account.signTransaction({
      ...{ type: 'eip1559', chainId, nonce, to: asset, data, gas: TRANSFER_GAS },
      maxFeePerGas: fees.maxFeePerGas,
      maxPriorityFeePerGas: fees.maxPriorityFeePerGas,
    })
    const txHash = await this.#broadcast(raw)
    this.#sent.set(data, { nonce, fees, atMs: this.#deps.clock() })
    return txHash
  }

  /** A transaction of this very call that is in no block yet, and next or in the mempool. */
  #ownOf(
    data: Hash,
    { latest, pending }: { readonly latest: number; readonly pending: number },
  ): Sent | undefined {
    const sent = this.#sent.get(data)
    return sent !== undefined && sent.nonce >= latest && sent.nonce <= pending ? sent : undefined
  }

  #nextNonce(latest: number, pending: number): number {
    const now = this.#deps.clock()
    if (this.#counted.latest !== latest) this.#counted = { latest, sinceMs: now }
    const isStuck = pending > latest && now - this.#counted.sinceMs >= STUCK_MS
    if (isStuck && !this.#sentWithin(STUCK_MS).has(latest)) {
      for (const [data, { nonce }] of [...this.#sent.entries()])
        if (nonce === latest) this.#sent.delete(data)
      return latest
    }
    const held = this.#sentWithin(LAG_MS)
    let nonce = pending
    while (held.has(nonce)) nonce += 1
    return nonce
  }

  #sentWithin(ms: number): ReadonlySet<number> {
    const sinceMs = this.#deps.clock() - ms
    const young = [...this.#sent.values()].filter(({ atMs }) => atMs > sinceMs)
    return new Set(young.map(({ nonce }) => nonce))
  }

  /** The most that it may cost. In the leader's transaction: a process that lost the lead sends nothing more. */
  async #count(gwei: bigint): Promise<void> {
    const { engine, clock, gasPerDayGwei: ceilingGwei } = this.#deps
    const day = startOfDay(unixNow(clock))
    const fits = await engine.write((connection) => addGas(connection, { day, gwei, ceilingGwei }))
    if (!fits) throw new Error("the day's gas is used up")
  }

  /** Only a refusal by the node that was asked first, for such a reason, proves that none took it. */
  async #broadcast(raw: `0x${string}`): Promise<Hash> {
    try {
      await this.#deps.rpc.send(raw)
    } catch (error) {
      const isFirst = error instanceof NodeRefusal && error.cause === undefined
      if (isFirst && NEVER_TAKEN.test(error.message)) throw error
    }
    return keccak256(raw)
  }
}

const NEVER_TAKEN =
  /insufficient funds|intrinsic gas|max fee per gas|fee cap|exceeds the configured cap/i

/** Nodes require at least 10 % more of both fees to replace a transaction. */
function raised(price: Fees, before: Fees | undefined): Fees {
  if (before === undefined) return price
  const more = (fee: bigint) => fee + fee / 8n + 1n
  return {
    maxFeePerGas: greater(price.maxFeePerGas, more(before.maxFeePerGas)),
    maxPriorityFeePerGas: greater(price.maxPriorityFeePerGas, more(before.maxPriorityFeePerGas)),
  }
}
