import { fromString } from 'ox/Hex'
import { getSignPayload } from 'ox/PersonalMessage'
import {
  askContractWallet,
  type WalletAnswer,
  type WalletNode,
} from '#chains/chain/contract-signature.ts'
import type { Address } from '#domain/address.ts'
import { type FailureGuard, type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'

/** An owner of a Safe takes some 7,000. */
const GAS = 500_000n

const ASKINGS_AT_ONCE = 4
const ASKINGS_PER_MINUTE = 20

/** An asking ends after this; the first node has half, so that the others are asked if it is silent. */
const WAIT_MS = 3_000
const FIRST_WAIT_MS = 1_500

export interface ProofRequest {
  readonly payerAddress: Address
  readonly message: string
  readonly signature: `0x${string}`
}

export interface Asker {
  readonly addressBucket: string
  readonly signal: AbortSignal
}

type Voice = WalletAnswer | 'silent'

/** Asks contract wallets whether they signed (ERC-1271), with one limit for all callers. */
export class ContractProofs {
  readonly #nodes: readonly WalletNode[]
  readonly #clock: Clock
  /** Counts unsigned proofs by client address, so that one client cannot use up the limit of all. */
  readonly #guard: FailureGuard
  #underWay = 0
  #startedMs: number[] = []

  constructor(nodes: readonly WalletNode[], clock: Clock, guard: FailureGuard) {
    this.#nodes = nodes
    this.#clock = clock
    this.#guard = guard
  }

  /** The answer on which the nodes agree. Their word decides which key the money goes to. */
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

/** Without a contract at the first node, one more is asked: the first may be a block behind. */
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
