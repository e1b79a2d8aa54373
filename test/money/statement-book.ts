import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { isRefusal } from '#domain/refusal.ts'
import { DEFAULT_QUOTAS } from '#domain/tier.ts'
import { keyAccount } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import { parseSigningKeys } from '#lib/signing-keys.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfDay, unixNow } from '#lib/time.ts'
import { statementRoute } from '#money/statements/statement-route.ts'
import type { Statement } from '#money/statements/statement-shape.ts'
import type { Outcome } from '#route/route.ts'
import type { Engine } from '#store/engine.ts'
import { CHAIN_ID } from '#test/payments/fake-chain.ts'
import type { HeldKey, MoneyWorld } from './money-world.ts'

const { privateKey } = generateKeyPairSync('ed25519')
const keys = parseSigningKeys(String(privateKey.export({ format: 'pem', type: 'pkcs8' })))
assert.ok('kid' in keys)
const signingKeys = keys

const PAYEE = `0x${'99'.repeat(20)}` as const

export interface Question {
  readonly key: HeldKey
  readonly from: number | string
  readonly to: number | string
  /** Whose statement; the key's own unless given. */
  readonly publicId?: string
  readonly format?: 'csv'
}

/** Asks for a statement as the service answers it. */
export async function askStatement(
  { engine, world }: { readonly engine: Engine; readonly world: MoneyWorld },
  { key, from, to, publicId, format }: Question,
): Promise<Outcome> {
  const payTo = [{ address: PAYEE, since: '2026-01-01' }]
  const route = statementRoute({
    engine,
    clock: () => world.callers.now.ms,
    keys: signingKeys,
    issuer: {
      name: 'Local',
      publicBaseUrl: 'https://data.example',
      payment: { chain: { id: CHAIN_ID }, asset: PAYEE, payTo },
    },
  })
  const given = { from: String(from), to: String(to), publicId, format }
  const query = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, [value]] as const],
  )
  const prepared = route.prepare({ query: new Map(query), path: {}, body: {} })
  if (isRefusal(prepared)) return prepared
  const wallet = key.wallet.address.toLowerCase() as `0x${string}`
  return prepared.run({
    requestId: 'r',
    target: '/',
    headers: {},
    addressBucket: '192.0.2.1',
    signal: new AbortController().signal,
    caller: {
      kind: 'keyed',
      identity: `key:svc_${key.publicId}`,
      bucket: `wallet:${wallet}`,
      tier: 'free',
      dailyQuota: DEFAULT_QUOTAS.free,
      publicId: key.publicId,
      wallet,
    },
  })
}

interface Kept {
  readonly key: HeldKey
  readonly from: number
  readonly to: number
  readonly statement: Statement
}

/** Keeps every statement that was ever given, and asks for all of them again. */
export class StatementBook {
  readonly #kept: Kept[] = []
  readonly #engine: Engine
  readonly #world: MoneyWorld
  readonly #start: number
  #closed: number

  constructor(engine: Engine, world: MoneyWorld) {
    this.#engine = engine
    this.#world = world
    this.#start = startOfDay(unixNow(() => world.callers.now.ms))
    this.#closed = this.#start
  }

  /** To call after days were closed. */
  async check(held: readonly HeldKey[]): Promise<void> {
    for (const { statement, ...question } of this.#kept) {
      const { freeCalls, ...again } = await this.#ask(question)
      const { freeCalls: before, ...money } = statement
      assert.deepEqual(again, money)
      for (const { date, calls } of freeCalls)
        assert.ok(calls <= (before.find((each) => each.date === date)?.calls ?? 0))
    }
    const from = this.#closed
    const to = startOfDay(unixNow(() => this.#world.callers.now.ms) - HOUR_SECONDS)
    if (to <= from) return
    this.#closed = to
    for (const key of held) {
      const statement = await this.#ask({ key, from, to })
      const earlier = this.#kept.findLast((each) => each.key.publicId === key.publicId)
      assert.equal(
        statement.openingBalanceMicroUsd,
        earlier?.statement.closingBalanceMicroUsd ?? '0',
        'a statement begins where the one before ended',
      )
      this.#kept.push({ key, from, to, statement })
    }
  }

  /** Once all days are closed, what is left of each key is what its statement ends with. */
  async end(held: readonly HeldKey[]): Promise<void> {
    // An undone charge of a closed day is booked on the day of the next closing, which must be over too.
    for (const _ of ['close', 'over']) await this.#world.wait(2 * DAY_SECONDS)
    await this.check(held)
    const names = held.map((key) => keyAccount(key.publicId))
    const balances = await this.#engine.snapshot((reads) => readBalances(reads, names))
    for (const key of held) {
      const statement = await this.#ask({ key, from: this.#start, to: this.#closed })
      const sum = statement.movements.reduce((all, each) => all + BigInt(each.amountMicroUsd), 0n)
      assert.equal(String(sum), statement.closingBalanceMicroUsd)
      assert.equal(sum, balances.get(keyAccount(key.publicId)) ?? 0n)
    }
  }

  async #ask(question: Question): Promise<Statement> {
    const outcome = await askStatement({ engine: this.#engine, world: this.#world }, question)
    assert.ok(outcome.kind === 'answer', JSON.stringify(outcome))
    return (outcome.body as { readonly statement: Statement }).statement
  }
}
