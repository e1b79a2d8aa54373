import { readFile } from 'node:fs/promises'
import { x402Facilitator } from '@x402/core/facilitator'
import type { FacilitatorClient } from '@x402/core/server'
import type { FacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { keccak256 } from 'ox/Hash'
import { concatHex, decodeFunctionResult, encodeFunctionData } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type Address, type Hash, parseAddress, parseHash } from '#base/address.ts'
import { Mutex, sleep, TtlCache } from '#base/async.ts'
import { isObject, type JsonObject } from '#base/json.ts'
import { greater, lesser, type MicroUsd, multiplyDivide } from '#base/money.ts'
import { startOfDay, unixNow } from '#base/time.ts'
import { openPost } from '#chain/endpoints/json-rpc.ts'
import { NodeRefusal } from '#chain/rpc-error.ts'
import { ConfigError } from '#config.ts'
import { type Context, oncePerContext, reportError } from '#context.ts'
import { column, sql } from '#db/sql.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import type { Reads } from '#payments/prepayments/deposits.ts'
import { OFFERS, requirePayment, toCaip2, toListing } from './offer.ts'
import { lockReservations } from './payment.ts'
import { openSettlingRpc, type PaidChain, type SettlingRpc } from './settlement.ts'

/** What a process settles payments with: a facilitator in this process, or an external one. */
export interface Settling extends PaidChain {
  /** Our own settling wallet; undefined if another service settles. */
  readonly wallet: Address | undefined
  /** The library's interface. Its answers are hints; the chain decides. */
  readonly client: Pick<FacilitatorClient, 'verify' | 'settle'>
  /** Whether a payment of the smallest offer could be settled now. */
  isReady(): Promise<boolean>
  /** How long a request waits for settlement. */
  readonly waitMs: number
}

/** Returns undefined where payments are not settled. Throws ConfigError if the file and the settings disagree. */
export function readSettlingSetting({ ecosystem, config }: Pick<Context, 'ecosystem' | 'config'>) {
  const { payment } = ecosystem
  const { keyFile, headersFile, gasPerDayGwei = 0 } = config.settling ?? {}
  if (payment === null && keyFile !== undefined)
    throw new ConfigError(
      'SEXTON_SETTLING_KEY_FILE: the ecosystem file has no "payment"; add it, or unset the variable',
    )
  const url = payment?.settle?.facilitator
  if (url !== undefined && keyFile !== undefined)
    throw new ConfigError(
      'SEXTON_SETTLING_KEY_FILE: the ecosystem file names a facilitator in "payment.settle"; keep one of them',
    )
  if (url === undefined && headersFile !== undefined)
    throw new ConfigError(
      'SEXTON_FACILITATOR_HEADERS_FILE: the ecosystem file names no facilitator in "payment.settle"; add it, or unset the variable',
    )
  if (url !== undefined) return { kind: 'facilitator', url, headersFile } as const
  if (keyFile === undefined) return undefined
  return { kind: 'wallet', keyFile, gasPerDayGwei } as const
}

/** Clients wait about ten seconds. */
const WAIT_MS = 10_000

/** Undefined where payments are not settled. Rejects with ConfigError. */
export const getSettling = oncePerContext(async (ctx): Promise<Settling | undefined> => {
  const setting = readSettlingSetting(ctx)
  if (setting === undefined) return undefined
  const payment = requirePayment(ctx)
  const rpc = openSettlingRpc(payment.chain)
  const facilitator =
    setting.kind === 'wallet'
      ? await embeddedFacilitator(ctx, setting, rpc)
      : httpFacilitator(ctx, setting.url, setting.headersFile)
  const settling = { rpc, payment, ...facilitator, waitMs: WAIT_MS }
  const answers = new TtlCache<boolean>({ max: 1, ttlMs: READY_MS, clock: ctx.clock })
  return { ...settling, isReady: () => answers.get('', () => askReady(ctx, settling)) }
})

/** Interval at which a facilitator and a node are asked again. */
export const READY_MS = 30_000

/** Whether payments can be settled now; otherwise they are not offered. */
async function askReady(ctx: Context, settling: Settling): Promise<boolean> {
  try {
    const head = await settling.rpc.header('latest')
    if (head === undefined) return false
    // Without proofs every payment would stay pending.
    await settling.rpc.provenBlock(head)
    return await settling.isReady()
  } catch (error) {
    reportError(ctx, error)
    return false
  }
}

/** Settling includes the wait for a block. If the answer comes later, the chain shows the result. */
const FACILITATOR_TIMEOUT_MS = 10_000

/** Settles with any x402 facilitator over its HTTP interface (x402 v2, section 7). */
function httpFacilitator(ctx: Context, url: string, headersFile: string | undefined) {
  const { accepts: _, ...listing } = toListing(ctx)
  const network = toCaip2(requirePayment(ctx).chain.id)
  /** Unlike the library's client, follows no redirect with keys and payments, bounds answers, and logs nothing of them. */
  const askAt = (path: string) => {
    const post = openPost(`${url.replace(/\/+$/, '')}/${path}`)
    return async (payload?: object, paymentRequirements?: object): Promise<JsonObject> => {
      const asked = { x402Version: 2, paymentPayload: { ...payload, ...listing } }
      const text = JSON.stringify({ ...asked, paymentRequirements })
      // Read for each request, so that a token can be replaced.
      const headers = headersFile && parseHeaders(await readFile(headersFile, 'utf8'))
      const options = { timeoutMs: FACILITATOR_TIMEOUT_MS, ...(headers && { headers }) }
      const { status, body } = await post(payload && text, options)
      const answer: unknown = await new Response(body).json().catch(() => undefined)
      // A refused payment may come as 4xx.
      if (isObject(answer) && (status < 300 || payload !== undefined)) return answer
      throw new Error(`the facilitator's /${path} answers HTTP ${status}, not 200 with JSON`)
    }
  }
  const [verify, settle] = [askAt('verify'), askAt('settle')]
  const readSupported = askAt('supported')
  return {
    wallet: undefined,
    client: {
      async verify(payload, requirements) {
        const { isValid, invalidReason } = await verify(payload, requirements)
        if (typeof isValid !== 'boolean') throw new Error("the facilitator's /verify lacks isValid")
        return { isValid, invalidReason: toCode(invalidReason) }
      },
      async settle(payload, requirements) {
        const { success, transaction, errorReason } = await settle(payload, requirements)
        return {
          success: success === true,
          transaction: String(transaction),
          network,
          errorReason: toCode(errorReason),
        }
      },
    } satisfies Settling['client'],
    async isReady() {
      const { kinds } = await readSupported()
      const isSupported = (kind: unknown) =>
        isObject(kind) &&
        kind.x402Version === 2 &&
        kind.scheme === 'exact' &&
        kind.network === network
      if (Array.isArray(kinds) && kinds.some(isSupported)) return true
      throw new Error(`the facilitator does not settle scheme exact on ${network}`)
    },
  }
}

/** Any other text may repeat what was sent, keys included. */
function toCode(reason: unknown): string {
  return typeof reason === 'string' && /^[a-z0-9_]{1,100}$/.test(reason) ? reason : 'unknown'
}

/** Parses lines of `Name: value`. */
function parseHeaders(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (!lines.every((line) => /^[^:\s]+:/.test(line)))
    throw new Error('SEXTON_FACILITATOR_HEADERS_FILE: each line must be "Name: value"')
  return Object.fromEntries(lines.map((line) => line.split(/:(.*)/).map((part) => part.trim())))
}

/** Runs the library's facilitator in this process, with the operator's wallet. Throws ConfigError without a private key. */
async function embeddedFacilitator(
  ctx: Context,
  setting: { readonly keyFile: string; readonly gasPerDayGwei: number },
  rpc: SettlingRpc,
) {
  const payment = requirePayment(ctx)
  const account = privateKeyToAccount(await readKey(setting.keyFile))
  const wallet = openWallet(ctx, rpc, account, BigInt(setting.gasPerDayGwei))
  const signer = evmSigner(rpc, wallet, payment)
  const scheme = new ExactEvmScheme(signer, { pendingSettlementStore: NO_PENDING_STORE })
  const client = new x402Facilitator().register(toCaip2(payment.chain.id), scheme)
  return { client, wallet: wallet.address, isReady: () => wallet.canPay(OFFERS[0]) }
}

/** Our own table remembers pending payments; the library's would block a resend for five minutes. */
const NO_PENDING_STORE = {
  get: async () => undefined,
  set: async () => undefined,
  delete: async () => undefined,
}

async function readKey(file: string): Promise<`0x${string}`> {
  const name = 'SEXTON_SETTLING_KEY_FILE'
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ConfigError(`${name}: cannot read this file; check its permissions`, { cause })
  })
  const privateKey = parseHash(text.trim())
  if (privateKey === undefined)
    throw new ConfigError(`${name}: the file must contain a private key, 0x and 64 hex digits`)
  return privateKey
}

/** Adapts the wallet to the library's facilitator. It sends only transfers of the configured asset to the configured recipients. */
export function evmSigner(
  rpc: Pick<SettlingRpc, 'call' | 'code'>,
  wallet: Pick<SettlingWallet, 'address' | 'send'>,
  { asset, payTo }: Pick<Payment, 'asset' | 'payTo'>,
): FacilitatorEvmSigner {
  return {
    getAddresses: () => [wallet.address],
    async readContract({ address, abi, functionName, args = [] }) {
      const data = encodeFunctionData({ abi, functionName, args })
      const answer = await rpc.call({ from: wallet.address, to: address, data, gas: TRANSFER_GAS })
      return decodeFunctionResult({ abi, functionName, data: answer })
    },
    async writeContract({ address, abi, functionName, args, dataSuffix = '0x' }) {
      const to = parseAddress(String(args[1]))
      if (parseAddress(address) !== asset || functionName !== 'transferWithAuthorization')
        return refuse()
      if (to === undefined || !payTo.some((each) => each.address === to))
        throw new Error('a settling wallet pays the configured payTo wallets only')
      const data = encodeFunctionData({ abi, functionName, args })
      return wallet.send(concatHex([data, dataSuffix]))
    },
    /** The library then answers `settlement_pending`, and the paying request waits by itself. */
    async waitForTransactionReceipt({ hash }) {
      throw new Error(`${hash} is sent`)
    },
    getCode: ({ address }) => rpc.code(address),
    sendTransaction: refuse,
    verifyTypedData: refuse,
  }
}

/** We do not offer to deploy wallets, and `exact` checks signatures by itself. */
async function refuse(): Promise<never> {
  throw new Error('a settling wallet only sends transfers of the asset')
}

/**
 * USDC takes up to 103,000, and a contract wallet with a few owners 50,000 more. Simulations get the same limit, so
 * that a wallet cannot spend more than they show.
 */
const TRANSFER_GAS = 200_000n

/** The first transfer to a wallet costs this; later ones cost less. */
const TRANSFER_GAS_USUAL = 103_000n

/** Converts gas to dollars, which bounds the cost of a settlement. */
const ETHER_USD = 5_000n

/** A settlement may usually cost one tenth of the smallest offer. */
const COST_SHARE = 10n

/** 100 gwei. Never signs a higher fee, whatever a node says. */
const FEE_PER_GAS_MAX = 100_000_000_000n

/** Age at which a pending nonce is replaced. */
const STUCK_MS = 60_000

/** Lag between nodes behind one URL; a transaction that is unknown for longer was dropped. */
const LAG_MS = 2_000

export type SettlingWallet = ReturnType<typeof openWallet>

/** Sends calls of the asset from the operator's wallet one after the other, with the node's pending nonce. */
export function openWallet(
  ctx: Context,
  rpc: Pick<SettlingRpc, 'gasPrice' | 'transactionCount' | 'send' | 'balance'>,
  account: Pick<PrivateKeyAccount, 'address' | 'signTransaction'>,
  gasPerDayGwei: bigint,
) {
  const { accounts, clock } = ctx
  const { asset, chain } = requirePayment(ctx)
  const address = account.address.toLowerCase() as Address
  const oneByOne = new Mutex()
  let last = { nonce: -1, atMs: Number.NEGATIVE_INFINITY }
  /** The lowest pending nonce, and since when it blocks. */
  let blocking: { readonly nonce: number; readonly sinceMs: number } | undefined

  async function sendNext(data: Hash): Promise<Hash> {
    const [price, latest, pending] = await Promise.all([
      rpc.gasPrice(),
      rpc.transactionCount(address, 'latest'),
      rpc.transactionCount(address, 'pending'),
    ])
    const nonce = nextNonce(latest, pending)
    const { maxFeePerGas, maxPriorityFeePerGas, cost } = computeFees(price, nonce < pending)
    if (maxFeePerGas > FEE_PER_GAS_MAX)
      throw new Error('the gas price exceeds the limit of 100 gwei')
    await count(toGwei(cost))
    const raw = await account.signTransaction({
      ...{ type: 'eip1559', chainId: chain.id, nonce, to: asset, data, gas: TRANSFER_GAS },
      ...{ maxFeePerGas, maxPriorityFeePerGas },
    })
    try {
      await rpc.send(raw)
    } catch (error) {
      // Only a refusal by the first node, for one of these reasons, proves that no node accepted it.
      const isFirst = error instanceof NodeRefusal && error.cause === undefined
      if (isFirst && NEVER_TAKEN.test(error.message)) throw error
    }
    last = { nonce, atMs: clock() }
    return keccak256(raw)
  }

  /** Returns the pending nonce, or the next one while nodes lag; a stuck one is replaced. */
  function nextNonce(latest: number, pending: number): number {
    const now = clock()
    if (pending <= latest) blocking = undefined
    else if (blocking?.nonce !== latest) blocking = { nonce: latest, sinceMs: now }
    else if (Math.abs(now - blocking.sinceMs) >= STUCK_MS) {
      blocking = { nonce: latest, sinceMs: now }
      return latest
    }
    const isLagging = last.nonce >= pending && Math.abs(now - last.atMs) < LAG_MS
    return isLagging ? last.nonce + 1 : pending
  }

  /** Counts the maximum cost before sending. */
  async function count(gwei: bigint): Promise<void> {
    const day = startOfDay(unixNow(clock))
    const fits = await accounts.write(async (connection) => {
      await lockReservations(connection)
      const used = await gasOfDay(connection, day)
      if (used + gwei > gasPerDayGwei) return false
      await connection.run(sql`
        update x402_facilitator set gas_day = ${day}, gas_gwei = ${used + gwei} where id = 1`)
      return true
    })
    if (!fits) throw new Error("the day's gas is used up")
  }

  return {
    address,
    /** Throws if nothing was sent, for example beyond the day's gas. */
    send: (data: Hash) => oneByOne.run(() => aloneAmongProcesses(ctx, () => sendNext(data))),
    /** Whether the wallet can pay, the day has gas left, and gas is cheap enough for the smallest offer. */
    async canPay(smallest: MicroUsd): Promise<boolean> {
      const [price, balance, usedGwei] = await Promise.all([
        rpc.gasPrice(),
        rpc.balance(address),
        gasOfDay({ run: accounts.read }, startOfDay(unixNow(clock))),
      ])
      const { cost, usualFeePerGas } = computeFees(price)
      const usual = TRANSFER_GAS_USUAL * usualFeePerGas
      const usualUsd = multiplyDivide(usual, ETHER_USD * 1_000_000n, 10n ** 18n)
      return (
        balance >= cost &&
        usedGwei + toGwei(cost) <= gasPerDayGwei &&
        usualUsd * COST_SHARE <= smallest
      )
    },
  }
}

const NEVER_TAKEN =
  /insufficient funds|intrinsic gas|max fee per gas|fee cap|exceeds the configured cap/i

/** An arbitrary constant that no other advisory lock of the database uses. */
const LOCK_KEY = 5_398_020

/** Less than the ten seconds that a request waits. */
const LOCK_WAIT_MS = 8_000

const LOCK_POLL_MS = 50

/** On PostgreSQL, holds the lock on its own connection, so that no transaction is open while a node answers. */
async function aloneAmongProcesses<T>({ accounts }: Context, work: () => Promise<T>): Promise<T> {
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

/** Returns a UTC day's gas in gwei: the most that its transactions may cost. */
export async function gasOfDay(reads: Reads, day: number): Promise<bigint> {
  const [row] = await reads.run(sql`
    select gas_gwei from x402_facilitator where id = 1 and gas_day = ${day}`)
  return row === undefined ? 0n : column.amount(row, 'gas_gwei')
}

/** A zero tip is dropped when the mempool is full. */
const TIP_MIN = 1_000_000n

/** The base fee rises by at most 1/8 per block, so twice the fee lasts six full blocks. */
const BASE_FEE_ROOM = 2n

type GasPrice = Awaited<ReturnType<SettlingRpc['gasPrice']>>

/** Caps the node's tip at the base fee. Nodes require at least 10 % more of both fees to replace a transaction. */
function computeFees({ baseFee, tip }: GasPrice, isReplacing = false) {
  const priorityFee = lesser(greater(tip, TIP_MIN), greater(baseFee, TIP_MIN))
  const raised = (fee: bigint) => (isReplacing ? fee + fee / 8n + 1n : fee)
  const maxFeePerGas = raised(BASE_FEE_ROOM * baseFee + priorityFee)
  return {
    maxFeePerGas,
    maxPriorityFeePerGas: raised(priorityFee),
    usualFeePerGas: baseFee + priorityFee,
    /** The maximum cost of one transfer, in wei. */
    cost: TRANSFER_GAS * maxFeePerGas,
  }
}

const GWEI = 1_000_000_000n

function toGwei(wei: bigint): bigint {
  return (wei + GWEI - 1n) / GWEI
}
