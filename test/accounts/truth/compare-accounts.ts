import { DAY_SECONDS } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import { BucketDay } from './bucket-day.ts'
import type { Roster } from './roster.ts'
import { BucketState, type Truth } from './truth.ts'
import type { Violations } from './violations.ts'

/** What GET /api/usage says to a caller. */
export interface UsageSaid {
  readonly caller: number
  readonly requestCount: number
  readonly overageCount: number
  readonly remaining: number
  readonly dailyQuota: number
  readonly prepaidMicroUsd: number
  readonly resetUnix: number
}

export interface CompareInput {
  readonly roster: Roster
  readonly truth: Truth
  readonly pricePerCall: number
  /** Of all who can still ask. */
  readonly usage: readonly UsageSaid[]
  readonly accounts: Engine
  readonly violations: Violations
  /** Buckets whose calls nobody wrote down. */
  readonly strangers?: readonly string[]
}

interface Counted {
  readonly used: number
  readonly paid: number
}

/** How much was compared. */
export interface Compared {
  readonly bucketDays: number
  readonly exactBucketDays: number
  readonly wallets: number
  readonly usages: number
}

/**
 * Holds what the callers counted against the tables, the ledger and GET /api/usage. A bucket without
 * lost calls must agree to the call. With n lost calls the tables may hold up to n calls more than
 * were answered, and never less.
 */
export async function compareAccounts(input: CompareInput): Promise<Compared> {
  const counted = await readCounted(input.accounts)
  let exactBucketDays = 0
  for (const [name, bucket] of input.truth.buckets) {
    for (const [day, seen] of bucket.days) {
      const { used, paid } = counted.get(`${name} ${day}`) ?? { used: 0, paid: 0 }
      exactBucketDays += bucket.lost === 0 ? 1 : 0
      const { lost } = bucket
      const what = { name: `${name} on ${day}`, lost, violations: input.violations }
      within(what, 'free calls', { answered: seen.free, counted: used })
      within(what, 'paid calls', { answered: seen.paid, counted: paid })
      within(what, 'calls', { answered: seen.free + seen.paid, counted: used + paid })
      if (used > seen.quotaMost)
        input.violations.add('the tables hold more free calls than the quota', what.name)
    }
  }
  const unseen = [...counted].filter(([name, { used, paid }]) => {
    const at = name.lastIndexOf(' ')
    if (input.strangers?.includes(name.slice(0, at))) return false
    const bucket = input.truth.buckets.get(name.slice(0, at))
    const day = bucket?.days.get(Number(name.slice(at + 1)))
    return day === undefined && used + paid > (bucket?.lost ?? 0)
  })
  for (const [name] of unseen) input.violations.add('the tables count who never called', name)
  const held = await readHeld(input.accounts)
  const wallets = compareMoney(input, held)
  for (const said of input.usage) compareUsage(input, { counted, held }, said)
  return { bucketDays: counted.size, exactBucketDays, wallets, usages: input.usage.length }
}

function within(
  { name, lost, violations }: { name: string; lost: number; violations: Violations },
  what: string,
  { answered, counted }: { readonly answered: number; readonly counted: number },
): void {
  if (counted >= answered && counted <= answered + lost) return
  const detail = `${name}: ${answered} answered, ${counted} counted, ${lost} lost`
  violations.add(`the ${what} that were counted are those that were answered`, detail)
}

async function readCounted(accounts: Engine): Promise<ReadonlyMap<string, Counted>> {
  const found = await accounts.read(sql`select bucket, day, used, paid from usage_days`)
  return new Map(
    found.map((row) => [
      `${column.text(row, 'bucket')} ${column.integer(row, 'day')}`,
      { used: column.integer(row, 'used'), paid: column.integer(row, 'paid') },
    ]),
  )
}

interface Held {
  readonly byKey: ReadonlyMap<string, number>
  readonly byWallet: ReadonlyMap<string, number>
}

/** Micro-USD on keys, revoked ones too. */
async function readHeld(accounts: Engine): Promise<Held> {
  const found = await accounts.read(sql`
    select keys.public_id, keys.wallet, balances.micro_usd
    from keys join balances on balances.account = 'key:' || keys.public_id`)
  const byKey = new Map<string, number>()
  const byWallet = new Map<string, number>()
  for (const row of found) {
    const microUsd = Number(column.amount(row, 'micro_usd'))
    const wallet = `wallet:${column.text(row, 'wallet')}`
    byKey.set(column.text(row, 'public_id'), microUsd)
    byWallet.set(wallet, (byWallet.get(wallet) ?? 0) + microUsd)
  }
  return { byKey, byWallet }
}

/** Every cent that was verified is on a key of its wallet or was spent on an answered call. */
function compareMoney(input: CompareInput, { byWallet }: Held): number {
  let wallets = 0
  for (const [name, bucket] of input.truth.buckets) {
    if (!name.startsWith('wallet:')) continue
    wallets += 1
    const paid = [...bucket.days.values()].reduce((sum, day) => sum + day.paid, 0)
    const spent = bucket.fundedMicroUsd - (byWallet.get(name) ?? 0)
    const least = paid * input.pricePerCall
    const most = (paid + bucket.lost) * input.pricePerCall
    if (spent < least || spent > most)
      input.violations.add(
        'money left a wallet for its paid calls and for nothing else',
        `${name}: ${spent} micro-USD left, ${paid} paid calls were answered, ${bucket.lost} lost`,
      )
  }
  return wallets
}

function compareUsage(
  { roster, truth, violations }: CompareInput,
  tables: { readonly counted: ReadonlyMap<string, Counted>; readonly held: Held },
  said: UsageSaid,
): void {
  const { bucket: name, publicId } = roster.at(said.caller)
  const day = said.resetUnix - DAY_SECONDS
  const { used, paid } = tables.counted.get(`${name} ${day}`) ?? { used: 0, paid: 0 }
  const bucket = truth.buckets.get(name) ?? new BucketState()
  const seen = bucket.days.get(day) ?? new BucketDay()
  const answered = seen.free + seen.paid
  const who = `${name} ${publicId ?? ''}`
  if (said.requestCount < answered || said.requestCount > answered + bucket.lost)
    violations.add(
      "requestCount is the callers' own count",
      `${who}: ${said.requestCount} of ${answered}`,
    )
  if (said.requestCount !== used + paid || said.overageCount !== paid)
    violations.add('usage says what the tables hold', `${who}: ${said.requestCount}`)
  if (said.remaining !== Math.max(0, said.dailyQuota - used))
    violations.add('what remains is the quota less the free calls', `${who}: ${said.remaining}`)
  if (publicId !== undefined && said.prepaidMicroUsd !== (tables.held.byKey.get(publicId) ?? 0))
    violations.add("usage says what is left of a key's money", `${who}: ${said.prepaidMicroUsd}`)
}
