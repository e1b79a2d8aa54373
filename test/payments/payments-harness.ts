import assert from 'node:assert/strict'
import { fromPublicKey } from 'ox/Address'
import { fromString } from 'ox/Hex'
import { getSignPayload } from 'ox/PersonalMessage'
import { getPublicKey, sign } from 'ox/Secp256k1'
import { toHex } from 'ox/Signature'
import { buildMessage } from '#accounts/keys/message.ts'
import { type Check, ledgerChecks } from '#accounts/ledger/check.ts'
import { keyAccount, readBalances, spendCalls } from '#accounts/ledger/ledger.ts'
import { type Address, type Hash, showAddress } from '#base/address.ts'
import type { Caller } from '#base/caller.ts'
import { isRefusal } from '#base/refusal.ts'
import { startOfDay, toIso } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { moneyChecks } from '#payments/money-checks.ts'
import { paymentsRoutes } from '#payments/prepayments/prepay-routes.ts'
import { verifyPayments } from '#payments/prepayments/verifier.ts'
import type { Outcome } from '#route.ts'
import {
  CHAIN_ID,
  CONFIRMATIONS,
  FakeChain,
  hash,
  paidEcosystem,
  START_MS,
} from '#test/payments/fake-chain.ts'
import type { EngineTest, OpenStore } from '#test/store/each-engine.ts'
import { testCall } from '../test-call.ts'
import { testContext } from '../test-context.ts'

export const HARNESS_MIGRATIONS = accountsMigrations

const KEYS = new Map<Address, Hash>()

/** The wallet of a name, whose key these tests have. */
export function wallet(name: string): Address {
  const privateKey = hash(name)
  const address = fromPublicKey(getPublicKey({ privateKey })).toLowerCase() as Address
  KEYS.set(address, privateKey)
  return address
}

/** What a wallet of these tests signs to pay for a key, now or when the tests begin. */
export function proofOf(payer: Address, tx: string, publicId: string, nowMs = START_MS) {
  const privateKey = KEYS.get(payer) ?? hash('nobody')
  const payerMessage = buildMessage(paidEcosystem().service.name, 'link-payer', {
    ...{ address: showAddress(payer), issued: toIso(nowMs / 1000) },
    ...{ chain: String(CHAIN_ID), transaction: hash(tx), key: publicId },
  })
  const payload = getSignPayload(fromString(payerMessage))
  return { payerMessage, payerSignature: toHex(sign({ payload, privateKey })) }
}

export interface Claimed {
  readonly id: string
  readonly status: string
  readonly message: string
  readonly verified: boolean
  readonly amountUsd: number
  readonly creditedUsd: number | null
  readonly payerAddress: string
  readonly confirmations: number
  readonly hint?: string
}

interface ClaimInput {
  readonly tx: string
  /** Alice's first unless given. */
  readonly key?: string
  /** Alice unless given. */
  readonly payer?: Address
  readonly amountUsd?: unknown
  readonly more?: Readonly<Record<string, unknown>>
  /** Sends this key of the owner as Bearer. */
  readonly as?: string
}

export interface HeldKey {
  readonly wallet: Address
  readonly revokedUnix: number | null
  readonly successor?: string
}

/** Prepayments on a real store over a chain in memory; wallets own the keys named after them. */
export interface Harness {
  readonly chain: FakeChain
  readonly engine: Engine
  readonly now: { ms: number }
  readonly ctx: Context
  /** Adds a key or changes it. */
  hold(publicId: string, key: HeldKey): Promise<void>
  /** Mines a block with one transfer, of a dollar from Alice unless more is said. */
  pay(tx: string, amount?: bigint, from?: Address): void
  claim(input: ClaimInput): Promise<Outcome>
  /** Claims for Alice's first key with the payer's signature. */
  claimProven(tx: string, payer: Address): Promise<Outcome>
  spend(publicId: string, calls: number): Promise<void>
  read(idOrTx: string, wait?: number): Promise<Outcome>
  record(idOrTx: string): Promise<Claimed>
  pass(): ReturnType<typeof verifyPayments>
  /** Mines enough blocks on top and verifies. */
  confirm(): Promise<void>
  /** Pays from Alice, claims for her first key and confirms. */
  credit(tx: string, amount: bigint): Promise<void>
  balance(publicId: string): Promise<bigint>
  /** Of the payments. */
  readonly checkNames: readonly string[]
  /** Notes of all audits. */
  readonly notes: readonly string[]
  /** Every check of ledger and payments. */
  audit(): Promise<string[]>
}

export const ALICE_KEY = 'a11ce001'
export const ALICE_KEY_2 = 'a11ce002'
export const MALLORY_KEY = 'ba5ed001'
export const alice = wallet('alice')
export const mallory = wallet('mallory')

const OWNERS: ReadonlyMap<string, Address> = new Map([
  [ALICE_KEY, alice],
  [ALICE_KEY_2, alice],
  [MALLORY_KEY, mallory],
])

export type PaymentsTest = (
  guarantee: string,
  work: (harness: Harness, store: OpenStore) => Promise<void>,
) => void

/** Tests with a harness each, after which every promise of ledger and payments must hold. */
export function audited(onEngines: EngineTest): PaymentsTest {
  return (guarantee, work) =>
    onEngines(guarantee, async (store) => {
      const harness = await createHarness(store.engine)
      await work(harness, store)
      assert.deepEqual(await harness.audit(), [])
    })
}

export async function createHarness(
  engine: Engine,
  {
    chain = new FakeChain(),
    rpcUrls = [chain.url],
  }: { readonly chain?: FakeChain; readonly rpcUrls?: readonly string[] } = {},
): Promise<Harness> {
  for (const [publicId, owner] of OWNERS)
    await holdKey(engine, publicId, { wallet: owner, revokedUnix: null })
  const now = { ms: START_MS }
  const ecosystem = paidEcosystem(rpcUrls)
  const ctx = testContext({ accounts: engine, ecosystem, clock: () => now.ms })
  const notes: string[] = []
  const checks = moneyChecks(ctx, (line) => void notes.push(line))
  const harness: Harness = {
    checkNames: checks.map((check) => check.name),
    chain,
    engine,
    now,
    ctx,
    hold: (publicId, key) => holdKey(engine, publicId, key),
    pay: (tx, amount = 1_000_000n, from = alice) => chain.mine([{ tx, from, amount }]),
    async claim(input) {
      await chain.writeInto(engine)
      return postClaim(ctx, input)
    },
    claimProven: (tx, payer) =>
      harness.claim({ tx, payer, more: proofOf(payer, tx, ALICE_KEY, now.ms) }),
    async spend(publicId, calls) {
      const day = startOfDay(now.ms / 1000)
      const spent = { calls: new Map([[keyAccount(publicId), calls]]), pricePerCall: 100n, day }
      await engine.write((tx) => spendCalls(tx, spent))
    },
    async read(idOrTx, wait = 0) {
      await chain.writeInto(engine)
      return readClaim(ctx, idOrTx, wait)
    },
    async record(idOrTx) {
      return claimedOf(await harness.read(idOrTx))
    },
    async pass() {
      await chain.writeInto(engine)
      return verifyPayments(ctx)
    },
    async confirm() {
      chain.mineEmpty(CONFIRMATIONS)
      await harness.pass()
    },
    async credit(tx, amount) {
      harness.pay(tx, amount)
      await harness.claim({ tx })
      await harness.confirm()
    },
    async balance(publicId) {
      const account = keyAccount(publicId)
      const balances = await engine.snapshot((reads) => readBalances(reads, [account]))
      return balances.get(account) ?? 0n
    },
    notes,
    async audit() {
      await chain.writeInto(engine)
      return audit(engine, [...ledgerChecks, ...checks])
    },
  }
  return harness
}

async function holdKey(engine: Engine, publicId: string, key: HeldKey): Promise<void> {
  const { wallet, revokedUnix, successor = null } = key
  await engine.write(async (tx) => {
    await tx.run(sql`
      insert into wallets (wallet, active_keys) values (${wallet}, 1) on conflict do nothing`)
    await tx.run(sql`
      insert into keys (public_id, secret_digest, wallet, created_unix, revoked_unix, successor)
      values (${publicId}, ${publicId}, ${wallet}, 0, ${revokedUnix}, ${successor})
      on conflict (public_id) do update
      set revoked_unix = excluded.revoked_unix, successor = excluded.successor`)
  })
}

async function audit(engine: Engine, checks: readonly Check[]): Promise<string[]> {
  const broken: string[] = []
  for (const check of checks)
    if ((await engine.snapshot(check.run)).length > 0) broken.push(check.name)
  return broken
}

function anonymous(): Caller {
  const [bucket, identity] = ['192.0.2.1', 'ip:192.0.2.1']
  return { kind: 'anonymous', identity, bucket, tier: 'anonymous', dailyQuota: 500 }
}

function keyedCaller(publicId: string): Caller {
  const owner = OWNERS.get(publicId) ?? alice
  return {
    kind: 'keyed',
    identity: `key:svc_${publicId}`,
    bucket: `wallet:${owner}`,
    tier: 'free',
    dailyQuota: 2_000,
    publicId,
    wallet: owner,
  }
}

async function postClaim(ctx: Context, input: ClaimInput) {
  const body = {
    apiKeyPublicId: input.key ?? ALICE_KEY,
    txHash: hash(input.tx),
    payerAddress: input.payer ?? alice,
    amountUsd: input.amountUsd ?? 1,
    ...input.more,
  }
  const caller = input.as === undefined ? anonymous() : keyedCaller(input.as)
  return run(ctx, { method: 'POST', query: new Map(), path: {}, body, caller })
}

function readClaim(ctx: Context, idOrTxHash: string, wait: number): Promise<Outcome> {
  const query = new Map(wait === 0 ? [] : [['wait', [String(wait)]]])
  return run(ctx, { method: 'GET', query, path: { idOrTxHash }, body: {}, caller: anonymous() })
}

interface Run {
  readonly method: 'GET' | 'POST'
  readonly query: ReadonlyMap<string, readonly string[]>
  readonly path: Readonly<Record<string, string>>
  readonly body: unknown
  readonly caller: Caller
}

async function run(ctx: Context, input: Run): Promise<Outcome> {
  const route = paymentsRoutes(ctx).find((each) => each.method === input.method)
  const prepared = route?.prepare(input)
  if (prepared === undefined) throw new Error(`no ${input.method} route`)
  if (isRefusal(prepared)) return prepared
  return prepared.run(testCall(), input.caller)
}

/** The record of a good answer. */
export function claimedOf(outcome: Outcome): Claimed {
  assert.ok(outcome.kind === 'answer', JSON.stringify(outcome))
  return outcome.body as Claimed
}

/** The code of a refusal, or the status of an answer. */
export function codeOf(outcome: Outcome): string | number {
  if (outcome.kind === 'answer') return outcome.status
  return outcome.kind === 'refusal' ? outcome.code : outcome.kind
}
