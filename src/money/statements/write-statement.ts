import { readFreeCalls } from '#callers/metering/usage/read-free-calls.ts'
import { type Address, showAddress } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { keyAccount } from '#ledger/account.ts'
import { toDate } from '#lib/time.ts'
import type { Reads } from '#money/payments/reads.ts'
import { type AccountEntry, readEntries } from './read-entries.ts'
import { showMovements } from './show-movements.ts'
import type { Statement } from './statement-shape.ts'

export interface Issuer {
  readonly name: string
  /** Has no trailing slash. */
  readonly publicBaseUrl: string
  readonly payment: {
    readonly chain: { readonly id: number }
    readonly asset: Address
    readonly payTo: readonly { readonly address: Address; readonly since: string }[]
  } | null
}

export interface StatementInput {
  readonly key: { readonly publicId: string; readonly wallet: Address; readonly isFirst: boolean }
  /** Midnights (UTC); `to` is the day after the last. */
  readonly from: number
  readonly to: number
}

/** An answer of 6 MB. */
export const MOVEMENTS_MAX = 10_000

/** Writes closed days, so it is always the same. Undefined if there are too many movements. */
export async function writeStatement(
  { reads, issuer }: { readonly reads: Reads; readonly issuer: Issuer },
  input: StatementInput,
): Promise<Statement | undefined> {
  const { key, from, to } = input
  const account = keyAccount(key.publicId)
  let opening = 0n
  const entries: AccountEntry[] = []
  for await (const entry of readEntries(reads, account)) {
    if (entry.day < from) opening += entry.microUsd
    else if (entry.day < to) entries.push(entry)
    if (entries.length > MOVEMENTS_MAX) return undefined
  }
  const sum = (total: MicroUsd, entry: AccountEntry) => total + entry.microUsd
  const movements = await showMovements(reads, { account, entries })
  const charged = new Set(
    movements.filter(({ kind }) => kind === 'charges').map(({ date }) => date),
  )
  const free = charged.size === 0 ? [] : await readFreeCalls(reads, input)
  return {
    service: showIssuer(issuer, to),
    key: { publicId: key.publicId, ownerAddress: showAddress(key.wallet) },
    period: { from: toDate(from), to: toDate(to) },
    openingBalanceMicroUsd: String(opening),
    closingBalanceMicroUsd: String(entries.reduce(sum, opening)),
    movements: [...movements],
    freeCalls: free
      .map(({ day, calls }) => ({ date: toDate(day), calls }))
      .filter(({ date }) => charged.has(date)),
  }
}

function showIssuer({ name, publicBaseUrl, payment }: Issuer, to: number): Statement['service'] {
  const before = toDate(to)
  return {
    name,
    url: publicBaseUrl,
    jwksUrl: `${publicBaseUrl}/.well-known/jwks.json`,
    payTo: (payment?.payTo ?? [])
      .filter(({ since }) => since < before)
      .map(({ address, since }) => ({
        address: showAddress(address),
        since,
        chainId: payment?.chain.id ?? 0,
        asset: showAddress(payment?.asset ?? address),
      })),
  }
}
