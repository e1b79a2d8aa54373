import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import localEcosystem from '#devnet/local-ecosystem.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import type { PriceFile } from '#ecosystem/price-kinds.ts'
import { ProofError } from '#index/call-view.ts'
import { localEcosystemAt, oneTokenEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { startLyingNode } from '#test/lying-node.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { proveEcosystem, watchDecimals } from './prove-ecosystem.ts'

const devnet = await startOwnDevnet()
after(() => devnet.stop())
const [base, ethereum] = [devnet.chains.base.rpcUrl, devnet.chains.ethereum.rpcUrl]

/** Proves the local file with a change against the chains; gives the refusal. */
async function proofOf(change: (file: EcosystemFile) => EcosystemFile): Promise<Error | undefined> {
  return refusalOf(localEcosystemAt({ base, ethereum }, change))
}

function refusalOf(ecosystem: Ecosystem): Promise<Error | undefined> {
  return proveEcosystem(ecosystem, openSource).then(
    (warnings) => void assert.deepEqual(warnings, []),
    (error: Error) => error,
  )
}

function assertTold(error: Error | undefined, message: RegExp): void {
  assert.ok(error instanceof ProofError, String(error))
  assert.match(error.message, message)
}

const nobody = '0x00000000000000000000000000000000000b0b0b'

test('the local file is what the local chains say', async () => {
  assert.equal(await proofOf((file) => file), undefined)
})

test('endpoints of another chain are refused', async () => {
  const swapped = localEcosystemAt({ base: ethereum, ethereum: base })
  assertTold(
    await refusalOf(swapped),
    /^chains\[0\]\.rpcUrls: the node serves chain 1, the file says 8453 \(base\); write id 1, or/,
  )
})

test('a chain whose nodes cannot prove its logs is refused, unless it has proofs: "deposits"', async () => {
  const node = await startLyingNode(base)
  try {
    node.lie = ({ method }, result) => (method === 'eth_getBlockByHash' ? null : result)
    const provenWith = (proofs: 'every' | 'deposits') =>
      proofOf((file) => ({
        ...file,
        chains: file.chains.map((chain) =>
          chain.name === 'base' ? { ...chain, rpcUrls: [node.url], proofs } : chain,
        ),
      }))
    assertTold(
      await provenWith('every'),
      /^chains\[0\]\.proofs: no node of base proves its logs .*write "deposits"/,
    )
    assert.equal(await provenWith('deposits'), undefined)
    node.lie = undefined
    assert.equal(await provenWith('every'), undefined)
  } finally {
    await node.stop()
  }
})

test('an address without a contract is refused', async () => {
  const error = await proofOf((file) => ({
    ...file,
    graveDigs: (file.graveDigs ?? []).map((dig) => ({ ...dig, address: nobody })),
  }))
  assertTold(error, /^graveDigs\[[01]\]\.address: there is no contract at 0x.* correct the address/)
})

test('wrong decimals are refused', async () => {
  const error = await proofOf((file) => ({
    ...file,
    tokens: file.tokens.map((token) =>
      token.symbol === 'CRYPT' ? { ...token, decimals: 9 } : token,
    ),
  }))
  assertTold(
    error,
    /^tokens\[1\]\.decimals: CRYPT on base has 18 decimals, not 9; write that, or list it here as a token of its own, or correct/,
  )
})

/** The first token at a contract that answers these views alone. */
async function withoutViews(...missing: readonly string[]) {
  const node = await startLyingNode(base)
  node.lie = ({ method, params }, result) => {
    const [{ data = '' } = {}] = params as readonly { readonly data?: string }[]
    return method === 'eth_call' && missing.some((view) => data.startsWith(view)) ? '0x' : result
  }
  const ecosystem = oneTokenEcosystemAt(node.url)
  return proveEcosystem(ecosystem, openSource).finally(() => node.stop())
}

test('a token that comes to count in other units ends the index', async () => {
  const node = await startLyingNode(base)
  node.lie = ({ params }, result) =>
    JSON.stringify(params).includes('0x313ce567') ? `0x${'14'.padStart(64, '0')}` : result
  const changed = new AbortController()
  const watching = watchDecimals(oneTokenEcosystemAt(node.url), openSource, changed)
  await watching.run(changed.signal).finally(() => node.stop())
  assertTold(changed.signal.reason, /GRAVE on base has 20 decimals, not 18; write that, or correct/)
})

test('a token without decimals() is taken as the file says, with a warning; a contract that is not a token is refused', async () => {
  const told = await withoutViews('0x313ce567')
  assert.deepEqual(told, [
    {
      field: 'tokens[0].decimals',
      message: 'GRAVE on base has no decimals(): the 18 of the file count',
    },
  ])
  const refused = withoutViews('0x313ce567', '0x18160ddd')
  await assert.rejects(refused, /^ProofError: tokens\[0\]\.decimals: .* so it is not a token/)
})

test('a wrong EIP-712 domain of the payment asset is refused', async () => {
  const error = await proofOf((file) => ({
    ...file,
    payment: { ...localEcosystem.payment, domain: { name: 'USDC', version: '2' } },
  }))
  assertTold(
    error,
    /^payment\.domain: .* is not name "USDC", version "2"; write name "USD Coin", version "2"/,
  )
})

const CRYPT_PAIR = '0x030475f0f4A6B988e11745Bf654cECf7A2A2ed72'

/** The local file with another price of the first token. */
function withPrice(price: Partial<PriceFile>) {
  return proofOf((file) => ({
    ...file,
    tokens: file.tokens.map((token, index) =>
      index === 0 ? { ...token, price: { ...priceOf(token), ...price } } : token,
    ),
  }))
}

function priceOf({ price }: EcosystemFile['tokens'][number]): PriceFile {
  assert.ok(price !== undefined && !Array.isArray(price))
  return price
}

test('a pool of other tokens is refused', async () => {
  const error = await withPrice({ address: CRYPT_PAIR })
  assertTold(error, /^tokens\[0\]\.price\.address: the pool at .* not of GRAVE and WETH/)
})

test('a node that does not answer is told by the field of its URL', async () => {
  const ecosystem = localEcosystemAt({ base: 'http://127.0.0.1:9', ethereum })
  assertTold(
    await refusalOf(ecosystem),
    /^chains\[0\]\.rpcUrls: no node of base answers .* check the URL/,
  )
})

test('all contradictions with the chains are reported at once', async () => {
  const error = await proofOf((file) => ({
    ...file,
    tokens: file.tokens.map((token, index) => (index === 1 ? { ...token, decimals: 9 } : token)),
    graveDigs: localEcosystem.graveDigs.slice(0, 1).map((dig) => ({ ...dig, address: nobody })),
    payment: { ...localEcosystem.payment, domain: { name: 'USDC', version: '2' } },
  }))
  assert.deepEqual(
    error?.message.split('\n').map((line) => line.split(': ')[0]),
    ['graveDigs[0].address', 'tokens[1].decimals', 'tokens[1].decimals', 'payment.domain'],
  )
})
