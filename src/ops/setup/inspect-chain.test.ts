import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Address as Checksummed, encodeFunctionData, parseAbi } from 'viem'
import { calls } from '#devnet/calls.ts'
import { units } from '#devnet/units.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { createContract, creationOf, deployEcosystem, sendCall } from '#test/deployed-ecosystem.ts'
import { startPlainChain } from '#test/plain-chain.ts'
import { draftFor } from '#test/setup/draft-harness.ts'

const chain = await startPlainChain(1_700_000_000)
after(() => chain.stop())
const deployed = await deployEcosystem(chain.url)
const { token, usdc, rpc } = deployed
const [from] = (await rpc.send({ method: 'eth_accounts' })) as Checksummed[]
assert.ok(from !== undefined)

const draft = (address: Checksummed = token, more: readonly Checksummed[] = deployed.pools) =>
  draftFor(chain.url, address, more)

test('a pool is drafted with a tenth of its dollars as the floor, and each floor has its evidence', async () => {
  const { file, notes } = await draft()
  const prices = file.tokens.map(({ price }) => price)
  const floors = prices.map((price) => (Array.isArray(price) ? [] : price?.minLiquidityUsd))
  // 60,000 USD in HEAD/WETH, 30,000 in WETH/USDC; USDC is fixed.
  assert.deepEqual(floors, ['6000', '3000', undefined])
  assert.match(
    notes.get('tokens[0].price') ?? '',
    /; minLiquidityUsd is a tenth of what the pool holds, rounded down: its event in block \d+ shows about 60000 USD in it$/,
  )
})

test('a deeper pool without a readable event is not taken for the price', async () => {
  const pancake = await createContract(
    rpc,
    from,
    creationOf('PancakeV3Pool', 'address,address', [token, usdc]),
  )
  await sendCall(rpc, calls.transfer({ token: usdc, from, to: pancake, amount: units(90_000, 6) }))
  await sendCall(rpc, calls.transfer({ token, from, to: pancake, amount: units(30_000) }))
  const data = encodeFunctionData({ abi: parseAbi(['function swap()']) })
  await sendCall(rpc, { from, to: pancake, data })
  const { file } = await draft(token, [...deployed.pools, pancake])
  const [price] = [file.tokens[0]?.price ?? []].flat()
  assert.equal(price?.kind, 'uniswap-v2')
})

test('shares of a vault burn when they are redeemed: the draft asks instead of counting them', async () => {
  const vault = await createContract(rpc, from, creationOf('ShareVault', 'address', [usdc]))
  const { file, questions } = await draft(vault)
  assert.equal(file.burns, undefined)
  const [question] = questions
  assert.match(question?.text ?? '', /^SHARE is a share of a vault \(ERC-4626\)/)
  const { burns } = parseEcosystem('answered', { ...file, burns: [question?.entry] })
  assert.equal(burns.length, 1)
})

test('what the token and the named contracts emitted lately is listed with counts', async () => {
  const { remarks } = await draft(token, [deployed.distributor, usdc])
  const lines = remarks.filter((each) => each.startsWith(deployed.distributor))
  assert.match(lines.join('\n'), / on chain-\d+, blocks \d+ to \d+: DividendClaimed\(.*\) 4 times/)
  assert.ok(remarks.some((each) => each.startsWith(usdc) && each.includes(': Transfer(')))
})
