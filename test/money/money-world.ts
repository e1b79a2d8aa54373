import assert from 'node:assert/strict'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Check } from '#accounts/ledger/check.ts'
import type { Admission } from '#accounts/metering/meter/meter.ts'
import type { Address } from '#base/address.ts'
import type { Caller } from '#base/caller.ts'
import { isRefusal } from '#base/refusal.ts'
import { unixNow } from '#base/time.ts'
import { type Connection, type Engine, StoreError } from '#db/engine.ts'
import { createRetention } from '#main/jobs.ts'
import { rowChecks } from '#ops/audit/audit-accounts.ts'
import { moneyChecks } from '#payments/money-checks.ts'
import { paymentsRoutes } from '#payments/prepayments/prepay-routes.ts'
import { verifyPayments } from '#payments/prepayments/verifier.ts'
import type { Outcome } from '#route.ts'
import {
  type Admitted,
  bearer,
  bodyOf,
  createHarness,
  HARNESS_ECOSYSTEM,
  type Harness,
} from '#test/callers/callers-harness.ts'
import {
  CONFIRMATIONS,
  FakeChain,
  hash,
  paidEcosystem,
  type Transfer,
} from '#test/payments/fake-chain.ts'
import { testCall } from '../test-call.ts'

/** A key with its secret. */
export interface HeldKey {
  readonly wallet: PrivateKeyAccount
  readonly publicId: string
  readonly secret: string
}

/** Keys, meter, ledger and prepayments as one service on one store, over a payment chain in memory. */
export interface MoneyWorld {
  readonly callers: Harness
  readonly chain: FakeChain
  mint(wallet?: PrivateKeyAccount): Promise<HeldKey>
  /** Undefined when the key may not be rotated. */
  rotate(key: HeldKey): Promise<HeldKey | undefined>
  revoke(key: HeldKey): Promise<void>
  move(from: HeldKey, to: HeldKey): Promise<Outcome>
  /** Mines a transfer and claims it for a key; a payer that does not own the key signs for it. Returns the transfer. */
  deposit(input: {
    readonly payer: PrivateKeyAccount
    readonly key: HeldKey
    readonly amount: bigint
    /** A transfer that was mined before, which is claimed only. */
    readonly tx?: string
  }): Promise<string>
  /** Mines enough blocks for what was mined before, and verifies. */
  confirm(): Promise<void>
  /** Takes the newest blocks away; their transfers may be mined again, behind another log. */
  reorg(depth: number, isMinedAgain: boolean): Promise<void>
  /** Calls that were admitted, in order. */
  call(key: HeldKey | undefined, times: number): Promise<readonly Admitted[]>
  /** Calls of one batch, whose commit reports an error and stands; returns how many it charged. */
  lose(key: HeldKey | undefined, times: number): Promise<number>
  /** Lets time pass, and does what is done once a minute. */
  wait(seconds: number): Promise<void>
  get(path: string, key?: HeldKey, query?: Readonly<Record<string, string>>): Promise<Outcome>
  /** Every difference that the audit finds, as `check: subject: detail`. */
  audit(): Promise<string[]>
}

const ADDRESS = '192.0.2.1'

/** `before`: the world whose accounts were restored here; `verifying`: the store as the verifier opens it. */
export function createMoneyWorld(
  engine: Engine,
  before?: MoneyWorld,
  verifying: Engine = engine,
): MoneyWorld {
  const commits = { isLost: false, charged: 0 }
  const chain = before?.chain ?? new FakeChain()
  const { payment } = paidEcosystem([chain.url])
  const callers = createHarness(losing(engine, commits), {
    ecosystem: { ...HARNESS_ECOSYSTEM, payment },
  })
  if (before !== undefined) callers.now.ms = before.callers.now.ms
  return {
    callers,
    chain,
    ...keyActions(callers),
    ...paymentActions(verifying, callers, chain),
    ...callActions(verifying, callers, commits),
    async audit() {
      await chain.writeInto(engine)
      const checks = [...rowChecks, ...moneyChecks(callers.metering.ctx, () => undefined)]
      const found: string[] = []
      for (const check of checks) found.push(...(await engine.snapshot(findings(check))))
      return found
    },
  }
}

function findings(check: Check) {
  return async (connection: Connection): Promise<string[]> =>
    (await check.run(connection)).map(
      ({ subject, detail }) => `${check.name}: ${subject}: ${detail}`,
    )
}

function keyActions(callers: Harness): Pick<MoneyWorld, 'mint' | 'rotate' | 'revoke' | 'move'> {
  return {
    async mint(wallet) {
      return callers.mint(wallet)
    },
    async rotate(key) {
      const outcome = await ownerCall(callers, 'rotate', key)
      if (outcome.kind !== 'answer') return undefined
      const made = bodyOf<{ key: { publicId: string }; secret: string }>(outcome)
      return { wallet: key.wallet, publicId: made.key.publicId, secret: made.secret }
    },
    async revoke(key) {
      await ownerCall(callers, 'revoke', key)
    },
    async move(from, to) {
      callers.now.ms += 1_000
      const signed = await callers.sign(from.wallet, 'move-balance', {
        key: from.publicId,
        to: to.publicId,
      })
      return callers.call('/api/keys/{publicId}/move-balance', {
        path: { publicId: from.publicId },
        body: { ...signed, toPublicId: to.publicId },
      })
    },
  }
}

function paymentActions(
  verifying: Engine,
  callers: Harness,
  chain: FakeChain,
): Pick<MoneyWorld, 'deposit' | 'confirm' | 'reorg'> {
  const leading = { ...callers.metering.ctx, accounts: verifying }
  const verify = async () => {
    await chain.writeInto(verifying)
    await verifyPayments(leading)
  }
  const mined: (Transfer & { readonly block: number })[] = []
  let transfers = 0
  const mine = (list: readonly Transfer[]) => {
    chain.mine(list)
    for (const each of list) mined.push({ ...each, block: chain.height })
  }

  return {
    async deposit({ payer, key, amount, tx: mined }) {
      transfers += 1
      const tx = mined ?? `transfer ${transfers}`
      const proof = await callers.sign(payer, 'link-payer', {
        transaction: hash(tx),
        key: key.publicId,
      })
      const isOwner = payer.address === key.wallet.address
      const body = {
        apiKeyPublicId: key.publicId,
        txHash: hash(tx),
        payerAddress: payer.address,
        amountUsd: 1,
        ...(!isOwner && { payerMessage: proof.message, payerSignature: proof.signature }),
      }
      if (mined === undefined) mine([{ tx, from: toLower(payer.address), amount }])
      await claim(callers, body)
      await verify()
      return tx
    },
    async confirm() {
      chain.mineEmpty(CONFIRMATIONS)
      await verify()
    },
    async reorg(depth, isMinedAgain) {
      chain.drop(Math.min(depth, chain.height))
      const lost = mined.filter((each) => each.block > chain.height)
      mined.splice(0, mined.length, ...mined.filter((each) => each.block <= chain.height))
      await verify()
      if (isMinedAgain) for (const each of lost) mine([{ ...each, logIndex: 7 }])
      else chain.mine()
      await verify()
    },
  }
}

interface Commits {
  isLost: boolean
  /** Calls that were charged and not answered. */
  charged: number
}

/** A store whose commits stand, and report an error while `isLost`. */
function losing(engine: Engine, commits: Commits): Engine {
  return {
    ...engine,
    async write(work) {
      if (!commits.isLost) return engine.write(work)
      const done = await engine.write(work)
      const admissions = done as readonly Admission[]
      commits.charged = admissions.filter((each) => each.kind === 'admitted').length
      throw new StoreError('the connection is lost at the commit', { cause: done })
    },
  }
}

function callActions(
  verifying: Engine,
  callers: Harness,
  commits: Commits,
): Pick<MoneyWorld, 'call' | 'lose' | 'wait' | 'get'> {
  const clock = () => callers.now.ms
  const retain = createRetention({ engine: verifying, clock, headUnix: async () => unixNow(clock) })
  return {
    async call(key, times) {
      const caller = await callerOf(callers, key)
      if (caller === undefined) return []
      const admissions = await Promise.all(
        Array.from({ length: times }, () => callers.metering.meter.admit(caller)),
      )
      return admissions.flatMap((each) => (each.kind === 'admitted' ? [each] : []))
    },
    async lose(key, times) {
      const caller = await callerOf(callers, key)
      if (caller === undefined) return 0
      commits.isLost = true
      const calls = Array.from({ length: times }, () => callers.metering.meter.admit(caller))
      const ended = await Promise.allSettled(calls)
      commits.isLost = false
      assert.ok(ended.every(({ status }) => status === 'rejected'))
      return commits.charged
    },
    async wait(seconds) {
      callers.now.ms += seconds * 1_000
      await retain()
    },
    get: (path, key, query = {}) =>
      callers.call(path, { query, ...(key === undefined ? {} : bearer(key.secret)) }),
  }
}

async function ownerCall(callers: Harness, action: 'rotate' | 'revoke', key: HeldKey) {
  callers.now.ms += 1_000
  const signed = await callers.sign(key.wallet, action, { key: key.publicId })
  return callers.call(`/api/keys/{publicId}/${action}`, {
    path: { publicId: key.publicId },
    body: signed,
  })
}

async function callerOf(callers: Harness, key: HeldKey | undefined): Promise<Caller | undefined> {
  if (key === undefined) return callers.metering.anonymous(ADDRESS)
  // Another replica notices a revocation after half a second.
  callers.now.ms += 1_000
  const caller = await callers.metering.identify(bearer(key.secret).headers, ADDRESS)
  return isRefusal(caller) ? undefined : caller
}

async function claim(callers: Harness, body: Readonly<Record<string, unknown>>): Promise<void> {
  const route = paymentsRoutes(callers.metering.ctx).find(
    (each) => each.path === '/api/sessions/prepay',
  )
  const prepared = route?.prepare({ query: new Map(), path: {}, body })
  assert.ok(prepared !== undefined && !isRefusal(prepared), JSON.stringify(prepared))
  const caller = callers.metering.anonymous(ADDRESS)
  await prepared.run(testCall({ addressBucket: ADDRESS }), caller)
}

function toLower(address: string): Address {
  return address.toLowerCase() as Address
}
