import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Address, zeroAddress } from 'viem'
import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { calls } from '#devnet/calls.ts'
import { units } from '#devnet/units.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { createContract, creationOf, fillPool, sendCall } from '#test/deployed-ecosystem.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPlainChain } from '#test/plain-chain.ts'
import { draftFor } from '#test/setup/draft-harness.ts'
import { baseWith, onBase } from '#test/token-world.ts'
import { checkFile } from './check-file.ts'

const DAY = 86_400
const chain = await startPlainChain(1_700_000_000)
const folder = await mkdtemp(join(tmpdir(), 'sexton-check-'))
after(async () => {
  await chain.stop()
  await rm(folder, { recursive: true })
})
const { rpc } = chain
const [from] = (await rpc.send({ method: 'eth_accounts' })) as Address[]
assert.ok(from !== undefined)
const token = await createContract(
  rpc,
  from,
  creationOf('EcosystemToken', 'string,string,address,uint256', ['Late', 'LATE', from, units(1e6)]),
)
const usdc = await createContract(rpc, from, creationOf('UsdCoin', '', []))
await sendCall(rpc, calls.initialize({ token: usdc, from, minter: from }))
await sendCall(rpc, calls.mint({ token: usdc, from, to: from, amount: units(1e6, 6) }))

/** A pool of the token. */
async function openPool(dollars: number): Promise<Address> {
  assert.ok(from !== undefined)
  const factory = await createContract(rpc, from, creationOf('UniswapV2Factory', 'address', [from]))
  return fillPool(
    { rpc, factory, from, send: async (call) => void (await sendCall(rpc, call)) },
    { token, amount: units(10_000) },
    { token: usdc, amount: units(dollars, 6) },
  )
}

async function warningsFor(file: EcosystemFile): Promise<readonly string[]> {
  const path = join(folder, 'sexton.config.json')
  await writeFile(path, JSON.stringify(file))
  const checked = await checkFile(
    { clock: Date.now, onProgress: () => undefined },
    { file: path, offline: false },
  )
  assert.deepEqual([checked.errors, checked.unchecked], [[], []])
  return checked.warnings.map(({ field, message }) => `${field}: ${message}`)
}

test('check names the days before the first event of the oldest source, and since for the list', async () => {
  await chain.wait(3 * DAY)
  const older = await openPool(4_000)
  const { file } = await draftFor(chain.url, token)
  assert.ok(JSON.stringify(file).includes(older))
  const [only, ...more] = await warningsFor(file)
  assert.deepEqual(more, [])
  assert.match(
    only ?? '',
    /^tokens\[0\]\.price: LATE has no price from 2023-11-14 to 2023-11-16: it moved from block 1 of chain-31337 on, and the first Sync\(uint112,uint112\) of 0x.* is in block (\d+) of chain-31337; write a list .*, and since: \1 here$/,
  )
})

/** The older pool has events by then, the newer one none for days. */
const AFTER = '2023-11-19'

test('days between since and the first event of a later source have the price of the source before', async () => {
  await chain.wait(5 * DAY)
  await openPool(50_000)
  const { file } = await draftFor(chain.url, token)
  const tokens = file.tokens.map((each) => ({
    ...each,
    ...(Array.isArray(each.price) && {
      price: each.price.map((price, index) => (index === 0 ? price : { ...price, since: AFTER })),
    }),
  }))
  assert.ok(JSON.stringify(tokens).includes(AFTER))
  const warnings = await warningsFor({ ...file, tokens })
  assert.equal(warnings.length, 1)
  assert.match(
    warnings[0] ?? '',
    /^tokens\[0\]\.price\[0\]: LATE has no price from 2023-11-14 to 2023-11-16/,
  )
})

test('check says which of the newest logs add nothing, such as payouts of the coin that is not listed', async () => {
  const { distributor, grave } = addresses.base
  const { holder } = accounts
  const coin: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
  const node = await serveChain(
    baseWith(...[grave, coin, coin].map((paid) => [logOf.claim(distributor, holder, paid, 5n)])),
  )
  try {
    const { file } = localEcosystemAt({ base: node.url }, onBase)
    const path = join(folder, 'coin.json')
    await writeFile(path, JSON.stringify(file))
    const deps = { clock: Date.now, onProgress: () => undefined }
    const { warnings } = await checkFile(deps, { file: path, offline: false })
    assert.deepEqual(
      warnings.filter(({ message }) => message.includes('of the last')),
      [
        {
          field: 'dividends[0]',
          message: `2 of the last 3 logs: not counted, reported as an anomaly: token ${zeroAddress} is not listed for chain base`,
        },
      ],
    )
  } finally {
    await node.stop()
  }
})
