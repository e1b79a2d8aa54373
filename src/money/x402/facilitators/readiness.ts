import { type Address, parseAddress } from '#domain/address.ts'
import type { Clock } from '#lib/time.ts'
import type { Reads } from '#money/payments/claim-store.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'

/** Whether payments are offered: as the leader last wrote it. */
export interface FacilitatorReadiness {
  isReady(): Promise<boolean>
}

/** Saves a read per 402. */
const FRESH_MS = 1_000

/** The leader writes every five seconds, later under load. */
export const READY_MS = 30_000

export interface Published {
  /** That pays the gas; null if the facilitator is another service. */
  readonly wallet: Address | null
  readonly readyUntilMs: number
}

export function createReadiness(deps: {
  readonly engine: Pick<Engine, 'read'>
  readonly clock: Clock
}): FacilitatorReadiness {
  let known: { readonly atMs: number; readonly value: Promise<boolean> } | undefined
  const look = async () =>
    ((await readPublished({ run: deps.engine.read }))?.readyUntilMs ?? 0) > deps.clock()
  return {
    isReady() {
      const now = deps.clock()
      if (known === undefined || Math.abs(now - known.atMs) >= FRESH_MS)
        known = { atMs: now, value: look() }
      return known.value
    },
  }
}

export async function readPublished(reads: Reads): Promise<Published | undefined> {
  const [row] = await reads.run(sql`
    select wallet, ready_until_ms from x402_facilitator where id = 1`)
  if (row === undefined) return undefined
  return {
    wallet: parseAddress(column.textOrNull(row, 'wallet') ?? '') ?? null,
    readyUntilMs: column.integer(row, 'ready_until_ms'),
  }
}

export async function publish(
  connection: Connection,
  { wallet, readyUntilMs }: Published,
): Promise<void> {
  await connection.run(sql`
    insert into x402_facilitator (id, wallet, ready_until_ms)
    values (1, ${wallet}, ${readyUntilMs})
    on conflict (id) do update
      set wallet = excluded.wallet, ready_until_ms = excluded.ready_until_ms`)
}
