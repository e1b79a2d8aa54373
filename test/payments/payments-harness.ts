import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { callerTables } from '#accounts/keys/caller-tables.ts'
import { keyAccount, readBalances } from '#accounts/ledger/account.ts'
import { type Check, ledgerChecks } from '#accounts/ledger/check.ts'
import { ledgerTables } from '#accounts/ledger/ledger-tables.ts'
import { spendCalls } from '#accounts/ledger/spend.ts'
import type { WalletNode } from '#chains/chain/contract-signature.ts'
import type { Address } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, refuse } from '#domain/refusal.ts'
import { startOfDay } from '#lib/time.ts'
import { ContractProofs } from '#money/payments/contract-proofs.ts'
import { Notifier } from '#money/payments/notifier.ts'
import { paymentsChecks } from '#money/payments/payments-checks.ts'
import type { PaymentsDeps, VerifyPayerProof } from '#money/payments/payments-deps.ts'
import { paymentsTables } from '#money/payments/payments-tables.ts'
import { paymentsRoutes } from '#money/payments/prepay-routes.ts'
import { createVerifier, type Settled } from '#money/payments/verifier.ts'
import type { Outcome } from '#route/route.ts'
import type { Engine } from '#store/engine.ts'
import { firstSchema } from '#store/migrate.ts'
import { sql } from '#store/sql.ts'
import { CHAIN_ID, FakeChain, hash, START_MS } from '#test/payments/fake-chain.ts'
import type { EngineTest, OpenStore } from '#test/store/each-engine.ts'
import { testCall } from '../test-call.ts'

export const HARNESS_MIGRATIONS = firstSchema('accounts', [
  ...ledgerTables,
  ...callerTables,
  ...paymentsTables,
])
export const CONFIRMATIONS = 10

export const NO_GUARD = { refusal: () => undefined, failed: () => undefined }

export const wallet = (name: string): Address =>
  `0x${createHash('sha256').update(name).digest('hex').slice(0, 40)}`

/** The proof of these tests; the real grammar and recovery are tested with the signed messages. */
export function proofOf(payer: Address, tx: string, publicId: string) {
  return { payerMessage: `${CHAIN_ID} ${hash(tx)} ${publicId}`, payerSignature: payer }
}

/** A node of a chain without contract wallets. */
export const NO_CONTRACTS: WalletNode = { code: async () => '0x', call: async () => '0x' }

const verifyPayerProof: VerifyPayerProof = async (proof) => {
  const text = `${proof.chainId} ${proof.txHash} ${proof.publicId}`
  const isSigned = proof.byContract || proof.signature === proof.payerAddress
  if (proof.message === text && isSigned) return undefined
  return refuse('invalid_signature', 'not signed by the payer')
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
  /** There are no contract wallets unless a test puts other nodes there. */
  readonly nodes: WalletNode[]
  readonly notifier: Notifier
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
  pass(): Promise<Settled>
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

export async function createHarness(engine: Engine): Promise<Harness> {
  for (const [publicId, owner] of OWNERS)
    await holdKey(engine, publicId, { wallet: owner, revokedUnix: null })
  const { now, nodes, chain, notifier, deps, verify, checks, notes } = wire(engine)
  const harness: Harness = {
    checkNames: checks.map((check) => check.name),
    chain,
    engine,
    now,
    nodes,
    notifier,
    hold: (publicId, key) => holdKey(engine, publicId, key),
    pay: (tx, amount = 1_000_000n, from = alice) => chain.mine([{ tx, from, amount }]),
    claim: (input) => postClaim(deps, input),
    claimProven: (tx, payer) => harness.claim({ tx, payer, more: proofOf(payer, tx, ALICE_KEY) }),
    async spend(publicId, calls) {
      const day = startOfDay(now.ms / 1000)
      const spent = { calls: new Map([[keyAccount(publicId), calls]]), pricePerCall: 100n, day }
      await engine.write((tx) => spendCalls(tx, spent))
    },
    read: (idOrTx, wait = 0) => readClaim(deps, idOrTx, wait),
    async record(idOrTx) {
      return claimedOf(await harness.read(idOrTx))
    },
    pass: verify,
    async confirm() {
      chain.mineEmpty(CONFIRMATIONS)
      await verify()
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
    audit: () => audit(engine, [...ledgerChecks, ...checks]),
  }
  return harness
}

/** The parts that a test holds in its hands, and those that work on them. */
function wire(engine: Engine) {
  const now = { ms: START_MS }
  const nodes: WalletNode[] = [NO_CONTRACTS]
  const chain = new FakeChain()
  const notifier = new Notifier(async () => chain.height, assert.ifError)
  const shared = {
    ...{ engine, clock: () => now.ms, newId: () => crypto.randomUUID(), notifier },
    ...{ deposits: chain, confirmations: CONFIRMATIONS },
  }
  const deps: PaymentsDeps = {
    ...shared,
    chainId: CHAIN_ID,
    verifyPayerProof,
    contractProofs: new ContractProofs(nodes, shared.clock, NO_GUARD),
  }
  const verify = createVerifier({
    ...shared,
    // Keys only: nobody else pays into their accounts unseen.
    chainId: CHAIN_ID,
    blockHash: (number) => chain.blockHash(number),
    onChange: () => notifier.notify(),
  })
  const notes: string[] = []
  const checks = paymentsChecks({
    ...{ deposits: chain, verifyPayerProof, chainId: CHAIN_ID },
    blockHash: (number) => chain.blockHash(number),
    note: (line) => void notes.push(line),
  })
  return { now, nodes, chain, notifier, deps, verify, checks, notes }
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

async function postClaim(deps: PaymentsDeps, input: ClaimInput) {
  const body = {
    apiKeyPublicId: input.key ?? ALICE_KEY,
    txHash: hash(input.tx),
    payerAddress: input.payer ?? alice,
    amountUsd: input.amountUsd ?? 1,
    ...input.more,
  }
  const caller = input.as === undefined ? anonymous() : keyedCaller(input.as)
  return run(deps, { method: 'POST', query: new Map(), path: {}, body, caller })
}

function readClaim(deps: PaymentsDeps, idOrTxHash: string, wait: number): Promise<Outcome> {
  const query = new Map(wait === 0 ? [] : [['wait', [String(wait)]]])
  return run(deps, { method: 'GET', query, path: { idOrTxHash }, body: {}, caller: anonymous() })
}

interface Run {
  readonly method: 'GET' | 'POST'
  readonly query: ReadonlyMap<string, readonly string[]>
  readonly path: Readonly<Record<string, string>>
  readonly body: unknown
  readonly caller: Caller
}

async function run(deps: PaymentsDeps, input: Run): Promise<Outcome> {
  const route = paymentsRoutes(deps).find((each) => each.method === input.method)
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
