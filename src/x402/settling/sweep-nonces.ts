import type { Address } from '#domain/address.ts'
import { unixNow } from '#lib/time.ts'
import { toGwei } from '../offers/gas-price.ts'
import type { CreditDeps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { correctGas, lockSettler, type SettlerName } from './settler-store.ts'
import { sendStored } from './submit-intent.ts'
import {
  closeNonce,
  intentsBelowNonce,
  intentsFromNonce,
  knownHashes,
  settlersUnderWay,
} from './transaction-store.ts'

type Deps = Pick<CreditDeps, 'engine' | 'clock' | 'rpc' | 'payment'> & {
  report(error: unknown): void
}

/** Nodes hold at least this many per account. */
const SENT_PER_PASS_MAX = 16

/** The request sends it first. */
const SENT_SECONDS = 2

const CLOSED_PER_PASS_MAX = 100

/** Without our receipt by then, another program has the key. */
const RECEIPT_SECONDS = 3_600

/**
 * Resends until every assigned nonce is used, because a gap would block all later ones. Then frees
 * the gas reservation.
 */
export async function sweepNonces(deps: Deps): Promise<void> {
  const chainId = deps.payment.chain.id
  for (const settler of await settlersUnderWay({ run: deps.engine.read }, chainId)) {
    await sendWaiting(deps, { chainId, settler })
    await closeUsed(deps, { chainId, settler })
  }
}

async function sendWaiting(deps: Deps, name: SettlerName): Promise<void> {
  const from = await deps.rpc.transactionCount(name.settler)
  const page = { ...name, from, limit: SENT_PER_PASS_MAX }
  const now = unixNow(deps.clock)
  for (const intent of await intentsFromNonce({ run: deps.engine.read }, page))
    if (now - intent.createdUnix >= SENT_SECONDS) await sendStored(deps, intent)
}

async function closeUsed(deps: Deps, name: SettlerName): Promise<void> {
  const head = await deps.rpc.header('latest')
  if (head === undefined) return
  const deep = Math.max(0, head.number - deps.payment.confirmations)
  const below = await deps.rpc.transactionCount(name.settler, deep)
  const page = { ...name, below, limit: CLOSED_PER_PASS_MAX }
  for (const intent of await intentsBelowNonce({ run: deps.engine.read }, page)) {
    const paidWei = await gasOf(deps, name.settler, intent)
    if (paidWei === undefined) continue
    const paidGwei = toGwei(paidWei)
    await deps.engine.write(async (connection) => {
      await lockSettler(connection, name)
      if (!(await closeNonce(connection, { intent, paidGwei }))) return
      const lessGwei = intent.reservedGwei - paidGwei
      await correctGas(connection, name, { day: intent.gasDay, lessGwei })
    })
  }
}

async function gasOf(deps: Deps, settler: Address, intent: Intent): Promise<bigint | undefined> {
  for (const txHash of await knownHashes({ run: deps.engine.read }, intent)) {
    const receipt = await deps.rpc.receipt(txHash)
    if (receipt?.from === settler) return receipt.paidWei
  }
  return unixNow(deps.clock) - intent.createdUnix >= RECEIPT_SECONDS ? 0n : undefined
}
