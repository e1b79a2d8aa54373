import { fromString } from 'ox/Hex'
import { getSignPayload } from 'ox/PersonalMessage'
import { verifyPayerProof } from '#accounts/keys/message.ts'
import { createFailureGuard } from '#accounts/metering/abuse-guard.ts'
import type { Address, Hash } from '#base/address.ts'
import { type FailureGuard, isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import type { Clock } from '#base/time.ts'
import { askContractWallet, type WalletAnswer, type WalletNode } from '#chain/contract-signature.ts'
import { type Context, oncePerContext } from '#context.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import { openSettlingRpc } from '#payments/x402/settling-rpc.ts'
import { findProof, type Proof } from './claim.ts'
import { listLiveCredits, logName } from './credit.ts'
import { readDeposits } from './deposits.ts'

interface Posted {
  readonly publicId: string
  readonly txHash: Hash
  readonly payerAddress: Address
  readonly message: string
  readonly signature: string
}

/** A contract wallet's signature: `0x` alone where its owners approved the text on chain; 2,048 bytes hold about thirty of theirs. */
const CONTRACT_SIGNATURE = /^0x(?:[0-9a-f]{2}){0,2048}$/i

/** Accepts a proof that the payer's key signed, or else the payer's contract. */
export async function checkProof(
  ctx: Context,
  posted: Posted,
  asker: Asker,
): Promise<Proof | Refusal> {
  const { message, signature } = posted
  const named = { ...posted, chainId: requirePayment(ctx).chain.id }
  const byKey = { ...named, byContract: false, freshness: 'required' } as const
  const refused = await verifyPayerProof(ctx, byKey)
  if (refused === undefined) return { message, signature, byContract: false }
  const mayBeContracts =
    refused.code.startsWith('invalid_signature') || refused.code === 'message_expired'
  if (!mayBeContracts || !CONTRACT_SIGNATURE.test(signature)) return refused
  const text = await verifyPayerProof(ctx, { ...named, byContract: true, freshness: 'day' })
  if (text !== undefined) return refused.code === 'message_expired' ? refused : text
  return checkByContract(ctx, { posted, refused }, asker)
}

/** Asks nodes only about a deposit of the payer that is read and not yet claimed. */
async function checkByContract(
  ctx: Context,
  { posted, refused }: { readonly posted: Posted; readonly refused: Refusal },
  asker: Asker,
): Promise<Proof | Refusal> {
  const { payerAddress, message, signature } = posted
  const proof: Proof = { message, signature, byContract: true }
  const stored = await findProof({ run: ctx.accounts.read }, posted)
  if (stored?.message === message && stored.signature === signature) return proof
  const waits = await waitsForProof(ctx, posted)
  if (isRefusal(waits)) return waits
  if (!waits)
    return {
      ...refused,
      message: `${refused.message}; a contract wallet posts its proof once the transfer is seen (status confirming or unlinked)`,
    }
  const asked = { payerAddress, message, signature: `0x${signature.slice(2)}` } as const
  const answer = await getContractProofs(ctx).ask(asked, asker)
  if (answer === 'signed') return proof
  if (answer === 'undeployed')
    return {
      ...refused,
      message: `${refused.message}, and no contract is deployed at payerAddress`,
    }
  if (answer === 'unsigned')
    return refuse('invalid_signature', 'payerMessage was not signed by payerAddress')
  return answer
}

async function waitsForProof(
  ctx: Context,
  { txHash, payerAddress }: Posted,
): Promise<boolean | Refusal> {
  const known = await ctx.accounts.snapshot((reads) =>
    readDeposits(reads, requirePayment(ctx), { txHashes: [txHash] }),
  )
  if (known === undefined)
    return refuse('data_not_ready', 'cannot read deposits; retry', { retryAfterSeconds: 10 })
  const credits = await listLiveCredits({ run: ctx.accounts.read }, [txHash])
  const credited = new Set(credits.map(logName))
  return known.deposits.some(
    (each) => each.txHash === txHash && each.from === payerAddress && !credited.has(logName(each)),
  )
}

/** A Safe uses about 7,000 per owner. */
const GAS = 500_000n

const ASKINGS_AT_ONCE = 4
const ASKINGS_PER_MINUTE = 20

/** Total time limit; the first node gets half, so that others can be asked if it is silent. */
const WAIT_MS = 3_000
const FIRST_WAIT_MS = 1_500

interface ProofRequest {
  readonly payerAddress: Address
  readonly message: string
  readonly signature: `0x${string}`
}

export interface Asker {
  readonly addressBucket: string
  readonly signal: AbortSignal
}

type Voice = WalletAnswer | 'silent'

/** Asks contract wallets whether they signed (ERC-1271), under one limit for all callers. */
export class ContractProofs {
  readonly #nodes: readonly WalletNode[]
  readonly #clock: Clock
  /** Counts failed proofs by client address, so that one client cannot use up everyone's limit. */
  readonly #guard: FailureGuard
  #underWay = 0
  #startedMs: number[] = []

  constructor(nodes: readonly WalletNode[], clock: Clock, guard: FailureGuard) {
    this.#nodes = nodes
    this.#clock = clock
    this.#guard = guard
  }

  /** Returns the answer on which the nodes agree, because it decides which key gets the money. */
  async ask(
    asked: ProofRequest,
    { addressBucket, signal }: Asker,
  ): Promise<WalletAnswer | Refusal> {
    const limited = this.#guard.refusal(addressBucket)
    if (limited !== undefined) return limited
    const nowMs = this.#clock()
    this.#startedMs = this.#startedMs.filter((ms) => ms <= nowMs && ms > nowMs - 60_000)
    if (this.#underWay >= ASKINGS_AT_ONCE || this.#startedMs.length >= ASKINGS_PER_MINUTE)
      return notReady('too many proofs of contract wallets at once; post it again soon')
    this.#startedMs.push(nowMs)
    this.#underWay += 1
    try {
      const nodes = this.#nodes
      const answer = judge(await hear(nodes, asked, signal), Math.min(2, nodes.length))
      if (answer === 'unsigned' || answer === 'undeployed') this.#guard.failed(addressBucket)
      return answer
    } finally {
      this.#underWay -= 1
    }
  }
}

/** Asks a second node if the first has no contract, because the first may be a block behind. */
async function hear(
  [first, ...others]: readonly WalletNode[],
  { payerAddress: wallet, message, signature }: ProofRequest,
  signal: AbortSignal,
): Promise<readonly Voice[]> {
  if (first === undefined) return []
  const ends = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)])
  const digest = getSignPayload(fromString(message))
  const ask = (node: WalletNode, until: AbortSignal): Promise<Voice> =>
    askContractWallet(node, { wallet, digest, signature, gas: GAS, signal: until }).catch(
      () => 'silent',
    )
  const voice = await ask(first, AbortSignal.any([ends, AbortSignal.timeout(FIRST_WAIT_MS)]))
  const next = voice === 'undeployed' ? others.slice(0, 1) : others
  return [voice, ...(await Promise.all(next.map((node) => ask(node, ends))))]
}

function judge(voices: readonly Voice[], signersMin: number): WalletAnswer | Refusal {
  const heard = voices.filter((voice) => voice !== 'silent')
  const [answer] = heard
  if (answer === undefined || (answer === 'signed' && heard.length < signersMin))
    return notReady('too few nodes answer whether this contract wallet signed')
  if (heard.some((voice) => voice !== answer))
    return notReady('the nodes disagree on whether this contract wallet signed')
  return answer
}

function notReady(message: string): Refusal {
  return refuse('data_not_ready', message, { retryAfterSeconds: 10 })
}

const getContractProofs = oncePerContext((ctx) => {
  const { id, rpcUrls } = requirePayment(ctx).chain
  const nodes = rpcUrls.map((url) => openSettlingRpc({ id, rpcUrls: [url] }))
  const guard = createFailureGuard({
    clock: ctx.clock,
    limit: { burst: 5, refillPerSecond: 1 / 12 },
    message: 'too many proofs were not signed; post one again in a minute',
  })
  return new ContractProofs(nodes, ctx.clock, guard)
})
