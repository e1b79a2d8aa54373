import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from '#base/address.ts'
import { OpenedWallets } from '#site/wallet/wallet-figures.ts'

const HOUR_MS = 3_600_000

function walletOf(number: number): Address {
  return `0x${number.toString(16).padStart(40, '0')}` as Address
}

test('wallets that a caller opens for free are at most 60 different ones within any hour; known ones stay open', () => {
  const clock = { ms: 1_000_000 }
  const opened = new OpenedWallets(() => clock.ms)
  for (let number = 0; number < 60; number += 1) {
    assert.equal(opened.open('a', walletOf(number)), undefined)
    clock.ms += 1_000
  }
  assert.equal(opened.open('a', walletOf(60)), 1_000_000 + HOUR_MS)
  assert.equal(opened.open('a', walletOf(59)), undefined)
  assert.equal(opened.open('b', walletOf(60)), undefined, 'callers do not share')
  clock.ms = 1_000_000 + HOUR_MS
  assert.equal(opened.open('a', walletOf(60)), undefined, 'the first one is an hour old')
  assert.equal(opened.open('a', walletOf(61)), 1_001_000 + HOUR_MS)
})

test('wallets that are opened are forgotten for the callers that are away longest, so that memory is bounded', () => {
  const opened = new OpenedWallets(() => 1_000_000)
  for (let number = 0; number < 60; number += 1) opened.open('first', walletOf(number))
  for (let caller = 0; caller < 5_000; caller += 1) opened.open(`${caller}`, walletOf(1))
  assert.equal(opened.open('first', walletOf(99)), undefined)
})
