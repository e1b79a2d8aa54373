import { setTimeout as sleep } from 'node:timers/promises'
import type { ChainClient } from '#devnet/chain-client.ts'
import type { Chance } from '#test/chance.ts'
import { ask, makePremium, mintSoon, type Owner } from '../world/owner.ts'
import type { Recorder } from './record-call.ts'
import type { WhoCalls } from './who-calls.ts'

export interface OwnerLifeInput {
  readonly urls: readonly [string, ...string[]]
  readonly who: WhoCalls
  readonly owners: readonly Owner[]
  readonly base: ChainClient
  mine(blocks: number): Promise<void>
  readonly chance: Chance
  /** The largest payment, micro-USD. */
  readonly paymentMost: number
}

/** What owners have done, by deed. */
export type Deeds = ReadonlyMap<string, number>

const deeds = ['deposit', 'deposit', 'deposit', 'rotate', 'revoke', 'premium'] as const

/** Between two deeds, so that calls are what most of the time goes to. */
const PAUSE_MS = 50

/**
 * Deposits, rotates, revokes and changes tiers one deed after the other until told to stop, while the
 * callers go on; everybody learns of new keys at once, as if their owner had handed them out.
 */
export async function liveAsOwners(
  recorder: Recorder,
  input: OwnerLifeInput,
  stop: AbortSignal,
): Promise<Deeds> {
  const done = new Map<string, number>()
  const premium = new Set<Owner>()
  const ended = new Set<number>()
  for (let turn = 0; !stop.aborted; turn += 1) {
    const deed = deeds[turn % deeds.length] ?? 'deposit'
    const good = input.who.keys.filter((each) => !ended.has(each.caller))
    const key = good[input.chance.integer(0, good.length - 1)]
    if (key === undefined) throw new Error('no owner has a key left')
    if (deed === 'deposit') await deposit(recorder, input, key)
    else if (deed !== 'premium') {
      ended.add(key.caller)
      await endKey(recorder, input, { ...key, isRotation: deed === 'rotate' })
    } else if (premium.size < input.owners.length / 3) {
      premium.add(key.owner)
      await makePremium(input.base, key.owner)
      await input.mine(3)
    }
    done.set(deed, (done.get(deed) ?? 0) + 1)
    await sleep(PAUSE_MS)
  }
  return done
}

type HeldKey = WhoCalls['keys'][number]

/** Pays for a key and waits until the money is there. */
export async function deposit(
  { note }: Recorder,
  { urls, base, mine, chance, paymentMost }: Omit<OwnerLifeInput, 'who' | 'owners'>,
  { caller, owner, key }: HeldKey,
): Promise<void> {
  const url = chance.pick(urls)
  const microUsd = BigInt(chance.integer(Math.ceil(paymentMost / 10), paymentMost))
  const txHash = await owner.pay(base, microUsd)
  const id = await owner.claim(url, { key, txHash, microUsd })
  await mine(3)
  for (;;) {
    const record = await ask(`${url}/api/sessions/prepay/${id}?wait=10`, 200)
    if (record.verified) break
  }
  note({ type: 'funded', caller, microUsd: Number(microUsd), atMs: Date.now() })
}

/** The calls with the old key go on for a while: they must not be accepted for long. */
async function endKey(
  { note }: Recorder,
  { urls, who, chance }: OwnerLifeInput,
  { caller, owner, key, isRotation }: HeldKey & { readonly isRotation: boolean },
): Promise<void> {
  const url = chance.pick(urls)
  note({ type: 'ending', caller, atMs: Date.now() })
  if (isRotation) {
    const successor = who.addKey(owner, await owner.rotate(url, key))
    note({ type: 'ended', caller, successor, atMs: Date.now() })
  } else {
    await owner.revoke(url, key)
    note({ type: 'ended', caller, successor: undefined, atMs: Date.now() })
    who.addKey(owner, await mintSoon(owner, url))
  }
  // Longer than a replica may take to notice, so that the record holds refusals too.
  setTimeout(() => who.dropKey(caller), STOLEN_MS).unref()
}

/** So long a thief goes on with a key that was revoked. */
const STOLEN_MS = 1_500
