import { randomBytes } from 'node:crypto'
import { insertKey } from '#accounts/keys/key-store.ts'
import { chainInAccount, keyAccount, post } from '#accounts/ledger/ledger.ts'
import type { Address } from '#base/address.ts'
import { isRefusal } from '#base/refusal.ts'
import { DAY_SECONDS, startOfDay } from '#base/time.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'

export interface SeededAccounts {
  readonly keys: number
  /** Before today, on which every key made free calls. */
  readonly freeDays: number
  /** Before today, on which every key made paid calls. */
  readonly paidDays: number
  /** Left on each key. */
  readonly microUsd?: bigint
}

export interface SeededKey {
  readonly secret: string
  readonly wallet: Address
}

const PRICE = 100n
const PAID_A_DAY = 5n

/** Wallets of one key each, with money and days of usage; the checks of ledger and callers find nothing. */
export async function seedAccounts(
  engine: Engine,
  { keys, freeDays, paidDays, microUsd = 1_000_000n }: SeededAccounts,
): Promise<readonly SeededKey[]> {
  const nowUnix = Math.floor(Date.now() / 1000)
  const today = startOfDay(nowUnix)
  const createdUnix = today - (Math.max(freeDays, paidDays) + 2) * DAY_SECONDS
  return engine.write(async (tx) => {
    const made: SeededKey[] = []
    for (let index = 0; index < keys; index += 1) {
      const wallet: Address = `0x${randomBytes(20).toString('hex')}`
      const input = { keyPrefix: 'svc', wallet, label: null, nowUnix: createdUnix }
      const key = await insertKey(tx, input)
      if (isRefusal(key)) throw new Error(key.message)
      const { publicId } = key.key
      const digest = randomBytes(32).toString('hex')
      await tx.run(sql`
        insert into used_messages (digest, wallet, action, used_unix)
        values (${digest}, ${wallet}, 'mint', ${createdUnix})`)
      const account = keyAccount(publicId)
      const spent = BigInt(paidDays) * PAID_A_DAY * PRICE
      const postings = [
        { account: chainInAccount(8453), microUsd: -microUsd - spent },
        { account, microUsd: microUsd + spent },
      ]
      const id = `seed:${publicId}`
      await post(tx, { id, kind: 'credit', reference: publicId, createdUnix, postings })
      await tx.run(sql`
        update balances set micro_usd = micro_usd - ${spent} where account = ${account}`)
      await seedDays(tx, { wallet, account, today, freeDays, paidDays })
      made.push({ secret: key.secret, wallet })
    }
    return made
  })
}

const USAGE = {
  table: 'usage_days',
  columns: {
    day: 'bigint',
    bucket: 'text',
    used: 'bigint',
    paid: 'bigint',
    granted: 'bigint',
    quota: 'bigint',
    quota_most: 'bigint',
  },
} as const
const SPENT = {
  table: 'spend_days',
  columns: {
    day: 'bigint',
    account: 'text',
    price_micro_usd: 'bigint',
    calls: 'bigint',
    micro_usd: 'bigint',
  },
} as const

async function seedDays(
  tx: Connection,
  input: {
    readonly wallet: string
    readonly account: string
    readonly today: number
    readonly freeDays: number
    readonly paidDays: number
  },
): Promise<void> {
  const { wallet, account, today, freeDays, paidDays } = input
  const days = Array.from(
    { length: Math.max(freeDays, paidDays) },
    (_, index) => [today - (index + 1) * DAY_SECONDS, index < paidDays] as const,
  )
  const bucket = `wallet:${wallet}`
  await tx.insert(
    USAGE,
    days.map(([day, isPaid]) => [day, bucket, 500, isPaid ? PAID_A_DAY : 0, 500, 500, 500]),
  )
  const amount = PAID_A_DAY * PRICE
  const paid = days.filter(([, isPaid]) => isPaid)
  await tx.insert(
    SPENT,
    paid.map(([day]) => [day, account, PRICE, PAID_A_DAY, amount]),
  )
}
