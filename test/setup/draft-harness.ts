import assert from 'node:assert/strict'
import type { Address as Checksummed } from 'viem'
import { parseAddress } from '#base/address.ts'
import { openChains } from '#ops/setup/chain-view.ts'
import { type Draft, draftFile } from '#ops/setup/draft-file.ts'
import { inspectChain } from '#ops/setup/inspect-chain.ts'

/** What `init` drafts for a token on one chain. */
export async function draftFor(
  url: string,
  token: Checksummed,
  contracts: readonly Checksummed[] = [],
): Promise<Draft> {
  const [view] = await openChains([url])
  assert.ok(view !== undefined)
  const [address = '0x', ...more] = [token, ...contracts].map(
    (each) => parseAddress(each.toLowerCase()) ?? '0x',
  )
  const found = await inspectChain(view, address, more)
  return draftFile([found], {
    serviceName: 'Mine',
    publicBaseUrl: 'http://localhost:4020',
    payTo: undefined,
    today: '2026-01-02',
  })
}
