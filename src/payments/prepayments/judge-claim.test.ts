import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHAIN_ID, hash } from '#test/payments/fake-chain.ts'
import { ALICE_KEY, alice, wallet } from '#test/payments/payments-harness.ts'
import type { Claim } from './claim.ts'
import { deriveState, type Evidence, judgeClaim } from './judge-claim.ts'

const claim: Claim = {
  id: 'claim',
  publicId: ALICE_KEY,
  txHash: hash('tx'),
  owner: alice,
  payerAddress: alice,
  byOwner: true,
  trust: 'none',
  claimedMicroUsd: 1_000_000n,
  createdUnix: 0,
  openedUnix: 0,
  wasCredited: false,
}

const evidence: Evidence = {
  deposits: [
    {
      chainId: CHAIN_ID,
      blockNumber: 1,
      blockHash: hash('block'),
      timestampUnix: 0,
      txHash: hash('tx'),
      logIndex: 0,
      positionInTx: 0,
      from: alice,
      to: wallet('operator'),
      amount: 1_000_000n,
      proven: true,
    },
  ],
  provenPayers: new Set(),
  credits: [],
  headNumber: 20,
  requiredConfirmations: 10,
}

const live = {
  ...{ id: 'credit', account: 'key:other', owner: alice, claimId: 'other', chainId: CHAIN_ID },
  ...{ txHash: hash('tx'), positionInTx: 1, blockNumber: 1, blockHash: hash('block') },
  ...{ logIndex: 1, payerAddress: alice, microUsd: 1_000_000n },
  ...{ createdUnix: 0, reversedUnix: null },
}

test('a deposit that settled an x402 payment is rejected, and shown so; another in its transaction is not', () => {
  assert.equal(judgeClaim(claim, evidence).kind, 'credit')
  const other = [{ ...live, claimId: null }]
  assert.equal(judgeClaim(claim, { ...evidence, credits: other }).kind, 'credit')
  const [deposit] = evidence.deposits
  const credits = [{ ...live, ...deposit, claimId: null }]
  const verdict = judgeClaim(claim, { ...evidence, credits })
  assert.deepEqual(verdict, { kind: 'end', status: 'rejected', confirmations: 10 })
  const known = {
    deposits: evidence.deposits,
    head: { number: 20, hash: hash('head'), timestamp: 0 },
    completeFromBlock: 0,
    isComplete: true,
  }
  const facts = { ...evidence, known, nowUnix: 0 }
  assert.equal(deriveState(claim, { ...facts, credits }).status, 'rejected')
  assert.equal(deriveState(claim, facts).status, 'confirming')
})

test('a transaction with a live credit in another block is not credited twice', () => {
  assert.equal(judgeClaim(claim, { ...evidence, credits: [live] }).kind, 'credit')
  const moved = { ...live, blockHash: hash('left block') }
  const verdict = judgeClaim(claim, { ...evidence, credits: [moved] })
  assert.deepEqual(verdict, { kind: 'wait', status: 'confirming', confirmations: 10 })
})
