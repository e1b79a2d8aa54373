import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { registerName } from './datasets.ts'

type Edit = (file: EcosystemFile) => EcosystemFile

const nameOf = (edit: Edit = (file) => file) => registerName(localEcosystemAt({}, edit))

const claimWith = (parts: string): Edit => {
  const event = `event DividendClaimed(address indexed account, address indexed token, uint256 amount, (${parts}) info)`
  return (file) => ({
    ...file,
    dividends: (file.dividends ?? []).map((each, index) =>
      index === 0 ? { ...each, event } : each,
    ),
  })
}

test('what shapes figures names another register', () => {
  const edits: Readonly<Record<string, Edit>> = {
    'a first block': (file) => ({
      ...file,
      chains: file.chains.map((chain) => ({ ...chain, startBlock: chain.startBlock + 1 })),
    }),
    'a burn address': (file) => ({
      ...file,
      supply: { ...file.supply, burnAddresses: [`0x${'9'.repeat(40)}`] },
      burns: (file.burns ?? []).map(({ where: _, ...burn }) => burn),
    }),
    'a mapping': ({ graveDigs: _, ...file }) => file,
    'an event': claimWith('uint256 a, address b'),
    'a member of a tuple': claimWith('uint256 a, uint256 b'),
    'a role': ({ premium: _, ...file }) => ({
      ...file,
      tokens: file.tokens.map((token) =>
        token.role === 'secondary' ? { ...token, role: 'reward' } : token,
      ),
    }),
  }
  const names = [nameOf(), ...Object.values(edits).map((edit) => nameOf(edit))]
  assert.equal(new Set(names).size, names.length, names.join('\n'))
})

test('endpoints, names, quotas, payments and the case of addresses do not', () => {
  const upper = (address: string) => `0x${address.slice(2).toUpperCase()}`
  const edits: readonly Edit[] = [
    (file) => ({
      ...file,
      chains: file.chains.map((chain) => ({ ...chain, rpcUrls: ['http://127.0.0.1:2'] })),
    }),
    (file) => ({ ...file, service: { ...file.service, name: 'Other' }, quotas: { free: 7 } }),
    ({ payment: _, ...file }) => file,
    (file) => ({ ...file, tokens: file.tokens.map((token) => ({ ...token, name: 'Other' })) }),
    (file) => ({
      ...file,
      tokens: file.tokens.map((token) => ({
        ...token,
        addresses: Object.fromEntries(
          Object.entries(token.addresses).map(([chain, address]) => [chain, upper(address)]),
        ),
      })),
    }),
  ]
  for (const edit of edits) assert.equal(nameOf(edit), nameOf())
})
