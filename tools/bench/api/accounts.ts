import { createHash, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { insertKey } from '#access/keys/key-store.ts'
import type { Address } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { isRefusal } from '#domain/refusal.ts'
import { chainInAccount, keyAccount } from '#ledger/account.ts'
import { post } from '#ledger/post.ts'
import { accountsMigrations, openStore } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'
import { benchChain } from '../index/bench-ecosystem.ts'

/** Where the accounts of a service are. */
export interface AccountsPlace {
  readonly folder: string
  readonly databaseUrl?: string | undefined
}

export interface Seed {
  readonly wallets: number
  readonly keysPerWallet: number
  /** On each key. */
  readonly balance: MicroUsd
}

/** What the accounts say was counted since they were made. */
export interface Counted {
  readonly free: number
  readonly paid: number
  /** Transactions of meters. */
  readonly batches: number
  readonly balance: MicroUsd
}

/** Puts wallets, keys and money into the accounts, and the secrets into a file; gives both. */
export async function seedCallers(
  place: AccountsPlace,
  seed: Seed,
): Promise<{ readonly secrets: readonly string[]; readonly secretsFile: string }> {
  const secrets = await withAccounts(place, async (engine) => {
    await engine.migrate(accountsMigrations)
    const made: string[] = []
    for (let wallet = 0; wallet < seed.wallets; wallet += 1)
      made.push(...(await seedWallet(engine, seed)))
    return made
  })
  const secretsFile = join(place.folder, `secrets-${randomBytes(4).toString('hex')}.txt`)
  await writeFile(secretsFile, `${secrets.join('\n')}\n`)
  return { secrets, secretsFile }
}

async function seedWallet(engine: Engine, seed: Seed): Promise<string[]> {
  const digest = createHash('sha256').update(randomBytes(16)).digest('hex')
  const wallet: Address = `0x${digest.slice(0, 40)}`
  const secrets: string[] = []
  for (let key = 0; key < seed.keysPerWallet; key += 1)
    secrets.push(await seedKey(engine, { wallet, balance: seed.balance }))
  return secrets
}

function seedKey(
  engine: Engine,
  { wallet, balance }: { readonly wallet: Address; readonly balance: MicroUsd },
): Promise<string> {
  const nowUnix = Math.floor(Date.now() / 1000)
  return engine.write(async (connection) => {
    const input = { wallet, label: null, nowUnix }
    const made = await insertKey(connection, { randomBytes, keyPrefix: 'svc' }, input)
    if (isRefusal(made)) throw new Error(made.message)
    if (balance > 0n)
      await post(connection, {
        id: `credit:bench:${made.key.publicId}`,
        kind: 'credit',
        reference: 'bench',
        createdUnix: nowUnix,
        postings: [
          { account: chainInAccount(benchChain.id), microUsd: -balance },
          { account: keyAccount(made.key.publicId), microUsd: balance },
        ],
      })
    return made.secret
  })
}

export function readCounted(place: AccountsPlace): Promise<Counted> {
  return withAccounts(place, async (engine) => {
    const first = async (statement: Sql) => (await engine.read(statement))[0] ?? {}
    const usage = await first(sql`
      select cast(coalesce(sum(used), 0) as bigint) as free,
        cast(coalesce(sum(paid), 0) as bigint) as paid from usage_days`)
    const meters = await first(
      sql`select cast(coalesce(sum(batch), 0) as bigint) as batches from meters`,
    )
    const balances = await first(sql`
      select cast(coalesce(sum(micro_usd), 0) as bigint) as balance from balances where prepaid = 1`)
    return {
      free: column.integer(usage, 'free'),
      paid: column.integer(usage, 'paid'),
      batches: column.integer(meters, 'batches'),
      balance: column.amount(balances, 'balance'),
    }
  })
}

async function withAccounts<T>(
  { folder, databaseUrl }: AccountsPlace,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const store =
    databaseUrl === undefined
      ? ({ kind: 'sqlite' } as const)
      : ({ kind: 'postgres', url: databaseUrl } as const)
  const engine = await openStore(join(folder, 'data'), 'accounts', store)
  try {
    return await work(engine)
  } finally {
    await engine.close()
  }
}
