import { ask, mintSoon, type OwnedKey, type Owner, UnexpectedAnswer } from '../world/owner.ts'

/** The steps of a story, in their order; each changes the accounts. */
export const steps = [
  'free call',
  'mint',
  'claim',
  'credit',
  'paid call',
  'rotate',
  'paid call of the rotated key',
  'revoke',
] as const

export type Step = (typeof steps)[number]

/** What the service was asked to do, and what it said was done. */
export interface KeyStory {
  /** Steps whose request was sent. */
  readonly begun: ReadonlySet<Step>
  /** Steps whose answer was read. */
  readonly done: ReadonlySet<Step>
  /** The key that had the one free call, and what became of it. */
  readonly first: OwnedKey
  readonly minted: OwnedKey | undefined
  readonly rotated: OwnedKey | undefined
  readonly prepaymentId: string | undefined
}

export interface StoryInput {
  readonly url: string
  readonly owner: Owner
  /** A key of a wallet with a quota of one call. */
  readonly first: OwnedKey
  /** A payment of the owner that nobody has claimed. */
  readonly txHash: string
  readonly microUsd: bigint
}

interface Progress {
  begun: Set<Step>
  done: Set<Step>
  minted?: OwnedKey
  rotated?: OwnedKey
  prepaymentId?: string
}

/** Lives the story until its end or until the service dies. */
export async function liveStory(input: StoryInput): Promise<KeyStory> {
  const progress: Progress = { begun: new Set(), done: new Set() }
  try {
    await live(input, progress)
  } catch (error) {
    // Whatever the service said is kept; only an answer that it must not give is a failure.
    if (error instanceof UnexpectedAnswer) throw error
  }
  const { begun, done, minted, rotated, prepaymentId } = progress
  return { begun, done, first: input.first, minted, rotated, prepaymentId }
}

async function live(input: StoryInput, progress: Progress): Promise<void> {
  const { url, owner, first, txHash, microUsd } = input
  const step = async <T>(name: Step, work: () => Promise<T>): Promise<T> => {
    progress.begun.add(name)
    const result = await work()
    progress.done.add(name)
    return result
  }
  await step('free call', () => callAs(url, first, 'quota'))
  progress.minted = await step('mint', () => mintSoon(owner, url))
  progress.prepaymentId = await step('claim', () =>
    owner.claim(url, { key: first, txHash, microUsd }),
  )
  await step('credit', () => untilVerified(url, progress.prepaymentId))
  await step('paid call', () => callAs(url, first, 'prepaid'))
  const rotated = await step('rotate', () => owner.rotate(url, first))
  progress.rotated = rotated
  await step('paid call of the rotated key', () => callAs(url, rotated, 'prepaid'))
  const { minted } = progress
  await step('revoke', () => owner.revoke(url, minted))
}

/** One data call that must be paid by a certain source. */
async function callAs(url: string, key: OwnedKey, source: 'quota' | 'prepaid'): Promise<void> {
  const answer = await fetch(`${url}/api/burns/total`, {
    headers: { authorization: `Bearer ${key.secret}` },
  })
  const text = await answer.text()
  const paidBy = answer.headers.get('x-ratelimit-source')
  if (answer.status !== 200 || paidBy !== source)
    throw new UnexpectedAnswer(`${url} paid by ${paidBy}, not ${source},`, answer.status, text)
}

/** Credits come within a minute; the story's deposit is deep enough from the start. */
const VERIFIED_MS = 60_000

/** Waits until a prepayment is verified. */
export async function untilVerified(url: string, id: string | undefined): Promise<void> {
  const endMs = performance.now() + VERIFIED_MS
  while (performance.now() < endMs) {
    const record = await ask(`${url}/api/sessions/prepay/${id}?wait=5`, 200)
    if (record.verified) return
  }
  throw new Error('the prepayment was never verified')
}
