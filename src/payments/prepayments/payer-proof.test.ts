import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFailureGuard } from '#accounts/metering/abuse-guard.ts'
import { isRefusal } from '#base/refusal.ts'
import type { WalletNode } from '#chain/contract-signature.ts'
import { NodeRefusal } from '#chain/node-refusal.ts'
import { wallet } from '#test/payments/payments-harness.ts'
import { ContractProofs } from './payer-proof.ts'

const NO_GUARD = { refusal: () => undefined, failed: () => undefined }
const NO_CONTRACTS: WalletNode = { code: async () => '0x', call: async () => '0x' }
const ACCEPTED = `0x1626ba7e${'0'.repeat(56)}` as const

const refuses = (code: number, message: string): WalletNode => ({
  code: async () => '0x60',
  call: async () => Promise.reject(new NodeRefusal(code, message)),
})

const agrees: WalletNode = { code: async () => '0x60', call: async () => ACCEPTED }
const denies: WalletNode = { ...agrees, call: async () => `0x${'f'.repeat(8)}${'0'.repeat(56)}` }
const echoes: WalletNode = { ...agrees, call: async ({ data }) => data }
const reverts = refuses(3, 'execution reverted')
const burns = refuses(-32_000, 'out of gas')
const limits = refuses(-32_005, 'too many requests')
const silent: WalletNode = { ...agrees, code: async () => Promise.reject(new Error('timed out')) }

const asked = { payerAddress: wallet('safe'), message: 'text', signature: '0x01' } as const
const asker = { addressBucket: 'one', signal: new AbortController().signal }

async function askAt(proofs: ContractProofs) {
  const answer = await proofs.ask(asked, asker)
  return isRefusal(answer) ? answer.code : answer
}

const ask = (...nodes: readonly WalletNode[]) =>
  askAt(new ContractProofs(nodes, Date.now, NO_GUARD))

test('a contract wallet signed if two nodes say so, or the only one, and no node denies it', async () => {
  assert.equal(await ask(agrees), 'signed')
  assert.equal(await ask(agrees, agrees), 'signed')
  for (const others of [
    [silent, agrees],
    [agrees, silent],
    [agrees, limits, limits],
  ])
    assert.equal(
      await ask(agrees, ...others),
      others.includes(agrees) ? 'signed' : 'data_not_ready',
    )
  for (const other of [silent, limits, denies, reverts, burns, NO_CONTRACTS]) {
    assert.equal(await ask(agrees, other), 'data_not_ready')
    assert.equal(await ask(other, agrees), 'data_not_ready')
  }
})

test('only what a contract itself answers is a denial', async () => {
  for (const node of [denies, echoes, reverts, burns]) assert.equal(await ask(node), 'unsigned')
  for (const node of [silent, limits]) assert.equal(await ask(node), 'data_not_ready')
})

test('where no contract is, two nodes are asked and no more', async () => {
  let calls = 0
  const counted: WalletNode = {
    ...NO_CONTRACTS,
    code: async () => {
      calls += 1
      return '0x'
    },
  }
  assert.equal(await ask(counted, counted, counted, counted), 'undeployed')
  assert.equal(calls, 2)
})

test('a few askings at once and a few a minute are all that a process makes', async () => {
  const held = Promise.withResolvers<`0x${string}`>()
  const slow: WalletNode = { ...agrees, code: () => held.promise }
  const now = { ms: 0 }
  const proofs = new ContractProofs([slow], () => now.ms, NO_GUARD)
  const first = Array.from({ length: 4 }, () => askAt(proofs))
  assert.equal(await askAt(proofs), 'data_not_ready')
  held.resolve('0x60')
  assert.deepEqual(new Set(await Promise.all(first)), new Set(['signed']))
  for (let n = 4; n < 20; n += 1) assert.equal(await askAt(proofs), 'signed')
  assert.equal(await askAt(proofs), 'data_not_ready')
  now.ms += 60_000
  assert.equal(await askAt(proofs), 'signed')
})

test('a caller who leaves ends the calls to the nodes', async () => {
  const leaving = new AbortController()
  const waits: WalletNode = {
    ...agrees,
    code: (_, until) =>
      new Promise((_resolve, reject) => {
        until?.addEventListener('abort', () => reject(until.reason))
        leaving.abort()
      }),
  }
  const proofs = new ContractProofs([waits], Date.now, NO_GUARD)
  assert.ok(isRefusal(await proofs.ask(asked, { ...asker, signal: leaving.signal })))
})

test('garbage of one address leaves the limit for all to others', async () => {
  const clock = () => 1_800_000_000_000
  const limit = { burst: 5, refillPerSecond: 1 / 12 }
  const guard = createFailureGuard({ clock, limit, message: 'too many' })
  const proofs = new ContractProofs([denies], clock, guard)
  const from = (addressBucket: string) => proofs.ask(asked, { ...asker, addressBucket })
  for (let time = 0; time < 5; time += 1) assert.equal(await from('stranger'), 'unsigned')
  for (let time = 0; time < 50; time += 1) assert.ok(isRefusal(await from('stranger')))
  assert.equal(await from('owner'), 'unsigned')
})
