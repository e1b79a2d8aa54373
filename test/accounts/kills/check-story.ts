import type { Engine } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import type { OwnedKey } from '../world/owner.ts'
import { type KeyStory, type Step, untilVerified } from './key-story.ts'

const PRICE_MICRO_USD = 100

/**
 * Holds a service that was killed and started again against what it had acknowledged; gives every
 * promise that is broken. What was asked for and not answered may have happened or not.
 */
export async function checkStory(input: {
  readonly url: string
  readonly story: KeyStory
  readonly accounts: Engine
  readonly microUsd: bigint
}): Promise<readonly string[]> {
  const { url, story, accounts } = input
  const broken: string[] = []
  const expect = async (what: string, key: OwnedKey | undefined, statuses: readonly number[]) => {
    if (key === undefined) return
    const status = await usageStatus(url, key)
    if (!statuses.includes(status)) broken.push(`${what}: its usage answers ${status}`)
  }
  await expect('the first key', story.first, goodUnless(story, 'rotate'))
  await expect('the minted key', story.minted, goodUnless(story, 'revoke'))
  await expect('the rotated key', story.rotated, [200])
  if (story.prepaymentId !== undefined) await untilVerified(url, story.prepaymentId)
  const { used, paid } = await readCalls(accounts)
  const between = (what: string, count: number, [least, most]: readonly [number, number]) => {
    if (count < least || count > most) broken.push(`${what}: ${count} of ${least} to ${most}`)
  }
  between('free calls', used, range(story, ['free call']))
  between('paid calls', paid, range(story, ['paid call', 'paid call of the rotated key']))
  const credited = await readCredited(accounts)
  const { held, ofSuccessors } = await readHeld(accounts)
  between('credits', credited === input.microUsd ? 1 : Number(credited), range(story, ['claim']))
  const spent = BigInt(paid * PRICE_MICRO_USD)
  if (held !== credited - spent)
    broken.push(`money: ${held} held, ${credited} credited, ${spent} spent`)
  if (story.done.has('rotate') && ofSuccessors !== held)
    broken.push(`money of the rotated key: ${ofSuccessors} of ${held}`)
  return broken
}

/** How often something was acknowledged, and how often it was asked for. */
function range({ begun, done }: KeyStory, steps: readonly Step[]): readonly [number, number] {
  const among = (set: ReadonlySet<Step>) => steps.filter((step) => set.has(step)).length
  return [among(done), among(begun)]
}

function goodUnless({ begun, done }: KeyStory, ending: Step): readonly number[] {
  if (done.has(ending)) return [401]
  return begun.has(ending) ? [200, 401] : [200]
}

async function usageStatus(url: string, key: OwnedKey): Promise<number> {
  const headers = { authorization: `Bearer ${key.secret}` }
  const answer = await fetch(`${url}/api/usage`, { headers })
  await answer.arrayBuffer()
  return answer.status
}

async function readCalls(accounts: Engine) {
  const [row = {}] = await accounts.read(sql`
    select cast(coalesce(sum(used), 0) as bigint) as used,
      cast(coalesce(sum(paid), 0) as bigint) as paid from usage_days`)
  return { used: column.integer(row, 'used'), paid: column.integer(row, 'paid') }
}

async function readCredited(accounts: Engine): Promise<bigint> {
  const [row = {}] = await accounts.read(sql`
    select cast(coalesce(-sum(micro_usd), 0) as bigint) as credited from postings
    where account like 'chain_in:%'`)
  return column.amount(row, 'credited')
}

async function readHeld(accounts: Engine) {
  const [row = {}] = await accounts.read(sql`
    select cast(coalesce(sum(balances.micro_usd), 0) as bigint) as held,
      cast(coalesce(sum(case when keys.public_id in (select successor from keys)
        then balances.micro_usd else 0 end), 0) as bigint) as of_successors
    from balances join keys on balances.account = 'key:' || keys.public_id`)
  return { held: column.amount(row, 'held'), ofSuccessors: column.amount(row, 'of_successors') }
}
