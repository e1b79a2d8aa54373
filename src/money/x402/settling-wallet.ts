import { LRUCache } from 'lru-cache'
import { keccak256 } from 'ox/Hash'
import type { PrivateKeyAccount } from 'viem/accounts'
import { NodeRefusal } from '#chains/chain/node-refusal.ts'
import type { Context } from '#context.ts'
import type { Address, Hash } from '#domain/address.ts'
import { type MicroUsd, multiplyDivide } from '#domain/money.ts'
import { Mutex, sleep } from '#lib/async.ts'
import { greater, lesser } from '#lib/lesser.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import type { Reads } from '#money/payments/claim.ts'
import { column, sql } from '#store/sql.ts'
import { lockReservations } from './payment.ts'
import type { SettlingRpc } from './settling-rpc.ts'

/**
 * USDC takes up to 103,000, a contract wallet with a few owners 50,000 more. Simulations have no more
 * either, so that a wallet cannot spend more than they show.
 */
export const TRANSFER_GAS = 200_000n

/** The first transfer to a wallet; later ones cost less. */
const TRANSFER_GAS_USUAL = 103_000n

/** A settlement usually costs at most one such part of the smallest offer. */
const COST_SHARE = 10n

/** 100 gwei; never sign more, whatever a node says. */
const FEE_PER_GAS_MAX = 100_000_000_000n

/** An unsent nonce this old blocks all later ones. */
const STUCK_MS = 60_000

/** Nodes behind one URL may differ by as much. What none knows after that was dropped. */
const LAG_MS = 2_000

/** More than payments are open at once. */
const SENT_MAX = 1_000

interface WalletSetting {
  readonly rpc: Pick<SettlingRpc, 'gasPrice' | 'transactionCount' | 'send' | 'balance'>
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
  readonly #ctx: Pick<Context, 'accounts' | 'clock'>
  readonly #setting: WalletSetting
  readonly #oneByOne = new Mutex()
  /** What was sent, by call data. */
  readonly #sent = new LRUCache<Hash, Sent>({ max: SENT_MAX })
  #counted = { latest: -1, sinceMs: 0 }

  constructor(ctx: Pick<Context, 'accounts' | 'clock'>, setting: WalletSetting) {
    this.#ctx = ctx
    this.#setting = setting
    this.address = setting.account.address.toLowerCase() as Address
  }

  /** Throws if nothing was sent, for example over the day's gas. */
  send(data: Hash): Promise<Hash> {
    return this.#oneByOne.run(() => aloneAmongProcesses(this.#ctx, () => this.#sendNext(data)))
  }

  /** Whether it can pay, the day has gas left, and gas is cheap enough for the smallest offer. */
  async canPay(smallest: MicroUsd, etherUsd: number): Promise<boolean> {
    const { rpc, gasPerDayGwei } = this.#setting
    const today = startOfDay(unixNow(this.#ctx.clock))
    const [price, balance, usedGwei] = await Promise.all([
      readGasPrice(rpc),
      rpc.balance(this.address),
      gasOfDay({ run: this.#ctx.accounts.read }, today),
    ])
    const cost = costMax(price)
    const usual = TRANSFER_GAS_USUAL * price.usualFeePerGas
    const usualUsd = multiplyDivide(usual, BigInt(etherUsd) * 1_000_000n, 10n ** 18n)
    return (
      balance >= cost &&
      usedGwei + toGwei(cost) <= gasPerDayGwei &&
      usualUsd * COST_SHARE <= smallest
    )
  }

  async #sendNext(data: Hash): Promise<Hash> {
    const { rpc, account, chainId, asset } = this.#setting
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
    this.#sent.set(data, { nonce, fees, atMs: this.#ctx.clock() })
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
    const now = this.#ctx.clock()
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
    const sinceMs = this.#ctx.clock() - ms
    const young = [...this.#sent.values()].filter(({ atMs }) => atMs > sinceMs)
    return new Set(young.map(({ nonce }) => nonce))
  }

  /** Counts the most that it may cost, before it is sent. */
  async #count(gwei: bigint): Promise<void> {
    const { gasPerDayGwei } = this.#setting
    const day = startOfDay(unixNow(this.#ctx.clock))
    const fits = await this.#ctx.accounts.write(async (connection) => {
      await lockReservations(connection)
      const used = await gasOfDay(connection, day)
      if (used + gwei > gasPerDayGwei) return false
      await connection.run(sql`
        update x402_facilitator set gas_day = ${day}, gas_gwei = ${used + gwei} where id = 1`)
      return true
    })
    if (!fits) throw new Error("the day's gas is used up")
  }

  /** Only a refusal by the node that was asked first, for such a reason, proves that none took it. */
  async #broadcast(raw: `0x${string}`): Promise<Hash> {
    try {
      await this.#setting.rpc.send(raw)
    } catch (error) {
      const isFirst = error instanceof NodeRefusal && error.cause === undefined
      if (isFirst && NEVER_TAKEN.test(error.message)) throw error
    }
    return keccak256(raw)
  }
}

const NEVER_TAKEN =
  /insufficient funds|intrinsic gas|max fee per gas|fee cap|exceeds the configured cap/i

/** Any constant that no other advisory lock of the database uses. */
const LOCK_KEY = 5_398_020

/** A request waits ten seconds in all. */
const LOCK_WAIT_MS = 8_000

const LOCK_POLL_MS = 50

/** On PostgreSQL the lock is on a connection of its own, so no transaction is open while a node answers. */
async function aloneAmongProcesses<T>(
  { accounts }: Pick<Context, 'accounts'>,
  work: () => Promise<T>,
): Promise<T> {
  if (accounts.lock === undefined) return work()
  const untilMs = performance.now() + LOCK_WAIT_MS
  do {
    const lock = await accounts.lock(LOCK_KEY)
    if (lock !== undefined)
      try {
        return await work()
      } finally {
        await lock.release()
      }
    await sleep(LOCK_POLL_MS)
  } while (performance.now() < untilMs)
  throw new Error('another process holds the settling wallet')
}

/** Gas of a UTC day in gwei: the most that its transactions may cost. */
export async function gasOfDay(reads: Reads, day: number): Promise<bigint> {
  const [row] = await reads.run(sql`
    select gas_gwei from x402_facilitator where id = 1 and gas_day = ${day}`)
  return row === undefined ? 0n : column.amount(row, 'gas_gwei')
}

interface Fees {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

interface GasPrice extends Fees {
  readonly usualFeePerGas: bigint
}

/** A zero tip is dropped when the mempool is full. */
const TIP_MIN = 1_000_000n

/** It rises by at most 1/8 per block: twice the fee lasts six full blocks. */
const BASE_FEE_ROOM = 2n

/** Caps the node's tip at the base fee. */
async function readGasPrice(rpc: Pick<SettlingRpc, 'gasPrice'>): Promise<GasPrice> {
  const { baseFee, tip } = await rpc.gasPrice()
  const maxPriorityFeePerGas = lesser(greater(tip, TIP_MIN), greater(baseFee, TIP_MIN))
  return {
    maxFeePerGas: BASE_FEE_ROOM * baseFee + maxPriorityFeePerGas,
    maxPriorityFeePerGas,
    usualFeePerGas: baseFee + maxPriorityFeePerGas,
  }
}

function costMax({ maxFeePerGas }: Fees): bigint {
  return TRANSFER_GAS * maxFeePerGas
}

const GWEI = 1_000_000_000n

function toGwei(wei: bigint): bigint {
  return (wei + GWEI - 1n) / GWEI
}

/** Nodes require at least 10 % more of both fees to replace a transaction. */
function raised(price: Fees, before: Fees | undefined): Fees {
  if (before === undefined) return price
  const more = (fee: bigint) => fee + fee / 8n + 1n
  return {
    maxFeePerGas: greater(price.maxFeePerGas, more(before.maxFeePerGas)),
    maxPriorityFeePerGas: greater(price.maxPriorityFeePerGas, more(before.maxPriorityFeePerGas)),
  }
}
